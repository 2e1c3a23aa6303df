"""A text with its changes marked, and why an output has none, for pages and tables."""

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import Any

import pandas as pd
from markupsafe import Markup

from contrafact.text.delimit import inner_html, shorten
from contrafact.text.diff import is_scattered, word_diff

__all__ = ["marked_text"]

_TAGS = {"same": "{}", "removed": "<del>{}</del>", "added": "<ins>{}</ins>"}


def filled(row: Mapping[Any, Any], templates: Sequence[str]) -> Iterator[str]:
    """Yield the templates filled in from a row, except those with a missing value."""
    for template in templates:
        names = [name for _, name, *_ in Formatter().parse(template) if name]
        if not any(pd.isna(row[name]) for name in names):
            yield template.format_map({name: row[name] for name in names})


def why_invalid(row: "pd.Series[Any]") -> str | None:
    """Return why an output could not be read; None if it could."""
    if row["valid"] == 1:
        return None
    return "no reason kept" if pd.isna(row["invalid_reason"]) else str(row["invalid_reason"])


def marked_text(before: str, after: str, limit: int) -> Markup:
    """Return a text as escaped markup of at most ``limit`` characters, with edits marked.

    Words removed from the text ``before`` are struck through, added ones are underlined. If the
    texts share too little for useful marks, there are none.
    """
    text = shorten(after, limit)[0]
    parts = word_diff(shorten(before, limit)[0], text)
    if is_scattered(parts):
        return inner_html(text)
    pieces = []
    for part in parts:
        # Spaces stay outside the marks, so that marks begin and end with words.
        words = part.text.strip(" ")
        pieces += [" "] if part.text.startswith(" ") else []
        pieces += [Markup(_TAGS[part.kind]).format(inner_html(words))] if words else []
        pieces += [" "] if words and part.text.endswith(" ") else []
    return Markup("").join(pieces)
