"""A column of exposures in a table of counts: no feature, no errors needed, and read again in new tables."""

import numpy as np
import pandas as pd
import pytest

from badac.cli.table_options import ErrorsChoice, table_options
from badac.data import Layout, from_table


def counts(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    exposure = rng.uniform(1.0, 9.0, n)
    table = pd.DataFrame(rng.poisson(2.0 * exposure[:, None], (n, 3)), columns=["a", "b", "c"])
    return table.assign(livetime=exposure, label=np.where(np.arange(n) % 2, "x", "y"))


def test_a_table_of_counts_and_new_ones_like_it() -> None:
    table, new = counts(12, 0), counts(12, 1)
    found = from_table(table, columns={"exposure": "livetime"})
    assert found.features == ("a", "b", "c")
    assert found.objects.counted
    np.testing.assert_allclose(found.objects.exposure[:, 0], table["livetime"])
    again = Layout.from_dict(Layout.of(found).as_dict()).read(new[["livetime", "c", "b", "a"]])
    np.testing.assert_allclose(again.objects.exposure[:, 2], new["livetime"])
    np.testing.assert_array_equal(again.objects.values, new[["a", "b", "c"]])


def test_what_cannot_have_one_is_refused() -> None:
    with pytest.raises(ValueError, match="livetimes.*Did you mean 'livetime'"):
        from_table(counts(4, 0), columns={"exposure": "livetimes"})
    with pytest.raises(ValueError, match="exposures \\(column 'label'\\)"):
        from_table(counts(4, 0), columns={"exposure": "label", "label": None})
    long = pd.DataFrame({"object_id": [1, 1], "mjd": [0.0, 1.0], "flux": [1.0, 2.0], "flux_err": [1.0, 1.0]})
    with pytest.raises(ValueError, match="for the exposure, which belongs to a table of counts"):
        from_table(long, columns={"exposure": "mjd"}, form="long")


def test_the_option_says_it() -> None:
    said = dict.fromkeys(
        ("label", "labels", "objects", "column", "columns", "pair", "missing", "period", "align", "flux")
    )
    found = table_options(
        **said, find_period=False, fold=False, quiet=False, errors=ErrorsChoice.sigma, exposure="livetime"
    )
    assert found.columns == {"exposure": "livetime"}
    assert found.conventions.errors == "none"
