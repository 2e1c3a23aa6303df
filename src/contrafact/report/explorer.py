"""The item explorer's data: every output of a chapter, packed so that it is text and nothing else.

The page holds the data as gzip in base64, whose letters can end no element and start none; a script
that the page's policy names by its hash unpacks it and writes texts as texts. Columns of few values
are codes into a list; texts that many rows share (a headline, a story) stand once. What was sent to
models and what came back is packed apart, in chunks that are unpacked when they are asked for.
"""

import base64
import gzip
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from contrafact.family.display import format_number, missing
from contrafact.family.report import ChapterData, Explorer
from contrafact.report.examples import filled
from contrafact.text.diff import MANY_CHANGES, SHARED_WORDS

MOST_ITEMS = 20_000
"""So many outputs are on a page; of more, those of units drawn at random."""
CHUNK = 200
"""So many samples' prompts and replies are unpacked at once."""
_NOT_MEASURED = -1


@dataclass(frozen=True)
class Packed:
    """The explorer's data: what is filtered and listed, and chunks of prompts and replies."""

    index: str
    calls: Sequence[str]
    items: int
    left_out: int = 0


def pack(value: object) -> str:
    """Return a value as compressed JSON, always the same; any text comes back as it was."""
    plain = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(plain.encode("ascii"), 9, mtime=0)).decode("ascii")


def unpack(packed: str) -> Any:
    """Return what was packed."""
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def pack_items(
    data: ChapterData, calls: pd.DataFrame | None, *, best: str = "", most: int = MOST_ITEMS
) -> Packed:
    """Return the outputs of a chapter as its explorer shows them.

    ``calls`` are what was sent to models and came back, as `contrafact.runs.items.RunItems` has it.
    The system ``best`` stands beside others until another is chosen. Of more than ``most`` outputs,
    whole units are drawn at random.
    """
    items = data.items
    unit = ["draw", *data.spec.key]
    if len(items) > most:
        groups = items.groupby(unit, sort=True).ngroup().to_numpy()
        drawn = data.streams["opening"].permutation(int(groups.max()) + 1)
        sizes = np.bincount(groups)
        kept = drawn[: int(np.searchsorted(np.cumsum(sizes[drawn]), most, side="right"))]
        items = items[np.isin(groups, kept)]
    left_out = len(data.items) - len(items)
    items = items.reset_index(drop=True)
    chunks, places = _calls(items, calls, unit)
    index = {
        "unit": data.spec.unit,
        "output": data.spec.output,
        "systems": data.systems,
        "best": list(data.systems).index(best) if best in data.systems else 0,
        "system": items["system"].map(list(data.systems).index).tolist(),
        "item": items.groupby(unit, sort=False).ngroup().tolist(),
        **_texts(items, data),
        "state": np.where(
            items["valid"].eq(0), 1, np.where(items["degenerate"].notna(), 2, 0)
        ).tolist(),
        "why": _coded(_why(items)),
        "filters": _filters(items, data),
        "flags": _flags(items, data),
        "classes": _classes(items, data.spec.explorer),
        "numbers": _numbers(items, data),
        "details": [_details(one) for one in items.get("details", pd.Series(dtype=object))],
        "calls": places,
        "diff": {"shared": SHARED_WORDS, "changes": MANY_CHANGES},
    }
    return Packed(pack(index), [pack(chunk) for chunk in chunks], len(items), left_out)


def _coded(values: Iterable[str | None]) -> dict[str, Any]:
    """Return texts as codes into a list of them; what is missing is -1."""
    place: dict[str, int] = {}
    codes = [-1 if one is None else place.setdefault(one, len(place)) for one in values]
    return {"values": list(place), "codes": codes}


def _column(items: pd.DataFrame, name: str) -> list[str | None]:
    if not name or name not in items.columns:
        return [None] * len(items)
    return [None if missing(value) else str(value) for value in items[name]]


def _texts(items: pd.DataFrame, data: ChapterData) -> dict[str, Any]:
    spec, examples = data.spec.explorer, data.spec.examples
    named = tuple(f"{{{name}}}" for name in data.spec.key)
    where = [w for w in examples.where or named if "{system}" not in w]
    return {
        "id": _coded(_column(items, "sample_id")),
        "where": _coded(" · ".join(filled(row, where)) for row in items.to_dict("records")),
        "before": _coded(_column(items, spec.before or examples.text)),
        "text": _coded(_column(items, spec.text or data.spec.text)),
        "answer": _coded(_column(items, spec.answer)),
        "note": _coded(_column(items, spec.note)),
        "facts": [
            {"label": label, **_coded(_column(items, name))} for label, name in examples.facts
        ],
    }


def _why(items: pd.DataFrame) -> list[str | None]:
    """Return why outputs are invalid or no answer."""
    reasons = zip(items["invalid_reason"], items["degenerate"], items["valid"], strict=True)
    return [
        ("no reason kept" if missing(invalid) else str(invalid)) if valid == 0 else none
        for invalid, none, valid in reasons
    ]


def _filters(items: pd.DataFrame, data: ChapterData) -> list[dict[str, Any]]:
    spec = data.spec
    usual = [name for name in spec.key if name != "sample_id"]
    usual += [one.name for one in spec.breakdowns if one.parts is None or one.name in items.columns]
    wanted = spec.explorer.filters or tuple(
        (name, name.replace("_", " ").capitalize()) for name in dict.fromkeys(usual)
    )
    if items["draw"].nunique() > 1:
        wanted = (*wanted, ("draw", "Draw"))
    found = [{"label": label, **_coded(_column(items, name))} for name, label in wanted]
    return [one for one in found if len(one["values"]) > 1]


def _named(data: ChapterData) -> dict[str, str]:
    """Return the columns of criteria, measures and what the spec names besides, with labels."""
    spec = data.spec
    named = {one.column: one.short or one.label for one in spec.criteria}
    for measure in spec.measures:
        if measure.units is None and measure.compute is None:
            words = f"{measure.group}: {measure.label}" if measure.group else measure.label
            named.setdefault(measure.column_of("valid"), words.removesuffix(", %"))
    return named | dict(spec.explorer.columns)


def _flags(items: pd.DataFrame, data: ChapterData) -> list[dict[str, Any]]:
    """Return verdicts and other yes and no of every row: 1, 0, 2 for unread, -1 for none."""
    judged = {one.column for one in data.spec.criteria}
    shown = judged | {name for name, _ in data.spec.explorer.columns}
    shown |= {one.column_of("valid") for one in data.spec.measures if one.better == "high"}
    found = []
    for column, label in _named(data).items():
        if column not in shown - {"valid"} or column not in items or not _is_flag(items[column]):
            continue
        codes = items[column].fillna(_NOT_MEASURED).astype(int)
        unread = items.get(f"{column}_invalid")
        if unread is not None:
            codes = codes.mask(unread.notna(), 2)
        if (codes != _NOT_MEASURED).any():
            words = ("passed", "failed") if column in judged else ("yes", "no")
            found.append({"label": label, "words": words, "codes": codes.tolist()})
    return found


def _is_flag(values: "pd.Series[Any]") -> bool:
    numbers = pd.to_numeric(values, errors="coerce").dropna()
    return bool(numbers.isin((0.0, 1.0)).all())


def _classes(items: pd.DataFrame, spec: Explorer) -> list[dict[str, Any]]:
    found = []
    for column, label in spec.classes:
        if column not in items.columns:
            continue
        numbers = pd.to_numeric(items[column], errors="coerce")
        if numbers.notna().any() and _is_flag(numbers):
            found.append({"label": label, "rows": np.flatnonzero(numbers.eq(1)).tolist()})
            continue
        texts = _column(items, column)
        for name in sorted({text for text in texts if text is not None}):
            rows = [i for i, text in enumerate(texts) if text == name]
            found.append({"label": f"{label}: {name}", "rows": rows})
    return [one for one in found if one["rows"]]


def _numbers(items: pd.DataFrame, data: ChapterData) -> list[dict[str, Any]]:
    """Return what rows can be sorted by, and how it reads."""
    found = []
    for column, label in _named(data).items():
        if column not in items.columns or column == "valid":
            continue
        numbers = pd.to_numeric(items[column], errors="coerce")
        if numbers.notna().any() and not _is_flag(items[column]):
            values = [None if math.isnan(v) else float(f"{v:.6g}") for v in numbers.astype(float)]
            found.append({"label": label, "values": values})
    return found


def _details(value: object) -> dict[str, str] | None:
    """Return an item's details as labels and texts: of a mapping, or of the JSON of one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {"": str(value)}
    if not isinstance(value, Mapping):
        return None
    return {str(k): _plain(one) for k, one in value.items() if not missing(one)} or None


def _plain(value: object) -> str:
    if isinstance(value, float):
        return format_number(value, "number" if value.is_integer() else "coefficient")
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return ", ".join(map(_plain, value))
    return str(value)


def _calls(
    items: pd.DataFrame, calls: pd.DataFrame | None, unit: Sequence[str]
) -> tuple[list[list[object]], list[int]]:
    if calls is None or calls.empty:
        return [], []
    on = [name for name in ("system", *unit) if name in calls.columns]
    wanted: dict[tuple[Any, ...], int] = {}
    names = list(items[on].astype(str).itertuples(index=False, name=None))
    texts: dict[tuple[Any, ...], list[tuple[str, str]]] = {}
    keys = calls[on].astype(str).itertuples(index=False, name=None)
    for key, prompt, reply in zip(keys, calls["prompt"], calls["reply"], strict=True):
        texts.setdefault(key, []).append((str(prompt), str(reply)))
    places = [wanted.setdefault(name, len(wanted)) if name in texts else -1 for name in names]
    found = [texts[name] for name in wanted]
    chunks: list[list[object]] = [
        list(found[start : start + CHUNK]) for start in range(0, len(found), CHUNK)
    ]
    return chunks, places
