"""A ledger keeps every decision once; what it counts and estimates."""

import numpy as np
import pytest
from pydantic import ValidationError
from statsmodels.stats.proportion import proportion_confint

from contrafact.corpus.ledger import (
    ALL,
    LedgerEvent,
    append_events,
    attrition,
    audit_rates,
    read_ledger,
    reasons,
)
from contrafact.errors import InputError
from contrafact.files.journal import sidecar_path


def event(item: str = "n1", **fields: object) -> LedgerEvent:
    given = {"stage": "bucket", "decision": "kept", "by": "rule:bucket", **fields}
    return LedgerEvent.model_validate({"item_id": item, **given})


def test_events_come_back_in_the_order_they_were_added(tmp_path):
    ledger = sidecar_path(tmp_path / "out.jsonl", "ledger")
    append_events(ledger, [event("b"), event("a")])
    append_events(ledger, [event("c", why="bad “quotes”\u2028", note=[1, 2])])
    found = read_ledger(tmp_path / "out.jsonl.ledger.jsonl")
    assert [e.item_id for e in found] == ["b", "a", "c"]
    assert found[2].why == "bad “quotes”\u2028"
    assert found[2].model_extra == {"note": [1, 2]}


def test_a_decision_reported_again_is_written_once(tmp_path):
    path = tmp_path / "l.jsonl"
    assert append_events(path, [event(when="2025-01-01"), event(when="2025-01-02")]) == 1
    before = path.read_bytes()
    assert append_events(path, [event(when="2026-01-01")]) == 0
    assert path.read_bytes() == before
    assert append_events(path, [event(round=2), event(decision="dropped")]) == 2
    assert append_events(path, [event("c"), event("d"), event("d")]) == 2


def test_a_half_written_line_is_no_event_and_goes_when_the_next_is_added(tmp_path):
    path = tmp_path / "l.jsonl"
    append_events(path, [event("a")])
    with path.open("ab") as stream:
        stream.write(b'{"item_id": "b", "sta')
    assert [e.item_id for e in read_ledger(path)] == ["a"]
    append_events(path, [event("c")])
    assert [e.item_id for e in read_ledger(path)] == ["a", "c"]


def test_what_is_no_event_is_reported_by_its_line(tmp_path):
    path = tmp_path / "l.jsonl"
    append_events(path, [event("a")])
    with path.open("ab") as stream:
        stream.write(b'{"item_id": "b", "stage": "x", "decision": "maybe", "by": "rule:x"}\n')
    for action in (lambda: read_ledger(path), lambda: append_events(path, [event("c")])):
        with pytest.raises(InputError, match=r"l.jsonl:2: is not a ledger event: decision"):
            action()


@pytest.mark.parametrize(
    "fields",
    [
        {"by": "somebody"},
        {"by": "person:"},
        {"inclusion_probability": 0.0},
        {"inclusion_probability": 1.5},
        {"manipulation": ""},
        {"stage": ""},
    ],
)
def test_an_event_that_says_too_little_or_too_much_is_refused(fields):
    with pytest.raises(ValidationError):
        event(**fields)


def test_what_json_has_no_form_for_is_written_all_the_same(tmp_path):
    path = tmp_path / "l.jsonl"
    append_events(path, [event(why="half \ud83d", folder=tmp_path)])
    (found,) = read_ledger(path)
    assert found.why == "half \ufffd" and found.model_extra == {"folder": str(tmp_path)}


def decided(item, decision="kept", stage="check", manipulation="flipping", **fields):
    more = {"by": "person:b", "manipulation": manipulation, "article_id": item, **fields}
    return event(item, stage=stage, decision=decision, **more)


def audit(n, faulty, manipulation, probability, **fields):
    return [
        decided(
            f"{manipulation}{i}",
            "dropped" if i < faulty else "kept",
            stage="audit",
            manipulation=manipulation,
            inclusion_probability=probability,
            **fields,
        )
        for i in range(n)
    ]


def bounds(rate, name="error_rate"):
    return rate[f"{name}_low"], rate[f"{name}_high"]


def test_items_are_counted_by_stage_and_category_in_the_order_of_the_stages():
    events = [
        decided("a", stage="rewrite"),
        decided("b", "dropped", stage="rewrite"),
        decided("c", stage="rewrite", manipulation="causal"),
        decided("a", "hard case"),
        decided("c", "revised", manipulation="causal"),
    ]
    found = {
        (c["stage"], c["category"]): (c["items"], c["items"] - c["dropped"])
        for c in attrition(events)
    }
    assert list(found) == [
        ("rewrite", "causal"),
        ("rewrite", "flipping"),
        ("rewrite", ALL),
        ("check", "causal"),
        ("check", "flipping"),
        ("check", ALL),
    ]
    assert found[("rewrite", "flipping")] == (2, 1)
    assert found[("rewrite", ALL)] == (3, 2)
    assert found[("check", ALL)] == (2, 2)


def test_an_article_with_several_items_is_one_article_left():
    events = [decided("a"), decided("a", manipulation="causal"), decided("b", "dropped")]
    everything = attrition(events)[-1]
    assert (everything["items"], everything["dropped"], everything["articles_left"]) == (3, 1, 1)


def test_the_last_decision_of_a_stage_is_the_one_that_counts():
    events = [decided("a", "dropped"), decided("a", "revised"), decided("a")]
    (count, everything) = attrition(events)
    assert (count["items"], count["kept"], count["dropped"]) == (1, 1, 0)
    assert everything["retention"] == 1.0
    assert audit_rates(events) == []


def test_reasons_that_differ_in_numbers_alone_are_one():
    events = [
        decided("a", "dropped", why="length ratio 1.31 above 1.15"),
        decided("b", "dropped", why="length ratio 1.4 above 1.15"),
        decided("c", "dropped", why="same as n0123456789ab"),
        decided("d", why="length ratio 1.0"),
    ]
    assert reasons(events, "check") == [
        ("length ratio … above …", 2),
        ("same as …", 1),
    ]


def test_an_audit_of_unequal_shares_is_weighed_back():
    # 10 of 100 flipping pairs, half of them faulty; 10 of 20 causal pairs, none faulty.
    events = audit(10, 5, "flipping", 0.1) + audit(10, 0, "causal", 0.5)
    rates = {rate["category"]: rate for rate in audit_rates(events)}
    assert rates["flipping"]["error_rate"] == pytest.approx(0.5)
    assert rates["causal"]["error_rate"] == 0.0
    assert rates["causal"]["error_rate_high"] > 0.1  # ten sound items prove little
    assert rates[ALL]["error_rate"] == pytest.approx(50 / 120)
    assert rates[ALL]["error_rate_low"] < 50 / 120 < rates[ALL]["error_rate_high"]
    # 90 flipping and 10 causal pairs were not drawn.
    assert rates[ALL]["unaudited_error_rate"] == pytest.approx(45 / 100)
    (whole, _) = audit_rates(audit(20, 3, "flipping", 1.0))
    assert whole["error_rate"] == pytest.approx(0.15)
    assert np.isnan(whole["unaudited_error_rate"])


def test_rounds_are_apart_and_hard_cases_in_no_rate():
    first = audit(10, 4, "flipping", 0.1, round=1)
    second = audit(10, 1, "flipping", 0.1, round=2)
    hard = [
        decided("x", "hard case", stage="audit", inclusion_probability=0.1, round=2),
    ]
    rates = [r for r in audit_rates(first + second + hard) if r["category"] == ALL]
    assert [(r["round"], r["audited"], r["faulty"], r["undecided"]) for r in rates] == [
        (1, 10, 4, 0),
        (2, 11, 1, 1),
    ]
    assert [r["error_rate"] for r in rates] == pytest.approx([0.4, 0.1])


def test_both_members_of_one_article_are_drawn_together():
    apart = audit(40, 10, "flipping", 0.5)
    together = [e.model_copy(update={"article_id": f"a{int(e.item_id[8:]) // 4}"}) for e in apart]
    (one, _), (other, _) = audit_rates(apart), audit_rates(together)
    narrow, wide = bounds(one), bounds(other)
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_nothing_found_among_few_is_not_nothing():
    (rate, _) = audit_rates(audit(3, 0, "flipping", 0.1))
    assert rate["error_rate"] == 0.0
    # Clopper and Pearson, 0 of 3.
    assert bounds(rate) == (0.0, pytest.approx(1 - 0.025 ** (1 / 3)))
    (all_faulty, _) = audit_rates(audit(2, 2, "flipping", 0.1))
    assert bounds(all_faulty) == (pytest.approx(0.025**0.5), 1.0)


def test_an_audit_of_one_category_has_wilsons_interval():
    (rate, everything) = audit_rates(audit(55, 2, "flipping", 0.1))
    expected = pytest.approx(proportion_confint(2, 55, method="wilson"))
    assert bounds(rate) == expected
    assert bounds(everything, "unaudited_error_rate") == expected
