"""Parts that are made ahead are the same, in order, and so is what goes wrong with them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from badac.threads import ahead


def test_parts_come_in_order_made_on_another_thread() -> None:
    made: list[int] = []

    def parts() -> Iterator[int]:
        for part in range(20):
            made.append(threading.get_ident())
            yield part

    assert list(ahead(parts())) == list(range(20))
    assert threading.get_ident() not in made
    assert list(ahead([])) == []


def test_at_most_one_part_is_made_ahead() -> None:
    begun: list[int] = []

    def parts() -> Iterator[int]:
        for part in range(5):
            begun.append(part)
            yield part

    for part in ahead(parts()):
        assert len(begun) <= part + 2


def test_what_goes_wrong_is_raised_where_the_part_is_taken() -> None:
    def parts() -> Iterator[int]:
        yield 1
        raise ValueError("row 7")

    found = ahead(parts())
    assert next(found) == 1
    with pytest.raises(ValueError, match="row 7"):
        next(found)
