"""What is worth a look: begins as the static ranking, learns what looks tell, and gives way when they find nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from badac.triage.learning import IN_VAIN, Learned, Scene, is_rankings_turn
from badac.triage.positions import Positions
from badac.triage.statement import Statement
from badac.triage.tendency import Tendency
from badac.triage.young_class import log_background


def scene(n: int = 300, seed: int = 3) -> Scene:
    """Objects in four directions; the score says nothing."""
    rng = np.random.default_rng(seed)
    places = Positions(rng.standard_normal((n, 4)), np.full((n, 4), 0.05))
    score, proba = rng.standard_normal(n), rng.dirichlet(np.ones(3), n)
    return Scene(places, log_background(places), proba, score, ("a", "b", "c"))


def said(row: int, what: str, name: str = "") -> Statement:
    return Statement.now("x", object=str(row), said=what, name=name)


def test_nothing_said_is_the_static_ranking():
    one = scene()
    odds = one.tendency.log_odds(one.tendency.learn(np.empty(0, dtype=np.int64), np.empty(0)))
    np.testing.assert_array_equal(np.argsort(-odds, kind="stable"), np.argsort(-one.score, kind="stable"))


def test_weights_are_those_of_highest_posterior_probability():
    one = scene().tendency
    rows, wanted = np.arange(40), (np.arange(40) % 3 == 0).astype(float)
    x = np.column_stack([np.ones(40), one.ranked[rows], one.columns[rows]])

    def loss(weights):
        logit, away = x @ weights, (weights - one.prior) / one.spread
        gradient = x.T @ (expit(logit) - wanted) + away / one.spread
        return np.logaddexp(0.0, logit).sum() - wanted @ logit + 0.5 * away @ away, gradient

    best = minimize(loss, one.prior, jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14})
    assert loss(one.learn(rows, wanted))[0] <= best.fun + 1e-9


def test_learns_a_region_that_no_straight_line_cuts_off():
    """Worth a look is what is near the middle; 60 looks at random."""
    one = scene(600)
    far = np.linalg.norm(one.positions.place, axis=1)
    rows = np.random.default_rng(1).choice(600, 60, replace=False)
    odds = one.tendency.log_odds(one.tendency.learn(rows, (far[rows] < 1.5).astype(float)))
    others = np.setdiff1d(np.arange(600), rows)
    top = others[np.argsort(-odds[others])[:50]]
    assert (far[top] < 1.5).mean() > 2.0 * (far[others] < 1.5).mean()


def test_single_precision_of_the_table_keeps_the_order_of_a_long_ranking():
    places = Positions(np.zeros((50_000, 2)), np.ones((50_000, 2)))
    score = np.random.default_rng(5).permutation(50_000).astype(float)
    one = Tendency.of(places, np.full((50_000, 2), 0.5), score)
    np.testing.assert_array_equal(np.argsort(-one.log_odds(one.prior)), np.argsort(-score))


@pytest.mark.parametrize(
    ("found", "turn"),
    [
        ([], False),
        ([False] * (IN_VAIN - 1), False),
        ([False] * IN_VAIN, True),
        ([False] * (IN_VAIN + 1), False),  # that one was the ranking's
        ([False] * (2 * IN_VAIN + 1), True),
        ([*[False] * IN_VAIN, True], False),
    ],
)
def test_after_looks_in_vain_it_is_the_rankings_turn(found, turn):
    assert is_rankings_turn(found) is turn


def test_the_rankings_turn_leaves_out_what_is_explained():
    one = scene()
    learned = Learned(one)
    order = np.argsort(-one.score, kind="stable")
    for row in order[:IN_VAIN].tolist():
        learned.learn(row, said(row, "unsure"))
    learned.judged()
    ranked = learned.by_ranking()
    assert ranked is not None and ranked.argmax() == order[0]  # nothing was learned of what is unsure
    # A copy of an artefact is explained, however strange it is.
    places = one.positions
    places.place[order[IN_VAIN]] = places.place[order[0]]
    learned = Learned(Scene(places, one.log_background, one.proba, one.score, one.classes))
    learned.learn(int(order[0]), said(int(order[0]), "artefact", "trail"))
    for row in order[1:IN_VAIN].tolist():
        learned.learn(row, said(row, "unsure"))
    learned.judged()
    ranked = learned.by_ranking()
    assert ranked is not None and ranked[order[IN_VAIN]] == -np.inf
