"""What is in a headline file, and what is wrong with it.

FIN-FORCE, section 3.3 and table 1 (categories and counts).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

from contrafact.families.finforce.data import (
    CATEGORIES,
    PUBLISHED_COUNTS,
    RawItem,
    canonical_category,
    raw_items,
)
from contrafact.family.data import DataReport, DataSpec, DataTable
from contrafact.files.fields import column_of, fold_row, is_absent
from contrafact.files.tables import Row, line_list
from contrafact.records import content_id
from contrafact.text.delimit import hostile_characters

__all__ = [
    "LONGEST",
    "SHORTEST",
    "SPEC",
    "CategoryCount",
    "CheckReport",
    "Hostile",
    "Lengths",
    "check_items",
]

SHORTEST = 15
"""Characters below which a headline is called near-empty; the benchmark's shortest has 25."""
LONGEST = 2_000
"""Characters above which ``generate`` refuses a headline."""
_EXPECTED_CLASS = "market_event"
_SHOWN = 8  # lines named in a sentence; the report holds them all


@dataclass(frozen=True)
class CategoryCount:
    """How often one of the ten categories was met."""

    name: str
    found: int
    """Rows under its own name or another spelling of it."""
    published: int | None
    """Table 1's count; none for a file that is not the benchmark."""


@dataclass(frozen=True)
class Lengths:
    """How long the texts of one field are, in characters; empty ones are left out."""

    field: str
    texts: int
    shortest: int
    median: float
    mean: float
    longest: int


@dataclass(frozen=True)
class Hostile:
    """Characters of a kind that can mislead a reader or break a program."""

    kind: str
    characters: int
    rows: int


@dataclass(frozen=True)
class CheckReport:
    """What one pass over a headline file found. Rows are named by their lines."""

    layout: str
    """``benchmark``, ``supplement``, ``table`` or ``mixed``."""
    rows: int
    headlines: int
    """Distinct headlines."""
    categories: tuple[CategoryCount, ...]
    without_category: int
    mapped: dict[tuple[str, str], int]
    """Rows per spelling that was mapped: (as found, as table 1 has it)."""
    unknown: dict[str, int]
    """Rows per category name that is none of the ten."""
    duplicates: tuple[tuple[int, int], ...]
    """(line, line of the first) of each row whose headline came before."""
    empty: dict[str, tuple[int, ...]]
    """Lines at which a field that must have a text has none."""
    not_text: dict[str, tuple[int, ...]]
    """Lines at which a field holds something other than text."""
    near_empty: tuple[int, ...]
    too_long: tuple[int, ...]
    half_references: tuple[int, ...]
    """Lines with one counterfactual of the two."""
    classifications: dict[str, int]
    lengths: tuple[Lengths, ...]
    hostile: tuple[Hostile, ...]
    with_description: int
    with_reference: int
    without_scenario: tuple[int, ...]
    """Lines of the supplement that have neither counterfactual."""
    original_differs: tuple[int, ...]
    """Lines of the supplement whose ``original_headline`` is not the input's headline."""
    violations: tuple[str, ...] = ()
    """One sentence for each thing that is wrong; none if the file keeps the schema."""
    notes: tuple[str, ...] = ()
    """One sentence for each thing worth knowing that the loader can live with."""


def check_items(items: Iterable[RawItem]) -> CheckReport:
    """Return what the rows of a headline file hold.

    Violations are what makes a loader stop or leave something out: an empty headline or one that is
    not text, an unknown category, a duplicate, one counterfactual of two, a supplement row with
    neither, a benchmark or supplement row without a category, an optional field that is not text.
    Notes are the rest: mapped spellings, counts other than published, near-empty and very long
    headlines, misleading characters, a repeated headline that differs, another classification.

    Args:
        items: The rows, from `contrafact.families.finforce.data.raw_items`.
    """
    tally = _Tally()
    for item in items:
        tally.add(item)
    return tally.report()


class _Tally:
    """Counts gathered row by row."""

    def __init__(self) -> None:
        self.layouts: Counter[str] = Counter()
        self.categories: Counter[str] = Counter()
        self.mapped: Counter[tuple[str, str]] = Counter()
        self.unknown: Counter[str] = Counter()
        self.classifications: Counter[str] = Counter()
        self.first: dict[str, int] = {}
        self.lines: dict[str, list[int]] = defaultdict(list)
        self.empty: dict[str, list[int]] = defaultdict(list)
        self.not_text: dict[str, list[int]] = defaultdict(list)
        self.sizes: dict[str, list[int]] = defaultdict(list)
        self.hostile: Counter[str] = Counter()
        self.hostile_rows: Counter[str] = Counter()
        self.duplicates: list[tuple[int, int]] = []
        self.with_description = self.with_reference = self.without_category = 0

    def add(self, item: RawItem) -> None:
        self.layouts[item.layout] += 1
        texts = {
            name: self._text(item, name)
            for name in ("headline", "category", "description", "risk", "opportunity")
        }
        self._headline(item, texts["headline"])
        self._category(item, texts["category"])
        self._counterfactuals(item, texts)
        if not is_absent(item.classification):
            self.classifications[str(item.classification)] += 1
        kinds: Counter[str] = Counter()
        for text in texts.values():
            kinds.update(hostile_characters(text or ""))
        if item.broken:
            kinds["half a character (replaced by U+FFFD)"] += 1
        self.hostile += kinds
        self.hostile_rows.update(kinds.keys())

    def _text(self, item: RawItem, name: str) -> str | None:
        """Return a field's text, empty if it has none; none if it is not text, which is noted."""
        value = getattr(item, name)
        if is_absent(value):
            return ""
        if not isinstance(value, str):
            self.not_text[name].append(item.line)
            return None
        if name != "category":
            self.sizes[name].append(len(value))
        return value

    def _headline(self, item: RawItem, text: str | None) -> None:
        if not text:
            if text is not None:
                self.empty["headline"].append(item.line)
            return
        identity = content_id(text, prefix="h")
        if identity in self.first:
            self.duplicates.append((item.line, self.first[identity]))
        else:
            self.first[identity] = item.line
        if len(text.strip()) < SHORTEST:
            self.lines["near_empty"].append(item.line)
        if len(text) > LONGEST:
            self.lines["too_long"].append(item.line)
        if item.original_headline is not None and item.original_headline != text:
            self.lines["original_differs"].append(item.line)

    def _category(self, item: RawItem, text: str | None) -> None:
        if not text:
            self.without_category += 1
            if text is not None and item.layout != "table":
                self.empty["category"].append(item.line)
            return
        name, mapped = canonical_category(text)
        if name is None:
            self.unknown[text] += 1
            return
        self.categories[name] += 1
        if mapped:
            self.mapped[(text, name)] += 1

    def _counterfactuals(self, item: RawItem, texts: dict[str, str | None]) -> None:
        self.with_description += bool(texts["description"])
        sides = [bool(texts[side]) for side in ("risk", "opportunity")]
        self.with_reference += all(sides)
        if any(sides) and not all(sides):
            self.lines["half_references"].append(item.line)
        if not any(sides) and item.layout == "supplement":
            self.lines["without_scenario"].append(item.line)

    def report(self) -> CheckReport:
        layout = next(iter(self.layouts)) if len(self.layouts) == 1 else "mixed"
        counts = tuple(
            CategoryCount(
                name,
                self.categories[name],
                PUBLISHED_COUNTS[name] if layout == "benchmark" else None,
            )
            for name in CATEGORIES
        )
        lengths = tuple(
            Lengths(name, len(sizes), min(sizes), median(sizes), fmean(sizes), max(sizes))
            for name, sizes in self.sizes.items()
        )
        bare = CheckReport(
            layout=layout,
            rows=self.layouts.total(),
            headlines=len(self.first),
            categories=counts,
            without_category=self.without_category,
            mapped=dict(self.mapped),
            unknown=dict(self.unknown),
            duplicates=tuple(self.duplicates),
            empty=_frozen(self.empty),
            not_text=_frozen(self.not_text),
            near_empty=tuple(self.lines["near_empty"]),
            too_long=tuple(self.lines["too_long"]),
            half_references=tuple(self.lines["half_references"]),
            classifications=dict(self.classifications),
            lengths=lengths,
            hostile=tuple(
                Hostile(kind, number, self.hostile_rows[kind])
                for kind, number in self.hostile.most_common()
            ),
            with_description=self.with_description,
            with_reference=self.with_reference,
            without_scenario=tuple(self.lines["without_scenario"]),
            original_differs=tuple(self.lines["original_differs"]),
        )
        return replace(bare, violations=tuple(_violations(bare)), notes=tuple(_notes(bare)))


def _frozen(lines: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(found) for name, found in lines.items() if found}


def _violations(report: CheckReport) -> Iterable[str]:
    """Yield what makes a loader stop or leave something out."""
    for name, lines in report.empty.items():
        yield _counted(lines, f"with an empty {name}")
    for name, lines in report.not_text.items():
        yield _counted(lines, f"with a {name} that is not text")
    for found, number in report.unknown.items():
        yield f"{_rows(number)} with the unknown category '{found}'"
    if report.duplicates:
        pairs = ", ".join(f"{line} repeats {first}" for line, first in report.duplicates[:_SHOWN])
        more = ", …" if len(report.duplicates) > _SHOWN else ""
        yield f"{_rows(len(report.duplicates))} with a headline met before (line {pairs}{more})"
    if report.half_references:
        yield _counted(report.half_references, "with one counterfactual of two")
    if report.without_scenario:
        yield _counted(report.without_scenario, "without counterfactuals")


def _notes(report: CheckReport) -> Iterable[str]:
    """Yield what is worth knowing and stops nothing."""
    for (found, name), number in report.mapped.items():
        yield f"{_rows(number)} with the category '{found}', read as '{name}'"
    for row in report.categories:
        if row.published is not None and row.found != row.published:
            yield f"'{row.name}' has {row.found} headlines where table 1 prints {row.published}"
    if report.layout == "mixed":
        yield "the rows are of more than one layout"
    if report.near_empty:
        yield _counted(report.near_empty, f"with a headline under {SHORTEST} characters")
    if report.too_long:
        yield _counted(report.too_long, f"with a headline over {LONGEST:,} characters")
    if report.original_differs:
        yield _counted(report.original_differs, "whose original_headline is not the headline")
    for kind in report.hostile:
        yield f"{_rows(kind.rows)} with {kind.characters} of: {kind.kind}"
    for name, number in report.classifications.items():
        if name != _EXPECTED_CLASS:
            yield f"{_rows(number)} classified '{name}', not '{_EXPECTED_CLASS}'"


def _counted(lines: Sequence[int], what: str) -> str:
    return f"{_rows(len(lines))} {what} ({line_list(lines, _SHOWN)})"


def _rows(number: int) -> str:
    return f"{number} row{'s' * (number != 1)}"


def _recognises(row: Mapping[str, Any]) -> bool:
    item = row.get("input_item")
    columns = fold_row(item if isinstance(item, dict) else row)
    # A text beside a manipulation is a rewritten paragraph, not a headline.
    return column_of(columns, "headline") is not None and column_of(columns, "manipulation") is None


def _checked(rows: Iterable[Row], name: str) -> DataReport:
    report = check_items(raw_items(name, rows))
    facts = [f"{report.rows:,} rows", f"{report.headlines:,} distinct headlines"]
    facts.append(f"{report.with_description:,} with a description")
    facts.append(f"{report.with_reference:,} with both counterfactuals")
    lengths = [
        (
            row.field,
            f"{row.texts:,}",
            f"{row.shortest:,}",
            f"{row.median:,.1f}",
            f"{row.mean:,.1f}",
            f"{row.longest:,}",
        )
        for row in report.lengths
    ]
    columns = ("field", "texts", "shortest", "median", "mean", "longest")
    contents = (
        f"Layout: {report.layout}; {', '.join(facts)}.",
        _categories(report),
        DataTable("Lengths in characters", columns, tuple(lengths)),
    )
    return DataReport(report.rows, contents, report.violations, report.notes)


def _categories(report: CheckReport) -> str | DataTable:
    """Return the rows per category, next to table 1's where the file is the benchmark."""
    if report.without_category == report.rows:
        return "No row has a category."
    published = any(row.published is not None for row in report.categories)
    rows: list[tuple[str, ...]] = []
    for row in report.categories:
        difference = row.found - (row.published or 0)
        printed = (str(row.published), f"{difference:+d}" if difference else "0")
        rows.append((row.name, str(row.found), *(printed if published else ())))
    nothing = ("", "") if published else ()
    rows += [(f"unknown: {name}", str(n), *nothing) for name, n in report.unknown.items()]
    if report.without_category:
        rows.append(("(none)", str(report.without_category), *nothing))
    columns = ("category", "found", *(("published", "difference") if published else ()))
    return DataTable("Rows per category", columns, tuple(rows))


SPEC = DataSpec(recognises=_recognises, check=_checked)
"""Files of headlines: the benchmark, its supplement, and any table with a headline column."""
