"""``contrafact demo``: the main job, offline, in minutes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contrafact.runs.settings import RunSettings

__all__ = ["demo"]

MODEL = "embedded/smollm2-135m"
HEADLINES = 24
PAIRS = 24
STORIES = 8  # all six types of graph and all seven domains are among the first eight
MAX_TOKENS = 150  # two headlines and JSON around them; what is longer has lost its way
LABEL_TOKENS = 16  # one word is asked for
EDIT_TOKENS = 90  # twice the longest of the stories


def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the runs and their report.")
    ] = (Path("demo")),
    headlines: Annotated[
        int, typer.Option(min=1, max=30, metavar="N", help="How many of the bundled headlines.")
    ] = HEADLINES,
    pairs: Annotated[
        int, typer.Option(min=1, max=24, metavar="N", help="How many of the bundled pairs.")
    ] = PAIRS,
    stories: Annotated[
        int, typer.Option(min=1, max=14, metavar="N", help="How many of the bundled stories.")
    ] = STORIES,
) -> None:
    """Run the families on bundled samples with the embedded model; no key, no network.

    The embedded model writes counterfactuals and judges them, tells manipulated paragraphs from
    published ones, and manipulations from each other; it edits stories under an intervention and
    judges the edits. It is small and a poor judge, and the report says so. Killed and started
    again, the demo goes on.

    Example: contrafact demo --out demo
    """
    from contrafact.cli.run import evaluate, tell_failures
    from contrafact.cli.show import show_results
    from contrafact.runs.prepare import prepare

    steps = _steps(headlines, pairs, stories)
    results = []
    for number, (said, settings) in enumerate(steps, start=1):
        typer.echo(f"{number} of {len(steps)}: {said}")
        results.append(evaluate(prepare(settings), out / settings.task, yes=True))
    page = out / "report.html"
    if any(result.ran for result in results) or not page.exists():
        _report([result.folder for result in results], out)
    show_results(out)
    for result in results:
        tell_failures(result)
    typer.echo(f"report: {page}")
    if any(result.failures for result in results):
        raise typer.Exit(1)


def _report(folders: list[Path], out: Path) -> None:
    """Write the report of every run into its folder, and that of all of them beside."""
    from contrafact.report.build import make_chapters, write_chapters
    from contrafact.report.chapter import Options
    from contrafact.report.frames import read_tasks

    options = Options()
    tasks = [runs for runs in read_tasks(folders) if len(runs.items)]
    chapters = make_chapters(tasks, options)
    for chapter in chapters:
        write_chapters([chapter], options, out / chapter.task)
    write_chapters(chapters, options, out)


def _steps(headlines: int, pairs: int, stories: int) -> "list[tuple[str, RunSettings]]":
    """Return what is said of each run, and its settings."""
    from contrafact.runs.settings import RunSettings

    label = {"temperature": 0.0, "max_tokens": LABEL_TOKENS}
    return [
        (
            f"FIN-FORCE. {headlines} bundled headlines about fictional companies; {MODEL} writes, "
            "and judges what it wrote.",
            RunSettings(
                task="finforce",
                models=(MODEL,),
                judges=(MODEL,),
                # Without examples so small a model writes little that can be read.
                methods=("few-shot",),
                limit=headlines,
                generation={"temperature": 0.0, "max_tokens": MAX_TOKENS},
            ),
        ),
        (
            f"RFC-BENCH, detection. The paragraphs of {pairs} bundled pairs, one at a time: as "
            "published, or manipulated? Beside the model stand baselines that ask none.",
            RunSettings(
                task="rfc-detect",
                models=(MODEL,),
                methods=("plain", "majority", "surface", "coherence"),
                limit=pairs,
                logprobs=True,
                generation=label,
            ),
        ),
        (
            f"RFC-BENCH, diagnosis. The same {pairs} pairs, side by side: which manipulation?",
            RunSettings(
                task="rfc-diagnose",
                models=(MODEL,),
                methods=("plain", "majority", "surface"),
                limit=pairs,
                logprobs=True,
                generation=label,
            ),
        ),
        (
            f"CoBe. {stories} bundled stories, each asked in three phrasings what would have "
            f"happened instead; {MODEL} edits them, and judges its edits criterion by criterion.",
            RunSettings(
                task="cobe",
                models=(MODEL,),
                judges=(MODEL,),
                methods=("plain",),
                limit=stories,
                generation={"temperature": 0.0, "max_tokens": EDIT_TOKENS},
            ),
        ),
    ]
