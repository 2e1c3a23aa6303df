"""Score a study: make tables from its key and filled sheets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contrafact.errors import InputError
from contrafact.family.study import NOT_ASKED, AnsweredStudy, Question, StudySpec, StudyTable
from contrafact.files.sheets import probability, read_filled, read_key_rows
from contrafact.files.tables import read_rows
from contrafact.stats.agreement import cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement
from contrafact.stats.classification import classification
from contrafact.stats.votes import majority

__all__ = ["read_answers", "read_key", "score_study"]

OVERALL = "overall"
AVERAGE = "average"
"""The name of the rater in rows that average over raters."""

_MAJORITY = "majority"

_KIND = "kind"
_KEPT = ("item", "probability", "check")
_SHARES = (*("percent", "unanimous", "accuracy", "precision", "recall", "specificity"), "weighted")
_OF_TWO = ("macro_f1", "kappa", "ac1")
_COEFFICIENTS = ("fleiss", "ac1", "f1", "kappa", "macro_f1")


_Two = tuple[dict[str, str], pd.DataFrame]
"""Two compared raters: their names and the items' part, and answers ``rater`` and ``other``."""


def read_key(
    path: str | Path, studies: Mapping[str, StudySpec], *, command: str
) -> tuple[str, pd.DataFrame]:
    """Return a key's kind of study and its items; `InputError` if the key is invalid."""
    hint = f"use the key as `{command}` wrote it"
    kinds: dict[str, None] = {}
    first = next(iter(studies))
    if _KIND not in studies[first].key and _KIND not in next(iter(read_rows(path)), (0, {}))[1]:
        kinds[first] = None
    else:
        for line, cells in read_key_rows(path, (*_KEPT, _KIND), command=command):
            kinds[cells[_KIND]] = None
            if cells[_KIND] not in studies:
                what = f"there is no study of the kind '{cells[_KIND][:20]}'"
                raise InputError(what, file=path, line=line, hint=hint)
    if len(kinds) > 1:
        raise InputError("the key mixes two kinds of study", file=path, hint="keep them apart")
    (kind,) = kinds
    spec = studies[kind]
    asked = [question for question in spec.questions if question.verdict]
    checked = ["probability", *spec.by, *(question.verdict for question in asked)]
    items: dict[str, dict[str, Any]] = {}
    for line, cells in read_key_rows(path, spec.key, command=command):
        drawn = probability(cells["probability"])
        verdicts = {question.verdict: question.read(cells[question.verdict]) for question in asked}
        wrong = any(cells[name] and verdict is None for name, verdict in verdicts.items())
        known = all(cells[name] in values for name, values in spec.by.items())
        if drawn is None or wrong or not known or cells["item"] in items:
            raise InputError(
                f"item '{cells['item'][:20]}' is there twice, or its "
                f"{' or '.join(dict.fromkeys(checked))} is wrong",
                file=path,
                line=line,
                hint=hint,
            )
        items[cells["item"]] = cells | verdicts | {"probability": drawn}
    return kind, pd.DataFrame([*items.values()], index=[*items], dtype=object).astype(
        {"probability": float}
    )


def read_answers(
    paths: Iterable[str | Path],
    spec: StudySpec,
    items: pd.DataFrame,
    *,
    command: str,
    columns: Mapping[str, str] | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the answers in filled sheets, and sentences on problems.

    Sheets may be one per person or shared; the column ``annotator``, or else the file's name, names
    the person. Cells that are not an answer to their question, items that are not in the key, and
    items whose texts were changed are not used; a sentence names each. ``columns`` gives the file's
    present name of each column of the original sheet.

    Raises:
        InputError: A file is not a sheet, or a person answered an item twice.
    """
    answers: list[tuple[str, str, str, str]] = []
    problems: list[str] = []
    for row in read_filled(
        paths,
        {str(name): check for name, check in items["check"].items()},
        shown=list(spec.shown),
        asked=[question.name for question in spec.asked],
        command=command,
        problems=problems,
        columns=columns,
    ):
        for question in spec.questions:
            cell = row.cells.get(question.name, "").strip()
            if cell == NOT_ASKED:
                continue
            answer = question.read(cell)
            if answer is not None:
                answers.append((row.item, row.person, question.name, answer))
            elif cell:
                why = f"is '{cell[:40]}', not {question.choices}"
                problems.append(f"{row.where}: {question.name} {why}; left out")
            elif not question.optional:
                problems.append(f"{row.where}: {question.name} is empty")
    columns_of = ["item", "annotator", "question", "answer"]
    return pd.DataFrame(answers, columns=columns_of, dtype=object), problems


def score_study(
    spec: StudySpec,
    items: pd.DataFrame,
    answers: pd.DataFrame,
    rng: np.random.Generator,
    *,
    resamples: int = 10_000,
) -> list[StudyTable]:
    """Return a study's tables in the order shown; `InputError` if no question has an answer."""
    asked = {question.name: question for question in spec.asked}
    if not answers["question"].isin([*asked]).any():
        choices = " or ".join(dict.fromkeys(question.choices for question in asked.values()))
        raise InputError(
            "no cell of these sheets is filled in", hint=f"write {choices} in {' and '.join(asked)}"
        )
    study = AnsweredStudy(spec, items, answers, rng, resamples=resamples)
    tables = list((spec.tables or _tables)(study))
    if spec.labels:
        tables.append(StudyTable("labels", "", pd.DataFrame(_labels(study))))
    return tables


def _tables(study: AnsweredStudy) -> list[StudyTable]:
    """Return the standard tables, for a study without its own.

    A majority is more than half of those who answered. Items without a majority, or whose majority
    neither passes nor fails them, say nothing about the verdicts; nor do open verdicts. Both are
    counted. If there are several questions, rows name theirs.

    - ``raters``: ``items``, ``raters``, ``fleiss``, ``ac1``, ``percent`` and ``unanimous`` (share
      of the items that all answered on which they agree), with how many answers were ``other``;
    - ``judge`` (or ``gold``): for every judge, and for all, against the majority: ``accuracy``,
      ``precision``, ``recall`` (its sensitivity), ``specificity``, ``f1``, ``kappa`` and the four
      counts (``tp`` both pass, ``fp`` the judge alone, ``fn`` the people alone, ``tn`` neither);
      ``split``: items without a majority; ``open``: items whose verdict was;
    - ``pairs``: every two raters, and every rater with the judge (each of several), and their
      average: ``n``, ``percent`` (of equal answers), ``weighted`` (the same, back to all that
      could be drawn), ``macro_f1`` (over the answers that occur), ``kappa`` (Cohen) and ``ac1``
      (Gwet); by `StudySpec.by` and ``overall``. An average of coefficients has no interval;
    - ``confusion``: how often one of a pair gave each answer where the other gave each;
    - ``ratings``: one row per item, with every rater's answer, the majority and the verdict: a
      table that ``contrafact agree`` reads.
    """
    spec = study.spec
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("raters", spec.reference, "pairs", "confusion")
    }
    ratings: list[StudyTable] = []
    for question in spec.questions:
        given = study.given(question.name)
        rated = given.dropna(how="all")
        if rated.empty:
            continue
        votes = [majority(row.dropna()) for _, row in rated.iterrows()]
        most = pd.Series(votes, index=rated.index, dtype=object)
        verdicts = study.items.get(question.verdict, pd.Series(index=given.index, dtype=object))
        pairs = list(_compared(study, question, given, verdicts))
        found = {
            spec.reference: _judges(study, question, most, verdicts) if question.verdict else (),
            "raters": [_raters(study, question, rated)],
            "pairs": _pairs(study, question, pairs),
            "confusion": _confusion(question, pairs),
        }
        about = {"question": question.name} if len(spec.questions) > 1 else {}
        for name, own in found.items():
            rows[name] += [about | row for row in own]
        facts = study.items.loc[rated.index]
        shown = {name: facts[name] for name in (spec.cluster, "system") if name in facts}
        shown |= {"probability": facts["probability"], **rated, _MAJORITY: most}
        frame = pd.DataFrame({"item": rated.index, **shown, spec.reference: verdicts[rated.index]})
        name = "ratings" if len(spec.questions) == 1 else f"ratings_{question.name}"
        ratings.append(StudyTable(name, "", frame))
    titles = {
        "raters": "Raters among themselves",
        spec.reference: f"{spec.reference.capitalize()} against the raters' strict majority",
        "pairs": f"Every two raters, and each with the {spec.reference}",
    }
    undefined = {"pairs": ("percent", *_OF_TWO)}
    return [
        *(
            StudyTable(
                name,
                titles.get(name, ""),
                pd.DataFrame(own),
                _SHARES,
                _COEFFICIENTS,
                undefined.get(name, ()),
            )
            for name, own in rows.items()
        ),
        *ratings,
    ]


def _raters(study: AnsweredStudy, question: Question, rated: pd.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = {"items": len(rated), "raters": len(rated.columns)}
    if question.passes and len(question.answers) > 2:
        cells = study.answers.loc[study.answers["question"].eq(question.name), "answer"]
        found["other"] = sum(question.passed(cell) is None for cell in cells)
    if len(rated.columns) > 1:
        for name, function in (
            ("percent", percent_agreement),
            ("fleiss", fleiss_kappa),
            ("ac1", partial(gwet_ac1, categories=list(question.answers))),
        ):
            found |= study.coefficient(function, rated).columns(name)
        found |= study.mean(rated.dropna().nunique(axis=1).eq(1)).columns("unanimous")
    return found


def _of_judges(study: AnsweredStudy) -> dict[str, "pd.Index[str]"]:
    """Return the items of each judge, or all items under the reference's name."""
    if "judge" not in study.items:
        return {study.spec.reference: study.items.index}
    groups = study.items.groupby("judge", sort=False)
    return {str(judge): own.index for judge, own in groups}


def _judges(
    study: AnsweredStudy, question: Question, most: "pd.Series[Any]", verdicts: "pd.Series[Any]"
) -> Iterator[dict[str, Any]]:
    """Yield rows on how verdicts match people's majority, for each judge and for all together."""
    judges = _of_judges(study)
    # If strata were drawn unequally, sensitivity and specificity are for the whole pool, not for
    # the sample, because they correct rates.
    equal = study.items["probability"].nunique() < 2
    over_all = study.mean if equal else study.weighted_mean
    if len(judges) > 1:
        judges[f"all {study.spec.reference}s"] = study.items.index
    for judge, items in judges.items():
        own = most[most.index.isin(items)]
        decides = (own.map(question.passed) if question.passes else own).notna()
        there = decides & verdicts[own.index].notna()
        pairs = pd.DataFrame({"people": own, "judge": verdicts[own.index]})[there]
        people, judged = (pairs[column].eq(question.answers[0]) for column in pairs)
        row: dict[str, Any] = {"judge": judge, "n": len(pairs)}
        if question.passes:
            row |= {"tp": int((people & judged).sum()), "fp": int((~people & judged).sum())}
            row |= {"fn": int((people & ~judged).sum()), "tn": int((~people & ~judged).sum())}
        row |= {"split": int((~decides).sum()), "open": int((decides & ~there).sum())}
        if pairs.empty:
            yield row
            continue
        row |= study.mean(pairs["people"].eq(pairs["judge"])).columns("accuracy")
        if question.passes:
            both = people & judged
            row |= study.mean(both[judged]).columns("precision")
            row |= over_all(both[people]).columns("recall")
            # F1 as a weighted mean: 2 tp / (2 tp + fp + fn).
            among = both[people | judged]
            row |= study.mean(among, 1.0 + among).columns("f1")
        row |= study.coefficient(cohen_kappa, pairs).columns("kappa")
        if question.passes:
            row |= over_all(~judged[~people]).columns("specificity")
        yield row


def _compared(
    study: AnsweredStudy, question: Question, given: pd.DataFrame, verdicts: "pd.Series[Any]"
) -> Iterator[_Two]:
    """Yield every two raters, and each rater with the reference, if both have answers."""
    people = [str(person) for person in given]
    compared = [(one, other, given[one], given[other]) for one, other in combinations(people, 2)]
    # The judge has no third answer, so items that a person left open are not compared.
    decided = given.where(given.map(question.passed).notna()) if question.passes else given
    judges = _of_judges(study)
    for judge, items in judges.items():
        other = judge if len(judges) > 1 else study.spec.reference
        compared += [
            (person, other, decided.loc[items][person], verdicts[items]) for person in people
        ]
    parts = [(column, value) for column, values in study.spec.by.items() for value in values]
    for one, other, first, second in compared:
        both = pd.DataFrame({"rater": first, "other": second}).dropna()
        for column, value in [*parts, ("", OVERALL)]:
            part = both[study.items.loc[both.index, column].eq(value)] if column else both
            about = dict.fromkeys(study.spec.by, OVERALL) | ({column: value} if column else {})
            if not part.empty:
                yield {**about, "rater": one, "other": other}, part


def _pairs(study: AnsweredStudy, question: Question, pairs: Sequence[_Two]) -> list[dict[str, Any]]:
    """Return the figures of every compared pair, and the raters' averages."""
    rows = []
    averaged: dict[tuple[str, ...], list[tuple[dict[str, Any], pd.Series[bool]]]] = {}
    people = set(study.answers["annotator"])
    for names, both in pairs:
        row: dict[str, Any] = names | {"n": len(both)}
        equal = both["rater"].eq(both["other"])
        row |= study.coefficient(percent_agreement, both).columns("percent")
        row |= study.weighted_mean(equal).columns("weighted")
        matched = classification(
            both["other"].tolist(), both["rater"].tolist(), question.answers, **study.how(both)
        )
        row |= matched.figures["f1", "valid"].columns("macro_f1")
        row |= study.coefficient(cohen_kappa, both).columns("kappa")
        ac1 = partial(gwet_ac1, categories=list(question.answers))
        row |= study.coefficient(ac1, both).columns("ac1")
        rows.append(row)
        if names["other"] not in people:
            rest = tuple(value for name, value in names.items() if name != "rater")
            averaged.setdefault(rest, []).append((row, equal))
    for own in averaged.values():
        if len(own) > 1:
            first, _ = own[0]
            equal = pd.concat([same for _, same in own]).groupby(level=0, sort=False).mean()
            about = {name: first[name] for name in (*study.spec.by, "rater", "other")}
            row = about | {"rater": AVERAGE, "n": len(equal)}
            row |= study.mean(equal).columns("percent")
            row |= study.weighted_mean(equal).columns("weighted")
            means = pd.DataFrame([row for row, _ in own])[[*_OF_TWO]]
            rows.append({**row, **means.mean(skipna=False)})
    return rows


def _confusion(question: Question, pairs: Sequence[_Two]) -> Iterator[dict[str, Any]]:
    """Yield a row for each answer of one rater, with counts of the other's answers."""
    for names, both in pairs:
        for answer in question.answers:
            other = both.loc[both["rater"].eq(answer), "other"]
            counts = {answer: int(other.eq(answer).sum()) for answer in question.answers}
            yield {**names, "rater_says": answer, **counts}


def _labels(study: AnsweredStudy) -> Iterator[dict[str, Any]]:
    """Yield one row per answer, in the form that corrects judged rates."""
    questions = {question.name: question for question in study.spec.questions}
    for name, person, asked, answer in study.answers.itertuples(index=False):
        item, question = study.items.loc[name], questions[asked]
        verdict = item[question.verdict] if question.verdict else None
        yield {
            "item": name,
            "annotator": person,
            "question": question.criterion or question.name,
            "answer": question.passed(answer) if question.passes else answer,
            **{column: item[column] for column in study.spec.labels},
            "probability": item["probability"],
            "judge_verdict": question.passed(verdict) if question.passes else verdict,
        }
