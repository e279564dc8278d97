"""How parts of older model files are read: one entry per part and version that changed.

    Migration("Surroundings", 0, to="TrainingScales")
    Migration("BADACClassifier", 1, added={"left_out_": None}),
    Migration("Bump", 0, dropped=("shapes", "places", "widths", "ground")),
    Migration("Coarsening", 0, renamed={"wild": "contaminated"})

An entry leads from one version of a part to the next. Whoever changes the fields of a registered class, or its name, raises the
`version` of its registration by one and adds the entry that leads there; a file of any age then takes its entries in turn. What
no table can say is a function from fields to fields. Files of format 1 (badac 0.1) had no versions of parts: theirs is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from badac.store.parts import StoredPart

Fields = dict[str, Any]


@dataclass(frozen=True)
class Gathered:
    """Fields that became a part of their own.

    Attributes
    ----------
    part : str
        Its name.
    fields : mapping
        Field of the new part: field that it was.
    version : int
        Of the new part's schema.
    """

    part: str
    fields: Mapping[str, str]
    version: int = 1


@dataclass(frozen=True)
class Migration:
    """What became of a part after a version of its schema.

    Attributes
    ----------
    part : str
        Its name at that version.
    version : int
        The version that it leads away from, to the next.
    to : str, optional
        Its name since, if it was renamed.
    renamed : mapping
        Old name of a field: new name.
    dropped : tuple
        Fields that are gone.
    gathered : mapping
        New field: the part in it that older fields went into (under the names that they had).
    added : mapping
        New fields, with the value that they have in old files.
    changed : function, optional
        From fields to fields, last: what the tables above do not say.
    """

    part: str
    version: int
    to: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    gathered: Mapping[str, Gathered] = field(default_factory=dict)
    added: Mapping[str, Any] = field(default_factory=dict)
    changed: Callable[[Fields], Fields] | None = None

    def apply(self, old: StoredPart) -> StoredPart:
        """Return the part as the next version has it."""
        fields = {name: value for name, value in old.fields.items() if name not in self.dropped}
        for name, group in self.gathered.items():
            inner = {new: fields.pop(was) for new, was in group.fields.items() if was in fields}
            fields[name] = migrated(StoredPart(group.part, group.version, inner))
        fields = {self.renamed.get(name, name): value for name, value in fields.items()}
        fields = {**fields, **{name: value for name, value in self.added.items() if name not in fields}}
        if self.changed is not None:
            fields = self.changed(fields)
        return StoredPart(self.to or old.name, old.version + 1, fields)


_TABLE: dict[tuple[str, int], Migration] = {}


def register_migration(*migrations: Migration) -> None:
    """Add to the table; for classes of your own, beside their registration."""
    for one in migrations:
        if (one.part, one.version) in _TABLE:
            raise ValueError(f"there is a migration of {one.part!r} from version {one.version} already.")
        _TABLE[one.part, one.version] = one


def migrated(part: StoredPart) -> StoredPart:
    """Return a part as this version of badac has it, as far as the table leads."""
    while (part.name, part.version) in _TABLE or part.version == 0:
        # What has not changed since format 1 is of version 1.
        part = _TABLE.get((part.name, part.version), Migration(part.name, 0)).apply(part)
    return part


def _not_on_a_grid(old: Fields) -> Fields:
    """The stack of objects with points of their own was on a grid of bins, with models that are gone."""
    if old.pop("gridded") is not None:
        raise ValueError(
            "this model has a stack of light curves on a grid of bins, which this version of badac has no more: fit it again, "
            "or read it with the badac that wrote it."
        )
    return {**old, "columns": None}


def _deviations(old: Fields) -> Fields:
    """The known classes became a part of their own: on a grid, or at points of an object's own."""
    names = {"classes": "classes", "log_prior": "log_prior", "scales": "ground", "rare": "rare"}
    grid, points = None, old["own"]
    if old["ground"] is not None:
        fields = {new: old[was] for new, was in names.items()}
        rare = old["rare_log_prior"]
        fields["rare_log_prior"] = np.empty(0) if rare is None else rare
        grid = migrated(StoredPart("OnGrid", 1, fields))
    if points is not None:
        points = StoredPart(points.name, points.version, {**points.fields, "log_prior": old["log_prior"]})
    return {"hypotheses": old["hypotheses"], "shares": old["shares"], "grid": grid, "points": points}


def _at_points(old: Fields) -> Fields:
    """Places of shapes went by the typical number of points; mean and scale of single points were not kept."""
    level, variance = old["level"], old.pop("variance")
    where = np.linspace(0.0, 1.0, int(np.clip(old.pop("typical_points"), 3, 60)))
    scales = {"where": where, "level": float(np.mean(level)), "variance": variance}
    scales |= {"centre": level, "scale": np.full(len(level), np.sqrt(variance))}
    return {**old, "scales": StoredPart("Scales", 1, scales)}


def _process_summary(old: Fields) -> Fields:
    """Widths of a process were a constant of the code; the prior of a class is kept by all classes together."""
    del old["log_prior"]
    return {**old, "widths": (1.0, 0.25, 4.0, 16.0)[: len(old["log_shares"])]}


register_migration(
    Migration("Auto", 1, added={"alternatives": ()}),
    Migration("BaseModels", 1, added={"in_single": False}),
    Migration("BADACClassifier", 0, renamed={"surroundings_": "scales_", "opinions_": "ensemble_"}),
    Migration("BADACClassifier", 1, added={"verbose": False}),
    Migration("BADACClassifier", 2, added={"beside_": None}),
    Migration("BADACClassifier", 3, added={"left_out_": None}),
    Migration("BADACClassifier", 4, added={"phases_": None}),
    Migration("BADACClassifier", 5, added={"exposure_column_": None}),
    Migration("BADACClassifier", 6, added={"two_groups_": None}),
    Migration("BADACClassifier", 7, added={"error_scale_": 1.0}),
    Migration("Bump", 0, dropped=("shapes", "places", "widths", "ground")),
    Migration("Coarsening", 0, renamed={"wild": "contaminated"}),
    Migration("Curves", 0, to="KernelDensity"),
    Migration("Nonconformity", 4, added={"noisiest": None}),
    Migration("Nonconformity", 3, added={"deviating": None}),
    Migration("Ensemble", 5, added={"coverage": None}),
    Migration("Ensemble", 4, added={"beyond": None}),
    Migration("Ensemble", 3, changed=_not_on_a_grid),
    Migration("Ensemble", 2, added={"ranks": True}),
    Migration("Ensemble", 1, renamed={"strangeness": "nonconformity"}),
    Migration("Described", 0, to="ClassSummary", renamed={"mixture": "density"}),
    Migration("Deviations", 0, changed=_deviations),
    Migration("OnGrid", 1, added={"unseen": ()}),
    Migration("OnGrid", 2, added={"isolated": ()}),
    Migration("LeftOut", 1, added={"one_scale": False}),
    Migration("LeftOut", 2, added={"drawn": np.empty(0)}),
    Migration("GaussianProcess", 0, added={"noise": None}),
    Migration("Nonconformity", 2, added={"column": 2}),
    Migration("Ground", 0, to="Scales"),
    Migration("IrregularPopulation", 0, added={"noise": None}),
    Migration("Latent", 0, to="LatentLikelihood"),
    Migration("Measurements", 1, added={"counted": False}),
    Migration("NewClass", 0, renamed={"young": "conjugate"}),
    Migration("Normal", 0, to="NullDistribution"),
    Migration("Opinions", 0, to="Ensemble", renamed={"others": "base_models"}),
    Migration("Others", 0, to="BaseModels"),
    Migration("Plan", 1, added={"all_factors": True}),
    Migration("Poisson", 1, added={"share": None}),
    Migration("Strangeness", 1, to="Nonconformity"),
    Migration("OwnClass", 0, to="ProcessSummary", changed=_process_summary),
    Migration("OwnPoints", 0, to="AtPoints", added={"noise": None}, changed=_at_points),
    Migration("SmoothDeviation", 0, dropped=("ground",)),
    Migration("SomethingElse", 0, dropped=("ground",)),
    Migration("Surroundings", 0, to="TrainingScales"),
    Migration("TrainingScales", 1, added={"pooled": None}),
    Migration("Trees", 0, renamed={"around": "scales"}),
    Migration("YoungClass", 0, to="ConjugateClass"),
)
