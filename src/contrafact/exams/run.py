"""Prepare and run an exam, and write its two files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from contrafact.errors import InputError, ModelError
from contrafact.exams import ExamOptions, exam_file
from contrafact.exams.correct import exam_gives
from contrafact.exams.questions import JudgeCall, ask_questions, questions_of
from contrafact.exams.score import (
    ceiling_notes,
    exam_rows,
    examine,
    leak_notes,
    surface_rows,
    unread_notes,
)
from contrafact.family import family_named, task_named
from contrafact.family.exam import RESPONSE, Examiner, ExamItem, ExamSpec
from contrafact.family.exam_file import Exam, write_exam
from contrafact.family.manifest import PackRecord
from contrafact.family.settings import TaskOptions, check_verifiers, judge_names, with_reader
from contrafact.family.verifier import reader_estimates
from contrafact.files.journal import Journal
from contrafact.files.tables import write_frame
from contrafact.judges.verifier import is_verifier
from contrafact.models.calls import counted_calls
from contrafact.models.estimate import (
    CallEstimate,
    ask_first,
    ask_if_many,
    judge_estimates,
    paid_calls,
    sampled,
)
from contrafact.models.opening import call_config, open_model
from contrafact.options import key_values
from contrafact.prompts import PromptPack, open_pack
from contrafact.redaction import without_secrets

__all__ = ["prepare_exam", "run_exam"]

_VERDICT_TOKENS, _VERDICTS_TOKENS = 10, 100
"""The approximate lengths of a verdict in JSON, and of several verdicts with their reasons."""


@dataclass(frozen=True)
class PreparedExam:
    """An exam that is ready to start, with its items drawn and its templates opened and checked.

    Several judges form a panel. ``seed`` is the seed of the draw of items and of the intervals;
    ``settings`` say how the judges are asked, for the exam's file; ``level`` names its items;
    ``criteria`` are those of which an exam of all items would know either verdict.
    """

    family: str
    spec: ExamSpec
    pack: PromptPack
    examiner: Examiner
    items: Sequence[ExamItem]
    questions: Sequence[JudgeCall]
    judges: Sequence[str]
    seed: int
    criteria: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    level: str = ""

    @property
    def task_version(self) -> str:
        return task_named(self.spec.task).run.load().version

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that answers depend on, including the hash of the templates used."""
        return {
            "judge": list(self.judges),
            "family": self.family,
            "task": self.task_version,
            "prompts": self.pack.used_hash,
            **self.settings,
        }

    def estimate(self, *, tokens: bool = True) -> list[CallEstimate]:
        """Return each judge's number of calls and, if wanted, the approximate number of tokens."""
        found = []
        for judge in self.judges:
            asked = list({q.key: q for q in self.questions if q.judge == judge}.values())
            some = sampled(asked)
            found += judge_estimates(
                [] if is_verifier(judge) else [judge],
                [q.prompt for q in some],
                len(asked) / max(1, len(some)),
                reply_tokens=_VERDICTS_TOKENS if self.examiner.together else _VERDICT_TOKENS,
                tokens=tokens,
            )
            subjects = {q.item: q.subject for q in asked if q.subject is not None}
            read = sampled(list(subjects.values()))
            times = len(subjects) / max(1, len(read))
            found += reader_estimates([judge], read, times, tokens=tokens)
        return found

    @cached_property
    def gives(self) -> tuple[list[str], list[str]]:
        """Which criteria are short of items, and what rates by the others are corrected to."""
        lack, gives = exam_gives(self.items, self.criteria)
        return lack, gives if self.spec.criteria else []

    def conclude(self, out: Path, answers: Mapping[str, Mapping[str, Any]]) -> Exam:
        """Score the exam once all its questions are answered, write its two files, and return it.

        ``out`` is the exam's file, beside which the file of items is written; ``answers`` are
        verdicts by the questions' keys.
        """
        rows = exam_rows(self.items, self.questions, answers)
        items = out.with_name(f"{out.stem}.items.jsonl")
        seen = self.spec.surface(self.items) if self.spec.surface else ()
        surface = surface_rows(seen, seed=self.seed) if seen else {}
        judge = " + ".join(self.judges)
        exam = examine(
            rows,
            judge=judge,
            family=self.family,
            task_version=self.task_version,
            pack=PackRecord(
                name=self.pack.name, hash=self.pack.used_hash, templates=self.pack.used
            ),
            items=items.name,
            seed=self.seed,
            settings=dict(self.settings),
            notes=[
                *unread_notes(rows, judge),
                *ceiling_notes(rows, judge, self.level),
                *leak_notes(surface, self.spec.surface_reader),
                *self.gives[0],
            ],
            surface=surface,
            overall=self.spec.overall,
        )
        trusted = [exam.trust(whole)[1] for whole in self.spec.overall if whole in exam.criteria]
        exam = exam.model_copy(update={"notes": [*exam.notes, *trusted]})
        write_frame(rows, items)
        write_exam(out, exam)
        return exam


def prepare_exam(options: ExamOptions, own: TaskOptions) -> PreparedExam:
    """Draw an exam's items and make its questions.

    Args:
        options: The options of every exam.
        own: The options of the family's exam.

    Raises:
        InputError: The family has no exam, a template or a file of items is unusable, or there are
            fewer items than asked for.
    """
    family, n = options.family, options.n
    if options.order or options.repeats > 1:
        gone = "--order" if options.order else "--repeats"
        problem = f"{gone} is retired: an exam asks each question once, as a run does"
        raise InputError(problem, hint="leave it out")
    if (exam := family_named(family).exam) is None:
        raise InputError(f"{family} has no exam", hint="name another family with --family")
    spec = exam.load()
    judges = with_reader(judge_names(options.judge), getattr(own, "reader", None))
    check_verifiers(family, judges)
    pack = open_pack(options.prompts)
    examiner = spec.examiner(pack, own)
    items = spec.items(own, n, options.seed)
    if n is not None and len(items) < n:
        raise InputError(
            f"there are {len(items)} items, not {n}", hint=f"give --n {len(items)} or leave it out"
        )
    criteria = [name for name in spec.criteria.values() if name != RESPONSE]
    if not criteria:
        known = {one for item in spec.items(own, None, options.seed) for one in item.known.items()}
        criteria = sorted(name for name, verdict in known if verdict and (name, False) in known)
    settings = {
        name: value
        for name, value in own.model_dump(mode="json").items()
        if "Path" not in str(type(own).model_fields[name].annotation)
    }
    arguments = key_values("--judge-arg", options.judge_arg)
    asked = {"judge_args": without_secrets(arguments)} if arguments else {}
    return PreparedExam(
        family=family,
        spec=spec,
        pack=pack,
        examiner=examiner,
        items=items,
        questions=questions_of(items, examiner, judges),
        judges=judges,
        seed=options.seed,
        criteria=criteria,
        settings={**settings, **examiner.settings, **asked},
        level=str(getattr(own, "level", None) or ""),
    )


def run_exam(
    options: ExamOptions, own: TaskOptions, confirm: Callable[[int], None] = ask_first
) -> tuple[Exam, int]:
    """Ask a judge an exam's questions, write the exam's two files, and return it.

    Answers are kept as they come, beside the exam's file, so that nothing is asked twice.

    Args:
        options: The options of every exam.
        own: The options of the family's exam.
        confirm: Called with the number of paid calls if there are many; it raises to refuse them.
            By default, the user is asked on a terminal.

    Returns:
        The exam, and how many questions had to be asked.

    Raises:
        InputError: As in `prepare_exam`; or the file cannot be written, or a judge is unusable.
        ModelError: Calls failed, so questions are still open.
    """
    out = exam_file(options, *(value for _, value in own if isinstance(value, Path)))
    prepared = prepare_exam(options, own)
    calls = call_config(options.max_connections, **options.bounds)
    arguments = key_values("--judge-arg", options.judge_arg)
    models = {name: open_model(name, config=calls, **arguments) for name in prepared.judges}
    journal = Journal(out.with_name(f"{out.stem}.answers.jsonl"), prepared.facts)
    with journal as answers, counted_calls(journal):
        left = len({q.key for q in prepared.questions if q.key not in answers.known})
        paid = 0 if options.yes else paid_calls(prepared.estimate(tokens=False))
        ask_if_many(min(left, paid), confirm)
        failures = ask_questions(
            prepared.questions, prepared.examiner, models, answers, at_once=options.max_connections
        )
        if failures:
            raise ModelError(
                f"{len(failures)} of {left} questions failed; the same command tries them again:",
                failures.values(),
            )
        return prepared.conclude(out, answers.known), left
