"""``contrafact cobe synth``: stories with known answers, from causal models."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from contrafact.console import Progress
from contrafact.files.atomic import atomic_path, guard_output
from contrafact.options import Options, command, option

__all__ = ["synth"]

_MANY = 200  # from this number on, several processes are faster
_MOST = 4  # the most processes
_READ_SO = (
    "How to read the stories: events are independent unless the story or common knowledge connects "
    "them. The causes in a story are all the causes. Whatever blocks a cause is in the story."
)


class _Options(Options):
    n: int = option(..., "How many stories to draw.", ge=1, metavar="N")
    out: str = option(..., "The file to write: JSON, or JSON Lines (.jsonl).", metavar="FILE")
    seed: int = option(0, "Seed of the random draws.", ge=0, metavar="S")
    graph: str | None = option(
        None, "Only this type: chain, collider, correlated, diamond, fork or hybrid.", metavar="G"
    )
    domain: str | None = option(None, 'Only this domain, as in "Engineering".', metavar="D")
    level: int | None = option(
        None, "Only stories of this level, 0 (easy) to 5; of every kind if not given.", metavar="L"
    )
    private_lexicon: Path | None = option(
        None, "Rules of your own, for a private split; see docs/synth-private.md.", metavar="DIR"
    )
    processes: int | None = option(
        None, "The number of processes; it does not change the stories.", ge=1, metavar="P"
    )


@command
def synth(options: _Options) -> None:
    """Draw stories whose right and wrong answers are proven, in the paper's schema.

    Every answer is right for one story and, word for word, wrong for others, or it has wrong
    connectors; so an answer alone hardly shows whether it is right. Every verdict follows from the
    story's text, and is proven before it is written. The same options write the same file.

    Example: contrafact cobe synth --graph diamond --n 200 --seed 7 --out stories.jsonl
    """
    from contrafact.families.cobe.synth.compose import compose
    from contrafact.families.cobe.synth.difficulty import level_named

    n, out, processes = options.n, options.out, options.processes
    guard_output(out, options.private_lexicon, kind="JSON")
    if processes is None:
        processes = min(_MOST, os.cpu_count() or 1) if n >= _MANY else 1
    rows = compose(
        n,
        options.seed,
        graph=options.graph,
        domain=options.domain,
        difficulty=None if options.level is None else level_named(options.level),
        private_lexicon=options.private_lexicon,
        processes=processes,
    )
    _write(rows, n, out)


def _write(rows: Iterable[Mapping[str, Any]], n: int, out: str) -> None:
    from contrafact.families.cobe.synth.compose import line_of

    graphs: Counter[str] = Counter()
    sources: set[str] = set()
    blocks: set[int] = set()
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

        for index, row in enumerate(rows):
            graphs[row["Graph type"]] += 1
            sources.add(row["Proof"]["template"])
            blocks.add(row["Core Set ID"])
            answers["right"] += len(row["Right answers"])
            answers["wrong"] += len(row["Wrong answers"])
            line = line_of(row)
            put(f"{',' if index else '['}\n{line}" if listed else f"{line}\n")
            steps.step()
        if listed:
            put("\n]\n")
    counted = ", ".join(f"{number:,} {name}" for name, number in sorted(graphs.items()))
    typer.echo(f"{out}: {n:,} stories of {len(sources)} templates ({counted})")
    typer.echo(f"{len(blocks):,} blocks of stories that share events; reports count by block")
    typer.echo(
        f"{answers['right']:,} right and {answers['wrong']:,} wrong answers, "
        "all proven from the stories' texts and by both algorithms"
    )
    typer.echo(_READ_SO)
    typer.echo(f"sha256 {digest.hexdigest()}")
