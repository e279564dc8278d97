"""The page and the picture of an explanation as widgets: anywidget's own module and messages, in a real Chromium.

The host page does what a notebook does: it imports the widget's module, and carries messages between it and Python.
"""

from __future__ import annotations

import shutil

import pytest

from badac.triage import Session
from badac.triage.widget import picture_widget

pytest.importorskip("anywidget", reason="the extra notebook is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="there is no Chromium on this system: the widget is not tested (apt install chromium)",
)
HOST = """<!doctype html><html><body style="margin: 40px"><p id="cell">a cell</p><div id="out"></div><script type="module">
import widget from "./module.js";
const heard = [];
window.fromPython = (message) => heard.forEach((one) => one(message, []));
window.inserted = 0;
document.addEventListener("keydown", (event) => {
  if (!event.target.closest("[data-lm-suppress-shortcuts]")) window.inserted += 1;
});
const model = {
  get: (name) => window.state[name], on: (_, one) => heard.push(one), send: (message) => window.toPython(message),
};
window.state = await window.stateOf();
await widget.render({ model, el: document.getElementById("out") });
</script></body></html>"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def in_notebook(browser, widget):
    """Put a widget on the host page; what the module sends goes to the widget as a kernel would hand it over."""
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    files = {"": ("text/html", HOST), "module.js": ("text/javascript", widget._esm)}

    def serve(route):
        kind, text = files[route.request.url.split("/")[-1]]
        route.fulfill(content_type=f"{kind}; charset=utf-8", body=str(text))

    answers: list[dict] = []
    widget.send = answers.append

    def to_python(message):
        widget._handle_custom_msg(message, [])
        return answers.pop()

    page.route("http://notebook.test/*", serve)
    page.expose_function("stateOf", lambda: {"picture": widget.picture})
    page.expose_function("ask", to_python)
    page.add_init_script(
        "window.toPython = (message) => window.ask(message).then((answer) => window.fromPython(answer));"
    )
    page.goto("http://notebook.test/")
    page.add_style_tag(content=str(widget._css))
    return page, wrong


def test_a_session_is_worked_through_in_a_notebook(browser, survey):
    session = Session(survey.model, survey.objects, ids=survey.ids)
    page, wrong = in_notebook(browser, session.widget())
    first = survey.ids[int(session.next()[0])]
    page.wait_for_selector(f"[data-object='{first}']")
    page.locator(".badac-triage").focus()
    page.keyboard.press("d")
    page.wait_for_selector(f"[data-object='{survey.ids[int(session.next()[0])]}']")
    page.wait_for_function("document.querySelector('.figures').textContent.includes('1 looked at')")
    assert [each.said for each in session.said.values()] == ["dull"]
    page.keyboard.press("u")
    page.wait_for_selector(f"[data-object='{first}']")
    assert not session.said and page.evaluate("window.inserted") == 0 and not wrong
    # Nothing of the notebook's own is moved or covered.
    assert page.evaluate("getComputedStyle(document.body).marginLeft") == "40px"
    bar = page.locator(".bar-of-buttons").bounding_box()
    widget = page.locator(".badac-triage").bounding_box()
    assert bar["x"] >= widget["x"] and bar["y"] + bar["height"] <= widget["y"] + widget["height"] + 1
    page.close()


def test_the_picture_of_an_explanation_can_be_zoomed_and_pointed_at(browser, survey):
    row = int((survey.truth == "spike").argmax())
    explanation = survey.model.explain(survey.objects[row : row + 1])
    page, wrong = in_notebook(browser, picture_widget(explanation, name="a <b>spike</b>", period=0.4))
    page.wait_for_selector(".stage svg .mark")
    assert "a <b>spike</b>: 24 points" in page.locator(".stage svg").get_attribute("aria-label")
    marks = page.locator(".stage svg .mark").count()
    assert marks == 48  # each point, and its residual
    box = page.locator(".stage svg .mark").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "expected" in page.locator(".tip").text_content() and "±" in page.locator(".tip").text_content()
    page.locator(".stage").focus()
    page.keyboard.press("+")
    assert page.locator(".stage svg .mark").count() < marks
    page.keyboard.press("0")
    assert page.locator(".stage svg .mark").count() == marks
    page.keyboard.press("f")
    assert page.locator("button[aria-pressed=true]").count() == 1 and not wrong
    page.close()
    with pytest.raises(ValueError, match="one of the 1 objects"):
        picture_widget(explanation, row=1)
