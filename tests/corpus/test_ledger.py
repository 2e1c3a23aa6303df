import pytest
from pydantic import ValidationError

from contrafact.corpus.ledger import Ledger, LedgerEvent, read_ledger
from contrafact.errors import InputError
from contrafact.files.journal import sidecar_path


def event(item: str = "n1", **fields: object) -> LedgerEvent:
    given = {"stage": "bucket", "decision": "kept", "by": "rule:bucket", **fields}
    return LedgerEvent.model_validate({"item_id": item, **given})


def test_events_come_back_in_the_order_they_were_added(tmp_path):
    ledger = Ledger(sidecar_path(tmp_path / "out.jsonl", "ledger"))
    ledger.append([event("b"), event("a")])
    ledger.append([event("c", why="bad “quotes”\u2028", note=[1, 2])])
    found = read_ledger(tmp_path / "out.jsonl.ledger.jsonl")
    assert [e.item_id for e in found] == ["b", "a", "c"]
    assert found[2].why == "bad “quotes”\u2028"
    assert found[2].model_extra == {"note": [1, 2]}


def test_a_decision_reported_again_is_written_once(tmp_path):
    path = tmp_path / "l.jsonl"
    assert Ledger(path).append([event(when="2025-01-01"), event(when="2025-01-02")]) == 1
    before = path.read_bytes()
    assert Ledger(path).append([event(when="2026-01-01")]) == 0
    assert path.read_bytes() == before
    assert Ledger(path).append([event(round=2), event(decision="dropped")]) == 2


def test_two_writers_of_one_file_see_each_other(tmp_path):
    one, other = Ledger(tmp_path / "l.jsonl"), Ledger(tmp_path / "l.jsonl")
    assert one.append([event("a")]) == 1
    assert other.append([event("b")]) == 1
    assert one.append([event("b"), event("c")]) == 1
    assert [e.item_id for e in read_ledger(one.path)] == ["a", "b", "c"]


def test_a_half_written_line_is_no_event_and_goes_when_the_next_is_added(tmp_path):
    path = tmp_path / "l.jsonl"
    Ledger(path).append([event("a")])
    with path.open("ab") as stream:
        stream.write(b'{"item_id": "b", "sta')
    assert [e.item_id for e in read_ledger(path)] == ["a"]
    Ledger(path).append([event("c")])
    assert [e.item_id for e in read_ledger(path)] == ["a", "c"]


def test_what_is_no_event_is_reported_by_its_line(tmp_path):
    path = tmp_path / "l.jsonl"
    Ledger(path).append([event("a")])
    with path.open("ab") as stream:
        stream.write(b'{"item_id": "b", "stage": "x", "decision": "maybe", "by": "rule:x"}\n')
    for action in (lambda: read_ledger(path), lambda: Ledger(path).append([event("c")])):
        with pytest.raises(InputError, match=r"l.jsonl:2: is not a ledger event: decision"):
            action()


@pytest.mark.parametrize(
    "fields",
    [
        {"by": "somebody"},
        {"by": "person:"},
        {"inclusion_probability": 0.0},
        {"inclusion_probability": 1.5},
        {"manipulation": "other"},
        {"stage": ""},
    ],
)
def test_an_event_that_says_too_little_or_too_much_is_refused(fields):
    with pytest.raises(ValidationError):
        event(**fields)


def test_events_are_added_to_what_was_there_and_never_twice(tmp_path):
    path = tmp_path / "l.jsonl"
    ledger = Ledger(path)
    assert ledger.append([event("a"), event("b")]) == 2
    assert ledger.append([event("b"), event("c")]) == 1
    assert ledger.append([event("c"), event("d"), event("d")]) == 1
    assert [e.item_id for e in read_ledger(path)] == ["a", "b", "c", "d"]


def test_what_json_has_no_form_for_is_written_all_the_same(tmp_path):
    path = tmp_path / "l.jsonl"
    Ledger(path).append([event(why="half \ud83d", folder=tmp_path)])
    (found,) = read_ledger(path)
    assert found.why == "half \ufffd" and found.model_extra == {"folder": str(tmp_path)}
