"""From a judge's answers to the exam's figures: one row an item and criterion, then the rates.

Surface features say what a score of likeness to a reference would have made of the same texts: BLEU
by sacreBLEU (sentence level, its default smoothing), ROUGE-L by Google's `rouge-score` (F-measure,
no stemming), and character edits (one less Levenshtein's distance over the longer length). A right
text need not look like its reference, and a wrong one may differ from it in a single word.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.exam.questions import JudgeCall
from contrafact.family.exam import RESPONSE, ExamItem
from contrafact.family.exam_file import (
    UNSURE,
    CriterionExam,
    Exam,
    Figure,
    KindRate,
    OrderEffect,
    Rate,
    Repeats,
    Seen,
    SurfaceRow,
)
from contrafact.judges.judge import all_pass, panel_verdict
from contrafact.judges.surface import OVERALL, LeakItem, leak_rows
from contrafact.records import Verdict
from contrafact.stats.classification import auroc
from contrafact.stats.intervals import (
    Resampling,
    cluster_bootstrap,
    clustered_proportion,
    difference_between_groups,
)
from contrafact.text.diff import normalised_edit_distance
from contrafact.text.likeness import bleu, rouge_l

__all__ = [
    "exam_rows",
    "examine",
    "leak_notes",
    "likeness",
    "row_object",
    "surface_rows",
    "unread_notes",
]

_STREAMS = {"criterion": 1, "surface": 2, "repeats": 3, "together": 4}
_SURFACE_READERS = ("words", "overlap", "connectors", "quotes")
_LEVEL = 0.95
_LEAST_SURFACE = 25
"""Right and wrong items of a criterion that readers of the surface need."""


@dataclass(frozen=True)
class ExamRow:
    """What a judge said of one item by one criterion; ``response`` stands for the item as a whole.

    ``known`` is the verdict that it should have, ``passed`` the one that it got the first time,
    None where it was ``invalid``; ``repeats`` are all verdicts, the first among them, ``swapped``
    the one in the other order, if ``asked_swapped``. ``probability`` is the judge's of true, where
    the provider gave one, ``members`` a panel's own verdicts by judge, ``facts`` what the family
    says of the item besides, ``reference`` the text that it is compared with by surface features.
    """

    item: str
    cluster: str
    kind: str
    criterion: str
    known: bool
    passed: bool | None
    invalid: str | None
    probability: float | None
    repeats: tuple[bool | None, ...]
    swapped: bool | None
    asked_swapped: bool
    words: int
    text: str
    members: Mapping[str, bool | None] = field(default_factory=dict)
    about: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    reference: str | None = None


def row_object(row: ExamRow) -> dict[str, Any]:
    """Return a row as the file of items has it."""
    fields: dict[str, Any] = {}
    for name, value in asdict(row).items():
        fields |= value if name == "facts" else {name: value}
    return fields | {"repeats": list(row.repeats), "members": dict(row.members)}


def exam_rows(
    items: Sequence[ExamItem],
    questions: Sequence[JudgeCall],
    answers: Mapping[str, Mapping[str, Any]],
) -> list[ExamRow]:
    """Return the rows of an exam whose questions all have an answer, by the questions' keys.

    Several judges are a panel: its verdict is the majority of the valid ones, each time.
    """
    votes: dict[tuple[str, str, int, bool], dict[str, Mapping[str, Any]]] = {}
    for q in questions:
        answer = answers[q.key]
        for name, vote in answer.items() if q.about else [(q.criterion, answer)]:
            votes.setdefault((q.item, name, q.repeat, q.swapped), {})[q.judge] = vote
    times = range(1, max((q.repeat for q in questions), default=1) + 1)
    rows: list[ExamRow] = []
    for item in items:
        own = []
        for criterion, known in item.known.items():
            given = [_panel(votes[item.id, criterion, time, False]) for time in times]
            first = votes[item.id, criterion, 1, False]
            other = votes.get((item.id, criterion, 1, True))
            chances = [c for vote in first.values() if (c := vote.get("probability")) is not None]
            own.append(
                _row(
                    item,
                    criterion,
                    known,
                    passed=given[0].passed,
                    invalid=given[0].invalid,
                    probability=sum(chances) / len(chances) if chances else None,
                    repeats=tuple(verdict.passed for verdict in given),
                    swapped=_panel(other).passed if other else None,
                    asked_swapped=other is not None,
                    members={judge: vote["passed"] for judge, vote in first.items()},
                )
            )
        rows += own
        if item.whole is not None:
            rows.append(_whole(item, own))
    return rows


def likeness(texts: Sequence[str], references: Sequence[str]) -> dict[str, list[float]]:
    """Return each text's likeness to its reference by score; 0 to 1, higher is more alike."""
    scores: dict[str, list[float]] = {"bleu": [], "rouge_l": [], "edit_similarity": []}
    for text, reference in zip(texts, references, strict=True):
        scores["bleu"].append(bleu(text, reference))
        scores["rouge_l"].append(rouge_l(text, reference))
        scores["edit_similarity"].append(1.0 - normalised_edit_distance(text, reference))
    return scores


def examine(
    rows: Sequence[ExamRow],
    *,
    seed: int,
    surface_of: str = RESPONSE,
    wholes: Sequence[str] = (),
    resamples: int = 10_000,
    **known: Any,
) -> Exam:
    """Return what an exam's rows say of the judge.

    Intervals of rates are Wilson's at the effective number of items, all others resample clusters
    (headlines, stories).

    Args:
        rows: As `exam_rows` returns them.
        seed: Seed of the resampling; the draw of items had it, too.
        surface_of: The criterion for which surface features are compared with the judge.
        wholes: Criteria that are verdicts on a kind as a whole, made of others.
        resamples: How many times clusters are drawn.
        known: The other fields of `Exam`, which are known without its rows: judge, family, prompts.
    """
    by_criterion: dict[str, list[ExamRow]] = {}
    for row in sorted(rows, key=lambda row: (row.criterion == RESPONSE, row.criterion)):
        by_criterion.setdefault(row.criterion, []).append(row)
    figures = _Estimates(_LEVEL, resamples, seed)
    words = float(np.median([row.words for row in rows])) if rows else None
    visible = _Visible(
        [row for row in rows if row.criterion != RESPONSE and row.criterion not in wholes],
        words or 0.0,
    )
    return Exam(
        **known,
        n=len({row.item for row in rows}),
        seed=seed,
        level=_LEVEL,
        criteria={
            name: figures.criterion(name, own, visible) for name, own in by_criterion.items()
        },
        words=words,
        surface_scores=figures.surface(by_criterion.get(surface_of, [])),
        together=figures.together({k: v for k, v in by_criterion.items() if k not in wholes}),
        repeats=Repeats(
            times=max((len(row.repeats) for row in rows), default=1),
            same=figures.repeats(by_criterion),
        ),
    )


def surface_rows(items: Sequence[LeakItem], *, seed: int) -> dict[str, SurfaceRow]:
    """Return what readers reach that follow nothing, by criterion and for items as a whole.

    Each reader sees one sort of features, by logistic regression; the best of them counts, and the
    items leak where its interval lies above the limit. Where there are too few items, or
    scikit-learn is missing, there is nothing.
    """
    found: dict[str, SurfaceRow] = {}
    if find_spec("sklearn") is None:
        return found
    try:
        rows = list(
            leak_rows(
                items,
                seed=seed,
                readers=_SURFACE_READERS,
                models=("logistic",),
                least=_LEAST_SURFACE,
            )
        )
    except InputError:  # there are too few items: nothing is claimed of them
        return found
    for row in rows:
        name = RESPONSE if row.target == OVERALL else row.target
        if name in found and (found[name].auroc.estimate or 0.0) >= row.auroc:
            continue
        figure = Figure(estimate=row.auroc, low=row.low, high=row.high, n=row.items)
        found[name] = SurfaceRow(auroc=figure, limit=row.limit, leaks=row.low > row.limit)
    return found


def unread_notes(rows: Sequence[ExamRow], judge: str) -> list[str]:
    """Return a sentence where no verdict could be read; nothing where one could."""
    if not rows or any(row.passed is not None for row in rows):
        return []
    (why, often), *_ = Counter(str(row.invalid) for row in rows).most_common(1)
    return [
        f"no verdict of {judge} can be read ({often} of {len(rows)}: {why}): this exam says "
        "nothing of it, and corrects nothing; name another judge"
    ]


def leak_notes(surface: Mapping[str, SurfaceRow], unread: str) -> list[str]:
    """Return a sentence where items leak; nothing where they do not."""
    leaky = [name for name, row in surface.items() if row.leaks]
    if not leaky:
        return []
    return [
        f"these items leak ({', '.join(leaky)}): a reader that {unread} tells right from wrong; "
        "what this exam says of a judge can be had without judging"
    ]


@dataclass(frozen=True)
class _Estimates:
    """The settings that all figures share. Each has a random stream of its own."""

    level: float
    resamples: int
    seed: int

    def how(self, stream: str, name: str) -> Resampling:
        rng = np.random.default_rng([self.seed, _STREAMS[stream], *name.encode()])
        return {"level": self.level, "resamples": self.resamples, "rng": rng}

    def criterion(self, name: str, rows: Sequence[ExamRow], visible: "_Visible") -> CriterionExam:
        read = [row for row in rows if row.passed is not None]
        how = self.how("criterion", name)
        # Where nothing could be read there are no outcomes, and every figure is undefined.
        right = _column(read, lambda row: row.passed == row.known)
        known = _column(read, lambda row: row.known)
        passed = _column(read, lambda row: row.passed)
        clusters = _clusters(read)
        apart = difference_between_groups(right, known, clusters, **how)
        with_chance = [row for row in read if row.probability is not None]
        return CriterionExam(
            sensitivity=self._rate([r for r in read if r.known], lambda r: bool(r.passed)),
            specificity=self._rate([r for r in read if not r.known], lambda r: not r.passed),
            invalid=self._rate(rows, lambda r: r.passed is None),
            bias_true=Figure(
                estimate=apart.estimate / 2.0, low=apart.low / 2.0, high=apart.high / 2.0, n=apart.n
            ),
            auroc=_auroc(with_chance, _column(with_chance, lambda r: r.probability), how)
            if with_chance
            else None,
            length=_length(read, passed, known, clusters, how),
            order=self._order(rows, how),
            kinds={
                kind: KindRate(
                    known=of[0].known, right=self._rate(of, lambda r: r.passed == r.known)
                )
                for kind, of in sorted(_by_kind(read).items())
            },
            seen=self._seen(read, visible),
        )

    def _seen(self, rows: Sequence[ExamRow], visible: "_Visible") -> dict[str, Seen]:
        found = {}
        for name in ("unsure", "others", "long"):
            value: Callable[[ExamRow], bool | None] = getattr(visible, name)
            there = [row for row in rows if value(row) is not None]
            sides = [[row for row in there if row.known is known] for known in (True, False)]
            if all(sides):
                right, wrong = (
                    Rate.of(
                        clustered_proportion(_column(own, value), _clusters(own), level=self.level)
                    )
                    for own in sides
                )
                found[name] = Seen(right=right, wrong=wrong)
        return found

    def surface(self, rows: Sequence[ExamRow]) -> dict[str, Figure]:
        # A text that is its own reference is as like it as can be: that is no test of a score.
        every = [row for row in rows if row.reference and row.text != row.reference]
        read = [row for row in every if row.passed is not None]
        others = read or every  # they need no judge
        if not others:
            return {}
        texts, references = zip(*((row.text, row.reference or "") for row in others), strict=True)
        scores = likeness(texts, references)
        if read:
            scores["judge"] = [float(bool(row.passed)) for row in read]
        return {
            name: _auroc(others, np.array(values), self.how("surface", name))
            for name, values in scores.items()
        }

    def together(self, by_criterion: dict[str, list[ExamRow]]) -> Figure | None:
        """Return how much more often items pass as a whole than independent errors would have."""
        rates: dict[str, tuple[float, float]] = {}
        for name, rows in by_criterion.items():
            sides = [
                [row.passed for row in rows if row.passed is not None and row.known is known]
                for known in (True, False)
            ]
            if name != RESPONSE:
                right, wrong = (sum(own) / len(own) if own else math.nan for own in sides)
                rates[name] = right, wrong
        due: dict[str, float] = {}
        given: dict[str, list[bool | None]] = {}
        for name in rates:
            for row in by_criterion[name]:
                share = rates[name][0] if row.known else rates[name][1]
                due[row.item] = due.get(row.item, 1.0) * share
                given.setdefault(row.item, []).append(row.passed)
        # What is known of an item is compared with what was said of the same.
        passed = {item: all_pass(own) for item, own in given.items()}
        whole = [row for row in by_criterion.get(RESPONSE, []) if passed.get(row.item) is not None]
        gaps = np.array([float(bool(passed[row.item])) - due[row.item] for row in whole])
        if not len(gaps) or np.isnan(gaps).any():
            return None
        how = self.how("together", RESPONSE)
        return Figure.of(cluster_bootstrap(gaps, _clusters(whole), **how))

    def repeats(self, by_criterion: dict[str, list[ExamRow]]) -> dict[str, Figure]:
        found = {}
        for name, rows in by_criterion.items():
            shares, clusters = [], []
            for row in rows:
                read = [one for one in row.repeats if one is not None]
                pairs = len(read) * (len(read) - 1)
                if pairs:
                    yes = sum(read)
                    no = len(read) - yes
                    shares.append((yes * (yes - 1) + no * (no - 1)) / pairs)
                    clusters.append(row.cluster)
            if shares:
                how = self.how("repeats", name)
                found[name] = Figure.of(cluster_bootstrap(shares, clusters, **how))
        return found

    def _rate(self, rows: Sequence[ExamRow], counted: Callable[[ExamRow], bool]) -> Rate:
        outcomes = _column(rows, counted)
        return Rate.of(clustered_proportion(outcomes, _clusters(rows), level=self.level))

    def _order(self, rows: Sequence[ExamRow], how: Resampling) -> OrderEffect | None:
        if not any(row.asked_swapped for row in rows):
            return None
        both = [row for row in rows if row.passed is not None and row.swapped is not None]
        shift = _column(both, lambda row: float(bool(row.swapped)) - float(bool(row.passed)))
        return OrderEffect(
            changed=self._rate(both, lambda row: row.passed != row.swapped),
            shift=Figure.of(cluster_bootstrap(shift, _clusters(both), **how)),
        )


class _Visible:
    """What can be seen of items whose verdict is not known."""

    def __init__(self, rows: Sequence[ExamRow], words: float) -> None:
        self._words = words
        self._passed: dict[str, dict[str, bool]] = {}
        for row in rows:
            if row.passed is not None:
                self._passed.setdefault(row.item, {})[row.criterion] = row.passed

    def unsure(self, row: ExamRow) -> bool | None:
        return None if row.probability is None else UNSURE[0] < row.probability < UNSURE[1]

    def others(self, row: ExamRow) -> bool | None:
        given = self._passed.get(row.item, {})
        others = [passed for name, passed in given.items() if name != row.criterion]
        return not all(others) if others and row.criterion in given else None

    def long(self, row: ExamRow) -> bool:
        return row.words > self._words


def _length(
    rows: Sequence[ExamRow],
    passed: NDArray[np.float64],
    known: NDArray[np.float64],
    clusters: list[str],
    how: Resampling,
) -> Figure:
    words = _column(rows, lambda row: row.words)
    longer, apart = np.zeros(len(rows)), passed.copy()
    for value in (0.0, 1.0):
        own = known == value
        if own.any():
            longer[own] = words[own] > np.median(words[own])
            apart[own] -= passed[own].mean()
    return Figure.of(difference_between_groups(apart, longer, clusters, **how))


def _auroc(rows: Sequence[ExamRow], scores: NDArray[np.float64], how: Resampling) -> Figure:
    known = _column(rows, lambda row: row.known)
    how = {**how, "resamples": min(2_000, how["resamples"])}
    return Figure.of(auroc(known, scores, _clusters(rows), **how))


def _column(
    rows: Sequence[ExamRow], value: Callable[[ExamRow], float | bool | None]
) -> NDArray[np.float64]:
    return np.array([value(row) for row in rows], dtype=np.float64)


def _clusters(rows: Sequence[ExamRow]) -> list[str]:
    return [row.cluster for row in rows]


def _by_kind(rows: Sequence[ExamRow]) -> dict[str, list[ExamRow]]:
    """Return the rows by kind; a kind whose items have both verdicts on a criterion is two."""
    kinds: dict[str, dict[bool, list[ExamRow]]] = {}
    for row in rows:
        kinds.setdefault(row.kind, {}).setdefault(row.known, []).append(row)
    found = {}
    for kind, by_known in kinds.items():
        for known, own in by_known.items():
            found[kind if len(by_known) == 1 else f"{kind} ({str(known).lower()})"] = own
    return found


def _row(item: ExamItem, criterion: str, known: bool, **found: Any) -> ExamRow:
    return ExamRow(
        item=item.id,
        cluster=item.cluster,
        kind=item.kind,
        criterion=criterion,
        known=known,
        words=len(item.text.split()),
        text=item.text,
        about=item.about,
        facts=item.facts,
        reference=item.reference,
        **found,
    )


def _whole(item: ExamItem, rows: Sequence[ExamRow]) -> ExamRow:
    """Return the verdict on the item as a whole: a conjunction, time by time."""
    passed = all_pass(row.passed for row in rows)
    why = "; ".join(f"{row.criterion}: {row.invalid}" for row in rows if row.invalid)
    swapped = all(row.asked_swapped for row in rows)
    return _row(
        item,
        RESPONSE,
        bool(item.whole),
        passed=passed,
        invalid=why if passed is None else None,
        probability=None,
        repeats=tuple(map(all_pass, zip(*(row.repeats for row in rows), strict=True))),
        swapped=all_pass(row.swapped for row in rows) if swapped else None,
        asked_swapped=swapped,
        members={},
    )


def _panel(votes: Mapping[str, Mapping[str, Any]]) -> Verdict:
    # What a provider's verdict holds besides is kept in the answers, and not counted here.
    names = Verdict.model_fields
    return panel_verdict(
        [
            Verdict.model_validate({name: vote[name] for name in names if name in vote})
            for vote in votes.values()
        ]
    )
