"""What the page shows of one object, as JSON has it: points, prediction, residuals, probabilities, reasons, likenesses, links.

Everything is numbers and plain text: the page draws it, and puts names where text goes, never markup.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from badac.cached import cached_property
from badac.data import Catalogue, Measurements
from badac.data.description import Description
from badac.explain import Explanation, places
from badac.job.explaining import period_of
from badac.job.story import Story
from badac.triage.positions import robust_scale
from badac.triage.reasons import Reasons
from badac.triage.session import Session
from badac.writing import plain

_MOST_POINTS = 4000  # of one object, that are drawn


@dataclass(frozen=True, eq=False)
class Desk:
    """A session, and the table that it is about.

    Attributes
    ----------
    session : Session
    catalogue : Catalogue
        The objects of the session, in its order, with names and what travels with them.
    pvalues : dict
        P-values that are known already, by row.
    """

    session: Session
    catalogue: Catalogue
    pvalues: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, session: Session) -> Desk:
        """Make one of a session alone: names and coordinates are what its objects have."""
        objects = session.objects
        about = Description.of_objects(objects)
        found = Catalogue(objects, np.array(session.ids), None, "objects", kind=about.kind, axis=about.axis)
        return cls(session, found)

    @cached_property
    def reasons(self) -> Reasons:
        """Why each object is strange; needs no turn of the session's."""
        return Reasons(self.session.model, self.catalogue, self.pvalues)

    # -- the whole ---------------------------------------------------------------------------------------------------

    def state(self, n: int = 12) -> dict[str, Any]:
        """Return where the session stands, and what comes next."""
        session = self.session
        figures = session.figures()
        return {
            "classes": [str(name) for name in session.model.classes_.tolist()],
            "kinds": sorted(session.kinds),
            "artefacts": sorted(
                {each.name for each in session.said.values() if each.said == "artefact" and each.name}
            ),
            "figures": plain(figures.numbers()),
            "next": session.next(n).tolist(),
            "history": list(session.said),
            "who": session.who,
            "file": "" if session.path is None else str(session.path),
            "notes": list(session.notes),
            "source": session.options.source,
        }

    def find(self, name: str) -> int | None:
        """Return the row of the object of that name, or of the only one that begins with it."""
        ids = self.session.ids
        if name in ids:
            return ids.index(name)
        near = [row for row, one in enumerate(ids) if one.lower().startswith(name.lower())]
        return near[0] if near and name else None

    def say(self, rows: list[int], what: str, name: str | None, *, who: str | None) -> None:
        """Say the same of several objects: of all, or of none if a row is none; a full disk is said with a count."""
        n = len(self.session.ids)
        if any(not 0 <= row < n for row in rows):
            raise ValueError(f"rows of the table are 0 to {n - 1}: got {rows}.")
        for count, row in enumerate(rows):
            try:
                self.session.say(row, what, name, who=who or None)
            except OSError as wrong:
                raise OSError(
                    wrong.errno,
                    f"{wrong.strerror or wrong}; {count} of {len(rows)} were kept, and the rest was not",
                ) from None

    # -- one object --------------------------------------------------------------------------------------------------

    def brief(self, row: int) -> dict[str, Any]:
        """Return what a small picture needs."""
        session, objects = self.session, self.catalogue.objects
        one = objects[row : row + 1]
        said = session.said.get(row)
        return {
            "row": row,
            "id": session.ids[row],
            "value": float(session.value[row]),
            "interest": float(session.interest[row]),
            "guess": _guess(session, row),
            "said": None if said is None else {"said": said.said, "name": said.name, "who": said.who},
            "upside_down": self.catalogue.about.upside_down,
            "columns": self.catalogue.about.kind == "catalogue",
            "small": self._small(one),
        }

    def view(self, row: int) -> dict[str, Any]:
        """Return everything about an object."""
        found = self.reasons.of(row)
        numbers = found.numbers()
        story = Story.of(self.session.model, numbers | {"hypothesis": found.explanation.reason(0)})
        shown = {
            **self.brief(row),
            **picture(found.explanation, about=self.catalogue.about),
            "score": numbers["score"],
            "anomaly_proba": numbers.get("anomaly_proba"),
            "pvalue": numbers.get("pvalue"),
            "why": [story.verdict, story.why(numbers["where"])],
            "furthest": [line.strip().replace("+-", "±") for line in found.lines()[3:]],
            "probabilities": _probabilities(self.session, row),
            "alike": [self._alike(int(member)) for member in self.session.most_alike(row)],
            "period": period_of(self.catalogue, row),
            "links": links(self.catalogue, row),
            "carried": _carried(self.catalogue, row),
        }
        return plain(shown)  # type: ignore[return-value]

    def _alike(self, member: int) -> dict[str, Any]:
        fitted = self.session.model.fitted_
        one = fitted.training[member : member + 1]
        return {"label": str(fitted.training_label[member]), "small": self._small(one)}

    def _small(self, one: Measurements) -> list[list[Any]]:
        """Points of a small picture; those of columns in units of each column's spread, as they have no unit in common."""
        points = _points(one)
        if self.catalogue.about.kind != "catalogue":
            return points
        centre, scale = self._columns
        return [
            [x, (value - centre[j]) / scale[j], None if error is None else error / scale[j], band, j]
            for x, value, error, band, j in points
        ]

    @cached_property
    def _columns(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Median and spread (m,) of each column, of the training where it is kept."""
        training = self.session.model.fitted_.training
        known = training if training.shape[1:] == self.catalogue.objects.shape[1:] else training[:0]
        return robust_scale((known if len(known) else self.catalogue.objects)[:_MOST_POINTS].values)


def picture(explanation: Explanation, row: int = 0, about: Description | None = None) -> dict[str, Any]:
    """Return what the picture of an object needs: points and prediction, the strangest window, and what the axes are."""
    about = about or explanation.about
    points = _points(explanation.objects[row : row + 1])
    return {
        "kind": about.kind,
        "axis": str(about.axis),
        "quantity": str(about.quantity),
        "upside_down": about.upside_down,
        "folded": about.folded,
        "bands": list(about.bands),
        "features": list(about.features),
        "label": str(explanation.label[row]),
        "points": points,
        # Coordinate, prediction, its standard deviation, band and deviation in sigma, as the points.
        "expected": [
            [
                x,
                float(explanation.expected[row, j]),
                float(explanation.expected_sigma[row, j]),
                band,
                float(explanation.pull[row, j]),
            ]
            for x, _, _, band, j in points
        ],
        "window": [float(edge) for edge in explanation.window[row]],
    }


def _points(one: Measurements) -> list[list[Any]]:
    """Coordinate, value, error (None without) and band of each measured point, in order."""
    seen = np.flatnonzero(one.observed[0])[:_MOST_POINTS]
    x = places(one, 0)
    band = (
        np.zeros(one.n_points, dtype=np.int64)
        if one.band is None
        else np.broadcast_to(one.band, one.shape)[0]
    )
    order = seen[np.argsort(x[seen], kind="stable")]
    return [
        [
            float(x[j]),
            float(one.values[0, j]),
            float(one.sigma[0, j]) if one.has_errors else None,
            int(band[j]),
            int(j),
        ]
        for j in order.tolist()
    ]


def _probabilities(session: Session, row: int) -> list[dict[str, Any]]:
    found = sorted(session.probabilities(row).items(), key=lambda item: -item[1])
    return [{"said": said, "name": name, "p": p} for (said, name), p in found]


def _guess(session: Session, row: int) -> str:
    said, name = max(session.probabilities(row).items(), key=lambda item: item[1])[0]
    return "unknown" if said == "unknown" else f"{said}: {name}"


def _carried(found: Catalogue, row: int) -> dict[str, str]:
    """What travels with the object, as text."""
    return {str(name): str(column[row])[:200] for name, column in list(found.carried.items())[:40]}


def links(found: Catalogue, row: int) -> list[dict[str, str]]:
    """Return what others know of the object's place on the sky: name and address of each service; none without a place."""
    sky = [
        _number(found, row, names)
        for names in (("ra", "raj2000", "ra_deg"), ("dec", "dej2000", "decj2000", "dec_deg"))
    ]
    if sky[0] is None or sky[1] is None or not -90.0 <= sky[1] <= 90.0 or not 0.0 <= sky[0] <= 360.0:
        return []
    place = f"{sky[0]:.6f} {sky[1]:+.6f}"
    asked = quote(place, safe="")
    return [
        {
            "name": "SIMBAD",
            "href": f"https://simbad.cds.unistra.fr/simbad/sim-coo?Coord={asked}&Radius=5&Radius.unit=arcsec",
        },
        {"name": "Aladin", "href": f"https://aladin.cds.unistra.fr/AladinLite/?target={asked}&fov=0.05"},
        {"name": "VizieR", "href": f"https://vizier.cds.unistra.fr/viz-bin/VizieR-4?-c={asked}&-c.rs=5"},
    ]


def _number(found: Catalogue, row: int, names: tuple[str, ...]) -> float | None:
    for name, column in found.carried.items():
        if name.lower() in names:
            try:
                value = float(column[row])
            except (TypeError, ValueError):
                return None
            return value if np.isfinite(value) else None
    return None
