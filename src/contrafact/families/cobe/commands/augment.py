"""``contrafact cobe augment``: variations of core stories, for a person to approve."""

from pathlib import Path
from random import Random

import typer

from contrafact.errors import InputError
from contrafact.families.cobe.commands.write import WriterOptions
from contrafact.families.cobe.data import APPROVAL, load_stories
from contrafact.files.atomic import guard_output
from contrafact.files.tables import read_rows
from contrafact.options import argument, command, option
from contrafact.stages.run import stage_command


class _Options(WriterOptions):
    file: Path = argument("FILE", "Stories in the paper's schema.")
    n: int = option(3, "Variations of each core story.", ge=1, metavar="N")
    reader: list[str] = option([], "A model that reads; the writer if none.", metavar="R")


@command
def augment(options: _Options) -> None:
    """Let a model write variations of core stories, in other domains, with the same structure.

    The structure is that of a story's proof; without one, its criteria say what has to stay and to
    change. Variations are written, read and kept as by `contrafact cobe write`, and marked as
    awaiting approval until a person has read them and removed the mark.

    Example: contrafact cobe augment core.json --model openai/gpt-5-mini --out variations.jsonl
    """
    from contrafact.families.cobe.write.stage import Plan
    from contrafact.families.cobe.write.structure import structure_of_story

    guard_output(options.out, options.file)
    stories = load_stories(options.file)
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
    for line, row in read_rows(options.out) if Path(options.out).exists() else ():
        if not row.get(APPROVAL):
            problem, hint = "holds a story that does not await approval", "name another file"
            raise InputError(problem, file=options.out, line=line, hint=hint)
    stage = options.stage(plans, "`cobe augment`", {APPROVAL: True})
    rows = [{"id": f"{plan.core}v{plan.variation}"} for plan in plans]
    stage_command(stage, rows, options.out, estimate=options.estimate, yes=options.yes)
