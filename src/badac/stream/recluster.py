"""A review of a stream's new classes: which of them are one, which are several, and which are none.

Each time the newcomers have grown by half,

1.  small classes merge that are one by the evidence of all their members together;
2.  all newcomers are divided again as a whole into Gaussian populations (deconvolved, their number by the evidence of newcomers
    held out), if that explains them better than the classes so far; what turns out to be known is dismissed.

It looks at the latest newcomers only, a bounded number, so its cost, spread over the newcomers since the last one, stays the
same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from badac.classes.subclasses.division import best_mixture, number_of_components
from badac.latent.mixture import Mixture
from badac.stream.new_class_prior import Alikeness, ConjugateClass
from badac.stream.state import MOST_CLASSES, IntArray, NewClass, Pool, StreamState, at_most

_GROWTH = 1.5
_MEMBERS_PER_POPULATION = 25
# Fewer make one population of everything strange.
_FEWEST_TO_DIVIDE = 100
_MOST_POPULATIONS = 8
_FEWEST = 3
# So many members' worth of the average covariance in each: there are more waves than newcomers can tell of.
_POOLING = 20.0


def review(state: StreamState, alike: Alikeness, prior: float, seed: int) -> StreamState:
    """Divide the newcomers again, if populations explain them better than the classes so far."""
    state = replace(state, next_review=max(int(np.ceil(_GROWTH * state.newcomers)), state.newcomers + 1))
    settled = tuple(each for each in state.classes if each.settled)
    loose = np.flatnonzero(~np.isin(state.pool.code, [each.code for each in settled]))
    state = unified(state)
    if loose.size < _FEWEST_TO_DIVIDE:
        return state
    pool = state.pool[loose]
    rng = np.random.default_rng([seed, state.newcomers])
    most = min(_MOST_POPULATIONS, loose.size // _MEMBERS_PER_POPULATION)
    size, evidence = number_of_components(pool.latent, rng, most, n_folds=3, starts=3, pooling=_POOLING)
    held_out = len(pool) * float(evidence[size - 1])
    # The offsets are the same whoever explains the objects.
    if held_out <= _log_evidence_so_far(state, pool):
        return state
    mixture = best_mixture(pool.latent, size, rng, starts=8, pooling=_POOLING)
    return _redivided(state, settled, loose, mixture, alike, prior)


def unified(state: StreamState) -> StreamState:
    """Merge the small classes that are one by the evidence of all their members together, the surest first.

    The gain of a merger is ``log P(both | one class) - log P(both | two)``, with the prior of the classes' sizes
    (a Chinese restaurant: ``(n_k - 1)!`` for each).
    """
    conjugate = {each.code: each for each in state.classes if each.conjugate is not None and not each.settled}

    def worth(sums: ConjugateClass) -> float:
        return sums.log_evidence_of_members() + float(gammaln(sums.count))

    def sums_of(code: int) -> ConjugateClass:
        sums = conjugate[code].conjugate
        assert sums is not None
        return sums

    value = {code: worth(sums_of(code)) for code in conjugate}
    gain = {
        (a, b): worth(sums_of(a).plus(sums_of(b))) - value[a] - value[b]
        for a in conjugate
        for b in conjugate
        if a < b
    }
    assignment, code = state.assignment.copy(), state.pool.code.copy()
    while gain and max(gain.values()) > 0.0:
        a, b = max(gain, key=lambda pair: gain[pair])
        both = sums_of(a).plus(sums_of(b))
        conjugate[a] = replace(conjugate[a], count=both.count, mixture=both.mixture(), conjugate=both)
        assignment[assignment == b] = a
        code[code == b] = a
        del conjugate[b]
        gain = {pair: worthwhile for pair, worthwhile in gain.items() if a not in pair and b not in pair}
        value[a] = worth(both)
        for other in conjugate:
            if other != a:
                pair = (min(a, other), max(a, other))
                gain[pair] = worth(both.plus(sums_of(other))) - value[a] - value[other]
    kept = tuple(
        conjugate.get(each.code, each)
        for each in state.classes
        if each.conjugate is None or each.settled or each.code in conjugate
    )
    return replace(state, assignment=assignment, classes=kept, pool=replace(state.pool, code=code))


def _log_evidence_so_far(state: StreamState, pool: Pool) -> float:
    """Log evidence of the newcomers under the classes so far; of small ones with the prior of falling apart that way."""
    codes = set(pool.code.tolist())
    total = -float(gammaln(len(pool) + 1.0))
    for each in state.classes:
        if each.code not in codes:
            continue
        if each.conjugate is None:
            # A population was the better one before: only more newcomers than it was learned from can say otherwise.
            return -np.inf
        total += each.conjugate.log_evidence_of_members() + float(gammaln(each.count))
    gone = ~np.isin(pool.code, [each.code for each in state.classes])
    return total + float(pool.log_found[gone].sum())


def _redivided(
    state: StreamState,
    settled: tuple[NewClass, ...],
    loose: IntArray,
    mixture: Mixture,
    alike: Alikeness,
    prior: float,
) -> StreamState:
    """Return the state with the loose newcomers in the populations of the mixture, in known classes, or alone."""
    pool = state.pool[loose]
    n = state.n_seen
    share = mixture.weights * len(pool) / (n + 1.0 / prior) * (state.newcomers / max(len(state.pool), 1))
    rest = max(1.0 - float(share.sum()), 1e-6)
    match = mixture.log_match(pool.latent) - np.log(mixture.weights) - 0.5 * pool.latent.offset[:, None]
    joint = np.column_stack(
        [
            match + np.log(share),
            np.log(rest * (1.0 - prior)) + pool.log_known,
            np.log(rest * prior) + pool.log_found,
        ]
    )
    best = joint.argmax(axis=1)
    size = len(mixture)
    counts = np.bincount(best, minlength=size + 2)
    # A population of next to nobody is not one: its objects stay alone.
    best[np.isin(best, np.flatnonzero(counts[:size] < _FEWEST))] = size + 1
    code, next_code = pool.code.copy(), state.next_code
    taken: set[int] = set()
    classes = list(settled)
    scale = state.newcomers / max(len(state.pool), 1)
    for number in np.argsort(-np.bincount(best, minlength=size)[:size], kind="stable").tolist():
        own = best == number
        if not own.any():
            continue
        name, next_code = _inherited(pool.code[own], taken, next_code)
        taken.add(name)
        code[own] = name
        part = Mixture(np.ones(1), mixture.means[number][None], mixture.covariances[number][None])
        classes.append(NewClass(name, name, max(int(own.sum() * scale), 1), part, None))
    for old in np.unique(pool.code[best == size + 1]).tolist():
        alone = (best == size + 1) & (pool.code == old)
        name, next_code = _inherited(pool.code[alone], taken, next_code)
        taken.add(name)
        code[alone] = name
        conjugate = ConjugateClass.of(alike, pool.latent[alone])
        classes.append(NewClass(name, name, conjugate.count, conjugate.mixture(), conjugate))
    code[best == size] = -1
    assignment = state.assignment.copy()
    assignment[pool.row] = np.where(best == size, pool.nearest, code)
    everyone = state.pool.code.copy()
    everyone[loose] = code
    kept = replace(state.pool, code=everyone)[everyone >= 0]
    made = tuple(sorted(classes, key=lambda each: each.code))
    while len(made) > MOST_CLASSES:
        made = at_most(made)
    return replace(state, assignment=assignment, pool=kept, classes=made, next_code=next_code)


def _inherited(old: IntArray, taken: set[int], next_code: int) -> tuple[int, int]:
    """Return the code that most members had, if no other class has it already, else a new one; and the next new one."""
    codes, count = np.unique(old, return_counts=True)
    for place in np.argsort(-count, kind="stable"):
        if int(codes[place]) not in taken:
            return int(codes[place]), next_code
    return next_code, next_code + 1
