"""The page's server: loopback only unless asked, a token in the address, one object at a time as JSON.

Whoever has the address has the session: the token is drawn anew for each start, compared in constant time, and asked for
with every call, before anything else of it is read. The page may load nothing but its own module and stylesheet (Content-
Security-Policy), and an address under another name than the one given is refused, so that no other site can reach it through
the browser.
"""

from __future__ import annotations

import secrets
import socket
import threading
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from badac.triage.static_files import static
from badac.triage.view import Desk

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC = {
    "triage.js": "text/javascript; charset=utf-8",
    "triage.css": "text/css; charset=utf-8",
}
_LONGEST_NAME = 200
_LONGEST_BODY = 1 << 16  # bytes: a hundred rows and three names are a tenth of it
_NO_TOKEN = "The address lacks its token: use the one that badac triage printed."


class Said(BaseModel):
    """What somebody says of objects."""

    rows: list[int] = Field(min_length=1, max_length=100)
    said: str
    name: str | None = Field(default=None, max_length=_LONGEST_NAME)
    who: str | None = Field(default=None, max_length=_LONGEST_NAME)


class Undo(BaseModel):
    """Who takes back."""

    who: str | None = Field(default=None, max_length=_LONGEST_NAME)


def make_app(desk: Desk, token: str, hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")) -> FastAPI:
    """Return the application of one session.

    Parameters
    ----------
    desk : Desk
    token : str
        That every call must have.
    hosts : tuple of str
        Names under which the server may be asked.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    # A session is one thing: calls take turns.
    turn = threading.Lock()

    @app.middleware("http")
    async def guard(request: Request, call_next: Any) -> Response:
        name = request.headers.get("host", "")
        bare = name.rsplit(":", 1)[0] if not name.endswith("]") else name
        if bare not in hosts:
            return Response("This name is not the server's own.", 421, headers=_HEADERS)
        refused = _refused(request, token)
        answer: Response = await call_next(request) if refused is None else refused
        answer.headers.update(_HEADERS)
        return answer

    @app.exception_handler(OSError)
    async def not_kept(_: Request, wrong: OSError) -> Response:
        said = f"The file of the session cannot be read or written: {wrong.strerror or wrong}. Nothing more is kept."
        return JSONResponse({"detail": said}, 507)

    @app.exception_handler(ValueError)
    async def refused_in_words(_: Request, wrong: ValueError) -> Response:
        return JSONResponse({"detail": str(wrong)}, 422)

    def row_of(row: int) -> int:
        if not 0 <= row < len(desk.session.ids):
            raise HTTPException(404, f"There is no object {row}.")
        return row

    @app.get("/")
    def page(request: Request) -> Response:
        given = request.query_params.get("token", "")
        if not secrets.compare_digest(given.encode(), token.encode()):
            return Response(_NO_TOKEN, 403)
        return Response(static("page.html"), media_type="text/html; charset=utf-8")

    @app.get("/{name}.{suffix}")
    def asset(name: str, suffix: str) -> Response:
        kind = _STATIC.get(f"{name}.{suffix}")
        if kind is None:
            raise HTTPException(404)
        return Response(static(f"{name}.{suffix}"), media_type=kind)

    @app.get("/api/state")
    def state(n: int = 12) -> dict[str, Any]:
        with turn:
            return desk.state(min(max(n, 1), 100))

    @app.get("/api/object/{row}")
    def one(row: int) -> dict[str, Any]:
        desk.reasons.of(row_of(row))
        with turn:
            return desk.view(row)

    @app.get("/api/ahead/{row}")
    def ahead(row: int) -> dict[str, Any]:
        # While somebody looks at another one; what is said meanwhile does not wait for it.
        desk.reasons.of(row_of(row))
        return {"row": row}

    @app.get("/api/brief")
    def brief(rows: str) -> list[dict[str, Any]]:
        with turn:
            return [desk.brief(row_of(_number(row))) for row in rows.split(",")[:100]]

    @app.get("/api/find")
    def find(name: str) -> dict[str, Any]:
        with turn:
            return {"row": desk.find(name)}

    @app.post("/api/say")
    def say(what: Said) -> dict[str, Any]:
        with turn:
            desk.say([row_of(row) for row in what.rows], what.said, what.name, who=what.who)
            return desk.state()

    @app.post("/api/undo")
    def undo(what: Undo) -> dict[str, Any]:
        with turn:
            row = desk.session.undo(what.who or None)
            return {**desk.state(), "undone": row}

    return app


def _refused(request: Request, token: str) -> Response | None:
    """Refuse a call without its token, or of a length that no page sends, before its body is read; None where it may go on."""
    if not request.url.path.startswith("/api/"):
        return None
    given = request.headers.get("x-badac-token", "")
    if not secrets.compare_digest(given.encode(), token.encode()):
        return JSONResponse({"detail": _NO_TOKEN}, 403)
    if request.method in ("GET", "HEAD"):
        return None
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or len(length) > 9 or int(length) > _LONGEST_BODY:
        return JSONResponse({"detail": f"A call has at most {_LONGEST_BODY} bytes, and says how many."}, 413)
    return None


def _number(text: str) -> int:
    """Return the row that a text names; -1, which is none, for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say in words why it cannot; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise ValueError(
            f"{host}:{port} cannot be listened on ({error.strerror}): another program may use that port. Give another with "
            "--port, or 0 for a free one."
        ) from None
    made.listen(64)
    return made


def serve(desk: Desk, sock: socket.socket, token: str, hosts: tuple[str, ...]) -> None:
    """Serve until interrupted (SIGINT, SIGTERM)."""
    import uvicorn

    config = uvicorn.Config(make_app(desk, token, hosts), log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[sock])
