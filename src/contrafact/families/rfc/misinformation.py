"""The 13 kinds of financial misinformation, and the manipulations that each can work by (table 8).

RFC-BENCH, appendix C, after Rangapur et al. (2023).
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from contrafact.records import Manipulation

__all__ = ["MisinformationType", "misinformation_types", "types_of"]


@dataclass(frozen=True)
class MisinformationType:
    """One kind of misinformation; ``by`` says, per manipulation, how it makes use of it."""

    name: str
    by: dict[Manipulation, str]


@cache
def misinformation_types() -> tuple[MisinformationType, ...]:
    """Return the 13 kinds, in the order of table 8; two of them work by no manipulation."""
    text = files("contrafact.families.rfc").joinpath("misinformation.toml").read_text("utf-8")
    return tuple(
        MisinformationType(entry["name"], entry.get("by", {}))
        for entry in tomllib.loads(text)["type"]
    )


def types_of(manipulation: Manipulation) -> tuple[str, ...]:
    """Return the kinds of misinformation that a manipulation can serve: an item's tags."""
    return tuple(kind.name for kind in misinformation_types() if manipulation in kind.by)
