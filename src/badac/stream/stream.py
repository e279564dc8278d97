"""A stream of objects in which new classes appear: the paper's online learning.

    stream = Stream(model)            # a fitted BADACClassifier
    codes = stream.process(objects)   # as often as objects arrive

An object whose anomaly evidence beats every class founds a new class with one example; later objects of its kind join it
(`badac.stream.step`), and the new classes are looked at again as they grow (`badac.stream.recluster`). Objects that
are plainly known are told by the classifier in blocks; only the contested ones are taken one by one. The classifier itself
is never changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from badac.anomalies import Deviations
from badac.data.validation import is_number
from badac.estimators.classifier import BADACClassifier
from badac.judge import Judgement
from badac.noise.model import noise_of_class
from badac.noise.widths import stand_in
from badac.registry import registered
from badac.stream.new_class_prior import Alikeness
from badac.stream.state import Pool, StreamState, dismissed, merged
from badac.stream.step import Block, advance
from badac.threads import one_thread_in_blas

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@registered("estimator")
class Stream(BaseEstimator):  # type: ignore[misc]
    """Known classes, and the new ones that a stream of objects brings.

    Parameters
    ----------
    model : BADACClassifier
        Fitted, with ``anomaly="auto"``, on objects with a common grid.
    block : int
        Objects that are told together; changes the speed only.
    contested : float
        New classes compete for the objects whose log odds of being an anomaly are above minus this.
    seed : int
        Of what is drawn at random when newcomers are divided.

    Attributes
    ----------
    classes_ : (k,)
        Labels of the known classes: codes 0 to k - 1. New classes have the codes from k on.
    state_ : StreamState
        Where the stream stands. Replaced as a whole after each block, so that an interruption loses that block only:
        go on with the objects from `n_seen_` on.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements, Stream
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 20)
    >>> def noisy(curve, n):
    ...     return Measurements(curve * rng.normal(1, 0.1, (n, 1)) + 0.2 * rng.standard_normal((n, 20)), 0.2, at=x)
    >>> known = BADACClassifier(random_state=0).fit(noisy(x, 60), np.zeros(60))
    >>> stream = Stream(known)
    >>> stream.process(noisy(x, 5))
    array([0, 0, 0, 0, 0])
    >>> stream.process(noisy(np.sin(9 * x), 3))      # a new class, founded by the first of them
    array([1, 1, 1])
    >>> stream.names
    {1: 'new 1'}
    """

    classes_: npt.NDArray[Any]
    alike_: Alikeness
    state_: StreamState

    def __init__(
        self, model: BADACClassifier, block: int = 512, contested: float = 6.0, seed: int = 0
    ) -> None:
        self.model = model
        self.block = block
        self.contested = contested
        self.seed = seed
        # Unlike a classifier it learns nothing before its first object: everything is in the model.
        self._start()

    def __sklearn_clone__(self) -> Stream:
        """Return the stream before its first object: its fitted model is what it is made of, and stays fitted."""
        return type(self)(**self.get_params(deep=False))

    @property
    def _anomaly(self) -> Deviations:
        anomaly = getattr(self.model, "anomaly_model_", None)
        if not isinstance(anomaly, Deviations) or anomaly.grid is None:
            raise ValueError(
                'Stream needs a BADACClassifier fitted with anomaly="auto" on objects with a common grid: got '
                f"{self.model!r}. Fit it first."
            )
        return anomaly

    @one_thread_in_blas()
    def _start(self) -> Self:
        anomaly = self._anomaly
        assert anomaly.grid is not None
        self.classes_ = self.model.classes_
        noise = stand_in(noise_of_class(self.model.noise_, None), self.model.training_)
        self.alike_ = Alikeness.of(anomaly.grid.scales, anomaly.grid.classes, noise)
        waves = self.alike_.factor.rank
        self.state_ = StreamState(0, np.empty(0, dtype=np.int64), (), Pool.empty(waves), len(self.classes_))
        return self

    # -- going on ----------------------------------------------------------------------------------------------------

    @one_thread_in_blas()
    def process(self, X: Any, *, X_err: Any = None) -> IntArray:
        """Take the next objects of the stream.

        Parameters
        ----------
        X, X_err
            As in `BADACClassifier.fit`.

        Returns
        -------
        (n,) int
            Their classes as of now: codes of known classes or of new ones. `assignment_` may change as more is learned.
        """
        if not isinstance(self.block, int | np.integer) or self.block < 1:
            raise ValueError(
                f"`block` of a Stream must be a number of objects, 1 or more: got {self.block!r}."
            )
        if not is_number(self.contested) or np.isnan(self.contested):
            raise ValueError(f"`contested` of a Stream must be a number of nats: got {self.contested!r}.")
        whole = self.model.judge(X, X_err=X_err)
        first = self.state_.n_seen
        for start in range(0, whole.objects.n_objects, self.block):
            block = self._block(replace(whole, objects=whole.objects[start : start + self.block]))
            self.state_ = advance(self.state_, block, self.alike_, self.model.anomaly_prior, self.seed)
        return self.state_.assignment[first:].copy()

    def _block(self, judged: Judgement) -> Block:
        """What the known classes say of the objects."""
        objects, score, prior = judged.objects, judged.log_odds, judged.model.anomaly_prior
        contested = np.flatnonzero(score > -self.contested)
        # Nobody asks about the others.
        found = np.full(objects.n_objects, -np.inf)
        found[contested] = self._anomaly.log_density(objects[contested], n_threads=judged.n_threads)
        odds = np.log(prior) - np.log1p(-prior)
        return Block(
            log_known=found - (score - odds),
            log_found=found,
            nearest=judged.log_proba.argmax(axis=1).astype(np.int64),
            contested=contested,
            latent=self.alike_.latent_likelihood(objects[contested]),
        )

    # -- what was found ----------------------------------------------------------------------------------------------

    @property
    def n_seen_(self) -> int:
        """Objects so far."""
        return self.state_.n_seen

    @property
    def assignment_(self) -> IntArray:
        """(n_seen,) int: the class of every object, as known by now."""
        return self.state_.assignment

    @property
    def names(self) -> dict[int, str]:
        """Code and name of the new classes with a member."""
        codes = np.unique(self.assignment_[self.assignment_ >= len(self.classes_)])
        return {int(code): f"new {code - len(self.classes_) + 1}" for code in codes}

    @property
    def sizes(self) -> dict[int, int]:
        """Code and number of members of the new classes."""
        codes, count = np.unique(self.assignment_[self.assignment_ >= len(self.classes_)], return_counts=True)
        return dict(zip(codes.tolist(), count.tolist(), strict=True))

    def members(self, code: int) -> IntArray:
        """Places in the stream of the objects of a class."""
        return np.flatnonzero(self.assignment_ == code)

    def curve(self, code: int) -> FloatArray:
        """Return (m,): the mean curve of a new class."""
        for each in self.state_.classes:
            if each.code == code:
                mean = each.mixture.weights @ each.mixture.means
                curve = self.alike_.factor.mean + self.alike_.factor.factors @ mean
                return np.asarray(curve * self.model.units_)
        raise ValueError(
            f"there is no new class {code!r} that is still asked: the codes are "
            f"{[each.code for each in self.state_.classes]}."
        )

    # -- what the user knows better ----------------------------------------------------------------------------------

    def merge(self, code: int, into: int) -> Self:
        """Say that a new class is part of another one, known or new; later objects of its kind follow it there.

        A known class gets its members' label only: its model stays as it was learned.
        """
        self.state_ = merged(self.state_, code, into, len(self.classes_))
        return self

    def dismiss(self, code: int) -> Self:
        """Say that a new class is none: its members go to their nearest known classes."""
        self.state_ = dismissed(self.state_, code)
        return self
