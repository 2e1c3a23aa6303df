"""What commands of the family share: options, and counts below a name."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from contrafact.errors import InputError

__all__ = ["Bands", "absolute", "counts_below", "refuse_unused"]

Bands = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Bands of length, as `rfc calibrate --out` writes them."),
]


def absolute(path: Path | None) -> str | None:
    """Return a path as the processes of other machines find it."""
    return None if path is None else str(path.absolute())


def counts_below(counts: Counter[str], start: str) -> Counter[str]:
    """Return the counts whose names begin so, by the rest of their names."""
    return Counter({k.removeprefix(start): n for k, n in counts.items() if k.startswith(start)})


def refuse_unused(options: Mapping[str, bool], why: str, hint: str) -> None:
    """Raise an `InputError` for the first option that is given and has no use."""
    for option in (name for name, given in options.items() if given):
        raise InputError(f"{option} has no use {why}", hint=hint)
