"""Tables as CSV, Markdown and LaTeX, and all figures as JSON."""

import json
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

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
    "±": r"$\pm$",
}
_BREAKS = ("/", r"\_")


@dataclass(frozen=True)
class Cell:
    """A cell's text: the figure, its interval, its spread; and whether it is marked as the best."""

    text: str
    kind: Kind
    interval: str = ""
    spread: str = ""
    best: bool = False

    @property
    def more(self) -> list[str]:
        spread = [f"sd {self.spread}"] if self.spread else []
        return ([self.interval] if self.interval else []) + spread


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class RowGroup:
    label: str
    published: bool
    rows: tuple[Row, ...] = field(default_factory=tuple)


def row_groups(table: Table) -> list[RowGroup]:
    """Return the table's lines in groups: those measured here, then published ones.

    The best figure of a column is marked among the lines measured here, unless another lies inside
    its interval or it has none. References and controls have no mark and stand last. If every line
    rests on a single cluster, nothing is marked.
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
    best = {c.key: None if unranked else _best(ranked, c) for c in table.shown}
    more = {c.key: _more_digits(frame, c) if printed else 0 for c in table.shown}
    return tuple(
        tuple(_cell(line, c, best[c.key] == i, more[c.key]) for c in table.shown)
        for i, line in enumerate(frame.to_dict("records"))
    )


_PRINTED: frozenset[Kind] = frozenset({"share", "points", "number", "signed"})
"""The kinds of figures that papers may print with one more decimal than this report."""


def _more_digits(frame: pd.DataFrame, column: Column) -> int:
    """Return 1 if the figures that a paper prints have one more decimal than this report's."""
    if column.kind not in _PRINTED or column.key not in frame:
        return 0
    scaled = frame[column.key].astype(float) * (100 if column.kind in ("share", "points") else 1)
    return int((scaled.round(1) - scaled.round(2)).abs().gt(1e-6).any())


def _cell(line: Mapping[Hashable, Any], column: Column, best: bool, more_digits: int) -> Cell:
    key = column.key
    kind: Kind = line.get(f"{key}_kind", column.kind)
    text = format_number(line.get(key), kind, more_digits=more_digits)
    low, high = (format_number(line.get(f"{key}_{end}"), kind) for end in ("low", "high"))
    signed = kind in ("points", "signed", "coefficient") or low.startswith("−")
    between = " to " if signed else "–"
    interval = "" if MISSING in (low, high, text) else f"{low}{between}{high}"
    plain: Kind = {"points": "share", "signed": "number"}.get(kind, kind)  # type: ignore[assignment]
    spread = format_number(line.get(f"{key}_sd"), plain)
    return Cell(text, kind, interval, "" if spread == MISSING else spread, best)


def _best(frame: pd.DataFrame, column: Column) -> int | None:
    """Return the line of the best figure, if it has an interval and no other lies inside it."""
    ends = [f"{column.key}{end}" for end in ("", "_low", "_high")]
    if column.better is None or not column.ranked or not {*ends} <= {*frame.columns}:
        return None
    values, lows, highs = frame[ends].to_numpy(float).T
    known = np.flatnonzero(~np.isnan(values))
    if len(known) < 2:
        return None
    best = int(known[np.argmax(values[known] * (1 if column.better == "high" else -1))])
    others = np.delete(values[known], np.flatnonzero(known == best))
    inside = (others >= lows[best]) & (others <= highs[best])
    return None if math.isnan(lows[best]) or inside.any() else best


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
    """Return the table as GitHub Markdown, the best in bold."""
    lines = [f"## {_md(table.title)}", "", _md(table.caption), ""]
    headings = [f"{c.group}: {c.heading}" if c.group else c.heading for c in table.shown]
    lines.append("| " + " | ".join(map(_md, headings)) + " |")
    rule = ("---" if column.kind == "text" else "---:" for column in table.shown)
    lines.append("| " + " | ".join(rule) + " |")
    for group in row_groups(table):
        if group.label:
            blank = [""] * (len(table.shown) - 1)
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
    marked = f"**{text}**" if cell.best else text
    return f"{marked} ({'; '.join(map(_md, cell.more))})" if cell.more else marked


_TEX_ROOM = 62
"""How many characters of ``\\scriptsize`` fit the width of a two-column paper's column."""
_TEX_SMALL = 0.8
"""The width of a character of ``\\tiny``, in those."""
_TEX_TEXT = 20
"""The least characters that a column of texts is given, which are wrapped."""
_TEX_LINES, _TEX_HEAD = 60, 6
"""How many such lines fit a page below a caption, and how many a part's heading takes."""


def render_latex(table: Table, task: str) -> str:
    """Return a task's table for a LaTeX document that loads booktabs and array.

    It fits a column of a two-column paper: intervals stand under their figures, columns for which
    there is no room follow in further parts, a text that all lines share stands below, and what
    is longer than a page goes on in another float. Names in scripts that pdfLaTeX lacks need
    XeLaTeX or LuaLaTeX.
    """
    groups, columns = row_groups(table), table.shown
    rows = [row for group in groups for row in group.rows]
    texts = [place for place, column in enumerate(columns) if column.kind == "text" and place]
    shared = [place for place in texts if len({row[place].text for row in rows}) == 1]
    wide = [_tex_wide(column, [row[place] for row in rows]) for place, column in enumerate(columns)]
    opened = [r"\begin{table}", r"\centering\scriptsize\setlength{\tabcolsep}{2pt}"]
    lines = [*opened, rf"\caption{{{_tex(table.title)}. {_tex(table.caption)}}}"]
    lines.append(rf"\label{{tab:{task}-{table.key.replace('_', '-')}}}")
    used = 0
    for part in _tex_parts(columns, wide, shared):
        text = _tex_text(columns, wide, part)
        for chunk, height in _tex_chunks(groups, part, text * 0.9):
            if used and used + height > _TEX_LINES:
                lines += [r"\end{table}", *opened, rf"\caption{{{_tex(table.title)}, continued.}}"]
                used = 0
            used += height
            lines += [*_tex_part(columns, chunk, part, text / _TEX_ROOM), r"\par\medskip"]
    notes = [f"{columns[place].heading}: {rows[0][place].text}." for place in shared]
    notes = [_tex(note, breaks=True) for note in (*notes, *table.notes)]
    lines[-1:] = [rf"\par\footnotesize {note}" for note in notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _tex_parts(
    columns: Sequence[Column], wide: Sequence[float], shared: Sequence[int]
) -> list[list[int]]:
    """Return the places of the columns of each part, figures before texts; the first column, if a
    text, is in all.
    """
    first = [0] if columns[0].kind == "text" else []
    rest = [place for place in range(len(first), len(columns)) if place not in shared]
    parts = [[*first]]
    for place in sorted(rest, key=lambda place: columns[place].kind == "text"):
        denominator = [one for one in rest if one == place + 1 and columns[one].heading == "of"]
        more = [*parts[-1], place, *denominator]
        full = _tex_width(columns, wide, more) > _TEX_ROOM and columns[place].heading != "of"
        if full and len(more) > len(first) + 1:
            parts.append([*first])
        parts[-1].append(place)
    return parts


def _tex_wide(column: Column, cells: Sequence[Cell]) -> float:
    words = [*column.heading.split(), *(cell.text for cell in cells)]
    small = [_TEX_SMALL * len(text) for cell in cells for text in cell.more]
    return 2 + (_TEX_TEXT if column.kind == "text" else max(*map(len, words), *small, 0))


def _tex_width(columns: Sequence[Column], wide: Sequence[float], part: Sequence[int]) -> float:
    """Return the width of a part, in which a group's heading may be wider than its columns."""
    total, places = 0.0, list(part)
    for heading, run in heading_groups([columns[place] for place in part]):
        total += max(sum(wide[places.pop(0)] for _ in run), len(heading) + 2)
    return total


def _tex_text(columns: Sequence[Column], wide: Sequence[float], part: Sequence[int]) -> int:
    """Return the characters of each column of texts of a part, which share what figures leave."""
    texts = sum(columns[place].kind == "text" for place in part)
    left = _TEX_ROOM - _tex_width(columns, wide, part)
    return _TEX_TEXT + max(0, int(left / max(texts, 1)))


def _tex_chunks(
    groups: Sequence[RowGroup], part: Sequence[int], room: float
) -> Iterator[tuple[list[RowGroup], int]]:
    """Yield groups of rows that fit a page, with their height in lines; a paper's rows without a
    figure in this part are left out.
    """
    chunk: list[RowGroup] = []
    used = _TEX_HEAD
    for group in groups:
        of_part = ([row[place].text for place in part[1:]] for row in group.rows)
        if group.published and all({*texts} == {MISSING} for texts in of_part):
            continue
        for row in group.rows:
            cells = [row[place] for place in part]
            wraps = (math.ceil(len(cell.text) / room) for cell in cells if cell.kind == "text")
            height = max(1, *wraps, *(1 + len(cell.more) for cell in cells))
            if chunk and used + height > _TEX_LINES:
                yield chunk, used
                chunk, used = [], _TEX_HEAD
            if not chunk or chunk[-1].label != group.label:
                chunk.append(replace(group, rows=()))
                used += 1
            chunk[-1] = replace(chunk[-1], rows=(*chunk[-1].rows, row))
            used += height
    if chunk:
        yield chunk, used


def _tex_part(
    columns: Sequence[Column], groups: Sequence[RowGroup], part: Sequence[int], share: float
) -> list[str]:
    shown = [columns[place] for place in part]
    wrapped = rf">{{\raggedright\arraybackslash}}p{{{share:.2f}\columnwidth}}"
    spec = "".join(wrapped if column.kind == "text" else "r" for column in shown)
    lines = [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", *_tex_heading(shown), r"\midrule"]
    for i, group in enumerate(groups):
        lines += [r"\midrule"] if i else []
        if group.label:
            label = rf"p{{.97\columnwidth}}}}{{\textit{{{_tex(group.label)}}}}}"
            lines.append(rf"\multicolumn{{{len(part)}}}{{{label} \\")
        for row in group.rows:
            lines.append(" & ".join(_tex_cell(row[place]) for place in part) + r" \\")
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _tex(text: str, *, breaks: bool = False) -> str:
    """Return a text with LaTeX's signs escaped; with ``breaks``, a line may end within a name."""
    signs = (_LATEX.get(sign, sign) for sign in visible_text(text))
    return "".join(
        rf"{sign}\allowbreak{{}}" if breaks and sign in _BREAKS else sign for sign in signs
    )


def _tex_heading(columns: Sequence[Column]) -> list[str]:
    lines: list[str] = []
    if any(column.group for column in columns):
        tops, rules, start = [], [], 1
        for heading, run in heading_groups(columns):
            tops.append(rf"\multicolumn{{{len(run)}}}{{c}}{{{_tex(heading)}}}")
            rules += [rf"\cmidrule(lr){{{start}-{start + len(run) - 1}}}"] if heading else []
            start += len(run)
        lines += [" & ".join(tops) + r" \\", "".join(rules)]
    lines.append(" & ".join(map(_tex_head, columns)) + r" \\")
    return lines


def _tex_head(column: Column) -> str:
    """Return a heading whose words stand below each other over numbers."""
    words = [_tex(word) for word in column.heading.split()]
    stacked = r"\\".join(words)
    return " ".join(words) if column.kind == "text" else rf"\shortstack[r]{{{stacked}}}"


def _tex_cell(cell: Cell) -> str:
    """Return a cell, with its interval and spread below its figure."""
    text = _tex(cell.text, breaks=cell.kind == "text")
    text = rf"\textbf{{{text}}}" if cell.best else text
    if not cell.more:
        return text
    lines = r"\\".join((text, *(rf"{{\tiny {_tex(more)}}}" for more in cell.more)))
    return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{lines}\end{{tabular}}"


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
