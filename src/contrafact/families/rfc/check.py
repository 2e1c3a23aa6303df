"""What is in a file of pairs: what is wrong with it, what is odd, and its statistics.

RFC-BENCH, section 2.1. Nothing is left out: a row that cannot be used is a violation, named by its
line, and the others are counted all the same. Whether pairs keep the contract of their manipulation
is another question, which ``contrafact rfc check`` answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from contrafact.errors import InputError
from contrafact.families.rfc.data import PairNotes, read_pairs
from contrafact.families.rfc.labels import manipulation_named
from contrafact.family.data import DataReport, DataSpec, DataTable
from contrafact.files.fields import column_of, fold_row, value_of
from contrafact.files.tables import Row
from contrafact.records import MANIPULATIONS, Rewrite

__all__ = ["SPEC", "check_pairs"]


def check_pairs(rows: Iterable[Row], name: str) -> DataReport:
    """Return what is in a file of pairs, by manipulation, and what is wrong with its rows.

    Args:
        rows: The rows with their lines.
        name: What messages call the file.
    """
    notes = PairNotes()
    refused: list[InputError] = []
    pairs = read_pairs(rows, name, notes, refused=refused.append)
    violations = tuple(
        f"line {error.line}: {error.problem}" + (f"; {error.hint}" if error.hint else "")
        for error in refused
    )
    articles = len({pair.article_id for pair in pairs})
    contents: list[str | DataTable] = [
        f"{notes.rows:,} rows, {len(pairs):,} pairs that can be used, of {articles:,} articles."
    ]
    if pairs:
        own = {m: [pair for pair in pairs if pair.manipulation == m] for m in MANIPULATIONS}
        columns = ("manipulation", "pairs", "articles", "words of originals", "of rewrites")
        table = tuple(_row(manipulation, some) for manipulation, some in own.items())
        contents.append(DataTable("Pairs by manipulation (words: medians)", columns, table))
    return DataReport(notes.rows, tuple(contents), violations, tuple(notes.lines()))


def _row(manipulation: str, pairs: Sequence[Rewrite]) -> tuple[str, ...]:
    articles = len({pair.article_id for pair in pairs})
    texts = ([pair.original for pair in pairs if pair.original], [p.rewritten for p in pairs])
    words = [f"{median(len(t.split()) for t in some):,.0f}" if some else "" for some in texts]
    return (manipulation, f"{len(pairs):,}", f"{articles:,}", *words)


def _recognises(row: Mapping[str, Any]) -> bool:
    columns = fold_row(row)
    named = column_of(columns, "manipulation") is not None
    return named or manipulation_named(value_of(columns, "category")) is not None


SPEC = DataSpec(recognises=_recognises, check=check_pairs)
"""Files of pairs: what ``rfc rewrite`` and ``rfc release`` write, or any table of that kind."""
