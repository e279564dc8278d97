"""Tables average over seeds and carry the paper's numbers."""

import csv
import io

import numpy as np
import pytest

from reproduction.tables import (
    GLANCE,
    as_csv,
    as_dicts,
    at_a_glance,
    by_experiment,
    markdown,
    rows_of,
    time_table,
)


def test_rows_average_over_seeds(tiny_results):
    rows = rows_of(tiny_results)
    assert len(rows) == 2 * 5
    row = next(row for row in rows if (row.experiment, row.algorithm) == (4, "lof"))
    numbers = [r.metrics["auc"] for r in tiny_results if (r.cell.experiment, r.cell.algorithm) == (4, "lof")]
    assert row.n_seeds == 2
    assert row.values["auc"].mean == pytest.approx(np.mean(numbers))
    assert row.values["auc"].sd == pytest.approx(np.std(numbers, ddof=1))
    assert row.values["auc"].paper == 0.96


def test_one_seed_has_no_spread(tiny_results):
    rows = rows_of([result for result in tiny_results if result.cell.seed == 0])
    assert all(value.sd is None for row in rows for value in row.values.values())
    assert "±" not in rows[0].text("auc")[0]


def test_the_order_is_that_of_the_tables(tiny_results):
    shuffled = [tiny_results[i] for i in np.random.default_rng(0).permutation(len(tiny_results))]
    order = [(row.experiment, row.algorithm) for row in rows_of(shuffled)]
    assert order == [(e, a) for e in (1, 4) for a in ("badac-exact", "badac", "lof", "forest", "limit")]


def test_the_paper_s_value_stands_beside_ours(tiny_results):
    tables = by_experiment(rows_of(tiny_results))
    text = markdown(tables["released", 1])
    exact = next(line for line in text.splitlines() if "BADAC, exact" in line)
    assert "(0.95)" in exact
    assert "(99.02)" in exact
    assert len({line.count("|") for line in text.splitlines()}) == 1


def test_csv_has_a_line_per_cell(tiny_results):
    lines = list(csv.DictReader(io.StringIO(as_csv(tiny_results))))
    assert len(lines) == len(tiny_results)
    for line, result in zip(lines, tiny_results, strict=True):
        assert line["algorithm"] == result.cell.algorithm
        assert int(line["n_train"]) == 200
        if "mcc" in result.metrics:
            assert float(line["mcc"]) == pytest.approx(result.metrics["mcc"], rel=1e-5)
        else:
            assert line["mcc"] == ""


def test_json_rows_and_times(tiny_results):
    rows = rows_of(tiny_results)
    assert as_dicts(rows)[0]["values"]["mcc"].keys() == {"mean", "sd", "paper"}
    times = time_table(rows)
    assert [line[0] for line in times] == ["BADAC, exact", "BADAC, default", "LOF", "Random forest"]
    assert times[0][4] == "1281.82"


def test_at_a_glance_names_the_best_peer(tiny_results):
    rows = rows_of(tiny_results)
    lines = at_a_glance(rows)
    assert [line[0] for line in lines] == ["released 1", "released 4"]
    assert all(len(line) == len(GLANCE) for line in lines)
    lof = next(row for row in rows if (row.experiment, row.algorithm) == (4, "lof"))
    assert lines[1][4] == f"{lof.values['mcc'].mean:.3f} LOF"
    alone = at_a_glance([row for row in rows if row.algorithm == "limit"])
    assert alone[0][1:5] == ("", "", "", "")


def test_a_row_with_fewer_seeds_says_so(tiny_results):
    some = [r for r in tiny_results if r.cell.algorithm != "forest" or r.cell.seed == 0]
    labels = {row.algorithm: row.label for row in rows_of(some)}
    assert labels["forest"] == "Random forest (1 seed)"
    assert labels["lof"] == "LOF"
