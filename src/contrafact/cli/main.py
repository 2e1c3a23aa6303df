"""The command ``contrafact``: registers the command groups and prints errors in one line."""

import contextlib
import gc
import io
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from contrafact import __version__
from contrafact.cli.lazy import LazyGroup, loaded
from contrafact.console import guard_screen, one_line
from contrafact.errors import InputError, ModelError, value_problem
from contrafact.family import Command, Lazy, families, tasks

__all__ = ["app", "main"]

_COMMANDS = {
    "demo": (
        "demo:demo",
        "Run the families on samples with the embedded model; no key, no network.",
    ),
    "init": (
        "start:init",
        "Write a small project that runs: headlines, a run's options, a method, tests, a CI "
        "workflow.",
    ),
    "methods": ("start:methods", "List the methods that a task takes, with a line on each."),
    "report": (
        "report:report",
        "Write report.html, results.json, tables and figures from one run or many.",
    ),
    "diff": (
        "diff:diff",
        "Compare two runs: what changed, which items flipped, and the paired difference.",
    ),
    "agree": (
        "agree:agree",
        "Measure how far raters agree: coefficients with intervals, and their disagreements.",
    ),
    "whatif": (
        "whatif:whatif",
        "Show what would have been written under another prompt or by another model.",
    ),
    "run": (
        "run:app",
        "Evaluate models and methods on a task; if interrupted, run it again to resume.",
    ),
    "score": ("score:app", "Judge and report existing outputs: a file's, or a finished run's."),
    "data": ("data:app", "Published datasets, and checks of your own files."),
    "models": ("models:app", "Available models, and downloads of weights."),
    "news": ("news:app", "Acquire news, and prepare it for a benchmark."),
    "prompts": ("start:prompts", "Prompt packs."),
    "review": ("review:app", "Human quality assurance: from the first label to adjudication."),
    "train": ("train:app", "Training of models whose weights are at hand."),
    "exam": (
        "exam:exam",
        "Examine a judge with items whose verdicts are known, and show how often it is right.",
    ),
}
"""The program's commands: the place from which each is imported on use, and its line of help."""


class CommandGroup(LazyGroup):
    """The group of the program's commands and of those that families add."""

    _listing = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, which needs only each command's line of help and imports no command."""
        self._listing = True
        super().format_help(ctx, formatter)
        self._listing = False

    def names(self) -> list[str]:
        return list(_commands())

    def find(self, name: str) -> Any:
        command = _commands()[name]
        return TyperCommand(name, help=command.help) if self._listing else _loaded(name, command)


_FIRST_STEPS = """\
contrafact is a Python toolkit for counterfactual text: text in which one thing is changed, what
follows from it changes too, and everything else stays the same.

  contrafact demo                      the main job, offline, in minutes
  {run:<37}evaluate a model (add --judge J for verdicts)
  contrafact report DIR                tables, figures and report.html from runs
  contrafact generate FILE --method zero-shot --model M --out FILE
                                       risk and opportunity scenarios for your headlines
  contrafact init DIR                  a small project that runs, to begin with
  contrafact --help                    every command; each has --help with an example

M is any Inspect model: embedded/smollm2-135m (no key, no network), openai/..., anthropic/...,
google/..., openrouter/..., vllm/..., hf/..., ollama/...
"""

app = typer.Typer(
    cls=CommandGroup,
    name="contrafact",
    help=_FIRST_STEPS.partition("\n\n")[0].replace("\n", " "),
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_OBJECTS = 100_000
"""New objects until garbage is collected; with Python's 700 it took a fifth of a start's time."""


@app.callback(invoke_without_command=True)
def first(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    """Show the version, or what to do first."""
    if version:
        typer.echo(f"contrafact {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        run = f"contrafact run {next(iter(tasks()))} --model M"
        typer.echo(_FIRST_STEPS.format(run=run), nl=False)


def main() -> None:
    """Run the command line; exit with 0 if done, 1 if calls or a check failed, 2 on bad input."""
    gc.set_threshold(_OBJECTS)
    # Arrow's own pool keeps memory that large tables have used, about half as much again.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the program that started the command
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):  # some streams must be rewound first
                stream.reconfigure(errors="backslashreplace")  # escapes characters it cannot show
    if not {"-h", "--help"} & {*sys.argv[1:]}:  # help pages are our own words, in colours
        guard_screen()
    _find_home()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        _die(str(error))
    except MemoryError:
        _die("too little memory; give smaller files, or raise the limit (`ulimit -v`)")
    except ModelError as error:
        print(error, file=sys.stderr)
        code = 1
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        see = f"; see `{context.command_path} --help`" if context else ""
        message = " ".join(error.format_message().split())
        if found := getattr(error.__cause__, "errors", None):  # pydantic's, which Typer quotes
            message = f"{message.partition(': ')[0]}: {value_problem(found()[0])}"
        _die((message.rstrip(".") or "no command is named") + see)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except (BrokenPipeError, SystemExit):
        # The reader of our output has gone, so no message is possible. (Outside standalone mode,
        # Typer raises SystemExit only for this.)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        from contrafact.files.atomic import os_problem

        # An error without a file name comes from writing, such as standard output on a full disk.
        doing = "cannot be used" if error.filename else "the output cannot be written"
        _die(str(os_problem(error, error.filename, doing=doing)))
    if code == 130:
        print(
            "contrafact: stopped; output to a file or folder goes on when the command is repeated",
            file=sys.stderr,
        )
    sys.exit(code if isinstance(code, int) else 0)


def _find_home() -> None:
    """Set a temporary folder for data and caches if the home folder cannot be written.

    Inspect, the hub's client and matplotlib follow the same variables.
    """
    try:
        home = Path.home()
    except RuntimeError:  # no HOME, and no entry for the user
        home = None
    wanted = {"XDG_DATA_HOME": ".local/share", "XDG_CACHE_HOME": ".cache"}
    lost = [
        name
        for name, below in wanted.items()
        if not Path(os.environ.get(name, "")).is_absolute()
        and (home is None or not _can_be_written(home / below))
    ]
    if not lost:
        return
    user = os.getuid() if hasattr(os, "getuid") else 0  # Windows has no user ids
    folder = Path(tempfile.gettempdir()) / f"contrafact-{user}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != user:
        folder = Path(tempfile.mkdtemp(prefix="contrafact-"))  # the name is taken by another user
    os.environ |= {name: str(folder / wanted[name]) for name in lost}
    if home is None:
        os.environ["HOME"] = str(folder)
    place = "there is no home folder" if home is None else f"{home} cannot be written"
    print(f"contrafact: {place}; {folder} is used", file=sys.stderr)


def _can_be_written(folder: Path) -> bool:
    """Return whether a folder exists and can be written, or can be created."""
    there = next(one for one in (folder, *folder.parents) if os.access(one, os.F_OK))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


@cache
def _commands() -> dict[str, Command]:
    """Return the commands of the program and of families, including families' studies."""
    commands = {
        name: Command(text, Lazy(f"contrafact.cli.{path}"))
        for name, (path, text) in _COMMANDS.items()
    }
    for family in families().values():
        if family.study:
            text = f"{family.title}. {family.question}"
            commands[family.name] = Command(text, Lazy("contrafact.cli.study:group"))
        commands |= family.commands
    return commands


@cache
def _loaded(name: str, command: Command) -> Any:
    app = command.app.load()
    family = families().get(name)
    if family is not None and family.study and isinstance(app, typer.Typer):
        from contrafact.cli.study import study_group

        group = loaded(name, app)
        group.help = command.help
        group.add_command(study_group(family))
        return group
    return loaded(name, app)


def _die(message: str) -> None:
    print(f"contrafact: {one_line(message)}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
