"""What is different about two runs: their settings, their prompts and their data."""

import json
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from inspect_ai.log import list_eval_logs, read_eval_log_sample_summaries

from contrafact.runs.folder import BASELINE_LOGS, LOGS, Manifest, read_prompts
from contrafact.runs.items import RunItems

_Samples = Mapping[str, Mapping[str, Any]]
_FIELDS = ("input", "target", "metadata")


def changes_between(before: RunItems, after: RunItems) -> dict[str, Any]:
    """Return what is different about two runs of one task before any output is looked at.

    Returns:
        ``settings`` that differ: ``name``, ``before`` and ``after``, None where a run has it not.
        ``prompts`` that only one run uses, or both with a different text: ``name``, ``what`` was
        done (added, removed, changed), the ``diff`` by lines, and a ``note``. ``data``: whether
        both read the ``same_file``, how many samples are ``shared``, the inputs of those ``added``
        and ``removed`` by id, and those ``changed``, in both and not the same: ``id``, the
        ``fields`` that differ, the first of them ``before`` and ``after``.
    """
    old, new = _facts(before.manifest), _facts(after.manifest)
    samples = _samples(before), _samples(after)
    return {
        "settings": [
            {"name": name, "before": old.get(name), "after": new.get(name)}
            for name in dict.fromkeys((*old, *new))
            if old.get(name) != new.get(name)
        ],
        "prompts": _prompts(before, after),
        "data": {
            "same_file": before.manifest.data.sha256 == after.manifest.data.sha256,
            "shared": len(samples[0].keys() & samples[1].keys()),
            "added": _only(*reversed(samples)),
            "removed": _only(*samples),
            "changed": _changed(*samples),
        },
    }


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


def _prompts(before: RunItems, after: RunItems) -> list[dict[str, Any]]:
    hashes = [run.manifest.pack.templates for run in (before, after)]
    texts = [read_prompts(run.folder, run.manifest) for run in (before, after)]
    return [
        _prompt_change(name, hashes, texts)
        for name in sorted({*hashes[0], *hashes[1]})
        if hashes[0].get(name) != hashes[1].get(name)
    ]


def _prompt_change(
    name: str, hashes: Sequence[Mapping[str, str]], texts: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    there = [name in one for one in hashes]
    what = "changed" if all(there) else "removed" if there[0] else "added"
    missing = [
        run
        for run, used, known in zip(("first", "second"), there, texts, strict=True)
        if used and name not in known
    ]
    if missing:
        kept = " and ".join(missing)
        note = f"its text is not kept in the {kept} run's folder"
        return {"name": name, "what": what, "diff": [], "note": note}
    a, b = (f"{run}/{name}" if used else "(none)" for run, used in zip("AB", there, strict=True))
    old, new = (one.get(name, "").splitlines() for one in texts)
    diff = list(unified_diff(old, new, a, b, lineterm=""))
    return {"name": name, "what": what, "diff": diff, "note": ""}


def _only(ours: _Samples, theirs: _Samples) -> dict[str, str]:
    return {one: _shown_text(ours[one], "input") for one in sorted(ours.keys() - theirs.keys())}


def _changed(old: _Samples, new: _Samples) -> list[dict[str, Any]]:
    found = []
    for one in sorted(old.keys() & new.keys()):
        fields = [name for name in _FIELDS if old[one].get(name) != new[one].get(name)]
        if fields:
            before, after = (_shown_text(sample, fields[0]) for sample in (old[one], new[one]))
            found.append({"id": one, "fields": fields, "before": before, "after": after})
    return found


def _samples(run: RunItems) -> dict[str, dict[str, Any]]:
    """Return every sample of a run by id, from Inspect's logs; without logs its items' ids."""
    found: dict[str, dict[str, Any]] = {}
    for place in (LOGS, BASELINE_LOGS):
        folder = run.folder / place
        for info in list_eval_logs(str(folder)) if folder.is_dir() else []:
            for sample in read_eval_log_sample_summaries(info):
                found.setdefault(str(sample.id), {name: getattr(sample, name) for name in _FIELDS})
    return found or {str(one): {} for one in run.items["sample_id"].unique()}


def _shown_text(sample: Mapping[str, Any], field: str) -> str:
    value = sample.get(field, "")
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True)
