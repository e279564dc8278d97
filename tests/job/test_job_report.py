"""The report says what was found, is valid HTML, and can be read with the keyboard alone."""

import re
from itertools import pairwise

import html5lib
import numpy as np
import pytest

from badac.job import RankOptions, Settings, learn, rank_file, read_training, report_page
from badac.job.simulated import simulate, write_tables


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_tables(simulate("2", setting="released", size=250, seed=3), folder)
    model = learn(
        read_training(folder / "train.parquet"), Settings(class_model="template", folds=2, diagnose=False)
    )
    options = RankOptions(n_shown=3, command="badac rank train.parquet new.parquet")
    return rank_file(model, folder / "new.parquet", options)


@pytest.fixture(scope="module")
def text(found):
    return report_page(found).render()


@pytest.fixture(scope="module")
def page(text):
    # Strict: any parse error raises.
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


def test_it_is_valid_and_needs_nothing_else(text, page):
    assert page.find("head/title").text == "What is new in new.parquet?"
    assert not page.findall(".//script")
    addresses = [e.get(name) for e in page.iter() for name in ("src", "href") if e.get(name)]
    assert all(a.startswith(("data:", "#")) or a == "ranking.parquet" for a in addresses)
    names = [element.get("id") for element in page.iter() if element.get("id")]
    assert len(names) == len(set(names))
    assert {a[1:] for a in addresses if a.startswith("#")} <= set(names)


def test_keyboard_and_screen_reader(page):
    body = page.find("body")
    first = body[0]
    assert first.tag == "a" and first.get("href") == "#main"  # skip to the results
    levels = [int(e.tag[1]) for e in page.iter() if isinstance(e.tag, str) and re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert all(image.get("alt") for image in page.findall(".//img"))
    for region in page.findall(".//div[@class='table']"):
        assert region.get("tabindex") == "0" and region.get("aria-label")
    assert page.get("lang") == "en"
    assert page.find("head/meta[@name='viewport']") is not None


def test_it_says_what_was_found(found, text):
    assert "250 objects compared with 2 known classes" in text
    for name in found.shown.ids:
        assert str(name) in text
    assert "Cross-validation in 2 folds" in text
    assert "badac rank train.parquet new.parquet" in text
    assert "Seed 0." in text
    assert "numpy" in text
    assert text.count("<article>") == 3
    assert "The noise was not diagnosed" in text


def test_names_from_a_file_are_escaped(found):
    from dataclasses import replace

    ids = np.array(["<script>alert(1)</script>", *found.shown.ids[1:]])
    shown = replace(found.shown, ids=ids)
    text = report_page(replace(found, shown=shown)).render()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
