"""The page as a widget of a notebook: the same module and stylesheet, over the notebook's own channel (needs anywidget)."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from badac.triage.static_files import static
from badac.triage.view import Desk


def answer(desk: Desk, method: str, path: str, body: dict[str, Any] | None) -> Any:
    """Return what the page asks for, as the server would."""
    asked = urlsplit(path)
    query = {name: values[0] for name, values in parse_qs(asked.query).items()}
    parts = asked.path.strip("/").split("/")
    if parts[:2] == ["api", "object"]:
        return desk.view(int(parts[2]))
    if parts == ["api", "state"]:
        return desk.state()
    if parts == ["api", "brief"]:
        return [desk.brief(int(row)) for row in query["rows"].split(",")]
    if parts == ["api", "find"]:
        return {"row": desk.find(query["name"])}
    if method == "POST" and body is not None and parts == ["api", "say"]:
        for row in body["rows"]:
            desk.session.say(int(row), body["said"], body.get("name"), who=body.get("who") or None)
        return desk.state()
    if method == "POST" and parts == ["api", "undo"]:
        row = desk.session.undo((body or {}).get("who") or None)
        return {**desk.state(), "undone": row}
    raise ValueError(f"the page asked for {path!r}, which this version of badac does not have.")


def make_widget(desk: Desk) -> Any:
    """Return the page of a session as an anywidget."""
    try:
        import anywidget
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "session.widget() needs the package anywidget, which is not installed: pip install anywidget. Without it, "
            "badac triage MODEL NEW opens the same page in a browser.",
            name="anywidget",
        ) from None

    page = {"_esm": static("triage.js").decode(), "_css": static("triage.css").decode()}
    made: Any = type("TriageWidget", (anywidget.AnyWidget,), page)()

    def reply(_: Any, message: dict[str, Any], __: Any) -> None:
        try:
            found = answer(desk, message["method"], message["path"], message["body"])
        except (ValueError, OSError, KeyError, IndexError) as wrong:
            made.send({"id": message["id"], "error": str(wrong)})
        else:
            made.send({"id": message["id"], "answer": found})

    made.on_msg(reply)
    return made
