"""The manifest of a run folder: enough to tell the run apart and to run it again."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contrafact.errors import InputError
from contrafact.files.atomic import write_text

__all__ = [
    "MANIFEST",
    "DataRecord",
    "Manifest",
    "PackRecord",
    "now",
    "read_manifest",
    "write_manifest",
]

MANIFEST = "manifest.json"


class DataRecord(BaseModel):
    """The data of a run, by name and content."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="File name, or 'bundled samples'.")
    sha256: str = Field(description="SHA-256 of the file's bytes.")
    items: int = Field(description="Items taken.")
    notes: list[str] = Field(default_factory=list, description="What the loader had to say.")


class PackRecord(BaseModel):
    """The prompt pack of a run."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="'default', or the folder's name.")
    hash: str = Field(description="Hash over its templates.")


class Manifest(BaseModel):
    """What was run, on what, with what, and how it ended."""

    model_config = ConfigDict(frozen=True)

    identity: str = Field(description="Equal for runs that are meant to give equal results.")
    status: Literal["running", "failed", "finished"] = Field(description="How far it came.")
    started: str = Field(description="When the run was first started, UTC.")
    finished: str | None = Field(default=None, description="When it finished, UTC.")
    contrafact: str = Field(description="Version of this package.")
    inspect_ai: str = Field(description="Version of the evaluation engine.")
    task: str = Field(description="The task.")
    task_version: str = Field(description="Its version: comparability, interface.")
    data: DataRecord = Field(description="The data.")
    shots_from: DataRecord | None = Field(default=None, description="The pool of examples.")
    background: DataRecord | None = Field(
        default=None, description="The news that are searched for background."
    )
    pack: PackRecord = Field(description="The prompt pack.")
    settings: dict[str, Any] = Field(description="The settings, secrets left out.")
    paid_calls: int = Field(default=0, description="Calls of models that cost money.")


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run folder.

    Raises:
        InputError: if there is none, or it cannot be read.
    """
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = "name a folder that `contrafact run` wrote"
        raise InputError("is not a run folder (no manifest.json)", file=folder, hint=hint) from None
    except NotADirectoryError:
        raise InputError("is not a folder", file=folder) from None
    except (ValidationError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"not a manifest: {first}", file=path) from None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, whole or not at all."""
    write_text(folder / MANIFEST, manifest.model_dump_json(indent=2) + "\n")


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
