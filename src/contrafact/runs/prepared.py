"""A run that is ready to start: what every family of tasks has to know of itself.

One subclass per family, in a file of its own. What runs, keeps, resumes and reports a run uses
only what stands here, so that a new family is one file and one line in ``prepare.py``.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from contrafact.errors import InputError
from contrafact.models.estimate import CallEstimate
from contrafact.prompts import PromptPack
from contrafact.runs.manifest import DataRecord, PackRecord
from contrafact.runs.settings import RunSettings

if TYPE_CHECKING:
    from inspect_ai import Task
    from inspect_ai.log import EvalLog, EvalSample

    from contrafact.models.whitebox.weights import CausalModel

__all__ = [
    "BUNDLED",
    "Evaluated",
    "Prepared",
    "absolute",
    "data_record",
    "file_record",
    "hash_file",
    "require_model",
    "system_label",
]

BUNDLED = "bundled samples"


@dataclass(frozen=True)
class Evaluated:
    """One model and method, evaluated.

    Attributes:
        label: The system's name in tables.
        log: Inspect's log of it.
        samples: Those that ended with a score, by id and epoch.
    """

    label: str
    log: "EvalLog"
    samples: "Sequence[EvalSample]"


@dataclass(frozen=True)
class Prepared(ABC):
    """A run that is ready to start.

    Attributes:
        settings: What was asked for.
        identity: Equal for runs that are meant to give equal results.
        pack: The prompt pack.
        data: What the manifest says of the data.
        pool: What it says of the pool of examples, where a file was named.
        background: What it says of the news that are searched, where a file was named.
    """

    family: ClassVar[str]
    """The family of tasks, as its folder in a prompt pack is called."""
    task_version: ClassVar[str]
    """The version of the task: comparability, interface."""

    settings: RunSettings
    identity: str
    pack: PromptPack
    data: DataRecord
    pool: DataRecord | None
    background: DataRecord | None

    @property
    def pack_record(self) -> PackRecord:
        """What the manifest says of the prompt pack."""
        return PackRecord(name=self.pack.name, hash=self.pack.hash_for(self.family))

    @property
    @abstractmethod
    def items(self) -> int:
        """How many items every system is asked about, in one draw."""

    @property
    @abstractmethod
    def asked(self) -> tuple[str, ...]:
        """The methods that ask a model: each is run with every model."""

    @property
    def baselines(self) -> tuple[str, ...]:
        """The methods that ask no model: each is run once."""
        return ()

    @abstractmethod
    def draws(self, method: str) -> int:
        """Return how often a method is run on every item."""

    @property
    def samples(self) -> int:
        """How many samples the run has in all."""
        asked = sum(self.draws(name) for name in self.asked) * len(self.settings.models)
        return self.items * (asked + sum(self.draws(name) for name in self.baselines))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of a run like this, beside its figures."""
        return ()

    @abstractmethod
    def task(self, method: str) -> "Task":
        """Return the Inspect task of one method."""

    @abstractmethod
    def estimate(self, *, tokens: bool = True) -> list[CallEstimate]:
        """Return one estimate for every model and role.

        Args:
            tokens: Whether to count tokens as well as calls; it takes seconds.
        """

    def label(self, log: "EvalLog") -> str:
        """Return a system's name in tables: model, method, number of examples."""
        metadata = log.eval.metadata or {}
        return system_label(log.eval.model, metadata["method"], metadata["shots"])

    def written_here(self, sample: "EvalSample") -> Sequence[tuple[int, int]]:
        """Return what weights of our own wrote for a sample, with no call in its log.

        Returns:
            For each text the tokens that were read and those that were written.
        """
        return ()

    @abstractmethod
    def write_tables(
        self, folder: Path, evaluated: Sequence[Evaluated], scorer: "CausalModel | None"
    ) -> None:
        """Write the per-item table, and what else the family keeps beside it."""


def file_record(path: Path, items: int, notes: Sequence[str] = (), *, name: str = "") -> DataRecord:
    """Return what the manifest says of a file.

    Args:
        path: The file.
        items: How many items were taken from it.
        notes: What its loader had to say.
        name: What it is called, if not by its file name.
    """
    return DataRecord(
        name=name or path.name, sha256=hash_file(path), items=items, notes=list(notes)
    )


def data_record(
    path: Path | None, items: int, notes: Sequence[str], *, bundled: Path
) -> DataRecord:
    """Return what the manifest says of the data: a file's, or the bundled samples'."""
    if path is None:
        return file_record(bundled, items, name=BUNDLED)
    return file_record(path, items, notes)


def absolute(path: Path | None) -> str | None:
    """Return a path as a task takes it: whole, wherever the task is run again."""
    return None if path is None else str(path.absolute())


def require_model(settings: RunSettings) -> None:
    """Check that there is a model under test.

    Raises:
        InputError: if none is named.
    """
    if not settings.models:
        raise InputError(
            "no model is named", hint="add --model, e.g. --model embedded/smollm2-135m"
        )


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def system_label(model: str, method: str, shots: int) -> str:
    """Return a system's name in tables: model, method, number of examples."""
    return f"{model} · {method}" + (f" ({shots})" if shots else "")
