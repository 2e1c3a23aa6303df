"""Answers of known verdict to a written story: right ones, and wrong ones by what models do.

CoBe, section 3.2 and appendix B.1. Rules say which facts an answer tells, and the writer writes it;
a reader reads it, and `contrafact.families.cobe.verifier` decides, as for any response. The check
of a file holds all that stands in it, readers' answers too, to the structure in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from inspect_ai.model import ResponseSchema

from contrafact.causal.model import Graph, Value
from contrafact.families.cobe.data import read_story, subject_of
from contrafact.families.cobe.synth.prove import Facts, record_problems, situation_of
from contrafact.families.cobe.verifier import decisions
from contrafact.families.cobe.write import story
from contrafact.families.cobe.write.reading import disagreements
from contrafact.families.cobe.write.structure import NUMBER, structure_of
from contrafact.prompts import PromptTemplate
from contrafact.text.delimit import delimit

TURNED = "turns connectors"
_RIGHT, _WRONG = 3, 4
"""How many right answers are written, and mistakes of those that a story allows."""
ANSWERS = _RIGHT + _WRONG


class AnswerPlan(NamedTuple):
    """An answer to write: the criterion that it fails, the mistake, and what it tells."""

    label: str
    fails: str
    why: str
    tells: Sequence[str]


def answer_plans(facts: Facts) -> list[AnswerPlan]:
    """Return right answers, and some of the mistakes that the story allows, in a drawn order."""
    due = {one.variable: one for one in facts.proof.consequences if one.variable in facts.text.told}
    right: dict[str, Value | None]
    right = {n: one.direction or one.kind == "stays" for n, one in due.items()}
    supposed, graph, draw = facts.proof.intervention, Graph(facts.text.graph), Random(str(due))
    above, below = graph.ancestors(supposed), sorted(graph.descendants(supposed) - {*supposed})
    stays = [name for name, then in right.items() if then is True and name != NUMBER]
    mistakes: list[tuple[str, str, list[str], Value | None]] = [
        ("E1", "backtracks", [name for name in stays if name in above], False),
        ("E1", "spills over", [name for name in stays if name not in above], False),
        ("E1", "leaves open", stays, None),
        ("E2", "stops short", [n for n in below if right.get(n) is False], True),
        ("E4", "keeps the number", [*facts.about["E4"]], True),
        ("E5", "denies the latent", [*facts.implied], False),
        ("E3", TURNED, below, None),
    ]
    able = [one for one in mistakes if one[2]]
    drawn = draw.sample(able, min(_WRONG, len(able)))
    plans = [AnswerPlan(f"R{n}", "", "", _tells(facts, right)) for n in range(1, _RIGHT + 1)]
    for number, (fails, why, names, value) in enumerate(drawn, 1):
        values = right if why == TURNED else {**right, draw.choice(names): value}
        plans.append(AnswerPlan(f"W{number}", fails, why, _tells(facts, values)))
    return plans


def _tells(facts: Facts, values: Mapping[str, Value | None]) -> list[str]:
    """Return what an answer has to say: of each fact whether it is as told, None left open."""
    listed = []
    for name, then in values.items():
        forms = facts.reader.wordings[name]
        if name == NUMBER:
            way = {"up": "higher than", "down": "lower than"}.get(str(then), "still")
            listed.append(f"{forms['entity']}: {way} {facts.proof.facts[name]:,}")
        elif then is None:
            listed.append(f"left open: whether {forms['true']['clauses'][0]}")
        else:
            listed.append(forms[str(bool(then)).lower()]["clauses"][0])
    return listed


def answers_prompt(
    template: PromptTemplate, row: Mapping[str, Any], plans: Sequence[AnswerPlan]
) -> tuple[str, ResponseSchema]:
    turned = " and ".join(plan.label for plan in plans if plan.why == TURNED)
    text, query = delimit(row["Variation text"]), delimit(row["Query"][0])
    prompt = template.render(text=text, query=query, answers=plans, turned=turned)
    return prompt, story.schema_of("answers", {plan.label: "…" for plan in plans})


def verdicts_of(
    row: Mapping[str, Any], text: str, readings: Sequence[str]
) -> tuple[dict[str, bool], list[str]]:
    """Return the verdict on every criterion that a story asks, and why some are not passed.

    There are no verdicts if a criterion is open.
    """
    subject = {**subject_of(read_story(row), text), "readings": readings}
    decided = decisions(subject)
    verdicts = {name: decided[name].passed for name in subject["criteria"]}
    why = [decided[name].reason for name, passed in verdicts.items() if not passed]
    return {n: bool(v) for n, v in verdicts.items() if None not in verdicts.values()}, why


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
        return
    for told in (story.told_of(facts, name) for name in facts.text.told):
        if story.quoted_share(told, row["Variation text"]) < story.QUOTED:
            yield f"the text does not hold '{told}'"
    if list(row["Evaluation criteria"]) != story.criteria_of_facts(facts):
        yield f"the criteria are not {story.criteria_of_facts(facts)}"
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
        verdicts, _ = verdicts_of(row, answer["text"], answer["readings"])
        due = answer["verdicts"]
        named = due.get(answer.get("fails"), answer in right)
        if verdicts != due or all(due.values()) != (answer in right) or named != (answer in right):
            yield f"an answer is read as {verdicts}, not {due}: {answer['text']}"
