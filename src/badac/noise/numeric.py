"""Any density of your own, integrated by quadrature: ``log_match = log integral P(d | y) P(y | c) dy`` on a grid of y.

Give the log density of a value around a truth as a function; nothing needs a closed form. At each point of the curve
the densities of all objects and of all curves are tabulated on one grid of true values, and all pairs are one matrix
product. The grid is even, with `steps` nodes per smallest sigma: the trapezoid rule converges exponentially for smooth
densities (Gaussian: below 1e-9 with 3 steps), slowly for densities with edges. `Numeric.quadrature_error` measures the
error on your own data by halving the step. The cost grows with the range of the values in units of the smallest sigma; a
family with a closed form should have a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from badac.data.measurements import Measurements
from badac.noise.known_truth import sum_around_truth
from badac.noise.model import FloatArray, IntArray
from badac.registry import registered

_MOST_NODES = 200_000
_TINY = 1e-250
# In units of sigma: the smallest step of a difference, and what a point weighs whose density bends outwards.
_LEAST_STEP, _LEAST_CURVATURE = 0.3, 0.02
_LARGEST = 1e6


@registered("noise")
@dataclass(frozen=True)
class Numeric:
    """Noise given by a function.

    Parameters
    ----------
    log_density : function of (value, truth, sigma)
        Natural log of the density of a value; broadcasts over its arguments; -inf where a value is impossible.
    reach : float
        How many sigma a truth may lie from a value: the grid ends there. Heavy tails need more.
    steps : int
        Nodes of the grid per smallest sigma.
    tolerance : float
        How far the density's integral over the values may be from one, and the quadrature's error in the log match.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise import Gaussian, Numeric
    >>> def laplace(value, truth, sigma):
    ...     return -np.sqrt(2) * np.abs(value - truth) / sigma - np.log(np.sqrt(2) * sigma)
    >>> noise = Numeric(laplace, reach=30)
    >>> a, b = Measurements([[0.0]], 0.1), Measurements([[0.1]], 0.1)
    >>> b_over_sigma = 1 / np.sqrt(2)  # two Laplace densities convolved: (1 + x/b) exp(-x/b) / (4 b)
    >>> exact = np.log((1 + 1 / b_over_sigma) * np.exp(-1 / b_over_sigma) / (4 * b_over_sigma * 0.1))
    >>> bool(abs(noise.log_match(a, b)[0, 0] - exact) < noise.tolerance)
    True
    """

    log_density: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    reach: float = 12.0
    steps: int = 6
    tolerance: float = 1e-2

    def check(self, objects: Measurements) -> None:
        _check_side(objects, "object")
        for point in range(objects.n_points):
            rows = objects.observed[:, point]
            if rows.any():
                self._check_normalised(objects.values[rows, point], objects.sigma[rows, point], point)

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        _check_side(objects, "object")
        _check_side(curves, "curve")
        out = np.zeros((objects.n_objects, curves.n_objects))
        observed = objects.observed
        for point in range(objects.n_points):
            rows = np.flatnonzero(observed[:, point])
            if rows.size:
                out[rows] += self._match_at(objects, curves, rows, point)
        return out

    def quadrature_error(self, objects: Measurements, curves: Measurements) -> float:
        """Return the largest change of a log match when the step of the grid is halved: the quadrature's error, stated."""
        finer = replace(self, steps=2 * self.steps).log_match(objects, curves)
        return float(np.abs(self.log_match(objects, curves) - finer).max(initial=0.0))

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        sigma = np.where(like.observed & (like.sigma > 0), like.sigma, 1.0)
        # Inverse of the distribution function, tabulated around each truth.
        offset = np.linspace(-self.reach, self.reach, 2 * int(self.reach * max(self.steps, 20)) + 1)
        values = truth[..., None] + sigma[..., None] * offset
        density = np.exp(self._density(values, truth[..., None], sigma[..., None]))
        cumulative = np.cumsum(0.5 * (density[..., 1:] + density[..., :-1]), axis=-1)
        uniform = rng.random(truth.shape) * cumulative[..., -1]
        index = np.minimum((cumulative < uniform[..., None]).sum(axis=-1), len(offset) - 2)
        before = np.where(
            index > 0, np.take_along_axis(cumulative, np.maximum(index - 1, 0)[..., None], -1)[..., 0], 0.0
        )
        mass = np.take_along_axis(cumulative, index[..., None], -1)[..., 0] - before
        within = np.where(mass > 0, (uniform - before) / np.where(mass > 0, mass, 1.0), 0.5)
        noisy = truth + sigma * (offset[index] + within * (offset[1] - offset[0]))
        return np.where(like.observed, np.where(like.sigma > 0, noisy, truth), np.nan)

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        _check_side(objects, "object")
        return sum_around_truth(objects, truth, self.log_density)

    # -- for a population: the link is the truth itself -----------------------------------------------------------

    def first_guess(self, objects: Measurements) -> Measurements:
        """Return the objects as if their errors were Gaussian of the same sigma."""
        return objects

    def working(
        self, objects: Measurements, link: FloatArray, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Differences of the log density over what is known of the truth.

        A tail that falls as a straight line or bends outwards has no curvature to go by: there a point pulls as the Gaussian
        around its value would that has the same slope, as for mixtures of widths.
        """
        value, sigma = _filled(objects)
        step = np.sqrt(variance + (_LEAST_STEP * sigma) ** 2)
        below, here, above = (
            np.maximum(self._density(value, link + shift * step, sigma), -_LARGEST)
            for shift in (-1.0, 0.0, 1.0)
        )
        slope = (above - below) / (2.0 * step)
        curvature = np.maximum(
            (2.0 * here - below - above) / step**2,
            np.abs(slope) / np.maximum(np.abs(value - link), _LEAST_STEP * sigma),
        )
        return slope, np.maximum(curvature, _LEAST_CURVATURE / sigma**2)

    def log_likelihood(self, objects: Measurements, link: FloatArray) -> FloatArray:
        value, sigma = _filled(objects)
        return self._density(value, link, sigma)

    def _match_at(
        self, objects: Measurements, curves: Measurements, rows: IntArray, point: int
    ) -> FloatArray:
        d, d_sigma = objects.values[rows, point], objects.sigma[rows, point]
        c, c_sigma = curves.values[:, point], curves.sigma[:, point]
        self._check_normalised(d, d_sigma, point)
        smallest = float(min(d_sigma.min(), c_sigma.min()))
        low = float(min((d - self.reach * d_sigma).min(), (c - self.reach * c_sigma).min()))
        high = float(max((d + self.reach * d_sigma).max(), (c + self.reach * c_sigma).max()))
        nodes = int(np.ceil((high - low) / smallest * self.steps)) + 1
        if nodes > _MOST_NODES:
            raise ValueError(
                f"the quadrature of a Numeric noise needs {nodes} nodes at point {point}: the values span "
                f"{(high - low) / smallest:.3g} of the smallest sigma, {smallest:.3g}. Remove outlying values or points "
                "with a sigma near 0, or give the density a closed form (see 'how to add a noise model')."
            )
        grid = np.linspace(low, high, nodes)
        log_step = np.full(nodes, np.log(grid[1] - grid[0]))
        of_curves = self._density(c[:, None], grid, c_sigma[:, None])
        norm = logsumexp(of_curves + log_step, axis=1, keepdims=True)
        of_objects = self._density(d[:, None], grid, d_sigma[:, None])
        return log_overlap(of_objects, of_curves - norm, log_step)

    def _density(self, value: FloatArray, truth: FloatArray, sigma: FloatArray) -> FloatArray:
        shape = np.broadcast_shapes(value.shape, truth.shape, sigma.shape)
        found = np.asarray(self.log_density(value, truth, sigma), dtype=np.float64)
        bad = np.isnan(found) | (found == np.inf)
        if bad.any() or found.shape != shape:
            if found.shape != shape:
                raise ValueError(
                    f"`log_density` must broadcast over its arguments to {shape}: got shape {found.shape}."
                )
            first = np.unravel_index(int(np.argmax(bad)), shape)
            where = [float(np.broadcast_to(part, shape)[first]) for part in (value, truth, sigma)]
            raise ValueError(
                f"`log_density` must return a number or -inf: got {found[first]} at value {where[0]:.6g}, truth "
                f"{where[1]:.6g}, sigma {where[2]:.6g}. Return -inf where a value is impossible."
            )
        return found

    def _check_normalised(self, d: FloatArray, sigma: FloatArray, point: int) -> None:
        truth, width = float(np.median(d)), float(np.median(sigma))
        offset = np.linspace(-self.reach, self.reach, 2 * int(self.reach * max(self.steps, 20)) + 1)
        total = float(
            np.trapezoid(
                np.exp(self._density(truth + width * offset, np.array(truth), np.array(width))),
                width * offset,
            )
        )
        if not abs(total - 1.0) <= self.tolerance:
            raise ValueError(
                f"`log_density` must integrate to one over the values: got {total:.4g} at truth {truth:.4g}, sigma "
                f"{width:.4g} (point {point}), within {self.reach:g} sigma. Divide the density by its integral, or raise "
                "`reach` if its tails are that long."
            )


def log_overlap(log_p: FloatArray, log_q: FloatArray, log_weight: FloatArray) -> FloatArray:
    """Return (n, k): ``log sum_g w_g p_ng q_kg``, all pairs as one matrix product.

    Parameters
    ----------
    log_p, log_q : (n, G) and (k, G)
        Log densities on the nodes of a quadrature.
    log_weight : (G,)
        Log weights of the nodes.
    """
    p_top = log_p.max(axis=1, keepdims=True)
    weighted = log_q + log_weight
    q_top = weighted.max(axis=1, keepdims=True)
    top = np.where(np.isfinite(p_top), p_top, 0.0), np.where(np.isfinite(q_top), q_top, 0.0)
    product = np.exp(log_p - top[0]) @ np.exp(weighted - top[1]).T
    with np.errstate(divide="ignore"):
        out = np.log(product) + top[0] + top[1].T
    # Pairs that lie far apart underflow in the product; these few are summed in logs.
    for row, column in np.argwhere(product < _TINY):
        with np.errstate(divide="ignore"):
            out[row, column] = logsumexp(log_p[row] + weighted[column])
    return np.asarray(out)


def _filled(objects: Measurements) -> tuple[FloatArray, FloatArray]:
    """Values and sigma (n, m), 0 and 1 where missing."""
    observed = objects.observed
    return np.where(observed, objects.values, 0.0), np.where(observed, objects.sigma, 1.0)


def _check_side(side: Measurements, role: str) -> None:
    if side.covariance is not None:
        raise ValueError(
            f"Numeric noise takes the errors of the points as independent: {role}s must have `sigma`."
        )
    exact = side.observed & (side.sigma == 0)
    if exact.any():
        row, point = (int(i) for i in np.argwhere(exact)[0])
        raise ValueError(
            f"`sigma` must be > 0 for Numeric noise: got 0 at {role} {row}, point {point}. An exact value has no "
            "density to integrate; give it a small sigma."
        )
