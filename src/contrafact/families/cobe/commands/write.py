"""``contrafact cobe write`` and ``cobe augment``: stories that a model writes to structures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import typer

from contrafact.errors import InputError
from contrafact.families.cobe.data import APPROVAL, load_stories
from contrafact.files.atomic import guard_output
from contrafact.files.tables import read_rows
from contrafact.options import SAMPLING, CallOptions, absolute, argument, command, option
from contrafact.stages.run import stage_command

if TYPE_CHECKING:
    from contrafact.families.cobe.write.stage import Plan, WriteStage

FIRST_CORE = 5001
"""The core set id of the first structure; drawn and hand-written stories have smaller ones."""


class WriterOptions(CallOptions):
    """The options of commands that write stories."""

    model: str = option(..., "The writer, an Inspect model.", metavar="M")
    reader: list[str] = option(..., "A model that reads the stories; repeatable.", metavar="R")
    out: str = option(..., "The stories to write, JSON Lines.", metavar="FILE")
    seed: int = option(0, "Seed of what is drawn.", ge=0, metavar="S")
    prompts: Path | None = option(None, "Another prompt pack.", metavar="DIR")
    temperature: float | None = option(None, "Of the writer.", panel=SAMPLING, ge=0)
    max_tokens: int | None = option(None, "Of the writer.", panel=SAMPLING, ge=1)
    estimate: bool = option(False, "Say calls, tokens and cost, and call nothing.")
    yes: bool = option(False, "Make many paid calls without a question.", flags=("--yes", "-y"))

    def stage(self, plans: "Sequence[Plan]", name: str, more: Mapping[str, Any]) -> "WriteStage":
        from contrafact.families.cobe.write.stage import WriteStage

        return WriteStage(
            plans,
            self.model,
            tuple(dict.fromkeys(self.reader)) or (self.model,),
            absolute(self.prompts),
            self.model_dump(include={"temperature", "max_tokens"}, exclude_none=True),
            self.max_connections,
            self.bounds,
            more,
            name,
        )


class _Options(WriterOptions):
    n: int = option(..., "How many structures to draw.", ge=1, metavar="N")
    graph: str | None = option(
        None, "Only this type: chain, collider, correlated, diamond, fork or hybrid.", metavar="G"
    )
    domain: str | None = option(None, 'Only this domain, as in "Engineering".', metavar="D")
    level: int | None = option(
        None, "Only structures of this level, 0 (easy) to 5; small ones if not given.", metavar="L"
    )


@command
def write(options: _Options) -> None:
    """Let a model write stories to drawn structures, and keep those that readers find to tell them.

    Readers see text and facts, and say what becomes of each if others had been otherwise. A story
    is kept if every causal model that agrees with them has the structure's consequences; else it is
    written again, up to three times. Stories that are not kept go to FILE.dropped.jsonl, with the
    reasons; replies are kept, so that an interrupted command goes on.

    Example: contrafact cobe write --n 12 --seed 7 --model openai/gpt-5-mini
    --reader anthropic/claude-haiku-4-5 --reader openai/gpt-5-mini --out written.jsonl
    """
    from contrafact.families.cobe.synth.difficulty import level_named
    from contrafact.families.cobe.write.stage import Plan
    from contrafact.families.cobe.write.structure import draw_structures, twin_of

    wanted = None if options.level is None else level_named(options.level)
    drawn = draw_structures(options.n, options.seed, options.graph, options.domain, wanted)
    rng = Random(f"twins {options.seed}")
    plans = [Plan(n, 1, one, twin_of(one, rng)) for n, one in enumerate(drawn, FIRST_CORE)]
    stage = options.stage(plans, "`cobe write`", {})
    rows = [{"core": plan.core} for plan in plans]
    stage_command(stage, rows, options.out, estimate=options.estimate, yes=options.yes)


class _AugmentOptions(WriterOptions):
    file: Path = argument("FILE", "Stories in the paper's schema.")
    n: int = option(3, "Variations of each core story.", ge=1, metavar="N")
    reader: list[str] = option([], "A model that reads; the writer if none.", metavar="R")


@command
def augment(options: _AugmentOptions) -> None:
    """Let a model write variations of core stories, in other domains, with the same structure.

    The structure is that of a story's proof; without one, its criteria say what has to stay and to
    change. Variations are written, read and kept as by `contrafact cobe write`, and marked as
    awaiting approval until a person has read them and removed the mark.

    Example: contrafact cobe augment core.json --model openai/gpt-5-mini --out variations.jsonl
    """
    guard_output(options.out, options.file)
    stories = load_stories(options.file)
    # After the file was read, as these import Inspect.
    from contrafact.families.cobe.write.stage import Plan
    from contrafact.families.cobe.write.structure import structure_of_story

    cores = {story.core_set_id: story for story in reversed(stories)}
    plans = []
    for core, story in sorted(cores.items()):
        last = max(one.variation_id for one in stories if one.core_set_id == core)
        for number in range(last + 1, last + 1 + options.n):
            try:
                drawn = structure_of_story(story, Random(f"{options.seed} {story.id} {number}"))
            except InputError as error:
                typer.echo(f"{options.file}: {story.id} is not varied: {error.problem}", err=True)
                break
            plans.append(Plan(core, number, drawn[0], None, story.text, drawn[1]))
    if not plans:
        hint = "write the second query in the form of phrasing B (docs/cobe.md)"
        raise InputError("no story states what is supposed", file=options.file, hint=hint)
    out = Path(options.out)
    for line, row in read_rows(out) if out.exists() and out.stat().st_size else ():
        if not row.get(APPROVAL):
            problem, hint = "holds a story that does not await approval", "name another file"
            raise InputError(problem, file=options.out, line=line, hint=hint)
    stage = options.stage(plans, "`cobe augment`", {APPROVAL: True})
    rows = [{"id": f"{plan.core}v{plan.variation}"} for plan in plans]
    stage_command(stage, rows, options.out, estimate=options.estimate, yes=options.yes)
