"""The command ``contrafact``: it registers the command groups and tells errors in one line."""

import os
import sys

import typer

from contrafact.cli import (
    agree,
    data,
    demo,
    exam,
    news,
    prompts,
    report,
    review,
    run,
    train,
    whatif,
)
from contrafact.errors import InputError
from contrafact.families.cobe.commands import group as cobe
from contrafact.families.finforce.commands import generate
from contrafact.families.finforce.commands import group as finforce
from contrafact.families.rfc.commands import group as rfc

__all__ = ["app", "main"]

app = typer.Typer(
    name="contrafact",
    help="Generate, build, detect and judge counterfactual text with language models.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("report")(report.report)
app.command("generate")(generate.generate)
app.command("exam")(exam.exam)
app.command("agree")(agree.agree)
app.command("whatif")(whatif.whatif)
app.add_typer(cobe.app, name="cobe")
app.add_typer(data.app, name="data")
app.add_typer(finforce.app, name="finforce")
app.add_typer(news.app, name="news")
app.add_typer(prompts.app, name="prompts")
app.add_typer(review.app, name="review")
app.add_typer(rfc.app, name="rfc")
app.add_typer(train.app, name="train")

_FIRST_STEPS = """\
contrafact generates, builds, detects and judges counterfactual text, and says how well.

  contrafact demo                      the main job, offline, in minutes
  contrafact run finforce --model M    evaluate a model (add --judge J for verdicts)
  contrafact report DIR                tables, figures and report.html from runs
  contrafact generate FILE --method zero-shot --model M --out FILE
                                       risk and opportunity scenarios for your headlines
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
        typer.echo(_FIRST_STEPS, nl=False)


def main() -> None:
    """Run the command line; exit codes are 0 done, 1 the answer is no, 2 bad usage or input."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        _die(str(error))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        see = f"; see `{context.command_path} --help`" if context else ""
        said = " ".join(error.format_message().split()).rstrip(".").replace(" Value error,", "")
        _die((said or "no command is named") + see)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except (BrokenPipeError, SystemExit):
        # The reader of our output went away, and there is nobody to tell. (Typer makes a
        # SystemExit of it, and of nothing else when it does not stand alone.)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        from contrafact.files.atomic import os_problem

        _die(str(os_problem(error, error.filename or "a file", doing="cannot be used")))
    if code == 130:
        print(
            "contrafact: stopped; what writes to a file or folder goes on when the command is "
            "repeated",
            file=sys.stderr,
        )
    sys.exit(code if isinstance(code, int) else 0)


def _die(message: str) -> None:
    print(f"contrafact: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
