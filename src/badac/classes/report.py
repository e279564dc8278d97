"""What was tried for each class, what was chosen and why: the report of `badac.classes.Auto`, of one class and of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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

    def __str__(self) -> str:
        rows = [("class", "model", "left-out log evidence", "why")]
        rows += [
            (str(label), candidate.name, f"{candidate.log_evidence:.2f}", candidate.why)
            for label, candidate in self
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        return "\n".join(
            f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}" for row in rows
        )
