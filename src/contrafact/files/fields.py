"""What files call the fields that the program reads: one table of names, one rule of matching.

A column's name is compared without case, spaces, hyphens and underscores, so that "News Headline",
"news_headline" and "newsHeadline" are one name.
"""

import json
import math
import re
import zlib
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.text.delimit import seen

__all__ = [
    "PackedObject",
    "checked_columns",
    "column_of",
    "columns_found",
    "confusable_names",
    "fold",
    "fold_row",
    "guarded",
    "is_absent",
    "named_columns",
    "names_of",
    "no_column",
    "pick",
    "present",
    "refuse_alike",
    "rename_row",
    "skeleton",
    "unguarded",
]

FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    # a headline, and what may come with it
    "headline": ("headline", "title", "text", "news_headline"),
    "category": ("category",),
    "classification": ("classification",),
    "description": ("description",),
    "risk": ("risk_counterfactual",),
    "opportunity": ("opportunity_counterfactual",),
    # an article
    "title": ("title", "headline", "news_headline"),
    "summary": ("summary", "description"),
    "ticker": ("ticker", "stock_ticker", "stock", "symbol"),
    "date": (
        *("date", "published", "published_at", "publication_date", "publish_date", "pub_date"),
    ),
    "url": ("url", "link", "source_url", "public_url"),
    "source": ("source", "publisher"),
    # an article and its rewrite
    "id": ("id", "pair_id"),
    "article_id": ("article_id",),
    "original": ("original", "original_text", "original_news", "original_paragraph"),
    "rewritten": (
        *("rewritten", "rewritten_text", "rewritten_news", "rewritten_paragraph"),
        *("misinformation", "misinformation_text", "manipulated", "text"),
    ),
    "manipulation": ("manipulation", "manipulation_category", "misinformation_type"),
    "rewriter": ("rewriter",),
}
"""By field, the names it is met under; of several in one row, the earlier one counts."""


def fold(name: object) -> str:
    """Return what the spellings of one column's name share."""
    return _folded(str(name))


@lru_cache(maxsize=10_000)
def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.casefold())


def fold_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row by the folded names of its columns."""
    return {fold(name): value for name, value in row.items()}


@cache
def names_of(field: str) -> tuple[str, ...]:
    """Return the folded names of a field, in their order."""
    return tuple(map(fold, FIELD_NAMES[field]))


def column_of(row: Mapping[str, Any], field: str) -> str | None:
    """Return the folded name under which a row has a field, whether or not it is filled.

    Where a field must not be taken from another column because its own is empty (a headline from
    a column with the article's text), this says which column it is.
    """
    return next((name for name in names_of(field) if name in row), None)


def pick(row: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return the first value that a row by folded names has for each field; None if it has none."""
    return {
        field: next((row[n] for n in names_of(field) if n in row and not is_absent(row[n])), None)
        for field in fields
    }


_POINT_ZERO = re.compile(r"(?<=\d)\.0+$")
_NOTHING = frozenset(("", "null", "nan", "<na>", "nat", "#n/a"))
"""What databases, pandas and Excel write for nothing. "NA" and "None" are not among them: the one
is a stock's ticker and a country's code, the other a word that people answer with."""


def is_absent(value: Any) -> bool:
    """Return whether a field has no value: none, a table's NaN, a text of spaces, or ``NULL``.

    ``NULL``, ``NaN``, ``NaT``, ``<NA>`` and ``#N/A``, in any case, are texts that programs write
    for nothing. The cell itself is kept as it is where a table goes out again.
    """
    if isinstance(value, str):
        return value.strip().casefold() in _NOTHING
    return value is None or (isinstance(value, float) and math.isnan(value))


# A spreadsheet takes a cell that begins so for a formula, or drops what it begins with.
_FORMULA = re.compile(r"['=+\-@\t\r\n＝＋－＠]")


def guarded(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe stands before one."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Return a cell as it was before `guarded`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text


def unguarded_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as it was before its texts, and the names of its columns, were guarded."""
    names = [*map(unguarded, row)]
    if len(set(names)) < len(row):  # no file of ours: "'=Ann" stands beside "=Ann"
        names = [*row]
    cells = (unguarded(cell) if isinstance(cell, str) else cell for cell in row.values())
    return dict(zip(names, cells, strict=True))


def guarded_columns(names: Iterable[str]) -> list[str]:
    """Return those columns that a text table has guarded: the scenarios that a model wrote."""
    ends = (*names_of("risk"), *names_of("opportunity"))
    return [name for name in names if fold(name).removeprefix("contrafact") in ends]


def as_json(value: Any) -> Any:
    """Return what JSON has no word for as it has one, for ``json.dumps(…, default=as_json)``."""
    if hasattr(value, "isoformat"):  # dates and times
        return value.isoformat()
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return value.tolist()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def plain(value: Any) -> Any:
    """Return a value as JSON has it; what JSON has no word for is left to ``default=``."""
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def as_cell(value: Any) -> Any:
    """Return a value as a cell has it: lists and objects as JSON."""
    value = plain(value)
    whole = isinstance(value, dict | list)
    return json.dumps(value, ensure_ascii=False, default=str) if whole else value


def present(value: Any, *, top: bool = False) -> Any:
    """Return a value without the keys of its objects that are null, but for those at the top."""
    if isinstance(value, dict):
        return {
            key: present(inner) if isinstance(inner, dict | list) else inner
            for key, inner in value.items()
            if top or inner is not None
        }
    return [*map(present, value)] if isinstance(value, list) else value


def skeleton(name: str) -> str:
    """Return what names that look alike share.

    They may differ in case, in what cannot be seen, in Unicode's forms, and as "7.0" does from "7".
    """
    return _POINT_ZERO.sub("", seen(name).casefold())


def confusable_names(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each name that looks like one before it, behind that one."""
    first: dict[str, str] = {}
    for name in names:
        before = first.setdefault(skeleton(name), name)
        if before != name:
            yield before, name


def refuse_alike(names: Iterable[str], what: str, file: str | Path | None = None) -> None:
    """Refuse names that look alike, by `InputError`: whether they are one is the user's to say."""
    for before, name in confusable_names(names):
        raise InputError(
            f"the {what}s {before!a} and {name!a} look alike",
            file=file,
            hint="write them in one way if they are one, else give one of them another name",
        )


def named_columns(given: Iterable[str] | None) -> dict[str, str]:
    """Return what ``--columns want=have,…`` says: by the name that is wanted, the file's.

    A comma divides where another ``want=`` follows, so that a column's name may hold commas.
    """
    found: dict[str, str] = {}
    for text in given or ():
        for part in re.split(r",(?=[^,=]+=)", text):
            want, equals, have = (side.strip() for side in part.partition("="))
            if not equals or not want or not have:
                raise InputError(
                    f"--columns '{part.strip()[:40]}' is not of the form WANTED=FOUND",
                    hint="write e.g. --columns headline=Schlagzeile",
                )
            if want in found:
                raise InputError(f"--columns names '{want}' twice", hint="name it once")
            found[want] = have
    return found


def checked_columns(columns: dict[str, str], fields: Sequence[str]) -> dict[str, str]:
    """Return what ``--columns`` says, with every wanted name as the reader of rows has it."""
    known = {fold(field): field for field in fields}
    for want in columns:
        if known and fold(want) not in known:
            raise InputError(
                f"--columns: '{want}' is no field that is read here",
                hint=f"use {', '.join(fields)}",
            )
    return {known.get(fold(want), want): have for want, have in columns.items()}


def no_column(have: str, want: str, found: Iterable[object], file: str) -> InputError:
    """Return the error that a file has no column of the name that was given for a field."""
    shown = ", ".join([str(name) for name in found][:12]) or "none"
    return InputError(
        f"there is no column '{have}' for '{want}' (found: {shown})",
        file=file,
        hint=f"name one of these: --columns {want}=NAME",
    )


def rename_row(
    row: Mapping[Any, Any], columns: Mapping[str, str]
) -> tuple[dict[Any, Any], tuple[str, ...]]:
    """Return a row under the names that are wanted, and which of them it has."""
    spelled = {fold(name): name for name in reversed(list(row))}
    sources = {
        want: have if have in row else spelled[fold(have)]
        for want, have in columns.items()
        if have in row or fold(have) in spelled
    }
    taken = {fold(want) for want in sources}
    targets: dict[Any, list[str]] = {}
    for want, source in sources.items():
        targets.setdefault(source, []).append(want)
    renamed: dict[Any, Any] = {}
    for name, value in row.items():
        if name in targets:
            renamed |= dict.fromkeys(targets[name], value)
        elif fold(name) not in taken:
            renamed[name] = value
    return renamed, tuple(sources)


def columns_found(row: Mapping[Any, Any]) -> str:
    """Return a row's first columns as a message names them."""
    return ", ".join(str(name) for name in list(row)[:8]) or "none"


class PackedObject(Mapping[str, Any]):
    """A JSON object as compressed text, which takes a tenth of the memory; unpacked at each look.

    ``dict(found.items())`` unpacks it for good.
    """

    __slots__ = ("_packed",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._packed = zlib.compress(json.dumps(value, default=as_json).encode(), 1)

    def _value(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(zlib.decompress(self._packed))
        return found

    def __getitem__(self, key: str) -> Any:
        return self._value()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._value())

    def __len__(self) -> int:
        return len(self._value())

    def items(self) -> ItemsView[str, Any]:
        """Return its fields, unpacked once for all of them."""
        return self._value().items()
