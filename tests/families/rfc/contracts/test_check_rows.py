"""Files of pairs are checked as they are read: in order, with bad rows in their places."""

from itertools import count

import pytest
from tests.support.lines import write_lines

from contrafact.errors import InputError
from contrafact.families.rfc.contracts.pair_check import (
    Options,
    PairRow,
    check_rows,
    read_pairs,
)
from contrafact.families.rfc.contracts.rules import rule, rules_in

PAIR = {
    "manipulation": "flipping",
    "original": "Norrick Steel shares rose 5% on Tuesday after it beat Q2 estimates.",
    "rewritten": "Norrick Steel shares fell 5% on Tuesday after it missed Q2 estimates.",
}


@rule("own", about="events", paper="ours", manipulations=("flipping",))
def own(pair):
    """A rule of another package, which fails at a name."""
    if "Orla" in pair.original.text:
        raise KeyError("no such name")
    yield from ()


def test_checks_come_before_the_file_has_been_read(tmp_path):
    read = count()

    def rows():
        for number in read:
            yield PairRow(number + 1, PAIR | {"id": str(number)})

    checks = check_rows(rows(), "endless")
    seen = [next(checks)[0].line for _ in range(3_000)]
    assert seen == list(range(1, 3_001))
    assert next(read) < 3_100


def test_bad_rows_keep_their_places(tmp_path):
    rows = [
        PAIR | {"id": str(number)} if number % 7 else {"id": str(number)} for number in range(150)
    ]
    path = write_lines(tmp_path / "pairs.jsonl", rows)
    checks = list(check_rows(read_pairs(path), "pairs.jsonl"))
    assert [row.fields["id"] for row, _ in checks] == [row["id"] for row in rows]
    assert [found is None for _, found in checks] == [
        number % 7 == 0 for number in range(len(rows))
    ]
    assert all(found is None or not found.violations for _, found in checks)


def test_a_rule_that_fails_names_its_row_behind_bad_ones(tmp_path):
    orla = {name: text.replace("Norrick", "Orla") for name, text in PAIR.items()}
    rows = [{"id": "a"}, PAIR | {"id": "b"}, {"id": "c"}, orla | {"id": "d"}]
    path = write_lines(tmp_path / "pairs.jsonl", rows)
    found = check_rows(
        read_pairs(path), "pairs.jsonl", options=Options(rules=tuple(rules_in(__name__)))
    )
    with pytest.raises(InputError, match=r"pairs\.jsonl:4"):
        list(found)
