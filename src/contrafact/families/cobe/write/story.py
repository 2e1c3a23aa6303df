"""A story written to a structure: the question to the writer, its reply, and what rules can check.

CoBe, section 3.1. The writer gives the story, every fact as a clause with its opposite, and what is
supposed as a clause; the three phrasings, the criteria and the proof are made from these by rule.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from inspect_ai.model import ResponseSchema
from inspect_ai.util import JSONSchema
from pydantic import AfterValidator, BaseModel, ValidationError

from contrafact.errors import InputError
from contrafact.families.cobe import data
from contrafact.families.cobe.phrasing import queries
from contrafact.families.cobe.synth.narrative import sentence
from contrafact.families.cobe.synth.prove import STRUCTURE, Facts, situation_of
from contrafact.families.cobe.write.structure import LATENT, NUMBER, Structure
from contrafact.judges.replies import read_json_object
from contrafact.models.requests import SharedSchema, closed_object
from contrafact.text.delimit import delimit
from contrafact.text.tokens import stem

QUOTED = 0.6
"""The share of a clause's content words that its story has to hold."""
_LEAST, _MOST = 6, 13
"""The words of a story for each fact, where that is more than 25 to 60."""
_RULES = re.compile(
    r"\b(?:would(?:n't| not)? have|could have|might have|had it not|if not for|whenever|"
    r"every time|each time|only if|in that case|otherwise)\b",
    re.IGNORECASE,
)
"""Words of rules, and of what would have been."""
_WORD = re.compile(r"\d[\d.,]*\d|\d|[^\W\d_]{3,}")
_EMPTY = re.compile(
    r"\b(?:the|and|was|were|ha[ds]|have|been|his|her|its|their|that|this|there|with|for|from|not|did|"
    r"does|they|she|him|them|who|which|than|then|into|out|are|will|would)\b"
)

Line = Annotated[str, AfterValidator(lambda text: delimit(" ".join(text.split())))]
Clause = Annotated[Line, AfterValidator(lambda text: text.rstrip(" ."))]


class Fact(BaseModel):
    """A fact in the writer's words; a number has no opposite, but a name, an amount and a unit."""

    told: Clause
    opposite: Clause = ""
    what: Clause = ""
    amount: int = 0
    unit: Clause = ""

    @property
    def figure(self) -> re.Pattern[str]:
        written = f"(?:{self.amount:,}|{self.amount})"
        return re.compile(rf"(?<![\d.,]){written}(?!\d|[.,]\d)")

    def wordings(self, supposed: str | None) -> dict[str, Any]:
        """Return its words in the form of a proof."""
        if self.what:
            amount = self.figure.sub("{n}", self.told, count=1)
            return {"entity": self.what, "amounts": [amount], "unit": self.unit}
        other = {"clauses": [self.opposite]} | ({"supposed": [supposed]} if supposed else {})
        return {"true": {"clauses": [self.told]}, "false": other}


class Written(BaseModel):
    """A story as it was written; ``second`` is the other story of a pair."""

    text: Line
    second: Line = ""
    facts: dict[str, Fact]
    supposed: dict[str, Clause]


def lengths(structure: Structure) -> tuple[int, int]:
    """Return the least and the most words of a story to a structure."""
    return max(25, _LEAST * len(structure.told)), max(60, _MOST * len(structure.told))


def written_shape(structure: Structure, second: bool) -> dict[str, Any]:
    """Return the writer's reply in outline."""
    event, number = ("told", "opposite"), {"told": "…", "what": "…", "amount": 0, "unit": "…"}
    return {
        **dict.fromkeys(("plan", "text", *(["second"] if second else [])), "…"),
        "facts": {n: number if n == NUMBER else dict.fromkeys(event, "…") for n in structure.gates},
        "supposed": dict.fromkeys(structure.supposed, "…"),
    }


def schema_of(name: str, shape: Mapping[str, Any]) -> ResponseSchema:
    """Return the schema of a reply by its outline: objects, numbers, texts, and words to choose."""

    def schema(part: Any) -> JSONSchema:
        if isinstance(part, Mapping):
            return closed_object({key: schema(value) for key, value in part.items()})
        if isinstance(part, int):
            return JSONSchema(type="integer")
        words = part.split("|")
        return JSONSchema(type="string", enum=words if len(words) > 1 else None)

    return SharedSchema(name=name, json_schema=schema(shape), strict=True)


def read_written(reply: str, structure: Structure) -> Written:
    """Return what a reply holds; `InputError` if it is not as asked."""
    try:
        written = Written.model_validate(read_json_object(reply).value)
    except ValidationError as error:
        raise InputError(f"the reply is not as asked: {error.errors()[0]['loc']}") from None
    for given, due in ((written.facts, structure.gates), (written.supposed, structure.supposed)):
        if {*given} != {*due}:
            raise InputError(f"the reply has {sorted(given)}, not {sorted(due)}")
    return written


def problems_of(written: Written, text: str, structure: Structure) -> Iterator[str]:
    """Yield what rules find wrong with one of the stories, in words for its writer."""
    least, most = lengths(structure)
    if not least <= len(text.split()) <= most:
        yield f"the story has {len(text.split())} words, not {least} to {most}"
    for match in _RULES.finditer(text):
        yield f"the story reasons, or tells a rule: '{match[0]}'"
    seen: set[str] = set()
    for name, fact in written.facts.items():
        share = quoted_share(fact.told, text)
        if share < QUOTED and name != LATENT:
            yield f"{name}: the story does not hold the clause '{fact.told}' ({share:.0%} of it)"
        if share == 1.0 and name == LATENT:
            yield f"{name}: the story states '{fact.told}'"
        for clause in (fact.told,) if name == NUMBER else (fact.told, fact.opposite):
            if not clause or clause.casefold() in seen:
                yield f"{name}: the clause '{clause}' is empty, or stands twice"
            seen.add(clause.casefold())
        if name == NUMBER and (fact.amount < 3 or not fact.what):
            yield f"{name}: 'what' is empty, or the amount below 3"
        if name == NUMBER and {len(fact.figure.findall(one)) for one in (text, fact.told)} != {1}:
            yield f"{name}: {fact.amount:,} does not stand once, in digits, in story and clause"
    try:
        queries(list(written.supposed.values()))
    except InputError as error:
        yield f"'supposed': {error.problem}"


def story_row(
    structure: Structure,
    written: Written,
    text: str,
    readings: Sequence[Mapping[str, Any]],
    id: str,
) -> dict[str, Any]:
    """Return a story in the paper's schema, with its proof from the structure."""
    number = written.facts[NUMBER].amount if NUMBER in written.facts else 100
    core, variation = map(int, id.split("v"))
    moved = {}
    for name, one in structure.after(structure.supposed).items():
        how = {"direction": one.direction} if name == NUMBER else {"after": one.after}
        moved[name] = {"kind": one.kind, **how}
    proof = {
        "basis": STRUCTURE,
        "template": f"written {core}",
        **asdict(structure.scm(number)),
        "forms": {name: gate.form for name, gate in structure.gates.items()},
        "wordings": {n: f.wordings(written.supposed.get(n)) for n, f in written.facts.items()},
        "relations": [],
        "facts": structure.facts(number),
        "intervention": dict.fromkeys(structure.supposed, False),
        "consequences": moved,
        "traps": structure.traps,
        "readings": readings,
    }
    row: dict[str, Any] = {
        "Core Set ID": core,
        "Variation ID": variation,
        "Domain": structure.domain,
        "Variation text": text,
        "Query": list(queries([written.supposed[name] for name in structure.supposed])),
        "Graph type": structure.graph,
        "Failure modes": structure.failure_modes,
        "Proof": proof,
    }
    return row | {"Evaluation criteria": criteria_of_facts(situation_of(row))}


def told_of(facts: Facts, name: str) -> str:
    """Return the clause by which a written story tells a fact."""
    forms = facts.reader.wordings[name]
    if name != NUMBER:
        return str(forms["true"]["clauses"][0])
    return str(forms["amounts"][0]).replace("{n}", f"{facts.proof.facts[name]:,}")


def criteria_of_facts(facts: Facts) -> list[str]:
    """Return the criteria of a written story, as a file lists them, in the words of its facts."""
    told = {
        key: " ".join(sentence(told_of(facts, name)) for name in about)
        for key, about in facts.about.items()
    }
    numerical = [
        f"{data.NUMERICAL} {facts.reader.wordings[name]['entity']} is "
        f"{'higher' if way == 'up' else 'lower'} than in the story ({facts.proof.facts[name]:,})."
        for name, way in facts.about["E4"].items()
    ]
    latent = [f"{data.LATENT} {told['E5']}"] if told["E5"] else []
    return [told["E1"], told["E2"], *numerical, *latent]


def quoted_share(clause: str, text: str) -> float:
    """Return the share of a clause's content words that occur in a text, by their stems."""
    wanted = _stems(clause)
    return len(wanted & _stems(text)) / len(wanted) if wanted else 0.0


def _stems(text: str) -> set[str]:
    return {stem(word) for word in _WORD.findall(_EMPTY.sub("", text.casefold()))}
