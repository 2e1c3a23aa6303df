"""The words around quantities, read once from the data file beside this module."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["cue_data"]


@cache
def cue_data() -> dict[str, Any]:
    """Return the content of ``cues.toml``: movement, roles, scenario and outcome words."""
    return tomllib.loads(files(__package__).joinpath("cues.toml").read_text(encoding="utf-8"))
