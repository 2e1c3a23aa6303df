"""Counts by gate, over time and by ticker."""

import math

from contrafact.families.rfc.pipeline.statistics import (
    Gate,
    by_gate,
    by_ticker,
    draw_figures,
    items_of,
    over_time,
)


def bucketed(n, *candidates, **more):
    return {"id": f"n{n}", "candidates": list(candidates), **more}


def pair(n, manipulation, **more):
    return {
        "id": f"p{n}{manipulation}",
        "article_id": f"n{n}",
        "manipulation": manipulation,
        **more,
    }


BEFORE = Gate(
    "bucketed",
    items_of(
        [
            bucketed(1, "numerical", "flipping", date="2025-04-30T22:00:00Z", ticker="BWF"),
            bucketed(2, "numerical", date="2025-05-02", ticker="BWF"),
            bucketed(3, "causal"),
            bucketed(4),
        ]
    ),
)
AFTER = Gate(
    "final", items_of([pair(1, "numerical", date="2025-04-30", ticker="BWF"), pair(3, "causal")])
)


def test_items_are_counted_by_gate_and_told_from_articles():
    table = by_gate([BEFORE, AFTER]).set_index(["gate", "manipulation"])
    assert table.loc[("bucketed", "numerical"), ["items", "articles"]].tolist() == [2, 2]
    assert table.loc[("bucketed", "overall"), ["items", "articles"]].tolist() == [5, 4]
    assert table.loc[("bucketed", "none yet"), "items"] == 1
    assert table.loc[("final", "numerical"), "of_first"] == 0.5
    assert table.loc[("final", "overall"), "of_previous"] == 0.4
    assert math.isnan(table.loc[("final", "sentiment"), "of_first"])


def test_months_and_tickers():
    months = over_time([BEFORE]).set_index(["manipulation", "month"])["items"]
    assert months[("numerical", "2025-04")] == months[("numerical", "2025-05")] == 1
    assert months[("causal", "unknown")] == 1
    tickers = by_ticker(BEFORE).set_index("ticker")
    assert tickers.loc["BWF", ["articles", "items", "numerical"]].tolist() == [2, 3, 2]
    assert tickers.index.tolist() == ["BWF", "unknown"]


def test_figures_are_the_same_bytes_every_time(tmp_path):
    one = draw_figures([BEFORE, AFTER], tmp_path / "a")
    other = draw_figures([BEFORE, AFTER], tmp_path / "b")
    assert {path.name for path in one} == {
        f"{name}.{suffix}"
        for name in ("by_gate", "over_time", "by_ticker")
        for suffix in ("png", "svg")
    }
    for path, same in zip(one, other, strict=True):
        assert path.read_bytes() == same.read_bytes(), path.name


def test_nothing_is_drawn_of_what_is_not_known(tmp_path):
    undated = Gate("pairs", items_of([pair(1, "causal")]))
    assert {path.stem for path in draw_figures([undated], tmp_path)} == {"by_gate"}
    empty = Gate("final", items_of([]))
    assert by_gate([undated, empty])["items"].sum() == 2
    draw_figures([undated, empty], tmp_path)
