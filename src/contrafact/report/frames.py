"""Run folders in: the items of all runs of a task, and the runs' facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from contrafact.errors import InputError
from contrafact.family import family_of_task, task_named
from contrafact.family.report import ReportSpec
from contrafact.family.run import BUNDLED
from contrafact.family.run_facts import Cost, ReportMeta, RunFacts, Setting
from contrafact.models.gguf import EMBEDDED_NAMES
from contrafact.runs.folder import Manifest, now
from contrafact.runs.items import FAILURES, FLUENCY_ROLE, USAGE, RunItems, read_items

__all__ = ["TaskRuns", "read_tasks", "task_runs"]

_ASKED = ("judge_context", "structured")
"""Settings that say how a judge is asked, where an exam could have asked otherwise."""


@dataclass(frozen=True)
class TaskRuns:
    """The runs of one task: its per-item frame over all of them, and what they are.

    ``calls`` are what was sent to models and came back, as `RunItems` has it; None where no run
    kept it.
    """

    task: str
    family: str
    spec: ReportSpec
    items: pd.DataFrame
    meta: ReportMeta
    calls: pd.DataFrame | None = None


def task_runs(
    task: str, items: pd.DataFrame, meta: ReportMeta, calls: pd.DataFrame | None = None
) -> TaskRuns:
    """Return the runs of a task, with what its family says of it."""
    spec = task_named(task).report.load()
    return TaskRuns(task, family_of_task(task).name, spec, items, meta, calls)


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
    items = pd.concat([run.items for run in runs], ignore_index=True)
    calls = [run.calls for run in runs if run.calls is not None]
    return task_runs(task, items, meta, pd.concat(calls, ignore_index=True) if calls else None)


def _facts(folder: Path, manifest: Manifest, systems: list[str]) -> RunFacts:
    spec = task_named(manifest.task).report.load()
    settings = manifest.settings
    judges, models = tuple(settings["judges"]), tuple(settings["models"])
    usage = pd.read_csv(folder / USAGE) if (folder / USAGE).exists() else None
    calls = None
    if usage is not None:
        # Texts that were scored for fluency were not asked of anybody. Older tables have no roles.
        roles = usage["role"] if "role" in usage.columns else pd.Series("", index=usage.index)
        calls = int(usage.loc[roles.ne(FLUENCY_ROLE), "calls"].sum())
    notes = list(manifest.data.notes)
    if manifest.status == "failed" and (folder / FAILURES).exists():
        lost = len(pd.read_csv(folder / FAILURES))
        notes.append(f"{lost} samples failed and are not in these figures")
    if spec.criteria and not judges:
        notes.append("No judge was named: what needs a judge is left out.")
    if settings.get("judge_context"):
        notes.append("The judge saw what the system was asked too (--judge-context).")
    if manifest.data.name == BUNDLED:
        notes.append(f"The {spec.unit[1]} are bundled samples of our own writing.")
    return RunFacts(
        name=folder.resolve().name,
        systems=tuple(systems),
        models=models,
        methods=tuple(settings["methods"]),
        shots=settings.get("shots", 0),
        draws=settings.get("draws", 1),
        judges=judges,
        fluency_model=settings.get("fluency_model"),
        asked={name: bool(settings[name]) for name in _ASKED if name in settings},
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
        calls=calls,
        input_tokens=None if usage is None else int(usage["input_tokens"].sum()),
        output_tokens=None if usage is None else int(usage["output_tokens"].sum()),
        costs=() if usage is None else _costs(usage),
        self_judged=bool(set(judges) & set(models)),
        notes=tuple(notes),
    )


def _costs(usage: pd.DataFrame) -> tuple[Cost, ...]:
    """Return what models cost, of runs that say so."""
    if "dollars" not in usage.columns:
        return ()
    rows = usage.astype(object).where(usage.notna(), None)
    columns = ["model", "method", "role", "dollars", "price"]
    return tuple(Cost.model_validate(row) for row in rows[columns].to_dict("records"))


def _flat(settings: Mapping[str, Any]) -> dict[str, Setting]:
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else str(value) for name, value in settings.items()
    }
