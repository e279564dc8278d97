"""Every way the core can take with pairs, against the definition in extended precision and against the NumPy twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair_cases import CASES, Arguments, case_and_definition, definition, rounding_scale

from badac._kernels import NUMPY, Backend
from badac._kernels.arguments import Pairs

compiled = pytest.importorskip("badac._kernels.compiled", reason="the core is not built here")
compiled_pairs = pytest.importorskip("badac._kernels.compiled_pairs", reason="the core is not built here")

core = compiled.COMPILED
LEVELS = compiled.levels()
CHOICES: dict[str, dict[str, object]] = {
    "as it is": {},
    "double": {"screen": False},
    "two threads": {"n_threads": 2},
    "small blocks": {"objects_per_block": 9, "curves_per_block": 32},
    "one object a block": {"objects_per_block": 1},
}


def assert_follows(found: np.ndarray, exact: np.ndarray, arguments: Arguments) -> None:
    """1e-9 of the log-sum, or 1e-12 nats, by screening; a few roundings for each point, of the size of the terms."""
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(exact))
    finite = np.isfinite(exact)
    points = np.asarray(arguments["d"]).shape[1]
    screening = np.maximum(1e-9 * np.abs(np.where(finite, exact, 0.0)), 1e-12)
    rounding = 4 * np.finfo(float).eps * (points + 10) * rounding_scale(arguments, exact)
    assert np.all(np.abs(found[finite] - exact[finite]) <= (screening + rounding)[finite])


def pairs_of(arguments: Arguments) -> Pairs:
    names = ("d", "d_sigma", "y", "y_sigma")
    pairs = Pairs.of(*(arguments[name] for name in names), arguments.get("extra_variance", 0.0))
    return pairs.weighed(arguments.get("log_weights"), arguments.get("skip"))


def run(arguments: Arguments, **choices: object) -> np.ndarray:
    return compiled_pairs.pair_logsumexp_with(pairs_of(arguments), **choices)[0]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", CASES)
def test_log_sum_against_the_definition(case: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BADAC_SIMD", level)
    arguments, exact, _ = case_and_definition(case)
    for choice in CHOICES.values():
        assert_follows(run(arguments, **choice), exact, arguments)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", CASES)
def test_best_match_against_the_definition(case: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best one, or one that is as good to rounding."""
    monkeypatch.setenv("BADAC_SIMD", level)
    arguments, exact, matches = case_and_definition(case)
    weights = arguments.get("log_weights")
    matches = matches.copy() if weights is None else matches + weights
    if (skip := arguments.get("skip")) is not None:
        left_out = np.flatnonzero(np.asarray(skip) >= 0)
        matches[left_out, np.asarray(skip)[left_out]] = -np.inf
    best = core.pair_best(pairs_of(arguments))
    found, largest = np.take_along_axis(matches, best[:, None], axis=1)[:, 0], matches.max(axis=1)
    rounding = 4 * np.finfo(float).eps * (np.asarray(arguments["d"]).shape[1] + 10)
    allowed = rounding * rounding_scale(arguments, exact) + 1e-13 * np.maximum(1.0, np.abs(largest))
    finite = np.isfinite(largest)
    assert np.all(found[finite] >= (largest - allowed)[finite])


def test_of_equal_matches_the_first_is_the_best(rng: np.random.Generator) -> None:
    """Each curve is there five times, in another order each time: few objects, and enough for tiles and bounds."""
    curves = np.sin(rng.uniform(1, 9, (60, 1)) * np.linspace(0, 1, 20))
    order = np.concatenate([rng.permutation(60) for _ in range(5)])
    first = np.array([np.flatnonzero(order == which)[0] for which in range(60)])
    for n in (3, 900):
        which = rng.integers(0, 60, n)
        pairs = Pairs.of(curves[which], np.full((n, 20), 1e-3), curves[order], np.full((300, 20), 1e-3))
        np.testing.assert_array_equal(core.pair_best(pairs), first[which])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", CASES)
def test_log_match_against_the_definition(case: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BADAC_SIMD", level)
    arguments, _, exact = case_and_definition(case)
    found = core.pair_log_match(pairs_of(arguments))
    # 1e-12 of the terms: in double throughout, so the error is rounding alone. chi^2 beyond 1e300 is -inf.
    representable = exact > -1e300
    scale = np.abs(exact) + rounding_scale(arguments, np.zeros(len(exact)))[:, None]
    assert np.all(np.abs(found[representable] - exact[representable]) <= 1e-12 * scale[representable])


@pytest.mark.parametrize("case", CASES)
def test_the_twin_follows_the_definition(case: str) -> None:
    arguments, exact, _ = case_and_definition(case)
    assert_follows(NUMPY.pair_logsumexp(pairs_of(arguments)), exact, arguments)


@pytest.mark.parametrize(
    "case",
    [
        "plain 70x100x100",
        "missing",
        "all matter",
        "scales 1e±30",
        "skip and weights",
        "families",
        "families, many",
    ],
)
def test_threads_do_not_change_a_bit(case: str) -> None:
    arguments = CASES[case]()
    alone = run(arguments, objects_per_block=8)
    for threads in (2, 3, 7):
        np.testing.assert_array_equal(run(arguments, objects_per_block=8, n_threads=threads), alone)


@pytest.mark.parametrize("case", ["plain 70x100x100", "missing", "all matter", "skip and weights"])
def test_blocks_change_only_rounding_in_double(case: str) -> None:
    arguments = CASES[case]()
    whole = run(arguments, screen=False)
    for objects, curves in [(1, 32), (3, 64), (16, 96), (1000, 10_000)]:
        found = run(arguments, screen=False, objects_per_block=objects, curves_per_block=curves)
        np.testing.assert_allclose(found, whole, rtol=1e-12, atol=1e-12)


def test_screening_happens_and_gives_up() -> None:
    """It must be used where curves are far apart, and not where most of them count or float cannot tell them apart."""

    def report(case: str) -> dict[str, int]:
        arguments = CASES[case]()
        return dict(compiled_pairs.pair_logsumexp_with(pairs_of(arguments))[1])

    sparse = report("plain 70x100x100")
    assert sparse["screened"] >= 6000
    assert sparse["survived"] < 700
    assert report("all matter")["in_double"] > 0
    centred = report("offset 59000")  # centred first: the offset costs nothing
    assert centred["survived"] < 0.1 * centred["screened"]
    hopeless = report("outlying curve")  # a float of the outlier's size cannot hold the others' residuals
    assert hopeless["survived"] == hopeless["screened"] > 0
    assert report("overflowing squares")["careful"] == 0  # units bring them into range
    assert report("scales 1e±200")["careful"] > 0


@pytest.mark.shared_data
@pytest.mark.parametrize(("shift", "factor"), [(0.0, 1.0), (59_000.0, 0.01)])
def test_authors_sample(authors_sample: dict[str, np.ndarray], shift: float, factor: float) -> None:
    train = authors_sample["train_label"] == 0
    arguments = {
        "d": shift + factor * authors_sample["test_values"][:40],
        "d_sigma": factor * authors_sample["test_sigma"][:40],
        "y": shift + factor * authors_sample["train_values"][train],
        "y_sigma": factor * authors_sample["train_sigma"][train],
    }
    exact, _ = definition(arguments)
    assert np.max(np.abs(run(arguments) / exact - 1)) < 1e-9


def test_no_silent_underflow() -> None:
    """A match is -inf only beyond what a double can hold: chi^2 of 1e299 is a number, chi^2 of 1e310 is not."""
    one = {"d_sigma": np.full((1, 3), 1.0), "y_sigma": np.zeros((2, 3))}
    for far in (1e20, 1e80, 1e149):
        arguments = {"d": np.full((1, 3), far), "y": np.zeros((2, 3)), **one}
        exact, _ = definition(arguments)
        np.testing.assert_allclose(run(arguments), exact.astype(float), rtol=1e-13)
        np.testing.assert_allclose(
            core.pair_log_match(pairs_of(arguments))[0], exact.astype(float)[0], rtol=1e-13
        )
    beyond = {"d": np.full((1, 3), 1e155), "y": np.zeros((2, 3)), **one}
    assert run(beyond)[0] == -np.inf


@pytest.mark.parametrize("backend", [core, NUMPY], ids=["core", "definition"])
@pytest.mark.parametrize("kernel", ["pair_log_match", "pair_logsumexp"])
def test_a_pair_without_variance_is_named(kernel: str, backend: Backend) -> None:
    d_sigma, y_sigma = np.ones((3, 4)), np.ones((5, 4))
    d_sigma[2, 1] = y_sigma[3, 1] = 0.0
    pairs = Pairs.of(np.zeros((3, 4)), d_sigma, np.zeros((5, 4)), y_sigma)
    with pytest.raises(ValueError, match="object 2 and curve 3 are both zero at point 1"):
        getattr(backend, kernel)(pairs)


@pytest.mark.parametrize("backend", [core, NUMPY], ids=["core", "definition"])
def test_a_pair_without_variance_may_be_left_out(backend: Backend) -> None:
    """Leave-one-out of a member with one exact point: only its own pair has no variance, and that one is skipped."""
    values, sigma = np.arange(12.0).reshape(3, 4), np.ones((3, 4))
    sigma[1, 2] = 0.0
    pairs = Pairs.of(values, sigma, values, sigma)
    assert np.all(np.isfinite(backend.pair_logsumexp(pairs.weighed(None, np.arange(3)))))
    weights = np.log([0.5, 0.5, 0.0], where=[True, True, False], out=np.full(3, -np.inf))
    sigma[1, 2], sigma[2, 2] = 1.0, 0.0
    pairs = Pairs.of(values[2:], sigma[2:], values, sigma)
    assert np.all(np.isfinite(backend.pair_logsumexp(pairs.weighed(weights, None))))


def test_inputs_of_any_kind_are_taken_and_left_alone(rng: np.random.Generator) -> None:
    def log_sum(*arrays: np.ndarray) -> np.ndarray:
        return core.pair_logsumexp(Pairs.of(*arrays))

    base = rng.normal(size=(6, 40, 2))
    sigma = rng.uniform(1, 2, (6, 40, 2))
    before = base.copy(), sigma.copy()
    arrays = base[..., 0], sigma[..., 0], base[..., 1], sigma[..., 1]
    plain = log_sum(*(np.ascontiguousarray(a) for a in arrays))
    np.testing.assert_array_equal(log_sum(*arrays), plain)
    np.testing.assert_array_equal(base, before[0])
    np.testing.assert_array_equal(sigma, before[1])
    single = log_sum(base[..., 0].astype(np.float32), *arrays[1:])
    np.testing.assert_allclose(single, plain, rtol=1e-5)
    for array in (base, sigma):
        array.flags.writeable = False
    np.testing.assert_array_equal(log_sum(*arrays), plain)
    assert log_sum(*2 * [np.empty((0, 4))], *2 * [np.ones((2, 4))]).shape == (0,)


def test_unknown_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BADAC_SIMD", "abacus")
    with pytest.raises(ValueError, match="no kernels for instruction set 'abacus'"):
        core.pair_log_match(Pairs.of(*4 * [np.ones((1, 1))]))


sizes = st.tuples(st.integers(1, 20), st.integers(1, 70), st.integers(1, 40), st.integers(0, 2**32 - 1))


def drawn(n: int, k: int, m: int, seed: int) -> Arguments:
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.uniform(-2, 2)
    d = rng.normal(size=(n, m)) * spread
    d[rng.random((n, m)) < rng.choice([0.0, 0.3])] = np.nan
    return {
        "d": d,
        "d_sigma": rng.uniform(0.1, 1, (n, m)),
        "y": rng.normal(size=(k, m)) * spread,
        "y_sigma": rng.uniform(0.0, 1, (rng.choice([1, k]), m)),
    }


@settings(deadline=None, max_examples=60)
@given(sizes)
def test_law_twin(size: tuple[int, int, int, int]) -> None:
    arguments = drawn(*size)
    np.testing.assert_allclose(
        run(arguments), NUMPY.pair_logsumexp(pairs_of(arguments)), rtol=2e-9, atol=1e-11
    )
    np.testing.assert_allclose(
        core.pair_log_match(pairs_of(arguments)),
        NUMPY.pair_log_match(pairs_of(arguments)),
        rtol=1e-11,
        atol=1e-11,
    )


@settings(deadline=None, max_examples=40)
@given(sizes)
def test_law_order_does_not_matter(size: tuple[int, int, int, int]) -> None:
    arguments = drawn(*size)
    rng = np.random.default_rng(size[3])
    curves, points = rng.permutation(size[1]), rng.permutation(size[2])
    y_sigma = arguments["y_sigma"]
    shuffled = {
        "d": arguments["d"][:, points],
        "d_sigma": arguments["d_sigma"][:, points],
        "y": arguments["y"][curves][:, points],
        "y_sigma": (y_sigma if len(y_sigma) == 1 else y_sigma[curves])[:, points],
    }
    np.testing.assert_allclose(run(shuffled), run(arguments), rtol=2e-9, atol=1e-11)


@settings(deadline=None, max_examples=40)
@given(sizes, st.floats(1e-120, 1e120))
def test_law_scaling_shifts(size: tuple[int, int, int, int], factor: float) -> None:
    arguments = drawn(*size)
    scaled = {name: array * factor for name, array in arguments.items()}
    shift = np.isfinite(arguments["d"]).sum(axis=1) * np.log(factor)
    np.testing.assert_allclose(run(scaled), run(arguments) - shift, rtol=2e-9, atol=1e-9)


@settings(deadline=None, max_examples=30)
@given(sizes, st.integers(1, 4), st.integers(1, 30), st.sampled_from([32, 64, 96]))
def test_law_threads_and_blocks(
    size: tuple[int, int, int, int], threads: int, objects: int, curves: int
) -> None:
    arguments = drawn(*size)
    found = run(arguments, n_threads=threads, objects_per_block=objects, curves_per_block=curves)
    np.testing.assert_allclose(found, run(arguments), rtol=2e-9, atol=1e-11)
