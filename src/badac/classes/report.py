"""What was tried for each class, what was chosen and why: the report of `badac.classes.Auto`, of one class and of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from badac.printing import html_table, text_table
from badac.registry import registered


@registered(
    "part",
    holds={
        "log_evidence": "may be nan, may be inf, may be -inf",
        "gain": "may be nan, may be inf, may be -inf",
        "standard_error": "may be nan, may be inf",
    },
)
@dataclass(frozen=True)
class Candidate:
    """A class model that was tried.

    Attributes
    ----------
    name : str
    log_evidence : float
        Mean log evidence of the members that were compared, each left out.
    gain, standard_error : float
        Mean gain over the population (each member's clipped at 20 nats) and its standard error.
    chosen : bool
    why : str
        In words.

    Examples
    --------
    >>> from badac.classes import Candidate
    >>> Candidate("template", 1.2, -0.4, 0.1, False, "left-out members lose 0.40 +- 0.10 nats").chosen
    False
    """

    name: str
    log_evidence: float
    gain: float
    standard_error: float
    chosen: bool
    why: str


@registered("part")
@dataclass(frozen=True, eq=False)
class ClassReport:
    """The class models that were tried, class by class.

    Attributes
    ----------
    labels : tuple
        Names of the classes.
    candidates : tuple of tuples of Candidate
        For each class what was tried, the chosen one first.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> curves = Measurements(0.1 * rng.standard_normal((40, 12)), 0.1)
    >>> model = BADACClassifier(anomaly="tophat", random_state=0).fit(curves, np.repeat(["a", "b"], 20))
    >>> model.class_report_.labels
    ('a', 'b')
    """

    labels: tuple[Any, ...]
    candidates: tuple[tuple[Candidate, ...], ...]

    def chosen(self) -> dict[Any, str]:
        """Return the name of the chosen model by class."""
        return {label: tried[0].name for label, tried in zip(self.labels, self.candidates, strict=True)}

    def __iter__(self) -> Iterator[tuple[Any, Candidate]]:
        for label, tried in zip(self.labels, self.candidates, strict=True):
            for candidate in tried:
                yield label, candidate

    def columns(self) -> dict[str, list[Any]]:
        """Return a table with a row for each model that was tried."""
        tried = list(self)
        return {
            "class": [str(label) for label, _ in tried],
            "model": [one.name for _, one in tried],
            "left-out log evidence": [f"{one.log_evidence:.2f}" for _, one in tried],
            "why": [one.why for _, one in tried],
        }

    def __str__(self) -> str:
        return text_table(self.columns(), most=len(self.labels) * 20)

    def _repr_html_(self) -> str:
        return html_table(self.columns(), "Class models that were tried", most=len(self.labels) * 20)
