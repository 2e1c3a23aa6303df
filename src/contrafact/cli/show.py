"""What the commands print: the estimate and the headline table."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contrafact.runs.estimate import CallEstimate

__all__ = ["show_estimate", "show_headline_table"]


def show_estimate(rows: "list[CallEstimate]") -> None:
    """Print calls, tokens and cost by model and role."""
    from rich.console import Console
    from rich.table import Table

    from contrafact.runs.estimate import paid_calls

    table = Table(title="Estimate, before the first call")
    for name in ("model", "role"):
        table.add_column(name, overflow="fold")
    for name in ("calls", "tokens in", "tokens out", "US dollars"):
        table.add_column(name, justify="right")
    for row in rows:
        cost = (
            "free" if not row.paid else "unknown" if row.dollars is None else f"{row.dollars:.2f}"
        )
        table.add_row(
            row.model,
            row.role,
            f"{row.calls:,}",
            f"{row.input_tokens:,}",
            f"{row.output_tokens:,}",
            cost,
        )
    console = Console()
    console.print(table)
    known = sum(row.dollars for row in rows if row.dollars is not None)
    unknown = sorted({row.model for row in rows if row.dollars is None})
    total = f"{sum(row.calls for row in rows):,} calls, {paid_calls(rows):,} of them paid"
    if paid_calls(rows):
        total += f"; about ${known:.2f}"
    if unknown:
        total += f", and the unknown price of {', '.join(unknown)}"
    console.print(total, highlight=False)
    console.print(
        "Tokens are OpenAI's o200k count; reasoning tokens and retries come on top.",
        highlight=False,
    )


_COLUMNS = (
    ("perplexity", "valid", "Perplexity", 1),
    ("delta_perplexity", "valid", "Δ Perplexity", 1),
    ("forward_compatibility", "valid", "Fwd-Compat. %", 100),
    ("directionality", "valid", "Dir. %", 100),
    ("average", "valid", "Avg. %", 100),
    ("average", "strict", "Avg. strict %", 100),
)


def show_headline_table(folder: Path) -> None:
    """Print the overall table of a report, with intervals, from its ``results.json``."""
    from rich.console import Console
    from rich.table import Table

    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    found = {
        (row["system"], row["measure"], row["form"]): row
        for row in results["figures"]
        if row["scope"] == "overall" and row["category"] is None
    }
    systems = list(dict.fromkeys(system for system, _, _ in found))
    columns = [
        column for column in _COLUMNS if any((s, column[0], column[1]) in found for s in systems)
    ]
    level = round(100 * results["settings"]["level"])
    table = Table(title=f"All counterfactuals, with {level}% intervals")
    table.add_column("system", overflow="fold")
    for _, _, name, _ in columns:
        table.add_column(name, justify="right")
    table.add_column("invalid", justify="right")
    invalid = {row["system"]: row for row in results["invalid"]}
    for system in systems:
        cells = [
            _cell(found.get((system, measure, form)), scale) for measure, form, _, scale in columns
        ]
        counts = invalid.get(system, {})
        table.add_row(system, *cells, f"{counts.get('invalid', 0)}/{counts.get('asked', 0)}")
    console = Console()
    console.print(table)
    for warning in results["warnings"]:
        console.print(f"{warning['title']}: {warning['text']}", highlight=False, markup=False)


def _cell(row: dict[str, float | None] | None, scale: int) -> str:
    if row is None or row["estimate"] is None:
        return "–"
    text = f"{row['estimate'] * scale:.1f}"
    if row["low"] is not None and row["high"] is not None:
        text += f"\n{row['low'] * scale:.1f} to {row['high'] * scale:.1f}"
    return text
