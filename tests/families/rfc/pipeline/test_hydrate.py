"""Originals given back from a file of articles."""

import pytest
from tests.support.lines import write_lines

from contrafact.corpus.release import Facts
from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.hydrate import hydrate, load_published
from contrafact.families.rfc.pipeline.release import release
from contrafact.families.rfc.records import Rewrite
from contrafact.files.tables import read_rows
from contrafact.records import NewsItem
from contrafact.stages.stage import KEPT, REJECTS, InputRow

TITLE = "Brackwater Ferries gained 8% on Monday"
SUMMARY = "Fares rose on northern routes, the company said."
ORIGINAL = f"{TITLE}. {SUMMARY}"
REWRITTEN = ORIGINAL.replace("gained", "lost").replace("rose", "fell")
URL = "https://news.example/a"


def published(tmp_path, *rows):
    return load_published(write_lines(tmp_path / "published.jsonl", rows))


def article(title, summary=SUMMARY, url=URL):
    return NewsItem.of(title, summary, url=url)


def test_a_release_gets_exactly_its_pairs_back(tmp_path):
    pair = Rewrite.of(
        "flipping", ORIGINAL, REWRITTEN, article_id="n1", ticker="BWF", rewriter="rules", url=URL
    )
    made = release([InputRow(0, pair.model_dump())], [], Facts(name="r", version="1.0.0"))
    (tmp_path / "pairs.jsonl").write_text(made.files["pairs.jsonl"], encoding="utf-8")
    rows = load_published(tmp_path / "pairs.jsonl")
    # By its hash, whatever its address.
    result = hydrate(rows, [article("Another title"), article(TITLE, url=None)])
    (back,) = result.table(KEPT)
    assert back["hydrated"] == "verified"
    for name in ("id", "article_id", "original", "rewritten", "manipulation", "ticker", "rewriter"):
        assert back[name] == getattr(pair, name)
    assert (back["title"], back["summary"]) == (TITLE, SUMMARY)
    edited = [article(TITLE + ", again")]
    changed = hydrate(rows, edited)
    assert changed.table(KEPT) == []
    assert changed.table(REJECTS)[0]["problem"] == "no match"


def test_rows_without_a_hash_are_matched_by_address_and_likeness(tmp_path):
    (row,) = published(
        tmp_path,
        {
            "Stock": "BWF",
            "Date": "2025-05-12",
            "Link": URL,
            "Category": "Directional Flipping",
            "Text": REWRITTEN,
        },
    )
    assert (row.pair.manipulation, row.pair.url) == ("flipping", URL)
    result = hydrate([row], [article(TITLE)])
    assert result.table(KEPT)[0]["original"] == ORIGINAL
    assert result.table(KEPT)[0]["ticker"] == "BWF"
    far = hydrate([row], [article("Grain ships leave Port Sable after the strike", "")])
    assert "not the text that was rewritten" in far.table(REJECTS)[0]["reason"]
    lost = hydrate([row], [article(TITLE, url="https://news.example/b")])
    assert lost.counts == {"missing": 1}
    same = hydrate(
        [row], [article(TITLE.replace("gained", "lost"), SUMMARY.replace("rose", "fell"))]
    )
    assert "same text" in same.table(REJECTS)[0]["reason"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"manipulation": "flipping", "url": "x"}, "no column 'rewritten'"),
        ({"manipulation": "flopping", "rewritten": "It fell."}, "is not a manipulation"),
        ({"id": "a", "manipulation": "causal", "rewritten": "It fell."}, "is there twice"),
    ],
)
def test_bad_rows_are_reported_by_line(tmp_path, row, message):
    good = {"id": "a", "manipulation": "flipping", "rewritten": "It fell."}
    with pytest.raises(InputError, match=r"published\.jsonl:2: ") as caught:
        published(tmp_path, good, row)
    assert message in str(caught.value)


def test_the_command_tells_what_is_missing(tmp_path, quick_contrafact):
    rows = [
        {"id": f"r{n}", "manipulation": "flipping", "rewritten": REWRITTEN, "url": url}
        for n, url in enumerate([URL, "https://news.example/b", ""])
    ]
    write_lines(tmp_path / "in.jsonl", rows)
    held = {"title": TITLE, "summary": SUMMARY, "url": URL}
    write_lines(tmp_path / "news.jsonl", [held])
    result = quick_contrafact(
        "rfc", "hydrate", "in.jsonl", "--news", "news.jsonl", "--out", "out.jsonl"
    )
    assert result.returncode == 0, result.stderr
    assert "1 of 3 rows have their original" in result.stdout
    dropped = [row for _, row in read_rows(tmp_path / "out.jsonl.dropped.jsonl")]
    assert [row["problem"] for row in dropped] == ["missing", "missing"]
