"""The run folder: one run at a time in it, and never two different ones."""

from pathlib import Path

from contrafact import __version__
from contrafact.errors import InputError
from contrafact.files.lock import LOCK
from contrafact.models.opening import without_secrets
from contrafact.runs.manifest import (
    MANIFEST,
    Manifest,
    now,
    read_manifest,
    write_manifest,
)
from contrafact.runs.prepared import Prepared

__all__ = ["BASELINE_LOGS", "LOGS", "begin", "finish"]

LOGS = "logs"
BASELINE_LOGS = "baseline-logs"


def begin(folder: Path, prepared: Prepared, paid_calls: int) -> Manifest:
    """Return the folder's manifest: the one that is there, or a new one, not yet written.

    Raises:
        InputError: if the folder holds another run, or something that is not a run.
    """
    if (folder / MANIFEST).exists():
        manifest = read_manifest(folder)
        if manifest.identity != prepared.identity:
            differs = _difference(manifest, _new(prepared, paid_calls))
            raise InputError(
                f"holds another run (it differs in {differs})",
                file=folder,
                hint="name another folder with --out, or the same settings to go on with that run",
            )
        return manifest
    if folder.exists() and any(entry for entry in folder.iterdir() if entry.name != LOCK):
        raise InputError(
            "is not empty and not a run folder", file=folder, hint="name a new folder with --out"
        )
    return _new(prepared, paid_calls)


def finish(folder: Path, manifest: Manifest, *, failed: bool) -> Manifest:
    """Record how the run ended."""
    ended = manifest.model_copy(
        update={"status": "failed" if failed else "finished", "finished": now()}
    )
    write_manifest(folder, ended)
    return ended


def _new(prepared: Prepared, paid_calls: int) -> Manifest:
    import inspect_ai

    settings = prepared.settings.model_dump(
        mode="json", exclude={"data", "shots_from", "prompts", "background"}
    )
    return Manifest(
        identity=prepared.identity,
        status="running",
        started=now(),
        contrafact=__version__,
        inspect_ai=inspect_ai.__version__,
        task=prepared.settings.task,
        task_version=prepared.task_version,
        data=prepared.data,
        shots_from=prepared.pool,
        background=prepared.background,
        pack=prepared.pack_record,
        settings=without_secrets(settings),
        paid_calls=paid_calls,
    )


def _difference(old: Manifest, new: Manifest) -> str:
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    if old.task != new.task:
        return "task"
    names = [
        key
        for key, value in after["settings"].items()
        if key not in ("transport", "preset") and before["settings"].get(key, value) != value
    ]
    if old.data.sha256 != new.data.sha256:
        names.append("data")
    if old.pack.hash != new.pack.hash:
        names.append("prompts")
    if (old.shots_from and old.shots_from.sha256) != (new.shots_from and new.shots_from.sha256):
        names.append("shots-from")
    if (old.background and old.background.sha256) != (new.background and new.background.sha256):
        names.append("background")
    if old.task_version != new.task_version:
        names.append("task version")
    return ", ".join(names) or "its settings"
