"""An exam from its settings to its two files."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contrafact.console import Progress
from contrafact.errors import InputError, ModelError
from contrafact.exam.questions import JudgeCall, put, questions_of
from contrafact.exam.score import exam_rows, examine, leak_notes, row_object, surface_rows
from contrafact.family import family_named, task_named
from contrafact.family.exam import Examiner, ExamItem, ExamSpec
from contrafact.family.exam_file import Exam, write_exam
from contrafact.family.manifest import PackRecord
from contrafact.family.settings import TaskOptions, check_verifiers, judge_names
from contrafact.files.atomic import guard_output
from contrafact.files.journal import Journal
from contrafact.files.tables import write_frame
from contrafact.models.calls import counted_calls
from contrafact.models.estimate import CallEstimate, judge_estimates, sampled
from contrafact.models.opening import call_config, open_model
from contrafact.models.secrets import without_secrets
from contrafact.prompts import PromptPack, open_pack

__all__ = ["PreparedExam", "prepare_exam", "run_exam"]

_VERDICT_TOKENS, _VERDICTS_TOKENS = 10, 100
"""About how long a true or false in JSON is, and several with the words that decide them."""


@dataclass(frozen=True)
class PreparedExam:
    """An exam that is ready to start: its items drawn, its templates opened and checked.

    Several judges form a panel. ``seed`` is that of the draw of items and of the intervals;
    ``settings`` say how the judges are asked, for the exam's file.
    """

    family: str
    spec: ExamSpec
    pack: PromptPack
    examiner: Examiner
    items: Sequence[ExamItem]
    questions: Sequence[JudgeCall]
    judges: Sequence[str]
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def task_version(self) -> str:
        """The version of the task whose judge is examined."""
        return task_named(self.spec.task).run.load().version

    @property
    def facts(self) -> dict[str, Any]:
        """What decides the answers. Of templates, those that the judge is asked with."""
        return {
            "judge": list(self.judges),
            "family": self.family,
            "task": self.task_version,
            "prompts": self.pack.used_hash,
            **self.settings,
        }

    def estimate(self) -> list[CallEstimate]:
        """Return how many calls it takes of each judge, and about how many tokens."""
        found = []
        for judge in self.judges:
            asked = list({q.key: q for q in self.questions if q.judge == judge}.values())
            some = sampled(asked)
            found += judge_estimates(
                [judge],
                [q.prompt for q in some],
                len(asked) / max(1, len(some)),
                reply_tokens=_VERDICTS_TOKENS if self.examiner.together else _VERDICT_TOKENS,
                tokens=True,
            )
        return found

    def conclude(
        self, out: Path, answers: Mapping[str, Mapping[str, Any]], notes: Sequence[str] = ()
    ) -> Exam:
        """Score the exam, whose questions are all answered, write its two files, and return it.

        ``out`` is the exam's file, next to which its items stand; answers are verdicts by the
        questions' keys.
        """
        import pandas as pd

        rows = exam_rows(self.items, self.questions, answers)
        items = out.with_name(f"{out.stem}.items.jsonl")
        seen = self.spec.surface(self.items) if self.spec.surface else ()
        surface = surface_rows(seen, seed=self.seed) if seen else {}
        exam = examine(
            rows,
            judge=" + ".join(self.judges),
            family=self.family,
            task_version=self.task_version,
            pack=PackRecord(
                name=self.pack.name, hash=self.pack.used_hash, templates=self.pack.used
            ),
            items=items.name,
            seed=self.seed,
            settings=dict(self.settings),
            notes=[*notes, *leak_notes(surface, self.spec.unread)],
            surface=surface,
            surface_of=self.spec.surface_of,
            surface_features=self.spec.surface_features,
            wholes=self.spec.wholes,
        )
        trusted = [exam.trust(whole)[1] for whole in self.spec.wholes if whole in exam.criteria]
        exam = exam.model_copy(update={"notes": [*exam.notes, *trusted]})
        write_frame(pd.DataFrame([row_object(row) for row in rows], dtype=object), items)
        write_exam(out, exam)
        return exam


def prepare_exam(
    family: str,
    judges: Sequence[str],
    pack: PromptPack,
    options: TaskOptions,
    *,
    n: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    order: bool = True,
    settings: Mapping[str, Any] | None = None,
) -> PreparedExam:
    """Draw an exam's items and make its questions, each put ``repeats`` times.

    Several judges form a panel; ``n`` is the number of items, None for what the family says; with
    ``order`` each question is put once more in the other order. ``settings`` say how the judges are
    asked besides, without secrets.

    Raises:
        InputError: The family has no exam, a template or a file of items is no use, or there are
            fewer items than asked for.
    """
    known = family_named(family)
    if known.exam is None:
        raise InputError(f"{family} has no exam", hint="name another family with --family")
    spec = known.exam.load()
    judges = judge_names(judges)
    check_verifiers(family, judges)
    examiner = spec.examiner(pack, options)
    items = spec.items(options, n, seed)
    if n is not None and len(items) < n:
        raise InputError(
            f"there are {len(items)} items, not {n}", hint=f"give --n {len(items)} or leave it out"
        )
    own = {
        name: value
        for name, value in options.model_dump(mode="json").items()
        if "Path" not in str(type(options).model_fields[name].annotation)
    }
    return PreparedExam(
        family=family,
        spec=spec,
        pack=pack,
        examiner=examiner,
        items=items,
        questions=questions_of(items, examiner, judges, repeats=repeats, order=order),
        judges=judges,
        seed=seed,
        settings={**own, **examiner.settings, **(settings or {})},
    )


def run_exam(
    family: str,
    judge: Sequence[str],
    out: Path,
    options: TaskOptions,
    *,
    n: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    order: bool = True,
    prompts: Path | None = None,
    judge_args: Mapping[str, Any] | None = None,
    max_connections: int = 16,
    max_retries: int | None = None,
    timeout: int | None = None,
    attempt_timeout: int | None = None,
) -> tuple[Exam, int]:
    """Put an exam's questions to a judge, and write its two files.

    Answers are kept as they come, next to the exam's file: repeated, nothing is asked twice.
    Besides those of `prepare_exam` the options are another prompt pack, arguments of the judges'
    provider and how calls are made: how many at once, retries, and seconds for a call with them and
    for an attempt.

    Returns:
        The exam, and how many questions had to be asked.

    Raises:
        InputError: As `prepare_exam`; the file cannot be written, or a judge not used.
        ModelError: Calls failed: an exam with open questions is none.
    """
    if out.suffix != ".json":
        raise InputError("the result is a JSON file", file=out, hint="name it .json")
    guard_output(out, *(value for _, value in options if isinstance(value, Path)))
    given = dict(judge_args or {})
    prepared = prepare_exam(
        family,
        judge,
        open_pack(prompts),
        options,
        n=n,
        seed=seed,
        repeats=repeats,
        order=order,
        settings={"judge_args": without_secrets(given)} if given else {},
    )
    calls = call_config(
        max_connections, max_retries=max_retries, timeout=timeout, attempt_timeout=attempt_timeout
    )
    models = {name: open_model(name, config=calls, **given) for name in prepared.judges}
    journal = Journal(out.with_name(f"{out.stem}.answers.jsonl"), prepared.facts)
    with journal as answers, counted_calls(journal):
        left = len({q.key for q in prepared.questions if q.key not in answers.known})
        with Progress("questions", left) as steps:
            work = put(
                prepared.questions,
                prepared.examiner,
                models,
                answers,
                at_once=max_connections,
                each=steps.step,
            )
            failures = asyncio.run(work)
        if failures:
            raise ModelError(
                f"{len(failures)} of {left} questions failed; the same command tries them again:",
                failures.values(),
            )
        return prepared.conclude(out, answers.known), left
