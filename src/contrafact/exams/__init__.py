"""What a judge is worth: items whose verdict is known, put to a judge as a run puts its own."""

from pathlib import Path

from contrafact.errors import InputError
from contrafact.files.atomic import guard_output
from contrafact.options import TRANSPORT, CallOptions, option

__all__ = ["ExamOptions", "exam_file"]


class ExamOptions(CallOptions):
    """The options of every exam; a family's exam has its own besides."""

    judge: list[str] = option("The judge; several form a panel.", metavar="J")
    out: Path | None = option("The result, JSON; for `report --exam`.", None, metavar="FILE")
    family: str = option("Whose questions it is to answer.", "")
    n: int | None = option(
        "Items; if not given, the family's number.", None, "--n", min=2, metavar="N"
    )
    seed: int = option("Seed of the draw of items.", 0, min=0, metavar="S")
    repeats: int = option("Put each question so often.", 1, min=1, metavar="R")
    order: bool = option("Put each once more, the texts before the rubric.", True)
    estimate: bool = option("Say calls, tokens and cost, and stop.", False, "--estimate")
    yes: bool = option("Make many paid calls without a question.", False, "--yes", "-y")
    prompts: Path | None = option("Another prompt pack.", None, metavar="DIR")
    judge_arg: list[str] | None = option(
        "Provider argument of the judges.", None, metavar="KEY=VALUE", panel=TRANSPORT
    )


def exam_file(options: ExamOptions, *inputs: Path) -> Path:
    """Return where an exam is written; `InputError` where it cannot be, before anything heavy."""
    out = options.out
    if out is None:
        raise InputError("--out is missing", hint="name the exam's file, as in --out exam.json")
    if out.suffix != ".json":
        raise InputError("the result is a JSON file", file=out, hint="name it .json")
    guard_output(out, *inputs)
    return out
