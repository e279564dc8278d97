"""Running figures of a session: what was looked at, what was found, and what the next looks promise."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.triage.learning import Learned

NEXT = 20
"""How many looks ahead are promised."""


@dataclass(frozen=True)
class Figures:
    """Where a session stands.

    Attributes
    ----------
    looked : int
        Objects that something was said of, "unsure" included.
    found : int
        Those of them that are worth something.
    expected_next : float
        How many of the next 20 are expected to be.
    discoveries : tuple of int
        Found after each look: the curve of discoveries.
    by_name : dict
        How many of each: "new: ring", "artefact: trail", "class: RRab", "dull", ...
    left : int
        Objects not looked at yet.
    elsewhere : int
        Statements about objects that are not in the table.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> from badac.triage import Session
    >>> rng = np.random.default_rng(0)
    >>> known = 0.1 * rng.standard_normal((60, 8))
    >>> model = BADACClassifier("template", random_state=0).fit(known, np.repeat([0, 1], 30), X_err=0.1)
    >>> session = Session(model, Measurements(0.1 * rng.standard_normal((20, 8)), 0.1))
    >>> session.say(3, "dull")
    >>> session.figures().looked
    1
    """

    looked: int
    found: int
    expected_next: float
    discoveries: tuple[int, ...]
    by_name: dict[str, int]
    left: int
    elsewhere: int = 0

    @classmethod
    def of(
        cls,
        learned: Learned,
        interest: npt.NDArray[np.float64],
        looked: npt.NDArray[np.bool_],
        *,
        elsewhere: int = 0,
    ) -> Figures:
        """Make them of what was learned, the probability (n,) of being worth anything, and which were looked at (n,)."""
        said = learned.said
        worth = [learned.is_worth(each) for each in said.values()]
        names: dict[str, int] = {}
        for each in said.values():
            key = f"{each.said}: {each.name}" if each.name else each.said
            names[key] = names.get(key, 0) + 1
        left = np.sort(interest[~looked])[::-1]
        return cls(
            looked=len(said),
            found=sum(worth),
            expected_next=float(left[:NEXT].sum()),
            discoveries=tuple(np.cumsum(worth, dtype=np.int64).tolist()),
            by_name=names,
            left=int((~looked).sum()),
            elsewhere=elsewhere,
        )

    def numbers(self) -> dict[str, Any]:
        """Return them as JSON has them."""
        return asdict(self) | {"discoveries": list(self.discoveries)}

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def lines(self) -> list[str]:
        """Return them in words."""
        kinds = ", ".join(f"{name} ({count})" for name, count in self.by_name.items())
        return [
            f"Looked at {self.looked}, found {self.found}; {self.expected_next:.1f} expected among the next {NEXT}.",
            *([f"Said: {kinds}."] if kinds else []),
        ]
