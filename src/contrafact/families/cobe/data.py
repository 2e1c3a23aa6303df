"""Reading and writing of stories in the paper's schema, known answers, and bundled stories.

CoBe, section 3.1 and appendix A.2. A file is a list of objects (JSON; JSON Lines, CSV and Parquet
are read as well) with the keys

``Core Set ID``, ``Variation ID``, ``Domain``, ``Variation text``, ``Query`` (three phrasings),
``Representative answer``, ``Evaluation criteria`` and, optionally, ``Graph type``.

``Evaluation criteria`` begins with E1 (what is not downstream and stays) and E2 (what is downstream
and changes, the intervened fact included). Of the strings after them, one that begins ``Numerical
change expected:`` is E4 and one that begins ``Latent:`` is E5; others are kept, reported and not
asked. Keys of our own: ``Failure modes`` (numbers 1 to 7 of appendix B.1), ``Awaiting approval``
(written by ``cobe augment``), and those of stories with known answers: ``Right answers``, a list
of ``{"text", "why"}``; ``Wrong answers``, a list of ``{"text", "fails", "why"}``, where ``fails``
names the one criterion that the text fails; ``Proof``, how that was established, where it was
computed. ``Encoded`` holds further keys in a form that no crawler reads as text (`encoded`).

A story that cannot be used raises an error with line and key; oddities are noted.

The bundled stories were written for this project: people, places and events are invented.
``stories.json`` holds stories of all types of graph and all domains, with right answers and answers
that fail one criterion each; ``shots.json`` is the pool of worked examples for few-shot prompts.
The two share no core story.
"""

import base64
import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from contrafact.errors import InputError
from contrafact.families.cobe.phrasing import free_forms
from contrafact.families.cobe.records import DOMAINS, GRAPHS, Story
from contrafact.families.cobe.synth.prove import opened_proof
from contrafact.family.data import contradictions
from contrafact.files.fields import PackedObject
from contrafact.files.tables import BROKEN, Row, RowNotes, read_rows, source_name
from contrafact.judges.verifier import Subject
from contrafact.text.delimit import replace_surrogates

__all__ = ["load_known", "load_stories", "read_story", "story_object"]

CRITERION_NAMES: tuple[str, ...] = ("E1", "E2", "E3", "E4", "E5")
PHRASINGS: tuple[str, str, str] = ("A", "B", "C")


@dataclass
class StoryNotes(RowNotes):
    """Notes on a file of stories for its user, with the file's lines.

    Attributes:
        duplicates: Rows left out because the same story came before: their line, and the first's.
        unproven: By line, why a story's proof cannot be used.
    """

    duplicates: list[tuple[int, int]] = field(default_factory=list)
    unproven: dict[int, str] = field(default_factory=dict)


REPEATED = "left out: the story came before"


NUMERICAL = "Numerical change expected:"
LATENT = "Latent:"
APPROVAL = "Awaiting approval"
_LONG = 5_000  # characters; the published stories average 38 words

_SAMPLES = Path(__file__).parent / "samples"
FIELDS = (
    *("Core Set ID", "Variation ID", "Domain", "Variation text", "Query"),
    *("Representative answer", "Evaluation criteria", "Graph type"),
)
"""The keys of the paper's schema."""
ENCODED = "Encoded"
_MASK = b"contrafact: the answers of held-out stories are no training data"
_MOST_ENCODED = 1_000_000
_KEYS = frozenset(FIELDS)
_OURS = {*("Failure modes", APPROVAL, "Variation kind", "Right answers", "Wrong answers", "Proof")}


def load_stories(
    path: str | Path, notes: StoryNotes | None = None, *, columns: Mapping[str, str] | None = None
) -> list[Story]:
    """Return the stories of a file (``-``: standard input), in its order, each once.

    ``columns`` has the file's name for a key of the schema where they differ.

    Raises:
        InputError: The file cannot be read or holds no stories; a story lacks a key, has another
            number of queries than three, lacks E1 or E2, names an unknown type of graph or
            failure mode; or two different stories have one id. The message names line and key.
    """
    notes = StoryNotes() if notes is None else notes
    placed = [(line, story) for line, story, _ in story_rows(path, read_rows(path, columns), notes)]
    if not placed:
        raise InputError(
            "the file holds no stories", file=source_name(path), hint="give at least one"
        )
    notes.conflicts = [*gold_conflicts(placed)]
    return [story for _, story in placed]


def gold_conflicts(placed: Sequence[tuple[int, Story]]) -> Iterator[str]:
    """Yield a sentence, with the line, for each story whose criteria contradict each other."""
    yield from contradictions(
        "what is right",
        (
            (line, " ".join((story.text, *story.queries)), "\n".join(filter(None, right)))
            for line, story in placed
            for right in (criteria_of(story).values(),)
        ),
    )
    for line, story in placed:
        if story.unchanged and story.unchanged.casefold() == story.changed.casefold():
            yield f"line {line}: E1 (what stays) and E2 (what changes) are the same"


def story_rows(
    path: str | Path,
    rows: Iterable[Row],
    notes: StoryNotes | None = None,
    *,
    refused: Callable[[InputError], None] | None = None,
) -> Iterator[tuple[int, Story, Mapping[str, Any]]]:
    """Yield every story once, with line and object; errors go to ``refused``, if given."""
    notes = StoryNotes() if notes is None else notes
    name = source_name(path)
    first: dict[str, tuple[int, Story]] = {}
    for line, packed in rows:
        notes.rows += 1
        row = opened_row(packed)
        try:
            story = read_story(row, line, notes)
            if story.id in first:
                line_before, before = first[story.id]
                if before != story:
                    raise InputError(
                        f"'Core Set ID' and 'Variation ID': {story.id} is also the story on line "
                        f"{line_before}, which differs",
                        hint="give every story an id of its own",
                    )
                notes.duplicates.append((line, line_before))
                notes.found[REPEATED].append(line)
                continue
        except InputError as error:
            placed = error.at(name, line)
            if refused is None:
                raise placed from error
            refused(placed)
            continue
        first[story.id] = (line, story)
        proof = dict((story.proof or {}).items())
        if "wordings" in proof:  # else it is the proof of another program
            opened = opened_proof(story.text, story.queries, proof)
            if isinstance(opened, str):
                notes.unproven[line] = opened
                notes.found[f"with an unusable proof, so `proof` cannot judge: {opened}"].append(
                    line
                )
        yield line, story, row


def opened_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without null keys, with cells of JSON as lists and objects.

    Parquet writes null for an absent key, and a CSV file JSON for a list.
    """
    lists = _OURS | {"Query", "Evaluation criteria"}

    def opened(value: Any) -> Any:
        if isinstance(value, str) and value.strip().startswith(("[", "{")):
            with suppress(ValueError):
                return json.loads(value)
        return value

    named = {str(key).strip(): value for key, value in row.items() if value is not None}
    if ENCODED in named:
        named |= _decoded(named.pop(ENCODED))
    return {key: opened(value) if key in lists else value for key, value in named.items()}


def encoded(keys: Mapping[str, Any]) -> str:
    """Return keys of a story, such as its answers, so that a model trained on the file reads none.

    It is no secret: the mask is in this module, and whoever loads the file has the keys.
    """
    return base64.b85encode(_masked(zlib.compress(json.dumps(keys).encode(), 9))).decode()


def _decoded(text: Any) -> dict[str, Any]:
    try:
        unpacked = zlib.decompressobj().decompress(_masked(base64.b85decode(text)), _MOST_ENCODED)
        return dict(json.loads(unpacked))
    except (ValueError, TypeError, RecursionError, zlib.error):
        hint = "take the file as it was published"
        raise InputError(f"'{ENCODED}' cannot be decoded", hint=hint) from None


def _masked(data: bytes) -> bytes:
    return bytes(byte ^ _MASK[place % len(_MASK)] for place, byte in enumerate(data))


def read_story(row: Mapping[str, Any], line: int = 1, notes: StoryNotes | None = None) -> Story:
    """Return the story in one object; oddities are noted, an unusable story is an `InputError`."""
    notes = StoryNotes() if notes is None else notes
    fields = opened_row(row)
    if "Variation text" not in fields:
        keys = ", ".join(list(fields)[:8]) or "none"
        raise InputError(
            f"the key 'Variation text' is missing (found: {keys})",
            hint="pass --columns 'Variation text=NAME'; docs/cobe.md has the schema of stories",
        )
    core, variation = (_number(fields, key) for key in ("Core Set ID", "Variation ID"))
    text = _text(fields, "Variation text")
    domain = _text(fields, "Domain")
    queries = _queries(fields)
    criteria = _criteria(fields)
    graph = _graph_named(fields.get("Graph type"))
    modes = _modes(fields.get("Failure modes"))
    answer = fields.get("Representative answer")
    answer = _text(fields, "Representative answer") if _present(answer) else ""
    proof = fields.get("Proof")
    story = Story(
        id=f"{core}v{variation}",
        core_set_id=core,
        variation_id=variation,
        domain=domain,
        text=text,
        queries=queries,
        answer=answer,
        graph=graph,
        failure_modes=modes,
        proof=PackedObject(proof) if isinstance(proof, dict) else None,
        **criteria,
    )
    whole = _whole(story)
    for note in _notes_on(whole, fields):
        notes.found[note].append(line)
    if whole != story:
        notes.found[BROKEN].append(line)
    return whole


def story_object(story: Story, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a story as an object of the paper's schema, with more keys; see `read_story`."""
    criteria = [story.unchanged, story.changed]
    if story.numerical is not None:
        criteria.append(f"{NUMERICAL} {story.numerical}")
    if story.latent is not None:
        criteria.append(f"{LATENT} {story.latent}")
    row: dict[str, Any] = {
        "Core Set ID": story.core_set_id,
        "Variation ID": story.variation_id,
        "Domain": story.domain,
        "Variation text": story.text,
        "Query": list(story.queries),
        "Representative answer": story.answer,
        "Evaluation criteria": [*criteria, *story.other_criteria],
    }
    if story.graph is not None:
        row["Graph type"] = story.graph
    if story.failure_modes:
        row["Failure modes"] = list(story.failure_modes)
    row |= more or {}
    return row if story.proof is None else row | {"Proof": dict(story.proof.items())}


def _graph_named(value: Any) -> str | None:
    """Return a type of graph by the spelling of a file ("Chain-like" is ``chain``)."""
    if not _present(value):
        return None
    name = str(value).strip().casefold().removesuffix("-like").removesuffix(" like")
    if name in GRAPHS:
        return name
    raise InputError(
        f"'Graph type' is '{str(value)[:40]}', an unknown type",
        hint=f"use one of {', '.join(GRAPHS)}, or leave the key out",
    )


def _notes_on(story: Story, fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the oddities of a story that can be used, in the form of `RowNotes`."""
    if story.domain not in DOMAINS:
        yield f"with the domain '{story.domain}', which is not one of table 3"
    if free_forms(story.queries):
        yield "with queries in free form"
    for text in story.other_criteria:
        yield f"with a criterion of no known kind, not asked: {text!r}"
    for name, text in (("E1", story.unchanged), ("E2", story.changed)):
        if not text:
            yield f"with an empty {name}, which is not asked"
    if len(story.text) > _LONG:
        length = f"{len(story.text):,}"
        yield f"with {length} characters in 'Variation text', which a model may not read whole"
    for key in fields:
        if key not in _KEYS and key not in _OURS:
            yield f"with the key '{key}', which is ignored"
    if fields.get(APPROVAL) is True:
        yield "awaiting a person's approval"


def _number(fields: Mapping[str, Any], key: str) -> int:
    value = fields.get(key)
    if not _present(value):
        raise InputError(f"'{key}' is missing", hint="give a whole number")
    try:
        number = int(str(value).strip().removesuffix(".0"))
    except ValueError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise InputError(f"'{key}' is {str(value)[:40]!r}, no number", hint="give a whole number")
    return number


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if not _present(value):
        raise InputError(f"'{key}' is missing or empty", hint="fill it in, or leave the story out")
    if not isinstance(value, str):
        raise InputError(f"'{key}' is not text: {str(value)[:40]!r}", hint="write it as text")
    return value


def _queries(fields: Mapping[str, Any]) -> tuple[str, str, str]:
    values = _texts(fields, "Query")
    if len(values) != 3:
        raise InputError(
            f"'Query' holds {len(values)} of three phrasings",
            hint="give all three; cobe.phrasing.queries makes them from one clause",
        )
    for number, value in enumerate(values, start=1):
        if not value.strip():
            raise InputError(f"'Query': phrasing {number} is empty", hint="fill it in")
    return values[0], values[1], values[2]


def _criteria(fields: Mapping[str, Any]) -> dict[str, Any]:
    key = "Evaluation criteria"
    values = [value.strip() for value in _texts(fields, key)]
    kinds = [
        next((mark for mark in (NUMERICAL, LATENT) if folded.startswith(mark.casefold())), None)
        for folded in map(str.casefold, values)
    ]
    if len(values) < 2 or any(kinds[:2]):
        missing = "E2" if values and not kinds[0] else "E1"
        raise InputError(
            f"'{key}': {missing} is missing",
            hint="begin the list with what stays (E1) and what changes (E2)",
        )
    if not any(values):
        raise InputError(f"'{key}' is empty", hint="say what stays and what changes")
    marked: dict[str, list[str]] = {NUMERICAL: [], LATENT: []}
    others = []
    for value, kind in zip(values[2:], kinds[2:], strict=True):
        if kind is None:
            others.append(value)
        else:
            marked[kind].append(value[len(kind) :].strip())
    for kind, texts in marked.items():
        if any(not text for text in texts):
            raise InputError(f"'{key}': nothing follows '{kind}'", hint="say what is expected")
    return {
        "unchanged": values[0],
        "changed": values[1],
        "numerical": " ".join(marked[NUMERICAL]) or None,
        "latent": " ".join(marked[LATENT]) or None,
        "other_criteria": tuple(other for other in others if other),
    }


def _modes(value: Any) -> tuple[int, ...]:
    if not _present(value):
        return ()
    modes = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    for mode in modes:
        if isinstance(mode, bool) or not isinstance(mode, int) or not 1 <= mode <= 7:
            raise InputError(
                f"'Failure modes' holds {str(mode)[:40]!r}", hint="use numbers from 1 to 7"
            )
    return tuple(sorted(set(modes)))


def _texts(fields: Mapping[str, Any], key: str) -> list[str]:
    value = fields.get(key)
    if not _present(value):
        raise InputError(f"'{key}' is missing or empty", hint="fill it in, or leave the story out")
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or any(
        not isinstance(text, str) and text is not None for text in values
    ):
        raise InputError(f"'{key}' is not a list of texts", hint='write it as ["…", "…"]')
    return [text or "" for text in values]


def _present(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return value is not None and value != [] and value == value  # a table's NaN is not itself


def _whole(story: Story) -> Story:
    def repaired(value: Any) -> Any:
        if isinstance(value, str):
            return replace_surrogates(value)
        return tuple(map(repaired, value)) if isinstance(value, tuple) else value

    return story.model_copy(update={key: repaired(value) for key, value in story})


class KnownAnswer(BaseModel):
    """An answer to a story's query whose verdicts are known."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str = Field(min_length=1, description="The answer.")
    fails: str | None = Field(
        default=None, description="The (first) criterion that it fails; none for a right answer."
    )
    verdicts: dict[str, bool] | None = Field(
        default=None,
        description="Whether it passes each criterion; if absent, all but the one it fails.",
    )
    why: str = Field(default="", description="Why it is right, or what is wrong with it.")
    counterpart: str = Field(
        default="", description="The right answer from which it was made; empty if there is none."
    )


class KnownStory(BaseModel):
    """A story with known answers."""

    model_config = ConfigDict(frozen=True)

    story: Story = Field(description="The story.")
    right: tuple[KnownAnswer, ...] = Field(description="Answers that pass all its criteria.")
    wrong: tuple[KnownAnswer, ...] = Field(description="Answers that each fail one criterion.")

    def verdicts(self, answer: KnownAnswer) -> dict[str, bool]:
        """Return, for every criterion that the story asks, whether an answer passes it."""
        verdicts = answer.verdicts or {}
        return {name: verdicts.get(name, name != answer.fails) for name in criteria_of(self.story)}


def load_known(path: str | Path) -> list[KnownStory]:
    """Return the stories of a file that have known answers, the representative one among them.

    Raises:
        InputError: As for `load_stories`; an answer is not as described, or fails a criterion that
            its story does not ask; a proof cannot be used; or no story has answers.
    """
    name, notes = source_name(path), StoryNotes()
    stories = []
    for line, story, row in story_rows(path, read_rows(path), notes):
        if not _present(row.get("Right answers")) and not _present(row.get("Wrong answers")):
            continue
        try:
            if line in notes.unproven:
                raise InputError(notes.unproven[line], hint="correct it, or leave the story out")
            known = _with_answers(story, row)
            for conflict in answer_conflicts(known):
                raise InputError(conflict, hint="give each answer one verdict")
            stories.append(known)
        except InputError as error:
            raise error.at(name, line) from error
    if not stories:
        raise InputError(
            "no story of this file has known answers",
            file=name,
            hint="make stories that have them with `contrafact cobe synth`",
        )
    return stories


def known_story(row: Mapping[str, Any]) -> KnownStory:
    """Return a story with its known answers from one object; for errors, see `load_known`."""
    return _with_answers(read_story(row), row)


def _with_answers(story: Story, row: Mapping[str, Any]) -> KnownStory:
    right = _answers(row, "Right answers")
    wrong = _answers(row, "Wrong answers")
    asked = criteria_of(story)
    for answer in wrong:
        verdicts = (answer.verdicts or {}).items()
        failed = {answer.fails, *(name for name, passes in verdicts if not passes)}
        for name in sorted(failed, key=str):
            if name not in asked:
                raise InputError(
                    f"'Wrong answers': an answer fails {name!r}, which the story does not ask",
                    hint=f"name one of {', '.join(asked)}",
                )
    if story.answer and story.answer not in {answer.text for answer in right}:
        right.insert(0, KnownAnswer(text=story.answer, why="the representative answer"))
    return KnownStory(
        story=story,
        right=tuple(answer.model_copy(update={"fails": None}) for answer in right),
        wrong=tuple(wrong),
    )


def answer_conflicts(known: KnownStory) -> Iterator[str]:
    """Yield a sentence for each contradiction among the known answers of a story."""
    seen: dict[str, dict[str, bool]] = {}
    for kind, answers in (("right", known.right), ("wrong", known.wrong)):
        for answer in answers:
            verdicts, text = known.verdicts(answer), " ".join(answer.text.split())
            passes = all(verdicts.values()) or verdicts.get(answer.fails or "", False)
            if passes is not (kind == "right"):
                yield f"a {kind} answer has other verdicts: '{text[:60]}'"
            elif seen.setdefault(text.casefold(), verdicts) != verdicts:
                yield f"one answer has two verdicts: '{text[:60]}'"


def criteria_of(story: Story) -> dict[str, str]:
    """Return the text of each criterion that a story asks; E3, always asked, has an empty one."""
    texts = zip(
        CRITERION_NAMES,
        (story.unchanged, story.changed, "", story.numerical, story.latent),
        strict=True,
    )
    return {name: text or "" for name, text in texts if text or name == "E3"}


def cause_told(story: Story) -> bool | None:
    """Return whether a story tells a cause of the supposed change that is not itself supposed.

    Returns:
        The answer by the graph of its proof; None where the story has none.
    """
    proof = dict((story.proof or {}).items())
    graph, told, supposed = (proof.get(name) for name in ("graph", "told", "intervention"))
    if not (isinstance(graph, dict) and isinstance(told, list) and isinstance(supposed, dict)):
        return None
    return tells_cause(graph, told, supposed)


def tells_cause(
    graph: Mapping[str, Iterable[str]], told: Iterable[str], supposed: Mapping[str, Any]
) -> bool:
    causes = {cause for name in supposed for cause in graph.get(name, ())}
    return bool((causes & {*told}) - supposed.keys())


def subject_of(story: Story, response: str) -> Subject:
    """Return a response to a story in the form for verifiers; ``proof`` is None without a proof."""
    return {
        "family": "cobe",
        "text": story.text,
        "queries": list(story.queries),
        "proof": story.proof and dict(story.proof.items()),
        "criteria": criteria_of(story),
        "response": response,
    }


def _answers(row: Mapping[str, Any], key: str) -> list[KnownAnswer]:
    value = row.get(key)
    if not _present(value):
        return []
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InputError(f"'{key}' is not a list", hint='write it as [{"text": "…"}, …]')
    try:
        return [KnownAnswer.model_validate(answer) for answer in value]
    except ValueError:
        raise InputError(
            f"'{key}' holds something that is not an answer",
            hint='write each as {"text": "…", "why": "…"}',
        ) from None


def bundled_stories() -> list[Story]:
    return list(_samples("stories.json"))


def bundled_known() -> list[KnownStory]:
    return load_known(_SAMPLES / "stories.json")


def bundled_shots() -> list[Story]:
    return list(_samples("shots.json"))


@cache
def _samples(name: str) -> tuple[Story, ...]:
    return tuple(load_stories(_SAMPLES / name))


@dataclass(frozen=True)
class StoryQuery:
    """A story, asked in one of its phrasings, ``A``, ``B`` or ``C`` (CoBe, section 4.2).

    ``framed`` is the query in a framing other than ``plain``, if any; methods use ``query``.
    """

    story: Story
    phrasing: str
    framed: str = ""

    @property
    def query(self) -> str:
        return self.framed or self.story.queries[PHRASINGS.index(self.phrasing)]

    @property
    def id(self) -> str:
        return f"{self.story.id}-{self.phrasing}"


def queries_of(stories: Sequence[Story]) -> list[StoryQuery]:
    """Return every story in its three phrasings, in the stories' order."""
    return [StoryQuery(story, phrasing) for story in stories for phrasing in PHRASINGS]


def query_of(metadata: Mapping[str, Any]) -> StoryQuery:
    return StoryQuery(Story.model_validate(metadata["story"]), metadata["phrasing"])


def review_rows(row: Mapping[str, Any], shown: Collection[str]) -> list[dict[str, Any]] | None:
    """Return a row for each answer of a story if a project shows edits, else None.

    The known verdict of an answer goes into ``known_verdict``, which no project shows.
    """
    if "Variation text" not in row or "edit" not in shown:
        return None
    story = read_story(row)
    answers: dict[str, str] = {story.answer: "right"} if story.answer else {}
    for key, verdict in (("Right answers", "right"), ("Wrong answers", "wrong")):
        for answer in row.get(key) or ():
            text = answer.get("text") if isinstance(answer, dict) else None
            if isinstance(text, str) and text.strip():
                answers.setdefault(text, verdict)
    if not answers:
        raise InputError(
            f"story {story.id} has no answer to rate",
            hint="import the items of a run instead: its items.parquet",
        )
    return [
        {
            "text": story.text,
            "query": story.queries[0],
            "edit": text,
            "story_id": story.id,
            "domain": story.domain,
            "known_verdict": verdict,
        }
        for text, verdict in answers.items()
    ]
