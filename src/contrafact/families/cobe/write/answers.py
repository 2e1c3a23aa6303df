"""Answers of known verdict to a written story: right ones, and wrong ones by what models do.

CoBe, section 3.2 and appendix B.1. Rules say which facts an answer tells; the writer writes it; a
reader reads it by the question of `contrafact.families.cobe.read`, and the table there decides.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from inspect_ai.model import ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.causal.model import Graph, Value
from contrafact.families.cobe.read.question import AskedFact, asked_facts, read_reply
from contrafact.families.cobe.read.reader import reply_schema
from contrafact.families.cobe.read.told import ToldReading, decide
from contrafact.families.cobe.synth.prove import Facts
from contrafact.families.cobe.synth.reading import Claim, Mention
from contrafact.families.cobe.verifier import unsaid
from contrafact.families.cobe.write.structure import NUMBER
from contrafact.judges.replies import read_json_object
from contrafact.models.requests import SharedSchema, closed_object
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.text.delimit import delimit

RIGHT, TURNED = 3, "turns connectors"
"""How many right answers are written, and the mistake that is none of facts."""
_WRONG = 4
"""How many mistakes are written of those that a story allows."""


@dataclass(frozen=True)
class AnswerPlan:
    """An answer to write: the criterion that it fails, the mistake, and what it tells."""

    label: str
    fails: str | None
    why: str
    tells: tuple[str, ...]


def answer_plans(facts: Facts) -> list[AnswerPlan]:
    """Return right answers, and the mistakes that the story allows, some drawn of many."""
    due = {one.variable: one for one in facts.proof.consequences if one.variable in facts.text.told}
    right = {name: one.direction or one.kind == "stays" for name, one in due.items()}
    supposed, graph = facts.proof.intervention, Graph(facts.text.graph)
    above, below = graph.ancestors(supposed), graph.descendants(supposed) - supposed.keys()
    stays = [n for n, then in right.items() if then is True and n != NUMBER]
    changed = [n for n in below if right.get(n) is False]
    mistakes: list[tuple[str, str, list[str], Value | None]] = [
        ("E1", "backtracks", [n for n in stays if n in above], False),
        ("E1", "spills over", [n for n in stays if n not in above], False),
        ("E1", "leaves open", stays, None),
        ("E2", "stops short", changed, True),
        ("E4", "keeps the number", [*facts.about["E4"]], True),
        ("E5", "denies the latent", [*facts.implied], False),
        ("E3", TURNED, [*graph.children[next(iter(supposed))]], None),
    ]
    draw = Random(str(facts.reader.wordings))
    plans = [AnswerPlan(f"R{n}", None, "", _items(facts, right)) for n in range(1, RIGHT + 1)]
    able = [one for one in mistakes if one[2]]
    for number, (fails, why, names, then) in enumerate(
        draw.sample(able, min(_WRONG, len(able))), 1
    ):
        told = right if why == TURNED else {**right, draw.choice(sorted(names)): then}
        plans.append(AnswerPlan(f"W{number}", fails, why, _items(facts, told)))
    return plans


def _items(facts: Facts, told: Mapping[str, Value | None]) -> tuple[str, ...]:
    """Return what an answer has to tell: facts as told or otherwise, None left open."""
    return tuple(_item(facts, name, then) for name, then in told.items())


def _item(facts: Facts, name: str, then: Value | None) -> str:
    forms = facts.reader.wordings[name]
    if name == NUMBER:
        before = f"{facts.proof.facts[name]:,} {forms['unit']}".strip()
        way = {"up": "higher than", "down": "lower than"}.get(str(then), "still")
        return f"{forms['entity']}: {way} {before}"
    if then is None:
        return f"left open: whether {forms['true']['clauses'][0]}"
    return str(forms[str(bool(then)).lower()]["clauses"][0])


def answer_templates(pack: PromptPack) -> tuple[PromptTemplate, PromptTemplate]:
    writes = {"text", "query", "answers"}
    return (
        pack.template("cobe/write-answers", required=writes, optional={"turned", "first"}),
        pack.template("cobe/write-check", required={"story", "facts", "texts"}),
    )


def answers_prompt(
    template: PromptTemplate, text: str, query: str, plans: Sequence[AnswerPlan]
) -> tuple[str, ResponseSchema]:
    turned = [plan.label for plan in plans if plan.why == TURNED]
    prompt = template.render(
        text=delimit(text),
        query=delimit(query),
        answers=[{"label": plan.label, "tells": plan.tells} for plan in plans],
        turned=" and ".join(turned),
        first=plans[0].label == "R1",
    )
    each = closed_object(dict.fromkeys((p.label for p in plans), JSONSchema(type="string")))
    return prompt, SharedSchema(name="answers", json_schema=each, strict=True)


def check_prompt(
    template: PromptTemplate, facts: Facts, story: str, texts: Sequence[str]
) -> tuple[str, ResponseSchema, list[AskedFact]]:
    """Return the reader's question about several texts."""
    asked = asked_facts(facts, "\n".join(texts), 0)
    prompt = template.render(
        story=delimit(story), facts=[f.shown for f in asked], texts=[delimit(t) for t in texts]
    )
    each = {f"T{n}": reply_schema().json_schema for n in range(1, len(texts) + 1)}
    return (
        prompt,
        SharedSchema(name="readings", json_schema=closed_object(each), strict=True),
        asked,
    )


def read_answers(
    reply: str, facts: Facts, asked: Sequence[AskedFact], texts: Sequence[str]
) -> Iterator[tuple[str, ToldReading]]:
    """Yield the texts that a reader's reply reads whole, each with its reading."""
    value = read_json_object(reply).value or {}
    for number, text in enumerate(texts, 1):
        read = read_reply(json.dumps(value.get(f"T{number}")), asked, text)
        if not isinstance(read, str) and not read.unread and not unsaid(facts, read):
            yield text, read


def verdicts_of(facts: Facts, read: ToldReading) -> dict[str, bool] | None:
    """Return the verdict on every criterion that a story asks; None if one is open."""
    decided = decide(facts, read)
    verdicts = {name: decided[name].passed for name in facts.asked}
    return None if None in verdicts.values() else {n: bool(v) for n, v in verdicts.items()}


def reading_record(read: ToldReading) -> dict[str, Any]:
    """Return a reading as a file holds it; `reading_of_record` reads it again."""
    links = [
        {
            "causes": {one.name: one.value for one in claim.causes},
            "effect": {claim.effect.name: claim.effect.value},
            "follows": claim.follows,
        }
        for claim in read.claims
    ]
    told = {name: sorted(values, key=str) for name, values in read.told.items()}
    return {"told": told, "links": links, "unclear": read.unclear}


def reading_of_record(record: Mapping[str, Any]) -> ToldReading:
    def mentions(values: Mapping[str, Value | None]) -> tuple[Mention, ...]:
        return tuple(Mention(name, value, False) for name, value in values.items())

    told = {name: frozenset(values) for name, values in record["told"].items()}
    claims = [
        Claim(mentions(one["causes"]), mentions(one["effect"])[0], one["follows"])
        for one in record["links"]
    ]
    return ToldReading(told, {}, tuple(claims), record["unclear"])
