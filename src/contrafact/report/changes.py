"""The differences between two runs' settings, prompts and data."""

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
    """Return the differences between two runs of a task in everything but their outputs.

    Returns:
        ``settings`` that differ; ``prompts`` that only one run uses or whose text differs, with the
        ``diff`` by lines; ``data``: how many samples are ``shared``, the inputs of ``added`` and
        ``removed`` samples by id, and the ``changed`` samples that both runs have, with the
        ``fields`` that differ and the first such field ``before`` and ``after``.
    """
    old, new = _facts(before.manifest), _facts(after.manifest)
    old_samples, new_samples = _samples(before), _samples(after)
    hashes = [run.manifest.pack.templates for run in (before, after)]
    texts = [read_prompts(run.folder, run.manifest) for run in (before, after)]
    return {
        "settings": [
            {"name": name, "before": old.get(name), "after": new.get(name)}
            for name in dict.fromkeys((*old, *new))
            if old.get(name) != new.get(name)
        ],
        "prompts": [
            _prompt_change(name, hashes, texts)
            for name in sorted({*hashes[0], *hashes[1]})
            if hashes[0].get(name) != hashes[1].get(name)
        ],
        "data": {
            "same_file": before.manifest.data.sha256 == after.manifest.data.sha256,
            "shared": len(old_samples.keys() & new_samples.keys()),
            "added": _only_in(new_samples, old_samples),
            "removed": _only_in(old_samples, new_samples),
            "changed": _changed(old_samples, new_samples),
        },
    }


def _facts(manifest: Manifest) -> dict[str, str]:
    facts: dict[str, str] = {}
    for name, value in manifest.settings.items():
        # A nested setting is listed under its own name: temperature, not generation.temperature.
        parts = value if isinstance(value, dict) else {name: value}
        facts |= {str(key): _text(v) for key, v in parts.items() if v not in (None, [], {})}
    data, files = manifest.data, manifest.files.items()
    facts |= {"data": data.name, "data hash": data.sha256[:12], "items": str(data.items)}
    facts |= {name: f"{record.name} ({record.sha256[:12]})" for name, record in files}
    facts |= {"prompt pack": manifest.pack.name, "task version": manifest.task_version}
    return facts | {"contrafact": manifest.contrafact, "inspect-ai": manifest.inspect_ai}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _prompt_change(
    name: str, hashes: Sequence[Mapping[str, str]], texts: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    used = [name in hashes_of_run for hashes_of_run in hashes]
    what = "changed" if all(used) else "removed" if used[0] else "added"
    sides = list(zip(("first", "second"), used, texts, strict=True))
    lost = [run for run, is_used, kept in sides if is_used and name not in kept]
    if lost:
        note = f"its text is not kept in the {' and '.join(lost)} run's folder"
        return {"name": name, "what": what, "diff": [], "note": note}
    a, b = (
        f"{side}/{name}" if is_used else "(none)" for side, is_used in zip("AB", used, strict=True)
    )
    old, new = (kept.get(name, "").splitlines() for kept in texts)
    diff = list(unified_diff(old, new, a, b, lineterm=""))
    return {"name": name, "what": what, "diff": diff, "note": ""}


def _only_in(samples: _Samples, others: _Samples) -> dict[str, str]:
    return {id: _text_of(samples[id], "input") for id in sorted(samples.keys() - others.keys())}


def _changed(old: _Samples, new: _Samples) -> list[dict[str, Any]]:
    changed = []
    for id in sorted(old.keys() & new.keys()):
        fields = [name for name in _FIELDS if old[id].get(name) != new[id].get(name)]
        if fields:
            before, after = (_text_of(samples[id], fields[0]) for samples in (old, new))
            changed.append({"id": id, "fields": fields, "before": before, "after": after})
    return changed


def _samples(run: RunItems) -> dict[str, dict[str, Any]]:
    """Return a run's samples by id, from Inspect's logs; without logs, only the items' ids."""
    samples: dict[str, dict[str, Any]] = {}
    for logs in (LOGS, BASELINE_LOGS):
        folder = run.folder / logs
        for info in list_eval_logs(str(folder)) if folder.is_dir() else []:
            for sample in read_eval_log_sample_summaries(info):
                samples.setdefault(
                    str(sample.id), {name: getattr(sample, name) for name in _FIELDS}
                )
    return samples or {str(id): {} for id in run.items["sample_id"].unique()}


def _text_of(sample: Mapping[str, Any], field: str) -> str:
    value = sample.get(field, "")
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True)
