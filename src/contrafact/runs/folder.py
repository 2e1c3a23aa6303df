"""The run folder: its manifest, and checks that it only ever holds one run."""

from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from contrafact.errors import InputError, value_problem
from contrafact.family import tasks
from contrafact.family.manifest import Manifest
from contrafact.files.atomic import write_bytes, write_text
from contrafact.files.lock import LOCK
from contrafact.files.tables import json_line, render_csv
from contrafact.models.fluency import FLUENCY
from contrafact.prompts import SUFFIX, template_hash
from contrafact.runs.config import PROMPTS, config_text
from contrafact.text.delimit import replace_surrogates

if TYPE_CHECKING:
    from contrafact.family.run import Prepared

__all__ = [
    "BASELINE_LOGS",
    "CONFIG",
    "DATA",
    "LOGS",
    "MANIFEST",
    "Manifest",
    "begin",
    "now",
    "read_manifest",
    "read_prompts",
    "run_folder",
]

MANIFEST = "manifest.json"
LOGS = "logs"
BASELINE_LOGS = "baseline-logs"
CONFIG = "config.yaml"
_LEFT_OUT = "left-out.csv"
"""The table of a file's rows that were not scored, with reasons."""
DATA = "data.jsonl"
"""The file of items that a run was given in Python instead of as a file."""


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run folder."""
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = "name a folder that `contrafact run` wrote"
        raise InputError("is not a run folder (no manifest.json)", file=folder, hint=hint) from None
    except NotADirectoryError:
        hint = "name a folder that `contrafact run` wrote"
        raise InputError("is not a folder", file=folder, hint=hint) from None
    except (ValidationError, UnicodeDecodeError) as error:
        why = "is not UTF-8"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            why = ".".join(map(str, first["loc"])) + f" {value_problem(first)}"
        hint = "run the command that wrote it again"
        raise InputError(f"is not a manifest: {why.strip()}", file=path, hint=hint) from None


def run_folder(named: str | PathLike[str]) -> tuple[Path, str]:
    """Return the folder of a named run, and its task."""
    folder = Path(named)
    if folder.is_file():
        hint = "a table is judged by contrafact score TASK FILE, a log by inspect score"
        raise InputError("is not a folder", file=folder, hint=hint)
    if folder.exists():
        return folder, read_manifest(folder).task
    if str(named) in tasks():
        raise InputError(f"no outputs of {named} are given", hint="name a file, or give rows")
    raise InputError(
        f"there is no task '{named}', and no run folder of that name",
        hint=f"use {', '.join(tasks())}, or the path of a run",
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, whole or not at all."""
    write_text(folder / MANIFEST, manifest.model_dump_json(indent=2) + "\n")


def place(prepared: "Prepared", folder: Path) -> "Prepared":
    """Write the files that a run's folder holds before its first call, except its manifest.

    Returns:
        The run, which reads the outputs that it scores from this folder.
    """
    from contrafact.family.outputs import OUTPUTS, RECORDED_ITEMS, recorded_spec, register_outputs

    settings, sources, recorded = prepared.settings, prepared.pack.sources, prepared.recorded
    named = settings if sources else settings.model_copy(update={"prompts": None})
    texts = {f"{PROMPTS}/{name}{SUFFIX}": source for name, source in sources.items()}
    texts[CONFIG] = config_text(named, folder, None if recorded is None else recorded.source)
    if recorded is not None:
        texts[OUTPUTS] = "".join(recorded.lines())
        if recorded.items is not None:
            texts[RECORDED_ITEMS] = "".join(dict.fromkeys(map(json_line, recorded.items)))
            update = {"data": (folder / RECORDED_ITEMS).absolute()}
            settings = settings.model_copy(update=update)
        if recorded.left_out:
            import pandas as pd

            texts[_LEFT_OUT] = render_csv(pd.DataFrame([vars(one) for one in recorded.left_out]))
        if recorded.scored is not None and not (folder / FLUENCY).exists():
            write_bytes(folder / FLUENCY, recorded.scored.read_bytes())
    for name, text in texts.items():
        write_text(folder / name, replace_surrogates(text))
    if recorded is None:
        return prepared
    outputs = (folder / OUTPUTS).absolute()
    register_outputs(outputs, recorded)
    systems: dict[str, Any] = {
        recorded_spec(outputs, n): one for n, one in recorded.systems.items()
    }
    return replace(prepared, settings=settings, baselines=systems)


def read_prompts(folder: Path, manifest: Manifest) -> dict[str, str]:
    """Return the texts of a run's templates by name, leaving out those changed since."""
    paths = {name: folder / PROMPTS / f"{name}{SUFFIX}" for name in manifest.pack.templates}
    texts = {
        name: path.read_text(encoding="utf-8", errors="replace")
        for name, path in paths.items()
        if path.is_file()
    }
    used = manifest.pack.templates
    return {name: text for name, text in texts.items() if template_hash(text) == used[name]}


def now() -> str:
    """Return the current time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def begin(folder: Path, prepared: "Prepared") -> Manifest:
    """Return the folder's existing manifest, or a new one that is not yet written."""
    run = prepared.manifest
    if (folder / MANIFEST).exists():
        manifest = read_manifest(folder)
        if run.identity != manifest.identity:
            raise InputError(
                f"holds another run (it differs in {run.difference(manifest)})",
                file=folder,
                hint="name another folder with --out, or give the same settings to resume that run",
            )
        return manifest
    if folder.exists() and any(entry.name not in (LOCK, DATA) for entry in folder.iterdir()):
        raise InputError(
            "is not empty and is not a run folder", file=folder, hint="name a new folder with --out"
        )
    return run.model_copy(update={"started": now(), "paid_calls": prepared.paid_calls})


def finish(folder: Path, manifest: Manifest, *, failed: bool) -> Manifest:
    """Record how the run ended."""
    status = "failed" if failed else "finished"
    ended = manifest.model_copy(update={"status": status, "finished": now()})
    write_manifest(folder, ended)
    return ended
