"""What is in a headline file, and what is wrong with it.

FIN-FORCE, section 3.3 and table 1 (categories and counts).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from contrafact.families.finforce.data import (
    PUBLISHED_COUNTS,
    RawItem,
    canonical_category,
    raw_items,
)
from contrafact.family.data import DataReport, DataSpec, DataTable, contradictions
from contrafact.files.fields import column_of, fold_row, is_absent
from contrafact.files.tables import Row, line_list
from contrafact.records import content_id
from contrafact.text.delimit import hostile_characters, printable

__all__ = ["LONGEST", "SHORTEST", "SPEC"]

SHORTEST = 15
"""Characters below which a headline is called near-empty; the benchmark's shortest has 25."""
LONGEST = 2_000
"""Characters above which ``generate`` refuses a headline."""
_EXPECTED_CLASS = "market_event"
_SHOWN = 8  # lines named in a sentence; the report holds them all


@dataclass
class CheckReport:
    """What one pass over a headline file finds, row by row. Rows are named by their lines.

    Attributes:
        layouts: Rows by layout: ``benchmark``, ``supplement`` or ``table``.
        categories: Rows by category, under its own name or another spelling of it.
        mapped: Rows per spelling that was mapped: (as found, as table 1 has it).
        unknown: Rows per category name that is none of the ten.
        first: The line of each distinct headline, by its id.
        duplicates: (line, line of the first) of each row whose headline came before.
        empty: Lines at which a field that must have a text has none; ``not_text``: something else.
        lines: Lines by what is said of them (``near_empty``, ``too_long``, ``half_references``: one
            counterfactual of two; ``without_scenario``: neither, in the supplement;
            ``original_differs``: its ``original_headline`` is not the input's headline).
        labels: (line, text, label) of each text that has one, by what the label is.
        sizes: The characters of each text, by its field.
        hostile: Characters that can mislead a reader or break a program, by their kind;
            ``hostile_rows``: rows by such a kind.
        with_reference: Rows with both counterfactuals.
    """

    layouts: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    mapped: Counter[tuple[str, str]] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    classifications: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    duplicates: list[tuple[int, int]] = field(default_factory=list)
    empty: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    not_text: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    lines: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    labels: dict[str, list[tuple[int, str, str]]] = field(default_factory=lambda: defaultdict(list))
    sizes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    hostile: Counter[str] = field(default_factory=Counter)
    hostile_rows: Counter[str] = field(default_factory=Counter)
    with_description: int = 0
    with_reference: int = 0
    without_category: int = 0

    @property
    def rows(self) -> int:
        return self.layouts.total()

    @property
    def layout(self) -> str:
        return next(iter(self.layouts)) if len(self.layouts) == 1 else "mixed"

    def add(self, item: RawItem) -> None:
        self.layouts[item.layout] += 1
        texts = {
            name: self._text(item, name)
            for name in ("headline", "category", "description", "risk", "opportunity")
        }
        self._headline(item, texts["headline"])
        self._category(item, texts["category"])
        self._counterfactuals(item, texts)
        headline = texts["headline"] or ""
        if not is_absent(item.classification):
            self.classifications[str(item.classification)] += 1
            self._label("the classification", item, headline, str(item.classification))
        category = texts["category"] or ""
        self._label("the category", item, headline, canonical_category(category)[0] or category)
        for side in ("risk", "opportunity"):
            self._label("the side", item, texts[side] or "", side)
        kinds: Counter[str] = Counter()
        for text in texts.values():
            kinds.update(hostile_characters(text or ""))
        if item.broken:
            kinds["half a character (replaced by U+FFFD)"] += 1
        self.hostile += kinds
        self.hostile_rows.update(kinds.keys())

    def _label(self, what: str, item: RawItem, text: str, label: str) -> None:
        if text and label:
            self.labels[what].append((item.line, text, label))

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
        identity = content_id(printable(text), prefix="h")
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

    def violations(self) -> Iterator[str]:
        """Yield a sentence for each thing that makes a loader stop or leave something out."""
        for name, lines in self.empty.items():
            yield _counted(lines, f"with an empty {name}")
        for name, lines in self.not_text.items():
            yield _counted(lines, f"with a {name} that is not text")
        for found, number in self.unknown.items():
            yield f"{_rows(number)} with the unknown category '{found}'"
        if self.duplicates:
            pairs = ", ".join(f"{line} repeats {first}" for line, first in self.duplicates[:_SHOWN])
            more = ", …" if len(self.duplicates) > _SHOWN else ""
            rows = _rows(len(self.duplicates))
            yield f"{rows} with a headline met before (line {pairs}{more})"
        for what, labelled in self.labels.items():
            yield from contradictions(what, labelled)
        yield from self._said("half_references", "with one counterfactual of two")
        yield from self._said("without_scenario", "without counterfactuals")

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each thing that is worth knowing and stops nothing."""
        for (found, name), number in self.mapped.items():
            yield f"{_rows(number)} with the category '{found}', read as '{name}'"
        if self.layout == "benchmark":
            for name, printed in PUBLISHED_COUNTS.items():
                if (number := self.categories[name]) != printed:
                    yield f"'{name}' has {number} headlines where table 1 prints {printed}"
        if self.layout == "mixed":
            yield "the rows are of more than one layout"
        yield from self._said("near_empty", f"with a headline under {SHORTEST} characters")
        yield from self._said("too_long", f"with a headline over {LONGEST:,} characters")
        yield from self._said("original_differs", "whose original_headline is not the headline")
        for kind, characters in self.hostile.most_common():
            yield f"{_rows(self.hostile_rows[kind])} with {characters} of: {kind}"
        for name, number in self.classifications.items():
            if name != _EXPECTED_CLASS:
                yield f"{_rows(number)} classified '{name}', not '{_EXPECTED_CLASS}'"

    def _said(self, name: str, what: str) -> Iterator[str]:
        if self.lines[name]:
            yield _counted(self.lines[name], what)


def check_items(items: Iterable[RawItem]) -> CheckReport:
    report = CheckReport()
    for item in items:
        report.add(item)
    return report


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
    facts = [f"{report.rows:,} rows", f"{len(report.first):,} distinct headlines"]
    facts.append(f"{report.with_description:,} with a description")
    facts.append(f"{report.with_reference:,} with both counterfactuals")
    lengths = tuple(
        (
            name,
            f"{len(sizes):,}",
            f"{min(sizes):,}",
            f"{median(sizes):,.1f}",
            f"{fmean(sizes):,.1f}",
            f"{max(sizes):,}",
        )
        for name, sizes in report.sizes.items()
    )
    columns = ("field", "texts", "shortest", "median", "mean", "longest")
    contents = (
        f"Layout: {report.layout}; {', '.join(facts)}.",
        _categories(report),
        DataTable("Lengths in characters", columns, lengths),
    )
    return DataReport(report.rows, contents, tuple(report.violations()), tuple(report.notes()))


def _categories(report: CheckReport) -> str | DataTable:
    if report.without_category == report.rows:
        return "No row has a category."
    published = report.layout == "benchmark"
    rows: list[tuple[str, ...]] = []
    for name, printed in PUBLISHED_COUNTS.items():
        difference = report.categories[name] - printed
        paper = (str(printed), f"{difference:+d}" if difference else "0") if published else ()
        rows.append((name, str(report.categories[name]), *paper))
    nothing = ("", "") if published else ()
    rows += [(f"unknown: {name}", str(n), *nothing) for name, n in report.unknown.items()]
    if report.without_category:
        rows.append(("(none)", str(report.without_category), *nothing))
    columns = ("category", "found", *(("published", "difference") if published else ()))
    return DataTable("Rows per category", columns, tuple(rows))


SPEC = DataSpec(recognises=_recognises, check=_checked)
"""Files of headlines: the benchmark, its supplement, and any table with a headline column."""
