"""Functions about judges: exams, corrected rates, and raters' agreement."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from pydantic import InstanceOf, ValidationError

from contrafact.api.operation import EstimatedOperation, Operation
from contrafact.api.results import Estimate, Result, Run, make_estimate, refuse_many
from contrafact.api.tables import (
    Level,
    PathLikeOrNone,
    Paths,
    Seed,
    as_given,
    command_options,
    names_of,
    paths_of,
    read_frame,
    rows_of,
)
from contrafact.errors import InputError, value_problem
from contrafact.exams import ExamOptions
from contrafact.family import families, family_named
from contrafact.options import option_problem


@EstimatedOperation
def exam(
    judge: str | Sequence[str],
    *,
    family: str | None = None,
    out: PathLikeOrNone = None,
    estimate: bool = False,
    **options: Any,
) -> Result[pd.DataFrame] | Estimate:
    """Examine a judge with items whose verdicts are known, as ``contrafact exam`` does.

    Args:
        judge: The judge, an Inspect name; several form a panel.
        family: The family of the exam; the first family by default.
        out: The exam's file (JSON), for ``report(exam=…)`` and `correct`; its answers are kept
            beside it, so that nothing is asked twice.
        estimate: Return calls, tokens and dollars without calling a model.
        options: Further options of the command, with underscores in their names, and the options
            of the family's exam.

    Returns:
        ``items``: every question with its verdict. ``scores``: by criterion, how often the judge
        passes right items (``sensitivity``) and fails wrong items (``specificity``), with
        intervals. With ``estimate``, an `Estimate`.

    Raises:
        InputError: An argument is wrong, or more than 1,000 paid calls are needed and ``yes=True``
            is not given; no model was called.
        ModelError: Calls failed; if repeated with ``out``, only these are made again.
    """
    from contrafact.exams.run import prepare_exam, run_exam

    name = family or next(name for name, known in families().items() if known.exam)
    spec = family_named(name).exam
    if spec is None:
        raise InputError(f"{name} has no exam", hint="name another family")
    own_options = spec.load().options
    names = [*own_options.model_fields]
    options = command_options(ExamOptions, options, f"the exam of {name}", names)
    of_family = {option: options.pop(option) for option in names if option in options}
    try:
        own = own_options(**of_family)
    except ValidationError as error:
        first = error.errors()[0]
        raise option_problem(str(first["loc"][0]), value_problem(first), first["input"]) from None
    with TemporaryDirectory(prefix="contrafact-") as folder:  # for an exam without a file
        path = Path(folder) / "exam.json" if out is None else Path(out)
        asked = ExamOptions(judge=names_of(judge), family=name, out=path, **options)
        if estimate:
            return make_estimate(f"the exam of {name}", prepare_exam(asked, own).estimate())
        found, _ = run_exam(asked, own, confirm=refuse_many)
        items = read_frame(path.with_name(found.items))
    rows = [
        {"criterion": criterion, "measure": measure, "estimate": rate.estimate, "low": rate.low,
         "high": rate.high, "n": rate.n}
        for criterion, one in found.criteria.items()
        for measure, rate in (("sensitivity", one.sensitivity), ("specificity", one.specificity),
                              ("invalid", one.invalid))
    ]  # fmt: skip
    scores = pd.DataFrame(rows)
    for column in ("estimate", "low", "high"):
        scores[column] = pd.to_numeric(scores[column])
    title = f"{found.judge} on {found.n} items of {name}"
    return Result(title, items, scores, tuple(found.notes))


@Operation
def correct(
    judged: str | PathLike[str] | InstanceOf[Run],
    *,
    exam: Paths = (),
    labels: Paths = (),
    level: Level = 0.95,
    seed: Seed = 0,
) -> Result[pd.DataFrame]:
    """Correct judged rates for the judge's errors.

    ================  ==================================  =====================================
    by                use it when                         what it costs, and rests on
    ================  ==================================  =====================================
    an exam           nobody can label, and the run's     the judge's calls; the judge errs on
                      texts are like the exam's           the run as in the exam
    labels of a run   a rate is to be quoted, or it is    some 100 labels of each system on every
                      of the whole output                 criterion; the labels are right
    both              both are there                      both; labels decide where there are any
    ================  ==================================  =====================================

    Args:
        judged: A run (`run`, `load`, or a run folder).
        exam: Files of exams of its judges.
        labels: Files of people's labels of a random part of its items, as drawn by ``contrafact
            FAMILY study sample RUN --for calibration``.
        level: Confidence level.
        seed: Seed of the raw rates' intervals.

    Returns:
        ``items``: the run's items. ``scores``: rates ``raw`` and ``corrected`` (with ``low`` and
        ``high``), whether the bounds are ``usable``, and ``why`` not; ``by`` ("labels", "exam" or
        blank), ``rests_on`` (the exam or labels used), ``speaks_of`` (the outputs it is about).

    Raises:
        InputError: No exam or labels are given, or an exam fits no judge of the run.
    """
    from contrafact.family.exam_file import read_exams
    from contrafact.report.chapter import Options, checked_data
    from contrafact.report.estimates import judged_rates
    from contrafact.report.frames import check_exams, check_labels, read_labels, read_tasks

    folder = judged.folder if isinstance(judged, Run) else Path(judged)
    known, files = read_exams(paths_of(exam)), paths_of(labels)
    if not known and not files:
        raise InputError("no exam or labels are given", hint="give exam=FILE or labels=FILE")
    tasks = read_tasks([folder])
    labelled = read_labels(files) if files else None
    check_exams(known, tasks)
    if labelled is not None:
        check_labels(labelled, tasks)
    (runs,) = tasks
    items = runs.items
    data = checked_data(runs, Options(seed=seed, level=level))
    rates = judged_rates(data, known, labelled)
    if rates.empty:
        raise InputError("nothing in it was judged", file=folder, hint="run it with a judge")
    return Result(f"{runs.task}: judged rates, corrected", items, rates)


@Operation
def agreement(
    data: Any,
    *,
    rater: Sequence[str] = (),
    count: str | None = None,
    columns: Mapping[str, str] | None = None,
    categories: Sequence[str] = (),
    reference: str | None = None,
    positive: str | None = None,
    seed: Seed = 0,
    level: Level = 0.95,
) -> Result[Any]:
    """Measure how far raters agree, as ``contrafact agree`` does.

    Args:
        data: Ratings: a data frame, a list of dicts, or a file; wide (a column of items, one
            column per rater) or long (item, rater, rating).
        rater: Take only these raters.
        count: A column with the number of items that each row represents.
        columns: The data's column for each name that differs, as in ``{"item": "story"}``.
        categories: All categories that raters could choose, for Gwet's AC1.
        reference: The rater whose ratings count as true, with whom the others are compared.
        positive: The positive one of two categories.
        seed: Seed of the intervals.
        level: The intervals' confidence level.

    Returns:
        ``items``: the items that raters rate differently. ``scores``: every coefficient with its
        interval, or the reason why it has none.

    Raises:
        InputError: There are fewer than two raters, a cell is not a rating, or a name is unknown.
    """
    from contrafact.study.agreement import agreement as agree
    from contrafact.study.agreement import read_ratings

    if isinstance(data, pd.DataFrame) and all(data.index.names):  # items as its index
        data = data.reset_index()
    table = read_ratings(rows_of(data, columns=columns), raters=rater, count=count)
    measured = agree(
        table, categories=categories, reference=reference, positive=positive, seed=seed, level=level
    )
    figures = [
        *measured.coefficients,
        *(figure for pair in measured.against for figure in pair.figures),
    ]
    rows = [{**vars(figure), "raters": " + ".join(figure.raters)} for figure in figures]
    scores = pd.DataFrame(rows).rename(columns={"name": "coefficient"})
    names = ["item", *measured.raters]
    rows = [{"item": row["item"], **row["ratings"]} for row in measured.disagreements]
    items = as_given(data, pd.DataFrame(rows, columns=names))
    title = f"{measured.items} items, {len(measured.raters)} raters, {measured.ratings} ratings"
    return Result(title, items, scores, measured.notes)
