"""What may be chosen about a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from badac.triage.statement import checked_number
from badac.verdicts import Verdicts


@dataclass(frozen=True)
class TriageOptions:
    """What may be chosen about a session; the defaults are right for most.

    Attributes
    ----------
    values : mapping
        What an object is worth, by what is said of it ("artefact"), or by the name of a class, kind or artefact.
    teach : float in [0, 1)
        Share of looks at the objects that teach most, those whose interest is least certain, in place of the best.
    who : str
        Who looks; the user of the machine by default.
    source : str
        The file that the objects are from, for whoever reads the session.
    verdicts : Verdicts, optional
        Of the objects, in their order, if they were judged already.

    Examples
    --------
    >>> from badac.triage import TriageOptions
    >>> TriageOptions(values={"spike": -1.0}, teach=0.2, who="Ada").teach
    0.2
    """

    values: Mapping[str, float] = field(default_factory=dict)
    teach: float = 0.0
    who: str = ""
    source: str = ""
    verdicts: Verdicts | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.teach < 1.0:
            raise ValueError(f"`teach` is a share of the looks, from 0 to below 1: got {self.teach!r}.")
        for name, value in self.values.items():
            checked_number(f"the value of {name!r}", value)
