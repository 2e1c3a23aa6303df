"""A family as a frozen object that the engines read, and the functions that find families.

A family is a package with one `Family`, named in the entry-point group ``contrafact.families``:

    [project.entry-points."contrafact.families"]
    flip = "contrafact_flip.family:FAMILY"

The entry's name is the family's name. Its prompt templates lie in the folder ``prompts`` of that
package. What an engine needs of a family is imported when the engine first asks for it, so that
the command line can list tasks and commands quickly.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from contrafact.errors import InputError
from contrafact.plugins import FAMILY_GROUP, family_entries

if TYPE_CHECKING:
    import typer

    from contrafact.family.data import DataSpec
    from contrafact.family.exam import ExamSpec
    from contrafact.family.report import ReportSpec
    from contrafact.family.run import TaskRun
    from contrafact.family.settings import TaskOptions
    from contrafact.family.study import StudySpec
    from contrafact.family.training import EditSpec, TrainingSpec
    from contrafact.judges.verifier import Question, Subject, Verifier

__all__ = [
    "Command",
    "DemoExample",
    "DemoPart",
    "DraftFinding",
    "Family",
    "Lazy",
    "Shown",
    "ShownTable",
    "ShownText",
    "Task",
    "draft_check",
    "draft_checks",
    "edit_specs",
    "families",
    "family_named",
    "family_of_task",
    "task_named",
    "tasks",
    "training_specs",
]

_T = TypeVar("_T")


ReviewRows = Callable[[Mapping[str, Any], Collection[str]], Iterable[dict[str, Any]] | None]
"""Returns the rows of items in a file's row, given the fields that the project shows; None if the
row does not come from the family's files, or the project shows none of the family's fields."""


@dataclass(frozen=True)
class DraftFinding:
    """A check's finding in a text while somebody writes it.

    ``fails`` says whether the rule is broken; otherwise only a person can decide. ``words`` are the
    words of the draft that the finding is about; empty if it is about no particular words.
    """

    rule: str
    message: str
    fails: bool
    words: str = ""


DraftCheck = Callable[[Mapping[str, Any]], Sequence[DraftFinding]]
"""Returns the findings in an item's fields, with the draft in the field that is being written.
It raises `InputError` where it cannot check them."""


@dataclass(frozen=True)
class Lazy(Generic[_T]):
    """An object of a family, ``package.module:name``, imported when it is first used."""

    path: str

    def load(self) -> _T:
        value: _T = resolve_name(self.path)
        return value


@dataclass(frozen=True)
class Task:
    """A task of a family: what ``contrafact run NAME`` runs.

    ``summary`` describes the task in one line; ``default_methods`` are run if none is named.
    """

    name: str
    summary: str
    run: "Lazy[TaskRun[Any, Any]]"
    report: "Lazy[ReportSpec]"
    options: "Lazy[type[TaskOptions]] | None" = None
    default_methods: tuple[str, ...] = ("plain",)


@dataclass(frozen=True)
class Command:
    """A command that a family adds to the command line: a function, or the Typer app of a group."""

    help: str
    app: "Lazy[typer.Typer | Any]"


@dataclass(frozen=True)
class ShownText:
    """A text that the demo shows: ``before``, or the changes from it to ``after``."""

    label: str
    before: str
    after: str | None = None
    note: str = ""


@dataclass(frozen=True)
class ShownTable:
    """A table that the demo shows; cells are texts."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


Shown = str | ShownText | ShownTable
"""What the demo shows: a sentence, a text, or a table."""


@dataclass(frozen=True)
class DemoExample:
    """A part of ``contrafact demo`` that calls no model and is shown before the runs."""

    title: str
    show: "Lazy[Callable[[], Iterable[Shown]]]"


@dataclass(frozen=True)
class DemoPart:
    """A family's part of ``contrafact demo``: one small run on bundled samples.

    Attributes:
        noun: The plural noun for its items; also the name of the option that sets their number.
        count: How many bundled items are used, out of ``most``.
        text: The text printed before the run; ``{count}`` and ``{model}`` are filled in.
        models: Models that are run besides the demo's model.
        judges: The judges.
        data: Writes a number of items to a file; without it, the bundled items are used.
    """

    task: str
    noun: str
    count: int
    most: int
    text: str
    methods: tuple[str, ...]
    models: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    generation: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    data: "Lazy[Callable[[Path, int], None]] | None" = None


@dataclass(frozen=True)
class Family:
    """Everything that the program knows about a family.

    Attributes:
        name: Its entry point's name: the first part of its templates' names.
        commands: The family's commands by name; the command named like the family is its group.
        study: Its studies with people, by kind; the kind ``""`` is the study that needs no name.
        verifiers: Judges that are not language models, by the name that ``--judge`` takes.
        readers: For each verifier, by name, a function that returns the next question for the
            verifier's reader about a subject, or None if nothing is left to ask.
        editing: How editors of its texts are trained.
        data: The files that ``contrafact data check`` recognises, by schema.
        presets: The paper's settings, by name: the fields of a run's settings; ``needs``, which
            says for each setting that a user must supply how to get it; and ``notes`` to read
            before the first call.
        draft_checks: Checks of a text while somebody writes it in a review.
        rank: Its place in lists; families of the same rank are sorted by name.
    """

    name: str
    title: str
    question: str
    tasks: tuple[Task, ...]
    commands: Mapping[str, Command] = field(default_factory=dict)
    study: "Mapping[str, Lazy[StudySpec]]" = field(default_factory=dict)
    exam: "Lazy[ExamSpec] | None" = None
    verifiers: "Mapping[str, Lazy[Verifier]]" = field(default_factory=dict)
    readers: "Mapping[str, Lazy[Callable[[Subject], Question | None]]]" = field(
        default_factory=dict
    )
    training: "Lazy[TrainingSpec] | None" = None
    editing: "Lazy[EditSpec] | None" = None
    data: "Mapping[str, Lazy[DataSpec]]" = field(default_factory=dict)
    presets: "Lazy[Mapping[str, Mapping[str, Any]]] | None" = None
    demo: "Lazy[tuple[DemoPart | DemoExample, ...]] | None" = None
    review_rows: "Lazy[ReviewRows] | None" = None
    draft_checks: "Mapping[str, Lazy[DraftCheck]]" = field(default_factory=dict)
    rank: int = 100


@cache
def families() -> Mapping[str, Family]:
    """Return the installed families by rank; `InputError` for bad entry points or shared names."""
    by_name: dict[str, Family] = {}
    taken: dict[str, str] = {}
    for entry in family_entries():
        family = entry.load()
        if not isinstance(family, Family) or family.name != entry.name:
            raise InputError(
                f"the entry point '{entry.name}' of {FAMILY_GROUP} names no family of that name",
                hint=f"make {entry.value} a contrafact.family.Family called '{entry.name}'",
            )
        for task in family.tasks:
            if task.name in taken:
                raise InputError(
                    f"two families have a task '{task.name}': {taken[task.name]} and {family.name}",
                    hint="uninstall one of them",
                )
            taken[task.name] = family.name
        by_name[family.name] = family
    return dict(sorted(by_name.items(), key=lambda pair: (pair[1].rank, pair[0])))


def _named(found: Mapping[str, _T], name: str, what: str, none: str = "") -> _T:
    if name not in found:
        hint = f"use {', '.join(found) or none}"
        raise InputError(f"there is no {what} '{name[:40]}'", hint=hint)
    return found[name]


def family_named(name: str) -> Family:
    """Return the family of that name; `InputError` if there is none."""
    return _named(families(), name, "family")


def draft_checks() -> Mapping[str, Lazy[DraftCheck]]:
    """Return the draft checks of all families, by name: ``FAMILY/NAME``."""
    return {
        f"{family.name}/{name}": check
        for family in families().values()
        for name, check in family.draft_checks.items()
    }


def draft_check(name: str) -> DraftCheck:
    """Return the draft check of that name; `InputError` if there is none."""
    return _named(draft_checks(), name, "check", "none: no installed family has one").load()


def tasks() -> Mapping[str, Task]:
    return {task.name: task for family in families().values() for task in family.tasks}


def task_named(name: str) -> Task:
    """Return the task of that name; `InputError` if there is none."""
    return _named(tasks(), name, "task")


def family_of_task(name: str) -> Family:
    """Return the family that a task belongs to; `InputError` if there is no such task."""
    task = task_named(name)
    return next(family for family in families().values() if task in family.tasks)


def edit_specs() -> "dict[str, EditSpec]":
    """Return each family's training spec for editors, by the family's name."""
    return {name: family.editing.load() for name, family in families().items() if family.editing}


def training_specs() -> "dict[str, TrainingSpec]":
    """Return the training specs of the families that can be trained, by the family's name."""
    return {name: family.training.load() for name, family in families().items() if family.training}
