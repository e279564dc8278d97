"""How far the stack can be believed of an object whose columns hardly any training object had.

Classes that were chosen by brightness and redshift differ in both as they were chosen. What the stack says of an object farther
out than its training objects rests on that, and no left-out object has told how wrong it is. Of an object with fewer than K
training objects at least as far out in a column (in the direction in which it is, K = 3),

    log P(class | d) = e (log(stack of the class) + log P(class)) ,     e = (1 + their number) / 4

the smallest ``e`` of all columns: at the end of the training the fourth root of the odds counts. Those of the class
frequencies too: how frequent classes are out there, training objects have not told either. This is the default's own caution;
`BADACClassifier.adapt` asks left-out objects instead (`badac.calibration.stacking.beyond_training`).

Two outlying training objects do not move the end, and of new objects like the training ones hardly any is asked about. That 1/4
is nearer to the truth than 1/3 or 1/2 was seen on 1,000 objects of a draw of our own (SPCC, spectroscopic training:
docs/light_curves.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.calibration.coarsening import FloatArray, IntArray
from badac.calibration.stacking.latent_columns import bands_of_columns, column_of
from badac.data.measurements import Measurements
from badac.registry import registered

_ENOUGH = 3
_LEAST = 0.25
# With fewer training objects than these the ends of a column are everywhere.
_FEWEST = 200


@registered("part", holds={"bands": "(c,)", "lowest": "(c, k)", "highest": "(c, k)"})
@dataclass(frozen=True, eq=False)
class Coverage:
    """The ends of the training objects' columns.

    Attributes
    ----------
    bands : (c,)
        In which the columns are (`badac.data.beside`).
    lowest, highest : (c, K)
        The smallest and the largest values, rising.
    """

    bands: IntArray
    lowest: FloatArray
    highest: FloatArray

    @classmethod
    def of(cls, objects: Measurements) -> Coverage | None:
        """Take the ends from training objects (n, m); None where they have no columns, or are few."""
        found = [(band, column_of(objects, band)[0]) for band in bands_of_columns(objects).tolist()]
        ends = [(band, np.sort(values[~np.isnan(values)])) for band, values in found]
        ends = [(band, values) for band, values in ends if len(values) >= _FEWEST]
        if not ends:
            return None
        return cls(
            np.array([band for band, _ in ends], dtype=np.int64),
            np.stack([values[:_ENOUGH] for _, values in ends]),
            np.stack([values[-_ENOUGH:] for _, values in ends]),
        )

    def exponent(self, objects: Measurements) -> FloatArray:
        """Return (n,): how much of the log odds of each object counts; a missing value asks for no caution."""
        out = np.ones(objects.n_objects)
        for band, lowest, highest in zip(self.bands.tolist(), self.lowest, self.highest, strict=True):
            value = column_of(objects, band)[0]
            # A file of an earlier version has more of them.
            below = np.searchsorted(lowest[:_ENOUGH], value, side="right")
            above = _ENOUGH - np.searchsorted(highest[-_ENOUGH:], value, side="left")
            beyond = np.where(np.isnan(value), _ENOUGH, np.minimum(below, above))
            out = np.minimum(out, _LEAST + (1.0 - _LEAST) * beyond / _ENOUGH)
        return out
