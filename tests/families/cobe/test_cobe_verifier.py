"""The verifier ``proof``: equal to the proof on a file's own words, careful with anybody's."""

import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.families.cobe.data import read_story
from contrafact.families.cobe.judging import subject_of
from contrafact.families.cobe.synth.compose import compose
from contrafact.families.cobe.synth.prove import situation_of
from contrafact.families.cobe.verifier import FreeReader, proof

CRITERIA = ("E1", "E2", "E3", "E4", "E5")


@cache
def rows():
    return [json.loads(json.dumps(row)) for row in compose(24, 11)]


def verdicts(row, text):
    subject = subject_of(read_story(row), text)
    return {name: proof(name, subject).passed for name in CRITERIA}


def test_answers_in_the_files_own_words_get_their_proven_verdicts():
    seen = undecided = 0
    for row in rows():
        for answer in row["Right answers"] + row["Wrong answers"]:
            found = verdicts(row, answer["text"])
            for name, passes in answer["verdicts"].items():
                seen += 1
                undecided += found[name] is None
                assert found[name] in (passes, None), (name, answer["text"])
    assert undecided < 0.03 * seen


def facts_of(row):
    facts = situation_of(row)
    return facts, FreeReader(facts.reader), row["Proof"]["wordings"]


@pytest.mark.parametrize("frame", ["Here is the rewrite: {}", "In the end {}", "{}, as ever"])
def test_words_around_a_clause_do_not_hide_it(frame):
    for row in rows()[:6]:
        _, reader, wordings = facts_of(row)
        for name, forms in wordings.items():
            if "amounts" in forms:
                continue
            for word in ("false", "true"):
                clause = forms[word]["clauses"][0]
                found = reader.read(frame.format(clause) + ".").values(name)
                assert found == {word == "true"}, clause


def test_a_denied_clause_says_the_other_value():
    wordings = {
        "e": {
            "false": {"clauses": ["the gate stayed shut"], "nouns": ["the shut gate"]},
            "true": {"clauses": ["the gate swung open"], "nouns": ["the open gate"]},
        },
        "q": {
            "amounts": ["the number of visitors reached {n}"],
            "entity": "the number of visitors",
        },
    }
    from contrafact.families.cobe.synth.prove import Reader

    reader = FreeReader(Reader(wordings))
    assert reader.read("The gate did not swing open.").values("e") == {False}
    assert reader.read("That day, wide open swung the old gate.").values("e") == {True}
    assert reader.read("Perhaps the gate swung open.").values("e") == {None}
    assert reader.read("It is not true that the gate swung open.").values("e") == {None}
    assert reader.read("The gate might have swung open.").values("e") == {None}
    assert reader.read("The number of visitors fell from 50 to 41.").values("q") == {41}
    assert reader.read("The number of visitors was higher.").moves == {"q": frozenset(("up",))}
    strange = reader.read("The gate sang.")
    assert not strange.mentions and strange.unread == ("the gate sang",)


def test_what_cannot_be_read_and_may_matter_is_undecided():
    row = rows()[0]
    facts, _, wordings = facts_of(row)
    name = next(iter(facts.unchanged))
    forms = wordings[name]["true" if facts.unchanged[name] else "false"]
    subject = forms["clauses"][0].split()[:2]
    assert verdicts(row, f"{' '.join(subject).capitalize()} purred like a cat.")["E1"] in (
        None,
        False,
    )
    assert verdicts(row, "")["E1"] is False


def test_no_proof_no_verdict():
    row = {key: value for key, value in rows()[0].items() if key != "Proof"}
    decision = proof("E1", subject_of(read_story(row), "Anything."))
    assert decision.passed is None and "no proof" in decision.reason
    broken = rows()[0] | {"Proof": {"graph": {}}}
    decision = proof("E1", subject_of(read_story(broken), "Anything."))
    assert decision.passed is None and "cannot be used" in decision.reason


@settings(max_examples=60)
@given(st.text(max_size=300))
def test_any_text_gets_decisions(text):
    assert set(verdicts(rows()[1], text)) == set(CRITERIA)
