"""The page is valid, self-contained HTML."""

from html.parser import HTMLParser

import pytest

from badac.plots import new_figure
from badac.plots.page import Page, Text

_VOID = {"meta", "img", "br", "hr", "link", "input"}


class Structure(HTMLParser):
    """Checks that tags are balanced and keeps what was seen."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(text):
    structure = Structure()
    structure.feed(text)
    structure.close()
    assert structure.open == []
    return structure


@pytest.fixture
def page():
    figure, ax = new_figure()
    ax.plot([0, 1])
    return (
        Page("Results & more")
        .section("First <part>")
        .heading("a heading")
        .paragraph("1 < 2", kind="note")
        .table("numbers", ("", "MCC"), [["ours", Text("0.9", "(0.8)")], ["theirs", "-"]], ours=[True, False])
        .figure(figure, "A caption", 'A "described" line')
        .code("badac --help")
    )


def test_tags_are_balanced_and_text_is_escaped(page):
    structure = parsed(page.render())
    words = " ".join(structure.text)
    for expected in ("Results & more", "First <part>", "1 < 2", "(0.8)", "badac --help"):
        assert expected in words


def test_it_needs_nothing_from_outside(page):
    structure = parsed(page.render())
    sources = [
        attributes[key] for _, attributes in structure.seen for key in ("src", "href") if key in attributes
    ]
    assert sources
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert not [tag for tag, _ in structure.seen if tag in {"script", "link", "iframe"}]


def test_readers_without_eyes_or_mouse_are_served(page):
    structure = parsed(page.render())
    assert ("html", {"lang": "en"}) in structure.seen
    images = [attributes for tag, attributes in structure.seen if tag == "img"]
    assert [image["alt"] for image in images] == ['A "described" line']
    assert all(attributes.get("scope") for tag, attributes in structure.seen if tag == "th")
    regions = [attributes for _, attributes in structure.seen if attributes.get("role") == "region"]
    assert all(region["tabindex"] == "0" and region["aria-label"] for region in regions)
    ids = [attributes["id"] for _, attributes in structure.seen if "id" in attributes]
    links = [attributes["href"][1:] for tag, attributes in structure.seen if tag == "a"]
    assert links == ids
