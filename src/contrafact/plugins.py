"""How the families that are installed are found: one group of entry points, ours like anyone's."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

__all__ = ["FAMILY_GROUP", "family_entries", "family_folders"]

FAMILY_GROUP = "contrafact.families"
"""The entry-point group. An entry's name is the family's, its value the family's object."""


@cache
def family_entries() -> tuple[EntryPoint, ...]:
    """Return the entry points of the group, by name."""
    return tuple(sorted(entry_points(group=FAMILY_GROUP), key=lambda entry: entry.name))


@cache
def family_folders() -> Mapping[str, Path]:
    """Return each family's folder, by the family's name: the package of the family's object."""
    found = {}
    for entry in family_entries():
        spec = find_spec(entry.module.rpartition(".")[0])
        for place in (spec.submodule_search_locations or []) if spec else []:
            found[entry.name] = Path(place)
    return found
