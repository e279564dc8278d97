"""Detectors of what is new that see columns: isolation forest, local outlier factor, an autoencoder. Peers on binned curves."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler


def on_columns(known: np.ndarray, new: np.ndarray) -> dict[str, np.ndarray]:
    """Return how strange each row of `new` (n, f) is to each detector that learned from `known` (k, f)."""
    scaler = StandardScaler().fit(known)
    seen, asked = scaler.transform(known), scaler.transform(new)
    encoder = MLPRegressor(
        hidden_layer_sizes=(32, 8, 32), early_stopping=True, random_state=0, max_iter=200
    ).fit(seen, seen)
    return {
        "isolation forest": -IsolationForest(random_state=0).fit(seen).score_samples(asked),
        "local outlier factor": -LocalOutlierFactor(novelty=True).fit(seen).score_samples(asked),
        "autoencoder": ((encoder.predict(asked) - asked) ** 2).mean(axis=1),
    }
