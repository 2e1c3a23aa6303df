"""What a stage makes of rows in this process, as the workers of a cluster do, and their parts."""

import asyncio
from collections.abc import Iterable
from typing import Any

from contrafact.errors import InputError
from contrafact.stages.stage import InputRow, Stage, StageOutput, sorted_out
from contrafact_ray.places import Place
from contrafact_ray.tables import from_bytes, part_bytes


def made_by(
    stage: Stage,
    rows: Iterable[dict[str, Any]],
    *,
    size: int = 1_000,
    repeats: dict[int, int] | None = None,
) -> StageOutput:
    """Return what a stage makes of rows in partitions of so many, some of them repeated."""
    given = [InputRow(n, row, (repeats or {}).get(n)) for n, row in enumerate(rows)]
    for row in given:
        try:
            stage.read(row)
        except InputError as error:
            row.problem = error

    async def work() -> StageOutput:
        made, one = StageOutput(), stage.open(lambda model: model, 4)
        for at in range(0, len(given), size):
            good, others = sorted_out(stage, given[at : at + size])
            if good:
                made.merge(await one(good))
            made.merge(others)
        return made

    return asyncio.run(work())


def part_rows(out: object, table: str = "") -> list[dict[str, Any]]:
    """Return all rows of a table's parts, in a folder or a store, in the order of their index."""
    folder = Place(str(out)).child(table) if table else Place(str(out))
    names = [name for name in folder.names() if name.startswith("part-")]
    return [row for name in names for row in from_bytes(folder.child(name).read() or b"")]


def plain(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without the fields that are empty, and without a ledger's times."""
    return [{k: v for k, v in row.items() if k != "when" and v is not None} for row in rows]


def undisturbed(stage: Stage, rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return what a stage makes of rows in one process, by table; the last but one repeats."""
    made = made_by(stage, rows, repeats={len(rows) - 2: 0}).rows()
    return {name: plain(from_bytes(part_bytes(found))) for name, found in made.items()}
