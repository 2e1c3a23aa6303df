"""Augmentation of a set of stories by variations of core stories (CoBe, section 3.1).

A model rewrites a story for another domain, with its clauses in another order, or with other
structures of sentences. Its reply is checked (schema, criteria that still quote the new text, no
duplicates) and marked as awaiting approval: only a person can say whether causes are unambiguous.
"""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import typer
from inspect_ai.model import ChatMessageUser, GenerateConfig, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.corpus.duplicates import THRESHOLD, Text, find_duplicates
from contrafact.errors import InputError
from contrafact.families.cobe.data import APPROVAL, write_stories
from contrafact.families.cobe.phrasing import condition_of, queries
from contrafact.families.cobe.records import DOMAINS, Story
from contrafact.files.atomic import guard_output, write_text
from contrafact.files.delimited import Dialect
from contrafact.files.tables import RowNotes, read_rows
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import answer, kept_reply
from contrafact.models.estimate import CallEstimate
from contrafact.models.opening import call_config, open_model
from contrafact.models.prices import is_paid
from contrafact.prompts import PromptPack, PromptTemplate, open_pack
from contrafact.stages.stage import (
    Asked,
    Failure,
    InputRow,
    RowStage,
    StageOutput,
    StageResult,
    Work,
    Wrap,
)
from contrafact.text.delimit import delimit, replace_surrogates
from contrafact.text.tokens import stem

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
    """A planned variation of a core story, with its number in the core set and its domain."""

    core: Story
    id: int
    way: Way
    domain: str

    @property
    def name(self) -> str:
        return f"{self.core.core_set_id}v{self.id}"


@dataclass(frozen=True)
class Rejected:
    """A variation that is not kept, with the reason."""

    variation: Variation
    reason: str
    reply: str = ""

    def line(self) -> str:
        variation = self.variation
        fields = {"id": variation.name, "core": variation.core.id}
        fields |= {"way": variation.way, "domain": variation.domain}
        return json.dumps(fields | {"reason": self.reason, "reply": self.reply}, ensure_ascii=False)


def augment_template(pack: PromptPack) -> PromptTemplate:
    variables = {"story", "intervention", "unchanged", "changed", "numerical", "latent", "answer"}
    return pack.template("cobe/augment", required={*variables, "way", "domain"})


def guard_approved(out: str | Path) -> None:
    """Raise `InputError` if a file holds stories that a person has approved."""
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
    """Plan ``n`` variations of the first story of every core set, in each way in turn.

    A story with queries in free form is not varied, as they do not state the intervention. Domains
    are drawn without repetition until all have been used; numbers go on from those of the file.
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
        order = [others[int(index)] for index in rng.permutation(len(others))]
        for index in range(n):
            way = WAYS[index % len(WAYS)]
            moved = order[index // len(WAYS) % len(order)]
            domain = moved if way == "domain" else core.domain
            planned.append(Variation(core, last[number] + 1 + index, way, domain))
    return planned


def without_intervention(stories: Sequence[Story]) -> list[Story]:
    """Return the core stories that cannot be varied, as no query states the intervention."""
    return [core for core in _cores(stories).values() if _intervention(core) is None]


def _cores(stories: Sequence[Story]) -> dict[int, Story]:
    cores: dict[int, Story] = {}
    for story in stories:
        cores.setdefault(story.core_set_id, story)
    return cores


def _intervention(core: Story) -> str | None:
    """Return the intervention as phrasing B states it: "the brakes had failed"."""
    return condition_of(core.queries[1])


@dataclass(frozen=True)
class AugmentStage(RowStage):
    """``cobe augment``: planned variations in, stories that await approval out.

    Stories that pass the checks and duplicate no other are kept. The figures are the index of each
    row with its story or its `Rejected`.
    """

    stories: Sequence[Story]
    planned: Sequence[Variation]
    model: str
    prompts: str | None = None
    structured: bool = True
    writing: Mapping[str, Any] = field(default_factory=dict)
    max_connections: int = 8
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    name: str = "`cobe augment`"
    noun: ClassVar[str] = "variations"
    whole: ClassVar[bool] = True
    keeps_failures: ClassVar[bool] = True

    @property
    def asked(self) -> Asked:
        return Asked(self.model, self.max_connections)

    def facts(self) -> dict[str, Any]:
        """Return the settings that replies depend on."""
        pack = open_pack(self.prompts)
        augment_template(pack)
        return {
            "model": self.model,
            "prompts": pack.used_hash,
            "structured": self.structured,
            **{name.replace("_", "-"): value for name, value in self.writing.items()},
        }

    def guard(self, out: str | Path, source: str | Path) -> None:
        """Raise `InputError` if the file is not JSON or holds stories that a person has
        approved.
        """
        if Path(out).suffix != ".json":
            raise InputError(
                "the output has to be a JSON file",
                file=out,
                hint="name a file that ends in .json with --out",
            )
        guard_output(out)
        guard_approved(out)

    def answers(self, out: str | Path) -> Path:
        return Path(out).with_suffix(".answers.jsonl")

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        row.value = self.planned[row.index]

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> list[CallEstimate]:
        return [CallEstimate(self.model, "subject", len(rows), 0, 0, None, is_paid(self.model))]

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        """Return the function that writes variations for rows and rejects duplicates among them."""
        write = super().open(wrap, at_once, each)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            output = await write(rows)
            output.figures = _without_duplicates(self.stories, self.planned, output.figures)
            return output

        return work

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Open the model, and return the function that writes one variation."""
        template = augment_template(open_pack(self.prompts))
        schema = GenerateConfig(response_schema=_schema()) if self.structured else GenerateConfig()
        config = call_config(self.max_connections, **self.bounds)
        model = wrap(open_model(self.model, config=config.merge(GenerateConfig(**self.writing))))

        async def write(made: StageOutput, row: InputRow) -> None:
            # Two variations of a story may be asked for in the same words.
            prompt, about = _prompt(template, row.value), {"variation": row.value.name}
            message = ChatMessageUser(content=prompt, metadata=about)
            reply = kept_reply(await answer(model, [message], schema))
            try:
                story = read_variation(reply, row.value)
            except InputError as error:
                made.figures.append((row.index, Rejected(row.value, error.problem, reply)))
            else:
                made.figures.append((row.index, story))

        return write

    def failed(self, made: StageOutput, failure: Failure) -> None:
        """Reject a variation whose call failed; a rerun makes it again."""
        rejected = Rejected(failure.row.value, failure.error.problem)
        made.figures.append((failure.row.index, rejected))

    def write(
        self, out: str | Path, pieces: Iterable[StageOutput], dialect: Dialect | None = None
    ) -> None:
        figures = sorted((figure for made in pieces for figure in made.figures), key=itemgetter(0))
        stories = [(index, story) for index, story in figures if isinstance(story, Story)]
        more = [{APPROVAL: True, "Variation kind": self.planned[index].way} for index, _ in stories]
        write_stories([story for _, story in stories], out, more)
        rejected = (result for _, result in figures if isinstance(result, Rejected))
        write_text(_rejects(out), "".join(f"{result.line()}\n" for result in rejected))

    def show(self, result: StageResult) -> None:
        """Print how many variations are kept, and why others are not; exit with 1 if none is."""
        rejected = [figure for _, figure in result.made.figures if isinstance(figure, Rejected)]
        kept = result.given - len(rejected)
        typer.echo(f"{result.out}: {kept} of {result.given} variations, awaiting approval")
        if rejected:
            typer.echo(f"{_rejects(result.out)}: {len(rejected)} not kept")
        reasons = Counter(variation.reason.split(" (")[0] for variation in rejected)
        for reason, count in reasons.most_common():
            typer.echo(f"  {count} x {reason}")
        result.code = int(not kept)


def _rejects(out: str | Path) -> Path:
    return Path(out).with_suffix(".rejected.jsonl")


def read_variation(reply: str, variation: Variation) -> Story:
    """Return the story in a reply, or raise an InputError with the reason against it."""
    read = read_json_object(reply)
    if read.value is None:
        raise InputError(f"the reply is {read.invalid}")
    fields: dict[str, str] = {}
    for name in _FIELDS:
        value = read.value.get(name)
        if value is not None and not isinstance(value, str):
            raise InputError(f"'{name}' is not text")
        fields[name] = replace_surrogates(" ".join((value or "").split()))
    core = variation.core
    needed = ["text", "intervention", "changed", "answer"]
    needed += [name for name in ("unchanged", "numerical", "latent") if getattr(core, name)]
    if missing := [name for name in needed if not fields[name]]:
        raise InputError(f"'{missing[0]}' is missing or empty")
    words, before = len(fields["text"].split()), len(core.text.split())
    if words < 5 or words > 4 * before + 20:
        raise InputError(f"the text has {words} words, the core story {before}")
    if fields["answer"].casefold() == fields["text"].casefold():
        raise InputError("the answer repeats the text unchanged")
    for name in ("unchanged", "changed"):
        share = quoted_share(fields[name], fields["text"])
        if fields[name] and share < _QUOTED:
            raise InputError(f"'{name}' does not quote the new text ({share:.0%} of its words)")
    return Story(
        id=variation.name,
        core_set_id=core.core_set_id,
        variation_id=variation.id,
        domain=variation.domain,
        text=fields["text"],
        queries=queries(fields["intervention"]),
        answer=fields["answer"],
        unchanged=fields["unchanged"],
        changed=fields["changed"],
        numerical=fields["numerical"] or None if core.numerical else None,
        latent=fields["latent"] or None if core.latent else None,
        graph=core.graph,
        failure_modes=core.failure_modes,
    )


def quoted_share(criterion: str, text: str) -> float:
    """Return the share of a criterion's content words that occur in a text, by their stems."""
    wanted = _stems(criterion)
    return len(wanted & _stems(text)) / len(wanted) if wanted else 0.0


def _without_duplicates(
    stories: Sequence[Story],
    planned: Sequence[Variation],
    written: Sequence[tuple[int, Story | Rejected]],
) -> list[tuple[int, Story | Rejected]]:
    """Return the results, with stories that duplicate another one rejected."""
    kept = [(index, story) for index, story in written if isinstance(story, Story)]
    duplicates = find_duplicates(
        [Text(story.id, story.text) for _, story in kept],
        [Text(story.id, story.text) for story in stories],
        threshold=THRESHOLD,
        figures=False,
    )
    rejected: dict[int, Story | Rejected] = {}
    for duplicate in duplicates:
        index, story = kept[duplicate.position]
        rejected[index] = Rejected(planned[index], f"a duplicate: {duplicate.reason}", story.text)
    return [(index, rejected.get(index, result)) for index, result in written]


def _prompt(template: PromptTemplate, variation: Variation) -> str:
    core = variation.core
    return template.render(
        story=delimit(core.text),
        intervention=delimit(_intervention(core) or ""),
        unchanged=delimit(core.unchanged),
        changed=delimit(core.changed),
        numerical=delimit(core.numerical) if core.numerical else "",
        latent=delimit(core.latent) if core.latent else "",
        answer=delimit(core.answer),
        way=variation.way,
        domain=variation.domain,
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
