"""Reading projects: everything that can be wrong with one is found when it is read."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem
from contrafact.review.project import Project
from contrafact.review.soundness import first_problem

__all__ = ["builtin_projects", "load_project", "project_from"]

_MEND = "compare it with a built-in project: contrafact review project NAME"


def builtin_projects() -> tuple[str, ...]:
    """Return the names of the projects that ship."""
    folder = files("contrafact.review").joinpath("projects")
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load_project(name: str | Path) -> Project:
    """Return a project: a built-in one by name, or one from a TOML file.

    Raises:
        InputError: There is none, or it is not sound; the message says what is wrong with it.
    """
    if isinstance(name, str) and name in builtin_projects():
        text = files("contrafact.review").joinpath("projects", f"{name}.toml").read_text("utf-8")
        return project_from(text, name)
    path = Path(name)
    if not path.exists() and path.suffix != ".toml":
        raise InputError(
            f"there is no review project '{name}'",
            hint=f"name one of {', '.join(builtin_projects())}, or a .toml file",
        )
    try:
        return project_from(path.read_text("utf-8"), path)
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", file=path, hint="save it as UTF-8") from error
    except FileNotFoundError as error:
        raise InputError("no such file", file=path, hint="check the path") from error
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error


def project_from(text: str, name: str | Path) -> Project:
    """Return the project that a TOML text describes; ``name`` is for messages.

    Raises:
        InputError: It is no TOML, or no sound project.
    """
    try:
        project = Project.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not TOML: {error}", file=name, hint="mend the file") from error
    except ValidationError as error:
        raise InputError(_said(error.errors()[0]), file=name, hint=_MEND) from error
    problem = first_problem(project)
    if problem:
        raise InputError(problem, file=name, hint=_MEND)
    return project


def _said(first: Any) -> str:
    place = ".".join(str(part) for part in first["loc"])
    return f"{place + ': ' if place else ''}{first['msg'].removeprefix('Value error, ')}"
