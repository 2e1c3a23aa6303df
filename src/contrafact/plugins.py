"""How the families that are installed are found: one group of entry points, ours like anyone's."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

__all__ = ["FAMILY_GROUP", "family_entries", "prompt_folders"]

FAMILY_GROUP = "contrafact.families"
"""The entry-point group. An entry's name is the family's, its value the family's object."""


@cache
def family_entries() -> tuple[EntryPoint, ...]:
    """Return the entry points of the group, by name."""
    return tuple(sorted(entry_points(group=FAMILY_GROUP), key=lambda entry: entry.name))


@cache
def prompt_folders() -> Mapping[str, Path]:
    """Return the folder of each family's templates, by the family's name.

    It is the folder ``prompts`` of the package in which the family's object is.
    """
    found = {}
    for entry in family_entries():
        spec = find_spec(entry.module.rpartition(".")[0])
        for place in (spec.submodule_search_locations or []) if spec else []:
            found[entry.name] = Path(place) / "prompts"
    return found
