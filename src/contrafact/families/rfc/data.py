"""Reading of pairs (paragraphs with their manipulated versions), and the samples made from them.

RFC-BENCH, sections 2.1 and 2.2, appendix I. Everything clusters by the source article.

*Detection* shows both members of every pair, each as a sample of its own. An original that several
pairs share (one article may be manipulated in several ways) enters once per pair: every pair then
has both members, so that pairwise accuracy is defined for all of them and the two labels are in
balance within each manipulation, as in the paper. The repeats are not independent evidence, and
intervals, which cluster by article, account for that. *Diagnosis* shows each pair once.

The published dataset holds no originals (appendix I). Without them there is only the manipulated
half of detection, where a model that always says "false" is always right: accuracy there is the
recall of ``false`` and no more, and the notes say so. The bundled samples share no article.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from contrafact.corpus.news_items import day_of
from contrafact.errors import InputError, value_problem
from contrafact.families.rfc.labels import FALSE, TRUE, TaskName, labels_of, manipulation_named
from contrafact.families.rfc.records import Rewrite
from contrafact.family.data import contradictions
from contrafact.files.fields import column_of, columns_found, fold_row, names_of, pick
from contrafact.files.tables import BAD_DATE, BROKEN, Row, RowNotes, read_rows, source_name
from contrafact.records import content_id
from contrafact.text.delimit import replace_surrogates

FIELDS = (
    *("id", "article_id", "original", "rewritten", "manipulation", "category", "rewriter"),
    *("ticker", "date", "url"),
)
"""The fields that are read from a row, as named in `contrafact.files.fields.FIELD_NAMES`."""

_HALF = (
    "without an original: only the manipulated half of detection can be shown, where always "
    "answering 'false' is always right"
)


REPEATED = "left out: the pair came before"


@dataclass
class PairNotes(RowNotes):
    """Notes of the loader for the user: what it noticed or left out."""

    places: dict[str, int] = field(default_factory=dict)
    """The line of each pair, by its id."""
    duplicates: list[tuple[int, int]] = field(default_factory=list)
    """Rows left out because the same pair came before: (line, line of the first)."""


@dataclass(frozen=True)
class Item:
    """One sample of a task: the pair, the paragraph shown and the right label (``gold``).

    Attributes:
        id: The sample's id: the pair's, with ``-true`` or ``-false`` in detection.
        shown: The paragraph that detection shows; empty in diagnosis, which shows both.
    """

    id: str
    task: TaskName
    pair: Rewrite
    gold: str
    shown: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        return labels_of(self.task)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that a model is shown."""
        return (self.shown,) if self.shown else (self.pair.original, self.pair.rewritten)

    @property
    def cluster(self) -> str:
        return self.pair.article_id


def items_of(task: TaskName, pairs: Sequence[Rewrite]) -> list[Item]:
    """Return the samples of a task: two per pair in detection, one in diagnosis."""
    if task == "rfc-diagnose":
        if any(not pair.original for pair in pairs):
            raise InputError(
                "rfc-diagnose compares each paragraph with its original, and some have none",
                hint="give them back with `contrafact rfc hydrate`",
            )
        return [Item(pair.id, task, pair, str(pair.manipulation)) for pair in pairs]
    items = []
    for pair in pairs:
        if pair.original:
            items.append(Item(f"{pair.id}-{TRUE}", task, pair, TRUE, pair.original))
        items.append(Item(f"{pair.id}-{FALSE}", task, pair, FALSE, pair.rewritten))
    return items


def load_pairs(
    path: str | Path,
    notes: PairNotes | None = None,
    *,
    originals: bool = False,
    columns: Mapping[str, str] | None = None,
) -> list[Rewrite]:
    """Return the pairs of a file, in order, without repeats.

    The file is a table with ``manipulation``, ``rewritten`` and, for all but half of detection,
    ``original``; the published dataset has the manipulation under ``category``. A pair without an
    ``article_id`` gets one from its original, else its link, else its rewrite. A pair without an
    original has the empty text there.
    """
    notes = PairNotes() if notes is None else notes
    name = source_name(path)
    pairs = read_pairs(read_rows(path, columns), name, notes, originals=originals)
    if not pairs:
        raise InputError("the file holds no pairs", file=name, hint="give at least one row")
    notes.conflicts = label_conflicts([(notes.places[pair.id], pair) for pair in pairs])
    return pairs


def label_conflicts(placed: Sequence[tuple[int, Rewrite]]) -> list[str]:
    """Return a sentence for each text with two labels; ``placed`` are the pairs and their lines."""
    kinds = (
        (line, f"{pair.original} {pair.rewritten}", pair.manipulation) for line, pair in placed
    )
    halves = (
        (line, text, label)
        for line, pair in placed
        for text, label in ((pair.original, TRUE), (pair.rewritten, FALSE))
        if text
    )
    return [*contradictions("the manipulation", kinds), *contradictions("the label", halves)]


def read_pairs(
    rows: Iterable[Row],
    name: str,
    notes: PairNotes,
    *,
    originals: bool = False,
    refused: Callable[[InputError], None] | None = None,
) -> list[Rewrite]:
    """Return the pairs in rows, in order, without repeats; `load_pairs` describes the fields."""
    first: dict[str, tuple[int, Rewrite]] = {}
    for line, row in rows:
        notes.rows += 1
        try:
            pair = _pair(row, line, notes)
            if originals and not pair.original:
                raise InputError(
                    "the pair has no original",
                    hint="give it back with `contrafact rfc hydrate`, or leave the row out",
                )
            line_before, before = first.setdefault(pair.id, (line, pair))
            if content_of(before) != content_of(pair):
                raise InputError(
                    f"the id '{pair.id}' belongs to another pair, on line {line_before}",
                    hint="give every pair an id of its own, or leave the ids out",
                )
        except InputError as error:
            found = error.at(name, line)
            if refused is None:
                raise found from error
            refused(found)
            continue
        if before is not pair:
            notes.duplicates.append((line, line_before))
            notes.found[REPEATED].append(line)
    notes.places = {name: line for name, (line, _) in first.items()}
    if half := [line for line, pair in first.values() if not pair.original]:
        notes.found[_HALF] += half
    return [pair for _, pair in first.values()]


def content_of(one: Rewrite) -> tuple[str, ...]:
    return (one.original, one.rewritten, one.manipulation)


def _pair(row: Mapping[str, Any], line: int, notes: PairNotes) -> Rewrite:
    columns = fold_row(row)
    given = pick(columns, FIELDS)
    if given["manipulation"] is None and manipulation_named(given["category"]) is not None:
        given["manipulation"], given["category"] = given["category"], None
    found = given["manipulation"]
    if found is None:
        raise InputError(
            f"the manipulation is missing (found: {columns_found(row)})",
            hint="name its column 'manipulation', or map it where the command has --columns",
        )
    manipulation = manipulation_named(found)
    if manipulation is None:
        raise InputError(
            f"'{str(found)[:40]}' is not a manipulation",
            hint="write numerical, flipping, sentiment or causal",
        )
    if str(found) != manipulation:
        notes.found[f"with the manipulation '{found}', read as '{manipulation}'"].append(line)
    texts = {name: _text(name, given[name], row) for name in ("original", "rewritten")}
    if texts["original"].split() == texts["rewritten"].split():
        raise InputError(
            "original and rewritten are the same text", hint="leave the row out, or rewrite it"
        )
    if any(replace_surrogates(text) != text for text in texts.values()):
        notes.found[BROKEN].append(line)
        texts = {name: replace_surrogates(text) for name, text in texts.items()}
    fields = {
        name: replace_surrogates(str(given[name]))
        for name in ("id", "article_id", "rewriter", "ticker", "url", "category", "date")
        if given[name] is not None
    }
    if "date" in fields:
        day = day_of(fields["date"])
        if day is None:
            notes.found[BAD_DATE].append(line)
        fields["date"] = day or fields["date"]
    if "article_id" not in fields:
        notes.found["without article_id, which cluster by their original"].append(line)
        source = texts["original"] or fields.get("url") or texts["rewritten"]
        fields["article_id"] = content_id(source, prefix="n")
    try:
        return Rewrite.of(manipulation, texts["original"], texts["rewritten"], **fields)
    except ValidationError as error:
        raise InputError(f"not a pair: {value_problem(error.errors()[0])}") from error


def _text(name: str, value: Any, row: Mapping[str, Any]) -> str:
    if value is None:
        columns = fold_row(row)
        present = [columns[key] for key in names_of(name) if key in columns]
        # No column, or null, means that there is no original; a blank text is a mistake.
        if name == "original" and not any(isinstance(one, str) for one in present):
            return ""
        problem = f"'{name}' is empty" if present else None
        raise InputError(
            problem or f"no column '{name}' (found: {columns_found(row)})",
            hint="fill it in, or leave the row out",
        )
    if not isinstance(value, str):
        raise InputError(f"'{name}' is not text: {str(value)[:40]!r}", hint="write it as text")
    return value


def bundled_pairs() -> list[Rewrite]:
    """Return the 24 sample pairs."""
    return list(_read("pairs.jsonl"))


def bundled_shots() -> list[Rewrite]:
    return list(_read("shots.jsonl"))


@cache
def _read(name: str) -> tuple[Rewrite, ...]:
    return tuple(load_pairs(Path(__file__).parent / "samples" / name, originals=True))


_REVIEWED = ("original", "rewritten", "manipulation", "ticker")


def review_rows(row: Mapping[str, Any], shown: Collection[str]) -> list[dict[str, Any]] | None:
    """Return a row as a pair, with the usual field names; None unless both texts are shown."""
    if not {"original", "rewritten"} <= set(shown):
        return None
    columns = fold_row(row)
    found = {field: column_of(columns, field) for field in _REVIEWED}
    pair = dict(row) | {field: columns[name] for field, name in found.items() if name is not None}
    named = manipulation_named(pair.get("manipulation"))
    return [pair if named is None else pair | {"manipulation": named}]
