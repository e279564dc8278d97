"""The page, driven by a real Chromium by keyboard: the whole loop, undo, a killed server, two people, hostile names, a phone.

Needs the system's own Chromium (no browser is ever downloaded); skipped, saying so, where there is none.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from badac import Measurements
from badac.data import Catalogue
from badac.data.description import Axis
from badac.triage import Session
from badac.triage.view import Desk

pytest.importorskip("fastapi", reason="the extra triage is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
import uvicorn  # noqa: E402

from badac.triage.server import listening, make_app  # noqa: E402

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="there is no Chromium on this system: the page is not tested (apt install chromium)",
)
TOKEN = "a-token"
HOSTILE = "<img src=x onerror=\"window.bad=1\"> & 'quoted' </script><script>window.bad=1</script>"


class Served:
    """A server of a desk in a thread."""

    def __init__(self, desk: Desk, port: int = 0) -> None:
        self.sock = listening("127.0.0.1", port)
        self.port = self.sock.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/?token={TOKEN}"
        self.server = uvicorn.Server(
            uvicorn.Config(make_app(desk, TOKEN), log_level="error", access_log=False, lifespan="off")
        )
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.sock]}, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(10.0)
        self.sock.close()


def make_desk(survey, path: Path | None, ids: list[str] | None = None) -> Desk:
    ids = ids or survey.ids
    made = Session.open if path is not None and path.exists() else None
    session = (
        made(path, survey.model, survey.objects, ids)
        if made
        else Session(survey.model, survey.objects, path, ids)
    )
    n = len(ids)
    carried = {"ra": np.linspace(10.0, 20.0, n), "dec": np.linspace(-5.0, 5.0, n), "period": np.full(n, 0.4)}
    found = Catalogue(survey.objects, np.array(ids), None, "", kind="grid curve", carried=carried)
    return Desk(session, found)


@pytest.fixture
def served(survey, tmp_path) -> Iterator[tuple[Served, Desk]]:
    desk = make_desk(survey, tmp_path / "looks.jsonl")
    made = Served(desk)
    yield made, desk
    made.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


def opened(browser, address: str, **context):
    page = browser.new_context(**context).new_page()
    page.set_default_timeout(120_000)  # of a browser beside other work
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(address)
    page.wait_for_selector(".probs li")
    return page


def shown(page) -> str:
    return page.locator("h1").inner_text()


def wait_for(condition, what: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def wait_looked(page, count: int) -> None:
    seen = page.locator(".figures b").first
    wait_for(lambda: seen.count() and seen.inner_text() == str(count), f"{count} looked at")


@needs_chromium
def test_the_whole_loop_by_keyboard(browser, served, survey):
    server, desk = served
    page = opened(browser, server.address)
    first = shown(page)
    assert first == survey.ids[int(survey.model.rank(survey.objects).objects[0])]
    assert page.locator(".stage svg .mark").count() >= survey.objects.n_points
    assert page.locator(".small figure").count() == 3
    assert page.get_by_role("link", name="SIMBAD").count() == 1
    page.keyboard.press("n")
    page.keyboard.type("ring")
    page.keyboard.press("Enter")
    wait_looked(page, 1)
    wait_for(lambda first=first: shown(page) != first, "another object")
    assert "new kind: ring" in page.locator(".probs").inner_text()
    for key, count in (("1", 2), ("i", 3), ("d", 4), ("Space", 5)):
        before = shown(page)
        page.keyboard.press(key)
        wait_looked(page, count)
        wait_for(lambda before=before: shown(page) != before, "another object")
    page.keyboard.press("a")
    page.keyboard.press("Enter")  # an artefact without a name
    wait_looked(page, 6)
    said = [each.said for each in desk.session.statements]
    assert said == ["new", "class", "interesting", "dull", "unsure", "artefact"]
    assert desk.session.statements[1].name == "fall"
    last = desk.session.ids[list(desk.session.said)[-1]]
    page.keyboard.press("u")
    wait_looked(page, 5)
    wait_for(lambda last=last: shown(page) == last, "that object")
    page.keyboard.press("ArrowLeft")  # what was said last
    wait_for(lambda last=last: shown(page) != last, "another object")
    assert "said: unsure" in page.locator(".said").inner_text()
    page.keyboard.press("/")
    page.keyboard.type("star-200")
    page.keyboard.press("Enter")
    wait_for(lambda: shown(page) == "star-200", "the object found")
    page.keyboard.press("f")
    assert page.locator("#badac-fold").get_attribute("aria-pressed") == "true"
    page.keyboard.press("+")
    page.keyboard.press("?")
    help_text = page.locator("dialog[open]").text_content()
    assert "a new kind, named" in help_text and "[object" not in help_text
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.type("rise")  # the name of a known class is that class
    page.keyboard.press("Enter")
    wait_looked(page, 6)
    assert (desk.session.statements[-1].said, desk.session.statements[-1].name) == ("class", "rise")
    assert page.problems == []


@needs_chromium
def test_hover_says_the_value_and_its_error(browser, served):
    page = opened(browser, served[0].address)
    box = page.locator(".stage svg .mark").nth(4).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert re.search(r"± 0\.2, expected .* σ", page.locator(".tip").inner_text())


@needs_chromium
def test_many_are_dismissed_at_once(browser, served):
    server, desk = served
    page = opened(browser, server.address)
    page.keyboard.press("g")
    page.wait_for_selector(".card")
    assert page.locator(".card").count() == 12
    for _ in range(3):
        page.keyboard.press("Enter")  # choose, and on
        page.keyboard.press("ArrowRight")
    page.keyboard.press("a")
    page.keyboard.type("trail")
    page.keyboard.press("Enter")
    wait_looked(page, 3)
    assert {(each.said, each.name) for each in desk.session.said.values()} == {("artefact", "trail")}
    assert page.problems == []


@needs_chromium
def test_a_killed_server_loses_nothing_and_the_page_goes_on(browser, survey, tmp_path):
    path = tmp_path / "looks.jsonl"
    first = Served(make_desk(survey, path))
    page = opened(browser, first.address)
    page.keyboard.press("i")
    wait_looked(page, 1)
    first.stop()
    page.keyboard.press("d")  # while nobody answers
    page.wait_for_selector(".banner:not([hidden])")
    assert "sent when it is back" in page.locator(".banner").inner_text()
    desk = make_desk(survey, path)
    second = Served(desk, first.port)
    wait_looked(page, 2)
    page.wait_for_selector(".banner", state="hidden")
    assert [each.said for each in desk.session.statements] == ["interesting", "dull"]
    page.context.close()  # and a closed browser
    again = opened(browser, second.address)
    wait_looked(again, 2)
    second.stop()


@needs_chromium
def test_two_people_at_once_lose_no_line(browser, served):
    server, desk = served
    people = [opened(browser, server.address) for _ in range(2)]
    for page, name in zip(people, ("ana", "ben"), strict=True):
        page.locator(".who").fill(name)
        page.locator("h1").click()
    for page in people:
        page.locator("h1").evaluate("node => node.focus()")
        page.keyboard.press("d")
    wait_for(lambda: len(desk.session.statements) == 2, "both were written")
    assert {each.who for each in desk.session.statements} == {"ana", "ben"}


@needs_chromium
def test_hostile_names_are_text(browser, survey, tmp_path):
    ids = [HOSTILE, *survey.ids[1:]]
    desk = make_desk(survey, tmp_path / "looks.jsonl", ids)
    desk.session.say(0, "new", HOSTILE[:100])
    server = Served(desk)
    page = opened(browser, server.address)
    page.keyboard.press("ArrowLeft")
    wait_for(lambda: shown(page).startswith("<img"), "the object of that name")
    assert shown(page) == HOSTILE
    page.keyboard.press("n")
    assert page.locator("dialog button").first.inner_text() == HOSTILE[:100]
    assert page.evaluate("window.bad") is None
    assert page.locator("h1 img").count() == 0
    server.stop()


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(browser, served, scheme):
    phone = {
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "is_mobile": True,
        "color_scheme": scheme,
    }
    page = opened(browser, served[0].address, **phone)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="dull").tap()
    wait_looked(page, 1)
    style = "getComputedStyle(document.querySelector('.badac-triage'))"
    colours = page.evaluate(f"[{style}.color, {style}.backgroundColor]")
    ink, paper = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert (ink < paper) == (scheme == "light")


@needs_chromium
def test_every_button_has_a_name_and_can_be_reached(browser, served):
    page = opened(browser, served[0].address)
    names = page.eval_on_selector_all(".bar-of-buttons button", "all => all.map(one => one.title)")
    assert {
        "fall",
        "rise",
        "new kind",
        "artefact",
        "interesting",
        "dull",
        "unsure",
        "undo",
        "grid",
        "find",
        "help",
    } == set(names)
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.title"))
    assert set(names) <= reached


@needs_chromium
def test_phases_are_not_folded_again(browser, survey):
    """A table that was folded when it was read has phases: no toggle, and the key does nothing."""
    desk = make_desk(survey, None)
    server = Served(Desk(desk.session, replace(desk.catalogue, axis=Axis("phase"))))
    page = opened(browser, server.address)
    assert page.locator("#badac-fold").count() == 0
    assert "phase, period 0.4" in page.locator(".stage svg").text_content()
    before = page.locator(".stage svg").inner_html()
    page.keyboard.press("f")
    assert page.locator(".stage svg").inner_html() == before
    assert page.problems == []
    server.stop()


@needs_chromium
def test_zoom_by_buttons_and_a_finger_on_a_point(browser, served):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = opened(browser, served[0].address, **phone)
    marks = page.locator(".stage svg .mark")
    everything = marks.count()
    box = marks.nth(4).bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert re.search(r"± 0\.2, expected .* σ", page.locator(".tip").inner_text())
    page.get_by_role("button", name="zoom in").tap()
    assert marks.count() < everything
    assert page.locator(".tip").is_hidden()  # what it pointed at is elsewhere now
    page.get_by_role("button", name="show all").tap()
    assert marks.count() == everything


@needs_chromium
def test_nothing_is_said_of_what_is_not_seen_yet(browser, served):
    server, desk = served
    page = opened(browser, server.address)
    first = shown(page)
    page.route("**/api/object/*", lambda route: None)  # never answered
    page.keyboard.press("ArrowRight")
    page.keyboard.press("d")
    page.wait_for_timeout(300)
    assert shown(page) == first and page.locator(".stage svg").count() == 1
    assert desk.session.statements == []


@needs_chromium
def test_what_comes_next_is_worked_out_while_somebody_looks(browser, served, monkeypatch):
    server, desk = served
    wanted = []
    of = desk.reasons.of
    monkeypatch.setattr(desk.reasons, "of", lambda row: wanted.append(row) or of(row))
    opened(browser, server.address)
    ahead = desk.session.next(4).tolist()
    wait_for(lambda: set(ahead) <= set(wanted), "the next three too")


def test_an_explanation_is_worked_out_once(survey, monkeypatch):
    from badac import BADACClassifier
    from badac.triage import reasons

    ready, calls = [False], []
    monkeypatch.setattr(BADACClassifier, "pvalues_ready", property(lambda model: ready[0]))
    desk, explained = make_desk(survey, None), reasons.explained
    monkeypatch.setattr(reasons, "explained", lambda *a, **k: calls.append(1) or explained(*a, **k))
    asking = [threading.Thread(target=desk.reasons.of, args=(5,)) for _ in range(4)]
    for each in asking:
        each.start()
    for each in asking:
        each.join(60.0)
    assert desk.view(5)["pvalue"] is None and len(calls) == 1
    ready[0] = True  # p-values have been prepared meanwhile
    assert 0.0 < desk.view(5)["pvalue"] <= 1.0 and len(calls) == 2
    assert 0.0 < desk.view(5)["pvalue"] <= 1.0 and len(calls) == 2


def test_unlike_columns_are_drawn_in_units_of_their_spread():
    from badac import BADACClassifier

    rng = np.random.default_rng(0)
    scale = np.array([1e-3, 1.0, 1e6])
    model = BADACClassifier(class_model="template", random_state=0)
    model.fit(Measurements(scale * rng.standard_normal((60, 3)), 0.1 * scale), np.repeat(["a", "b"], 30))
    desk = Desk.of(Session(model, Measurements(scale * rng.standard_normal((20, 3)), 0.1 * scale)))
    found = Desk(desk.session, replace(desk.catalogue, kind="catalogue"))
    for one in (found.brief(0), found.view(0)["alike"][0]):
        values = np.array([point[1:3] for point in one["small"]])
        assert np.abs(values[:, 0]).max() < 6.0 and np.all((values[:, 1] > 0.03) & (values[:, 1] < 0.3))


def test_what_nobody_named_is_called_by_its_first_object(survey):
    desk = make_desk(survey, None)
    wave = int(np.flatnonzero(survey.truth == "wave")[0])
    desk.session.say(wave, "interesting")
    assert ("interesting", f"like star-{wave}") in desk.session.probabilities(0)


# -- the server alone ------------------------------------------------------------------------------------------------


def asked(server: Served, path: str, headers: dict[str, str] | None = None, body: object = None):
    """Return status, headers and text of one call."""
    call = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    content = None if body is None else json.dumps(body)
    typed = {"Content-Type": "application/json"} if body is not None else {}
    call.request("GET" if body is None else "POST", path, content, {**(headers or {}), **typed})
    answer = call.getresponse()
    found = (
        answer.status,
        {name.lower(): value for name, value in answer.getheaders()},
        answer.read().decode(),
    )
    call.close()
    return found


def test_the_server_wants_its_token_and_its_own_name(served, survey):
    server, _ = served
    key = {"X-Badac-Token": TOKEN}
    assert asked(server, "/")[0] == 403
    assert asked(server, "/api/state")[0] == 403
    assert asked(server, "/api/state", {"X-Badac-Token": "wrong"})[0] == 403
    status, headers, _ = asked(server, f"/?token={TOKEN}")
    policy = headers["content-security-policy"]
    assert status == 200 and "default-src 'none'" in policy and "unsafe" not in policy
    assert asked(server, "/api/state", {**key, "Host": "evil.example"})[0] == 421
    assert asked(server, "/secret.py")[0] == 404
    assert asked(server, "/api/object/9999", key)[0] == 404
    status, _, text = asked(server, "/api/say", key, {"rows": [0], "said": "class", "name": "nothing"})
    assert status == 422 and "there is no class" in json.loads(text)["detail"]
    seen = json.loads(asked(server, "/api/object/0", key)[2])
    assert seen["id"] == "star-0" and len(seen["points"]) == len(seen["expected"]) == survey.objects.n_points


def test_a_stranger_is_refused_before_the_body_is_read(served):
    """Without the token, or with a length that no page sends: not one byte of what is announced is waited for."""
    server, _ = served
    for header, status in (
        ({"Content-Length": str(1 << 40)}, b"403"),
        ({"X-Badac-Token": TOKEN, "Content-Length": str(1 << 40)}, b"413"),
        ({"X-Badac-Token": TOKEN, "Transfer-Encoding": "chunked"}, b"413"),
    ):
        with socket.create_connection(("127.0.0.1", server.sock.getsockname()[1]), timeout=10) as call:
            lines = ["POST /api/say HTTP/1.1", "Host: 127.0.0.1", *(f"{k}: {v}" for k, v in header.items())]
            call.sendall("\r\n".join([*lines, "", ""]).encode())
            assert call.recv(4096).split()[1] == status


def test_odd_rows_are_none(served):
    server, desk = served
    key = {"X-Badac-Token": TOKEN}
    for rows in ("%C2%B2", "1" * 5000, "-1", "x"):
        assert asked(server, f"/api/brief?rows={rows}", key)[0] == 404
    # One row that is none: nothing is said of the others either.
    assert asked(server, "/api/say", key, {"rows": [0, 9999], "said": "dull"})[0] == 404
    with pytest.raises(ValueError, match="9999"):
        desk.say([0, 9999], "dull", None, who=None)
    assert not desk.session.statements


def test_a_session_whose_file_is_lost_is_said(served):
    server, desk = served
    key = {"X-Badac-Token": TOKEN}
    desk.session.say(0, "dull")
    kept = desk.session.path.read_bytes()
    desk.session.path.unlink()
    for path, body in (("/api/state", None), ("/api/undo", {"who": None})):
        status, _, text = asked(server, path, key, body)
        assert status == 507 and "cannot be read or written" in json.loads(text)["detail"]
    desk.session.path.write_bytes(kept + b"no line of a session\n")
    status, _, text = asked(server, "/api/state", key)
    assert status == 422 and "line 3" in json.loads(text)["detail"]


def test_a_catalogue_with_gaps_and_irregular_bands_are_shown(survey):
    from badac import BADACClassifier

    rng = np.random.default_rng(0)
    values = rng.standard_normal((80, 5))
    values[rng.random((80, 5)) < 0.2] = np.nan
    model = BADACClassifier(class_model="template", random_state=0)
    model.fit(Measurements(values[:60], 0.3), np.repeat(["a", "b"], 30))
    desk = Desk.of(Session(model, Measurements(values[60:], 0.3)))
    assert json.loads(json.dumps(desk.view(3), allow_nan=False))["row"] == 3


def test_a_used_port_is_said(survey):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ValueError, match="--port"):
            listening("127.0.0.1", taken.getsockname()[1])


def test_the_widget_answers_as_the_server_does(survey):
    from badac.triage.widget import answer

    desk = make_desk(survey, None)
    assert answer(desk, "GET", "/api/state", None)["figures"]["looked"] == 0
    state = answer(desk, "POST", "/api/say", {"rows": [1], "said": "dull", "name": None, "who": None})
    assert state["figures"]["looked"] == 1
    assert answer(desk, "POST", "/api/undo", {"who": None})["undone"] == 1
    assert answer(desk, "GET", "/api/find?name=star-20", None) == {"row": 20}
    assert answer(desk, "GET", "/api/brief?rows=1,2", None)[1]["row"] == 2
    try:
        import anywidget  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(ModuleNotFoundError, match="notebook"):
            desk.session.widget()


def test_ctrl_c_ends_cleanly_and_says_where_the_file_is(survey, tmp_path):
    import pandas

    from badac.store import save

    save(survey.model, tmp_path / "model.badac")
    columns = {f"f_{k:02d}": survey.objects.values[:, k] for k in range(24)}
    columns |= {f"f_{k:02d}_err": survey.objects.sigma[:, k] for k in range(24)}
    pandas.DataFrame({"object": survey.ids, **columns}).to_csv(tmp_path / "new.csv", index=False)
    command = [
        sys.executable,
        "-m",
        "badac.cli",
        "triage",
        "model.badac",
        "new.csv",
        "--port",
        "0",
        "--no-browser",
    ]
    command[2:3] = ["-c", "from badac.cli import main; main()"]
    del command[1]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    line = process.stdout.readline()
    assert "http://127.0.0.1:" in line and "token=" in line, process.stderr.read()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "new.triage.jsonl" in errors and "Traceback" not in errors
