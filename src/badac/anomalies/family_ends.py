"""Where a family of curves goes on beyond its last members.

    z(s) ~ N( a + b s , (v(s) + (s / 10)^2) I + b b' (s / 2)^2 )               s = l / 2, l, 2 l, 3 l, 4 l

The members of a class that changes in one way, such as sines by their frequency, lie along a bent line in its latent space,
and the next one will lie beyond its end about once in n. That line is the minimum spanning tree of the members, its two
ends the members that are farthest apart along the tree: whatever bends there are between them, also where branches come near
each other in space. At either end a straight line ``a + b t`` is laid through the last members (``t``: their distance along
the tree, ``l`` its mean) and drawn out: ``v`` is the variance of such a line at ``s``, and a family that bends on is a tenth
of the way beside it.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

from badac.anomalies.neighbours import nearest_members
from badac.data.validation import FloatArray, IntArray

# Neighbours among whom the tree is sought: more than members ever stand together apart from all others.
_NEIGHBOURS = 10
# Members a line is drawn through, and how far it is drawn. Chosen on printed 1 with 1,000 training curves, seeds 520 to 537
# (docs/lists.md): 4 to 8 members, and lines half as wide or twice, are within noise; parabolas are no better.
_LAST = 5
_REACH = np.array([0.5, 1.0, 2.0, 3.0, 4.0])
_ASIDE = 0.1
PLACES = len(_REACH)  # beyond one end
# Fewer members do not show that they lie along a line.
LEAST_MEMBERS = 4 * _LAST


def beyond_ends(place: FloatArray, noise: float, apart: float) -> tuple[FloatArray, FloatArray]:
    """Return means (c, r) and covariances (c, r, r) of places beyond the two ends of a family; none where it has no end.

    Parameters
    ----------
    place : array_like
        (n, r), of at least `LEAST_MEMBERS` members, in coordinates where the noise is alike in all directions.
    noise : float
        Its variance in each of them.
    apart : float
        Distance that noise alone does not set between two members. Where the last ones are nearer to each other, they
        show no line.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.anomalies.family_ends import beyond_ends
    >>> angle = np.linspace(0.0, 4.0, 200)
    >>> means, _ = beyond_ends(50.0 * np.column_stack([np.cos(angle), np.sin(angle)]), 0.5, 3.0)
    >>> bool(np.abs(np.linalg.norm(means, axis=1) / 50.0 - 1.0).max() < 0.02)     # the arc goes on at both ends
    True
    """
    tree = _spanning_tree(place)
    component = connected_components(tree, directed=False)[1]
    largest = np.flatnonzero(component == np.bincount(component).argmax())
    first = largest[_along(tree, largest[0])[largest].argmax()]
    from_first = _along(tree, first)
    last = largest[from_first[largest].argmax()]
    found = [_drawn_out(place, along, noise, apart) for along in (from_first, _along(tree, last))]
    return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])


def _spanning_tree(place: FloatArray) -> csr_matrix:
    """The shortest tree through all members, of edges to near neighbours."""
    n = len(place)
    k = min(_NEIGHBOURS, n - 1)
    distance, near = nearest_members(place, k)
    # Members at one place are neighbours, too: an edge of no length would be none.
    length = np.maximum(distance, np.finfo(float).tiny)
    # Each member's row names its neighbours. Of an edge that both ends name, either will do.
    start = np.arange(0, n * k + 1, k, dtype=np.int32)
    graph = csr_matrix((length.ravel(), near.ravel().astype(np.int32), start), (n, n))
    return minimum_spanning_tree(graph)


def _along(tree: csr_matrix, row: int) -> FloatArray:
    """Distance (n,) of all members from one along the tree."""
    return np.asarray(dijkstra(tree, directed=False, indices=int(row)), dtype=np.float64)


def _drawn_out(
    place: FloatArray, along: FloatArray, noise: float, apart: float
) -> tuple[FloatArray, FloatArray]:
    """Means (c, r) and covariances (c, r, r) beyond the member that is at distance 0 along the tree."""
    last: IntArray = np.argsort(along, kind="stable")[:_LAST]
    rank, length = place.shape[1], float(along[last].mean())
    if np.linalg.norm(place[last[-1]] - place[last[0]]) <= apart:
        return np.empty((0, rank)), np.empty((0, rank, rank))
    design = np.column_stack([np.ones(_LAST), -along[last]])
    inverse = np.linalg.pinv(design.T @ design)
    line = inverse @ design.T @ place[last]
    scatter = ((place[last] - design @ line) ** 2).sum() / (_LAST - 2) / rank
    at = np.column_stack([np.ones(len(_REACH)), _REACH * length])
    spread = max(noise, scatter) * np.einsum("ci,ij,cj->c", at, inverse, at) + (_ASIDE * at[:, 1]) ** 2
    ahead = 0.25 * at[:, 1, None, None] ** 2 * np.outer(line[1], line[1])
    return at @ line, spread[:, None, None] * np.eye(rank) + ahead
