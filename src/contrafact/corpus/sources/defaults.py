"""What the papers asked their sources for: keywords, tickers, windows."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["Defaults", "defaults"]


@dataclass(frozen=True)
class Defaults:
    """One source's questions in the paper that used it."""

    asked: tuple[str, ...]
    """Keywords or tickers."""
    since: str
    """First day of the paper's window, YYYY-MM-DD."""
    until: str
    """Its last day."""


@cache
def defaults() -> dict[str, Defaults]:
    """Return FIN-FORCE's keywords (``newsapi``) and RFC-BENCH's tickers (``yahoo``)."""
    file = resources.files("contrafact.corpus.sources").joinpath("defaults.toml")
    found = tomllib.loads(file.read_text("utf-8"))
    return {
        name: Defaults(tuple(entry.get("keywords") or entry["tickers"]), entry["from"], entry["to"])
        for name, entry in found.items()
    }
