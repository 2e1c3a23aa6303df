"""``contrafact cobe augment``: variations of core stories, for a person to approve."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from contrafact.errors import InputError, require
from contrafact.families.cobe.data import StoryNotes, load_stories
from contrafact.files.atomic import guard_output
from contrafact.files.tables import require_tables
from contrafact.options import SAMPLING, TRANSPORT, CallOptions, absolute, argument, command, option
from contrafact.stages.run import stage_command

if TYPE_CHECKING:
    from contrafact.families.cobe.augment import Variation
    from contrafact.families.cobe.records import Story

_WRITING = ("temperature", "max_tokens")


class _Options(CallOptions):
    file: Path = argument("FILE", "Stories in the paper's schema.")
    model: str = option(..., "The writer, an Inspect model.", metavar="M")
    out: Path = option(..., "The JSON file to write.", metavar="FILE")
    n: int = option(3, "Variations of each core story.", ge=1, metavar="N")
    seed: int = option(0, "Seed of the domains drawn.", ge=0, metavar="S")
    prompts: Path | None = option(None, "Another prompt pack.", metavar="DIR")
    temperature: float | None = option(None, panel=SAMPLING, ge=0)
    max_tokens: int | None = option(None, panel=SAMPLING, ge=1)
    max_connections: int = option(8, "The most calls at the same time.", panel=TRANSPORT, ge=1)
    structured: bool = option(True, "Ask providers for JSON by schema.")


@command
def augment(options: _Options) -> None:
    """Let a model vary core stories across domains, clause orders and sentence structures.

    Variations that keep the schema, quote facts of their own text and are no near-duplicates are
    written, marked as awaiting approval until a person has read them and removed the mark. Rejected
    ones are written to a file next to it, with the reasons. Replies are kept next to OUT,
    so a rerun repeats only the calls that failed.

    Example: contrafact cobe augment core.json --model openai/gpt-5-mini --out variations.json
    """
    require_tables(options.file)
    require("datasketch", "near-duplicates")
    from contrafact.families.cobe.augment import AugmentStage

    guard_output(options.out, options.file)
    notes = StoryNotes()
    stories = load_stories(options.file, notes)
    for note in notes.lines():
        typer.echo(f"{options.file}: {note}", err=True)
    planned = _planned(stories, options.file, options.n, options.seed)
    stage = AugmentStage(
        stories,
        planned,
        options.model,
        absolute(options.prompts),
        options.structured,
        {name: getattr(options, name) for name in _WRITING},
        options.max_connections,
        options.bounds,
    )
    stage_command(stage, [{"id": variation.name} for variation in planned], options.out)


def _planned(stories: "list[Story]", file: Path, n: int, seed: int) -> "list[Variation]":
    import numpy as np

    from contrafact.families.cobe.augment import plan_variations, without_intervention

    planned = plan_variations(stories, n, np.random.default_rng(seed))
    for story in without_intervention(stories):
        typer.echo(
            f"{file}: story {story.id} is not varied, as its queries are in free form and do not "
            "state the intervention",
            err=True,
        )
    if not planned:
        raise InputError(
            "no story has a query that states the intervention in the form of its phrasing",
            file=file,
            hint="write the second query in the form of phrasing B (docs/cobe.md)",
        )
    return planned
