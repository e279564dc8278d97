"""The compiled kernels of trees. Twin: the functions of the same name in `NUMPY`; the same trees to the last bit, and sums of
shares to 1e-12 of themselves.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray, checked_threads
from badac._kernels.spare_threads import at_least_spare
from badac._kernels.trees import BoolArray, Growth, Nodes, SingleArray

_NOBODY = np.zeros((0, 0), dtype=np.bool_)


def grow_trees(growth: Growth, *, n_threads: int = 1) -> Nodes:
    root, question, threshold, yes, no, gap_is_yes, share = _core.grow_trees(
        np.ascontiguousarray(growth.seen, dtype=np.float32),
        np.ascontiguousarray(growth.label, dtype=np.int64),
        np.ascontiguousarray(growth.drawn, dtype=np.int64),
        np.ascontiguousarray(growth.seed, dtype=np.int64),
        growth.n_classes,
        growth.n_tried,
        growth.least_in_leaf,
        at_least_spare(checked_threads(n_threads)),
    )
    return Nodes(root, question, threshold, yes, no, gap_is_yes.view(np.bool_), share)


def walk_trees(seen: SingleArray, nodes: Nodes, asked: BoolArray | None, *, n_threads: int = 1) -> FloatArray:
    out = np.empty((len(seen), nodes.share.shape[1]))
    own = np.ascontiguousarray(seen, dtype=np.float32)
    some = _NOBODY if asked is None else np.ascontiguousarray(asked)
    if len(own):
        root, question, threshold, yes, no, gap_is_yes, share = map(np.ascontiguousarray, nodes)
        threads = at_least_spare(checked_threads(n_threads))
        _core.walk_trees(out, own, root, question, threshold, yes, no, gap_is_yes, share, some, threads)
    return out
