"""Draw a study: a sheet that shows items without their origin, and its key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.study import NOT_ASKED, StudySpec
from contrafact.files.sheets import item_check, item_names, write_sheet
from contrafact.runs.items import read_items
from contrafact.stats.sampling import draw_by_levels, even_allocation, verdict_levels
from contrafact.text.delimit import printable

__all__ = ["draw_study", "for_calibration", "read_source"]


@dataclass(frozen=True)
class DrawnStudy:
    """A drawn study.

    The sheet has items in random order, with blanks for people to fill in; the key gives each
    item's origin. ``n`` is how many items were drawn, even if an item has several rows;
    ``shortage`` says which items were fewer than asked for.
    """

    sheet: pd.DataFrame
    key: pd.DataFrame
    guidelines: str
    n: int
    shortage: Sequence[str]

    def write(self, path: Path) -> tuple[Path, Path]:
        """Write sheet, key and guidelines; return the paths of key and guidelines."""
        return write_sheet(path, self.sheet, self.key, self.guidelines)


def read_source(spec: StudySpec, sources: Sequence[Path]) -> pd.DataFrame:
    """Return the items to draw a study from: the per-item tables of runs, or a file's rows.

    If two runs share a system, the second run's system gets the name of its folder.

    Raises:
        InputError: A folder is not a run folder of the study's task, or its run has not ended;
            several files are named, or the file is unusable.
    """
    if spec.load is not None:
        if len(sources) > 1:
            raise InputError(
                f"this study is drawn from one file, but {len(sources)} are named",
                hint="name one file",
            )
        return spec.load(sources[0])
    runs = read_items(sources)
    for run in runs:
        if run.manifest.task != spec.task:
            raise InputError(
                f"the run '{run.folder.resolve().name}' is of {run.manifest.task}, not of "
                f"{spec.task}",
                hint="name other folders",
            )
    return pd.concat([run.items for run in runs], ignore_index=True)


def draw_study(
    spec: StudySpec, source: pd.DataFrame, n: int, rng: np.random.Generator, *, kind: str = ""
) -> DrawnStudy:
    """Draw ``n`` items, per stratum or in total; `InputError` if none, or fewer than strata."""
    pool = (spec.pool or _judged(spec))(source)
    if pool.empty:
        judged = any(question.criterion for question in spec.questions)
        raise InputError(
            f"there are no {spec.noun} to draw" + (" that a judge has judged" if judged else ""),
            hint="run them with --judge first" if judged else None,
        )
    draw = _by_judge if spec.calibrates else _by_stratum
    drawn, shortage = draw(spec, pool, n, rng)
    found = drawn[spec.cluster].nunique() if spec.together else len(drawn)
    if spec.together and found < n:
        shortage = [f"there are only {found:,} {spec.noun}: all are drawn"]
    if spec.assign is not None:
        drawn = spec.assign(drawn)
    sheet, key = _blinded(spec, drawn, rng, kind)
    guidelines = spec.guidelines.read_text(encoding="utf-8")
    return DrawnStudy(sheet, key, guidelines, found, shortage)


def _by_stratum(
    spec: StudySpec, pool: pd.DataFrame, n: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, list[str]]:
    """Return the drawn rows, ``n`` per stratum or shared evenly, and sentences on shortages."""
    strata = [
        (values, own.reset_index(drop=True))
        for values, own in pool.groupby(list(spec.strata), sort=True, observed=True, dropna=False)
    ]
    shortage: list[str] = []
    if spec.each:
        sizes = [min(n, len(own)) for _, own in strata]
        shortage = [
            f"only {size:,} of {', '.join(map(str, values))}: there are no more"
            for (values, _), size in zip(strata, sizes, strict=True)
            if size < n
        ]
    else:
        if n < len(strata):
            *others, last = [name.replace("_", " ") for name in spec.strata]
            every = f"{', '.join(others)} and {last}" if others else last
            raise InputError(
                f"{n} {spec.noun} cannot show every {every} of these runs",
                hint=f"ask for at least {len(strata)} with --n",
            )
        sizes = even_allocation([len(own) for _, own in strata], n)
        if sum(sizes) < n:
            shortage = [f"there are only {sum(sizes):,} {spec.noun}: all are drawn"]
    chosen = [
        (own, list(spec.choose(own, size, rng)))
        for (_, own), size in zip(strata, sizes, strict=True)
        if size
    ]
    return pd.concat(
        [
            own.iloc[places].assign(probability=len(places) / len(own), place=range(len(places)))
            for own, places in chosen
        ],
        ignore_index=True,
    ), shortage


def _by_judge(
    spec: StudySpec, pool: pd.DataFrame, n: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, list[str]]:
    """Return the drawn rows, ``n`` of each system by the judge's verdicts, and shortages.

    Strata are the judge's verdicts on the whole output, halved by its probability if there is one.
    """
    criteria = [one.column for one in task_named(spec.task).report.load().criteria]
    columns = [name for name in criteria if name in pool.columns]
    chances = [name for c in columns if (name := f"{c}_probability") in pool.columns]
    parts = []
    shortage = []
    for names, own in pool.groupby(["system", "judge"], sort=True, observed=True, dropna=False):
        levels = verdict_levels(own[columns].to_numpy(float), own[chances].to_numpy(float))
        draw = draw_by_levels(levels, n, rng, first=1)  # the few outputs that failed are all drawn
        strata = draw.strata[draw.drawn]
        parts.append(
            own.iloc[draw.drawn].assign(
                stratum=1 + strata,
                probability=draw.probability[draw.drawn],
                place=pd.Series(strata).groupby(strata).cumcount().to_numpy(),
            )
        )
        if len(own) < n:
            of = " judged by ".join(map(str, names))
            shortage.append(f"only {len(own):,} of {of}: all are drawn")
    return pd.concat(parts, ignore_index=True), shortage


def for_calibration(studies: Mapping[str, StudySpec]) -> tuple[str, StudySpec]:
    """Return the kind and the spec of a family's study that can correct a judge's rates.

    It is the study that asks about the most judged criteria; it is drawn by the judge's verdicts.
    """
    kind, spec = max(
        studies.items(), key=lambda one: sum(bool(q.criterion) for q in one[1].questions)
    )
    return kind, replace(spec, key=(*spec.key, "stratum"), each=False, n=100, calibrates=True)


def _judged(spec: StudySpec) -> Any:
    """Return a function that keeps the rows with all values that the study shows."""

    def pool(items: pd.DataFrame) -> pd.DataFrame:
        there = items[list(spec.shown.values())].notna().all(axis=1)
        if any(question.criterion for question in spec.questions):
            there &= items["judge"].notna()
        return items[there]

    return pool


def _blinded(
    spec: StudySpec, drawn: pd.DataFrame, rng: np.random.Generator, kind: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the sheet and the key of the drawn rows, with items in random order and new names."""
    names, order = item_names(len(drawn), rng), rng.permutation(len(drawn))
    if spec.together:
        order = np.arange(len(drawn))
    verdicts = {one.verdict: one for one in spec.questions if one.verdict and one.criterion}
    blanks = dict.fromkeys([*(question.name for question in spec.questions), "comment"], "")
    records = drawn.to_dict("records")
    sheet, key = [], []
    for name, place in zip(names, order, strict=True):
        row = records[int(place)]
        shown = {column: printable(_text(row[source])) for column, source in spec.shown.items()}
        asked = {one.name: NOT_ASKED for one in spec.questions if _not_asked(row, one.criterion)}
        sheet.append({"item": name, **shown, **blanks, **asked})
        own: dict[str, Any] = {
            "item": name,
            "kind": kind,
            "probability": row["probability"],
            "check": item_check(shown.values()),
        }
        for column, question in verdicts.items():
            passed = row[question.criterion]
            own[column] = "" if pd.isna(passed) else question.answers[0 if passed else 1]
        for column in spec.key:
            if column not in own:
                own[column] = _text(row[column])
        key.append(own)
    columns = ["item", *spec.shown, *blanks]
    filled = pd.DataFrame(sheet, columns=columns)
    in_order = sorted(key, key=lambda row: str(row["item"]))
    return filled, pd.DataFrame(in_order, columns=list(spec.key))


def _not_asked(row: Mapping[Any, Any], criterion: str) -> bool:
    """Return whether the judge was not asked about a criterion of an item."""
    unread = f"{criterion}_invalid"
    return unread in row and pd.isna(row[criterion]) and pd.isna(row[unread])


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)
