"""Run folders in: the per-item frame of all runs of a task, and the facts of each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contrafact.errors import InputError
from contrafact.family.run import BUNDLED
from contrafact.models.gguf import EMBEDDED_NAMES
from contrafact.report.chapter import TaskRuns
from contrafact.report.meta import ReportMeta, RunFacts, Setting
from contrafact.runs.folder import Manifest, now, read_manifest
from contrafact.runs.items import FAILURES, ITEMS, USAGE, VERDICTS

__all__ = ["read_runs", "read_tasks"]

_SAMPLES = {
    "finforce": "The headlines are bundled samples about fictional companies and countries.",
    "rfc": "The pairs are bundled samples about fictional companies and countries.",
    "cobe": "The stories are bundled samples of our own writing, about nobody.",
}


def read_tasks(folders: Sequence[Path]) -> list[TaskRuns]:
    """Return the runs by task, tasks in the order in which they are met.

    A system that two runs of a task share is told apart by the name of its run's folder.

    Raises:
        InputError: if a folder is not a run folder, or its run has not come to its end.
    """
    if not folders:
        raise InputError("no run folder is named", hint="name one or more that `run` wrote")
    found: dict[str, _Collected] = {}
    for folder in dict.fromkeys(Path(folder) for folder in folders):
        manifest = read_manifest(folder)
        if not (folder / ITEMS).exists():
            hint = "run the same command again: it goes on where it stopped"
            raise InputError(f"this run is {manifest.status}", file=folder, hint=hint)
        found.setdefault(manifest.task, _Collected()).add(folder, manifest)
    return [collected.runs(task) for task, collected in found.items()]


def read_runs(
    folders: Sequence[Path], *, task: str = "finforce"
) -> tuple[pd.DataFrame, ReportMeta]:
    """Return the items of one or more runs of one task, and what they are.

    Raises:
        InputError: if a folder is not a run folder of that task, or its run has not come to its
            end.
    """
    tasks = read_tasks(folders)
    others = [runs for runs in tasks if runs.task != task]
    if others:
        name = others[0].meta.runs[0].name
        raise InputError(
            f"the run '{name}' is of {others[0].task}, not of {task}", hint="name other folders"
        )
    return tasks[0].items, tasks[0].meta


class _Collected:
    """The runs of one task, as they come."""

    def __init__(self) -> None:
        self._frames: list[pd.DataFrame] = []
        self._panels: list[pd.DataFrame] = []
        self._facts: list[RunFacts] = []
        self._taken: set[str] = set()

    def add(self, folder: Path, manifest: Manifest) -> None:
        """Read one run."""
        items = pd.read_parquet(folder / ITEMS)
        verdicts = pd.read_parquet(folder / VERDICTS) if (folder / VERDICTS).exists() else None
        if clash := set(items["system"]) & self._taken:
            names = {name: f"{name} [{folder.resolve().name}]" for name in clash}
            items["system"] = items["system"].replace(names)
            if verdicts is not None:
                verdicts["system"] = verdicts["system"].replace(names)
        self._taken |= set(items["system"])
        self._frames.append(items)
        if verdicts is not None and verdicts["judge"].nunique() > 1:
            self._panels.append(verdicts)
        self._facts.append(_facts(folder, manifest, list(dict.fromkeys(items["system"]))))

    def runs(self, task: str) -> TaskRuns:
        """Return what was read."""
        judges = {judge for run in self._facts for judge in run.judges}
        panels = self._panels
        meta = ReportMeta(
            created=now(),
            runs=tuple(self._facts),
            embedded_judge=any(judge.startswith(EMBEDDED_NAMES) for judge in judges),
            panel=pd.concat(panels, ignore_index=True) if panels else None,
        )
        return TaskRuns(task, pd.concat(self._frames, ignore_index=True), meta)


def _facts(folder: Path, manifest: Manifest, systems: list[str]) -> RunFacts:
    settings = manifest.settings
    judges, models = tuple(settings["judges"]), tuple(settings["models"])
    usage = pd.read_csv(folder / USAGE) if (folder / USAGE).exists() else None
    notes = list(manifest.data.notes)
    if manifest.status == "failed" and (folder / FAILURES).exists():
        lost = len(pd.read_csv(folder / FAILURES))
        notes.append(f"{lost} samples failed and are not in these figures")
    if manifest.task in ("finforce", "cobe") and not judges:
        notes.append("No judge was named: what needs a judge is left out.")
    if settings.get("judge_context"):
        notes.append("The judge saw the scenario and the query too (--judge-context).")
    if manifest.data.name == BUNDLED:
        notes.append(_SAMPLES.get(manifest.task, _SAMPLES["rfc"]))
    return RunFacts(
        name=folder.resolve().name,
        systems=tuple(systems),
        models=models,
        methods=tuple(settings["methods"]),
        shots=settings.get("shots", 0),
        draws=settings.get("draws", 1),
        judges=judges,
        fluency_model=settings.get("fluency_model"),
        asked={name: bool(settings.get(name)) for name in ("judge_context", "structured")},
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


def _flat(settings: dict[str, Any]) -> dict[str, Setting]:
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else str(value) for name, value in settings.items()
    }
