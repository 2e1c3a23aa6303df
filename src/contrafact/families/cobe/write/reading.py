"""What readers say of a written story, and whether it is what its structure gives.

CoBe, section 3.1: relations have to be self-evident. A reader sees the story, its facts and what is
supposed, and no structure. It says what becomes of every fact under the query, under each told
cause alone, and under causes that join: by one query, "and", "or" and chance look alike.
"""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from inspect_ai.model import ResponseSchema

from contrafact.causal.model import Value
from contrafact.families.cobe.synth.relations import family_read
from contrafact.families.cobe.write.story import Written, schema_of
from contrafact.families.cobe.write.structure import NUMBER, Structure
from contrafact.judges.replies import read_json_object
from contrafact.prompts import PromptTemplate
from contrafact.text.delimit import delimit


def _words(name: str) -> Mapping[str, Value | None]:
    if name == NUMBER:
        return {"higher": "up", "lower": "down", "same": "nowhere", "open": None}
    return {"stays": True, "changes": False, "open": None}


class StoryReading(NamedTuple):
    """A reader's reading of a story: facts that do not hold in it, whether it is sane, and why not.

    ``rows`` has, as a proof holds it, what becomes of every fact in every case: as told or
    otherwise, of a number the way it goes; None where it is open.
    """

    untold: list[str]
    rows: list[dict[str, Any]]
    sense: str
    why: str


class StoryQuestion(NamedTuple):
    """The question to a reader; facts and cases are labelled in an order drawn by the story."""

    prompt: str
    schema: ResponseSchema
    facts: Mapping[str, str]
    cases: Mapping[str, tuple[str, ...]]

    def read(self, reply: str, reader: str) -> StoryReading | str:
        """Return the reading in a reader's reply, or why the reply cannot be used."""
        value = read_json_object(reply).value or {}
        try:
            rows: list[dict[str, Any]] = []
            for label, case in self.cases.items():
                facts, given = self.facts.items(), value["cases"][label]
                after = {n: _words(n)[given[fact]] for fact, n in facts if n not in case}
                rows.append({"reader": reader, "suppose": list(case), "after": after})
            untold = [n for label, n in self.facts.items() if value["holds"][label] == "no"]
            return StoryReading(untold, rows, str(value["sense"]), str(value["why"])[:300])
        except (KeyError, TypeError) as error:
            return f"the reply lacks an answer, or has an unknown one: {error}"


def story_question(
    template: PromptTemplate, structure: Structure, written: Written, text: str, reader: str
) -> StoryQuestion:
    draw = Random(f"{reader} {text}")
    names, drawn = [*structure.gates], [*structure.cases]
    draw.shuffle(names)
    draw.shuffle(drawn)
    facts = {f"F{number}": name for number, name in enumerate(names, 1)}
    cases = {f"K{number}": case for number, case in enumerate(drawn, 1)}
    asked = {
        label: {fact: "|".join(_words(n)) for fact, n in facts.items() if n not in case}
        for label, case in cases.items()
    }
    shape = {"holds": dict.fromkeys(facts, "told|implied|no"), "cases": asked}
    shape |= {"sense": "sane|odd|absurd", "why": "…"}
    prompt = template.render(
        text=delimit(text),
        facts={label: written.facts[name] for label, name in facts.items()},
        cases={label: [written.facts[name] for name in case] for label, case in cases.items()},
        number=next((label for label, name in facts.items() if name == NUMBER), ""),
        shape=json.dumps(shape, ensure_ascii=False),
    )
    return StoryQuestion(prompt, schema_of("story_reading", shape), facts, cases)


def expected(structure: Structure, case: Sequence[str]) -> dict[str, Value]:
    """Return what becomes of every fact that a case does not suppose, by the structure."""
    return {
        name: (one.direction or "nowhere") if name == NUMBER else one.kind == "stays"
        for name, one in structure.after(case).items()
        if name not in case
    }


def disagreements(structure: Structure, rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return what readings take otherwise than the structure has it; nothing if a story is kept.

    It is kept if no reading has anything otherwise, none leaves the query open, and every mechanism
    that agrees with all readings gives the structure's consequences in every case. Each entry is
    how something is taken, the fact, and the facts that are away.
    """
    found: dict[tuple[str, ...], None] = {}
    for row in rows:
        case = tuple(row["suppose"])
        due = expected(structure, case)
        for name, then in row["after"].items():
            if then != due[name] and (then is not None or case == structure.supposed):
                taken = next(word for word, value in _words(name).items() if value == then)
                found[taken, name, *case] = None
    if not found:
        read = [(dict.fromkeys(row["suppose"], False), row["after"]) for row in rows]
        family = family_read(structure.causes, read)
        for case in structure.cases:
            possible = family.after(dict.fromkeys(case, False))
            for name, then in expected(structure, case).items():
                if possible[name] != {then in (True, "nowhere")}:
                    found["open", name, *case] = None
    return list(found)
