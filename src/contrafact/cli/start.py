"""``contrafact init``, ``methods``, ``prompts``: a small project, methods, and prompt packs."""

import ast
import re
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import typer

from contrafact.family import task_named, tasks
from contrafact.files.atomic import write_folder
from contrafact.options import Options, argument, command, option

prompts = typer.Typer(help="Prompt packs.", no_args_is_help=True)

_FILES = {
    "README.md": "readme.txt",
    "headlines.csv": "headlines.csv",
    "run.yaml": "run.yaml",
    "mine/terse.py": "method.txt",
    ".github/workflows/check.yml": "workflow.yml",
}
"""The files of the project, with their names in the package."""


class _Init(Options):
    folder: Path = argument("DIR", "A new folder, or an empty one.")


@command
def init(options: _Init) -> None:
    """Write a small project that runs: headlines, a run's options, a method, tests, a CI workflow.

    It runs offline with the embedded model; its README.md explains how, and how to replace each of
    data, model and method by your own.

    Example: contrafact init my-project
    """
    folder, source = options.folder, resources.files("contrafact.cli") / "project"
    files = {name: (source / kept).read_text("utf-8") for name, kept in _FILES.items()}
    write_folder(folder, {**files, ".gitignore": "runs/\n__pycache__/\n"})
    for name in files:
        typer.echo(f"written: {folder / name}")
    typer.echo(f"\nNext: cd {folder}, then the commands in README.md")


class _Methods(Options):
    task: str | None = argument("TASK", "A task; every task's if none is named.", None)


@command
def methods(options: _Methods) -> None:
    """List the methods that a task takes, with a line on each.

    Name any other method by the import path of its module: --method package.module.

    Example: contrafact methods TASK
    """
    for task in tasks().values() if options.task is None else [task_named(options.task)]:
        typer.echo(f"{task.name}: {task.summary}")
        found = task.run.load().methods
        known = {*found.names(), *found.baseline_names()}
        packages = [found.package, *([found.baselines] if found.baselines else [])]
        lines = {
            name: line
            for package in packages
            for name, line in _first_lines(package).items()
            if name in known
        }
        width = max(map(len, lines))
        for name, line in lines.items():
            default = " (default)" if name in task.default_methods else ""
            typer.echo(f"  {name:<{width}}  {line}{default}")


def _first_lines(package: str) -> dict[str, str]:
    """Return the first docstring line of a package's modules, by name, without importing them."""
    lines = {}
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(folder).glob("[!_]*.py")):
            name = path.stem.replace("_", "-")
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or name
            line = text.splitlines()[0].removeprefix(f"{name}: ").rstrip(".")
            lines[name] = re.sub(r" \([^)]*(section|table)[^)]*\)", "", line)
    return lines


class _Import(Options):
    file: Path = argument("FILE", "A text with a headed section for each template.")
    folder: Path = argument("DIR", "A new folder for the pack.")


@prompts.command("import")
@command
def import_(options: _Import) -> None:
    """Write a prompt pack from a text with headed sections, such as a paper's appendix.

    A section begins with `# FAMILY/TEMPLATE`; {headline} or [headline] there is the variable of
    that name, and {shots} the examples. Use the pack with `--prompts DIR`.

    Example: contrafact prompts import appendix.md my-prompts
    """
    from contrafact.prompts import import_pack

    lacking = import_pack(options.file, options.folder)
    typer.echo(f"{len(lacking)} templates written to {options.folder}")
    for name, variables in lacking.items():
        if variables:
            typer.echo(f"{name} does not use {', '.join(variables)}")


class _Export(Options):
    folder: Path = argument("DIR", "A new folder for the pack.")
    pack: str = option("default", "The pack, as `prompts list` names it.", metavar="NAME")


@prompts.command("export")
@command
def export(options: _Export) -> None:
    """Write a prompt pack into a folder, to read or to change.

    Use the changed pack with `--prompts DIR`.

    Example: contrafact prompts export my-prompts --pack stated
    """
    from contrafact.prompts import SUFFIX, export_pack

    written = export_pack(options.folder, options.pack)
    templates = sum(path.suffix == SUFFIX for path in written)
    typer.echo(f"{templates} templates written to {options.folder}")


@prompts.command("list")
@command
def list_packs(_: Options) -> None:
    """List the prompt packs that there are, each with the templates that differ from the default.

    Example: contrafact prompts list
    """
    from contrafact.prompts import bundled_packs, default_templates

    typer.echo(f"default: {len(default_templates())} templates; where a paper gives a prompt, its")
    for name, templates in bundled_packs().items():
        typer.echo(f"{name}: the default pack but for {', '.join(templates)}")
