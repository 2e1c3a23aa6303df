"""Scoring a study: its key and filled sheets in, tables out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contrafact.errors import InputError
from contrafact.family.study import (
    NOT_ASKED,
    Answer,
    AnsweredStudy,
    Question,
    StudyItem,
    StudySpec,
    StudyTable,
)
from contrafact.files.sheets import probability, read_filled, read_key_rows
from contrafact.files.tables import read_rows
from contrafact.stats.agreement import cohen_kappa, fleiss_kappa, gwet_ac1, percent_agreement
from contrafact.stats.votes import majority

__all__ = ["Filled", "read_answers", "read_key", "score_study"]

_MAJORITY = "majority"

_KIND = "kind"
_KEPT = ("item", "probability", "check")
_SHARES = ("percent", "unanimous", "accuracy", "precision", "recall")
_COEFFICIENTS = ("fleiss", "ac1", "f1", "kappa")


@dataclass
class Filled:
    """What people answered, in the order of the sheets' rows, and what could not be used.

    People stand in the order in which they were met, ``problems`` has a sentence for each cell or
    row that was not used.
    """

    answers: list[Answer] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_key(
    path: str | Path, studies: Mapping[str, StudySpec], *, command: str
) -> tuple[str, list[StudyItem]]:
    """Return the kind of study that a key is of, and its items in order; `InputError` if none."""
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
        raise InputError("the key is of two kinds of study", file=path, hint="keep them apart")
    (kind,) = kinds
    spec = studies[kind]
    checked = ["probability", *spec.allowed, *(one.verdict for one in spec.questions)]
    items: dict[str, StudyItem] = {}
    for line, cells in read_key_rows(path, spec.key, command=command):
        drawn = probability(cells["probability"])
        verdicts = {
            one.name: one.read(cells[one.verdict])
            for one in spec.questions
            if one.verdict and cells[one.verdict]
        }
        known = all(cells[name] in values for name, values in spec.allowed.items())
        if drawn is None or None in verdicts.values() or not known or cells["item"] in items:
            named = " or ".join(dict.fromkeys(name for name in checked if name))
            raise InputError(
                f"item '{cells['item'][:20]}' is there twice, or its {named} is wrong",
                file=path,
                line=line,
                hint=hint,
            )
        items[cells["item"]] = StudyItem(
            name=cells["item"],
            probability=drawn,
            check=cells["check"],
            facts=cells,
            cluster=cells[spec.cluster],
            verdicts={name: verdict for name, verdict in verdicts.items() if verdict},
        )
    return kind, list(items.values())


def read_answers(
    paths: Iterable[str | Path],
    spec: StudySpec,
    items: Sequence[StudyItem],
    *,
    command: str,
    columns: Mapping[str, str] | None = None,
) -> Filled:
    """Return the answers of filled sheets, one for each person or shared ones.

    A person is named by the column ``annotator``, or else by the name of the file. A cell that is
    no answer to its question, an item that is not in the key, and an item whose texts are not those
    drawn are not used, and named in ``problems``. ``columns`` has what a file calls a column now by
    the name that its sheet was written with.

    Raises:
        InputError: A file is no sheet, or one person answered one item twice.
    """
    filled = Filled()
    for row in read_filled(
        paths,
        {item.name: item.check for item in items},
        shown=list(spec.shown),
        asked=[question.name for question in spec.asked],
        command=command,
        problems=filled.problems,
        columns=columns,
    ):
        if row.person not in filled.people:
            filled.people.append(row.person)
        for question in spec.questions:
            cell = row.cells.get(question.name, "").strip()
            if cell == NOT_ASKED:
                continue
            answer = question.read(cell) if cell else None
            why = ""
            if not cell and not question.optional:
                filled.problems.append(f"{row.where}: {question.name} is empty")
            elif cell and answer is None:
                why = f"is '{cell[:40]}', not {question.choices}"
            if why:
                filled.problems.append(f"{row.where}: {question.name} {why}; left out")
            elif answer is not None:
                filled.answers.append(Answer(row.item, row.person, question.name, answer))
    return filled


def score_study(
    spec: StudySpec,
    items: Sequence[StudyItem],
    filled: Filled,
    rng: np.random.Generator,
    *,
    resamples: int = 10_000,
) -> list[StudyTable]:
    """Return a study's tables as shown; `InputError` if no cell that asks holds an answer."""
    asked = {question.name: question for question in spec.asked}
    if not any(answer.question in asked for answer in filled.answers):
        choices = " or ".join(dict.fromkeys(question.choices for question in asked.values()))
        raise InputError(
            "no cell of these sheets is filled in", hint=f"write {choices} in {' and '.join(asked)}"
        )
    study = AnsweredStudy(items, filled.answers, filled.people, rng, resamples=resamples)
    tables = list(spec.tables(study) if spec.tables else _standard_tables(spec, study))
    if spec.labels:
        tables.append(StudyTable("labels", "", _labels(spec, study)))
    return tables


def _standard_tables(spec: StudySpec, study: AnsweredStudy) -> list[StudyTable]:
    """Return the tables of a study that has none of its own.

    A majority is more than half of those who answered. One that neither passes nor fails an item,
    or none, decides nothing about the verdicts, and neither does a verdict that is
    open; both are counted. Where several questions are asked, rows say which they are of.

    - ``raters``: ``items``, ``raters``, ``fleiss``, ``ac1``, ``percent`` and ``unanimous`` (share
      of the items that all answered on which they agree), with how many answers were ``other``;
    - ``judge`` (or ``gold``): for every judge, and for all, against the majority: ``accuracy``,
      ``precision``, ``recall``, ``f1``, ``kappa`` and the four counts (``tp`` both pass, ``fp`` the
      judge alone, ``fn`` the people alone, ``tn`` neither); ``split``: items without a majority;
      ``open``: items whose verdict was;
    - ``pairs``: every two raters, and every rater with the judge: ``n``, ``percent``, ``kappa``;
    - ``ratings``: one row per item, with every rater's answer, the majority and the verdict: a
      table that ``contrafact agree`` reads.
    """
    rows: dict[str, list[dict[str, Any]]] = {"raters": [], spec.reference: [], "pairs": []}
    ratings: list[StudyTable] = []
    questions = [one for one in spec.questions if study.given(one.name)]
    for question in questions:
        about = {"question": question.name} if len(spec.questions) > 1 else {}
        of = _OneQuestion(spec, study, question)
        against = of.against_majority() if question.verdict else []
        rows[spec.reference] += [about | row for row in against]
        rows["raters"].append(about | of.raters())
        rows["pairs"] += [about | row for row in of.pairs()]
        name = "ratings" if len(spec.questions) == 1 else f"ratings_{question.name}"
        ratings.append(StudyTable(name, "", pd.DataFrame(of.ratings())))
    titles = {
        "raters": "Raters among themselves",
        spec.reference: f"{spec.reference.capitalize()} against the raters' strict majority",
        "pairs": f"Every two raters, and each with the {spec.reference}",
    }
    return [
        *(
            StudyTable(name, titles[name], pd.DataFrame(own), _SHARES, _COEFFICIENTS)
            for name, own in rows.items()
        ),
        *ratings,
    ]


@dataclass(frozen=True)
class _OneQuestion:
    """The standard figures of one question."""

    spec: StudySpec
    study: AnsweredStudy
    question: Question

    def raters(self) -> dict[str, Any]:
        given = self.study.given(self.question.name)
        names = {name for own in given.values() for name in own}
        rated = [item for item in self.study.items if item.name in names]
        table = [[own.get(item.name) for own in given.values()] for item in rated]
        found: dict[str, Any] = {"items": len(rated), "raters": len(given)}
        if self.question.passes and len(self.question.answers) > 2:
            found["other"] = sum(
                cell is not None and self.question.passed(cell) is None
                for row in table
                for cell in row
            )
        if len(given) > 1:
            for name, function in (
                ("percent", percent_agreement),
                ("fleiss", fleiss_kappa),
                ("ac1", partial(gwet_ac1, categories=list(self.question.answers))),
            ):
                found |= self.study.coefficient(function, rated, table).columns(name)
            whole = [place for place, row in enumerate(table) if None not in row]
            found |= self.study.mean(
                [rated[place] for place in whole], [len(set(table[place])) == 1 for place in whole]
            ).columns("unanimous")
        return found

    def against_majority(self) -> list[dict[str, Any]]:
        """Return how the verdicts match people's majority, judge by judge and all together."""
        by_judge: dict[str, list[StudyItem]] = {}
        for item in self.study.items:
            by_judge.setdefault(item.facts.get("judge", self.spec.reference), []).append(item)
        rows = [self._against_majority(judge, items) for judge, items in by_judge.items()]
        every = f"all {self.spec.reference}s"
        return [*rows, self._against_majority(every, self.study.items)] if len(rows) > 1 else rows

    def _against_majority(self, judge: str, items: Sequence[StudyItem]) -> dict[str, Any]:
        answers = self.study.given(self.question.name)
        passes = self.question.passes
        pairs: list[tuple[str, str]] = []
        compared: list[StudyItem] = []
        split = undecided = 0
        for item in items:
            most = majority(own[item.name] for own in answers.values() if item.name in own)
            if not any(item.name in own for own in answers.values()):
                continue
            if most is None or (passes and self.question.passed(most) is None):
                split += 1
            elif self.question.name not in item.verdicts:
                undecided += 1
            else:
                pairs.append((most, item.verdicts[self.question.name]))
                compared.append(item)
        count = Counter(pairs)
        yes, no = self.question.answers[:2]
        cells = {"tp": (yes, yes), "fp": (no, yes), "fn": (yes, no), "tn": (no, no)}
        row: dict[str, Any] = {"judge": judge, "n": len(pairs)}
        row |= {name: count[cell] for name, cell in cells.items()} if passes else {}
        row |= {"split": split, "open": undecided}
        if not pairs:
            return row
        row |= self.study.mean(compared, [a == b for a, b in pairs]).columns("accuracy")
        if passes:
            # F1 as the weighted mean that it is: 2 tp / (2 tp + fp + fn).
            among = {
                "precision": [verdict == yes for _, verdict in pairs],
                "recall": [most == yes for most, _ in pairs],
                "f1": [yes in pair for pair in pairs],
            }
            for figure, chosen in among.items():
                own = [item for item, one in zip(compared, chosen, strict=True) if one]
                both = [pair == (yes, yes) for pair, one in zip(pairs, chosen, strict=True) if one]
                weights = [1.0 + one for one in both] if figure == "f1" else None
                row |= self.study.mean(own, both, weights=weights).columns(figure)
        return row | self.study.coefficient(cohen_kappa, compared, pairs).columns("kappa")

    def pairs(self) -> list[dict[str, Any]]:
        given = self.study.given(self.question.name)
        verdicts = self.study.verdicts(self.question.name)
        compared = [(one, other, given[other], False) for one, other in combinations(given, 2)] + [
            (one, self.spec.reference, verdicts, True) for one in given if verdicts
        ]
        rows = []
        for one, other, second, judged in compared:
            own = [
                item
                for item in self.study.items
                if item.name in given[one]
                and item.name in second
                # The judge has no third answer: what a person left open says nothing of it.
                and not (
                    judged
                    and self.question.passes
                    and self.question.passed(given[one][item.name]) is None
                )
            ]
            if not own:
                continue
            table = [(given[one][item.name], second[item.name]) for item in own]
            percent, kappa = (
                self.study.coefficient(function, own, table)
                for function in (percent_agreement, cohen_kappa)
            )
            about = {"rater": one, "other": other, "n": len(own)}
            rows.append(about | percent.columns("percent") | kappa.columns("kappa"))
        return rows

    def ratings(self) -> list[dict[str, Any]]:
        given = self.study.given(self.question.name)
        rows = []
        for item in self.study.items:
            own = {person: answers.get(item.name) for person, answers in given.items()}
            votes = [answer for answer in own.values() if answer is not None]
            if not votes:
                continue
            facts: dict[str, Any] = {"item": item.name, self.spec.cluster: item.cluster}
            if "system" in item.facts:
                facts["system"] = item["system"]
            facts["probability"] = item.probability
            facts |= own | {_MAJORITY: majority(votes)}
            rows.append(facts | {self.spec.reference: item.verdicts.get(self.question.name)})
        return rows


def _labels(spec: StudySpec, study: AnsweredStudy) -> pd.DataFrame:
    """Return one row per answer, as a correction of judged rates takes it."""
    items = {item.name: item for item in study.items}
    questions = {question.name: question for question in spec.questions}
    rows = []
    for given in study.answers:
        item, question = items[given.item], questions[given.question]
        verdict = item.verdicts.get(question.name)
        rows.append(
            {
                "item": item.name,
                "annotator": given.person,
                "question": question.criterion or question.name,
                "answer": question.passed(given.answer) if question.passes else given.answer,
                **{column: item[column] for column in spec.labels},
                "probability": item.probability,
                "judge_verdict": question.passed(verdict) if question.passes else verdict,
            }
        )
    return pd.DataFrame(rows)
