"""Run folders in: the items of all runs of a task, checked and completed, and the runs' facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.report import ReportSpec
from contrafact.family.run import BUNDLED
from contrafact.family.run_facts import ReportMeta, RunFacts, Setting
from contrafact.models.gguf import EMBEDDED_NAMES
from contrafact.runs.folder import Manifest, now
from contrafact.runs.items import FAILURES, USAGE, RunItems, read_items

__all__ = ["NO_MODEL", "TaskRuns", "prepare_items", "read_tasks", "systems_of"]

NO_MODEL = "none/none"
"""The model of a system that asks none."""

_COLUMNS = ("system", "model", "method", "shots", "draw", "sample_id", "invalid_reason")


@dataclass(frozen=True)
class TaskRuns:
    """The runs of one task.

    Attributes:
        task: The task.
        items: Its per-item frame over all runs; the columns are the family's.
        meta: What the runs are.
    """

    task: str
    items: pd.DataFrame
    meta: ReportMeta


def read_tasks(folders: Sequence[Path]) -> list[TaskRuns]:
    """Return the runs by task, tasks in the order in which they are met.

    A system that two runs of a task share is told apart by the name of its run's folder.

    Raises:
        InputError: if a folder is not a run folder, or its run has not come to its end.
    """
    if not folders:
        raise InputError("no run folder is named", hint="name one or more that `run` wrote")
    found: dict[str, list[RunItems]] = {}
    for run in read_items(folders):
        found.setdefault(run.manifest.task, []).append(run)
    return [_task_runs(task, runs) for task, runs in found.items()]


def _task_runs(task: str, runs: Sequence[RunItems]) -> TaskRuns:
    facts = [
        _facts(run.folder, run.manifest, list(dict.fromkeys(run.items["system"]))) for run in runs
    ]
    panels = [
        run.verdicts
        for run in runs
        if run.verdicts is not None and run.verdicts["judge"].nunique() > 1
    ]
    judges = {judge for run in facts for judge in run.judges}
    meta = ReportMeta(
        created=now(),
        runs=tuple(facts),
        embedded_judge=any(judge.startswith(EMBEDDED_NAMES) for judge in judges),
        panel=pd.concat(panels, ignore_index=True) if panels else None,
    )
    return TaskRuns(task, pd.concat([run.items for run in runs], ignore_index=True), meta)


def _facts(folder: Path, manifest: Manifest, systems: list[str]) -> RunFacts:
    spec = task_named(manifest.task).report.load()
    settings = manifest.settings
    judges, models = tuple(settings["judges"]), tuple(settings["models"])
    usage = pd.read_csv(folder / USAGE) if (folder / USAGE).exists() else None
    notes = list(manifest.data.notes)
    if manifest.status == "failed" and (folder / FAILURES).exists():
        lost = len(pd.read_csv(folder / FAILURES))
        notes.append(f"{lost} samples failed and are not in these figures")
    if spec.criteria and not judges:
        notes.append("No judge was named: what needs a judge is left out.")
    if spec.notes is not None:
        notes += spec.notes(settings)
    if manifest.data.name == BUNDLED and spec.samples:
        notes.append(spec.samples)
    return RunFacts(
        name=folder.resolve().name,
        systems=tuple(systems),
        models=models,
        methods=tuple(settings["methods"]),
        shots=settings.get("shots", 0),
        draws=settings.get("draws", 1),
        judges=judges,
        fluency_model=settings.get("fluency_model"),
        asked={name: bool(settings[name]) for name in spec.asked if name in settings},
        settings={**_flat(settings["generation"]), **_flat(settings["transport"])},
        prompt_pack=manifest.pack.name,
        prompt_pack_hash=manifest.pack.hash,
        templates=manifest.pack.templates,
        data=manifest.data.name,
        data_hash=manifest.data.sha256,
        data_count=manifest.data.items,
        limit=settings["limit"],
        versions={
            "contrafact": manifest.contrafact,
            "inspect-ai": manifest.inspect_ai,
            "task": f"{manifest.task} {manifest.task_version}",
        },
        seed=settings["seed"],
        started=manifest.started,
        finished=manifest.finished,
        complete=manifest.status == "finished",
        calls=None if usage is None else int(usage["calls"].sum()),
        input_tokens=None if usage is None else int(usage["input_tokens"].sum()),
        output_tokens=None if usage is None else int(usage["output_tokens"].sum()),
        self_judged=bool(set(judges) & set(models)),
        notes=tuple(notes),
    )


def _flat(settings: Mapping[str, Any]) -> dict[str, Setting]:
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else str(value) for name, value in settings.items()
    }


def prepare_items(items: pd.DataFrame, spec: ReportSpec) -> pd.DataFrame:
    """Check a task's items and add the columns that its figures are made from.

    A system that several judges judged becomes as many systems, each named with its judge, so
    that verdicts of different judges are never pooled.

    Args:
        items: The rows of all runs.
        spec: What the chapter shows.

    Returns:
        A copy in the order given, numbers as floats, with these columns besides: ``valid`` (1.0
        or 0.0), ``was_judged`` (bool: a verdict was given or attempted), the strict column of every
        measure that has one, and what the spec itself adds.

    Raises:
        InputError: There are no rows, or two rows for one output.
        ValueError: A column is missing: the caller's mistake.
    """
    needed = dict.fromkeys((*_COLUMNS, *spec.key, spec.cluster, spec.text, *spec.columns))
    missing = [column for column in needed if column not in items.columns]
    if missing:
        raise ValueError(f"the items frame lacks {', '.join(missing)}")
    if items.empty:
        raise InputError(
            "there is nothing to report: no finished sample was found",
            hint="finish the run first, by running its command again",
        )
    frame = items.copy().reset_index(drop=True)
    criteria = [criterion.column for criterion in spec.criteria]
    own = {m.column_of("valid") for m in spec.measures if m.units is None and m.compute is None}
    for column in dict.fromkeys((*criteria, *sorted(own), *spec.numbers)):
        if column in frame.columns:
            numbers = pd.to_numeric(frame[column], errors="coerce").astype(float)
            frame[column] = numbers.where(np.isfinite(numbers))
    for column in spec.texts:
        texts = [None if pd.isna(value) else str(value) for value in frame[column]]
        frame[column] = pd.Series(texts, index=frame.index, dtype=object)
    for column, usual in (("draw", 1), ("shots", 0)):
        frame[column] = frame[column].fillna(usual).astype(int)
    frame["system"] = frame["system"].astype(str)
    if "judge" in frame.columns:
        frame["system"] = _apart_by_judge(frame)
    key = ["system", "draw", *spec.key]
    twice = frame.duplicated(key)
    if twice.any():
        row = frame[twice].iloc[0]
        which = ", ".join(f"{name} {row[name]}" for name in (*spec.key, "draw"))
        raise InputError(
            f"two rows for one {spec.output[0]}: {row['system']}, {which}",
            hint="name each run once",
        )
    valid = frame[spec.text].notna() & frame["invalid_reason"].isna()
    frame["valid"] = valid.astype(float)
    for column in sorted(own & set(frame.columns) - {"valid"}) + criteria:
        frame[column] = frame[column].where(valid)
    if spec.prepare is not None:
        frame = spec.prepare(frame)
    return _with_strict(frame, spec)


def _with_strict(frame: pd.DataFrame, spec: ReportSpec) -> pd.DataFrame:
    """Return the items with ``was_judged`` and the strict columns that they have not got yet."""
    invalid, nobody = frame["valid"].eq(0), pd.Series(False, index=frame.index)
    judged = nobody
    criteria = {criterion.column: 0.0 for criterion in spec.criteria}
    rates = {
        measure.column_of("valid"): float(measure.better == "low")
        for measure in spec.measures
        if "strict" in measure.forms and measure.units is None and measure.compute is None
    }
    for column, wrong in {**criteria, **rates}.items():
        if column not in frame.columns:
            continue
        value = frame[column]
        unread = nobody
        if f"{column}_invalid" in frame.columns:
            unread = frame[f"{column}_invalid"].notna()
        given = value.notna() | unread
        if column in criteria:
            judged = judged | given
        if f"{column}_strict" not in frame.columns:
            # A system without any verdict was not judged: nothing of it is wrong.
            asked = given.groupby(frame["system"]).transform("any")
            asked = asked if column in criteria else asked | bool(given.any())
            strict = value.where(value.notna(), np.where(unread | invalid, wrong, np.nan))
            frame[f"{column}_strict"] = strict.where(asked)
    return frame if "was_judged" in frame.columns else frame.assign(was_judged=judged)


def systems_of(items: pd.DataFrame) -> list[str]:
    """Return the systems: those that ask a model as they come, then the others."""
    distinct = items.drop_duplicates("system")
    asks = distinct["model"].ne(NO_MODEL)
    return [str(system) for system in pd.concat([distinct[asks], distinct[~asks]])["system"]]


def _apart_by_judge(frame: pd.DataFrame) -> "pd.Series[str]":
    judges = frame["judge"].map(lambda judge: None if pd.isna(judge) else str(judge))
    several = judges.fillna("").groupby(frame["system"]).transform("nunique") > 1
    named = frame["system"] + judges.map(
        lambda j: " · unjudged" if j is None else f" · judged by {j}"
    )
    return frame["system"].where(~several, named)
