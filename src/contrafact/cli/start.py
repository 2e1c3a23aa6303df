"""``contrafact init``, ``methods``, ``prompts``: a project that runs, and what there is to run."""

from importlib import resources
from pathlib import Path

import typer

from contrafact.cli.lazy import method_lines
from contrafact.family import task_named, tasks
from contrafact.files.atomic import write_folder
from contrafact.options import Options, argument, command

prompts = typer.Typer(help="Prompt packs.", no_args_is_help=True)

_FILES = {
    "README.md": "readme.txt",
    "headlines.csv": "headlines.csv",
    "run.yaml": "run.yaml",
    "mine/terse.py": "method.txt",
    "tests/test_regression.py": "test.txt",
    ".github/workflows/check.yml": "workflow.yml",
}
"""The files of the project, and what each is called among the package's."""


class _Init(Options):
    folder: Path = argument("DIR", "A new folder, or an empty one.")


@command
def init(options: _Init) -> None:
    """Write a small project that runs: headlines, a run's options, a method, tests, a CI workflow.

    It runs offline with the embedded model; its README.md says how, and how to put your own data,
    model and method in the place of each.

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

    Any other is named by the import path of its module: --method package.module.

    Example: contrafact methods TASK
    """
    for task in tasks().values() if options.task is None else [task_named(options.task)]:
        typer.echo(f"{task.name}: {task.summary}")
        found = task.run.load().methods
        known = {*found.names(), *found.baseline_names()}
        packages = [found.package, *([found.baselines] if found.baselines else [])]
        for line in method_lines(packages, known.__contains__, task.default_methods):
            typer.echo(f"  {line}")


class _Export(Options):
    folder: Path = argument("DIR", "A new folder for the pack.")


@prompts.command("export")
@command
def export(options: _Export) -> None:
    """Write the default prompt pack into a folder, to read or to change.

    Use the changed pack with `--prompts DIR`.

    Example: contrafact prompts export my-prompts
    """
    from contrafact.prompts import export_default_pack

    written = export_default_pack(options.folder)
    typer.echo(f"{len(written)} templates written to {options.folder}")
