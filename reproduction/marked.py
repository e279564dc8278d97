"""Numbers in a document are written by the script that measured them, into a place with a name.

<!-- NAME -->
... everything here is replaced ...
<!-- end NAME -->
"""

from __future__ import annotations

from pathlib import Path

from badac.writing import write_whole


def write_into(path: Path, places: dict[str, str]) -> None:
    """Replace what stands in the named places of a document, all of them or none."""
    text = path.read_text(encoding="utf-8")
    for name, content in places.items():
        text = put(text, name, content, path.name)
    write_whole(path, text)


def put(text: str, name: str, content: str, document: str = "the document") -> str:
    """Return the text with `content` in the named place; a ValueError if it has no such place, or several."""
    begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(
            f"{document} must hold the lines {begin} and {end} once each, in this order: the numbers go between them."
        )
    return f"{text.split(begin)[0]}{begin}\n{content}\n{end}{text.split(end)[1]}"
