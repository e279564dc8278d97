"""Why objects are strange, each worked out once: the page asks for the next one while somebody looks at this one.

What the model says of an object does not change with what is said on the page, so it can be worked out ahead, by another
thread, without the session's turn: an irregular curve takes a third of a second.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from badac.data import Catalogue
from badac.estimators import BADACClassifier
from badac.job.explaining import Explained, explained

_MOST_KEPT = 64


class Reasons:
    """Explanations of the objects of a table, by row; several threads may ask.

    Parameters
    ----------
    model : BADACClassifier
    catalogue : Catalogue
    pvalues : mapping
        P-values that are known already, by row.
    """

    def __init__(self, model: BADACClassifier, catalogue: Catalogue, pvalues: Mapping[int, float]) -> None:
        self._model, self._catalogue, self._pvalues = model, catalogue, pvalues
        self._kept: dict[int, Explained] = {}
        self._working: dict[int, threading.Lock] = {}
        self._guard = threading.Lock()

    def of(self, row: int) -> Explained:
        """Return the explanation of an object; who asks while another thread works it out waits for that."""
        with self._guard:
            working = self._working.setdefault(row, threading.Lock())
        with working:
            found = self._kept.get(row)
            if found is None or self._lacks_pvalue(found):
                found = explained(self._model, self._catalogue[[row]], pvalue=self._pvalues.get(row))
                self._keep(row, found)
        return found

    def _lacks_pvalue(self, found: Explained) -> bool:
        """Whether an explanation is from before p-values were there."""
        return self._model.pvalues_ready and found.verdict.pvalue is None

    def _keep(self, row: int, found: Explained) -> None:
        with self._guard:
            self._working.pop(row, None)
            self._kept[row] = found
            while len(self._kept) > _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
