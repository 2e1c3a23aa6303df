"""Find installed families, our own and others', and executors through entry points."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

__all__ = ["FAMILY_GROUP", "executor_entries", "family_entries", "family_folders"]

FAMILY_GROUP = "contrafact.families"
"""The entry-point group of families: name of the family, and its `Family` object."""


EXECUTOR_GROUP = "contrafact.executors"
"""The group of executors: the name for ``--engine``, and the engine
(`contrafact.stages.run.Executor`)."""


def executor_entries() -> dict[str, EntryPoint]:
    """Return the entry points of executors, by name."""
    return {entry.name: entry for entry in entry_points(group=EXECUTOR_GROUP)}


@cache
def family_entries() -> tuple[EntryPoint, ...]:
    """Return the entry points of families, sorted by name."""
    return tuple(sorted(entry_points(group=FAMILY_GROUP), key=lambda entry: entry.name))


@cache
def family_folders() -> Mapping[str, Path]:
    """Return each family's folder, by the family's name: the folder of its object's package."""
    found = {}
    for entry in family_entries():
        spec = find_spec(entry.module.rpartition(".")[0])
        for place in (spec.submodule_search_locations or []) if spec else []:
            found[entry.name] = Path(place)
    return found
