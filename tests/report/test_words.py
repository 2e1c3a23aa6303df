"""Words that several chapters share: an interval, or the true reason for none."""

import numpy as np
import pandas as pd
import pytest

from contrafact.family.display import with_figures
from contrafact.report.summary import with_interval
from contrafact.stats.intervals import cluster_bootstrap


def displayed(values: list[float]) -> str:
    found = cluster_bootstrap(values, None, resamples=200, rng=np.random.default_rng(0))
    row = pd.Series({**vars(found), "headlines": found.clusters}, dtype=object)
    return with_interval(row, "headlines")


def test_a_share_without_an_interval_says_why() -> None:
    assert displayed([0.0, 1.0, 1.0, 1.0]) == "75.0% (too few headlines for an interval)"
    assert displayed([0.5] * 30) == "50.0% (no interval: all values are equal)"
    assert displayed([0.0, 1.0] * 15).startswith("50.0% (95% interval ")


def test_a_figure_finds_its_line_and_two_of_one_line_are_refused() -> None:
    lines = pd.DataFrame({"system": ["b", "a", "b"], "n": [1, 2, 3]}, index=[4, 4, 9])
    figures = pd.DataFrame(
        {
            "system": ["a", "b", "a", "c"],
            "measure": ["x", "x", "y", "x"],
            "group": [None, None, "g", None],
            "estimate": [0.1, 0.2, 0.3, 0.4],
            "low": [0.0, np.nan, 0.2, 0.3],
        }
    )
    wanted = {"x": {"measure": "x"}, "y": {"measure": "y", "group": "g"}, "z": {"measure": "z"}}
    found = with_figures(lines, figures, wanted)
    expected = lines
    for key, where in wanted.items():
        held = np.logical_and.reduce([figures[name].eq(value) for name, value in where.items()])
        part = figures.loc[held, ["system", "estimate", "low"]]
        part = part.set_axis(["system", key, f"{key}_low"], axis=1)
        expected = expected.merge(part, on="system", how="left")
    pd.testing.assert_frame_equal(found, expected)
    with pytest.raises(ValueError, match="more than one figure"):
        with_figures(lines, pd.concat([figures, figures]), wanted)
