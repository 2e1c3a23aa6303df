"""Pages of the site that are made of tables: columns of files, good scenarios, a page for agents.

What a column holds is said in the docstring of its family's ``items.py``, else in ``columns.toml``;
an exam's fields in their schema; what a good scenario is, in the criteria and the bundled set.
"""

import importlib
import json
import re
import tomllib
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from contrafact.families.finforce.judging import CRITERIA
from contrafact.family.exam_file import Exam
from contrafact.family.run_facts import RunFacts
from contrafact.report.build import RESULTS_VERSION

__all__ = [
    "agents_page",
    "columns",
    "columns_page",
    "for_agents",
    "results_schema",
    "scenarios_page",
    "schemas",
]

TASKS = {"finforce": "", "rfc-detect": ", rfc-diagnose", "cobe": ""}
"""Tasks whose tables differ, with those whose table is the same."""
_HERE = Path(__file__).parent
_ROW = re.compile(r"(``[^`]+``(?:(?:, | … )``[^`]+``)*(?: …)?)\s*(.*)$")
_PARTS = ("_invalid", "_probability")


def columns(table: str) -> dict[str, str]:
    """Return what the columns of a table hold: of a task's items, or of a part of columns.toml."""
    said: dict[str, dict[str, str]] = tomllib.loads((_HERE / "columns.toml").read_text("utf-8"))
    if table not in TASKS:
        return said[table]
    if table == "finforce":
        return said["finforce"] | said["common"]
    module = importlib.import_module(f"contrafact.families.{table.partition('-')[0]}.items")
    return _of_docstring(module.__doc__ or "") | said["common"] | said.get(table, {})


def _of_docstring(text: str) -> dict[str, str]:
    """Return the columns of a simple table of reStructuredText."""
    lines = re.split(r"^=+ +=+$", text, flags=re.MULTILINE)[1].strip("\n").splitlines()
    found: dict[str, str] = {}
    names: list[str] = []
    for line in lines:
        at = _ROW.match(line)
        if at:
            names = re.findall(r"``([^`]+)``", at[1])
            if "…" in at[1]:
                names = _numbered(names)
            found |= dict.fromkeys(names, at[2])
        else:
            found |= {name: f"{found[name]} {line.strip()}".strip() for name in names}
    return {name: said.replace("``", "`") for name, said in found.items()}


def _numbered(names: list[str]) -> list[str]:
    """Return the columns that the first of a row stands for: E1 to E5."""
    first = names[0]
    if not first.startswith("E1"):
        return [first, *(first + end for end in _PARTS)]
    return [f"E{number}{first[2:]}" for number in range(1, 6)]


def _table(said: dict[str, str], head: str = "column") -> str:
    rows = []
    for text, group in groupby(said, key=said.__getitem__):
        names = ", ".join(f"`{name}`" for name in group)
        rows.append(f"| {names} | {text.replace('|', chr(92) + '|')} |")
    return "\n".join([f"| {head} | holds |", "| --- | --- |", *rows])


def columns_page() -> str:
    """Return the page of what every column and field of a run's and an exam's files holds."""
    parts = [
        "# Columns and fields",
        "Made from the code. Where several judges were asked, `items.parquet` has besides a column "
        "`criterion · judge` for each. JSON schemas: [exam](schemas/exam.schema.json), "
        "[results](schemas/results.schema.json).",
        "## items.parquet",
        "One row an output that ended with a score.",
    ]
    for task, others in TASKS.items():
        parts += [f"### {task}{others}", _table(columns(task))]
    parts += ["## verdicts.parquet", "One row a verdict of a judge.", _table(columns("verdicts"))]
    parts += ["## calls.parquet", "One row a call of a model under test.", _table(columns("calls"))]
    parts += ["## results.json", "All figures of a report; shares are 0 to 1, what is missing is "
              "null.", _table(columns("results"), "field")]  # fmt: skip
    parts += ["## exam.json", "What `contrafact exam` writes."]
    for name, fields in _fields(Exam.model_json_schema()):
        parts += [f"**{name}**", _table(fields, "field")]
    return "\n\n".join(parts) + "\n"


def _fields(schema: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """Return the fields of a schema and of its parts, with what is said of each."""
    kinds = {"exam": schema, **schema.get("$defs", {})}
    return [
        (name, {key: one.get("description", "") for key, one in kind["properties"].items()})
        for name, kind in kinds.items()
        if "properties" in kind
    ]


def scenarios_page() -> str:
    """Return the page of what a good scenario is: the criteria, and the bundled examples."""
    family = files("contrafact.families.finforce")
    criteria = tomllib.loads((family / "criteria.toml").read_text("utf-8"))
    words = criteria["words"]["both"]
    parts = [
        "# What a good scenario looks like",
        "A scenario is a headline that could follow the one at hand: a *risk*, in which market "
        "conditions get worse, or an *opportunity*, in which they get better. It has to meet all "
        "of these, as judges and people are asked; the examples and verdicts are our own.",
    ]
    for name in CRITERIA:
        parts += [f"## {name.replace('_', ' ').capitalize()}"]
        parts += ["\n".join(f"- {text.format(**words)}" for text in criteria[name].values())]
    lines = (family / "samples/scenarios.jsonl").read_text("utf-8").splitlines()
    for title, wanted in (("Good ones", True), ("Bad ones", False)):
        rows = ["| headline | side | scenario |" + " why not |" * (not wanted)]
        rows += ["| --- | --- | --- |" + " --- |" * (not wanted)]
        for row in map(json.loads, lines):
            for side in ("risk", "opportunity"):
                if all(row[f"{side}_{name}"] for name in CRITERIA) is wanted:
                    cells = [row["headline"], side, row[f"{side}_counterfactual"]]
                    cells += [] if wanted else [row[f"{side}_note"]]
                    rows.append(f"| {' | '.join(cells)} |")
        parts += [f"## {title}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def schemas() -> dict[str, str]:
    """Return JSON schemas by their place in the site."""
    made = {
        "exam": Exam.model_json_schema(),
        "results": results_schema(),
    }
    return {
        f"schemas/{name}.schema.json": json.dumps(one, indent=1) + "\n"
        for name, one in made.items()
    }


def results_schema() -> dict[str, Any]:
    """Return the JSON schema of ``results.json``, of the version that is written."""
    said = columns("results")
    facts = RunFacts.model_json_schema(ref_template="#/$defs/{model}")
    definitions = {**facts.pop("$defs", {}), "run": facts}
    rows = {name: _row_schema(fields) for name, fields in columns("rows").items()}
    rows["runs"] = {"$ref": "#/$defs/run"}
    rows["summary"] = {"type": "string"}
    objects = ("settings", "report", "opening", "tasks")
    part = {
        name: {"type": "object", "description": text}
        if name in objects
        else {"type": "array", "items": rows.get(name, {"type": "object"}), "description": text}
        for name, text in said.items()
    }
    head = {
        "format": {"const": "contrafact-report", "description": said["format"]},
        "version": {"const": RESULTS_VERSION, "description": said["version"]},
        "settings": part.pop("settings"),
        "published_shown": {"type": "boolean", "description": said["published_shown"]},
        "exams": part.pop("exams"),
        "labels": {"type": "integer", "description": said["labels"]},
    }
    task = {"task": {"type": "string", "description": said["task"]}}
    part = {name: one for name, one in part.items() if name not in (*head, *task, "tasks")}
    always = ["runs", "report", "warnings", "summary", "opening", "figures", "paired", "invalid"]
    definitions["part"] = {"type": "object", "properties": part, "required": always}
    definitions["part"]["additionalProperties"] = False
    several = {"type": "object", "additionalProperties": {"$ref": "#/$defs/part"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"results.json, version {RESULTS_VERSION}",
        "type": "object",
        "$defs": definitions,
        "required": list(head),
        "oneOf": [
            {
                "properties": {**head, **task, **part},
                "required": [*task, *always],
                "additionalProperties": False,
            },
            {
                "properties": {**head, "tasks": several},
                "required": ["tasks"],
                "additionalProperties": False,
            },
        ],
    }


def _row_schema(fields: str) -> dict[str, Any]:
    """Return the schema of a row, of "NAME TYPE, …"."""
    pairs = [one.split() for one in fields.split(", ")]
    kinds = {
        name: {"type": [kind.rstrip("?"), "null"] if kind.endswith("?") else kind}
        for name, kind in pairs
    }
    return {"type": "object", "properties": kinds, "required": list(kinds)}


def agents_page(text: str) -> str:
    """Return the page for coding agents, from llms.txt."""
    return text.replace("# contrafact", "# For coding agents", 1) + (
        "\n## Formats\n\n[Every column and field](columns.md) of the files, with JSON schemas; the "
        "text of this page is [llms.txt](llms.txt).\n"
    )


def for_agents(text: str) -> str:
    """Return llms.txt with links as the site has them."""
    return re.sub(r"\]\((?:index|([\w/-]+?)(?:/index)?)\.md\)",
                  lambda found: f"]({found[1] + '/' if found[1] else './'})", text)  # fmt: skip
