"""An exam from items to its two files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from contrafact.errors import InputError
from contrafact.exam.file import Exam, Pack, write_exam
from contrafact.exam.items import Examiner, ExamItem, draw_items
from contrafact.exam.rows import exam_rows, row_object
from contrafact.exam.score import examine
from contrafact.exam.sitting import Question
from contrafact.files.tables import write_frame

__all__ = ["DRAWN", "ITEMS", "conclude", "items_for"]

DRAWN = 320
"""How many CoBe items are drawn where neither a number nor a file is given: some 32 that fail each
criterion."""

ITEMS = "items"


def items_for(
    family: Literal["finforce", "cobe"], *, n: int | None, seed: int, data: Path | None
) -> list[ExamItem]:
    """Return the items of an exam.

    Args:
        family: The family.
        n: How many; all of FIN-FORCE's or of the file's where none is named.
        seed: Seed of the draw.
        data: For CoBe, a file of stories with known answers; else stories are drawn.

    Raises:
        InputError: The file is no use, or there is none to read for FIN-FORCE.
    """
    if family == "finforce":
        from contrafact.exam.finforce import finforce_items

        if data is not None:
            raise InputError("--data is for cobe", hint="leave it out: the items are our own")
        pool = list(finforce_items())
    else:
        from contrafact.exam.cobe import cobe_items, drawn_known
        from contrafact.families.cobe.data import load_known

        if data is None:
            n = n or DRAWN
            # Two items a story, so that stories are many and each weighs little.
            known = drawn_known(max(10, (n + 1) // 2), seed)
        else:
            known = load_known(data)
        pool = cobe_items(known)
    items = draw_items(pool, n, np.random.default_rng([seed, 0]))
    if n is not None and len(items) < n:
        raise InputError(
            f"there are {len(items)} items, not {n}", hint=f"give --n {len(items)} or leave it out"
        )
    return items


def conclude(
    out: Path,
    *,
    items: Sequence[ExamItem],
    questions: Sequence[Question],
    answers: Mapping[str, Mapping[str, Any]],
    judges: Sequence[str],
    examiner: Examiner,
    seed: int,
    settings: dict[str, Any],
    notes: Sequence[str] = (),
) -> Exam:
    """Score an exam whose questions are all answered, write its two files, and return it."""
    import pandas as pd

    rows = exam_rows(items, questions, answers)
    beside = out.with_name(f"{out.stem}.{ITEMS}.jsonl")
    assert examiner.family in ("finforce", "cobe")
    exam = examine(
        rows,
        judge=" + ".join(judges),
        family="cobe" if examiner.family == "cobe" else "finforce",
        task_version=examiner.task_version,
        pack=Pack(
            name=examiner.pack.name, hash=examiner.pack.used_hash, templates=examiner.pack.used
        ),
        items=beside.name,
        seed=seed,
        settings=settings,
        notes=notes,
    )
    write_frame(pd.DataFrame([row_object(row) for row in rows], dtype=object), beside)
    write_exam(out, exam)
    return exam
