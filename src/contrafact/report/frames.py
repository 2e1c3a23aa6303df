"""The inputs of a report: the items of a task's runs, facts about the runs, people's labels.

If people labelled a random part of the items that a judge judged, their labels estimate the rate
that people would give all items, however bad the judge is
(`contrafact.stats.correction.ppi_share`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from contrafact.errors import InputError
from contrafact.family import family_of_task, task_named, tasks
from contrafact.family.display import listed
from contrafact.family.exam_file import Exam
from contrafact.family.report import ReportSpec
from contrafact.family.run import BUNDLED
from contrafact.family.run_facts import Cost, ReportMeta, RunFacts, Setting
from contrafact.family.study import Question
from contrafact.files.fields import refuse_alike
from contrafact.files.tables import read_rows
from contrafact.judges.verifier import is_verifier, reader_of
from contrafact.models.gguf import EMBEDDED_NAMES
from contrafact.prompts import bundled_packs
from contrafact.runs.folder import Manifest, now
from contrafact.runs.items import FAILURES, FLUENCY_ROLE, USAGE, RunItems, read_items

__all__ = ["TaskRuns", "check_exams", "check_labels", "read_labels", "read_tasks"]

_ASKED = ("judge_context", "structured")
"""Settings of how a judge is asked, which an exam may have set differently."""
_AS_SET = ("shots", "draws", "fluency_model", "limit", "seed")
"""Settings that a report shows under the same name."""


@dataclass
class TaskRuns:
    """The runs of one task, with their per-item frame; ``calls`` is None if no run kept calls."""

    task: str
    items: pd.DataFrame
    meta: ReportMeta
    calls: pd.DataFrame | None = None

    @property
    def family(self) -> str:
        return family_of_task(self.task).name

    @property
    def spec(self) -> ReportSpec:
        return task_named(self.task).report.load()

    def take_items(self) -> pd.DataFrame:
        """Return the items and drop them here, so that a large file is in memory only once."""
        taken, self.items = self.items, pd.DataFrame(columns=self.items.columns)
        return taken


def read_tasks(folders: Sequence[Path]) -> list[TaskRuns]:
    """Return the runs by task, in order; `read_items` renames systems that two runs share."""
    if not folders:
        raise InputError("no run folder is named", hint="name one or more that `run` wrote")
    by_task: dict[str, list[RunItems]] = {}
    for run in read_items(folders):
        by_task.setdefault(run.manifest.task, []).append(run)
    return [_task_runs(task, runs) for task, runs in by_task.items()]


def meta_of(runs: Sequence[RunItems]) -> ReportMeta:
    """Return a report's facts about its runs, with every judge's verdicts if a panel judged."""
    facts = [_facts(run.folder, run.manifest, tuple(run.items["system"].unique())) for run in runs]
    for place, one in enumerate(facts[1:], start=1):
        notes = (*one.notes, *_other_prompts(facts[0], one))
        facts[place] = one.model_copy(update={"notes": notes})
    panels = [run.verdicts for run in runs if run.judges > 1]
    judges = {judge for run in facts for judge in run.judges}
    return ReportMeta(
        created=now(),
        runs=tuple(facts),
        embedded_judge=any(
            (reader_of(judge) or judge).startswith(EMBEDDED_NAMES) for judge in judges
        ),
        panel=pd.concat(panels, ignore_index=True) if panels else None,
    )


def _other_prompts(first: RunFacts, run: RunFacts) -> Iterator[str]:
    """Yield a note on the templates that differ from the first run's, unless all are the same."""
    a, b = first.templates, run.templates
    if a and b and a != b:
        other = sorted(name for name in a.keys() & b.keys() if a[name] != b[name])
        texts = f"other texts of {listed(other)}" if other else "the same texts"
        for one, own in ((first, a.keys() - b.keys()), (run, b.keys() - a.keys())):
            texts += f"; {one.name} uses {listed(sorted(own))} in addition" if own else ""
        yield f"Compared with the prompts of {first.name}: {texts}."


def _task_runs(task: str, runs: Sequence[RunItems]) -> TaskRuns:
    items = runs[0].items  # no copy for a single run, since copying many texts doubles memory
    if len(runs) > 1:
        spec = task_named(task).report.load()
        items = pd.concat([*_ids_apart(runs, spec)], ignore_index=True)
    kept = [run.calls for run in runs if run.calls is not None]
    calls = pd.concat(kept, ignore_index=True) if kept else None
    return TaskRuns(task, items, meta_of(runs), calls)


def _ids_apart(runs: Sequence[RunItems], spec: ReportSpec) -> Iterator[pd.DataFrame]:
    """Yield the runs' items; clusters whose ids name other texts in a run before get own ids.

    Two files may number their items alike; they are no pairs then.
    """
    seen: dict[str, str] = {}
    text, cluster = spec.explorer.before, spec.cluster
    for run in runs:
        items = run.items
        if text in items.columns and len({run.manifest.data.sha256 for run in runs}) > 1:
            texts = dict(zip(items["sample_id"].astype(str), items[text].astype(str), strict=True))
            other = {id for id, own in texts.items() if seen.setdefault(id, own) != own}
            alike = items["sample_id"].astype(str).isin(other)
            moved = items[cluster].isin(items.loc[alike, cluster])
            own_ids = {
                name: items[name]
                .astype(str)
                .mask(moved, items[name].astype(str) + f" {run.folder.name}")
                for name in {"sample_id", cluster}
            }
            items = items.assign(**own_ids) if other else items
        yield items


def _facts(folder: Path, manifest: Manifest, systems: tuple[str, ...]) -> RunFacts:
    spec = task_named(manifest.task).report.load()
    settings = manifest.settings
    judges, models = tuple(settings["judges"]), tuple(settings["models"])
    notes = list(manifest.data.notes)
    if manifest.status == "failed" and (folder / FAILURES).exists():
        lost = len(pd.read_csv(folder / FAILURES))
        notes.append(f"{lost} samples failed and are not in these figures")
    if spec.criteria and not judges:
        notes.append("No judge was named, so judged measures are left out.")
    if manifest.pack.name in bundled_packs():
        notes.append(
            f"The prompts of the pack '{manifest.pack.name}' say what is judged. They are not "
            "those of the default pack or of published rows."
        )
    if settings.get("judge_context"):
        notes.append("The judge also saw what the system was asked (--judge-context).")
    if manifest.data.name == BUNDLED:
        notes.append(f"The {spec.unit[1]} are bundled samples of our own writing.")
    data, transport = manifest.data, settings["transport"]
    versions = {"contrafact": manifest.contrafact, "inspect-ai": manifest.inspect_ai}
    conditions = {name: ", ".join(settings.get(name, ())) or None for name in spec.conditions}
    return RunFacts(
        name=folder.resolve().name, systems=systems, models=models, judges=judges,
        methods=tuple(settings["methods"]),
        asked={name: bool(settings[name]) for name in _ASKED if name in settings},
        settings={**conditions, **_flat(settings["generation"]), **_flat(transport)},
        prompt_pack=manifest.pack.name, prompt_pack_hash=manifest.pack.hash,
        templates=manifest.pack.templates,
        data=data.source or data.name, data_hash=data.sha256, data_count=data.items,
        bundled=data.name == BUNDLED,
        versions=versions | {"task": f"{manifest.task} {manifest.task_version}"},
        started=manifest.started, finished=manifest.finished,
        complete=manifest.status == "finished",
        self_judged=bool(set(judges) & set(models)), notes=tuple(notes), **_used(folder),
        **{name: settings[name] for name in _AS_SET if name in settings},
    )  # fmt: skip


def _used(folder: Path) -> dict[str, Any]:
    if not (folder / USAGE).exists():
        return {}
    usage = pd.read_csv(folder / USAGE)
    # Scoring a text for fluency is not a call, nor is a verifier's verdict: no model is asked.
    asked = usage["role"].ne(FLUENCY_ROLE) & ~usage["model"].map(is_verifier).astype(bool)
    return {
        "calls": int(usage.loc[asked, "calls"].sum()),
        "input_tokens": int(usage["input_tokens"].sum()),
        "output_tokens": int(usage["output_tokens"].sum()),
        "cut_prompts": _cut_prompts(usage),
        "costs": _costs(usage),
    }


def _cut_prompts(usage: pd.DataFrame) -> dict[str, tuple[int, int]]:
    if "prompts_cut" not in usage.columns:
        return {}
    sums = usage.groupby("model", sort=False)[["prompts_cut", "calls"]].sum()
    return {str(name): (int(cut), int(n)) for name, cut, n in sums.itertuples() if cut}


def _costs(usage: pd.DataFrame) -> tuple[Cost, ...]:
    rows = usage.astype(object).where(usage.notna(), None)
    columns = ["model", "method", "role", "dollars", "price"]
    return tuple(Cost.model_validate(row) for row in rows[columns].to_dict("records"))


def _flat(settings: Mapping[str, Any]) -> dict[str, Setting]:
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else str(value) for name, value in settings.items()
    }


_NEEDED = ("question", "answer", "system", "judge", "sample_id")
_HINT = (
    "give labels.csv that a family's `study score --out` wrote, or a review's labels: "
    "contrafact review export --what labels"
)
_KEPT = ("item", "annotator", "question", "answer", "system", "judge", "draw", "sample_id")


def read_labels(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Return the labels in files: one row per answer of a person.

    Columns: ``item``, ``annotator``, ``question`` (a judged column), ``answer`` (1.0 or 0.0),
    ``system``, ``judge``, ``sample_id``, and, if every row has them, ``draw``, the other columns
    that identify a family's row (a side, a phrasing) and ``probability`` (of being drawn).
    Questions that no judge is asked are left out, as are rows without an answer.
    """
    specs = [task.report.load() for task in tasks().values()]
    judged = {criterion.column for spec in specs for criterion in spec.criteria}
    columns = dict.fromkeys((*_KEPT, *(name for spec in specs for name in spec.key), "probability"))
    rows: list[dict[str, Any]] = []
    for path in paths:
        for line, row in read_rows(path, guarded=True):
            missing = [name for name in _NEEDED if name not in row]
            if missing:
                raise InputError(
                    f"these are not labels of a run: there is no column '{missing[0]}'",
                    file=path,
                    line=line,
                    hint=_HINT,
                )
            if row["question"] in judged and row["answer"] not in (None, ""):
                rows.append(_label(row, columns, path, line))
    if not rows:
        raise InputError("there is no label", hint=_HINT)
    frame = pd.DataFrame(rows)
    refuse_alike(frame["annotator"].dropna().unique(), "annotator")
    return frame.drop(columns=[c for c in frame if frame[c].isna().any()])


def _judged(runs_of: Sequence[TaskRuns]) -> set[tuple[str, str, str]]:
    """Return the combinations of family, system and judge in the runs."""
    return {
        (runs.family, str(system), str(judge))
        for runs in runs_of
        if "judge" in runs.items.columns
        for system, judge in runs.items[["system", "judge"]].drop_duplicates().to_numpy()
    }


def check_labels(labels: pd.DataFrame, runs_of: Sequence[TaskRuns]) -> None:
    """Raise InputError for labels of a system and judge that are in none of the runs."""
    judged = {(system, judge) for _, system, judge in _judged(runs_of)}
    for system, judge in labels[["system", "judge"]].drop_duplicates().to_numpy():
        if (system, judge) not in judged:
            raise InputError(
                f"there are labels of '{system}', judged by {judge}, but no run of it is named",
                hint="name the run whose items were labelled, or leave these labels out",
            )


def check_exams(exams: Sequence[Exam], runs_of: Sequence[TaskRuns]) -> None:
    """Raise InputError for an exam of a judge that judged nothing in the report."""
    judges = {(judge, family) for family, _, judge in _judged(runs_of)}
    for exam in exams:
        if (exam.judge, exam.family) not in judges:
            raise InputError(
                f"the exam of {exam.judge} in {exam.family} fits no judge of these runs",
                hint="name a run that it judged, or leave this --exam out",
            )


def _label(
    row: Mapping[str, Any], columns: Iterable[str], path: str | Path, line: int
) -> dict[str, Any]:
    answer = Question("answer").read(str(row["answer"]))
    if answer is None:
        raise InputError(
            f"'{str(row['answer'])[:40]}' is neither true nor false",
            file=path,
            line=line,
            hint="correct the answer",
        )
    label: dict[str, Any] = {name: _text(row.get(name)) for name in columns}
    label["answer"] = float(answer == "true")
    for name in ("draw", "probability"):
        try:
            label[name] = None if label[name] is None else float(label[name])
        except ValueError as error:
            raise InputError(
                f"'{label[name][:40]}' in '{name}' is not a number",
                file=path,
                line=line,
                hint=_HINT,
            ) from error
    return label


def _text(value: object) -> str | None:
    return None if value is None or str(value).strip() in ("", "nan") else str(value)
