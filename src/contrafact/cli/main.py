"""The command ``contrafact``: it registers the command groups and tells errors in one line."""

import contextlib
import gc
import inspect
import io
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from contrafact.cli import (
    agree,
    data,
    demo,
    diff,
    exam,
    models,
    news,
    report,
    review,
    run,
    score,
    start,
    study,
    train,
    whatif,
)
from contrafact.console import guard_screen, one_line
from contrafact.errors import InputError, ModelError, value_problem

if TYPE_CHECKING:
    from contrafact.family import Command
from contrafact.cli.lazy import LazyGroup, MethodsCommand, command_of

__all__ = ["app", "main"]


class CommandGroup(LazyGroup):
    """The program's commands, and those that families add."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands: the demo, then what every family has, then its own."""
        return ["demo", *(name for name in super().list_commands(ctx) if name != "demo")]

    def more_names(self) -> list[str]:
        return ["demo", "exam", *_family_commands()]

    def more(self, name: str) -> Any:
        if name == "demo":
            return command_of(name, demo.command())
        if name == "exam":
            return command_of(name, exam.command(), exam.ExamCommand)
        return _family_command(name)


app = typer.Typer(
    cls=CommandGroup,
    name="contrafact",
    help="Generate, build, detect and judge counterfactual text with language models.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(run.app, name="run")
app.add_typer(score.app, name="score")
app.command("init")(start.init)
app.command("methods")(start.methods)
app.command("report")(report.report)
app.command("diff")(diff.diff)
app.command("agree")(agree.agree)
app.command("whatif")(whatif.whatif)
app.add_typer(data.app, name="data")
app.add_typer(models.app, name="models")
app.add_typer(news.app, name="news")
app.add_typer(start.prompts, name="prompts")
app.add_typer(review.app, name="review")
app.add_typer(train.app, name="train")

_OBJECTS = 100_000
"""New objects until memory is searched for circles. At Python's 700 that took a fifth of the time
to a run's first call: what is imported stays."""

_FIRST_STEPS = """\
contrafact generates, builds, detects and judges counterfactual text, and says how well.

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


@app.callback(invoke_without_command=True)
def first(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    """Generate, build, detect and judge counterfactual text with language models."""
    if version:
        from contrafact import __version__

        typer.echo(f"contrafact {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        from contrafact.family import tasks

        typer.echo(
            _FIRST_STEPS.format(run=f"contrafact run {next(iter(tasks()))} --model M"), nl=False
        )


def main() -> None:
    """Run the command line; exit codes are 0 done, 1 the answer is no, 2 bad usage or input."""
    gc.set_threshold(_OBJECTS)
    # Arrow's own pool keeps what large tables have used; half as much again stays with the process.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by who started the command
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):  # a stream that wants to be set back first
                stream.reconfigure(errors="backslashreplace")  # what it cannot show is escaped
    if not {"-h", "--help"} & {*sys.argv[1:]}:  # help pages are our own words, in colours
        guard_screen()
    _find_home()
    try:
        code = _command()
        sys.stdout.flush()
    except InputError as error:
        _die(str(error))
    except MemoryError:
        _die("there is too little memory for this; give smaller files, or `ulimit -v` a larger one")
    except ModelError as error:
        print(error, file=sys.stderr)
        code = 1
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        see = f"; see `{context.command_path} --help`" if context else ""
        message = " ".join(error.format_message().split()).rstrip(".")
        if found := getattr(error.__cause__, "errors", None):  # pydantic's, which Typer quotes
            message = f"{message.partition(': ')[0]}: {value_problem(found()[0])}"
        _die((message or "no command is named") + see)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except (BrokenPipeError, SystemExit):
        # The reader of our output went away, and there is nobody to tell. (Typer makes a
        # SystemExit of it, and of nothing else when it does not stand alone.)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        from contrafact.files.atomic import os_problem

        # Of what is written, as standard output on a full disk, nobody says the name.
        doing = "cannot be used" if error.filename else "the output cannot be written"
        _die(str(os_problem(error, error.filename, doing=doing)))
    if code == 130:
        print(
            "contrafact: stopped; what writes to a file or folder goes on when the command is "
            "repeated",
            file=sys.stderr,
        )
    sys.exit(code if isinstance(code, int) else 0)


def _find_home() -> None:
    """Where nothing can be written at home, name a temporary folder for data and caches; say so.

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
    user = os.getuid() if hasattr(os, "getuid") else 0  # Windows has no numbers of users
    folder = Path(tempfile.gettempdir()) / f"contrafact-{user}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != user:
        folder = Path(tempfile.mkdtemp(prefix="contrafact-"))  # that name is somebody else's
    os.environ |= {name: str(folder / wanted[name]) for name in lost}
    if home is None:
        os.environ["HOME"] = str(folder)
    place = "there is no home folder" if home is None else f"{home} cannot be written"
    print(f"contrafact: {place}; {folder} is used", file=sys.stderr)


def _can_be_written(folder: Path) -> bool:
    """Tell whether a folder is there and can be written, or can be made."""
    there = next(one for one in (folder, *folder.parents) if os.access(one, os.F_OK))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _command() -> Any:
    """Run the command; where it misses the embedded weights, offer them and run it again."""
    try:
        return app(standalone_mode=False)
    except InputError as error:
        # Known by its name, since its module need not be loaded to tell.
        if type(error).__name__ != "MissingWeights" or not models.offer_weights(error):
            raise
        return app(standalone_mode=False)


@cache
def _family_commands() -> "dict[str, Command | None]":
    from contrafact.family import families

    found: dict[str, Command | None] = {}
    for family in families().values():
        if family.study:
            found[family.name] = None
        found |= family.commands
    return found


@cache
def _family_command(name: str) -> Any:
    from contrafact.family import families

    command = _family_commands()[name]
    family = families().get(name)
    found = command.app.load() if command else typer.Typer(callback=lambda: None)
    if not isinstance(found, typer.Typer):
        of = next((one for one in families().values() if name in one.commands), None)
        if of is None or "method" not in inspect.signature(found).parameters:
            return command_of(name, found)
        made = command_of(name, found, MethodsCommand)
        made.methods_of = of.tasks[0].name
        return made
    group: Any = typer.main.get_group(found)
    group.name = name
    if family is not None and family.study:
        group.help = group.help or f"{family.title}. {family.question}"
        group.add_command(study.study_group(family))
    return group


def _die(message: str) -> None:
    print(f"contrafact: {one_line(message)}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
