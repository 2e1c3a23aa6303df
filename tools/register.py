"""Write the ``eval.yaml`` of each task, as the register of Inspect Evals takes them.

    python tools/register.py --repository URL --commit SHA --contributor HANDLE --out DIR

What is known of a task stands in ``register/``; what belongs to a submission is given here. Figures
come from run folders, as their report has them. Nothing is submitted.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

ENTRIES = Path(__file__).parents[1] / "register"


def results(folders: list[Path], commit: str) -> dict[str, dict[str, Any]]:
    """Return the evaluation report of each task that runs are of, from their ``results.json``."""
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if manifest["status"] != "finished":
            raise SystemExit(f"{folder}: this run is {manifest['status']}; finish it first")
        report = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        task = manifest["task"]
        part = found.setdefault(
            task,
            {
                "commit": commit,
                "version": manifest["task_version"],
                "timestamp": manifest["finished"],
                "command": f"contrafact run {task} --model MODEL",
                "notes": [f"Data: {manifest['data']['name']}, {manifest['data']['items']} items."],
                "results": [],
            },
        )
        groups = {"scope", "group", "manipulation", "category", "label"}
        systems: dict[str, list[dict[str, Any]]] = {}
        for row in report["figures"]:
            if any(row.get(name) not in (None, "overall") for name in groups):
                continue
            name = row["measure"] if row["form"] == "all" else f"{row['measure']}_{row['form']}"
            metric = {"key": name, "value": row["estimate"]}
            metric |= {end: row[end] for end in ("low", "high") if row[end] is not None}
            systems.setdefault(row["system"], []).append(metric)
        part["results"] += [
            {"model": system, "task": task, "metrics": metrics}
            for system, metrics in systems.items()
        ]
    return found


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repository", required=True, metavar="URL")
    parser.add_argument("--commit", required=True, metavar="SHA")
    parser.add_argument("--contributor", required=True, action="append", metavar="HANDLE")
    parser.add_argument("--arxiv", action="append", default=[], metavar="TASK=URL")
    parser.add_argument("--results", action="append", default=[], type=Path, metavar="RUN")
    parser.add_argument("--results-commit", metavar="SHA")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    given = parser.parse_args()
    papers = dict(pair.split("=", 1) for pair in given.arxiv)
    reports = results(given.results, given.results_commit or given.commit)
    for path in sorted(ENTRIES.glob("*.yaml")):
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))
        entry["contributors"] = given.contributor
        entry["source"] = {
            "repository_url": given.repository,
            "repository_commit": given.commit,
            "maintainers": given.contributor,
        }
        if path.stem in papers:
            entry["arxiv"] = papers[path.stem]
        if path.stem in reports:
            entry["evaluation_report"] = reports[path.stem]
        target = given.out / entry["id"] / "eval.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=1_000)
        target.write_text(text, encoding="utf-8")
        print(target)


if __name__ == "__main__":
    main()
