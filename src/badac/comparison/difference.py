"""One way in which new objects differ from the training's, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

ERROR_BARS, MOST_STRANGE, ROUNDED = "error bars", "most objects strange", "rounding"


@dataclass(frozen=True)
class Difference:
    """One way in which new objects differ from the training's.

    Attributes
    ----------
    what : str
        "noise levels", "error bars", "values", "rounding", "gaps", "p-values" or "most objects strange".
    training, new : float
        The number that was compared.
    words : str
        What it means, and what to do.
    breaks_promise : bool
        Whether a stated share of false alarms cannot be promised because of it.
    column : int or None
        The column that it is about.

    Examples
    --------
    >>> from badac.comparison import Difference
    >>> Difference("noise level", 0.1, 0.2, "new objects are noisier", False).sentence
    'New objects are noisier'
    """

    what: str
    training: float
    new: float
    words: str
    breaks_promise: bool
    column: int | None = None

    def __post_init__(self) -> None:
        # Numbers of Python, whatever a check has computed with: they are written as JSON.
        for name, kind in (("training", float), ("new", float), ("breaks_promise", bool)):
            object.__setattr__(self, name, kind(getattr(self, name)))

    @property
    def sentence(self) -> str:
        """The words with a capital letter."""
        return f"{self.words[:1].upper()}{self.words[1:]}"
