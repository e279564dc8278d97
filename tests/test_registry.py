"""The registry: one line makes a class known to the estimator, its messages, and model files."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from badac import BADACClassifier, Measurements, classes, noise, nuisance, registry
from badac.estimators.choices import choose_nuisance, choose_units, others_can_tell, words
from badac.registry import registered

LABEL = np.repeat(["a", "b"], 6)
OBJECTS = Measurements(np.random.default_rng(0).normal((LABEL == "b")[:, None], 0.2, (12, 3)), 0.2)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))


@pytest.mark.usefixtures("table")
def test_a_class_of_ones_own_is_used_by_its_name() -> None:
    @registered("class_model", "mine")
    @dataclass(frozen=True, eq=False)
    class Mine(classes.Template):
        pass

    assert "mine" in words("class_model")
    model = BADACClassifier("mine", anomaly="evidence").fit(OBJECTS, LABEL)
    assert [type(one) for one in model.class_models_] == [Mine, Mine]
    mixed = BADACClassifier({"a": "mine", "b": "template"}, anomaly="evidence").fit(OBJECTS, LABEL)
    assert [type(one) for one in mixed.class_models_] == [Mine, classes.Template]
    with pytest.raises(ValueError, match="`class_model` must be one of auto, gp, .*mine, .*got 'yours'"):
        BADACClassifier("yours").fit(OBJECTS, LABEL)


@pytest.mark.usefixtures("table")
def test_a_noise_and_an_anomaly_of_ones_own_are_used_by_their_names() -> None:
    from badac.anomalies import TopHat

    @registered("noise", "twice")
    @dataclass(frozen=True)
    class Twice(noise.Gaussian):
        scale: float = 2.0

    @registered("anomaly", "wide")
    @dataclass(frozen=True)
    class Wide(TopHat):
        times: float = 50.0

    model = BADACClassifier("template", noise="twice", anomaly="wide").fit(OBJECTS, LABEL)
    assert model.noise_ == Twice()
    assert isinstance(model.anomaly_model_, Wide)


@pytest.mark.usefixtures("table")
def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"class_model='population' is registered already, for badac\..*another name"
    ):

        @registered("class_model", "population")
        @dataclass(frozen=True)
        class Crowd:
            pass

    with pytest.raises(
        ValueError, match=r"'Population' is registered already, badac\..*rename .*test_registry"
    ):

        @registered("class_model", "crowd")
        @dataclass(frozen=True)
        class Population:
            pass

    assert registry.part("Population").cls is classes.Population

    # The same word for another kind is another thing.
    @registered("nuisance", "population")
    @dataclass(frozen=True)
    class Neighbours:
        pass


@pytest.mark.usefixtures("table")
def test_a_cell_that_is_run_again_replaces_what_it_registered() -> None:
    def cell(default: float) -> type:
        @registered("noise", "mine")
        @dataclass(frozen=True)
        class Mine:
            scale: float = default

        return Mine

    first, second = cell(1.0), cell(2.0)
    assert registry.entry_of(first) is None
    assert registry.named("noise")["mine"].cls is second


@pytest.mark.usefixtures("table")
def test_what_would_not_work_later_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="`kind` must be one of class_model, noise, .*got 'color'"):
        registered("color", "blue")
    with pytest.raises(TypeError, match="noise='mine' would stand for Mine.*needs width.*pass an instance"):

        @registered("noise", "mine")
        @dataclass(frozen=True)
        class Mine:
            width: float

    with pytest.raises(TypeError, match="`half` of .*Halved.*cached property"):

        @registered("part")
        @dataclass
        class Halved:
            whole: float
            half: float = field(init=False)

    assert registry.part("Mine") is None


def test_the_words_of_the_docstring_are_those_of_the_registry() -> None:
    words_of = inspect.getdoc(BADACClassifier)
    assert words_of is not None
    for parameter in ("class_model", "noise", "anomaly"):
        listed = re.search(rf"^{parameter} : {{(.*?)}}", words_of, re.MULTILINE)
        assert listed is not None
        assert set(re.findall(r'"(\w+)"', listed[1])) == {
            word
            for word in words(parameter)
            if word not in registry.named(parameter) or registry.named(parameter)[word].ours
        }


def test_every_word_makes_a_model_of_its_kind() -> None:
    for parameter in ("class_model", "noise", "anomaly"):
        assert words(parameter)[0] == "auto"
        for entry in registry.named(parameter).values():
            assert isinstance(entry.cls(), entry.cls)


def test_nuisances_declare_their_words_and_the_order_of_wrapping() -> None:
    found = choose_nuisance({"shift": 0.05, "gain": 0.1})
    assert [type(one) for one in found] == [nuisance.Calibration, nuisance.Shift]
    assert (found[0].gain, found[0].offset, found[1].width) == (0.1, 0.0, 0.05)
    given = choose_nuisance([nuisance.Shift(0.1), nuisance.Calibration(0.1)])
    assert [type(one) for one in given] == [nuisance.Calibration, nuisance.Shift]
    with pytest.raises(ValueError, match="widths of 'gain', 'offset', 'shift': got 'zoom'"):
        choose_nuisance({"zoom": 0.1})


@pytest.mark.usefixtures("table")
def test_a_nuisance_of_ones_own_has_its_word() -> None:
    @registered("nuisance")
    @dataclass(frozen=True, eq=False)
    class Level(nuisance.Calibration):
        widths = {"level": "offset"}  # noqa: RUF012
        order = 2

    found = choose_nuisance({"level": 0.2, "shift": 0.1})
    assert [type(one) for one in found] == [nuisance.Shift, Level]
    assert found[1].offset == 0.2


def test_other_models_are_asked_only_where_the_class_is_left_to_the_data() -> None:
    assert others_can_tell([classes.Auto()], [])
    assert not others_can_tell([classes.Auto(), classes.Population()], [])
    assert others_can_tell([classes.Auto()], [nuisance.Shift(0.0)])
    assert not others_can_tell([classes.Auto()], [nuisance.Shift(0.1)])


@pytest.mark.usefixtures("table")
def test_units_are_free_for_words_of_badac_alone() -> None:
    @registered("noise", "mine")
    @dataclass(frozen=True)
    class Mine(noise.Gaussian):
        pass

    huge = Measurements(1e30 * OBJECTS.values, 1e30 * OBJECTS.sigma)

    def units(**settings: object) -> bool:
        return bool(choose_units(BADACClassifier(**settings), huge)[0] != 1.0)

    assert units()
    assert units(anomaly="evidence", class_model={"a": "template"}, nuisance={"gain": 0.1})
    assert not units(noise="mine")
    assert not units(noise="poisson")
    assert not units(nuisance={"offset": 0.1})
    assert not units(class_model={"a": classes.Template()})
