"""The paper's settings as data (FIN-FORCE, section 4, B.1 and B.2)."""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

__all__ = ["PRESETS"]

_FILE = resources.files("contrafact.families.finforce") / "presets.json"

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "finforce-paper": json.loads(_FILE.read_text(encoding="utf-8"))["settings"]
}
