"""The page as a widget of a notebook: the same module and stylesheet, over the notebook's own channel (needs anywidget)."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from badac.explain import Explanation
from badac.triage.static_files import static
from badac.triage.view import Desk, picture
from badac.writing import plain


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
        desk.say([int(row) for row in body["rows"]], body["said"], body.get("name"), who=body.get("who"))
        return desk.state()
    if method == "POST" and parts == ["api", "undo"]:
        row = desk.session.undo((body or {}).get("who") or None)
        return {**desk.state(), "undone": row}
    raise ValueError(f"the page asked for {path!r}, which this version of badac does not have.")


def make_widget(desk: Desk) -> Any:
    """Return the page of a session as an anywidget."""
    made = _widget("session.widget()", {})

    def reply(_: Any, message: dict[str, Any], __: Any) -> None:
        try:
            found = answer(desk, message["method"], message["path"], message["body"])
        except (ValueError, OSError, KeyError, IndexError) as wrong:
            made.send({"id": message["id"], "error": str(wrong)})
        else:
            made.send({"id": message["id"], "answer": found})

    made.on_msg(reply)
    return made


def picture_widget(
    explanation: Explanation, row: int = 0, *, name: str = "", period: float | None = None
) -> Any:
    """Return the picture of an explained object, to zoom and to point at, as an anywidget (needs the package anywidget).

    Parameters
    ----------
    explanation : Explanation
        What `BADACClassifier.explain` returns.
    row : int
        Of the object in it.
    name : str
        Of the object, for those who cannot see the picture; its row by default.
    period : float, optional
        At which it can be folded.
    """
    if not 0 <= row < len(explanation):
        raise ValueError(
            f"`row` must be one of the {len(explanation)} objects explained, from 0: got {row!r}."
        )
    shown = picture(explanation, row) | {"id": name or f"object {row}", "period": period}
    return _widget("picture_widget()", {"picture": plain(shown)})


def _widget(who: str, values: dict[str, Any]) -> Any:
    """Return a widget of the page's module and stylesheet, with values that the browser is given."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{who} needs the package anywidget, which is not installed: pip install 'badac[notebook]' brings it. Without it, "
            "badac triage MODEL NEW opens the page in a browser.",
            name="anywidget",
        ) from None
    page: dict[str, Any] = {"_esm": static("triage.js").decode(), "_css": static("triage.css").decode()}
    page["picture"] = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    return type("TriageWidget", (anywidget.AnyWidget,), page)(**values)
