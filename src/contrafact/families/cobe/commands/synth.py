"""``contrafact cobe synth``: stories with known answers, from causal models."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["synth"]

_MANY = 200  # from here on it pays to share the work
_MOST = 4  # processes
_READ_SO = (
    "A story is read so: what is not told to hang together, and does not hang together for "
    "everyone, is independent. The causes that are told are all there are. What holds back a cause "
    "is told."
)


def synth(
    n: Annotated[int, typer.Option("--n", min=1, metavar="N", help="How many stories to draw.")],
    out: Annotated[
        str, typer.Option(metavar="FILE", help="The file to write: JSON, or JSON Lines (.jsonl).")
    ],
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
    private_lexicon: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Rules of your own, for a private split; see docs/synth-private.md.",
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, metavar="P", help="How many share the work; the stories are the same."),
    ] = None,
) -> None:
    """Draw stories whose right and wrong answers are proven, in the paper's schema.

    Every answer is right for one story and, word for word, wrong for others, or wrong in its
    connectors, so that little in an answer alone tells which it is. Every verdict follows from the
    story's text, and is proven before it is written. The same options write the same file.

    Example: contrafact cobe synth --graph diamond --n 200 --seed 7 --out stories.jsonl
    """
    from contrafact.families.cobe.synth.compose import story_lines
    from contrafact.files.atomic import guard_output

    guard_output(out, private_lexicon, kind="JSON")
    if processes is None:
        processes = min(_MOST, os.cpu_count() or 1) if n >= _MANY else 1
    lines = story_lines(
        n,
        seed,
        graph=graph,
        domain=domain,
        private_lexicon=private_lexicon,
        processes=processes,
    )
    _write(lines, n, out)


def _write(lines: Iterable[str], n: int, out: str) -> None:
    import hashlib
    import json
    from collections import Counter

    from contrafact.console import Progress
    from contrafact.files.atomic import atomic_path

    graphs: Counter[str] = Counter()
    sources: set[str] = set()
    answers: Counter[str] = Counter()
    digest = hashlib.sha256()
    listed = Path(out).suffix.lower() not in (".jsonl", ".ndjson")
    with (
        atomic_path(out) as path,
        path.open("w", encoding="utf-8") as stream,
        Progress("stories", n) as steps,
    ):

        def put(text: str) -> None:
            stream.write(text)
            digest.update(text.encode())

        for place, line in enumerate(lines):
            row = json.loads(line)
            graphs[row["Graph type"]] += 1
            sources.add(row["Proof"]["template"])
            answers["right"] += len(row["Right answers"])
            answers["wrong"] += len(row["Wrong answers"])
            before = ("[\n" if place == 0 else ",\n") if listed else ""
            put(f"{before}{line}" if listed else f"{line}\n")
            steps.step()
        if listed:
            put("\n]\n")
    counted = ", ".join(f"{number:,} {name}" for name, number in sorted(graphs.items()))
    typer.echo(f"{out}: {n:,} stories of {len(sources)} templates ({counted})")
    typer.echo(
        f"{answers['right']:,} right and {answers['wrong']:,} wrong answers, "
        "all proven from the stories' texts and by both algorithms"
    )
    typer.echo(_READ_SO)
    typer.echo(f"sha256 {digest.hexdigest()}")
