"""The column names under which the program finds its fields in files.

A column's name is compared without case, spaces, hyphens and underscores, so that "News Headline",
"news_headline" and "newsHeadline" are the same name.
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
    "summary": ("summary", "description", "text"),
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
"""The column names of each field; if a row has several of them, the earliest counts."""


def fold(name: object) -> str:
    """Return a column's name without case, spaces, hyphens and underscores."""
    return _folded(str(name))


@lru_cache(maxsize=10_000)
def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.casefold())


def fold_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row with folded column names."""
    return {fold(name): value for name, value in row.items()}


@cache
def names_of(field: str) -> tuple[str, ...]:
    """Return the folded names of a field, in order of priority."""
    return tuple(map(fold, FIELD_NAMES[field]))


def column_of(row: Mapping[str, Any], field: str) -> str | None:
    """Return the folded name of the column that holds a field, even if its cell is empty.

    It serves fields that must not be taken from another column if their own is empty (a headline
    from a column with the article's text).
    """
    return next((name for name in names_of(field) if name in row), None)


def pick(row: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return for each field the first value in a row with folded names, or None."""
    return {
        field: next((row[n] for n in names_of(field) if n in row and not is_absent(row[n])), None)
        for field in fields
    }


_POINT_ZERO = re.compile(r"(?<=\d)\.0+$")
_NOTHING = frozenset(("", "null", "nan", "<na>", "nat", "#n/a"))
"""Texts that databases, pandas and Excel write for missing values. "NA" (a stock's ticker and a
country's code) and "None" (a word that people answer with) are not among them."""


def is_absent(value: Any) -> bool:
    """Return whether a cell has no value: None, NaN, a blank text, or a text such as ``NULL``.

    Programs write ``NULL``, ``NaN``, ``NaT``, ``<NA>`` and ``#N/A``, in any case, for missing
    values. When a table is written again, its cells stay as they are.
    """
    if isinstance(value, str):
        return value.strip().casefold() in _NOTHING
    return value is None or (isinstance(value, float) and math.isnan(value))


# A spreadsheet reads a cell that begins so as a formula, or drops its first character.
_FORMULA = re.compile(r"['=+\-@\t\r\n＝＋－＠]")


def guarded(text: str) -> str:
    """Return a cell's text, with an apostrophe in front if it could be read as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Return a cell as it was before `guarded`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text


def unguarded_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as it was before its texts, and the names of its columns, were guarded."""
    names = [*map(unguarded, row)]
    if len(set(names)) < len(row):  # not a file of this program: it has both "'=Ann" and "=Ann"
        names = [*row]
    cells = (unguarded(cell) if isinstance(cell, str) else cell for cell in row.values())
    return dict(zip(names, cells, strict=True))


def guarded_columns(names: Iterable[str]) -> list[str]:
    """Return the columns that are guarded in a text table: scenarios written by a model."""
    ends = (*names_of("risk"), *names_of("opportunity"))
    return [name for name in names if fold(name).removeprefix("contrafact") in ends]


def as_json(value: Any) -> Any:
    """Return a JSON value for an object that JSON lacks, for ``json.dumps(…, default=as_json)``."""
    if hasattr(value, "isoformat"):  # dates and times
        return value.isoformat()
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return value.tolist()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def plain(value: Any) -> Any:
    """Return a value with dates, arrays and NaN as JSON values; others are left to ``default=``."""
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
    """Return a value for a table's cell: lists and objects become JSON text."""
    value = plain(value)
    whole = isinstance(value, dict | list)
    return json.dumps(value, ensure_ascii=False, default=str) if whole else value


def present(value: Any, *, top: bool = False) -> Any:
    """Return a value without null keys in its objects; ``top`` keeps those at the top level."""
    if isinstance(value, dict):
        return {
            key: present(inner) if isinstance(inner, dict | list) else inner
            for key, inner in value.items()
            if top or inner is not None
        }
    return [*map(present, value)] if isinstance(value, list) else value


def skeleton(name: str) -> str:
    """Return a form of a name that is equal for names that look alike.

    These may differ in case, invisible characters, Unicode forms, and like "7.0" and "7".
    """
    return _POINT_ZERO.sub("", seen(name).casefold())


def confusable_names(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of an earlier name and a later, different name that looks like it."""
    first: dict[str, str] = {}
    for name in names:
        before = first.setdefault(skeleton(name), name)
        if before != name:
            yield before, name


def refuse_alike(names: Iterable[str], what: str, file: str | Path | None = None) -> None:
    """Raise an `InputError` if names look alike: the user must say if they are the same."""
    for before, name in confusable_names(names):
        raise InputError(
            f"the {what}s {before!a} and {name!a} look alike",
            file=file,
            hint="spell them the same if they are the same, otherwise rename one of them",
        )


def named_columns(given: Iterable[str] | None) -> dict[str, str]:
    """Return the names in ``--columns want=have,…``: the file's column by the wanted name.

    A comma separates entries only if another ``want=`` follows, so that names may contain commas.
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
    """Return the names in ``--columns`` with the wanted names in the program's spelling."""
    known = {fold(field): field for field in fields}
    for want in columns:
        if known and fold(want) not in known:
            raise InputError(
                f"--columns: '{want}' is not a field that is read here",
                hint=f"use {', '.join(fields)}",
            )
    return {known.get(fold(want), want): have for want, have in columns.items()}


def no_column(have: str, want: str, found: Iterable[object], file: str) -> InputError:
    """Return the error that a file has no column ``have``, which was given for a field."""
    shown = ", ".join([str(name) for name in found][:12]) or "none"
    return InputError(
        f"there is no column '{have}' for '{want}' (found: {shown})",
        file=file,
        hint=f"name one of these: --columns {want}=NAME",
    )


def rename_row(
    row: Mapping[Any, Any], columns: Mapping[str, str]
) -> tuple[dict[Any, Any], tuple[str, ...]]:
    """Return a row with columns renamed to the wanted names, and the wanted names that it has."""
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
    """Return the names of a row's first columns for a message."""
    return ", ".join(str(name) for name in list(row)[:8]) or "none"


class PackedObject(Mapping[str, Any]):
    """A JSON object as compressed text, which takes a tenth of the memory.

    It is unpacked at each access; ``dict(packed.items())`` returns an unpacked copy.
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
        """Return its fields, unpacking it only once."""
        return self._value().items()
