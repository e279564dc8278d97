"""Where objects are in the sky, and where to look at them: links by position to Aladin Lite and SIMBAD.

Links only: nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from badac.data.error_marks import key_of
from badac.data.validation import FloatArray

_RA = (
    "ra",
    "raj2000",
    "raicrs",
    "radeg",
    "alphaj2000",
    "alphawinj2000",
    "targetra",
    "ramean",
    "meanra",
    "raj",
    "rightascension",
)
_DEC = (
    "dec", "decl", "dej2000", "decj2000", "deicrs", "decdeg", "dedeg", "deltaj2000", "deltawinj2000", "targetdec", "decmean",
    "meandec", "dej", "coorddec", "declination", "de",
)  # fmt: skip
_FIELD_ARCMIN = 3.0
"""Width of the picture: a galaxy and its neighbours."""
_RADIUS_ARCSEC = 10.0
"""Of the search: wider than most surveys' errors, narrower than most fields' crowding."""


@dataclass(frozen=True, eq=False)
class Positions:
    """Equatorial coordinates of objects in degrees, (n,) each; NaN where unknown.

    Examples
    --------
    >>> from badac.data import Positions
    >>> import numpy as np
    >>> Positions(ra=np.array([10.68]), dec=np.array([41.27])).ra
    array([10.68])
    """

    ra: FloatArray
    dec: FloatArray

    def __len__(self) -> int:
        return len(self.ra)


def find_positions(columns: Mapping[str, npt.NDArray[Any]]) -> Positions | None:
    """Return the positions among columns that travel with objects (``Catalogue.carried``), or None if there are none.

    Numbers are degrees; text such as 12:34:56.7 is hours, minutes, seconds (declinations: degrees). What cannot be a position
    is NaN.

    >>> found = find_positions({"RAJ2000": np.array([184.5, 400.0]), "DEJ2000": np.array([-3.25, 0.0])})
    >>> found.ra.tolist(), find_positions({"ra": np.array([1.0])}) is None
    ([184.5, nan], True)
    """
    by_key = {key_of(name): column for name, column in columns.items()}
    ra, dec = (next((by_key[name] for name in names if name in by_key), None) for names in (_RA, _DEC))
    if ra is None or dec is None:
        return None
    ra, dec = _degrees(ra, hours=True), _degrees(dec, hours=False)
    good = np.isfinite(ra) & np.isfinite(dec) & (ra >= 0.0) & (ra <= 360.0) & (np.abs(dec) <= 90.0)
    return Positions(np.where(good, ra, np.nan), np.where(good, dec, np.nan)) if good.any() else None


def sky_links(ra: float, dec: float) -> tuple[tuple[str, str], ...]:
    """Return (name, address) of pages about a position in degrees; none where it is unknown.

    >>> for name, address in sky_links(184.5, -3.25):
    ...     print(name, address)
    Aladin Lite https://aladin.cds.unistra.fr/AladinLite/?target=184.500000%20-3.250000&fov=0.050
    SIMBAD https://simbad.cds.unistra.fr/simbad/sim-coo?Coord=184.500000d%20-3.250000d&Radius=10&Radius.unit=arcsec
    """
    if not (np.isfinite(ra) and np.isfinite(dec)):
        return ()
    place, marked = quote(f"{ra:.6f} {dec:+.6f}"), quote(f"{ra:.6f}d {dec:+.6f}d")
    return (
        (
            "Aladin Lite",
            f"https://aladin.cds.unistra.fr/AladinLite/?target={place}&fov={_FIELD_ARCMIN / 60:.3f}",
        ),
        (
            "SIMBAD",
            f"https://simbad.cds.unistra.fr/simbad/sim-coo?Coord={marked}&Radius={_RADIUS_ARCSEC:g}&Radius.unit=arcsec",
        ),
    )


def _degrees(column: npt.NDArray[Any], *, hours: bool) -> FloatArray:
    if column.dtype.kind in "fiu":
        return column.astype(np.float64)
    return np.array([_from_text(str(cell), hours=hours) for cell in column.tolist()], dtype=np.float64)


def _from_text(text: str, *, hours: bool) -> float:
    parts = text.replace(":", " ").split()
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return np.nan
    if len(numbers) == 1:
        return numbers[0]
    if len(numbers) != 3 or min(numbers[1:]) < 0:
        return np.nan
    size = abs(numbers[0]) + numbers[1] / 60.0 + numbers[2] / 3600.0
    return (-size if parts[0].startswith("-") else size) * (15.0 if hours else 1.0)
