"""``contrafact demo``: the main job, offline, in minutes."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from contrafact.family import DemoPart
    from contrafact.runs.execute import RunResult

__all__ = ["command"]

DEMO_MODEL = "embedded/smollm2-135m"
"""The model that writes and judges in the demo: it needs no key and no network."""


def command() -> Any:
    """Return the function of the command: it has an option for each kind of sample."""
    nouns: dict[str, DemoPart] = {}
    for part in _parts():
        nouns.setdefault(part.noun, part)
    out = Annotated[Path, typer.Option(metavar="DIR", help="Folder for the runs and their report.")]
    parameters = [_parameter("out", out, Path("demo"))]
    for noun, part in nouns.items():
        option = typer.Option(
            min=1, max=part.most, metavar="N", help=f"How many of the bundled {noun}."
        )
        parameters.append(_parameter(noun, Annotated[int, option], part.count))

    def demo(out: Path, **counts: int) -> None:
        _demo(out, counts)

    demo.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    demo.__annotations__ = {one.name: one.annotation for one in parameters}
    demo.__doc__ = (
        "Run the families on bundled samples with the embedded model; no key, no network.\n\n"
        "The embedded model works on every task and judges its own texts. It is small and a poor "
        "judge, and the report says so. Killed and started again, the demo goes on.\n\n"
        "Example: contrafact demo --out demo"
    )
    return demo


def _demo(out: Path, counts: Mapping[str, int]) -> None:
    from contrafact.cli.run import evaluate, show_failures
    from contrafact.cli.show import show_results
    from contrafact.runs.prepare import make_settings, prepare

    parts = _parts()
    results: list[RunResult] = []
    for number, part in enumerate(parts, start=1):
        text = part.text.format(count=counts[part.noun], model=DEMO_MODEL)
        typer.echo(f"{number} of {len(parts)}: {text}")
        given = {
            "models": (DEMO_MODEL,),
            "judges": (DEMO_MODEL,) if part.judged else (),
            "methods": part.methods,
            "limit": counts[part.noun],
            "generation": dict(part.generation),
        }
        settings = make_settings(part.task, given, part.options)
        results.append(evaluate(prepare(settings), out / part.task, yes=True, samples=True))
    page = out / "report.html"
    if any(result.ran for result in results) or not page.exists():
        _report([result.folder for result in results], out)
    show_results(out)
    for result in results:
        show_failures(result)
    typer.echo(f"report: {page}")
    if any(result.failures for result in results):
        raise typer.Exit(1)


def _report(folders: Sequence[Path], out: Path) -> None:
    """Write the report of every run into its folder, and that of all of them into the demo's."""
    from contrafact.report.build import make_chapters, write_chapters
    from contrafact.report.chapter import Options
    from contrafact.report.frames import read_tasks

    options = Options()
    tasks = [runs for runs in read_tasks(folders) if len(runs.items)]
    chapters = make_chapters(tasks, options)
    for chapter in chapters:
        write_chapters([chapter], options, out / chapter.task)
    write_chapters(chapters, options, out)


def _parts() -> "list[DemoPart]":
    from contrafact.family import families

    return [part for family in families().values() if family.demo for part in family.demo.load()]


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=annotation)
