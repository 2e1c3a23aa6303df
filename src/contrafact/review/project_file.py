"""A review's project as a TOML file that says all of it, as `load_project` reads it."""

import json
from collections.abc import Mapping
from typing import Any

from contrafact.review.project import Project

__all__ = ["project_toml"]


def project_toml(project: Project) -> str:
    """Return a project as TOML; reading it gives the same project. What is empty is left out."""
    plain = project.model_dump(mode="json", exclude_defaults=True)
    tables = {name: plain.pop(name) for name in ("questions", "stages")}
    lines = [_pair(name, value) for name, value in plain.items()]
    for name, rows in tables.items():
        for row in rows:
            lines += ["", f"[[{name}]]", *(_pair(key, value) for key, value in row.items())]
    return "\n".join(lines) + "\n"


def _pair(name: str, value: Any) -> str:
    if isinstance(value, str) and "\n" in value:
        # Quotes and backslashes are escaped as in JSON, lines stand as they are.
        text = "\n".join(_quoted(line)[1:-1] for line in value.split("\n"))
        return f'{name} = """\n{text}"""'
    return f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_quoted(key)} = {_value(one)}" for key, one in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(_value(one) for one in value)}]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    # TOML's escapes are JSON's but for DEL, which JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
