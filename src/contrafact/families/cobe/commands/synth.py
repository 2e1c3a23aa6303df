"""``contrafact cobe synth``: stories with known answers, from causal models."""

import os
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["synth"]

_MANY = 500  # from here on it pays to share the work
_MOST = 4  # processes


def synth(
    n: Annotated[int, typer.Option("--n", min=1, metavar="N", help="How many stories to draw.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The JSON file to write.")],
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the drawing.")] = 0,
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="G",
            help="Only this type: chain, collider, correlated, diamond, fork or hybrid.",
        ),
    ] = None,
    domain: Annotated[
        str | None, typer.Option(metavar="D", help='Only this domain, as in "Engineering".')
    ] = None,
    templates: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Templates of your own; see docs/synth.md.")
    ] = None,
) -> None:
    """Draw stories whose right and wrong answers are proven, in the paper's schema.

    Every story comes with its three queries, its criteria, a representative answer, right answers
    that look odd, and for every criterion a wrong answer that fails it and no other. An
    independent checker confirms each before it is written. The same options write the same file.

    Example: contrafact cobe synth --graph diamond --n 200 --seed 7 --out stories.json
    """
    from collections import Counter

    from contrafact.console import Progress
    from contrafact.families.cobe.data import answers_object, write_stories
    from contrafact.families.cobe.synth.draw import choose, domain_named, draw_stories
    from contrafact.families.cobe.synth.template import bundled_templates, load_templates
    from contrafact.files.atomic import guard_output

    guard_output(out, templates)
    among = bundled_templates() if templates is None else load_templates(templates)
    named = domain_named(domain) if domain is not None else None
    chosen = choose(among, graph=graph, domain=named)
    drawn = []
    processes = min(_MOST, os.cpu_count() or 1) if n >= _MANY else 1
    with Progress("stories", n) as steps:
        for story in draw_stories(chosen, n, seed, processes=processes):
            drawn.append(story)
            steps.step()
    write_stories([one.story for one in drawn], out, [answers_object(one) for one in drawn])
    graphs = Counter(one.story.graph for one in drawn)
    wrong = sum(len(one.wrong) for one in drawn)
    right = sum(len(one.right) for one in drawn)
    counted = ", ".join(f"{number:,} {name}" for name, number in sorted(graphs.items()))
    typer.echo(f"{out}: {n:,} stories of {len(chosen)} templates ({counted})")
    typer.echo(f"{right:,} right and {wrong:,} wrong answers, all proven by both algorithms")
