"""The words around quantities, read once from the data file beside this module."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["alternatives", "cue_data"]


@cache
def cue_data() -> dict[str, Any]:
    """Return the content of ``cues.toml``: movement, roles, scenario and outcome words."""
    return tomllib.loads(files(__package__).joinpath("cues.toml").read_text(encoding="utf-8"))


def alternatives(terms: Iterable[str]) -> str:
    """Return a pattern of whole words that matches any of the terms, longest first."""
    longest_first = sorted(set(terms), key=lambda term: (-len(term), term))
    return "|".join(re.escape(term).replace(r"\ ", r"[\s-]") for term in longest_first)
