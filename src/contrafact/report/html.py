"""The page: one HTML file that opens offline, runs nothing and asks nobody for anything."""

import base64
from dataclasses import dataclass

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from contrafact.report.drawing import Figure
from contrafact.report.examples import Example
from contrafact.report.meta import ReportMeta, RunFacts
from contrafact.report.table import Column, Table, format_number, row_groups
from contrafact.report.visible import visible_html, visible_text

__all__ = ["Page", "render_page"]


@dataclass(frozen=True)
class Page:
    """All that the page shows.

    Attributes:
        meta: What the runs are.
        items: As ``prepare_items`` returns them, for the facts at the top.
        summary: Sentences.
        warnings: Headings and texts that come before any figure.
        tables: By key; what is missing is not shown.
        figures: By key; what is missing is not shown.
        examples: Examples, drawn at random.
        invalid: Some invalid outputs, as ``invalid_examples`` returns them.
        seed: The seed of intervals and examples.
        resamples: How many resamples the intervals rest on.
        level: Their confidence level.
    """

    meta: ReportMeta
    items: pd.DataFrame
    summary: list[str]
    warnings: list[tuple[str, str]]
    tables: dict[str, Table]
    figures: dict[str, Figure]
    examples: list[Example]
    invalid: pd.DataFrame
    seed: int
    resamples: int
    level: float


def render_page(page: Page) -> str:
    """Return the page as HTML.

    Every text from a model, a judge, a file or a user is escaped and its hidden characters are
    shown; the page's policy forbids scripts and any request.
    """
    environment = Environment(
        loader=PackageLoader("contrafact.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible_html
    environment.filters["attribute"] = visible_text
    environment.filters["number"] = format_number
    environment.filters["data_uri"] = _data_uri
    environment.globals["row_groups"] = row_groups
    environment.globals["heading_groups"] = _heading_groups
    environment.globals["run_facts"] = _run_facts
    return environment.get_template("report.html.jinja").render(
        page=page,
        meta=page.meta,
        tables=page.tables,
        figures=page.figures,
        facts=_facts(page),
        invalid=page.invalid.to_dict("records"),
    )


def _data_uri(drawing: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing).decode('ascii')}"


def _heading_groups(columns: tuple[Column, ...]) -> list[tuple[str, tuple[Column, ...]]]:
    """Return runs of neighbouring columns with the same group heading."""
    found: list[tuple[str, list[Column]]] = []
    for column in columns:
        if not found or found[-1][0] != column.group:
            found.append((column.group, []))
        found[-1][1].append(column)
    return [(name, tuple(held)) for name, held in found]


def _facts(page: Page) -> list[tuple[str, str, str]]:
    """Return the facts at the top: a label, a figure, and a line below."""
    items, meta = page.items, page.meta
    valid, asked = int(items["valid"].sum()), len(items)
    judges = meta.judges or tuple(dict.fromkeys(items["judge"].dropna().astype(str)))
    fluency = meta.fluency_models
    return [
        ("Headlines", format_number(items["sample_id"].nunique(), "count"), _categories(items)),
        (
            "Counterfactuals",
            format_number(asked, "count"),
            f"{format_number(valid, 'count')} valid ({format_number(valid / asked, 'share')}%)",
        ),
        ("Systems", format_number(items["system"].nunique(), "count"), _draws(items)),
        ("Judge", _first_of(judges), "a panel" if len(judges) > 1 else ""),
        ("Fluency model", _first_of(fluency), ""),
    ]


def _categories(items: pd.DataFrame) -> str:
    count = items["category"].nunique()
    return f"in {count} market categor{'y' if count == 1 else 'ies'}" if count else ""


def _draws(items: pd.DataFrame) -> str:
    draws = int(items["draw"].max())
    return f"up to {draws} few-shot draws" if draws > 1 else ""


def _first_of(names: tuple[str, ...]) -> str:
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _run_facts(run: RunFacts) -> list[tuple[str, str]]:
    """Return a run's facts as labels and texts, those that are known."""
    data = run.data or ""
    if run.data_count is not None:
        data += f", {run.data_count:,} headlines"
    if run.limit is not None:
        data += f", limited to {run.limit:,}"
    tokens = ""
    if run.input_tokens is not None and run.output_tokens is not None:
        tokens = f"{run.input_tokens:,} in, {run.output_tokens:,} out"
    pack = run.prompt_pack or ""
    if run.prompt_pack_hash:
        pack += f" ({run.prompt_pack_hash[:16]})"
    known = [
        ("Models", ", ".join(run.models)),
        ("Methods", ", ".join(run.methods)),
        ("Few-shot", f"{run.shots} examples, {run.draws} draws" if run.shots else ""),
        ("Judge", ", ".join(run.judges) or "none"),
        ("Fluency model", run.fluency_model or "none"),
        ("Data", data),
        ("Data hash", run.data_hash or ""),
        ("Prompt pack", pack),
        ("Seed", "" if run.seed is None else str(run.seed)),
        ("Settings", _pairs(run.settings)),
        ("Versions", _pairs(run.versions)),
        ("Calls", "" if run.calls is None else f"{run.calls:,}"),
        ("Tokens", tokens),
        ("Time", " to ".join(part for part in (run.started, run.finished) if part)),
        ("State", "finished" if run.complete else "not every sample is finished"),
    ]
    return [(label, text) for label, text in known if text]


def _pairs(values: "dict[str, str] | dict[str, str | int | float | bool | None]") -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
