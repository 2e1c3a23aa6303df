"""``contrafact exam``: how far can this judge be trusted?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contrafact.exam.file import CriterionExam, Exam, Figure, Rate
    from contrafact.exam.items import Examiner

__all__ = ["exam"]

_TRANSPORT = "How calls are made"


def exam(
    judge: Annotated[
        list[str],
        typer.Option("--judge", metavar="J", help="The judge; several form a panel."),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The result, JSON; for `report --exam`.")
    ],
    family: Annotated[
        Literal["cobe", "finforce"], typer.Option(help="Whose questions it is to answer.")
    ] = "finforce",
    n: Annotated[
        int | None,
        typer.Option("--n", min=2, metavar="N", help="Items. [320, or all of FILE's]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the draw of items.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="cobe: stories with known answers; fresh ones if none."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, metavar="R", help="Put each question so often.")
    ] = 1,
    order: Annotated[
        bool,
        typer.Option("--order/--no-order", help="Put each once more, the texts before the rubric."),
    ] = True,
    prompts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Another prompt pack.")
    ] = None,
    judge_context: Annotated[
        bool, typer.Option("--judge-context", help="cobe: show the judge story and query as well.")
    ] = False,
    structured: Annotated[
        bool,
        typer.Option("--structured/--no-structured", help="finforce: ask for JSON by schema."),
    ] = True,
    judge_arg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", rich_help_panel=_TRANSPORT, help="Provider argument of the judges."
        ),
    ] = None,
    max_connections: Annotated[
        int, typer.Option(min=1, rich_help_panel=_TRANSPORT, help="Calls under way at once.")
    ] = 16,
    max_retries: Annotated[
        int | None, typer.Option(min=0, rich_help_panel=_TRANSPORT, help="Per call. [5]")
    ] = None,
    timeout: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=_TRANSPORT, help="Seconds for a call, retries and all. [900]"
        ),
    ] = None,
    attempt_timeout: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=_TRANSPORT, help="Seconds for one attempt. [300]"),
    ] = None,
) -> None:
    """Put items whose verdict is known to a judge, and say how often it is right.

    Answers are kept in FILE's name with .answers.jsonl as they come: killed and run again, it goes
    on, and nothing is asked twice. The items with every verdict stand in .items.jsonl.

    Example: contrafact exam --judge embedded/smollm2-135m --family finforce --n 60 --out exam.json
    """
    import asyncio

    from inspect_ai.model import GenerateConfig

    from contrafact.cli.key_values import key_values
    from contrafact.console import Progress
    from contrafact.errors import InputError
    from contrafact.exam.run import conclude, items_for
    from contrafact.exam.sitting import questions_of, sit
    from contrafact.files.atomic import guard_output
    from contrafact.files.journal import Journal
    from contrafact.models.opening import TRANSPORT, open_model, without_secrets
    from contrafact.prompts import open_pack

    if out.suffix != ".json":
        raise InputError("the result is a JSON file", file=out, hint="name it .json")
    guard_output(out, data)
    pack = open_pack(prompts)
    examiner: Examiner
    if family == "finforce":
        from contrafact.exam.finforce import FinforceExaminer

        if judge_context:
            raise InputError("--judge-context is for cobe", hint="leave it out")
        examiner = FinforceExaminer(pack, structured=structured)
        settings: dict[str, Any] = {"structured": structured}
    else:
        from contrafact.exam.cobe import CobeExaminer

        examiner = CobeExaminer(pack, context=judge_context)
        settings = {"judge_context": judge_context}
    judges = list(dict.fromkeys(judge))
    items = items_for(family, n=n, seed=seed, data=data)
    questions = questions_of(items, examiner, judges, repeats=repeats, order=order)
    given = {
        "max_retries": max_retries,
        "timeout": timeout,
        "attempt_timeout": attempt_timeout,
    }
    calls: dict[str, Any] = {
        **TRANSPORT,
        **{name: value for name, value in given.items() if value is not None},
        "max_connections": max_connections,
    }
    judge_args = key_values("--judge-arg", judge_arg)
    if judge_args:
        settings["judge_args"] = without_secrets(judge_args)
    models = {
        name: open_model(name, config=GenerateConfig(**calls), **judge_args) for name in judges
    }
    facts = {
        "judge": judges,
        "family": family,
        "task": examiner.task_version,
        "prompts": pack.used_hash,
        **settings,
    }
    with Journal(out.with_name(f"{out.stem}.answers.jsonl"), facts) as answers:
        left = len({q.key for q in questions if q.key not in answers.known})
        with Progress("questions", left) as steps:
            sitting = asyncio.run(
                sit(questions, examiner, models, answers, at_once=max_connections, each=steps.step)
            )
        if sitting.failures:
            _tell_failures(list(sitting.failures.values()), left)
        result = conclude(
            out,
            items=items,
            questions=questions,
            answers=answers.known,
            judges=judges,
            examiner=examiner,
            seed=seed,
            settings=settings,
        )
    if not left:
        typer.echo("every question had its answer: no model was called")
    _show(result)
    typer.echo(f"exam: {out}")


def _tell_failures(causes: "Sequence[str]", asked: int) -> None:
    """Say which calls failed.

    Raises:
        typer.Exit: always, with 1: an exam with open questions is none.
    """
    from collections import Counter

    said = f"{len(causes)} of {asked} questions failed; the same command tries them again:"
    typer.echo(said, err=True)
    for cause, count in Counter(causes).most_common(5):
        typer.echo(f"  {count} x {cause}", err=True)
    raise typer.Exit(1)


def _show(exam: "Exam") -> None:
    from contrafact.console import show_table

    title = f"{exam.judge} on {exam.n} items of {exam.family} ({exam.level:.0%} intervals)"
    columns = ("criterion", "passes what is right", "fails what is wrong", "leaning", "unreadable")
    rows = [
        (
            name,
            _rate(one.sensitivity),
            _rate(one.specificity),
            _leaning(one.bias_true),
            f"{one.invalid.k} of {one.invalid.n}",
        )
        for name, one in exam.criteria.items()
    ]
    show_table(title, columns, rows)
    for name, one in exam.criteria.items():
        for line in _remarks(name, one):
            typer.echo(line)
    for name, figure in exam.repeats.same.items():
        typer.echo(f"{name}: {_share(figure.estimate)} of repeated replies agree")
    if exam.surface_scores:
        scores = ", ".join(
            f"{name} {figure.estimate:.2f}"
            for name, figure in exam.surface_scores.items()
            if figure.estimate is not None
        )
        typer.echo(f"right told from wrong (area under the ROC curve, 0.5 is chance): {scores}")


def _remarks(name: str, one: "CriterionExam") -> list[str]:
    said = []
    right, wrong = one.sensitivity.estimate, one.specificity.estimate
    if right is not None and wrong is not None and right + wrong <= 1.0:
        said.append(f"{name}: this judge cannot tell (the two shares sum to {right + wrong:.2f})")
    if one.order is not None and one.order.changed.n:
        changed = one.order.changed
        said.append(f"{name}: {changed.k} of {changed.n} verdicts change with the order of parts")
    if _clear(one.length) and one.length.estimate is not None:
        more = "more" if one.length.estimate > 0 else "less"
        points = abs(100 * one.length.estimate)
        said.append(f"{name}: longer texts pass {more} often, by {points:.0f} points")
    return said


def _clear(figure: "Figure") -> bool:
    return figure.low is not None and figure.high is not None and figure.low * figure.high > 0


def _rate(rate: "Rate") -> str:
    if rate.low is None or rate.high is None:
        return f"{_share(rate.estimate)} of {rate.n}"
    return f"{_share(rate.estimate)} ({rate.low:.0%} to {rate.high:.0%}) of {rate.n}"


def _share(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.0%}"


def _leaning(figure: "Figure") -> str:
    if figure.estimate is None:
        return "undefined"
    if not _clear(figure):
        return f"{100 * figure.estimate:+.0f}"
    return f"{100 * figure.estimate:+.0f}, {'true' if figure.estimate > 0 else 'false'}"
