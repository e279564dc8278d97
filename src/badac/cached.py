"""A property that is computed once, without a lock.

Before Python 3.12 `functools.cached_property` computes under a lock that all objects of a class share: two threads that judge
two blocks of objects, or learn two classes, then wait for each other at every quantity that is kept. Two threads that ask the
same object at once compute the same number twice.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """As in `functools`, without the lock."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            found = instance.__dict__[self.attrname] = self.func(instance)
            return found
