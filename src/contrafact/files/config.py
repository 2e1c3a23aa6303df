"""Reads config files in YAML, with the line of every key, and TOML for projects."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem

__all__ = ["ConfigFile", "nearest", "read_config", "read_toml", "render_config", "require_config"]

_FEW = 12
_MOST_BYTES = 2**18  # of a config file
_MOST_VALUES = 100_000  # that a config file may hold, with aliases expanded
_NO_NUMBER = ("a number or date cannot be read", "put it in quotation marks")


@dataclass(frozen=True)
class ConfigFile:
    """The content of a config file; ``lines`` are the lines of its keys, from 1, if known."""

    path: Path
    values: dict[str, Any]
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def line(self, where: Sequence[object]) -> int | None:
        """Return the line of a key, or if the file lacks it that of the innermost key around it."""
        way = tuple(map(str, where))
        lines = (self.lines[way[:n]] for n in range(len(way), 0, -1) if way[:n] in self.lines)
        return next(lines, None)

    def problem(self, where: Sequence[object], problem: str, hint: str | None = None) -> InputError:
        """Return an error about a key that names the file and the line."""
        return InputError(problem, file=self.path, line=self.line(where), hint=hint)


def nearest(name: str, known: Sequence[str]) -> str:
    """Return a hint for an unknown name: the nearest known one, or all if they are few."""
    close = get_close_matches(name.replace("-", "_"), known, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"use {', '.join(known)}" if len(known) <= _FEW else "check its spelling"


def require_config(source: str | Path) -> None:
    """Raise an `InputError` if a config file does not exist, before heavy imports."""
    if Path(source).suffix and not Path(source).exists():
        hint = "name a YAML file, or a preset (--help lists them)"
        raise InputError("there is no such config", file=source, hint=hint)


def read_config(path: str | Path, *, missing: str | None = None) -> ConfigFile:
    """Read a config file, which is YAML."""
    path = Path(path)
    if (suffix := path.suffix.lower()) in (".toml", ".json"):
        kind = suffix.removeprefix(".").upper()
        raise InputError(f"a config cannot be {kind}", file=path, hint="write it as YAML")
    try:
        if path.stat().st_size > _MOST_BYTES:
            problem = f"is over {_MOST_BYTES:,} bytes, too many for a config"
            raise InputError(problem, file=path, hint="check the path")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        hint = missing or "check the path"
        raise InputError("there is no such config", file=path, hint=hint) from error
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", file=path, hint="save it as UTF-8") from error
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error
    values, lines = _yaml(text, path)
    if not isinstance(values, dict) or not values:
        raise InputError("holds no keys", file=path, hint="write key: value, one per line")
    return ConfigFile(path, {str(key): value for key, value in values.items()}, lines)


def _yaml(text: str, path: Path) -> tuple[Any, dict[tuple[str, ...], int]]:
    import yaml

    lines: dict[tuple[str, ...], int] = {}

    def note(node: Any, at: tuple[str, ...]) -> None:
        for key, value in node.value if isinstance(node.value, list) else ():
            where = (*at, str(key.value))
            line = key.start_mark.line + 1
            if where in lines:
                raise InputError(
                    f"'{where[-1]}' is there twice, first on line {lines[where]}",
                    file=path,
                    line=line,
                    hint="keep one of them",
                )
            lines[where] = line
            if value.id == "mapping":
                note(value, where)

    try:
        loader = _plain_loader()(text)
        node = loader.get_single_node()
        _check_aliases(node, path)
        if node is not None and node.id == "mapping":
            note(node, ())  # before merge keys (<<) add further keys
        values = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise _bad_yaml(error, text, path) from error
    except RecursionError as error:
        raise InputError("not YAML: nested too deeply", file=path) from error
    except ValueError as error:
        problem, hint = _NO_NUMBER
        raise InputError(f"not YAML: {problem}", file=path, hint=hint) from error
    return values, lines


def _check_aliases(top: Any, path: Path) -> None:
    """Refuse aliases that expand to far more than the file holds, or contain themselves."""
    sizes: dict[int, int] = {}  # of nodes, with everything inside them

    def size(node: Any) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = _MOST_VALUES + 1  # a node inside itself is too large
            inner = node.value if isinstance(node.value, list) else ()
            parts = (part for one in inner for part in (one if isinstance(one, tuple) else (one,)))
            sizes[id(node)] = 1 + sum(map(size, parts))
        return sizes[id(node)]

    if top is not None and size(top) > _MOST_VALUES:
        problem = f"its aliases expand to over {_MOST_VALUES:,} values, or contain themselves"
        raise InputError(f"not YAML: {problem}", file=path, hint="write the values out")


def _bad_yaml(error: Any, text: str, path: Path) -> InputError:
    if (at := getattr(error, "position", None)) is not None:  # an error of YAML's character reader
        problem, line = "not YAML: an invisible character", text.count("\n", 0, at) + 1
        return InputError(problem, file=path, line=line, hint="remove it")
    problem = ", ".join(filter(None, (error.context, error.problem)))
    mark = error.context_mark or error.problem_mark  # where the faulty part began
    at_line = None if mark is None else mark.line + 1
    hint = "write key: value, one per line, indent by spaces, and put odd texts in quotes"
    return InputError(f"not YAML: {problem}", file=path, line=at_line, hint=hint)


_RESOLVED = {
    "bool": (r"(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"
        r"|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$",
        "-+.0123456789",
    ),
}
"""The patterns of booleans and numbers in YAML 1.2, and the characters with which they begin."""


@cache
def _plain_loader() -> Any:
    """Return a safe YAML 1.2 loader: ``yes``, ``no`` and dates are texts, ``1e-5`` is a number."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    left_out = ("bool", "timestamp", "float")
    Loader.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in forms if tag.rpartition(":")[2] not in left_out]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for tag, (form, firsts) in _RESOLVED.items():
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(form), list(firsts))
    return Loader


def render_config(values: Mapping[str, Any]) -> str:
    """Return settings as YAML that means the same in versions 1.1 and 1.2, one key per line."""
    import yaml

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        def represent_str(self, data: str) -> Any:
            # Line ends other than the line feed survive only as escapes.
            style = '"' if re.search("[\x85\u2028\u2029]", data) else None
            return self.represent_scalar("tag:yaml.org,2002:str", data, style)

    Dumper.add_representer(str, Dumper.represent_str)
    # A text that either version would read as another type is put in quotes.
    for tag, (form, firsts) in _RESOLVED.items():
        Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(form), list(firsts))
    text: str = yaml.dump(
        dict(values), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1_000
    )
    return text


def read_toml(text: str, name: str | Path) -> dict[str, Any]:
    """Return the content of a TOML text; an `InputError` names the file ``name``."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise InputError("not TOML: nested too deeply", file=name) from error
    except tomllib.TOMLDecodeError as error:
        problem, _, place = str(error).partition(" (at ")
        line_named = re.match(r"line (\d+)", place)
        line = int(line_named.group(1)) if line_named else len(text.rstrip().splitlines()) or 1
        hint = 'write key = "value", one a line'
        raise InputError(f"not TOML: {problem}", file=name, line=line, hint=hint) from error
    except ValueError as error:
        problem, hint = _NO_NUMBER
        raise InputError(f"not TOML: {problem}", file=name, hint=hint) from error
