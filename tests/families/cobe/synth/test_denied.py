"""Denials of a story's own clauses, as they are written and read; and edits in place."""

import pytest

from contrafact.families.cobe.data import criteria_of, read_story, subject_of
from contrafact.families.cobe.in_place import in_place
from contrafact.families.cobe.stories import verdicts
from contrafact.families.cobe.synth.compose import compose
from contrafact.families.cobe.synth.negation import base_of, negations
from contrafact.families.cobe.synth.prove import situation_of
from contrafact.families.cobe.verifier import proof

PASTS = """
    jumped jump  hoped hope  hopped hop  baked bake  planned plan  admitted admit  watched watch
    agreed agree  freed free  hurried hurry  stayed stay  fixed fix  chewed chew  whipped whip
    controlled control  preferred prefer  visited visit  offered offer  happened happen
    tickled tickle  wrestled wrestle  judged judge  belonged belong  sneezed sneeze  pressed press
    bounced bounce  rescued rescue  argued argue  noted note  stared stare  cleared clear
    explored explore  fired fire  steered steer  parked park  snowed snow  typed type  begged beg
    shouted shout  invited invite  divided divide  crowded crowd  boarded board  wheeled wheel
    froze freeze  knew know  wore wear  fought fight  swam swim  forgot forget  set set  dealt deal
"""


def pairs(words):
    return list(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("past, base", pairs(PASTS.split()))
def test_a_verb_is_denied_in_its_base_form(past, base):
    assert base_of(past) == base


@pytest.mark.parametrize(
    "stated, supposed, denied",
    [
        ("the ferry sailed at noon", "the ferry had sailed at noon", "the ferry did not sail at"),
        ("the men were at work", "the men had been at work", "the men were not at work"),
        ("the bell rang", "the bell had rung", "the bell did not ring"),
        ("no bell rang", "no bell had rung", ""),
        ("every guest left", "every guest had left", ""),
        ("most families came", "most families had come", ""),
        ("the mill ran all night", "the mill had run all night", ""),
        ("the tenor whispered at best", "the tenor had whispered at best", ""),
        ("the guests got nothing", "the guests had gotten nothing", ""),
        ("the ferry sailed", "the boat had sailed", ""),
    ],
)
def test_a_clause_is_denied_by_its_verb_or_not_at_all(stated, supposed, denied):
    assert next(negations(stated, supposed), "").startswith(denied)
    assert bool(denied) == bool(list(negations(stated, supposed)))


def test_what_is_denied_is_read_as_the_other_value():
    counted = 0
    for row in compose(60, 4):
        facts = situation_of(row)
        for name, words in facts.reader.wordings.items():
            for value, was in words.items() if "supposed" in words.get("true", ()) else ():
                for clause in negations(was["clauses"][0], was["supposed"][0]):
                    read = facts.responses.read(f"{clause}.")
                    counted += 1
                    if not isinstance(read, str):
                        (mention,) = read.mentions
                        assert (mention.name, mention.value) == (name, value == "false"), clause
                    else:
                        assert "cannot read" in read, clause
    assert counted > 800


def test_a_denial_decides_as_the_words_of_the_file_do():
    decided = 0
    for row in compose(80, 6):
        story, facts = read_story(row), situation_of(row)
        answer = row["Right answers"][0]["text"]
        for name in facts.about["E2"]:
            now, before = ("false", "true") if facts.proof.facts[name] else ("true", "false")
            words = facts.reader.wordings[name]
            was = words[before]
            denied = next(negations(was["clauses"][0], was["supposed"][0]), None)
            said = next((one for one in words[now]["clauses"] if f" {one}." in f" {answer}"), None)
            if denied is None or said is None:
                continue
            other = answer.replace(said, denied)
            undone = answer.replace(said, was["clauses"][0])
            assert verdicts(story, other) == verdicts(story, answer)
            assert verdicts(story, undone)["E2"] is not True
            decided += 1
    assert decided >= 20


def test_an_edit_in_place_is_proven_right_and_keeps_what_stays_word_for_word():
    for row in compose(120, 8):
        story, facts = read_story(row), situation_of(row)
        edited = in_place(row)
        assert edited is not None
        subject = subject_of(story, edited)
        assert all(proof(name, subject).passed for name in criteria_of(story))
        for name, value in facts.about["E1"].items():
            words = facts.reader.wordings[name]
            if "amounts" not in words:
                kept = words["true" if value else "false"]["clauses"][0]
                assert kept.lower() in edited.lower()
