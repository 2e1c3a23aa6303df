"""``contrafact rfc bucket`` as a user calls it."""

import json

from tests.support.lines import one_line, read_lines

NEWS = (
    "headline,description,ticker\n"
    "Sales may fall 3%,Osmery Foods blames soft demand.,OSMF\n"
    "Museum opens,Visitors came.,\n"
    "Sales may fall 3%,Osmery Foods blames soft demand.,OSMF\n"
)


def test_candidates_go_to_a_file_and_the_others_next_to_it(quick_contrafact, tmp_path):
    (tmp_path / "news.csv").write_text(NEWS, encoding="utf-8")
    done = quick_contrafact("rfc", "bucket", "news.csv", "--out", "out/c.jsonl", code=0)
    assert (
        "2 articles: 1 are candidates (3 with each of their manipulations), 1 dropped"
        in done.stderr
    )
    assert "1 row left out: title and summary came before (line 4)" in done.stderr
    (kept,) = read_lines(tmp_path / "out/c.jsonl")
    assert kept["title"] == "Sales may fall 3%" and kept["ticker"] == "OSMF"
    assert kept["candidates"] == ["numerical", "flipping", "sentiment"]
    dropped, repeated = read_lines(tmp_path / "out/c.jsonl.dropped.jsonl")
    assert repeated["line"] == 4
    assert set(repeated["reasons"].values()) == {"repeats the article of line 2"}
    assert dropped["reasons"]["causal"] == "no causal connector and no catalyst"
    assert len(read_lines(tmp_path / "out/c.jsonl.ledger.jsonl")) == 8
    assert quick_contrafact("rfc", "bucket", "news.csv", "--out", "b.jsonl").returncode == 0
    for end in ("", ".dropped.jsonl"):
        again = (tmp_path / f"b.jsonl{end}").read_bytes()
        assert again == (tmp_path / f"out/c.jsonl{end}").read_bytes()


def test_the_supplement_of_fin_force_is_read_as_it_is(quick_contrafact, tmp_path):
    item = {
        "headline": "Norrick Steel beats estimates",
        "description": "Revenue rose 4%.",
        "category": "Corporate earnings",
        "classification": "market_event",
    }
    (tmp_path / "s.json").write_text(json.dumps([{"item_index": 0, "input_item": item}]))
    assert quick_contrafact("rfc", "bucket", "s.json", "--out", "c.jsonl").returncode == 0
    (kept,) = read_lines(tmp_path / "c.jsonl")
    assert kept["summary"] == "Revenue rose 4%." and kept["classification"] == "market_event"
    assert (kept["category"], kept["item_index"]) == ("Corporate earnings", 0)
    assert "flipping" in kept["candidates"]


def test_bad_rows_are_reported_by_line_and_nothing_is_written(quick_contrafact, tmp_path):
    for text, message in (
        ('{"title": "A", "summary": "B"}\n{"title": ""}\n', "news.jsonl:2: the title is empty"),
        ('{"title": "A"}\n{"titel": "B"}\n', "news.jsonl:2: no column 'title'"),
        ('{"title": "A"}\nnot json\n', "news.jsonl:2: bad JSON"),
        ("", "news.jsonl: the file is empty"),
    ):
        (tmp_path / "news.jsonl").write_text(text, encoding="utf-8")
        done = quick_contrafact("rfc", "bucket", "news.jsonl", "--out", "c.jsonl")
        assert message in one_line(done)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["news.jsonl"]
