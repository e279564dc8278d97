"""Cells of text with a value and its error, as papers print them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from badac.data import read
from badac.data.cell_errors import value_with_errors

pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.2 ± 0.1", (1.2, 0.1, 0.1)),
        ("-1.2e3+/-4", (-1200.0, 4.0, 4.0)),
        (r"$1.2 \pm 0.1$", (1.2, 0.1, 0.1)),
        ("1.2 +0.3 -0.1", (1.2, 0.3, 0.1)),
        ("1.2 (+0.3/-0.1)", (1.2, 0.3, 0.1)),
        ("1.2 (+0.3, −0.1)", (1.2, 0.3, 0.1)),
        ("1.2^{+0.3}_{-0.1}", (1.2, 0.3, 0.1)),
        ("$1.2^{+0.3}_{-0.1}$", (1.2, 0.3, 0.1)),
        ("1.2+0.3-0.1", None),
        ("1.234(5)", (1.234, 0.005, 0.005)),
        ("120(30)", (120.0, 30.0, 30.0)),
        ("1.2(0.3)", (1.2, 0.3, 0.3)),
        ("-6.674(15)E-11", (-6.674e-11, 1.5e-13, 1.5e-13)),
        ("1.2", None),
        ("1.2 - 0.1", None),
        ("1.2(a)", None),
        ("2020-01-02", None),
        ("+41 -16", None),
    ],
)
def test_forms(text: str, expected: tuple[float, float, float] | None) -> None:
    found = value_with_errors(text)
    assert found is None if expected is None else found == pytest.approx(expected, rel=1e-12)


def test_a_file_of_such_cells(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        'name,radius,mass,class\n1(1),1.20 +0.30 -0.10,2.50(3),a\n1(2),"$1.5^{+0.2}_{-0.2}$",2.6 ± 0.1,b\n1(3),,2.7(1),a\n',
        encoding="utf-8",
    )
    found = read(path)
    assert found.ids.tolist() == ["1(1)", "1(2)", "1(3)"]
    assert found.features == ("radius", "mass")
    assert "radius with the mean of radius_err_minus and radius_err_plus" in found.recognised
    np.testing.assert_allclose(found.objects.values, [[1.2, 2.5], [1.5, 2.6], [np.nan, 2.7]])
    np.testing.assert_allclose(found.objects.sigma, [[0.2, 0.03], [0.2, 0.1], [np.inf, 0.1]])
