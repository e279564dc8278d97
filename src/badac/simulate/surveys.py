"""Tables as their owners have them, made up: a star catalogue, light curves with labels apart, spectra with inverse variances.

Each comes as DataFrames with the names, units and habits of its kind, so that what a user does with real tables can be tried,
shown and tested: ``train`` with labels (or ``labels`` apart), ``new`` with a few objects of no known class, and ``truth``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Words = npt.NDArray[np.str_]

STRANGE_SHARE = 0.02
"""Of the new objects."""

_STARS = {  # parallax [mas], G, BP - RP, proper motion [mas/yr], and the spreads within the class
    "dwarf": ((5.0, 14.0, 1.0, 20.0), (1.5, 1.0, 0.30, 8.0)),
    "giant": ((1.0, 12.0, 1.4, 4.0), (0.4, 1.2, 0.20, 2.0)),
    "white dwarf": ((12.0, 17.5, 0.1, 60.0), (4.0, 0.8, 0.20, 20.0)),
}
_LINES = {"star": (4861.0, 6563.0), "galaxy": (5007.0, 6563.0), "quasar": (4500.0, 7000.0)}


@dataclass(frozen=True, eq=False)
class Survey:
    """One made-up survey.

    Attributes
    ----------
    train, new : DataFrame
    truth : DataFrame
        Object, label and whether it is of no known class, of the new ones.
    labels : DataFrame or None
        Object and label of the training, where they are in a table of their own.
    """

    train: Any
    new: Any
    truth: Any
    labels: Any = None


def star_catalogue(n_train: int, n_new: int, rng: np.random.Generator) -> Survey:
    """Stars with Gaia's columns; new are subdwarfs, as faint as dwarfs for their distance and far too blue and too fast."""

    def draw(n: int, label: Words, prefix: str) -> Any:
        import pandas

        values = np.array([rng.normal(*_STARS.get(name, _STARS["dwarf"])) for name in label.tolist()])
        odd = ~np.isin(label, list(_STARS))
        values[odd, 2] -= 1.6
        values[odd, 3] += 90.0
        # Faint stars are measured less well.
        worse = 10.0 ** (0.12 * (values[:, 1:2] - 14.0)) * np.exp(0.3 * rng.standard_normal((n, 1)))
        sigma = worse * [0.08, 0.01, 0.04, 0.3]
        seen = values + sigma * rng.standard_normal(values.shape)
        names = ("parallax", "phot_g_mean_mag", "bp_rp", "pm")
        columns: dict[str, Any] = {"source_id": [f"{prefix}{row:05d}" for row in range(n)]}
        columns |= {"ra": rng.uniform(0.0, 360.0, n), "dec": np.degrees(np.arcsin(rng.uniform(-1.0, 1.0, n)))}
        for place, name in enumerate(names):
            columns |= {name: seen[:, place], f"{name}_error": sigma[:, place]}
        return pandas.DataFrame(columns)

    return _survey(draw, (*_STARS, "subdwarf"), (n_train, n_new), rng)


def variable_stars(n_train: int, n_new: int, rng: np.random.Generator) -> Survey:
    """Light curves in two bands at times of their own, a row a measurement, with periods; new are eclipses."""

    def draw(n: int, label: Words, prefix: str) -> Any:
        import pandas

        rows = []
        for number, name in enumerate(label.tolist()):
            period = float(np.exp(rng.normal(np.log(0.6), 0.2)))
            count = int(rng.integers(24, 36))
            time = np.sort(rng.uniform(59000.0, 59200.0, count))
            band = rng.integers(0, 2, count)
            phase = (time / period) % 1.0
            magnitude = (
                rng.normal(16.0, 0.3) + 0.3 * band + (1.0 - 0.25 * band) * _pulsation(name, phase, rng)
            )
            sigma = 0.03 * np.exp(0.3 * rng.standard_normal(count))
            rows.append(
                pandas.DataFrame(
                    {
                        "object_id": f"{prefix}{number:04d}",
                        "mjd": time,
                        "passband": np.where(band == 0, "g", "r"),
                        "mag": magnitude + sigma * rng.standard_normal(count),
                        "mag_err": sigma,
                        "period": period,
                    }
                )
            )
        return pandas.concat(rows, ignore_index=True)

    made = _survey(draw, ("sawtooth", "sine", "eclipse"), (n_train, n_new), rng)
    labels = made.train.drop_duplicates("object_id")[["object_id", "label"]]
    return Survey(made.train.drop(columns="label"), made.new, made.truth, labels)


def _pulsation(name: str, phase: FloatArray, rng: np.random.Generator) -> FloatArray:
    size = 0.4 * float(np.exp(0.15 * rng.standard_normal()))
    if name == "sawtooth":
        return np.asarray(size * (2.0 * np.minimum(phase / 0.85, (1.0 - phase) / 0.15) - 1.0))
    if name == "sine":
        return np.asarray(size * np.sin(2.0 * np.pi * phase))
    return np.asarray(2.0 * size * np.exp(-(((phase - 0.5) / 0.06) ** 2)))


def spectra(n_train: int, n_new: int, rng: np.random.Generator, n_points: int = 200) -> Survey:
    """Spectra in the cells of a table, with inverse variances and log wavelengths as SDSS has them; new have a strange line."""
    loglam = np.linspace(np.log10(3800.0), np.log10(9200.0), n_points)
    wave = 10.0**loglam

    def line(centre: float, width: float) -> FloatArray:
        return np.asarray(np.exp(-0.5 * ((wave - centre) / width) ** 2))

    def draw(n: int, label: Words, prefix: str) -> Any:
        import pandas

        flux, ivar = np.empty((n, n_points)), np.empty((n, n_points))
        for row, name in enumerate(label.tolist()):
            kind = name if name in _LINES else "galaxy"
            slope = {"star": -1.5, "galaxy": 0.5, "quasar": -1.0}[kind] + 0.2 * rng.standard_normal()
            truth = (wave / 6000.0) ** slope
            for centre in _LINES[kind]:
                strength = rng.gamma(4.0, 0.12) * (-1.0 if kind == "star" else 1.0)
                truth = truth + strength * line(centre, 100.0 if kind == "quasar" else 30.0)
            if name not in _LINES:
                truth = truth + 1.2 * line(rng.uniform(7600.0, 8600.0), 25.0)
            sigma = 0.08 * np.exp(0.3 * rng.standard_normal()) * (1.0 + 0.6 * (wave < 4300.0))
            flux[row] = truth * np.exp(0.1 * rng.standard_normal()) + sigma * rng.standard_normal(n_points)
            ivar[row] = 1.0 / sigma**2
        ivar[rng.random((n, n_points)) < 0.01] = 0.0  # cosmic rays: no information
        return pandas.DataFrame(
            {
                "object": [f"{prefix}{row:04d}" for row in range(n)],
                "flux": list(flux),
                "ivar": list(ivar),
                "loglam": [loglam] * n,
            }
        )

    return _survey(draw, (*_LINES, "strange line"), (n_train, n_new), rng)


def _survey(draw: Any, kinds: tuple[str, ...], sizes: tuple[int, int], rng: np.random.Generator) -> Survey:
    """Draw both tables; the last kind is new, and `STRANGE_SHARE` of the new objects are of it."""
    import pandas

    known = np.array(kinds[:-1])
    train_label, truth = (known[rng.integers(0, len(known), size)] for size in sizes)
    odd = rng.choice(sizes[1], max(2, round(STRANGE_SHARE * sizes[1])), replace=False)
    truth = truth.astype("U20")
    truth[odd] = kinds[-1]
    train, new = draw(sizes[0], train_label, "known-"), draw(sizes[1], truth, "new-")
    names = train.columns[0]
    ids = train[names].drop_duplicates().tolist()
    train["label"] = train[names].map(dict(zip(ids, train_label.tolist(), strict=True)))
    found = pandas.DataFrame(
        {"object": new[names].drop_duplicates().tolist(), "label": truth, "anomaly": truth == kinds[-1]}
    )
    return Survey(train, new, found)
