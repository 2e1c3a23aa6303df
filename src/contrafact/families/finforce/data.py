"""Reading of headlines: the published benchmark and its supplement, users' tables, and samples.

FIN-FORCE, sections 3.3 and table 1 (benchmark and categories), 3.4 and appendix A.4 (supplement).

The bundled samples were written for this project: companies, people, countries and events are
invented. `demo` runs on ``headlines.jsonl``; ``shots.jsonl`` is the default pool of worked examples
for few-shot prompts. The two share no headline.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.families.finforce.records import SIDES, ForwardPair, Headline
from contrafact.family.data import contradictions
from contrafact.files.fields import column_of, columns_found, fold_row, pick
from contrafact.files.tables import BROKEN, Row, RowNotes, read_rows, source_name
from contrafact.text.delimit import replace_surrogates

FIELDS = ("headline", "category", "description", "date", "classification", "risk", "opportunity")
"""The fields that are read from a row, as named in `contrafact.files.fields.FIELD_NAMES`."""

PUBLISHED_COUNTS: dict[str, int] = {
    "Monetary policy & central banking": 109,
    "Corporate strategy & operations": 229,
    "Geopolitical & regulatory developments": 148,
    "Financial markets & asset performance": 574,
    "Supply chain & logistics": 24,
    "ESG & sustainability developments": 13,
    "Technology & innovation": 22,
    "Labour & employment": 27,
    "Macroeconomic indicators": 186,
    "Banking & financial stability": 36,
}
"""Headlines per market category as table 1 prints them; they add up to 1,368."""

CATEGORIES: tuple[str, ...] = tuple(PUBLISHED_COUNTS)
"""The ten names, in table 1's order and spelling."""


def _key(name: str) -> str:
    words = re.sub(r"[^a-z]+", " ", name.casefold().replace("&amp;", " ").replace("-", ""))
    return "".join("labour" if word == "labor" else word for word in words.split() if word != "and")


_BY_KEY = {_key(name): name for name in CATEGORIES}


def canonical_category(name: str) -> tuple[str | None, bool]:
    """Return the category that a name means, and whether its spelling had to be mapped.

    Case, spacing, hyphens, ``and`` for ``&`` and ``Labor`` for ``Labour`` are mapped; nothing
    further is guessed: any other name gives ``(None, False)``.
    """
    if name in PUBLISHED_COUNTS:
        return name, False
    found = _BY_KEY.get(_key(name))
    return found, found is not None


@dataclass(frozen=True)
class RawItem:
    """The fields of one row of a headline file, not yet checked; absent fields are ``None``."""

    line: int
    layout: str
    """``benchmark``, ``supplement`` or ``table``."""
    headline: Any = None
    category: Any = None
    description: Any = None
    date: Any = None
    classification: Any = None
    risk: Any = None
    opportunity: Any = None
    original_headline: Any = None
    """The headline as the supplement repeats it with its counterfactuals."""
    broken: bool = False
    """Whether a text held a lone surrogate, which is now U+FFFD."""


def raw_items(name: str | Path, rows: Iterable[Row]) -> Iterator[RawItem]:
    """Yield the fields of each row of a headline file; ``name`` is the file's, for messages."""
    for line, row in rows:
        published, given = row.get("input_item"), fold_row(_flat(row))
        if (column := column_of(given, "headline")) is None:
            raise InputError(
                f"no column 'headline' (found: {columns_found(row)})",
                file=source_name(name),
                line=line,
                hint="name the column 'headline', 'title' or 'text', or pass --columns "
                "headline=NAME",
            )
        # A headline that is empty is not taken from another column.
        fields = pick(given, FIELDS) | pick({column: given[column]}, ("headline",))
        layout = "table"
        if isinstance(published, dict):
            layout = "supplement"
        elif column == "headline" and {"classification", "category"} <= given.keys():
            layout = "benchmark"
        fields["original_headline"] = given.get("originalheadline") if published else None
        whole = {
            field: replace_surrogates(value) if isinstance(value, str) else value
            for field, value in fields.items()
        }
        yield RawItem(line, layout, **whole, broken=whole != fields)


def load_headlines(
    path: str | Path, notes: RowNotes | None = None, *, columns: Mapping[str, str] | None = None
) -> list[Headline]:
    """Return the headlines of a file, in order, without repeats.

    Accepts the published benchmark (a JSON list of ``headline``, ``classification``, ``category``),
    the published supplement (``input_item`` and ``output.scenarios[0]``, whose counterfactuals
    become the reference), and tables with a column ``headline`` (or ``title``, or ``text``) and, if
    there are any, ``category``, ``description``, ``date``, ``risk_counterfactual`` and
    ``opportunity_counterfactual``, in upper or lower case. Texts are kept unchanged, even control
    characters; only half a character (a lone surrogate) is replaced by U+FFFD, since no table or
    request can hold it.

    A category in another spelling is mapped; an unknown one becomes ``None``. A repeated headline
    is left out. ``notes`` counts all of this.

    Raises:
        InputError: The file cannot be read, holds no rows, or has a headline that is empty or not
            text; the message names the line.
    """
    notes = RowNotes() if notes is None else notes
    headlines: dict[str, Headline] = {}
    labels: dict[str, list[tuple[int, str, str]]] = {}
    for item in raw_items(path, read_rows(path, columns)):
        notes.rows += 1
        for what, text, label in labels_of(item):
            labels.setdefault(what, []).append((item.line, text, label))
        if item.broken:
            notes.found[BROKEN].append(item.line)
        try:
            text = _required(item.headline)
        except InputError as error:
            raise error.at(source_name(path), item.line) from error
        headline = Headline.of(
            text,
            category=_category(item, notes),
            description=_optional(item.description),
            date=_optional(item.date),
            reference=_reference(item, notes),
        )
        if headlines.setdefault(headline.id, headline) is not headline:
            notes.found["left out: the headline came before"].append(item.line)
    if not headlines:
        raise InputError(
            "the file holds no headlines", file=source_name(path), hint="give at least one row"
        )
    notes.conflicts = [one for what, given in labels.items() for one in contradictions(what, given)]
    return [*headlines.values()]


def labels_of(item: RawItem) -> Iterator[tuple[str, str, str]]:
    """Yield the labels of a row's texts: the kind of label, the text and the label."""
    headline, category = item.headline, _optional(item.category)
    for what, text, label in (
        ("the classification", headline, _optional(item.classification)),
        ("the category", headline, category and (canonical_category(category)[0] or category)),
        *(("the side", getattr(item, side), side) for side in SIDES),
    ):
        if label and isinstance(text, str):
            yield what, text, label


def _flat(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of the supplement in the form of a table's row; other rows stay as they are."""
    item, scenario = row.get("input_item"), _scenario(row)
    if not isinstance(item, dict):
        return row
    return {
        **row,
        **dict.fromkeys(("headline", "category", "description", "classification")),
        **item,
        **{f"{side}_counterfactual": scenario.get(f"{side}_counterfactual_scenario")
           for side in SIDES},
        "original_headline": scenario.get("original_headline"),
    }  # fmt: skip


def _scenario(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first scenario of a row of the supplement; empty if it has none."""
    output = row.get("output")
    scenarios = output.get("scenarios") if isinstance(output, dict) else None
    first = scenarios[0] if isinstance(scenarios, list) and scenarios else None
    return first if isinstance(first, dict) else {}


def _required(text: Any) -> str:
    if text is None:
        raise InputError("the headline is empty", hint="fill it in, or leave the row out")
    if not isinstance(text, str):
        raise InputError(f"the headline is not text: {str(text)[:40]!r}", hint="write it as text")
    return text


def _optional(value: Any) -> str | None:
    return None if value is None else str(value)


def _category(item: RawItem, notes: RowNotes) -> str | None:
    text = _optional(item.category)
    if text is None:
        return None
    name, mapped = canonical_category(text)
    if name is None:
        notes.found[f"with the unknown category '{text}', kept without one"].append(item.line)
    elif mapped:
        notes.found[f"with the category '{text}', read as '{name}'"].append(item.line)
    return name


def _reference(item: RawItem, notes: RowNotes) -> ForwardPair | None:
    risk, opportunity = _optional(item.risk), _optional(item.opportunity)
    if risk is not None and opportunity is not None:
        return ForwardPair(risk=risk, opportunity=opportunity)
    if risk is not None or opportunity is not None:
        half = "with one counterfactual of two, kept without a reference"
        notes.found[half].append(item.line)
    return None


SHOTS = Path(__file__).parent / "samples" / "shots.jsonl"


def bundled_headlines() -> list[Headline]:
    """Return the 30 sample headlines, three of each market category."""
    return list(_read("headlines.jsonl"))


def bundled_shots() -> list[Headline]:
    """Return the pool of worked examples: 49 headlines, with a reference pair each."""
    return list(_read(SHOTS.name))


@cache
def _read(name: str) -> tuple[Headline, ...]:
    return tuple(load_headlines(Path(__file__).parent / "samples" / name))


_SIDE_FIELDS = ("{}", "{}_counterfactual", "{}_counterfactual_scenario")


def review_rows(row: Mapping[str, Any], shown: Collection[str]) -> list[dict[str, Any]] | None:
    """Return one row per side, if a project shows one counterfactual and the row has both.

    A row of the published supplement is flattened first. None means that the row stays unchanged.
    """
    item = row.get("input_item")
    published = isinstance(item, dict)
    if isinstance(item, dict):
        rest = {key: value for key, value in row.items() if key not in ("input_item", "output")}
        row = rest | item | _scenario(row)
    forms = ([form.format(side) for side in SIDES] for form in _SIDE_FIELDS)
    names = next((names for names in forms if all(row.get(name) for name in names)), None)
    if names is None or "counterfactual" not in shown or "counterfactual" in row:
        return [dict(row)] if published else None
    rest = {key: value for key, value in row.items() if key not in (*names, "id")}
    ids = [{"id": f"{row['id']}-{side}"} if row.get("id") else {} for side in SIDES]
    return [
        rest | {"side": side, "counterfactual": row[name]} | own
        for side, name, own in zip(SIDES, names, ids, strict=True)
    ]
