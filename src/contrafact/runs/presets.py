"""Presets: a paper's setting as data, filled in where the user says nothing."""

import json
from pathlib import Path
from typing import Any

from contrafact.errors import InputError

__all__ = ["load_preset", "preset_names"]

_FOLDER = Path(__file__).parent / "presets"


def preset_names() -> list[str]:
    """Return the names of the presets that ship."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def load_preset(name: str) -> dict[str, Any]:
    """Return a preset's settings: fields of `RunSettings`, without those that only explain.

    Raises:
        InputError: if there is no such preset.
    """
    if name not in preset_names():
        raise InputError(
            f"there is no preset '{name}'", hint=f"use one of {', '.join(preset_names())}"
        )
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return dict(found["settings"])
