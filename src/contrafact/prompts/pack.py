"""Prompt packs: folders of templates with named variables, checked before the first call.

A template is a Jinja file, rendered in a sandbox, strictly: a variable that the program does
not know, or one that the program needs and the template lacks, is an error when the template
is opened. Values are put in once and never read as template text themselves.
"""

import hashlib
import re
import shutil
from functools import cached_property
from pathlib import Path

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from contrafact.errors import InputError

__all__ = ["PromptPack", "PromptTemplate", "export_default_pack", "open_pack"]

DEFAULT_PACK = Path(__file__).parent / "default"
SUFFIX = ".jinja"
FAMILIES = frozenset({"finforce", "rfc", "cobe", "training"})
"""The folders of a pack that belong to one family of tasks each, or to training."""


def _environment() -> ImmutableSandboxedEnvironment:
    # Prompts are plain text for a model, not markup: escaping would corrupt them. What is put
    # between delimiters is made safe by text.delimit before it comes here.
    return ImmutableSandboxedEnvironment(
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


class PromptTemplate:
    """One prompt: a template file and the variables it may and must use."""

    def __init__(self, name: str, path: Path, required: frozenset[str], optional: frozenset[str]):
        self.name = name
        self.variables = required | optional
        try:
            source = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(
                f"the prompt pack lacks the template '{name}{SUFFIX}'",
                file=path.parent,
                hint="copy it from `contrafact prompts export DIR`",
            ) from None
        except UnicodeDecodeError as error:
            raise InputError(f"not UTF-8 text ({error.reason})", file=path) from None
        environment = _environment()
        try:
            used = meta.find_undeclared_variables(environment.parse(source))
            self._template = environment.from_string(source)
        except TemplateSyntaxError as error:
            raise InputError(
                f"template syntax: {error.message}", file=path, line=error.lineno
            ) from None
        if unknown := sorted(used - self.variables):
            raise InputError(
                f"unknown variable '{unknown[0]}'",
                file=path,
                line=_line_of(source, unknown[0]),
                hint=f"this template knows: {', '.join(sorted(self.variables))}",
            )
        if missing := sorted(required - used):
            raise InputError(
                f"the variable '{missing[0]}' is never used",
                file=path,
                hint=f"write {{{{ {missing[0]} }}}} where it belongs",
            )
        self._path = path

    def render(self, **values: object) -> str:
        """Return the prompt with every variable filled in.

        Raises:
            InputError: if the template fails on these values (e.g. a forbidden attribute).
            TypeError: if the values are not exactly the template's variables.
        """
        if set(values) != self.variables:
            raise TypeError(f"{self.name} takes {sorted(self.variables)}, got {sorted(values)}")
        try:
            return self._template.render(**values).strip()
        except TemplateError as error:
            raise InputError(f"template: {error.message}", file=self._path) from None


class PromptPack:
    """A folder of prompt templates, named by their path below it, without the suffix."""

    def __init__(self, root: Path):
        self.root = root
        self.name = "default" if root == DEFAULT_PACK else root.name

    def template(
        self, name: str, *, required: set[str], optional: set[str] | None = None
    ) -> PromptTemplate:
        """Open one template and check its variables; see `PromptTemplate`."""
        path = self.root / f"{name}{SUFFIX}"
        return PromptTemplate(name, path, frozenset(required), frozenset(optional or ()))

    @cached_property
    def hash(self) -> str:
        """The first 12 hex digits of a SHA-256 over every template's name and content."""
        return self._hash(frozenset())

    def hash_for(self, family: str) -> str:
        """Return the hash over what a family of tasks may use: all but the other families' folders.

        A run's identity rests on it, so that a new template of another family makes no other run.
        """
        return self._hash(FAMILIES - {family})

    def _hash(self, left_out: frozenset[str]) -> str:
        digest = hashlib.sha256()
        for path in sorted(self.root.rglob(f"*{SUFFIX}")):
            inside = path.relative_to(self.root)
            if inside.parts[0] in left_out:
                continue
            digest.update(inside.as_posix().encode() + b"\x00")
            digest.update(path.read_bytes() + b"\x00")
        return digest.hexdigest()[:12]


def open_pack(folder: str | Path | None = None) -> PromptPack:
    """Return the pack in a folder, or the default pack.

    Raises:
        InputError: if the folder does not exist or holds no template.
    """
    root = DEFAULT_PACK if folder is None else Path(folder).resolve()
    if not root.is_dir():
        raise InputError(
            "no such folder of prompts",
            file=str(folder),
            hint="write one with `contrafact prompts export DIR`",
        )
    if next(root.rglob(f"*{SUFFIX}"), None) is None:
        raise InputError(
            f"holds no {SUFFIX} template",
            file=str(folder),
            hint="write a pack with `contrafact prompts export DIR`",
        )
    return PromptPack(root)


def export_default_pack(folder: Path) -> list[Path]:
    """Write the default pack's templates into a folder and return their paths.

    Raises:
        InputError: if the folder exists and is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("exists and is not an empty folder", file=folder, hint="name a new folder")
    for path in sorted(DEFAULT_PACK.rglob(f"*{SUFFIX}")):
        target = folder / path.relative_to(DEFAULT_PACK)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return sorted(folder.rglob(f"*{SUFFIX}"))


def _line_of(source: str, word: str) -> int:
    for number, line in enumerate(source.splitlines(), start=1):
        if re.search(rf"\b{re.escape(word)}\b", line):
            return number
    return 1
