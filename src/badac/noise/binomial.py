"""Binomial counts: successes out of a known number of trials.

    P(d | p) = C(N_d, d) p^d (1 - p)^(N_d - d),     p flat on [0, 1]

Values are successes; sigma is not used, unless it carries the trials. A curve of c successes in N_c trials knows its
probability as Beta(c + 1, N_c - c + 1), so an object's successes are beta-binomial, in closed form:

    P(d | c) = C(N_d, d) B(c + d + 1, N_c - c + N_d - d + 1) / B(c + 1, N_c - c + 1)

It is a probability and sums to one over d = 0 .. N_d. Use it for fractions, efficiencies, polls, methylation calls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit, gammaln, log_expit, logit

from badac.data.measurements import Measurements
from badac.data.validation import refuse
from badac.noise.counts import amount_of, check_amount, check_counts, check_curves, counts_given_truth
from badac.noise.model import FloatArray
from badac.registry import registered


@registered("noise")
@dataclass(frozen=True, eq=False)
class Binomial:
    """Noise of successes out of trials.

    Parameters
    ----------
    trials : int, (m,) or "1/sigma"
        Number of trials; "1/sigma" where it differs between objects and is given as ``sigma = 1 / trials``.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.noise import Binomial
    >>> hits, more = Measurements([[3.0, 7.0]]), Measurements([[9.0, 1.0]])
    >>> noise = Binomial(trials=10)
    >>> bool(noise.log_match(hits, hits)[0, 0] > noise.log_match(hits, more)[0, 0])
    True
    """

    trials: int | FloatArray | str

    has_own_width = True

    def __post_init__(self) -> None:
        check_amount(self.trials, "trials")

    def check(self, objects: Measurements) -> None:
        check_counts(objects, "binomial successes")
        self._trials(objects)

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        self.check(objects)
        check_curves(curves, "binomial successes")
        of_objects = np.broadcast_to(self._trials(objects), objects.shape)
        of_curves = np.broadcast_to(self._trials(curves), curves.shape)
        out = np.zeros((objects.n_objects, curves.n_objects))
        observed = objects.observed
        for point in range(objects.n_points):
            rows = np.flatnonzero(observed[:, point])
            if rows.size:
                out[rows] += binomial_log_match(
                    objects.values[rows, point][:, None],
                    of_objects[rows, point][:, None],
                    curves.values[:, point],
                    of_curves[:, point],
                )
        return out

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        known = np.where(like.observed, truth, 0.5)
        if ((known < 0) | (known > 1)).any():
            raise ValueError("the truth of binomial counts is a probability: got one outside [0, 1].")
        trials = np.round(np.broadcast_to(amount_of(self.trials, like, "trials"), like.shape)).astype(
            np.int64
        )
        return np.where(like.observed, rng.binomial(trials, known), np.nan)

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        return counts_given_truth(
            self, objects, truth, lambda share: np.asarray(logit(np.clip(share, 1e-15, 1.0 - 1e-15)))
        )

    def largest(self, like: Measurements) -> FloatArray:
        """Return (n, m) or (1, m): the largest value that a point can have."""
        return np.round(amount_of(self.trials, like, "trials"))

    def _trials(self, side: Measurements) -> FloatArray:
        trials = amount_of(self.trials, side, "trials")
        if isinstance(self.trials, str):
            trials = np.round(trials)
        values = np.where(side.observed, side.values, 0.0)
        refuse(
            values > trials,
            values,
            "successes must not exceed the trials",
            "Give the number of trials behind each value, or the successes as whole numbers.",
        )
        return trials

    # -- in the space of logits -----------------------------------------------------------------------------------

    def first_guess(self, objects: Measurements) -> Measurements:
        """Return logits with sigma, with half a success and half a failure more than there are."""
        success = np.where(objects.observed, objects.values, 0.0) + 0.5
        failure = np.round(amount_of(self.trials, objects, "trials")) - success + 1.0
        return Measurements(
            np.where(objects.observed, np.log(success / failure), np.nan),
            np.where(objects.observed, np.sqrt(1.0 / success + 1.0 / failure), np.inf),
            at=objects.at,
        )

    def working(
        self, objects: Measurements, link: FloatArray, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        trials = np.round(amount_of(self.trials, objects, "trials"))
        # The mean of the logistic function over the link's uncertainty (MacKay 1992).
        p = expit(link / np.sqrt(1.0 + np.pi * variance / 8.0))
        return np.where(objects.observed, objects.values, 0.0) - trials * p, np.maximum(
            trials * p * (1.0 - p), 1e-12
        )

    def log_likelihood(self, objects: Measurements, link: FloatArray) -> FloatArray:
        trials = np.round(amount_of(self.trials, objects, "trials"))
        success = np.where(objects.observed, objects.values, 0.0)
        log_choose = gammaln(trials + 1.0) - gammaln(success + 1.0) - gammaln(trials - success + 1.0)
        return np.asarray(log_choose + success * log_expit(link) + (trials - success) * log_expit(-link))

    def mean_counts(self, objects: Measurements, link: FloatArray) -> FloatArray:
        return np.asarray(np.round(amount_of(self.trials, objects, "trials")) * expit(link))


def binomial_log_match(d: FloatArray, n_d: FloatArray, c: FloatArray, n_c: FloatArray) -> FloatArray:
    """Log probability of d successes in n_d trials, given c in n_c and a flat prior on the probability."""
    log_choose = gammaln(n_d + 1.0) - gammaln(d + 1.0) - gammaln(n_d - d + 1.0)
    return np.asarray(
        log_choose + betaln(c + d + 1.0, n_c - c + n_d - d + 1.0) - betaln(c + 1.0, n_c - c + 1.0)
    )
