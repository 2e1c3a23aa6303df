"""``contrafact rfc finalize``: reviewed pairs become the dataset and its hard cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contrafact.records import Manipulation

__all__ = ["finalize"]


def _show_schema(asked: bool) -> None:
    if asked:
        from contrafact.families.rfc.decisions import published_schema

        typer.echo(published_schema(), nl=False)
        raise typer.Exit


def finalize(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The pairs, as `rfc rewrite` writes them.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The final dataset.")],
    decisions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What people decided; see --schema for its form."),
    ] = None,
    annotators: Annotated[
        int, typer.Option(min=1, help="How many people have to annotate a pair.")
    ] = 2,
    unreviewed: Annotated[
        Literal["drop", "keep"],
        typer.Option(help="What to do with pairs that fewer people annotated."),
    ] = "drop",
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="A field that no final pair may lack; repeatable."),
    ] = None,
    audit_floor: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="The audit's pass rate below which nothing is final."),
    ] = 0.8,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            is_eager=True,
            callback=_show_schema,
            help="Print the JSON schema of a decision, and stop.",
        ),
    ] = False,
) -> None:
    """Make the final dataset: unanimous passes stay, unanimous fails are revised or removed.

    Disagreements go by the adjudication; what it leaves open, and what annotators alone pass and
    the contract fails, are hard cases in FILE.hard.jsonl. An expert's decision stands against a
    rule, and the pair says both reasons. FILE.dropped.jsonl holds what was removed,
    FILE.ledger.jsonl every decision, FILE.retention.csv the retention per category. Exits with 1,
    and writes nothing, where the audit's pass rate in a category is too low.

    Example: contrafact rfc finalize pairs.jsonl --decisions decisions.jsonl --out final.jsonl
    """
    from contrafact.console import Progress, show_counts, show_frame
    from contrafact.corpus.ledger import write_stage
    from contrafact.families.rfc.contracts import check_pair
    from contrafact.families.rfc.decisions import load_decisions
    from contrafact.families.rfc.pipeline.finalize import audit_table, retention_table
    from contrafact.families.rfc.pipeline.finalize import finalize as settle
    from contrafact.families.rfc.pipeline.stages import read_stage
    from contrafact.files.atomic import guard_output
    from contrafact.files.tables import write_frame

    guard_output(out, file, decisions)
    rows = read_stage(file, ("article_id", "original", "rewritten"), manipulated=True)
    decided = load_decisions(decisions, (r.fields["id"] for r in rows)) if decisions else []
    audit = audit_table(rows, decided)
    if not audit.empty:
        show_frame("Audit", audit, shares=("pass_rate",))
        short = audit[audit["pass_rate"] < audit_floor]
        short = short[short["category"] != "overall"]
        if not short.empty:
            typer.echo(
                f"The audit's pass rate is under {audit_floor:.0%} in "
                f"{', '.join(short['category'])}: revise these, and audit them again. "
                "Nothing is written.",
                err=True,
            )
            raise typer.Exit(1)
    with Progress("pairs", len(rows)) as count:

        def broken(manipulation: "Manipulation", original: str, rewritten: str) -> "Sequence[str]":
            found = check_pair(manipulation, original, rewritten)
            messages = {v.rule: v.message for v in reversed(found.violations)}
            return [
                f"{rule} ({messages[rule]})"
                for rule in dict.fromkeys(violation.rule for violation in found.violations)
            ]

        result = settle(
            rows,
            decided,
            contract=broken,
            annotators=annotators,
            unreviewed=unreviewed,
            required=require or (),
            each=count.one,
        )
    retention = retention_table(rows, result)
    write_frame(retention, Path(f"{out}.retention.csv"))
    if not audit.empty:
        write_frame(audit, Path(f"{out}.audit.csv"))
    write_stage(out, result.retained, result.events, hard=result.hard, dropped=result.dropped)
    show_frame("Before and after adjudication", retention, shares=("retention",))
    typer.echo(f"{out}: {len(result.retained):,} of {len(rows):,} pairs")
    show_counts(result.counts())
    overruled = sum("against_rules" in row for row in result.retained)
    if overruled:
        typer.echo(f"{overruled:,} of them stand by an expert's decision against a rule.")
    unseen = sum(row["review"] == "unreviewed" for row in result.retained)
    if unseen:
        typer.echo(f"{unseen:,} of them were not reviewed by {annotators} people.")
