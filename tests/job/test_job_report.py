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
    assert str(found.shown.ids[0]) in text
    assert "Cross-validation in 2 folds" in text
    assert "badac rank train.parquet new.parquet" in text
    assert "Seed 0." in text
    assert "numpy" in text
    assert 1 <= text.count("<article>") <= 3  # only those that are strange
    assert "The noise was not diagnosed" in text


def test_names_from_a_file_are_escaped(found):
    from dataclasses import replace

    ids = np.array(["<script>alert(1)</script>", *found.shown.ids[1:]])
    shown = replace(found.shown, ids=ids)
    text = report_page(replace(found, shown=shown)).render()
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_a_warning_comes_once_and_normal_objects_are_not_drawn(found):
    from dataclasses import replace

    twice = replace(found, notes=("one column is odd", "one column is odd"))
    assert report_page(twice).render().count("one column is odd") == 1
    last = found.ranking.take(slice(-3, None))
    quiet = replace(found, ranking=last, n_discoveries=0)
    text = report_page(quiet).render()
    assert "None of the objects is strange" in text and "<article>" not in text


def test_objects_with_positions_are_linked_and_nothing_is_fetched(found):
    from dataclasses import replace

    shown = replace(found.shown, carried={"ra": np.full(3, 184.5), "dec": np.full(3, -3.25)})
    text = report_page(replace(found, shown=shown)).render()
    assert "aladin.cds.unistra.fr" in text and "simbad.cds.unistra.fr" in text
    assert 'src="http' not in text and "<script" not in text


def test_the_folder_knows_its_model_and_its_table(found, tmp_path):
    from badac import load
    from badac.job import write_results
    from badac.job.explaining import Results, explained, find_object

    table = tmp_path / "new.parquet"
    write_tables(simulate("2", setting="released", size=250, seed=3), tmp_path)
    folder = tmp_path / "results"
    folder.mkdir()
    write_results(found, folder, table=table)
    results = Results.of(folder)
    name, pvalue = results.at_rank(1)
    assert name == str(found.ranking.ids[0]) and pvalue == found.ranking.pvalue[0]
    assert results.pvalue(name) == pvalue
    model = load(results.model)
    told = explained(model, find_object(model, results.table, name), pvalue=pvalue)
    assert told.numbers()["pvalue"] == pvalue
    assert "something new with probability" in told.lines()[0]
    with pytest.raises(ValueError, match="has no rank 251"):
        results.at_rank(251)
    with pytest.raises(ValueError, match="is not a folder of results"):
        Results.of(tmp_path)
