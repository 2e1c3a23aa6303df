"""The report on a file of pairs: violations, oddities and statistics.

RFC-BENCH, section 2.1. Nothing is left out: a row that cannot be used is a violation, named by its
line, and the others are still counted. Whether pairs keep the contract of their manipulation is
another question, which ``contrafact rfc check`` answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from contrafact.errors import InputError
from contrafact.families.rfc.data import (
    REPEATED,
    PairNotes,
    content_of,
    label_conflicts,
    read_pairs,
)
from contrafact.families.rfc.labels import manipulation_named
from contrafact.families.rfc.records import MANIPULATIONS, Rewrite
from contrafact.family.data import DataReport, DataSpec, DataTable, repeats, violations_of
from contrafact.files.fields import column_of, fold_row, pick
from contrafact.files.tables import Row


def check_pairs(rows: Iterable[Row], name: str) -> DataReport:
    """Return the report on a file of pairs: counts by manipulation, and what is wrong with rows."""
    notes, refused = PairNotes(), list[InputError]()
    pairs = read_pairs(rows, name, notes, refused=refused.append)
    by_manipulation = {m: [pair for pair in pairs if pair.manipulation == m] for m in MANIPULATIONS}
    columns = ("manipulation", "pairs", "articles", "words of originals", "of rewrites")
    lines = []
    for kind, some in by_manipulation.items():
        words = ([one.original for one in some if one.original], [one.rewritten for one in some])
        lines.append((kind, f"{len(some):,}", _articles(some), *map(_words, words)))
    table = DataTable("Pairs by manipulation (words: medians)", columns, tuple(lines))
    what = f"{len(pairs):,} pairs that can be used, of {_articles(pairs)} articles."
    placed = [(notes.places[pair.id], pair) for pair in pairs]
    violations = [
        *violations_of(refused, "pair", notes.duplicates),
        *repeats("pair", ((line, "\n".join(content_of(pair))) for line, pair in placed)),
        *label_conflicts(placed),
    ]
    notes.found.pop(REPEATED, None)  # a violation here
    contents = (f"{notes.rows:,} rows, {what}", *([table] if pairs else ()))
    return DataReport(notes.rows, contents, tuple(violations), tuple(notes.lines()))


def _articles(pairs: Sequence[Rewrite]) -> str:
    return f"{len({pair.article_id for pair in pairs}):,}"


def _words(texts: Iterable[str]) -> str:
    counts = [len(text.split()) for text in texts]
    return f"{median(counts):,.0f}" if counts else ""


def _recognises(row: Mapping[str, Any]) -> bool:
    columns = fold_row(row)
    named = column_of(columns, "manipulation") is not None
    return named or manipulation_named(pick(columns, ("category",))["category"]) is not None


SPEC = DataSpec(recognises=_recognises, check=check_pairs)
"""Files of pairs: what ``rfc rewrite`` and ``rfc release`` write, or any table of that kind."""
