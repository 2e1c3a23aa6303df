"""The exam file: a judge's exam results as JSON, which a report can take."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from contrafact.errors import InputError, Reason, value_problem
from contrafact.family.manifest import PackRecord
from contrafact.files.atomic import os_problem, write_text
from contrafact.stats.correction import MIN_YOUDEN, ExamRate
from contrafact.stats.intervals import Interval, Proportion

__all__ = [
    "FORMAT",
    "UNSURE",
    "CriterionExam",
    "Exam",
    "Figure",
    "KindRate",
    "Rate",
    "Seen",
    "SurfaceRow",
    "read_exam",
    "read_exams",
    "write_exam",
]

FORMAT: Literal["contrafact-exam"] = "contrafact-exam"
VERSION: Literal[1] = 1

UNSURE = (0.1, 0.9)
"""Between these probabilities of true a judge is unsure."""


OTHER_PROMPTS = Reason("other-prompts", "exam and run differ in the prompts {names}")
ASKED_OTHERWISE = Reason("asked-otherwise", "the exam had another setting ({setting})")


def _number(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float | None, BeforeValidator(_number)]
"""A figure; None if it is undefined."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rate(_Part):
    """A share of items, with its interval."""

    k: int = Field(ge=0)
    n: int = Field(ge=0)
    n_effective: float = Field(ge=0, description="Independent items with the same information.")
    clusters: int = Field(ge=0, description="Clusters (headlines, stories) behind them.")
    estimate: Number = Field(description="k / n; null without items.")
    low: Number = Field(description="Lower bound; null with too few clusters.")
    high: Number = Field(description="Upper bound; null with too few clusters.")

    @classmethod
    def of(cls, found: Proportion) -> "Rate":
        return cls(**{name: getattr(found, name) for name in cls.model_fields})

    @property
    def exam_rate(self) -> ExamRate:
        """The rate as needed for a correction: with the effective number of items."""
        n = min(float(self.n), self.n_effective)
        return ExamRate(n * (self.estimate or 0.0), n)


class Figure(_Part):
    """A figure that is not a share of items, with its interval."""

    estimate: Number = Field(description="The figure; null if it is undefined.")
    low: Number = Field(default=None, description="Lower bound.")
    high: Number = Field(default=None, description="Upper bound.")
    n: int = Field(default=0, ge=0, description="Items that it is based on.")

    @classmethod
    def of(cls, found: Interval) -> "Figure":
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class KindRate(_Part):
    """How often a judge was right on items of one kind."""

    known: bool = Field(description="The right verdict on these items.")
    right: Rate = Field(description="How often the right verdict was given.")


class Seen(_Part):
    """A share that can be observed without known verdicts, for right and for wrong items."""

    right: Rate = Field(description="Among items that should pass.")
    wrong: Rate = Field(description="Among items that should fail.")


class CriterionExam(_Part):
    """A judge's results on one criterion, over replies that could be read."""

    sensitivity: Rate = Field(description="The share of right items that it passes.")
    specificity: Rate = Field(description="The share of wrong items that it fails.")
    invalid: Rate = Field(description="The share of replies that could not be read.")
    bias_true: Figure = Field(
        description="Share passed, right and wrong items weighted equally, minus 1/2: above 0 "
        "it says true too often."
    )
    auroc: Figure | None = Field(
        default=None, description="From its probability of true, if the provider gave one."
    )
    length: Figure = Field(
        description="Share passed of items longer than the median minus that of the others, items "
        "of one known verdict compared with each other."
    )
    order: Any = Field(None, exclude=True, description="Of earlier versions; not read.")
    kinds: dict[str, KindRate] = Field(description="By how the items were made.")
    seen: dict[str, Seen] = Field(
        default_factory=dict,
        description="Where the judge is 'unsure' (a probability between 0.1 and 0.9), which items "
        "it fails by 'others' of the criteria, and which are 'long' (above the exam's median).",
    )


class SurfaceRow(_Part):
    """The result of classifiers that see only surface features of the items."""

    auroc: Figure = Field(description="Of the best classifier, on unseen groups.")
    limit: float = Field(description="The highest allowed value.")
    leaks: bool = Field(description="Whether its interval lies above the limit.")


class Exam(_Part):
    """An exam's result."""

    format: Literal["contrafact-exam"] = Field(default=FORMAT, description="Names the format.")
    version: Literal[1] = Field(default=VERSION, description="Its version.")
    judge: str = Field(description="The judge, or the members of a panel joined by ' + '.")
    family: str
    task_version: str
    pack: PackRecord
    settings: dict[str, Any] = Field(default_factory=dict, description="How the judge was asked.")
    n: int = Field(ge=0, description="Items.")
    seed: int = Field(description="Seed of the draw of items and of the intervals.")
    level: float = Field(gt=0, lt=1, description="Confidence level of all intervals.")
    criteria: dict[str, CriterionExam] = Field(description="By criterion; 'response' is the whole.")
    surface_scores: Any = Field(None, exclude=True, description="Of earlier versions; not read.")
    together: Any = Field(None, exclude=True, description="Of earlier versions; not read.")
    surface: dict[str, SurfaceRow] = Field(
        default_factory=dict,
        description="By criterion, how well classifiers do that see only surface features.",
    )
    repeats: Any = Field(None, exclude=True, description="Of earlier versions; not read.")
    words: Number = Field(default=None, description="The median length of its items, in words.")
    items: str = Field(description="The file of items, next to this one.")
    notes: list[str] = Field(default_factory=list, description="What a reader should know.")

    def asked_otherwise(
        self, templates: Mapping[str, str], settings: Mapping[str, Any]
    ) -> Reason | None:
        """Return what differs between an exam's and a run's way of asking; None if nothing does.

        ``templates`` are the run's templates with their hashes; ``settings`` are its known settings
        of how the judge is asked.
        """
        other = [name for name, own in self.pack.templates.items() if templates.get(name) != own]
        if other:
            return OTHER_PROMPTS.filled(names=", ".join(other))
        for name, value in self.settings.items():
            if name in settings and settings[name] != value:
                return ASKED_OTHERWISE.filled(setting=name.replace("_", " "))
        return None

    def trust(self, whole: str) -> tuple[bool, str]:
        """Return whether the judge may be trusted with a kind of item, and a sentence that says so.

        It may if the lower bounds of its sensitivity and specificity sum to at least 1.2 for the
        verdict on the kind as a whole (``flipping``), and to more than 1 for each of its criteria
        (``flipping:reversed``): a judge that gives everything the same verdict reaches 1, and
        corrections were tested from 1.2 (`MIN_YOUDEN`).
        """
        sums = {
            name: (one.sensitivity.low or 0.0) + (one.specificity.low or 0.0)
            for name, one in self.criteria.items()
            if one.sensitivity.n and one.specificity.n
        }
        if whole not in sums:
            return False, f"not for {whole}: the exam has no sound or no faulty item of it"
        bounds = "the lower bounds of sensitivity and specificity sum to"
        if sums[whole] < 1 + MIN_YOUDEN:
            return False, (
                f"not for {whole}: as a whole, {bounds} {sums[whole]:.2f}, and 1.20 is required"
            )
        for name, least in sums.items():
            if name.startswith(f"{whole}:") and least <= 1:
                part = name.removeprefix(f"{whole}:")
                return False, (
                    f"not for {whole}: {part}, {bounds} {least:.2f}, and more than 1 is required"
                )
        return True, f"may be trusted with {whole}: {bounds} {sums[whole]:.2f}"


def write_exam(path: str | Path, exam: Exam) -> None:
    write_text(path, json.dumps(exam.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n")


def read_exam(path: str | Path) -> Exam:
    """Return the exam in a file; `InputError` if it is missing or of another format or version."""
    hint = "give a file that `contrafact exam --out` wrote"
    try:
        given = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", file=path, hint=hint) from None
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error
    except ValueError:
        raise InputError("is not JSON", file=path, hint=hint) from None
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise InputError("is no exam", file=path, hint=hint)
    if given.get("version") != VERSION:
        problem = f"is an exam of version {given.get('version')}, and this program knows {VERSION}"
        raise InputError(problem, file=path, hint="examine the judge again")
    try:
        return Exam.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{place}: {value_problem(first)}", file=path, hint=hint) from None


def read_exams(paths: Sequence[str | Path]) -> list[Exam]:
    """Return the exams in files; `InputError` as in `read_exam`, and for a judge's second exam."""
    exams: dict[tuple[str, str], Exam] = {}
    for path in dict.fromkeys(str(path) for path in paths):
        exam = read_exam(path)
        key = (exam.judge, exam.family)
        if key in exams:
            raise InputError(
                f"is a second exam of {exam.judge} in {exam.family}",
                file=path,
                hint="name one exam for each judge and family",
            )
        exams[key] = exam
    return list(exams.values())
