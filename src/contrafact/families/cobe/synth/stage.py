"""``cobe synth`` past one machine: the very stories that one process draws.

A block of stories comes of the seed and its number alone, so that partitions are drawn anywhere.
That no two texts are alike is the one thing that hangs on all before: at the end one process goes
through the texts, in order, and has the few blocks drawn again that one process would have.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from contrafact.bulk.partitions import Output
from contrafact.bulk.stage import INDEX, KEPT, Given, Made
from contrafact.families.cobe.synth.compose import (
    Cell,
    Seen,
    compose_block,
    source_of,
)
from contrafact.families.cobe.synth.crossing import SIZE
from contrafact.families.cobe.synth.lexicon import Lexicon
from contrafact.files.journal import hash_of

__all__ = ["SynthStage", "redraw_repeated"]

_DONE = "_work/redrawn.json"


@dataclass(frozen=True)
class SynthStage:
    """Stories with known answers, drawn of nothing.

    Attributes:
        seed: Where randomness comes from.
        graph: Only this type of graph.
        domain: Only this domain.
        private_lexicon: A folder with a lexicon that every worker has; the bundled one if none.
    """

    seed: int = 0
    graph: str | None = None
    domain: str | None = None
    private_lexicon: str | None = None
    name: str = "`cobe synth`"
    partition_rows: int = 1_000

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        lexicon, _ = self.source()
        return {
            "seed": self.seed,
            "graph": self.graph,
            "domain": self.domain,
            "lexicon": hash_of(repr(lexicon)),
        }

    def source(self) -> tuple[Lexicon, tuple[Cell, ...]]:
        """Return what stories are told of, and of which domains and graphs."""
        return source_of(self.graph, self.domain, self.private_lexicon)

    def open(self) -> Callable[[Sequence[Given]], Made]:
        """Return the work, with the lexicon read."""
        lexicon, cells = self.source()

        def work(rows: Sequence[Given]) -> Made:
            made = Made()
            block, lines = -1, [""]
            for row in rows:
                number, place = divmod(row.index, SIZE)
                if number != block:
                    block, (lines, _) = number, compose_block(lexicon, cells, self.seed, number)
                story = json.loads(lines[place])
                made.add(KEPT, row.index, story)
                made.counts[f"graph|{story['Graph type']}"] += 1
            return made

        return work


def redraw_repeated(stage: SynthStage, output: Output, n: int) -> int:
    """Draw the blocks again that have a text of one before them, once; return how many were.

    Args:
        stage: What drew the stories.
        output: Where they are.
        n: How many.
    """
    done = output.place.child(_DONE)
    if (known := done.read_json()) is not None:
        return int(known["blocks"])
    lexicon, cells = stage.source()
    seen, redrawn = Seen(), 0
    texts: list[str] = []
    again: dict[int, list[str]] = {}
    for part in output.parts():
        rows = output.rows(KEPT, part)
        for row in rows:
            texts.append(row["Variation text"])
            block, place = divmod(row[INDEX], SIZE)
            last = row[INDEX] == n - 1
            if place < SIZE - 1 and not last:
                continue
            if last:  # of a block that is cut short all texts count
                _, texts = compose_block(lexicon, cells, stage.seed, block)
            tried = 0
            while seen.any_of(texts):
                tried += 1
                again[block], texts = compose_block(lexicon, cells, stage.seed, block, tried)
            redrawn += bool(tried)
            seen.add(texts)
            texts = []
    for part in output.parts() if again else ():
        rows = output.rows(KEPT, part)
        new = [
            {**json.loads(again[row[INDEX] // SIZE][row[INDEX] % SIZE]), INDEX: row[INDEX]}
            if row[INDEX] // SIZE in again
            else row
            for row in rows
        ]
        if new != rows:
            output.replace(part, new)
    done.write(json.dumps({"blocks": redrawn}).encode())
    return redrawn
