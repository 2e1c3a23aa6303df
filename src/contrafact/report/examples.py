"""A chapter's examples: units drawn at random with each system's output and its edits marked."""

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from contrafact.family.display import Card, Chip, Example
from contrafact.family.report import ChapterData, Examples, ReportSpec
from contrafact.text.delimit import inner_html, shorten
from contrafact.text.diff import DiffPart, is_scattered, word_diff

__all__ = ["marked_text"]

_LIMIT = 2_400
"""The largest number of a text's characters that are shown."""
_TAGS = {"same": "{}", "removed": "<del>{}</del>", "added": "<ins>{}</ins>"}


def draw_examples(data: ChapterData, *, count: int = 20, rng: np.random.Generator) -> list[Example]:
    """Draw units at random, with the systems' outputs for them in the first few-shot draw."""
    items = data.items
    first = items[items["draw"].eq(items.groupby("system")["draw"].transform("min"))]
    build = data.spec.examples.build or _by_column
    return [build(part, data) for part in _choose_examples(first, data, count=count, rng=rng)]


def _choose_examples(
    rows: pd.DataFrame, data: ChapterData, *, count: int, rng: np.random.Generator
) -> list[pd.DataFrame]:
    """Return the rows of each example, chosen as the spec says.

    Units are in random order, with a unit of every cluster before a second of any. If an example
    shows one system, the systems take turns over the units, for equal shares.
    """
    spec = data.spec.examples
    by = list(spec.by or data.spec.key)
    needed = [name for name in dict.fromkeys((*by, spec.cluster)) if name]
    units = rows[needed].drop_duplicates(by).sort_values(by, kind="stable")
    chosen = units.iloc[rng.permutation(len(units))]
    if spec.cluster:
        turn = chosen.groupby(spec.cluster).cumcount()
        chosen = chosen.loc[turn.sort_values(kind="stable").index]
    names = list(chosen[by].itertuples(index=False, name=None))
    if not spec.in_turn:
        parts = rows.groupby(by, sort=False)
        return [parts.get_group(name) for name in names[:count]]
    systems = list(dict.fromkeys(rows["system"]))
    apart = rows.groupby(["system", *by], sort=False).indices
    pairs = [
        (systems[(i + turn) % len(systems)], *name)
        for turn in range(len(systems))
        for i, name in enumerate(names)
    ]
    chosen_pairs = [pair for pair in dict.fromkeys(pairs) if pair in apart]
    return [rows.iloc[apart[pair]] for pair in chosen_pairs[:count]]


def _by_column(rows: pd.DataFrame, data: ChapterData) -> Example:
    """Return an example made from the spec's columns, with a card for every output."""
    spec = data.spec.examples
    row = rows.iloc[0]
    return Example(
        where=" · ".join(filled(row, spec.where or tuple(f"{{{n}}}" for n in data.spec.key))),
        text=str(row[spec.text]) if spec.text else "",
        facts=[(label, str(row[name])) for label, name in spec.facts if not pd.isna(row[name])],
        cards=[
            _card(line, data, spec)
            for system in data.systems
            for _, line in rows[rows["system"].eq(system)].iterrows()
        ],
    )


def filled(row: "pd.Series[Any] | Mapping[Any, Any]", templates: Sequence[str]) -> Iterator[str]:
    """Yield the templates filled in from a row, except those with a missing value."""
    for template in templates:
        names = [name for _, name, *_ in Formatter().parse(template) if name]
        if not any(pd.isna(row[name]) for name in names):
            yield template.format_map({name: row[name] for name in names})


def _card(row: "pd.Series[Any]", data: ChapterData, spec: Examples) -> Card:
    title = str(row[spec.card])
    by_system = spec.card == "system"
    valid = row["valid"] == 1
    return Card(
        title if by_system else title.capitalize(),
        str(row[data.spec.text]) if valid else None,
        before=str(row[spec.text]) if spec.text else None,
        invalid=why_invalid(row) or "",
        chips=list(_chips(row, data.spec)) if valid else (),
        tone="" if by_system else title,
    )


def why_invalid(row: "pd.Series[Any]") -> str | None:
    """Return why an output could not be read; None if it could."""
    if row["valid"] == 1:
        return None
    return "no reason kept" if pd.isna(row["invalid_reason"]) else str(row["invalid_reason"])


def _chips(row: "pd.Series[Any]", spec: ReportSpec) -> Iterator[Chip]:
    if row["degenerate"] is not None:
        yield Chip(f"Degenerate: {row['degenerate']}", "no")
    for criterion in spec.criteria:
        name, label = criterion.column, criterion.short or criterion.label
        if f"{name}_invalid" not in row.index:
            continue
        if not pd.isna(row[f"{name}_invalid"]):
            yield Chip(f"{label}: verdict unread", "unread", str(row[f"{name}_invalid"]))
        elif not pd.isna(row[name]):
            probability = row.get(f"{name}_probability", float("nan"))
            more = f"probability of {criterion.answers[0]} {probability:.2f}"
            more = "" if pd.isna(probability) else more
            passed = row[name] == 1
            text = f"{label}: {'passed' if passed else 'failed'}"
            yield Chip(text, "yes" if passed else "no", more)
    yield from map(Chip, filled(row, spec.examples.chips))


class _Marked(NamedTuple):
    """A text as markup, and how many characters are left out.

    ``whole`` is set if it has no marks, because it shares too little with the original text.
    """

    html: Markup
    left_out: int
    whole: bool = False


def marked_text(card: Card, limit: int = _LIMIT) -> _Marked:
    """Return a card's text as escaped markup of at most ``limit`` characters, with edits marked.

    Removed words are struck through, added words are underlined. If the texts share too little for
    useful marks, there are none.
    """
    text, left_out = shorten(card.text or "", limit)
    if card.before is None:
        return _Marked(inner_html(text), left_out)
    before, before_left_out = shorten(card.before, limit)
    parts = word_diff(before, text)
    if "added" not in card.marks:
        text, left_out = before, before_left_out
    if is_scattered(parts):
        return _Marked(inner_html(text), left_out, whole=True)
    shown = [part for part in parts if part.kind in card.marks]
    return _Marked(Markup("").join(_pieces(shown)), left_out)


def _pieces(parts: Sequence[DiffPart]) -> Iterator[Markup]:
    for part in parts:
        # Spaces stay outside the marks, so that marks begin and end with words.
        words = part.text.strip(" ")
        if part.text.startswith(" "):
            yield Markup(" ")
        if words:
            yield Markup(_TAGS[part.kind]).format(inner_html(words))
            yield Markup(" " if part.text.endswith(" ") else "")


def shown_example(example: Example) -> dict[str, Any]:
    return {
        "where": example.where,
        "text": shorten(example.text, _LIMIT),
        "facts": [(label, shorten(text, _LIMIT)) for label, text in example.facts],
        "cards": [(card, marked_text(card)) for card in example.cards],
        "answers": example.answers,
    }
