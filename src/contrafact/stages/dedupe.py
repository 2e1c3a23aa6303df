"""``news dedupe`` as a stage, which drops items that repeat earlier items."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import typer

from contrafact.corpus.duplicates import (
    Duplicate,
    Text,
    find_duplicates,
    kept_or_dropped,
    signature_of,
)
from contrafact.corpus.news_items import news_record, news_rows
from contrafact.files.download import sha256_of
from contrafact.files.tables import RowNotes
from contrafact.stages.news import NewsStage
from contrafact.stages.stage import (
    KEPT,
    REJECTS,
    InputRow,
    StageOutput,
    StageResult,
    Survey,
    Work,
    Wrap,
)

__all__ = ["DedupeStage"]


@dataclass(frozen=True)
class DedupeStage(NewsStage):
    """The stage ``news dedupe``, which drops items that repeat earlier items.

    Attributes:
        against: Files of items that must not be repeated.
        near: The similarity from which two items count as duplicates.
    """

    against: tuple[str, ...] = ()
    near: float = 0.8
    name: str = "`news dedupe`"
    noun: ClassVar[str] = "items"
    whole: ClassVar[bool] = True
    shows_progress: ClassVar[bool] = True

    def facts(self) -> dict[str, Any]:
        return {"near": self.near, "against": [sha256_of(path) for path in self.against]}

    def prepare(self, survey: Survey) -> Mapping[int, Mapping[str, Any]]:
        """Return the note on each duplicate, by its position: the item that it repeats."""
        places: list[int] = []

        def texts() -> Iterator[Text]:
            parts = survey.map_parts(_signed if survey.elsewhere else _texts)
            for place, text in chain.from_iterable(parts):
                if place not in survey.repeats:
                    places.append(place)
                    yield text
                    survey.each()

        others: list[Text] = []
        for path in self.against:
            notes = RowNotes()
            others += [_text(row.item) for row in news_rows(path, notes)]
            for note in notes.lines():
                typer.echo(f"{path}: {note}", err=True)
        found = find_duplicates(texts(), others, threshold=self.near)
        return {places[duplicate.position]: vars(duplicate) for duplicate in found}

    def repeated(self, made: StageOutput, row: InputRow) -> None:
        """Drop an item whose title and summary an earlier item has."""
        why = f"repeats the article of line {(row.repeats or 0) + 1}"
        made.add(REJECTS, row.index, {**news_record(row.value, row.fields), "dropped_because": why})

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        async def work(rows: Sequence[InputRow]) -> StageOutput:
            made = StageOutput()
            for row in rows:
                duplicate = Duplicate(**row.note) if row.note else None
                record, event = kept_or_dropped(row.value, row.fields, duplicate, self.near)
                made.add(KEPT if duplicate is None else REJECTS, row.index, record, event)
                made.counts["kept" if duplicate is None else duplicate.kind] += 1
            return made

        return work

    def show(self, result: StageResult) -> None:
        counts = result.counts
        kinds = {kind: counts[kind] for kind in ("exact", "address", "near")}
        distinct = counts["kept"] + sum(kinds.values())
        by_kind = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
        kept = f"{counts['kept']:,} of {distinct:,} items"
        typer.echo(f"{result.out}: {kept}; duplicates: {by_kind}")


def _text(item: Any) -> Text:
    return Text(item.id, item.paragraph, item.url)


def _texts(rows: Sequence[InputRow]) -> list[tuple[int, Text]]:
    return [(row.index, _text(row.value)) for row in rows]


def _signed(rows: Sequence[InputRow]) -> list[tuple[int, Text]]:
    """Return the texts of rows with their signatures, which take most of the time."""
    return [(at, replace(text, signature=signature_of(text))) for at, text in _texts(rows)]
