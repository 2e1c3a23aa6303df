"""``contrafact exam``: measure how far a judge can be trusted."""

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import typer
from pydantic import create_model
from typer.core import TyperCommand

from contrafact.cli.lazy import command_of, read_ahead
from contrafact.console import show_table
from contrafact.exams import ExamOptions, exam_file
from contrafact.family import families, family_named
from contrafact.options import option, settings_command

if TYPE_CHECKING:
    from contrafact.family.exam import ExamSpec
    from contrafact.family.exam_file import CriterionExam, Exam, Figure, Rate, SurfaceRow
    from contrafact.family.settings import TaskOptions

_NONE = "–"  # shown if nothing could be read, or there was nothing


class ExamCommand(TyperCommand):
    """The command with the options of the chosen family's exam."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the command line with the options of the family that it names."""
        family = read_ahead(self, args, parent)["family"]
        reader = self if family in (None, _families()[0]) else command_of("exam", _command(family))
        return TyperCommand.make_context(reader, info_name, [*args], parent, **extra)


def _command(family: str) -> Callable[..., None]:
    names = tuple(_families())
    kind: Any = Literal[names]
    whose = option(names[0], ExamOptions.model_fields["family"].description)
    model = create_model("FamilyExam", __base__=ExamOptions, family=(kind, whose))
    return settings_command(
        _exam,
        {"options": model, "own": _spec(family).options},
        "Examine a judge with items whose verdicts are known, and show how often it is right.\n\n"
        "Answers are kept in FILE's name with .answers.jsonl as they come; if interrupted, run it "
        "again to resume: nothing is asked twice. The items with all verdicts are written to "
        ".items.jsonl. With --family NAME, --help shows the options of that family's exam.\n\n"
        f"Example: contrafact exam --judge embedded/smollm2-135m --family {family} "
        "--n 60 --out exam.json",
        panel=f"Options of {family}'s exam",
    )


def _families() -> list[str]:
    return [name for name, one in families().items() if one.exam]


def _spec(family: str) -> "ExamSpec":
    exam = family_named(family).exam
    assert exam is not None, "only families with an exam can be named"
    return exam.load()


def _exam(options: ExamOptions, own: "TaskOptions") -> None:
    if not options.estimate:
        exam_file(options)
    from contrafact.exams.run import prepare_exam, run_exam
    from contrafact.models.estimate import show_estimate

    if options.estimate:
        prepared = prepare_exam(options, own)
        show_estimate(prepared.estimate(), chain(*prepared.gives))
        return
    result, asked = run_exam(options, own)
    if not asked:
        typer.echo("all questions were answered before: no model was called")
    _show(result)
    typer.echo(f"exam: {options.out}")


def _show(exam: "Exam") -> None:
    title = f"{exam.judge} on {exam.n} items of {exam.family} ({exam.level:.0%} intervals)"
    columns = ("criterion", "sensitivity", "specificity", "bias", "invalid")
    rows = [
        (
            name,
            _rate(one.sensitivity),
            _rate(one.specificity),
            _bias(one.bias_true),
            f"{one.invalid.k} of {one.invalid.n}",
        )
        for name, one in exam.criteria.items()
    ]
    show_table(title, columns, rows)
    spec = _spec(exam.family)
    if exam.surface:
        limits = " to ".join(sorted({f"{one.limit:.2f}" for one in exam.surface.values()}))
        show_table(
            "Right told from wrong (balanced accuracy; a reader's area under the ROC curve; 0.5 is "
            "chance)",
            ("criterion", exam.judge, f"{spec.surface_reader} (limit {limits})"),
            [
                (name, _balanced(exam.criteria.get(name)), _surface(one))
                for name, one in exam.surface.items()
            ],
        )
    for line in exam.notes:
        typer.echo(line)
    for name, one in exam.criteria.items():
        for line in _remarks(name, one):
            typer.echo(line)


def _balanced(one: "CriterionExam | None") -> str:
    if one is None or one.sensitivity.estimate is None or one.specificity.estimate is None:
        return _NONE
    return f"{(one.sensitivity.estimate + one.specificity.estimate) / 2:.2f}"


def _surface(one: "SurfaceRow") -> str:
    found = one.auroc
    if found.estimate is None or found.low is None or found.high is None:
        return _NONE
    return f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f}){', leaks' * one.leaks}"


def _remarks(name: str, one: "CriterionExam") -> list[str]:
    lines = []
    right, wrong = one.sensitivity.estimate, one.specificity.estimate
    if right is not None and wrong is not None and right + wrong <= 1.0:
        lines.append(f"{name}: this judge cannot tell (the two shares sum to {right + wrong:.2f})")
    if _clear(one.length) and one.length.estimate is not None:
        more = "more" if one.length.estimate > 0 else "less"
        points = abs(100 * one.length.estimate)
        lines.append(f"{name}: longer texts pass {more} often, by {points:.0f} points")
    return lines


def _clear(figure: "Figure") -> bool:
    return figure.low is not None and figure.high is not None and figure.low * figure.high > 0


def _rate(rate: "Rate") -> str:
    if not rate.n:
        return _NONE
    if rate.low is None or rate.high is None:
        return f"{_share(rate.estimate)} of {rate.n}"
    return f"{_share(rate.estimate)} ({rate.low:.0%} to {rate.high:.0%}) of {rate.n}"


def _share(value: float | None) -> str:
    return _NONE if value is None else f"{value:.0%}"


def _bias(figure: "Figure") -> str:
    if figure.estimate is None:
        return _NONE
    if not _clear(figure):
        return f"{100 * figure.estimate:+.0f}"
    return f"{100 * figure.estimate:+.0f}, {'true' if figure.estimate > 0 else 'false'}"


exam = command_of("exam", _command(_families()[0]), ExamCommand)
