"""An object arrives in a stream: it is known, joins a new class, or founds one.

With ``n`` objects seen, ``n_k`` of them in new class ``k``, and the anomaly prior ``a`` of the classifier:

    P(new class k) = n_k / (n + 1/a),     P(founds one) = a r,     P(known) = (1 - a) r,     r = 1 - sum_k P(new class k)

times the evidence of each: the largest wins. The known classes never change here: what is strange cannot contaminate them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from badac._kernels import latent_log_match
from badac._kernels.latent import Components
from badac.classes.model import FloatArray
from badac.latent.likelihood import LatentLikelihood
from badac.stream.new_class_prior import Alikeness, message
from badac.stream.recluster import review
from badac.stream.state import IntArray, NewClass, Pool, StreamState, at_most


@dataclass(frozen=True, eq=False)
class Block:
    """What the known classes say of a block of objects: (n,) each, the likelihoods in the waves of the contested ones."""

    log_known: FloatArray
    log_found: FloatArray
    nearest: IntArray
    contested: IntArray
    latent: LatentLikelihood


def advance(state: StreamState, block: Block, alike: Alikeness, prior: float, seed: int) -> StreamState:
    """Return the state after a block of objects, one contested object after the other."""
    assignment = np.concatenate([state.assignment, block.nearest])
    start = state.n_seen
    state = replace(state, assignment=assignment)
    table = _Table.of(state.classes)
    for place, row in enumerate(block.contested.tolist()):
        one = block.latent[place : place + 1]
        match = table.log_evidence(one)
        log_prior, known, found = log_priors(state.classes, start + row, prior)
        new = match + log_prior
        best = int(new.argmax()) if new.size else -1
        top = new[best] if new.size else -np.inf
        log_known, log_found = known + block.log_known[row], found + block.log_found[row]
        if log_known >= max(top, log_found):
            continue
        if top >= log_found:
            classes = _joined(state.classes, best, one)
            code = classes[best].code
        else:
            code = state.next_code
            conjugate = message(alike, one)
            founded = NewClass(code, code, 1, conjugate.mixture(), conjugate)
            classes = at_most((*state.classes, founded))
            state = replace(state, next_code=code + 1)
        where = Pool(
            one,
            np.array([start + row]),
            np.array([code]),
            block.log_known[row : row + 1],
            block.log_found[row : row + 1],
            block.nearest[row : row + 1],
        )
        label = next(each.label for each in classes if each.code == code)
        state.assignment[start + row] = label
        state = replace(state, classes=classes, pool=state.pool.plus(where), newcomers=state.newcomers + 1)
        if state.newcomers >= state.next_review:
            # As many objects were seen as up to this one, whatever the size of the block.
            state = review(replace(state, n_seen=start + row + 1), alike, prior, seed)
        table = _Table.of(state.classes)
    return replace(state, n_seen=start + len(block.nearest))


def log_priors(classes: tuple[NewClass, ...], n_seen: int, prior: float) -> tuple[FloatArray, float, float]:
    """Log priors (classes,) of the new classes, of all known ones together, and of founding one."""
    share = np.array([each.count for each in classes]) / (n_seen + 1.0 / prior)
    rest = max(1.0 - float(share.sum()), 1e-6)
    return np.log(share), float(np.log(rest * (1.0 - prior))), float(np.log(rest * prior))


@dataclass(frozen=True, eq=False)
class _Table:
    """All components of all new classes, ready for the kernel."""

    parts: Components
    starts: IntArray

    @classmethod
    def of(cls, classes: tuple[NewClass, ...]) -> _Table:
        if not classes:
            nothing = Components(np.empty((0, 0)), np.empty((0, 0)), np.empty(0))
            return cls(nothing, np.empty(0, dtype=np.int64))
        parts = [each.components for each in classes]
        sizes = [len(each.mixture) for each in classes]
        stacked = Components(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        return cls(stacked, np.cumsum([0, *sizes[:-1]]))

    def log_evidence(self, one: LatentLikelihood) -> FloatArray:
        """Return (classes,): log evidence of one object under each."""
        if not self.starts.size:
            return np.empty(0)
        match = latent_log_match(one.precision, one.shift, self.parts)[0]
        return np.asarray(np.logaddexp.reduceat(match, self.starts) - 0.5 * one.offset[0])


def _joined(classes: tuple[NewClass, ...], which: int, one: LatentLikelihood) -> tuple[NewClass, ...]:
    """Return the classes with one more member in one of them."""
    chosen = classes[which]
    grown = replace(chosen, count=chosen.count + 1)
    if chosen.conjugate is not None:
        conjugate = chosen.conjugate.plus(message(chosen.conjugate.alike, one))
        grown = replace(grown, conjugate=conjugate, mixture=conjugate.mixture())
    return (*classes[:which], grown, *classes[which + 1 :])
