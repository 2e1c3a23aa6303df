"""A run folder's manifest: the task, data, models and settings of a run, and how it ended."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from contrafact import __version__
from contrafact.family.settings import RunSettings, flat_settings, identity
from contrafact.files.tables import table_file
from contrafact.prompts import PromptPack
from contrafact.redaction import without_secrets

__all__ = ["DataRecord", "Manifest", "PackRecord", "file_record", "hash_file", "new_manifest"]


class DataRecord(BaseModel):
    """A manifest's record of a file: its name and its content."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="File name, or 'bundled samples'.")
    sha256: str = Field(description="SHA-256 of the file's bytes.")
    items: int = Field(description="Items taken.")
    notes: list[str] = Field(default_factory=list, description="What the loader found.")
    source: str = Field(default="", description="Where it was downloaded from, with the commit.")


class PackRecord(BaseModel):
    """A manifest's record of the prompts."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="'default', or the folder's name.")
    hash: str = Field(description="Hash over the templates that the run uses.")
    templates: dict[str, str] = Field(
        default_factory=dict, description="Those templates: name to the hash of its text."
    )


class Manifest(BaseModel):
    """The record of a run: task, data, models and settings, and how it ended."""

    model_config = ConfigDict(frozen=True)

    identity: str = Field(description="Equal for runs that are meant to give equal results.")
    status: Literal["running", "failed", "finished"] = Field(description="The state of the run.")
    started: str = Field(description="When it was first started, UTC.")
    finished: str | None = Field(default=None, description="UTC.")
    contrafact: str = Field(description="Version of this package.")
    inspect_ai: str = Field(description="Version of the evaluation engine.")
    task: str
    task_version: str = Field(description="Its version: comparability, interface.")
    data: DataRecord
    files: dict[str, DataRecord] = Field(
        default_factory=dict, description="Other files, by the option that names them."
    )
    pack: PackRecord
    settings: dict[str, Any] = Field(description="The settings, secrets left out.")
    paid_calls: int = Field(default=0, description="The estimated number of calls that cost money.")

    def difference(self, earlier: "Manifest") -> str:
        """Return the names of the settings that differ from another run's, in words for users."""
        if earlier.task != self.task:
            return "task"
        before = earlier.settings
        names = [
            key
            for key, value in self.settings.items()
            if key not in ("transport", "preset") and before.get(key, value) != value
        ]
        if earlier.data.sha256 != self.data.sha256:
            names.append("data")
        if earlier.pack.hash != self.pack.hash:
            names.append("prompts")
        for name in sorted({*earlier.files, *self.files}):
            if earlier.files.get(name) != self.files.get(name):
                names.append(name.replace("_", "-"))
        if earlier.task_version != self.task_version:
            names.append("task version")
        return ", ".join(names) or "its settings"


def new_manifest(
    settings: RunSettings,
    version: str,
    contents: Mapping[str, Any],
    *,
    data: DataRecord,
    files: Mapping[str, DataRecord],
    pack: PromptPack,
) -> Manifest:
    """Return the manifest of a run that has not begun.

    ``contents`` are hashes of whatever else the results depend on besides the data, the opened
    templates and the task's version; ``files`` are further files by the option that names them.
    """
    import inspect_ai

    facts = {"data": data.sha256, "templates": pack.used, "task": version.split("-")[0]}
    return Manifest(
        identity=identity(settings, {**facts, **contents}),
        status="running",
        started="",
        contrafact=__version__,
        inspect_ai=inspect_ai.__version__,
        task=settings.task,
        task_version=version,
        data=data,
        files=dict(files),
        pack=PackRecord(name=pack.name, hash=pack.used_hash, templates=pack.used),
        settings=without_secrets(flat_settings(settings)),
    )


def file_record(
    path: Path, items: int, notes: Sequence[str] = (), *, name: str = "", source: str = ""
) -> DataRecord:
    """Return the manifest's record of a file; ``items`` is how many items were taken from it."""
    return DataRecord(
        name=name or path.name,
        sha256=hash_file(path),
        items=items,
        notes=list(notes),
        source=source,
    )


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; for a workbook, of the whole file, not one sheet."""
    with table_file(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
