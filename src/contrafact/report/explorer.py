"""The item explorer's data: every output of a chapter, packed so that no text can act as markup.

The page holds the data as gzip in base64, whose letters can neither open nor close an element; a
script that the page's policy names by its hash unpacks it and inserts texts as text. A column is
a list of distinct values and an index per row, so that a text that many rows share (a headline, a
story) is stored once. Prompts and replies are packed separately, in chunks unpacked on demand.
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
from contrafact.report.marks import filled
from contrafact.text.diff import MANY_CHANGES, SHARED_WORDS

MOST_ITEMS = 20_000
"""The most outputs on a page; if there are more, the page has those of randomly drawn units."""
CHUNK = 200
"""The number of samples whose prompts and replies are unpacked at once."""
_OPEN = "left open, "


@dataclass(frozen=True)
class Packed:
    """The explorer's data: the index to filter and list, and chunks of prompts and replies."""

    index: str
    calls: Sequence[str]
    items: int
    left_out: int = 0


def pack(value: object) -> str:
    """Return a value as compressed JSON; equal values give equal bytes, and no text is changed."""
    plain = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(plain.encode("ascii"), 9, mtime=0)).decode("ascii")


def pack_items(
    data: ChapterData, calls: pd.DataFrame | None, *, best: str = "", most: int = MOST_ITEMS
) -> Packed:
    """Return a chapter's outputs for its explorer; if over ``most``, those of randomly drawn units.

    The system ``best`` is shown beside others until the reader chooses another.
    """
    items = data.items
    unit = ["draw", *data.spec.key]
    if len(items) > most:
        groups = items.groupby(unit, sort=True).ngroup().to_numpy()
        drawn = data.bootstrap.how["rng"].permutation(int(groups.max()) + 1)
        sizes = np.bincount(groups)
        kept = drawn[: int(np.searchsorted(np.cumsum(sizes[drawn]), most, side="right"))]
        items = items[np.isin(groups, kept)]
    left_out = len(data.items) - len(items)
    items = items.reset_index(drop=True)
    chunks, positions = _calls(items, calls, unit)
    invalid = items["valid"].eq(0)
    reasons = items["invalid_reason"].astype(object).fillna("no reason kept")
    index = {
        "unit": data.spec.unit,
        "output": data.spec.output,
        "systems": data.systems,
        "best": list(data.systems).index(best) if best in data.systems else 0,
        "system": items["system"].map(list(data.systems).index).tolist(),
        "draw": items["draw"].tolist(),
        "item": items.groupby(unit, sort=False).ngroup().tolist(),
        **_texts(items, data),
        "state": np.where(invalid, 1, np.where(items["degenerate"].notna(), 2, 0)).tolist(),
        "why": _coded(reasons.where(invalid, items["degenerate"])),
        "said": _coded(_votes(items, data)),
        "pair": _column(items, data.spec.explorer.pair)["codes"],
        "filters": _filters(items, data),
        "flags": _flags(items, data),
        "classes": _classes(items, data.spec.explorer),
        "numbers": _numbers(items, data),
        "details": [*map(_details, items.get("details", pd.Series(dtype=object)))],
        "calls": positions,
        "diff": {"shared": SHARED_WORDS, "changes": MANY_CHANGES},
    }
    return Packed(pack(index), [pack(chunk) for chunk in chunks], len(items), left_out)


def _coded(values: Iterable[object]) -> dict[str, Any]:
    """Return the list of distinct values as texts, and each value's index in it (-1 if missing)."""
    code_of: dict[str, int] = {}
    codes = [-1 if missing(v) else code_of.setdefault(str(v), len(code_of)) for v in values]
    return {"values": list(code_of), "codes": codes}


def _column(items: pd.DataFrame, name: str) -> dict[str, Any]:
    return _coded(items[name] if name in items.columns else [None] * len(items))


def _texts(items: pd.DataFrame, data: ChapterData) -> dict[str, Any]:
    spec = data.spec.explorer
    where = spec.where or tuple(f"{{{name}}}" for name in data.spec.key)
    return {
        "id": _column(items, "sample_id"),
        "where": _coded(" · ".join(filled(row, where)) for row in items.to_dict("records")),
        "before": _column(items, spec.before),
        "text": _column(items, spec.text or data.spec.text),
        "answer": _column(items, spec.answer),
        "note": _column(items, spec.note),
        "facts": [{"label": label, **_column(items, name)} for label, name in spec.facts],
    }


def _votes(items: pd.DataFrame, data: ChapterData) -> list[str | None]:
    """Return who left which verdicts open and why, a panel last, and how its judges voted."""
    key = ["system", "draw", *data.spec.key]
    labels = {one.column: one.short or one.label for one in data.spec.criteria}
    votes = pd.DataFrame() if data.meta.panel is None else data.meta.panel
    parts = [votes]
    judge = items.get("judge", items["system"]).astype(str)
    panel = judge.str.contains(" + ", regex=False)
    left = items[panel | ~items["system"].isin(votes.get("system", ()))]
    rest = left.assign(judge=judge.mask(panel, "the panel"))
    for criterion in labels:
        if (why := f"{criterion}_invalid") in rest.columns:
            unread = rest.dropna(subset=why).rename(columns={why: "why"})
            unread = unread[[*key, "judge", "why"]].rename(columns={"why": "invalid"})
            parts.append(unread.assign(criterion=criterion, passed=math.nan))
    by_output: dict[tuple[str, ...], dict[tuple[str, str], list[str]]] = {}
    columns = [*key, "criterion", "judge", "passed", "invalid"]
    for *of, criterion, judge, vote, why in pd.concat(parts).reindex(columns=columns).to_numpy():
        verdict = {1.0: "passed", 0.0: "failed"}.get(vote) or f"{_OPEN}{why or 'no reason kept'}"
        by_verdict = by_output.setdefault(tuple(map(str, of)), {})
        by_verdict.setdefault((str(judge), verdict), []).append(labels.get(criterion, criterion))
    keys = items[key].astype(str).itertuples(index=False, name=None)
    return [
        "\n".join(f"{', '.join(n)}, {judge}: {v}" for (judge, v), n in by_output[of].items())
        if of in by_output
        else None
        for of in keys
    ]


def _filters(items: pd.DataFrame, data: ChapterData) -> list[dict[str, Any]]:
    spec = data.spec
    usual = [name for name in spec.key if name != "sample_id"]
    usual += [by.name for by in spec.breakdowns if by.parts is None or by.name in items.columns]
    wanted = spec.explorer.filters or tuple(
        (name, name.replace("_", " ").capitalize()) for name in dict.fromkeys(usual)
    )
    if items["draw"].nunique() > 1:
        wanted = (*wanted, ("draw", "Draw"))
    filters = [{"label": label, **_column(items, name)} for name, label in wanted]
    return [choice for choice in filters if len(choice["values"]) > 1]


def _named(data: ChapterData) -> dict[str, str]:
    spec = data.spec
    named = {criterion.column: criterion.short or criterion.label for criterion in spec.criteria}
    for measure in spec.measures:
        if measure.units is None and measure.compute is None:
            named.setdefault(measure.column_of("valid"), measure.name_with_group())
    return named | dict(spec.explorer.columns)


def _flags(items: pd.DataFrame, data: ChapterData) -> list[dict[str, Any]]:
    """Return each row's verdicts and other flags: 1 yes, 0 no, 2 left open, -1 none.

    A criterion without reasons of its own, which sums up others, is left open where another is.
    """
    spec = data.spec
    judged = {criterion.column for criterion in spec.criteria}
    shown = judged | {name for name, _ in spec.explorer.columns}
    shown |= {m.column_of("valid") for m in spec.measures if m.better == "high"}
    reasons = items.filter([f"{name}_invalid" for name in judged]).notna()
    any_open = reasons.any(axis="columns")
    flags = []
    for column, label in _named(data).items():
        if column not in shown - {"valid"} or column not in items or not _is_flag(items[column]):
            continue
        codes, words = items[column].fillna(-1).astype(int), ("yes", "no", "not measured")
        if column in judged:
            words = ("passed", "failed", "not asked")
            codes = codes.mask(codes.lt(0) & reasons.get(f"{column}_invalid", any_open), 2)
        if codes.ge(0).any():
            flags.append({"label": label, "words": words, "codes": codes.tolist()})
    return flags


def _is_flag(values: "pd.Series[Any]") -> bool:
    numbers = pd.to_numeric(values, errors="coerce").dropna()
    return bool(numbers.isin((0.0, 1.0)).all())


def _classes(items: pd.DataFrame, spec: Explorer) -> list[dict[str, Any]]:
    classes = []
    for column, label in spec.classes:
        if column not in items.columns:
            continue
        numbers = pd.to_numeric(items[column], errors="coerce")
        if numbers.notna().any() and _is_flag(numbers):
            classes.append({"label": label, "rows": np.flatnonzero(numbers.eq(1)).tolist()})
            continue
        coded = _column(items, column)
        for code, name in sorted(enumerate(coded["values"]), key=lambda pair: pair[1]):
            rows = [i for i, code_of_row in enumerate(coded["codes"]) if code_of_row == code]
            classes.append({"label": f"{label}: {name}", "rows": rows})
    return [one for one in classes if one["rows"]]


def _numbers(items: pd.DataFrame, data: ChapterData) -> list[dict[str, Any]]:
    columns = []
    for column, label in _named(data).items():
        if column not in items.columns or column == "valid":
            continue
        numbers = pd.to_numeric(items[column], errors="coerce")
        if numbers.notna().any() and not _is_flag(items[column]):
            values = [None if math.isnan(v) else float(f"{v:.6g}") for v in numbers.astype(float)]
            columns.append({"label": label, "values": values})
    return columns


def _details(value: object) -> dict[str, str] | None:
    """Return an item's details, given as a mapping or its JSON, as labels and texts."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {"": str(value)}
    if not isinstance(value, Mapping):
        return None
    return {str(k): _plain(v) for k, v in value.items() if not missing(v)} or None


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
    texts: dict[tuple[Any, ...], list[tuple[str, str]]] = {}
    keys = calls[on].astype(str).itertuples(index=False, name=None)
    for key, prompt, reply in zip(keys, calls["prompt"], calls["reply"], strict=True):
        texts.setdefault(key, []).append((str(prompt), str(reply)))
    position: dict[tuple[Any, ...], int] = {}  # of the samples on the page, by key
    keys = items[on].astype(str).itertuples(index=False, name=None)
    positions = [position.setdefault(k, len(position)) if k in texts else -1 for k in keys]
    shown: list[object] = [texts[key] for key in position]
    return [shown[start : start + CHUNK] for start in range(0, len(shown), CHUNK)], positions
