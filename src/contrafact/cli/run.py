"""``contrafact run``: evaluate models and methods on a task."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from contrafact.runs.execute import RunResult
    from contrafact.runs.prepare import Prepared
    from contrafact.runs.settings import RunSettings

__all__ = ["evaluate", "run", "run_and_report", "tell_failures", "write_report"]

_SAMPLING = "How the model under test writes"
_TRANSPORT = "How calls are made"
_ASK_ABOVE = 1_000


def run(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="finforce, rfc-detect, rfc-diagnose or cobe.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="M", help="Model under test; give several for a grid."),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", metavar="J", help="Judge; several form a panel. None by default."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Method, solver or baseline; several make a grid. finforce: also "
            "NAME:OPTION=VALUE,OPTION=VALUE.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Headlines or pairs (JSON, JSONL, CSV, Parquet); samples if none."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Take the first N headlines or pairs.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Run folder. [runs/TASK-HASH]")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="S", help="Seed of draws and of sampling.")
    ] = None,
    shots: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="K", help="Examples per prompt. [finforce: 3; rfc-detect: 0, 2 or 8]"
        ),
    ] = None,
    draws: Annotated[
        int | None, typer.Option(min=1, metavar="D", help="Random draws of the examples. [1]")
    ] = None,
    shots_from: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pool of examples; our own if none.")
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Another prompt pack.")
    ] = None,
    fluency_model: Annotated[
        str | None,
        typer.Option(metavar="F", help="Scores perplexity: a name, a folder, or none."),
    ] = None,
    rationale: Annotated[
        bool, typer.Option("--rationale", help="rfc: ask for reasons, and keep them.")
    ] = False,
    logprobs: Annotated[
        bool, typer.Option("--logprobs", help="rfc: ask for probabilities, for AUROC.")
    ] = False,
    background: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="rfc: news that the method memory searches."),
    ] = None,
    judge_context: Annotated[
        bool,
        typer.Option("--judge-context", help="cobe: show the judge scenario and query too."),
    ] = False,
    judge_faults: Annotated[
        bool, typer.Option("--judge-faults", help="Judge the two error classes that need it too.")
    ] = False,
    structured: Annotated[
        bool,
        typer.Option("--structured/--no-structured", help="Ask providers for JSON by schema."),
    ] = True,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="A paper's setting, e.g. finforce-paper.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say calls, tokens and cost, and stop.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before many calls.")] = False,
    with_published: Annotated[
        bool, typer.Option("--with-published", help="Show the paper's rows in the report.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0, rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(min=0, max=1, rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    frequency_penalty: Annotated[
        float | None, typer.Option(rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    presence_penalty: Annotated[
        float | None, typer.Option(rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    reasoning_effort: Annotated[
        Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None,
        typer.Option(
            rich_help_panel=_SAMPLING, help="none, minimal, low, medium, high, xhigh, max"
        ),
    ] = None,
    reasoning_tokens: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    model_arg: Annotated[
        list[str] | None,
        typer.Option(
            "-M",
            metavar="KEY=VALUE",
            rich_help_panel=_TRANSPORT,
            help="Provider argument of the models under test.",
        ),
    ] = None,
    judge_arg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", rich_help_panel=_TRANSPORT, help="Provider argument of the judges."
        ),
    ] = None,
    max_connections: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=_TRANSPORT, show_default=False)
    ] = None,
    max_retries: Annotated[
        int | None, typer.Option(min=0, rich_help_panel=_TRANSPORT, help="Per call. [5]")
    ] = None,
    timeout: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=_TRANSPORT, help="Seconds for a call, retries and all. [900]"
        ),
    ] = None,
    attempt_timeout: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=_TRANSPORT, help="Seconds for one attempt. [300]"),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=_TRANSPORT, help="Use the provider's batch mode, N a batch."
        ),
    ] = None,
    cache: Annotated[
        bool,
        typer.Option("--cache", rich_help_panel=_TRANSPORT, help="Reuse answers of earlier runs."),
    ] = False,
) -> None:
    """Evaluate models and methods on a task; killed and started again, it goes on.

    Example: contrafact run finforce --model embedded/smollm2-135m
    --judge embedded/smollm2-135m --limit 10 --temperature 0
    """
    from contrafact.cli.key_values import key_values

    sampling = {
        "temperature": temperature,
        "top_p": top_p,
        "top_k": top_k,
        "max_tokens": max_tokens,
        "frequency_penalty": frequency_penalty,
        "presence_penalty": presence_penalty,
        "reasoning_effort": reasoning_effort,
        "reasoning_tokens": reasoning_tokens,
        "seed": seed,
    }
    transport = {
        "max_connections": max_connections,
        "max_retries": max_retries,
        "timeout": timeout,
        "attempt_timeout": attempt_timeout,
        "batch": batch,
    }
    given = {
        "task": task,
        "models": tuple(model or ()),
        "judges": tuple(judge or ()),
        "methods": tuple(method or ()),
        "data": data,
        "limit": limit,
        "seed": seed,
        "shots": shots,
        "draws": draws,
        "shots_from": shots_from,
        "prompts": prompts,
        "rationale": rationale or None,
        "logprobs": logprobs or None,
        "background": background,
        "judge_context": judge_context or None,
        "judge_faults": judge_faults or None,
        "structured": None if structured else False,
        "generation": _given(sampling),
        "model_args": key_values("-M", model_arg),
        "judge_args": key_values("--judge-arg", judge_arg),
        "transport": _given(transport),
        "shared_cache": cache or None,
    }
    if fluency_model is not None:
        given["fluency_model"] = fluency_model
    settings = _settings(given, preset)
    from contrafact.runs.prepare import prepare

    run_and_report(
        prepare(settings), out, only_estimate=estimate, yes=yes, with_published=with_published
    )


def run_and_report(
    prepared: "Prepared", out: Path | None, *, only_estimate: bool, yes: bool, with_published: bool
) -> None:
    """Run what was prepared, write the report, and say how it went.

    Raises:
        typer.Exit: with 1 if samples failed.
    """
    from contrafact.cli.show import show_estimate, show_results

    if only_estimate:
        show_estimate(prepared.estimate())
        return
    result = evaluate(prepared, out, yes=yes)
    folder = result.folder
    if result.ran or with_published or not (folder / "report.html").exists():
        written = write_report(folder, with_published=with_published)
    else:
        written = True
    if written:
        show_results(folder)
    tell_failures(result)
    if written:
        typer.echo(f"report: {folder / 'report.html'}")
    if result.failures:
        raise typer.Exit(1)


def evaluate(prepared: "Prepared", out: Path | None, *, yes: bool) -> "RunResult":
    """Run, or go on with, what was prepared, and say what the user should know of it first."""
    from contrafact.models.estimate import paid_calls
    from contrafact.runs.execute import default_folder, execute

    calls = prepared.estimate(tokens=False)
    _ask_first(paid_calls(calls), yes)
    for note in prepared.data.notes:
        typer.echo(f"{prepared.data.name}: {note}", err=True)
    result = execute(prepared, out or default_folder(prepared), calls)
    if not result.ran:
        typer.echo(f"this run had finished: no model was called ({result.folder})")
        return result
    for note in prepared.notes:
        typer.echo(note, err=True)
    return result


def write_report(folder: Path, *, with_published: bool = False) -> bool:
    """Write a run's report into its folder; return whether there was anything to report."""
    from contrafact.report.build import build_report
    from contrafact.report.frames import read_tasks

    tasks = [runs for runs in read_tasks([folder]) if len(runs.items)]
    if tasks:
        build_report(tasks, folder, with_published=with_published)
    return bool(tasks)


def tell_failures(result: "RunResult") -> None:
    """Say which samples failed, by cause, if any did."""
    if not result.failures:
        return
    causes: dict[str, int] = {}
    for failure in result.failures:
        causes[failure.cause] = causes.get(failure.cause, 0) + 1
    typer.echo(
        f"{len(result.failures)} of {result.samples} samples failed "
        f"(listed in {result.folder / 'failures.csv'}); the same command tries them again:",
        err=True,
    )
    for cause, count in sorted(causes.items(), key=lambda pair: -pair[1])[:5]:
        typer.echo(f"  {count} x {cause}", err=True)


def _ask_first(paid: int, yes: bool) -> None:
    import sys

    if paid <= _ASK_ABOVE or yes or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    typer.confirm(f"This run makes about {paid:,} paid calls. Go on?", abort=True)


def _settings(given: dict[str, Any], preset: str | None) -> "RunSettings":
    from pydantic import ValidationError

    from contrafact.errors import InputError
    from contrafact.runs.presets import load_preset
    from contrafact.runs.settings import TASKS, RunSettings

    if given["task"] not in TASKS:
        raise InputError(f"there is no task '{given['task']}'", hint=f"use {', '.join(TASKS)}")
    values: dict[str, Any] = load_preset(preset) if preset else {}
    values |= {key: value for key, value in given.items() if value not in (None, (), {})}
    if values.get("fluency_model") == "none":
        values["fluency_model"] = None
    if values["task"] == "finforce" and given["shots"] == 0:
        raise InputError(
            "--shots 0 shows no examples", hint="use --method zero-shot, or leave --shots out"
        )
    for name in ("models", "judges", "methods"):
        values[name] = tuple(dict.fromkeys(values.get(name, ())))
    if not values["methods"]:
        del values["methods"]
    for name in ("data", "shots_from", "background"):
        if values.get(name) is not None and str(values[name]) == "-":
            raise InputError(
                "a run cannot read standard input",
                hint=f"name a file with --{name.replace('_', '-')}",
            )
    try:
        return RunSettings(**values, preset=preset)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"the setting '{where}': {first['msg']}") from None


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}
