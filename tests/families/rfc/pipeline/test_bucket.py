"""Appendix O's rules on articles of our own: what makes a candidate, and what keeps one out."""

import json
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.lines import read_lines, write_lines

from contrafact.corpus.ledger import read_ledger
from contrafact.corpus.news_items import item_of
from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.bucket import BucketStage, bucket, bucket_news
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.stages.run import run_stage
from contrafact.stages.stage import KEPT, REJECTS, InputRow

CALM = "The harbour museum of Osmery opened its doors to visitors."


def terms(result, manipulation):
    return [(row[0], row[1]) for row in result.evidence[manipulation]]


@pytest.mark.parametrize(
    ("text", "kind", "term"),
    [
        ("Tern & Vale hired 12 people", "digits", "12"),
        ("Aldmoor paid $1,200.50 for it", "money", "$1,200.50"),
        ("Pell Street bought a stake for $3.5B", "money", "$3.5"),
        ("A cut of 12.5% was agreed", "percent", "12.5%"),
        ("A cut of 8 per cent was agreed", "percent", "8 per cent"),
        ("It was 2019.", "digits", "2019"),
    ],
)
def test_any_digit_makes_a_numerical_candidate(text, kind, term):
    result = bucket(text)
    assert "numerical" in result.candidates
    assert terms(result, "numerical") == [(kind, term)]


@pytest.mark.parametrize(
    ("manipulation", "text", "code"),
    [
        ("numerical", "Quillon Freight hired two people", "no-digit"),
        # a direction and something financial
        ("flipping", "Norrick Steel's revenue climbed", None),
        ("flipping", "Norrick Steel climbed 4%", None),
        ("flipping", "Analysts downgraded Norrick and cut its price target", None),
        ("flipping", "Norrick Steel climbed on Monday", "nothing-financial"),
        ("flipping", "Norrick Steel reported its revenue", "no-direction"),
        ("flipping", "Norrick Steel set up a unit above the river", "no-direction"),
        # mild financial words and no extreme ones
        ("sentiment", "Vantry Air may raise its forecast for revenue", None),
        ("sentiment", "Demand was muted, and sales were steady", None),
        ("sentiment", "Vantry Air may reopen the route", "no-kpi"),
        ("sentiment", "Vantry Air told investors its revenue", "neither-hedged-nor-mild"),
        ("sentiment", "Sales could crash, a steady observer said", "extreme"),
        ("sentiment", "Sales may rise to record highs", "extreme"),
        ("sentiment", "Sales may surge", None),
        # a cause, and next to it a context
        ("causal", "Margins narrowed because fuel became dear", None),
        ("causal", "Shares fell after a product recall", None),
        ("causal", "Orders dropped 3%, which led to layoffs", None),
        ("causal", "Revenue was reported", "no-cause"),
        ("causal", "The bridge was closed because of snow", "no-context"),
        ("causal", "It gave an outlook", "no-context"),  # one word for both
        ("causal", "It gave an outlook for its margins", None),
    ],
)
def test_what_keeps_a_text_out(manipulation, text, code):
    why = bucket(text).reasons.get(manipulation)
    assert (why and why.code) == code


def test_an_extreme_word_that_keeps_a_text_out_is_named():
    why = bucket("Sales may rise to record highs").reasons["sentiment"]
    assert why.text.endswith("record high")


def test_an_article_may_be_a_candidate_for_all_or_for_none():
    everything = bucket("Sales may fall 3% because of soft demand")
    assert everything.candidates == list(MANIPULATIONS)
    assert not everything.reasons
    nothing = bucket(CALM)
    assert not nothing.candidates and not nothing.evidence
    assert list(nothing.reasons) == list(MANIPULATIONS)


def test_evidence_is_kept_in_order_and_says_where():
    text = "Sales may fall 3% because of soft demand"
    result = bucket(text)
    assert result.evidence["flipping"] == [
        ("kpi", "sales", 0, 5),
        ("directional", "fall", 10, 14),
        ("percent", "3%", 15, 17),
        ("directional", "soft demand", 29, 40),
    ]
    assert terms(result, "causal") == [
        ("kpi", "sales"),
        ("reaction", "fall"),
        ("percent", "3%"),
        ("connector", "because of"),
    ]


WORDS = (
    "sales margin may could soft rose fell 3% $4 12 because since crash museum . , 2019 record high"
)
words = st.sampled_from([*WORDS.split(), ""])
paragraphs = st.lists(words, max_size=12).map(" ".join)


@given(st.lists(st.one_of(paragraphs, st.text(max_size=20)), max_size=5))
def test_each_manipulation_has_evidence_or_a_reason_whatever_stands_next_to_it(texts):
    results = [bucket(text) for text in texts]
    assert results == [bucket(text) for text in texts]
    for result in results:
        assert set(result.candidates) == set(result.evidence)
        assert set(result.candidates) | set(result.reasons) == set(MANIPULATIONS)
        assert not set(result.candidates) & set(result.reasons)
        assert all(result.evidence.values())


NEWS = (
    '{"title": "Sales may fall 3%", "summary": "Osmery Foods blames soft demand.", "desk": "food",'
    ' "ticker": "OSMF"}\n'
    '{"title": "Museum opens", "summary": "Visitors came."}\n'
    '{"title": "Profit rose 9%"}\n'
)


@pytest.fixture
def news(tmp_path):
    fields = map(json.loads, NEWS.splitlines())
    return [InputRow(at, row, value=item_of(row)) for at, row in enumerate(fields)]


def test_rows_keep_their_fields_and_the_others_their_reasons(news):
    result = bucket_news(news)
    (kept,) = result.table(KEPT)
    assert kept["ticker"] == "OSMF" and kept["desk"] == "food"
    assert kept["id"] == news[0].value.id
    assert kept["candidates"] == ["numerical", "flipping", "sentiment"]
    paragraph = news[0].value.paragraph
    for rows in kept["evidence"].values():
        for row in rows:
            assert list(row) == ["list", "term", "start", "end"]
            assert 0 <= row["start"] < row["end"] <= len(paragraph)
    museum, alone = result.table(REJECTS)
    assert museum["reasons"]["numerical"] == "no digit"
    assert set(alone["reasons"].values()) == {"no summary: a title alone"}
    counts = result.counts
    kept = {name: counts["kept", name] for name in MANIPULATIONS}
    assert kept == {"numerical": 1, "flipping": 1, "sentiment": 1, "causal": 0}


def test_the_ledger_has_each_decision_once_however_often_it_is_written(news, tmp_path):
    out = tmp_path / "candidates.jsonl"
    for _ in range(2):
        bucket_news(news).write(out)
    events = read_ledger(f"{out}.ledger.jsonl")
    assert len(events) == 3 * len(MANIPULATIONS)
    kept = {event.manipulation: event.why for event in events if event.decision == "kept"}
    assert kept["numerical"] == "candidate: 3%"
    assert {event.by for event in events} == {"rule:appendix O"}


def test_repeated_rows_are_written_with_their_part(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("contrafact.stages.run.PART", 2)
    file, out = tmp_path / "news.jsonl", tmp_path / "out.jsonl"
    write_lines(file, ({"title": f"Day {n % 5}", "summary": "Nothing to see."} for n in range(12)))
    counts = run_stage(BucketStage(), file, out).counts
    dropped = read_lines(tmp_path / "out.jsonl.dropped.jsonl")
    again = {row["line"]: row["reasons"]["causal"] for row in dropped if "line" in row}
    why = {n: f"repeats the article of line {(n - 1) % 5 + 1}" for n in range(6, 13)}
    assert again == why and len(dropped) == 7
    assert (counts["candidates"], counts["dropped"]) == (5, 0)


def test_parts_make_the_same_files_as_one_and_a_bad_row_leaves_none(tmp_path, monkeypatch) -> None:
    file, whole, parts = (tmp_path / f"{name}.jsonl" for name in ("news", "whole", "parts"))
    write_lines(file, _costs(25))
    run_stage(BucketStage(), file, whole)
    monkeypatch.setattr("contrafact.stages.run.PART", 4)
    for _ in range(2):
        run_stage(BucketStage(), file, parts)
    assert whole.read_bytes() == parts.read_bytes() and len(parts.read_bytes().splitlines()) == 25
    ledgers = [read_ledger(f"{path}.ledger.jsonl") for path in (whole, parts)]
    assert [e.identity() for e in ledgers[0]] == [e.identity() for e in ledgers[1]]
    with file.open("a", encoding="utf-8") as stream:
        stream.write('{"summary": "no title"}\n')
    with pytest.raises(InputError, match="title"):
        run_stage(BucketStage(), file, tmp_path / "bad.jsonl")
    assert not list(tmp_path.glob("bad.jsonl*"))


def test_an_article_more_takes_no_memory_beyond_its_id(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("contrafact.stages.run.PART", 200)

    def most(rows: int) -> int:
        file = tmp_path / f"{rows}.jsonl"
        write_lines(file, _costs(rows))
        tracemalloc.start()
        run_stage(BucketStage(), file, tmp_path / f"{rows}.out.jsonl")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(200)  # reads the word lists
    assert most(2_000) - most(800) < 250 * 1_200


def _costs(rows: int) -> Iterator[dict[str, str]]:
    return ({"title": f"Sales fell {n}%", "summary": f"Due to costs, {n}."} for n in range(rows))
