"""How far young classes are believed: as far as they have foretold what was said.

Before each look there are two predictions whether it is worth it: what young classes make of it, and the tendency alone
(`badac.triage.tendency`). A few members may be no Gaussian, or the tendency may be too smooth; which of the two is better
differs from survey to survey, and each look tells. With ``p_1`` and ``p_2`` what they said before it,

    t / (1 - t) = 0.7 / 0.3  prod over looks of  P(said | p_1) / P(said | p_2) ,        t from 0.3 to 0.9 ,

the posterior odds of the two, each look foretold from those before it (Dawid 1984). It is a pure function of what was said, in
its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, nan

LOOKS = 100
"""The last looks that count, so that a long session is opened as fast as a short one."""

# Chosen on seeds 500 to 503 of benchmarks/triage_sets.py (mean over sets and cases, found after 10, 30 and 100 looks): young
# classes believed alone find 4.0, 9.7 and 19.7, the tendency alone 4.0, 9.4 and 18.7, half of each 4.2, 10.1 and 19.9; by how
# well they foretold, 4.2, 10.1 and 20.3 with these, 4.1, 10.1 and 20.2 from 0.5 within 0.3 and 0.7, 4.2, 9.8 and 20.1 from 0.5
# within 0.1 and 0.9.
_FIRST, _LEAST, _MOST = 0.7, 0.3, 0.9
_SUREST = 1e-3  # what either may say at most and at least: one look does not decide

UNKNOWN = nan
"""Of a look too long ago to count."""


def tested(young: float, tendency: float, *, worth: bool) -> float:
    """Return by how much (nats) a look speaks for young classes, both having given a probability that it is worth it."""
    first, second = (min(max(p, _SUREST), 1.0 - _SUREST) for p in (young, tendency))
    return log(first / second) if worth else log((1.0 - first) / (1.0 - second))


def trust(looks: Sequence[float]) -> float:
    """Return the probability that young classes are right, by what each look spoke for, in order."""
    total = log(_FIRST / (1.0 - _FIRST)) + sum(looks[-LOOKS:])
    return min(max(1.0 / (1.0 + exp(-min(max(total, -50.0), 50.0))), _LEAST), _MOST)
