"""Young classes are believed as far as they foretold what was said; the same statements give the same trust."""

from __future__ import annotations

import numpy as np
import pytest

from badac.triage import Session, learning, trust


def test_the_better_prophet_is_believed():
    right = [trust.tested(0.9, 0.4, worth=True), trust.tested(0.1, 0.4, worth=False)]
    assert min(right) > 0.0
    assert trust.tested(0.9, 0.4, worth=False) < 0.0 and trust.tested(0.3, 0.3, worth=True) == 0.0
    first = trust.trust([])
    assert trust.trust(right * 3) > first > trust.trust([-each for each in right] * 3)


def test_one_look_does_not_decide_and_neither_opinion_is_lost():
    assert np.isfinite(trust.tested(0.0, 1.0, worth=True))
    low, high = trust.trust([-1e9]), trust.trust([1e9])
    assert 0.1 < low < 0.5 < high < 1.0


def test_only_the_last_looks_count():
    assert trust.trust([1e3] + [0.0] * trust.LOOKS) == trust.trust([])


def test_odds_are_those_of_what_was_foretold(survey):
    """What each statement spoke for is worked out from those before it alone."""
    session = Session(survey.model, survey.objects)
    waves = np.flatnonzero(survey.truth == "wave")
    session.say(int(waves[0]), "new", "wave")
    learned = session._learned
    assert learned._tested == [0.0]  # there was no young class yet
    ratio, left = learned._ratios(int(waves[1]))
    tendency = float(learned._by_model(int(waves[1]))[1])
    session.say(int(waves[1]), "new", "wave")
    assert learned._tested[1] == trust.tested((sum(ratio) + tendency) * left, tendency, worth=True)


@pytest.mark.parametrize("looks", [3, 100])
def test_undo_and_a_replay_give_the_same(survey, tmp_path, monkeypatch, looks):
    monkeypatch.setattr(trust, "LOOKS", looks)
    monkeypatch.setattr(learning, "LOOKS", looks)
    session = Session(survey.model, survey.objects, tmp_path / "looks.jsonl", survey.ids)
    for number in range(9):
        row = int(session.next()[0])
        known = survey.truth[row] in ("rise", "fall")
        session.say(row, "class" if known else "new", str(survey.truth[row]))
        if number == 5:
            session.undo()
            session.undo()

    def same_as_opened() -> None:
        again = Session.open(session.path, survey.model, survey.objects, survey.ids)
        assert again._learned._tested[-looks:] == session._learned._tested[-looks:]
        assert np.array_equal(again.value, session.value)
        again.undo()  # as far back as was not foretold when it was opened
        session.refresh()
        assert np.array_equal(again.value, session.value)

    same_as_opened()
    session.set_value("wave", 2.0)
    same_as_opened()
