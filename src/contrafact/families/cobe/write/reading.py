"""What readers say of a written story, and whether it is what its structure gives.

CoBe, section 3.1: relations have to be self-evident. A reader sees the story, its facts and what is
supposed, and no structure. It says what becomes of every fact under the query, under each told
cause alone, and under causes that join: by one query, "and", "or" and chance look alike.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from inspect_ai.model import ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.families.cobe.synth.relations import family_read
from contrafact.families.cobe.write.story import Written
from contrafact.families.cobe.write.structure import NUMBER, SUPPOSED, Structure
from contrafact.judges.replies import read_json_object
from contrafact.models.requests import SharedSchema, closed_object
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.text.delimit import delimit

HOLDS = ("told", "implied", "no")
BECOMES = {"stays": True, "changes": False, "open": None}
MOVES = {"higher": "up", "lower": "down", "same": "nowhere", "open": None}
SENSES = ("sane", "odd", "absurd")


@dataclass(frozen=True)
class StoryReading:
    """A reader's reading of a story.

    Attributes:
        untold: The facts that do not hold in the story, by the reader.
        after: For every case, what becomes of every fact that it does not suppose: as told or
            otherwise, of a number the way it goes; None where it is open.
        sense: One of `SENSES`; ``why`` is what jars.
    """

    reader: str
    untold: tuple[str, ...]
    after: Mapping[tuple[str, ...], Mapping[str, bool | str | None]]
    sense: str
    why: str

    def rows(self) -> list[dict[str, Any]]:
        """Return the reading as a proof holds it, a row for every case."""
        return [
            {"reader": self.reader, "suppose": list(case), "after": dict(after)}
            for case, after in self.after.items()
        ]


def story_template(pack: PromptPack) -> PromptTemplate:
    names = {"text", "facts", "cases", "number", "shown_holds", "shown_cases"}
    return pack.template("cobe/write-read", required=names)


@dataclass(frozen=True)
class StoryQuestion:
    """The question to a reader, with facts and cases in an order drawn by the story."""

    prompt: str
    schema: ResponseSchema
    tokens: int
    facts: Mapping[str, str]
    cases: Mapping[str, tuple[str, ...]]


def story_question(
    template: PromptTemplate, structure: Structure, written: Written, reader: int
) -> StoryQuestion:
    draw = Random(f"{reader} {written.text}")
    names = draw.sample([*structure.gates], len(structure.gates))
    facts = {f"F{number}": name for number, name in enumerate(names, 1)}
    drawn = draw.sample(structure.cases, len(structure.cases))
    cases = {f"K{number}": case for number, case in enumerate(drawn, 1)}
    label = {name: one for one, name in facts.items()}

    def asked(case: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return {
            one: tuple(MOVES if name == NUMBER else BECOMES)
            for one, name in facts.items()
            if name not in case
        }

    shown = {
        one: {fact: "|".join(words) for fact, words in asked(case).items()}
        for one, case in cases.items()
    }
    prompt = template.render(
        text=delimit(written.text),
        facts=[
            {
                "label": one,
                "told": delimit(written.told(name)),
                "opposite": "" if name == NUMBER else delimit(written.clauses[name][1]),
            }
            for one, name in facts.items()
        ],
        cases=[
            {"label": one, "suppose": "; ".join(delimit(written.clauses[n][1]) for n in case)}
            for one, case in cases.items()
        ],
        number=label.get(NUMBER, ""),
        shown_holds=json.dumps(dict.fromkeys(facts, "|".join(HOLDS))),
        shown_cases=json.dumps(shown),
    )
    holds = {one: _enum(HOLDS) for one in facts}
    each = {
        one: closed_object({fact: _enum(words) for fact, words in asked(case).items()})
        for one, case in cases.items()
    }
    fields = {"holds": closed_object(holds), "cases": closed_object(each), "sense": _enum(SENSES)}
    fields["why"] = JSONSchema(type="string")
    schema = SharedSchema(name="reading", json_schema=closed_object(fields), strict=True)
    tokens = 100 + 10 * len(facts) * (len(cases) + 1)
    return StoryQuestion(prompt, schema, tokens, facts, cases)


def _enum(words: Sequence[str]) -> JSONSchema:
    return JSONSchema(type="string", enum=list(words))


def read_story_reply(reply: str, asked: StoryQuestion, reader: str) -> StoryReading | str:
    """Return a reading of a story from a reader's reply, or why the reply cannot be used."""
    value = read_json_object(reply).value
    if value is None:
        return "the reply is no JSON object as asked"
    after: dict[tuple[str, ...], dict[str, bool | str | None]] = {}
    try:
        untold = tuple(n for one, n in asked.facts.items() if value["holds"][one] not in HOLDS[:2])
        for one, case in asked.cases.items():
            said = value["cases"][one]
            after[case] = {
                name: (MOVES if name == NUMBER else BECOMES)[said[label]]
                for label, name in asked.facts.items()
                if name not in case
            }
        sense, why = str(value["sense"]), str(value["why"])
    except (KeyError, TypeError) as error:
        return f"the reply lacks an answer or has an unknown one: {error}"
    if sense not in SENSES:
        return f"the reply calls the story {sense[:20]!r}"
    return StoryReading(reader, untold, after, sense, why[:300])


def expected(structure: Structure, case: Sequence[str]) -> dict[str, bool | str]:
    """Return what becomes of every fact under a case, by the structure."""
    moves: dict[str, bool | str] = {}
    for name, one in structure.after(case).items():
        if name not in case:
            moves[name] = (one.direction or "nowhere") if name == NUMBER else one.kind == "stays"
    return moves


def disagreements(structure: Structure, readings: Sequence[StoryReading]) -> list[tuple[str, ...]]:
    """Return what readings take otherwise than the structure has it; nothing if a story is kept.

    It is kept if no reading has anything otherwise, none leaves the query open, and every mechanism
    that agrees with all readings gives the structure's consequences in every case. Each entry is
    how something is taken, the fact, and the facts that are away.
    """
    found: dict[tuple[str, ...], None] = {}
    for reading in readings:
        found |= dict.fromkeys(("untold", name) for name in reading.untold)
        for case, after in reading.after.items():
            due = expected(structure, case)
            for name, then in after.items():
                if then != due[name] and (then is not None or case == structure.supposed):
                    found[_taken(then), name, *case] = None
    if found:
        return list(found)
    rows = [
        (dict.fromkeys(case, SUPPOSED), after)
        for reading in readings
        for case, after in reading.after.items()
    ]
    family = family_read(structure.causes, rows)
    for case in structure.cases:
        possible = family.after(dict.fromkeys(case, SUPPOSED))
        for name, then in expected(structure, case).items():
            if possible[name] != {then in (True, "nowhere")}:
                found[_taken(None), name, *case] = None
    return list(found)


def _taken(then: bool | str | None) -> str:
    if isinstance(then, str):
        return {"up": "higher", "down": "lower"}.get(then, "same")
    return {True: "stays", False: "changes", None: "open"}[then]
