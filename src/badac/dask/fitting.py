"""Classes of any size, learned from dask partitions: only sums over their members travel.

    survey of all partitions   counts, moments, the range, and at most 20,000 members of each class drawn at random
    start                      rank, smoothness, shape and a first factor model from those members
    EM steps                   ``statistics(block)`` of every partition, added up by a tree, then `maximise`
    finish                     latent density, tails and the rest of the classifier from the members drawn

These are the steps, and the functions, of `badac.classes.population.population` in memory; there the members drawn are all of
a class of up to 20,000, and so they are here. The graph holds all steps at once, so the fit is as lazy as everything else:
computing it gives a fitted `badac.BADACClassifier`. A step that finds the climb at its end passes it on untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask import delayed
from sklearn.base import clone

from badac.classes import Population, TrainingScales
from badac.classes.population.learn import STEPS, Start
from badac.classes.population.leave_one_out import leave_one_out
from badac.classes.population.plan import make_plan
from badac.dask.reduction import tree
from badac.dask.survey import Members, Survey
from badac.data.concatenation import concatenate
from badac.data.measurements import Measurements
from badac.data.reading import error_columns
from badac.estimators import BADACClassifier
from badac.estimators.choices import drawn_seed, generator
from badac.estimators.fitting import Fitted, Recipe
from badac.estimators.validation import to_measurements
from badac.latent.factor import Climb, FactorSums, all_statistics
from badac.latent.moments import seen_clearly
from badac.noise import Gaussian
from badac.partition import Columns, is_numeric


@dataclass(frozen=True, eq=False)
class Learning:
    """A class on its way: what was drawn, planned and reached so far."""

    members: Measurements
    start: Start
    climb: Climb
    rng: np.random.Generator

    @classmethod
    def begin(
        cls, population: Population, members: Measurements, scales: TrainingScales, rng: np.random.Generator
    ) -> Learning:
        # As in `Population.fit`.
        members = members[np.argsort(np.nansum(members.values, axis=1), kind="stable")]
        scales = seen_clearly(scales, members)
        plan = make_plan(members, scales, rng, rank=population.rank, shape=population.shape)
        start = Start.of(members, scales, plan, rng)
        climb = Climb.begin(start.factor)
        return cls(members, start, climb if plan.rank > 0 else replace(climb, arrived=True), rng)

    def finish(self, population: Population, count: int) -> Population:
        learned = self.start.finish(self.climb.best, count, self.rng)
        evidence, tails = leave_one_out(self.members, learned, self.rng)
        return replace(
            population,
            mean=learned.factor.mean,
            factors=learned.factor.factors,
            psi=learned.factor.psi,
            density=learned.density,
            plan=learned.plan,
            tails=tails,
            member_evidence=evidence,
            noise=Gaussian(),
        )


def fit(
    model: BADACClassifier,
    X: Any,
    label: str,
    *,
    features: Sequence[str] | None = None,
) -> Any:
    """Learn the classes of a dask DataFrame of any size, lazily.

    Parameters
    ----------
    model : BADACClassifier
        Unfitted, with ``noise="gaussian"`` (or "checked") and ``class_model="population"`` (or "auto"), the same here.
    X : dask DataFrame
        One row an object: values, their errors (``name_err``) and the label. Rows without a label are left out.
    label : str
        Column of the labels.
    features : sequence of str, optional
        Value columns; by default all that have an error column.

    Returns
    -------
    Delayed
        Of a fitted BADACClassifier. Its ``training_`` are the members drawn, at most 20,000 of each class.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import numpy as np
    >>> import pandas as pd
    >>> from badac import BADACClassifier
    >>> from badac.dask import fit
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({f"y{j}": np.repeat([0.0, 1.0], 60) + 0.1 * rng.standard_normal(120) for j in range(3)})
    >>> frame = frame.assign(**{f"y{j}_err": 0.1 for j in range(3)}, kind=np.repeat(["a", "b"], 60))
    >>> fitted = fit(BADACClassifier("population", random_state=0), dd.from_pandas(frame, npartitions=2), "kind")
    >>> fitted.compute(scheduler="sync").classes_.tolist()
    ['a', 'b']
    """
    population = _population(model)
    columns = _columns(X, label, features)
    rng_seed = drawn_seed(model.random_state)
    read = delayed(_members, pure=True)
    parts = [read(part, columns, label, number) for number, part in enumerate(X.to_delayed())]
    look = delayed(_surveyed, pure=True)
    survey = tree(
        [look(part, [rng_seed, number], len(columns.values)) for number, part in enumerate(parts)], _added, 4
    )
    state = delayed(_begin, pure=True)(population, survey, rng_seed)
    sums, advance = delayed(_sums, pure=True), delayed(_advance, pure=True)
    for _ in range(STEPS):
        # Only the climbs travel to the members, not the samples.
        climbs = delayed(_climbs, pure=True)(state)
        state = advance(state, tree([sums(part, climbs) for part in parts], _added_sums))
    return delayed(_finish, pure=True)(model, population, survey, state, list(columns.values))


def _population(model: BADACClassifier) -> Population:
    chosen = model.class_model
    if chosen in ("auto", "population") or getattr(chosen, "left_to_data", False):
        chosen = Population()
    if not isinstance(chosen, Population):
        raise ValueError(
            f'`class_model` must be "population" to be learned from partitions: got {model.class_model!r}. Other class models '
            "need their members in one place: fit them on a sample in memory."
        )
    if model.noise not in ("checked", "gaussian", Gaussian()):
        raise ValueError(
            f'`noise` must be "gaussian" to be learned from partitions: got {model.noise!r}. Fit on a sample in memory.'
        )
    if model.nuisance is not None:
        raise ValueError(f"`nuisance` must be None to be learned from partitions: got {model.nuisance!r}.")
    return chosen


def _columns(X: Any, label: str, features: Sequence[str] | None) -> Columns:
    names = [str(name) for name in X.columns]
    if label not in names:
        raise ValueError(f"the table has no column {label!r} for the label. Columns: {', '.join(names)}.")
    errors = {name: error for name, error in error_columns(names).items() if name != label}
    wanted = list(errors) if features is None else [str(name) for name in features]
    lonely = [name for name in wanted if name not in errors]
    if lonely or not wanted:
        what = (
            f"the column {lonely[0]!r} with an error column"
            if lonely
            else "any column with an error column beside it"
        )
        raise ValueError(f"the table lacks {what} (`flux` and `flux_err`). Columns: {', '.join(names)}.")
    columns = Columns(tuple(wanted), tuple(errors[name] for name in wanted))
    for name in (*columns.values, *columns.errors):
        if not is_numeric(X._meta[name].dtype):
            raise ValueError(f"the column {name!r} must hold numbers: its type is {X._meta[name].dtype}.")
    return columns


def _members(frame: Any, columns: Columns, label: str, number: int) -> Members:
    """Return the members of each class in a partition."""
    frame = frame[frame[label].notna()]
    objects = columns.read(frame, f"partition {number}")
    given = np.array(frame[label].tolist())
    return {name: objects[given == name] for name in np.unique(given).tolist()}


def _surveyed(members: Members, seed: list[int], n_points: int) -> Survey:
    return Survey.of(members, np.random.default_rng(seed), n_points)


def _added(parts: list[Survey]) -> Survey:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _begin(population: Population, survey: Survey, seed: int) -> dict[Any, Learning]:
    if not survey.count:
        raise ValueError("no object has a label.")
    scales = survey.scales
    return {
        name: Learning.begin(population, sample.members, scales, np.random.default_rng([seed, number]))
        for number, (name, sample) in enumerate(sorted(survey.sample.items()))
    }


def _climbs(state: dict[Any, Learning]) -> dict[Any, Climb]:
    return {name: learning.climb for name, learning in state.items() if not learning.climb.arrived}


def _sums(members: Members, climbs: dict[Any, Climb]) -> dict[Any, FactorSums]:
    """E-step of one partition, for the classes that are still climbing."""
    return {
        name: all_statistics(members[name], climb.factor) for name, climb in climbs.items() if name in members
    }


def _added_sums(parts: list[dict[Any, FactorSums]]) -> dict[Any, FactorSums]:
    total: dict[Any, FactorSums] = {}
    for part in parts:
        for name, sums in part.items():
            total[name] = total[name] + sums if name in total else sums
    return total


def _advance(state: dict[Any, Learning], sums: dict[Any, FactorSums]) -> dict[Any, Learning]:
    return {
        name: replace(learning, climb=learning.climb.step(sums[name], learning.start.scales))
        if name in sums
        else learning
        for name, learning in state.items()
    }


def _finish(
    model: BADACClassifier,
    population: Population,
    survey: Survey,
    state: dict[Any, Learning],
    features: list[str],
) -> BADACClassifier:
    names = list(state)
    fitted: BADACClassifier = clone(model)
    if model.priors is None:
        total = sum(survey.count.values())
        fitted.priors = {name: survey.count[name] / total for name in names}
    # No class has new members: what remains to be learned is what they say together.
    kept: dict[Any, Fitted] = {
        name: (state[name].finish(population, survey.count[name]), ()) for name in names
    }
    training = concatenate([state[name].members for name in names])
    label = np.repeat(np.array(names), [len(state[name].members) for name in names])
    to_measurements(fitted, training, None, reset=True)
    fitted.feature_names_in_ = np.array(features)
    rng = generator(fitted.random_state)
    # The classes were learned under it: nothing else may be found in the sample.
    recipe = replace(Recipe.of(fitted), noise=Gaussian())
    return fitted.adopt(recipe.learn(training, label, np.ones(1), rng, kept=kept))
