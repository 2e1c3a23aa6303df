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
        cost = "free" if not row.paid else "unknown" if row.dollars is None else f"{row.dollars:.2f}"
        table.add_row(
            row.model, row.role, f"{row.calls:,}", f"{row.input_tokens:,}", f"{row.output_tokens:,}", cost
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
