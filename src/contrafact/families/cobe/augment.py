"""Growing a set of stories as the paper did: variations of core stories (CoBe, section 3.1).

A model writes a story again in another domain, in another order of clauses, or with sentences built
otherwise. What it writes is checked (schema, criteria that still quote the new text, no duplicates)
and marked as awaiting approval: whether causes are unambiguous is for a person to say.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from inspect_ai.model import GenerateConfig, Model, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.corpus.duplicates import THRESHOLD, Text, find_duplicates
from contrafact.errors import InputError
from contrafact.families.cobe.data import APPROVAL
from contrafact.families.cobe.phrasing import condition_of, queries
from contrafact.files.journal import Journal, hash_of
from contrafact.files.tables import read_rows
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import answer, kept_reply
from contrafact.models.kept import work_open
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.records import DOMAINS, Story
from contrafact.text.delimit import delimit, replace_surrogates
from contrafact.text.tokens import stem

__all__ = [
    "Augmented",
    "Variation",
    "augment",
    "augment_template",
    "guard_approved",
    "plan_variations",
    "without_intervention",
]

Way = Literal["domain", "clause-order", "sentence-structure"]
WAYS: tuple[Way, ...] = get_args(Way)
_QUOTED = 0.6  # of a criterion's content words must be in its text for it to quote facts of it
_FIELDS = ("text", "intervention", "unchanged", "changed", "numerical", "latent", "answer")
_WORD = re.compile(r"\d[\d.,]*\d|\d|[^\W\d_]{3,}")
_EMPTY = frozenset(
    (
        *("the", "and", "was", "were", "had", "has", "have", "been", "his", "her", "its", "their"),
        *("that", "this", "there", "with", "for", "from", "not", "did", "does", "they", "she"),
        *("him", "them", "who", "which", "than", "then", "into", "out", "are", "will", "would"),
    )
)


@dataclass(frozen=True)
class Variation:
    """A variation of a core story to write, with its number in the core set and its domain."""

    core: Story
    id: int
    way: Way
    domain: str

    @property
    def name(self) -> str:
        """The new story's id."""
        return f"{self.core.core_set_id}v{self.id}"


@dataclass(frozen=True)
class Rejected:
    """A variation that is not kept; a rerun makes a call that ``failed`` again."""

    variation: Variation
    reason: str
    reply: str = ""
    failed: bool = False

    def line(self) -> str:
        asked = self.variation
        fields = {"id": asked.name, "core": asked.core.id, "way": asked.way, "domain": asked.domain}
        return json.dumps(fields | {"reason": self.reason, "reply": self.reply}, ensure_ascii=False)


@dataclass
class Augmented:
    """The new stories with further keys of their objects, and what was not kept, in order."""

    stories: list[Story] = field(default_factory=list)
    more: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)


def augment_template(pack: PromptPack) -> PromptTemplate:
    """Return the prompt that asks for a variation, checked."""
    given = {"story", "intervention", "unchanged", "changed", "numerical", "latent", "answer"}
    return pack.template("cobe/augment", required={*given, "way", "domain"})


def guard_approved(out: str | Path) -> None:
    """Refuse to write over stories that a person has approved, by taking out their mark."""
    if not Path(out).exists():
        return
    for line, row in read_rows(out):
        if not row.get(APPROVAL):
            raise InputError(
                "holds a story that does not await approval",
                file=out,
                line=line,
                hint="name another file with --out, so that nobody's work is lost",
            )


def plan_variations(stories: Sequence[Story], n: int, rng: np.random.Generator) -> list[Variation]:
    """Return what to write: ``n`` variations of the first story of every set, the ways in turn.

    Queries in free form do not say what is supposed: their stories are not varied. Domains are
    drawn without repetition until all have been used; numbers go on from the file's.
    """
    cores = _cores(stories)
    last: dict[int, int] = {}
    for story in stories:
        last[story.core_set_id] = max(last.get(story.core_set_id, 0), story.variation_id)
    planned = []
    for number, core in cores.items():
        if _intervention(core) is None:
            continue
        others = [domain for domain in DOMAINS if domain != core.domain]
        order = [others[int(place)] for place in rng.permutation(len(others))]
        for place in range(n):
            way = WAYS[place % len(WAYS)]
            moved = order[place // len(WAYS) % len(order)]
            domain = moved if way == "domain" else core.domain
            planned.append(Variation(core, last[number] + 1 + place, way, domain))
    return planned


def without_intervention(stories: Sequence[Story]) -> list[Story]:
    """Return the core stories that cannot be varied, as no query says what is supposed."""
    return [core for core in _cores(stories).values() if _intervention(core) is None]


def _cores(stories: Sequence[Story]) -> dict[int, Story]:
    cores: dict[int, Story] = {}
    for story in stories:
        cores.setdefault(story.core_set_id, story)
    return cores


def _intervention(core: Story) -> str | None:
    """Return what is supposed, as phrasing B has it: "the brakes had failed"."""
    return condition_of(core.queries[1])


def augment(
    stories: Sequence[Story],
    planned: Sequence[Variation],
    model: Model,
    pack: PromptPack,
    answers: Journal,
    *,
    structured: bool = True,
    at_once: int = 8,
) -> Augmented:
    """Let a model write variations, and keep those that pass the checks and are like no story.

    ``answers`` keeps replies as they come; only those that are not there are asked for.
    """
    template = augment_template(pack)
    config = GenerateConfig(response_schema=_schema()) if structured else GenerateConfig()
    prompts = [_prompt(template, one) for one in planned]
    # Two variations of a story may be asked for in the same words.
    keys = [f"{one.name} {hash_of(of_it)}" for one, of_it in zip(planned, prompts, strict=True)]

    async def write(prompt: str) -> str:
        return kept_reply(await answer(model, prompt, config))

    asked = dict(zip(keys, prompts, strict=True))
    failures = work_open(
        asked, write, answers, at_once=at_once, noun="variations", model=str(model)
    )
    written: list[Story | Rejected] = []
    for one, key in zip(planned, keys, strict=True):
        if key in failures:
            reason = f"the call failed ({failures[key]})"
            written.append(Rejected(one, reason, failed=True))
            continue
        try:
            written.append(read_variation(answers.known[key], one))
        except InputError as error:
            written.append(Rejected(one, error.problem, answers.known[key]))
    return _without_duplicates(stories, planned, written)


def read_variation(reply: str, asked: Variation) -> Story:
    """Return the story in a reply, or raise an InputError with the reason against it."""
    read = read_json_object(reply)
    if read.value is None:
        raise InputError(f"the reply is {read.invalid}")
    given: dict[str, str] = {}
    for name in _FIELDS:
        value = read.value.get(name)
        if value is not None and not isinstance(value, str):
            raise InputError(f"'{name}' is not text")
        given[name] = replace_surrogates(" ".join((value or "").split()))
    core = asked.core
    needed = ["text", "intervention", "changed", "answer"]
    needed += [name for name in ("unchanged", "numerical", "latent") if getattr(core, name)]
    if missing := [name for name in needed if not given[name]]:
        raise InputError(f"'{missing[0]}' is missing or empty")
    words, before = len(given["text"].split()), len(core.text.split())
    if words < 5 or words > 4 * before + 20:
        raise InputError(f"the text has {words} words, the core story {before}")
    if given["answer"].casefold() == given["text"].casefold():
        raise InputError("the answer is the text itself")
    for name in ("unchanged", "changed"):
        share = quoted_share(given[name], given["text"])
        if given[name] and share < _QUOTED:
            raise InputError(f"'{name}' does not quote the new text ({share:.0%} of its words)")
    return Story(
        id=asked.name,
        core_set_id=core.core_set_id,
        variation_id=asked.id,
        domain=asked.domain,
        text=given["text"],
        queries=queries(given["intervention"]),
        answer=given["answer"],
        unchanged=given["unchanged"],
        changed=given["changed"],
        numerical=given["numerical"] or None if core.numerical else None,
        latent=given["latent"] or None if core.latent else None,
        graph=core.graph,
        failure_modes=core.failure_modes,
    )


def quoted_share(criterion: str, text: str) -> float:
    """Return the share of a criterion's content words that occur in a text, by their stems."""
    wanted = _stems(criterion)
    return len(wanted & _stems(text)) / len(wanted) if wanted else 0.0


def _without_duplicates(
    stories: Sequence[Story], planned: Sequence[Variation], written: Sequence[Story | Rejected]
) -> Augmented:
    found = Augmented()
    kept = [one for one in written if isinstance(one, Story)]
    duplicates = {
        kept[one.position].id: one.reason
        for one in find_duplicates(
            [Text(story.id, story.text) for story in kept],
            [Text(story.id, story.text) for story in stories],
            threshold=THRESHOLD,
            figures=False,
        )
    }
    for asked, one in zip(planned, written, strict=True):
        if isinstance(one, Rejected):
            found.rejected.append(one)
        elif one.id in duplicates:
            found.rejected.append(Rejected(asked, f"a duplicate: {duplicates[one.id]}", one.text))
        else:
            found.stories.append(one)
            found.more.append({APPROVAL: True, "Variation kind": asked.way})
    return found


def _prompt(template: PromptTemplate, asked: Variation) -> str:
    core = asked.core
    return template.render(
        story=delimit(core.text),
        intervention=delimit(_intervention(core) or ""),
        unchanged=delimit(core.unchanged),
        changed=delimit(core.changed),
        numerical=delimit(core.numerical) if core.numerical else "",
        latent=delimit(core.latent) if core.latent else "",
        answer=delimit(core.answer),
        way=asked.way,
        domain=asked.domain,
    )


def _schema() -> ResponseSchema:
    return ResponseSchema(
        name="variation",
        json_schema=JSONSchema(
            type="object",
            properties={name: JSONSchema(type="string") for name in _FIELDS},
            required=list(_FIELDS),
            additionalProperties=False,
        ),
        strict=True,
    )


def _stems(text: str) -> set[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    return {stem(word) for word in words if word not in _EMPTY}
