"""Exams of judges: items whose verdicts are known, judged in the same way as in a run."""

import json
from pathlib import Path

from contrafact.errors import InputError
from contrafact.files.atomic import guard_output
from contrafact.options import TRANSPORT, CallOptions, option

__all__ = ["ExamOptions", "exam_file"]


class ExamOptions(CallOptions):
    """The options of every exam; a family's exam has further options."""

    judge: list[str] = option(..., "The judge; several form a panel.", metavar="J")
    out: Path | None = option(None, "The result, JSON; for `report --exam`.", metavar="FILE")
    family: str = option("", "The family whose exam the judge takes.")
    n: int | None = option(None, "Number of items; by default, the family's.", ge=2, metavar="N")
    seed: int = option(0, "Seed of the draw of items.", ge=0, metavar="S")
    repeats: int = option(1, "Retired: 1, or refused.", ge=1, metavar="R")
    order: bool = option(False, "Retired, and refused.", flags=("--order/--no-order",))
    estimate: bool = option(False, "Say calls, tokens and cost, and stop.")
    yes: bool = option(False, "Make many paid calls without a question.", flags=("--yes", "-y"))
    prompts: Path | None = option(None, "Another prompt pack: its folder or name.", metavar="DIR")
    judge_arg: list[str] | None = option(
        None, "Provider argument of the judges.", metavar="KEY=VALUE", panel=TRANSPORT
    )


def exam_file(options: ExamOptions, *inputs: Path) -> Path:
    """Return the file that an exam is written to; `InputError` if that is impossible."""
    out = options.out
    if out is None:
        raise InputError("--out is missing", hint="name the exam's file, as in --out exam.json")
    if out.suffix != ".json":
        raise InputError("the result is a JSON file", file=out, hint="name it .json")
    guard_output(out, *inputs)
    if out.is_file():
        try:
            written = json.loads(out.read_bytes())
        except ValueError:
            written = None
        if not isinstance(written, dict) or written.get("format") != "contrafact-exam":
            hint = "name another file with --out"
            raise InputError("exists and is not an exam", file=out, hint=hint)
    return out
