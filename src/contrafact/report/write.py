"""Tables as CSV, Markdown and LaTeX, and all figures as JSON."""

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import pandas as pd

from contrafact.family.display import (
    MARK,
    MISSING,
    PUBLISHED,
    Column,
    Kind,
    Table,
    format_number,
    missing,
)
from contrafact.files.fields import guarded
from contrafact.files.tables import render_csv
from contrafact.text.delimit import visible_text

__all__ = ["render_json", "row_groups"]

_MARKS = "Marks on the same scale: references and controls, not ranked and not tested"
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "Δ": r"$\Delta$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "−": r"$-$",
    "–": r"--",
    "·": r"$\cdot$",
    "’": r"'",
    "‹": r"\guilsinglleft{}",
    "›": r"\guilsinglright{}",
}


@dataclass(frozen=True)
class Cell:
    """A cell's text: the figure, its interval, its spread; and its rank (1, 2, or 0 for none)."""

    text: str
    kind: Kind
    interval: str = ""
    spread: str = ""
    rank: int = 0

    def more(self, interval: str) -> list[str]:
        spread = [f"sd {self.spread}"] if self.spread else []
        return ([interval] if self.interval else []) + spread


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class RowGroup:
    label: str
    published: bool
    rows: tuple[Row, ...] = field(default_factory=tuple)


def row_groups(table: Table) -> list[RowGroup]:
    """Return the table's lines in groups: those measured here, then published ones.

    The best and second best figures of a column are marked among the lines measured here, by their
    printed form, so that equal figures share their mark. References and controls have no mark and
    stand last. If every line rests on a single cluster, nothing is marked.
    """
    frame, by = table.frame, table.group_by
    source = frame.get("source", pd.Series("", index=frame.index))
    measured, published = frame[source.ne(PUBLISHED)], frame[source.eq(PUBLISHED)]
    papers = [(table.published_label, published)]
    if by is None:
        marks = source[measured.index].eq(MARK)
        parts = [("", measured[~marks]), (_MARKS if (~marks).any() else "", measured[marks])]
    else:
        parts = [(str(name), part) for name, part in measured.groupby(by, sort=False)]
        if by in frame and published[by].notna().all():
            named = published.groupby(by, sort=False)
            papers = [(f"{name}: {table.published_label}", part) for name, part in named]
    return [
        RowGroup(label, printed, _rows(part, table, printed))
        for printed, groups in ((False, parts), (True, papers))
        for label, part in groups
        if len(part)
    ]


def heading_groups(columns: Sequence[Column]) -> list[tuple[str, tuple[Column, ...]]]:
    """Return runs of neighbouring columns with the same group heading."""
    runs = groupby(columns, key=lambda column: column.group)
    return [(heading, tuple(run)) for heading, run in runs]


def _rows(frame: pd.DataFrame, table: Table, printed: bool) -> tuple[Row, ...]:
    """Return lines of cells; lines that a paper has ``printed`` are unchanged and have no marks."""
    unranked = printed or (table.clusters in frame and frame[table.clusters].max() <= 1)
    ranked = frame.mask(frame["source"].eq(MARK)) if "source" in frame.columns else frame
    ranks = {c.key: [0] * len(frame) if unranked else _ranks(ranked, c) for c in table.columns}
    return tuple(
        tuple(_cell(line, column, ranks[column.key][i], printed) for column in table.columns)
        for i, line in enumerate(frame.to_dict("records"))
    )


_PRINTED: frozenset[Kind] = frozenset({"share", "points", "number", "signed"})
"""The kinds of figures that papers print with one more decimal than this report."""


def _cell(line: Mapping[Hashable, object], column: Column, rank: int, printed: bool) -> Cell:
    key, kind = column.key, column.kind
    text = format_number(line.get(key), kind, more_digits=int(printed and kind in _PRINTED))
    low, high = (format_number(line.get(f"{key}_{end}"), kind) for end in ("low", "high"))
    signed = kind in ("points", "signed", "coefficient") or low.startswith("−")
    between = " to " if signed else "–"
    interval = "" if MISSING in (low, high, text) else f"{low}{between}{high}"
    plain: Kind = {"points": "share", "signed": "number"}.get(kind, kind)  # type: ignore[assignment]
    spread = format_number(line.get(f"{key}_sd"), plain)
    return Cell(text, kind, interval, "" if spread == MISSING else spread, rank)


def _ranks(frame: pd.DataFrame, column: Column) -> list[int]:
    """Return 1 for the best, 2 for the second best, 0 otherwise; all 0 if all are equal."""
    unranked = [0] * len(frame)
    if column.better is None or not column.ranked or column.key not in frame.columns:
        return unranked
    scale = 100 if column.kind in ("share", "points") else 1
    digits = 3 if column.kind == "coefficient" else 1
    values = [round(float(value) * scale, digits) for value in frame[column.key].astype(float)]
    distinct = sorted({v for v in values if not math.isnan(v)}, reverse=column.better == "high")
    if len(distinct) < 2:
        return unranked
    return [1 if v == distinct[0] else 2 if v == distinct[1] else 0 for v in values]


def render_table_csv(table: Table) -> str:
    """Return the table's numbers unrounded, with bounds and spread; shares are 0 to 1.

    Hidden characters in names are shown, and an apostrophe stands before a name that a spreadsheet
    would run as a formula.
    """
    frame = table.raw.copy()
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            cells = [guarded(visible_text(v)) if isinstance(v, str) else v for v in frame[column]]
            frame[column] = np.array(cells, dtype=object)
    return render_csv(frame)


def render_markdown(table: Table) -> str:
    """Return the table as GitHub Markdown, the best in bold and the second best underlined."""
    lines = [f"## {_md(table.title)}", "", _md(table.caption), ""]
    headings = [f"{c.group}: {c.heading}" if c.group else c.heading for c in table.columns]
    lines.append("| " + " | ".join(map(_md, headings)) + " |")
    rule = ("---" if column.kind == "text" else "---:" for column in table.columns)
    lines.append("| " + " | ".join(rule) + " |")
    for group in row_groups(table):
        if group.label:
            blank = [""] * (len(table.columns) - 1)
            lines.append("| " + " | ".join([f"*{_md(group.label)}*", *blank]) + " |")
        lines += ["| " + " | ".join(map(_md_cell, row)) + " |" for row in group.rows]
    lines += ["", *(f"- {_md(note)}" for note in table.notes)] if table.notes else []
    return "\n".join(lines).rstrip() + "\n"


def _md(text: str) -> str:
    plain = visible_text(text)
    marked = "".join(f"\\{sign}" if sign in "\\`*_[]|~" else sign for sign in plain)
    return marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _md_cell(cell: Cell) -> str:
    text = _md(cell.text)
    marked = {0: text, 1: f"**{text}**", 2: f"<u>{text}</u>"}[cell.rank]
    more = cell.more(cell.interval)
    return f"{marked} ({'; '.join(map(_md, more))})" if more else marked


def render_latex(table: Table) -> str:
    """Return the table for a LaTeX document that loads booktabs.

    Names in scripts that pdfLaTeX lacks need XeLaTeX or LuaLaTeX.
    """
    spec = "".join("l" if column.kind == "text" else "r" for column in table.columns)
    lines = [
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{_tex(table.title)}. {_tex(table.caption)}}}",
        rf"\label{{tab:{table.key.replace('_', '-')}}}",
        rf"\begin{{tabular}}{{{spec}}}",
        r"\toprule",
        *_tex_heading(table.columns),
        r"\midrule",
    ]
    for i, group in enumerate(row_groups(table)):
        lines += [r"\midrule"] if i else []
        if group.label:
            label = rf"\textit{{{_tex(group.label)}}}"
            lines.append(rf"\multicolumn{{{len(table.columns)}}}{{l}}{{{label}}} \\")
        lines += [" & ".join(map(_tex_cell, row)) + r" \\" for row in group.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\footnotesize {_tex(note)}" for note in table.notes]
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in visible_text(text))


def _tex_heading(columns: Sequence[Column]) -> list[str]:
    lines: list[str] = []
    if any(column.group for column in columns):
        tops, rules, start = [], [], 1
        for heading, run in heading_groups(columns):
            tops.append(rf"\multicolumn{{{len(run)}}}{{c}}{{{_tex(heading)}}}")
            rules += [rf"\cmidrule(lr){{{start}-{start + len(run) - 1}}}"] if heading else []
            start += len(run)
        lines += [" & ".join(tops) + r" \\", "".join(rules)]
    lines.append(" & ".join(_tex(column.heading) for column in columns) + r" \\")
    return lines


def _tex_cell(cell: Cell) -> str:
    text = _tex(cell.text)
    marked = {0: text, 1: rf"\textbf{{{text}}}", 2: rf"\underline{{{text}}}"}[cell.rank]
    more = cell.more(f"[{cell.interval}]")
    return rf"{marked} {{\scriptsize {_tex(' '.join(more))}}}" if more else marked


def render_json(value: object) -> str:
    """Return a value as ASCII JSON; frames become lists of records, missing values null."""
    return json.dumps(_plain(value), indent=1, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, pd.DataFrame):
        return [_plain(row) for row in value.to_dict("records")]
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    if missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value if isinstance(value, str | int | float | bool) else str(value)
