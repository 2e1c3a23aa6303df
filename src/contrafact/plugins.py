"""How what is installed besides is found: families, ours like anyone's, and executors."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

__all__ = ["EXECUTOR_GROUP", "FAMILY_GROUP", "executor_entries", "family_entries", "family_folders"]

FAMILY_GROUP = "contrafact.families"
"""The entry-point group. An entry's name is the family's, its value the family's object."""


EXECUTOR_GROUP = "contrafact.executors"
"""An entry's name is what ``--engine`` takes, its value an executor, with settings at the end."""


def executor_entries() -> dict[str, EntryPoint]:
    """Return the entry points of executors, by name."""
    return {entry.name: entry for entry in entry_points(group=EXECUTOR_GROUP)}


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
