"""Headlines in: the published benchmark and its supplement, and an analyst's own tables.

FIN-FORCE, sections 3.3 (benchmark), 3.4 and appendix A.4 (supplement).
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.families.finforce.categories import canonical_category
from contrafact.files.jsonl import read_rows, source_name
from contrafact.records import ForwardPair, Headline
from contrafact.text.delimit import replace_surrogates

__all__ = ["LoadNotes", "RawItem", "is_absent", "load_headlines", "raw_items"]

HEADLINE_COLUMNS = ("headline", "title", "text")


@dataclass
class LoadNotes:
    """What a loader met and passed over, to be said to the user."""

    rows: int = 0
    """Rows read, duplicates among them."""
    duplicates: list[tuple[int, int]] = field(default_factory=list)
    """Rows left out because their headline came before: (line, line of the first)."""
    mapped: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows per category name that was spelled otherwise: (as found, as table 1 has it)."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Rows per category name that is none of the ten; their headlines have no category."""
    half_references: list[int] = field(default_factory=list)
    """Lines with one counterfactual of the two; the headline is loaded without a reference."""

    broken: list[int] = field(default_factory=list)
    """Lines with half a character (a lone surrogate), replaced by U+FFFD: no file or request in
    UTF-8 could hold it."""

    def lines(self) -> list[str]:
        """Return one sentence for each thing that the user should know; empty if all was well."""
        said = [
            f"{_count(number, 'category', 'categories')} '{found}' read as '{name}'"
            for (found, name), number in self.mapped.items()
        ]
        said += [
            f"{_count(number, 'headline', 'headlines')} with the unknown category '{found}', "
            "kept without one"
            for found, number in self.unknown.items()
        ]
        if self.duplicates:
            said.append(f"{_count(len(self.duplicates), 'duplicate', 'duplicates')} left out")
        if self.half_references:
            count = _count(len(self.half_references), "headline", "headlines")
            said.append(f"{count} with one counterfactual of two, kept without a reference")
        if self.broken:
            count = _count(len(self.broken), "row", "rows")
            said.append(f"{count} with broken characters, replaced by U+FFFD")
        return said


@dataclass(frozen=True)
class RawItem:
    """One row of a headline file, taken apart and not yet judged; absent fields are ``None``."""

    line: int
    layout: str
    """``benchmark``, ``supplement`` or ``table``."""
    headline: Any = None
    category: Any = None
    description: Any = None
    classification: Any = None
    risk: Any = None
    opportunity: Any = None
    original_headline: Any = None
    """The headline as the supplement repeats it beside its counterfactuals."""
    broken: bool = False
    """Whether a text held a lone surrogate, which is now U+FFFD."""


def raw_items(path: str | Path) -> Iterator[RawItem]:
    """Return the rows of a headline file, taken apart by the layout each is in.

    Raises:
        InputError: The file cannot be read, or a row has no headline field at all.
    """
    for line, row in read_rows(path):
        item = row.get("input_item")
        if isinstance(item, dict):
            yield _whole(_supplement(line, row, item))
        else:
            yield _whole(_table(path, line, row))


def load_headlines(path: str | Path, notes: LoadNotes | None = None) -> list[Headline]:
    """Return the headlines of a file, in its order, each once.

    Accepts the published benchmark (a JSON list of ``headline``, ``classification``, ``category``),
    the published supplement (``input_item`` and ``output.scenarios[0]``, whose counterfactuals
    become the reference), and CSV, JSON, JSON Lines or Parquet with a column ``headline`` (or
    ``title``, or ``text``) and, if there are any, ``category``, ``description``,
    ``risk_counterfactual`` and ``opportunity_counterfactual``. Column names match in any case.
    ``-`` is standard input. Texts are kept as they are, control characters and all; only half a
    character (a lone surrogate) is replaced by U+FFFD, since no table or request can hold it.

    A category in another spelling is mapped; an unknown one becomes ``None``. A headline met before
    is left out. All this is counted in ``notes``.

    Args:
        path: The file.
        notes: Filled with what was mapped, unknown, left out or replaced, if given.

    Raises:
        InputError: The file cannot be read, holds no rows, or has a headline that is empty or not
            text; the message names the line.
    """
    notes = LoadNotes() if notes is None else notes
    first_lines: dict[str, int] = {}
    headlines: list[Headline] = []
    for item in raw_items(path):
        notes.rows += 1
        if item.broken:
            notes.broken.append(item.line)
        headline = Headline.of(
            _required(path, item),
            category=_category(item.category, notes),
            description=_optional(item.description),
            reference=_reference(item, notes),
        )
        if headline.id in first_lines:
            notes.duplicates.append((item.line, first_lines[headline.id]))
        else:
            first_lines[headline.id] = item.line
            headlines.append(headline)
    if not headlines:
        raise InputError(
            "the file holds no headlines", file=source_name(path), hint="give at least one row"
        )
    return headlines


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _supplement(line: int, row: dict[str, Any], item: dict[str, Any]) -> RawItem:
    output = row.get("output")
    scenarios = output.get("scenarios") if isinstance(output, dict) else None
    first = scenarios[0] if isinstance(scenarios, list) and scenarios else None
    scenario: dict[str, Any] = first if isinstance(first, dict) else {}
    return RawItem(
        line=line,
        layout="supplement",
        headline=item.get("headline"),
        category=item.get("category"),
        description=item.get("description"),
        classification=item.get("classification"),
        risk=scenario.get("risk_counterfactual_scenario"),
        opportunity=scenario.get("opportunity_counterfactual_scenario"),
        original_headline=scenario.get("original_headline"),
    )


def _table(path: str | Path, line: int, row: dict[str, Any]) -> RawItem:
    by_name = {str(key).strip().casefold(): value for key, value in row.items()}
    column = next((name for name in HEADLINE_COLUMNS if name in by_name), None)
    if column is None:
        found = ", ".join(str(key) for key in list(row)[:8]) or "none"
        raise InputError(
            f"no column 'headline' (found: {found})",
            file=source_name(path),
            line=line,
            hint="name the column 'headline', 'title' or 'text'",
        )
    published = column == "headline" and {"classification", "category"} <= by_name.keys()
    return RawItem(
        line=line,
        layout="benchmark" if published else "table",
        headline=by_name[column],
        category=by_name.get("category"),
        description=by_name.get("description"),
        classification=by_name.get("classification"),
        risk=by_name.get("risk_counterfactual"),
        opportunity=by_name.get("opportunity_counterfactual"),
    )


def _whole(item: RawItem) -> RawItem:
    repairs: dict[str, Any] = {
        name: whole
        for name, value in vars(item).items()
        if isinstance(value, str) and (whole := replace_surrogates(value)) != value
    }
    return replace(item, broken=True, **repairs) if repairs else item


def _required(path: str | Path, item: RawItem) -> str:
    text = item.headline
    if is_absent(text) or (isinstance(text, str) and not text.strip()):
        problem, hint = "the headline is empty", "fill it in, or leave the row out"
    elif not isinstance(text, str):
        problem, hint = f"the headline is not text: {str(text)[:40]!r}", "write it as text"
    else:
        return text
    raise InputError(problem, file=source_name(path), line=item.line, hint=hint)


def is_absent(value: Any) -> bool:
    """Return whether a field has no value: ``None``, or the NaN that tables use for it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _optional(value: Any) -> str | None:
    if is_absent(value):
        return None
    text = value if isinstance(value, str) else str(value)
    return text if text.strip() else None


def _category(value: Any, notes: LoadNotes) -> str | None:
    text = _optional(value)
    if text is None:
        return None
    name, mapped = canonical_category(text)
    if name is None:
        notes.unknown[text] += 1
    elif mapped:
        notes.mapped[(text, name)] += 1
    return name


def _reference(item: RawItem, notes: LoadNotes) -> ForwardPair | None:
    risk, opportunity = _optional(item.risk), _optional(item.opportunity)
    if risk is not None and opportunity is not None:
        return ForwardPair(risk=risk, opportunity=opportunity)
    if risk is not None or opportunity is not None:
        notes.half_references.append(item.line)
    return None
