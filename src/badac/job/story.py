"""One story of an object: probability, Bayes factor and p-value are three views of one thing, and are told as one.

probability   that the object is something new: what to believe, with the share of new objects that was expected beforehand
Bayes factor  how much better an anomaly explains it than the known classes: what the probability is made of, where the classes
follow their models; where they do not, the probability goes by the rank among known objects, and the factor is
not told, since it would say something else
p-value       how many known objects look as strange: what a list of discoveries is made of
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from badac.estimators import BADACClassifier
from badac.explain import NOTHING

PROBABLE = 0.5
"""An object that is something new with more than this probability is strange."""
EVIDENT = 0.01
"""A p-value below this makes an object strange too: one in a hundred known objects."""


@dataclass(frozen=True)
class Story:
    """What is told about one object.

    Attributes
    ----------
    label, label_proba : str, float
        The most probable known class, and its probability among the known.
    anomaly_proba : float
        NaN without an anomaly class.
    pvalue : float or None
        None where it was not worked out.
    hypothesis : str
        The kind of anomaly that explains the object best.
    log_bayes_factor : float or None
        None where the probability does not follow from it.
    extrapolated : bool
        Whether the p-value lies beyond what the number of known objects can tell.
    """

    label: str
    label_proba: float
    anomaly_proba: float
    pvalue: float | None
    hypothesis: str
    log_bayes_factor: float | None
    extrapolated: bool = False

    @classmethod
    def of(cls, model: BADACClassifier, found: Mapping[str, Any]) -> Story:
        """Tell it of a row of verdicts with what explains it (`badac.job.explaining.Explained.numbers`)."""
        by_rank = model.fitted_.ranks_left_out
        return cls(
            str(found["class"]),
            float(found["class_proba"]),
            float(found.get("anomaly_proba", np.nan)),
            None if found.get("pvalue") is None else float(found["pvalue"]),
            str(found["hypothesis"]),
            None if by_rank else float(found["log_bayes_factor"]),
            str(found.get("pvalue_kind")) == "extrapolated",
        )

    @property
    def is_strange(self) -> bool:
        """Whether it is worth looking at: probably something new, or stranger than nearly all known objects."""
        return self.anomaly_proba > PROBABLE or (self.pvalue is not None and self.pvalue < EVIDENT)

    @property
    def verdict(self) -> str:
        """What it is, and how sure that is."""
        known = f"{self.label} among the known classes (probability {_probability(self.label_proba)} there)"
        if np.isnan(self.anomaly_proba):
            return f"most like {known}{self._as_strange}."
        chance = f"with probability {_probability(self.anomaly_proba)}"
        if self.anomaly_proba > PROBABLE:
            return f"something new {chance}{self._as_strange}; most like {known}."
        return f"{known}; something new {chance}{self._as_strange}."

    @property
    def _as_strange(self) -> str:
        if self.pvalue is None:
            return ""
        beyond = ", extrapolated" if self.extrapolated else ""
        return f"; {_share(self.pvalue)} known objects look as strange (p-value {self.pvalue:.2g}{beyond})"

    def why(self, where: str) -> str:
        """What makes it strange, and where."""
        place = f", strangest {where}" if where else ""
        if self.hypothesis == NOTHING:
            factor = (
                "" if self.log_bayes_factor is None else f" (log Bayes factor {self.log_bayes_factor:.1f})"
            )
            return f"No kind of anomaly explains it better than the known classes do{factor}{place}."
        factor = (
            ""
            if self.log_bayes_factor is None
            else f": log Bayes factor {self.log_bayes_factor:.1f} against the known classes"
        )
        return f"{self.hypothesis[:1].upper()}{self.hypothesis[1:]}{place}{factor}."


def _probability(number: float) -> str:
    """A probability that is never rounded to one."""
    if number > 0.999:
        return "above 0.999"
    return "below 0.001" if number < 0.001 else f"{number:.3f}"


def _share(pvalue: float) -> str:
    """A share of known objects in words.

    >>> _share(0.25), _share(0.0031)
    ('1 in 4', '1 in 320')
    """
    if pvalue >= 0.5:
        return f"{100 * pvalue:.0f} % of"
    return f"1 in {float(f'{1.0 / pvalue:.2g}'):,.0f}" if pvalue > 0 else "no"
