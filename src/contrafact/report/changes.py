"""What is different about two runs: their settings, their prompts and their data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Literal

from inspect_ai.log import list_eval_logs, read_eval_log_sample_summaries

from contrafact.runs.folder import BASELINE_LOGS, LOGS, Manifest, read_prompts
from contrafact.runs.items import RunItems

__all__ = ["Changes", "changes_between"]

_FIELDS = ("input", "target", "metadata")


@dataclass(frozen=True)
class SettingChange:
    """A setting that differs; None where a run has not got it."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class PromptChange:
    """A template that only one run uses, or both with a different text."""

    name: str
    what: Literal["added", "removed", "changed"]
    diff: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class ChangedItem:
    """A sample of one id whose input, target or metadata differ, with the first that does."""

    id: str
    fields: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True)
class DataChange:
    """How the samples of two runs differ, and whether both read the same contents (``same``).

    Samples are named by their ids; ``changed`` ones are in both and not the same, ``texts`` say
    what added and removed ones ask.
    """

    same: bool
    shared: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ChangedItem, ...]
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Changes:
    """All that is different about two runs before any output is looked at."""

    settings: tuple[SettingChange, ...]
    prompts: tuple[PromptChange, ...]
    data: DataChange


def changes_between(before: RunItems, after: RunItems) -> Changes:
    """Return what is different about two runs of one task."""
    return Changes(
        settings=_settings(before.manifest, after.manifest),
        prompts=_prompts(before, after),
        data=_data(before, after),
    )


def _settings(before: Manifest, after: Manifest) -> tuple[SettingChange, ...]:
    old, new = _facts(before), _facts(after)
    return tuple(
        SettingChange(name, old.get(name), new.get(name))
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    )


def _facts(manifest: Manifest) -> dict[str, str]:
    facts: dict[str, str] = {}
    for name, value in manifest.settings.items():
        # What is nested is named by its setting alone: temperature, not generation.temperature.
        parts = value if isinstance(value, dict) else {name: value}
        facts |= {str(part): _text(one) for part, one in parts.items() if one not in (None, [], {})}
    facts["data"] = manifest.data.name
    facts["data hash"] = manifest.data.sha256[:12]
    facts["items"] = str(manifest.data.items)
    for name, record in manifest.files.items():
        facts[name] = f"{record.name} ({record.sha256[:12]})"
    facts["prompt pack"] = f"{manifest.pack.name} ({manifest.pack.hash})"
    facts["task version"] = manifest.task_version
    facts["contrafact"] = manifest.contrafact
    facts["inspect-ai"] = manifest.inspect_ai
    return facts


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _prompts(before: RunItems, after: RunItems) -> tuple[PromptChange, ...]:
    hashes = [run.manifest.pack.templates for run in (before, after)]
    texts = [read_prompts(run.folder, run.manifest) for run in (before, after)]
    return tuple(
        _prompt_change(name, hashes, texts)
        for name in sorted({*hashes[0], *hashes[1]})
        if hashes[0].get(name) != hashes[1].get(name)
    )


def _prompt_change(
    name: str, hashes: Sequence[Mapping[str, str]], texts: Sequence[Mapping[str, str]]
) -> PromptChange:
    there = [name in one for one in hashes]
    what: Literal["added", "removed", "changed"] = "changed"
    if not all(there):
        what = "removed" if there[0] else "added"
    missing = [
        run
        for run, used, known in zip(("first", "second"), there, texts, strict=True)
        if used and name not in known
    ]
    if missing:
        kept = " and ".join(missing)
        return PromptChange(name, what, (), f"its text is not kept in the {kept} run's folder")
    a, b = (f"{run}/{name}" if used else "(none)" for run, used in zip("AB", there, strict=True))
    old, new = (one.get(name, "").splitlines() for one in texts)
    return PromptChange(name, what, tuple(unified_diff(old, new, a, b, lineterm="")))


def _data(before: RunItems, after: RunItems) -> DataChange:
    old, new = (_samples(run) for run in (before, after))
    changed = []
    for one in old.keys() & new.keys():
        fields = tuple(name for name in _FIELDS if old[one].get(name) != new[one].get(name))
        if fields:
            texts = (_shown_text(sample, fields) for sample in (old[one], new[one]))
            changed.append(ChangedItem(one, fields, *texts))
    added, removed = tuple(sorted(new.keys() - old.keys())), tuple(sorted(old.keys() - new.keys()))
    return DataChange(
        same=before.manifest.data.sha256 == after.manifest.data.sha256,
        shared=len(old.keys() & new.keys()),
        added=added,
        removed=removed,
        changed=tuple(sorted(changed, key=lambda item: item.id)),
        texts={
            one: _shown_text(samples[one], ("input",))
            for samples, ids in ((old, removed), (new, added))
            for one in ids
        },
    )


def _samples(run: RunItems) -> dict[str, dict[str, Any]]:
    """Return every sample of a run by id, from Inspect's logs; without logs its items' ids."""
    found: dict[str, dict[str, Any]] = {}
    for place in (LOGS, BASELINE_LOGS):
        folder = run.folder / place
        for info in list_eval_logs(str(folder)) if folder.is_dir() else []:
            for sample in read_eval_log_sample_summaries(info):
                found.setdefault(str(sample.id), {name: getattr(sample, name) for name in _FIELDS})
    return found or {str(one): {} for one in run.items["sample_id"].unique()}


def _shown_text(sample: Mapping[str, Any], fields: Sequence[str]) -> str:
    value = sample.get(fields[0], "")
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True)
