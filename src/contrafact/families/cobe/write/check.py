"""The check of a proof by structure: everything in the file agrees with the structure in it.

The consequences are computed again, by both algorithms; the text holds the clauses of its facts;
each reader answered every case as the structure has it; and each answer's verdicts follow from what
a reader found it to tell.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contrafact.families.cobe.synth.prove import Facts, record_problems, situation_of
from contrafact.families.cobe.write.answers import verdicts_of
from contrafact.families.cobe.write.reading import disagreements
from contrafact.families.cobe.write.story import QUOTED, criteria_of_facts, quoted_share, told_of
from contrafact.families.cobe.write.structure import structure_of


def check_written(row: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a written story; nothing if its structure proves it."""
    try:
        facts = situation_of(row)
    except ValueError as error:
        return [str(error)]
    return [*record_problems(facts, row), *_story_problems(facts, row), *_answer_problems(row)]


def _story_problems(facts: Facts, row: Mapping[str, Any]) -> Iterator[str]:
    structure, readings = structure_of(row), row["Proof"]["readings"]
    number = next((facts.proof.facts[name] for name in facts.text.quantities), 100)
    if structure.scm(int(number)).mechanisms != facts.text.mechanisms:
        yield "the mechanisms are not those of the structure's forms"
    for told in (told_of(facts, name) for name in facts.text.told):
        if quoted_share(told, row["Variation text"]) < QUOTED:
            yield f"the text does not hold '{told}'"
    if list(row["Evaluation criteria"]) != criteria_of_facts(facts):
        yield f"the criteria are not {criteria_of_facts(facts)}"
    for reader in dict.fromkeys(one["reader"] for one in readings) or [""]:
        if {tuple(o["suppose"]) for o in readings if o["reader"] == reader} != {*structure.cases}:
            yield f"the reader '{reader}' did not answer every case"
    for kind, name, *away in disagreements(structure, readings):
        yield f"readers take '{name}' as '{kind}' with {' and '.join(away)} away"


def _answer_problems(row: Mapping[str, Any]) -> Iterator[str]:
    right, wrong = row["Right answers"], row.get("Wrong answers") or ()
    if not right or right[0]["text"] != row["Representative answer"]:
        yield "the representative answer is not the first right answer"
    for answer in (*right, *wrong):
        verdicts = verdicts_of(row, answer["text"], answer["readings"])
        due = answer["verdicts"]
        named = due.get(answer.get("fails"), answer in right)
        if verdicts != due or all(due.values()) != (answer in right) or named != (answer in right):
            yield f"an answer is read as {verdicts}, not {due}: {answer['text']}"
