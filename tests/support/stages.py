"""What a stage makes of rows in this process, as the workers of a cluster do."""

import asyncio
from collections.abc import Iterable
from typing import Any

from contrafact.bulk.stage import InputRow, Stage, StageOutput


def made_by(
    stage: Stage,
    rows: Iterable[dict[str, Any]],
    *,
    size: int = 1_000,
    repeats: dict[int, int] | None = None,
) -> StageOutput:
    """Return what a stage makes of rows in partitions of so many, some of them repeated."""
    given = [InputRow(n, row, (repeats or {}).get(n)) for n, row in enumerate(rows)]

    async def work() -> StageOutput:
        made, one = StageOutput(), stage.open(lambda model: model, 4)
        for at in range(0, len(given), size):
            made.merge(await one(given[at : at + size]))
        return made

    return asyncio.run(work())
