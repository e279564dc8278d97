"""Columns that are no measurements: identifiers, coordinates, flags, times and text travel with the objects.

Told by the name, and by the type where it is known. A table's features are what has error bars; the rest reaches the ranking as
it is, so that an object can be found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from badac.data.error_marks import word_set, words

_COORDINATES = word_set(
    "ra dec decl de raj2000 dej2000 decj2000 raicrs deicrs radeg decdeg dedeg raj dej targetra targetdec meanra meandec ramean "
    "decmean alphaj2000 deltaj2000 alphawinj2000 deltawinj2000 alpha delta glon glat gall galb elon elat eclon eclat ecllon "
    "ecllat coordra coorddec lii bii rightascension declination "
    "pos posn position radec coord coords centroid longitude latitude lon lat htm htmid healpix hpx hpix healpix29 cx cy cz"
)
_IDENTIFIERS = word_set(
    "id name objid objectid sourceid specobjid targetid designation recno plate fiber fiberid run rerun camcol field tile "
    "index row number tilename brickname brickid "
    "tract patch visit detector ccd ccdnum chip amp hdu night recid seq seqnum"
)
_FLAGS = word_set("flag flags flg quality qual mask warning warnings warn clean status")
_TIMES = word_set("mjd jd hjd bjd date time epoch obsdate obstime")
# Galactic longitude and latitude where a table has both: each alone may be a band.
_GALACTIC = frozenset("lb")


def sort_of_name(name: str) -> str:
    """Return "coordinate", "identifier", "flag", "time" or "number", by a column's name.

    >>> [sort_of_name(name) for name in ("RAJ2000", "source_id", "quality_flag", "psfMag_u")]
    ['coordinate', 'identifier', 'flag', 'number']
    """
    pieces = [piece for word in words(name) for piece in word]
    key = "".join(pieces)
    if key in _COORDINATES:
        return "coordinate"
    if key in _IDENTIFIERS or (pieces and pieces[-1] in ("id", "name")):
        return "identifier"
    if any(piece in _FLAGS for piece in pieces) or key.endswith(("flag", "flags", "flg")):
        return "flag"
    return "time" if key in _TIMES else "number"


def sort_of(name: str, dtype: Any) -> str:
    """Return the sort of a column by its name and type; also "flag" for truth values, "text" and "time" for dates."""
    kind = getattr(dtype, "kind", "O")
    by_type = {"b": "flag", "O": "text", "U": "text", "S": "text", "M": "time", "m": "time"}.get(kind)
    by_name = sort_of_name(name)
    return by_name if by_type is None or by_name != "number" else by_type


def plain_numbers(names: Sequence[str], frame: Any = None) -> list[str]:
    """Return the columns that hold plain numbers, by their names and, where a frame is given, their types.

    >>> plain_numbers(["g", "ra", "quality_flag", "l", "b"]), plain_numbers(["b", "v"])
    (['g'], ['b', 'v'])
    """
    types = (
        {}
        if frame is None
        else {str(name): dtype for name, dtype in zip(frame.columns, frame.dtypes, strict=True)}
    )
    galactic = {name for name in names if name.lower() in _GALACTIC}
    return [
        name
        for name in names
        if sort_of(name, types.get(name, np.dtype(float))) == "number"
        and (len(galactic) < 2 or name not in galactic)
    ]


def is_coordinate(name: str) -> bool:
    """Whether a column with an error bar is a position rather than a measurement (ra with ra_error)."""
    return sort_of_name(name) == "coordinate"
