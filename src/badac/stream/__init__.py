"""New classes, found one object at a time.

`stream` is the estimator; `step` what one object does to its `state`; `new_class_prior` what a class of few members is like;
`recluster` looks again at what was decided one object at a time.
"""

from badac.stream.stream import Stream

__all__ = ["Stream"]
