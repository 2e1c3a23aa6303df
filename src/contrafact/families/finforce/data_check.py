"""The report on a headline file: its contents and its faults.

FIN-FORCE, section 3.3 and table 1 (categories and counts).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean, median
from typing import Any

from contrafact.families.finforce.data import (
    PUBLISHED_COUNTS,
    RawItem,
    canonical_category,
    labels_of,
    raw_items,
)
from contrafact.families.finforce.records import SIDES
from contrafact.family.data import DataReport, DataSpec, DataTable, contradictions, repeats
from contrafact.files.fields import column_of, fold_row
from contrafact.files.tables import RowNotes
from contrafact.records import content_id
from contrafact.text.delimit import hostile_characters, printable

SHORTEST = 15
"""Characters below which a headline is called near-empty; the benchmark's shortest has 25."""
LONGEST = 2_000
"""Characters above which ``generate`` refuses a headline."""
_EXPECTED_CLASS = "market_event"
_FIELDS = ("headline", "category", "description", *SIDES)
_UNKNOWN, _NONE = "unknown: ", "(none)"


class _Pass:
    """The findings collected in one pass over a headline file.

    Attributes:
        wrong: For each fault that makes a loader stop or leave something out, its lines.
        odd: For each oddity that stops no loader, its lines.
        labels: (line, text, label) of each text that has a label, by the kind of label.
    """

    def __init__(self) -> None:
        self._wrong, self._odd = RowNotes(), RowNotes()
        self.wrong, self.odd = self._wrong.found, self._odd.found
        self.labels: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        self.texts: dict[str, list[tuple[int, str]]] = {name: [] for name in _FIELDS}
        self.layouts, self.categories = Counter[str](), Counter[str]()
        self.with_reference = 0

    @property
    def layout(self) -> str:
        return next(iter(self.layouts)) if len(self.layouts) == 1 else "mixed"

    def add(self, item: RawItem) -> None:
        self.layouts[item.layout] += 1
        texts = {name: self._text(item, name) for name in _FIELDS}
        headline = texts["headline"]
        if headline and len(headline.strip()) < SHORTEST:
            self.odd[f"with a headline under {SHORTEST} characters"].append(item.line)
        if len(headline) > LONGEST:
            self.odd[f"with a headline over {LONGEST:,} characters"].append(item.line)
        if headline and item.original_headline not in (None, headline):
            self.odd["whose original_headline is not the headline"].append(item.line)
        sides = [bool(texts[side]) for side in SIDES]
        self.with_reference += all(sides)
        if any(sides) and not all(sides):
            self.wrong["with one counterfactual of two"].append(item.line)
        if not any(sides) and item.layout == "supplement":
            self.wrong["without counterfactuals"].append(item.line)
        label = "" if item.classification is None else str(item.classification)
        if label not in ("", _EXPECTED_CLASS):
            what = f"classified '{label}', not '{_EXPECTED_CLASS}'"
            self.odd[what].append(item.line)
        self._category(item, texts["category"])
        for what, text, value in labels_of(item):
            self.labels[what].append((item.line, text, value))
        kinds = {kind for text in texts.values() for kind in hostile_characters(text)}
        for kind in sorted(kinds | ({"half a character (now U+FFFD)"} if item.broken else set())):
            self.odd[f"with characters that mislead or break programs: {kind}"].append(item.line)

    def _text(self, item: RawItem, name: str) -> str:
        """Return a field's text; note a fault and return "" if it is absent or not text."""
        value = getattr(item, name)
        if value is None:
            if name == "headline" or (name == "category" and item.layout != "table"):
                self.wrong[f"with an empty {name}"].append(item.line)
            return ""
        if not isinstance(value, str):
            self.wrong[f"with a {name} that is not text"].append(item.line)
            return ""
        self.texts[name].append((item.line, value))
        return value

    def _category(self, item: RawItem, text: str) -> None:
        name, mapped = canonical_category(text) if text else (_NONE, False)
        if name is None:
            self.wrong[f"with the unknown category '{text}'"].append(item.line)
        elif mapped:
            self.odd[f"with the category '{text}', read as '{name}'"].append(item.line)
        self.categories[name or f"{_UNKNOWN}{text}"] += 1

    def violations(self) -> Iterator[str]:
        yield from self._wrong.lines()
        yield from repeats("headline", self.texts["headline"])
        for what, labelled in self.labels.items():
            yield from contradictions(what, labelled)

    def notes(self) -> Iterator[str]:
        yield from self._odd.lines()
        if self.layout == "benchmark":
            for name, printed in PUBLISHED_COUNTS.items():
                if (number := self.categories[name]) != printed:
                    yield f"'{name}' has {number} headlines where table 1 prints {printed}"
        if self.layout == "mixed":
            yield "the rows are of more than one layout"

    def by_category(self) -> str | DataTable:
        if self.categories[_NONE] == self.layouts.total():
            return "No row has a category."
        published = self.layout == "benchmark"
        rows: list[tuple[str, ...]] = []
        others = {name: 0 for name in self.categories if name not in PUBLISHED_COUNTS}
        for name, printed in (PUBLISHED_COUNTS | others).items():
            number = self.categories[name]
            paper = (str(printed), f"{number - printed:+d}" if number != printed else "0")
            paper = ("", "") if name in others else paper
            rows.append((name, str(number), *(paper if published else ())))
        columns = ("category", "found", *(("published", "difference") if published else ()))
        return DataTable("Rows per category", columns, tuple(rows))

    def lengths(self) -> DataTable:
        rows = []
        for name, texts in self.texts.items():
            sizes = [len(text) for _, text in texts]
            if sizes and name != "category":
                counts = (f"{len(sizes):,}", f"{min(sizes):,}", f"{median(sizes):,.1f}")
                rows.append((name, *counts, f"{fmean(sizes):,.1f}", f"{max(sizes):,}"))
        columns = ("field", "texts", "shortest", "median", "mean", "longest")
        return DataTable("Lengths in characters", columns, tuple(rows))


def check_items(items: Iterable[RawItem]) -> DataReport:
    """Return the report on the contents and the faults of a headline file."""
    whole = _Pass()
    for item in items:
        whole.add(item)
    rows = whole.layouts.total()
    distinct = {content_id(printable(text), prefix="h") for _, text in whole.texts["headline"]}
    facts = (
        f"Layout: {whole.layout}; {rows:,} rows, {len(distinct):,} distinct headlines, "
        f"{len(whole.texts['description']):,} with a description, "
        f"{whole.with_reference:,} with both counterfactuals."
    )
    contents = (facts, whole.by_category(), whole.lengths())
    return DataReport(rows, contents, tuple(whole.violations()), tuple(whole.notes()))


def _recognises(row: Mapping[str, Any]) -> bool:
    item = row.get("input_item")
    columns = fold_row(item if isinstance(item, dict) else row)
    # A text beside a manipulation is a rewritten paragraph, not a headline.
    return column_of(columns, "headline") is not None and column_of(columns, "manipulation") is None


SPEC = DataSpec(_recognises, check=lambda rows, name: check_items(raw_items(name, rows)))
"""Files of headlines: the benchmark, its supplement, and any table with a headline column."""
