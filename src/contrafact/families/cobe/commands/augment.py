"""``contrafact cobe augment``: variations of core stories, for a person to approve."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from contrafact.files.tables import require_tables
from contrafact.options import SAMPLING, TRANSPORT, CallOptions, argument, option, takes

if TYPE_CHECKING:
    from contrafact.families.cobe.augment import Augmented, Variation
    from contrafact.records import Story

__all__ = ["augment"]

_WRITING = ("temperature", "max_tokens")


class _Options(CallOptions):
    file: Path = argument("FILE", "Stories in the paper's schema.")
    model: str = option("The writer, an Inspect model.", metavar="M")
    out: Path = option("The JSON file to write.", metavar="FILE")
    n: int = option("Variations of each core story.", 3, "--n", min=1, metavar="N")
    seed: int = option("Seed of the domains drawn.", 0, min=0, metavar="S")
    prompts: Path | None = option("Another prompt pack.", None, metavar="DIR")
    temperature: float | None = option(None, None, panel=SAMPLING, min=0)
    max_tokens: int | None = option(None, None, panel=SAMPLING, min=1)
    max_connections: int = option("Calls under way at once.", 8, panel=TRANSPORT, min=1)
    structured: bool = option("Ask providers for JSON by schema.", True)


@takes(_Options)
def augment(options: _Options) -> None:
    """Let a model vary core stories across domains, clause orders and sentence structures.

    What keeps the schema, quotes facts of its own text and is no near-duplicate is written, each
    story marked as awaiting approval: a person reads it and takes the mark out. The others go to a
    file next to it, with their reasons. Answers are kept in OUT's name with .answers.jsonl, and a
    rerun asks only for what failed.

    Example: contrafact cobe augment core.json --model openai/gpt-5-mini --out variations.json
    """
    require_tables(options.file)
    from inspect_ai.model import GenerateConfig

    from contrafact.errors import require
    from contrafact.families.cobe.augment import augment as augment_stories
    from contrafact.families.cobe.augment import augment_template
    from contrafact.files.journal import Journal
    from contrafact.models.calls import counted_calls
    from contrafact.models.opening import call_config, open_model
    from contrafact.prompts import open_pack

    require("datasketch", "near-duplicates")
    out, at_once, structured = options.out, options.max_connections, options.structured
    stories = _stories(options.file, out)
    pack = open_pack(options.prompts)
    augment_template(pack)
    planned = _planned(stories, options.file, options.n, options.seed)
    writing: dict[str, Any] = {name: getattr(options, name) for name in _WRITING}
    config = call_config(at_once, **options.bounds).merge(GenerateConfig(**writing))
    writer = open_model(options.model, config=config)
    facts = {
        "model": options.model,
        "prompts": pack.used_hash,
        "structured": structured,
        **{name.replace("_", "-"): value for name, value in writing.items()},
    }
    with Journal(out.with_suffix(".answers.jsonl"), facts) as answers, counted_calls(answers):
        found = augment_stories(
            stories, planned, writer, pack, answers, structured=structured, at_once=at_once
        )
    _write(found, out, len(planned))


def _stories(file: Path, out: Path) -> "list[Story]":
    from contrafact.errors import InputError
    from contrafact.families.cobe.augment import guard_approved
    from contrafact.families.cobe.data import StoryNotes, load_stories
    from contrafact.files.atomic import guard_output

    if out.suffix != ".json":
        raise InputError(
            "the new stories are written to a JSON file",
            file=out,
            hint="name a file that ends in .json with --out",
        )
    guard_output(out, file)
    guard_approved(out)
    notes = StoryNotes()
    stories = load_stories(file, notes)
    for note in notes.lines():
        typer.echo(f"{file}: {note}", err=True)
    return stories


def _planned(stories: "list[Story]", file: Path, n: int, seed: int) -> "list[Variation]":
    import numpy as np

    from contrafact.errors import InputError
    from contrafact.families.cobe.augment import plan_variations, without_intervention

    planned = plan_variations(stories, n, np.random.default_rng(seed))
    for story in without_intervention(stories):
        typer.echo(
            f"{file}: story {story.id} is not varied: its queries are in free form and do not "
            "say what is supposed",
            err=True,
        )
    if not planned:
        raise InputError(
            "no story says in the form of its phrasings what is supposed",
            file=file,
            hint="write the second query in the form of phrasing B (docs/cobe.md)",
        )
    return planned


def _write(found: "Augmented", out: Path, planned: int) -> None:
    from contrafact.errors import ModelError
    from contrafact.families.cobe.data import write_stories
    from contrafact.files.atomic import write_text

    rejects = out.with_suffix(".rejected.jsonl")
    write_stories(found.stories, out, found.more)
    write_text(rejects, "".join(f"{one.line()}\n" for one in found.rejected))
    typer.echo(f"{out}: {len(found.stories)} of {planned} variations, awaiting approval")
    reasons = Counter(one.reason.split(" (")[0] for one in found.rejected)
    if reasons:
        typer.echo(f"{rejects}: {len(found.rejected)} not kept")
    for reason, count in reasons.most_common():
        typer.echo(f"  {count} x {reason}")
    if failed := [one.reason for one in found.rejected if one.failed]:
        raise ModelError(f"{len(failed)} calls failed; the same command makes them again:", failed)
    if not found.stories:
        raise typer.Exit(1)
