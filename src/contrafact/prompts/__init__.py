"""Prompt packs: templates with named variables, checked before the first call.

The templates of the default pack are in the folders ``prompts`` of the families' packages; a method
may have its own in a folder ``prompts`` next to its module. A named pack is in folders
``packs/NAME`` and has only what differs from the default one: templates, and worked examples. A
user's pack is one folder with a subfolder for each family. A template is a Jinja file, rendered in
a sandbox: opening it fails if it uses a variable that the program does not know, or lacks one that
the program needs. Values are never read as template text themselves.
"""

import hashlib
import re
import shutil
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from contrafact.errors import InputError
from contrafact.options import absolute
from contrafact.plugins import family_folders

__all__ = [
    "SUFFIX",
    "PromptPack",
    "PromptTemplate",
    "bundled_packs",
    "default_templates",
    "export_pack",
    "import_pack",
    "open_pack",
    "pack_source",
    "plain_environment",
    "template_hash",
]

SUFFIX = ".jinja"


def bundled_packs() -> dict[str, list[str]]:
    """Return the packs besides the default one, each with the templates that differ from it."""
    found: dict[str, list[str]] = {}
    for family, folder in sorted(family_folders().items()):
        for path in sorted((folder / "packs").glob(f"*/*{SUFFIX}")):
            found.setdefault(path.parent.name, []).append(f"{family}/{path.stem}")
    return found


def default_templates() -> dict[str, Path]:
    """Return the files of the default pack, by template name."""
    return {
        f"{family}/{path.relative_to(folder / 'prompts').with_suffix('').as_posix()}": path
        for family, folder in sorted(family_folders().items())
        for path in sorted((folder / "prompts").rglob(f"*{SUFFIX}"))
    }


def plain_environment() -> ImmutableSandboxedEnvironment:
    """Return the sandbox in which templates of plain text are rendered."""
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
        environment = plain_environment()
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
        self.source = source
        self._path = path

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the compiled template, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_template"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _template=plain_environment().from_string(state["source"]))

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
    """The prompt templates of a user's folder, of a named pack, or the default ones.

    A pack remembers which templates were opened, so that only those decide the identity of a run.

    Args:
        root: A user's folder, with a subfolder for each family; None for a bundled pack.
        name: The name of a bundled pack.
    """

    def __init__(self, root: Path | None = None, name: str = "default"):
        self.root = root
        self.name = name if root is None else root.name
        self.source = name if name != "default" else root and str(root)
        """What `open_pack` opens it by; None for the default pack."""
        self._own: dict[str, Path] = {}
        self._sources: dict[str, str] = {}

    def template(
        self, name: str, *, required: set[str], optional: set[str] | None = None
    ) -> PromptTemplate:
        """Open one template and check its variables; see `PromptTemplate`.

        Args:
            name: The family (or method) and the template, as in ``finforce/generate``.
            required: The variables that it must use.
            optional: The variables that it may use.
        """
        opened = PromptTemplate(
            name, self._path(name), frozenset(required), frozenset(optional or ())
        )
        self._sources[name] = opened.source
        return opened

    def mount(self, name: str, folder: Path) -> None:
        """Find templates named ``name/…`` in a folder if the pack has no folder for them."""
        self._own[name] = folder

    def examples(self, bundled: Path) -> Path:
        """Return the pack's file of worked examples in place of the bundled ones, if it has one."""
        family = bundled.parent.parent
        folder = self.root / family.name if self.root else family / "packs" / self.name
        own = folder / bundled.name
        return own if own.is_file() else bundled

    @property
    def sources(self) -> dict[str, str]:
        """The texts of the templates opened so far, by name."""
        return dict(sorted(self._sources.items()))

    @property
    def used(self) -> dict[str, str]:
        """The first 12 hex digits of the SHA-256 of each template opened so far, by name."""
        return {name: template_hash(source) for name, source in self.sources.items()}

    @property
    def used_hash(self) -> str:
        """The first 12 hex digits of a SHA-256 over the templates opened so far."""
        return template_hash("".join(f"{name}\0{one}\0" for name, one in self.used.items()))

    def _path(self, name: str) -> Path:
        first, _, rest = name.partition("/")
        if self.root is not None:
            path = self.root / f"{name}{SUFFIX}"
            if path.exists() or first not in self._own:
                return path
        if first in self._own:
            return self._own[first] / f"{rest}{SUFFIX}"
        folder = family_folders().get(first)
        if folder is None:
            raise InputError(f"no family and no method has the template '{name}'")
        named = folder / "packs" / self.name / f"{rest}{SUFFIX}"
        return named if named.is_file() else folder / "prompts" / f"{rest}{SUFFIX}"


def open_pack(folder: str | Path | None = None) -> PromptPack:
    """Return the bundled pack of that name, the pack in a folder, or the default pack.

    A bundled pack's name stands for it even if a folder here has that name: such a folder is given
    by its absolute path.

    Raises:
        InputError: if the folder does not exist or holds no template.
    """
    if folder is None or str(folder) == "default":
        return PromptPack()
    if str(folder) in bundled_packs():
        return PromptPack(name=str(folder))
    root = Path(folder).resolve()
    if not root.is_dir():
        raise InputError(
            "no such folder of prompts, and no pack of that name",
            file=str(folder),
            hint=f"write one with `contrafact prompts export DIR`, or name {_names()}",
        )
    if next(root.rglob(f"*{SUFFIX}"), None) is None:
        raise InputError(
            f"holds no {SUFFIX} template",
            file=str(folder),
            hint="write a pack with `contrafact prompts export DIR`",
        )
    return PromptPack(root)


def pack_source(folder: Path | None) -> str | None:
    """Return a pack's name, or its folder for processes with another working folder."""
    return str(folder) if str(folder) in bundled_packs() else absolute(folder)


def export_pack(folder: Path, name: str = "default") -> list[Path]:
    """Write a pack's templates and examples into a folder, by family, and return their paths.

    Raises:
        InputError: if the folder exists and is not empty, or there is no such pack.
    """
    if name != "default" and name not in bundled_packs():
        raise InputError(f"no prompt pack is named '{name}'", hint=f"name {_names()}")
    _check_new(folder)
    files = {Path(f"{one}{SUFFIX}"): path for one, path in default_templates().items()}
    for family, place in family_folders().items():
        for path in (place / "packs" / name).glob("*"):
            files[Path(family, path.name)] = path
    for relative, path in files.items():
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return [folder / relative for relative in files]


def _check_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("exists and is not an empty folder", file=folder, hint="name a new folder")


_HEADING = re.compile(r"^#+[ \t]*([\w.-]+/[\w./-]+)[ \t]*$", re.MULTILINE)
_SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}|\{(\w+)\}|\[(\w+)\]")
_EXAMPLES = re.compile(r"\{% for shot in shots %\}.*?\{% endfor %\}", re.DOTALL)


def import_pack(file: Path, folder: Path) -> dict[str, list[str]]:
    """Write the sections of a text as a pack's templates, for a paper's exact words.

    A section begins with a heading that names a template of the default pack (``# FAMILY/NAME``).
    In it ``{headline}`` or ``[headline]`` is the variable of that name, and ``{shots}`` the default
    template's examples; all else, braces too, is the prompt's own text.

    Returns:
        For each template, the variables of the default one that the section does not use.

    Raises:
        InputError: The text has no such section, or one twice, or the folder is not empty.
    """
    _check_new(folder)
    try:
        before, *found = _HEADING.split(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text ({error.reason})", file=file) from None
    names, known = [name.removesuffix(SUFFIX) for name in found[::2]], default_templates()
    if before.strip() or not names:
        hint = f"head each section with a template's name, such as # {next(iter(known))}"
        raise InputError("does not begin with a section", file=file, hint=hint)
    for name in names:
        if name not in known or names.count(name) > 1:
            problem = "is there twice" if name in known else "is no template"
            near = get_close_matches(name, known) or [next(iter(known))]
            hint = f"use, each once, {', '.join(near)}"
            raise InputError(f"'{name}' {problem}", file=file, hint=hint)
    lacking: dict[str, list[str]] = {}
    for name, text in zip(names, found[1::2], strict=True):
        source, lacking[name] = _as_template(text.strip(), known[name].read_text(encoding="utf-8"))
        target = folder / f"{name}{SUFFIX}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source, encoding="utf-8")
    return lacking


def _as_template(text: str, default: str) -> tuple[str, list[str]]:
    """Return the template of a prompt's text, and the default's variables that it does not use."""
    variables = meta.find_undeclared_variables(plain_environment().parse(default))
    examples, pieces, used, end = _EXAMPLES.search(default), list[str](), set[str](), 0
    for slot in _SLOT.finditer(text):
        word = str(slot[1] or slot[2] or slot[3]).casefold()
        if word in variables:
            filled = examples[0] if word == "shots" and examples else f"{{{{ {word} }}}}"
            pieces += [text[end : slot.start()], filled]
            used, end = used | {word}, slot.end()
    pieces.append(text[end:])
    pieces[::2] = [
        f"{{% raw %}}{own}{{% endraw %}}" if re.search(r"\{[{%#]", own) else own
        for own in pieces[::2]
    ]
    return "".join(pieces) + "\n", sorted(variables - used)


def template_hash(source: str) -> str:
    """Return the first 12 hex digits of a template's SHA-256, as in manifests."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def _names() -> str:
    return " or ".join(("default", *bundled_packs()))


def _line_of(source: str, word: str) -> int:
    lines = enumerate(source.splitlines(), start=1)
    return next((at for at, line in lines if re.search(rf"\b{re.escape(word)}\b", line)), 1)
