"""How often corrected rates cover the truth, simulated through `contrafact.correct`.

    python tools/simulate_correction.py --out coverage.csv
    python tools/simulate_correction.py --studies 200 --regime weak --rate 0.5
    python tools/simulate_correction.py --by estimator --out quick.csv

A study is a run of one system: responses to stories, judged on three criteria and as a whole, and
labels of a part of them, drawn as ``cobe study sample --for calibration`` draws. Beside it stands
an exam of the judge on other responses. Many studies are one run folder of many systems, each with
a judge of its own, so that one call corrects them all. Regimes say how the judge errs in the exam
and in the run.

``--by estimator`` draws as the command draws and calls the function that `contrafact.correct` calls
where there are labels, without files between: a tenth of the time for the same bounds. It
adds one criterion's rate by an exam.
"""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import contrafact
from contrafact.families.cobe.items import ITEM_COLUMNS
from contrafact.family import family_named
from contrafact.family.exam_file import (
    UNSURE,
    CriterionExam,
    Exam,
    Figure,
    Rate,
    Seen,
    write_exam,
)
from contrafact.family.manifest import DataRecord, Manifest, PackRecord
from contrafact.runs.folder import write_manifest
from contrafact.runs.items import ITEMS
from contrafact.stats.correction import MIN_YOUDEN, correction_bounds, ppi_share
from contrafact.stats.intervals import clustered_proportion, wilson_bounds
from contrafact.stats.sampling import (
    LEAST_OF_A_STRATUM,
    proportional_allocation,
    split_cells,
    verdict_levels,
)
from contrafact.study.sample import draw_study, for_calibration

CRITERIA = ("E1", "E2", "E3")
WHOLE = "correct"
RATES = (0.02, 0.1, 0.5, 0.9, 0.98)
_FAILS_TWO = 0.4
"""Of responses that fail, the share for which a second criterion is drawn to fail, too."""
_EXAM = 400

Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Regime:
    """How a judge errs on a criterion: its specificity in the exam may be a mixture of two.

    ``together`` is the chance that one response has one draw of luck on all its criteria.
    """

    sensitivity: float
    run: float
    exam: tuple[float, float]
    together: float = 0.0


REGIMES = {
    "together": Regime(0.9, 0.8, (0.8, 0.8), together=0.8),
    "shift 0": Regime(0.9, 0.9, (0.9, 0.9)),
    "shift .05": Regime(0.9, 0.85, (0.9, 0.9)),
    "shift .1": Regime(0.9, 0.8, (0.9, 0.9)),
    "shift .2": Regime(0.9, 0.7, (0.9, 0.9)),
    "half hard": Regime(0.95, 0.5, (0.95, 0.5)),
    "weak": Regime(0.65, 0.6, (0.6, 0.6)),
}


def truths(n: int, rate: float, rng: np.random.Generator) -> Truth:
    """Return what is true of each criterion of so many responses, of which ``rate`` pass all."""
    found = np.ones((n, len(CRITERIA)), dtype=bool)
    failed = np.flatnonzero(rng.random(n) >= rate)
    found[failed, rng.integers(0, len(CRITERIA), len(failed))] = False
    twice = failed[rng.random(len(failed)) < _FAILS_TWO]
    found[twice, rng.integers(0, len(CRITERIA), len(twice))] = False
    return found


def true_rates(rate: float) -> dict[str, float]:
    """Return the rates that `truths` draws from."""
    k = len(CRITERIA)
    fails = 1.0 - (1.0 - 1.0 / k) * (1.0 - _FAILS_TWO / k)
    return {WHOLE: rate, CRITERIA[0]: rate + (1.0 - rate) * (1.0 - fails)}


def judged(
    truth: Truth, regime: Regime, specificity: NDArray[np.float64], rng: np.random.Generator
) -> tuple[Truth, NDArray[np.float64]]:
    """Return the judge's verdicts and its probabilities of true, both (responses, criteria)."""
    shared = rng.random((len(truth), 1)) < regime.together
    luck = np.where(shared, rng.random((len(truth), 1)), rng.random(truth.shape))
    leans = np.where(truth, regime.sensitivity, 1.0 - specificity)
    return luck < leans, np.clip(0.5 + 0.8 * (leans - luck), 0.0, 1.0)


def run_items(rate: float, regime: Regime, systems: int, n: int, seed: list[int]) -> pd.DataFrame:
    """Return the items of so many studies, with what is true in ``true_…``."""
    rng = np.random.default_rng(seed)
    truth = truths(systems * n, rate, rng)
    verdicts, chances = judged(truth, regime, np.full((len(truth), 1), regime.run), rng)
    study = np.repeat(np.arange(systems), n)
    frame = pd.DataFrame({name: pd.Series(None, index=range(len(truth)), dtype=object)
                          for name in ITEM_COLUMNS})  # fmt: skip
    place = np.tile(np.arange(n), systems).astype(str)
    fixed = {
        "model": "made/up", "method": "plain", "shots": 0, "draw": 1, "phrasing": "A",
        "domain": "made", "graph": "chain", "failure_modes": "", "story": "s", "query": "q",
    }  # fmt: skip
    frame = frame.assign(
        system=np.char.add("s", study.astype(str)),
        judge=np.char.add("judge/", study.astype(str)),
        sample_id=np.char.add("i", place),
        block=np.char.add("b", place),
        text=np.char.add("response ", place),
        **fixed,
        correct=verdicts.all(axis=1).astype(float),
        true_correct=truth.all(axis=1),
    )
    for name in ("E1", "E2", "E3", "E4", "E5"):
        frame[name] = frame[f"{name}_probability"] = np.nan
    for column, name in enumerate(CRITERIA):
        frame[name] = verdicts[:, column].astype(float)
        frame[f"{name}_probability"] = chances[:, column]
        frame[f"true_{name}"] = truth[:, column]
    return frame


def exam(regime: Regime, judge: str, rng: np.random.Generator) -> Exam:
    """Return an exam of a judge: half of its items are right, the others fail one criterion."""
    half = _EXAM // 2
    truth = np.ones((_EXAM, len(CRITERIA)), dtype=bool)
    truth[np.arange(half), np.arange(half) % len(CRITERIA)] = False
    hard = np.arange(_EXAM)[:, None] // len(CRITERIA) % 2
    specificity = np.where(hard, regime.exam[1], regime.exam[0])
    verdicts, chances = judged(truth, regime, specificity, rng)
    unsure = (UNSURE[0] < chances) & (chances < UNSURE[1])
    nothing = Figure(estimate=None)

    def rate(outcomes: Truth) -> Rate:
        return Rate.of(clustered_proportion(outcomes))

    def part(known: Truth, passed: Truth, visible: dict[str, Truth]) -> CriterionExam:
        return CriterionExam(
            sensitivity=rate(passed[known]), specificity=rate(~passed[~known]),
            invalid=rate(np.zeros(len(known), dtype=bool)), bias_true=nothing, length=nothing,
            kinds={},
            seen={name: Seen(right=rate(own[known]), wrong=rate(own[~known]))
                  for name, own in visible.items()},
        )  # fmt: skip

    criteria = {
        name: part(
            truth[:, i], verdicts[:, i],
            {"unsure": unsure[:, i], "others": ~np.delete(verdicts, i, axis=1).all(axis=1)},
        )
        for i, name in enumerate(CRITERIA)
    }  # fmt: skip
    due = np.prod(
        [np.where(truth[:, i], verdicts[truth[:, i], i].mean(), verdicts[~truth[:, i], i].mean())
         for i in range(len(CRITERIA))], axis=0,
    )  # fmt: skip
    gap = verdicts.all(axis=1) - due
    reach = 1.96 * gap.std() / np.sqrt(len(gap))
    return Exam(
        judge=judge, family="cobe", task_version="1", pack=PackRecord(name="default", hash=""),
        n=_EXAM, seed=0, level=0.95, items="",
        criteria=criteria | {"response": part(truth.all(axis=1), verdicts.all(axis=1), {})},
        together=Figure(estimate=gap.mean(), low=gap.mean() - reach, high=gap.mean() + reach,
                        n=len(gap)),
    )  # fmt: skip


def write_run(folder: Path, items: pd.DataFrame) -> None:
    """Write a finished run of these items."""
    when = datetime.now(UTC).isoformat()
    settings = {
        "models": ["made/up"], "judges": ["made/judge"], "methods": ["plain"], "limit": None,
        "seed": 0, "generation": {}, "transport": {},
    }  # fmt: skip
    write_manifest(
        folder,
        Manifest(
            identity="made", status="finished", started=when, finished=when, contrafact="0",
            inspect_ai="0", task="cobe", task_version="1", settings=settings,
            data=DataRecord(name="made", sha256="", items=len(items)),
            pack=PackRecord(name="default", hash=""),
        ),
    )  # fmt: skip
    items[list(ITEM_COLUMNS)].to_parquet(folder / ITEMS)


def drawn_labels(items: pd.DataFrame, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the labels of ``n`` items of every system, drawn as the command draws them."""
    spec = family_named("cobe").study["rating"].load()
    key = draw_study(for_calibration({"rating": spec})[1], items, n, rng).key
    truth = items[["system", "sample_id", *(name for name in items if name.startswith("true_"))]]
    found = key.merge(truth, on=["system", "sample_id"])
    kept = ["item", "system", "judge", "draw", "sample_id", "phrasing", "probability"]
    return pd.concat(
        [found[kept].assign(annotator="a", question=name, answer=found[f"true_{name}"])
         for name in true_rates(0.5)]
    )  # fmt: skip


def studies(
    name: str, rate: float, systems: int, by: str, seed: list[int], *, n: int, labelled: int
) -> Iterator[dict[str, object]]:
    """Yield what was corrected in so many studies, one row each for the whole and one criterion."""
    regime, rng = REGIMES[name], np.random.default_rng([*seed, 1])
    items = run_items(rate, regime, systems, n, seed)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_run(folder, items)
        files: dict[str, list[Path] | Path] = {}
        answers: dict[tuple[str, str], Truth] = {}
        if by != "labels":
            exams = [folder / f"exam-{i}.json" for i in range(systems)]
            for i, path in enumerate(exams):
                write_exam(path, exam(regime, f"judge/{i}", rng))
            files["exam"] = exams
        if by != "exam":
            labels = drawn_labels(items, labelled, rng)
            for (system, question), own in labels.groupby(["system", "question"]):
                answers[system, question] = own["answer"].to_numpy(bool)
            files["labels"] = folder / "labels.csv"
            labels.to_csv(files["labels"], index=False)
        scores = contrafact.correct(folder, **files).scores
    for row in scores.to_dict("records"):
        truth = true_rates(rate).get(row["criterion"])
        if truth is None:
            continue
        known = answers.get((row["system"], row["criterion"]), np.empty(0, dtype=bool))
        yield outcome(name, by, row["criterion"], truth, known, row["low"], row["high"])


def quick_studies(
    name: str, rate: float, times: int, seed: list[int], *, n: int, labelled: int
) -> Iterator[dict[str, object]]:
    """Yield the same of studies corrected by labels, by the estimator alone."""
    regime, rng = REGIMES[name], np.random.default_rng([*seed, 2])
    for _ in range(times):
        truth = truths(n, rate, rng)
        verdicts, chances = judged(truth, regime, np.full((n, 1), regime.run), rng)
        levels = verdict_levels(verdicts.astype(float), chances)
        cells = split_cells(levels, np.ones(n, dtype=bool), LEAST_OF_A_STRATUM, first=1)
        sizes = np.bincount(cells)
        drawn = proportional_allocation(sizes.tolist(), labelled, least=LEAST_OF_A_STRATUM)
        known = np.zeros(n, dtype=bool)
        for cell, some in enumerate(drawn):
            known[rng.choice(np.flatnonzero(cells == cell), some, replace=False)] = True
        chance = (np.array(drawn) / sizes)[cells]
        for criterion, rate_of in true_rates(rate).items():
            whole = criterion == WHOLE
            y = truth.all(axis=1) if whole else truth[:, 0]
            found = ppi_share(
                np.where(known, y, np.nan),
                verdicts.all(axis=1) if whole else verdicts[:, 0],
                levels=levels,
                probabilities=chance,
            )
            yield outcome(
                name, "estimator", criterion, rate_of, y[known],
                found.low, found.high,
            )  # fmt: skip


def quick_exams(
    name: str, rate: float, times: int, seed: list[int], *, n: int
) -> Iterator[dict[str, object]]:
    """Yield the same of one criterion's rate corrected by an exam; the whole's is refused."""
    regime, rng = REGIMES[name], np.random.default_rng([*seed, 3])
    wrong = -(-_EXAM // 2 // len(CRITERIA))
    right, hard = _EXAM - wrong, wrong // 2
    passes = rng.binomial(right, regime.sensitivity, times) / right
    fails = rng.binomial(wrong - hard, regime.exam[0], times)
    fails = (fails + rng.binomial(hard, regime.exam[1], times)) / wrong
    rate_of = true_rates(rate)[CRITERIA[0]]
    passed = rate_of * regime.sensitivity + (1.0 - rate_of) * (1.0 - regime.run)
    raw = rng.binomial(n, passed, times) / n
    tested = passes + fails >= 1.0 + MIN_YOUDEN
    bounds = correction_bounds(raw, n, passes, right, fails, wrong)
    for low, high in zip(*(np.where(tested, one, np.nan) for one in bounds), strict=True):
        yield outcome(name, "exam", CRITERIA[0], rate_of, np.empty(0, dtype=bool), low, high)


def outcome(
    regime: str, by: str, criterion: str, rate: float, labels: Truth, low: float, high: float
) -> dict[str, object]:
    """Return whether an interval is known and covers, and its width beside Wilson's."""
    known = not np.isnan(low)
    wilson = 0.0
    if known and len(labels):
        bounds = wilson_bounds(float(labels.mean()), len(labels), 0.95)
        wilson = bounds[1] - bounds[0]
    return {
        "regime": regime, "by": by, "criterion": criterion, "rate": rate, "studies": 1,
        "known": int(known), "covers": int(known and low <= rate <= high),
        "width": high - low if known else 0.0, "wilson": wilson,
    }  # fmt: skip


def main() -> None:
    """Simulate, and print a table of coverage, widths and how often a rate is known."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=2_000, help="of each setting")
    parser.add_argument("--regime", action="append", choices=list(REGIMES))
    parser.add_argument("--rate", action="append", type=float)
    parser.add_argument("--by", choices=("labels", "exam", "both", "estimator"), default="both")
    parser.add_argument("--items", type=int, default=400, help="of a run")
    parser.add_argument("--labelled", type=int, default=100)
    parser.add_argument("--part", type=int, default=100, help="studies of one run folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, help="counts of every part; what is there is not redone"
    )
    options = parser.parse_args()
    done = pd.DataFrame(columns=[*_PART, *_COUNTS])
    if options.out and options.out.exists():
        done = pd.read_csv(options.out)
    settings = [(regime, rate) for regime in options.regime or REGIMES
                for rate in options.rate or RATES]  # fmt: skip
    for regime, rate in settings:
        place = [options.seed, list(REGIMES).index(regime), round(rate * 100)]
        for part in range(-(-options.studies // options.part)):
            own = {"regime": regime, "by": options.by, "setting": rate, "seed": options.seed,
                   "part": part}  # fmt: skip
            if (done[[*own]] == pd.Series(own)).all(axis=1).any():
                continue
            sizes = {"n": options.items, "labelled": options.labelled}
            if options.by == "estimator":
                rows = chain(
                    quick_studies(regime, rate, options.part, [*place, part], **sizes),
                    quick_exams(regime, rate, options.part, [*place, part], n=options.items),
                )
            else:
                rows = studies(regime, rate, options.part, options.by, [*place, part], **sizes)
            counts = pd.DataFrame(rows).assign(setting=rate, seed=options.seed, part=part)
            counts = counts.groupby(_PART, sort=False)[_COUNTS].sum().reset_index()
            done = pd.concat([done, counts]) if len(done) else counts
            if options.out:
                done.to_csv(options.out, index=False)
    print(summary(done).to_string(index=False))


_PART = ["regime", "by", "setting", "seed", "part", "criterion", "rate"]
_COUNTS = ["studies", "known", "covers", "width", "wilson"]


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return coverage where a rate is known, how often it is, and widths beside Wilson's."""
    by = ["regime", "by", "rate", "criterion"]
    sums = rows.groupby(by, sort=False)[_COUNTS].sum()
    known = sums["known"].where(sums["known"] > 0)
    found = pd.DataFrame(
        {
            "studies": sums["studies"],
            "known": known.fillna(0) / sums["studies"],
            "coverage": sums["covers"] / known,
            "width": sums["width"] / known,
            "to_wilson": sums["width"] / sums["wilson"].where(sums["wilson"] > 0),
        }
    )
    return found.astype(float).round(4).reset_index()


if __name__ == "__main__":
    main()
