"""``contrafact rfc finalize``: reviewed pairs become the dataset and its hard cases."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from contrafact.console import Progress, show_counts, show_frame
from contrafact.families.rfc.commands.shared import BANDS
from contrafact.families.rfc.decisions import load_decisions, published_schema
from contrafact.families.rfc.labels import load_bands
from contrafact.families.rfc.pipeline.stages import passed_of, read_stage
from contrafact.files.atomic import guard_output
from contrafact.files.tables import write_frame
from contrafact.options import Options, argument, command, option
from contrafact.stages.stage import KEPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from contrafact.families.rfc.pipeline.finalize import Contract, Standing
    from contrafact.stages.stage import StageOutput


def _show_schema(asked: bool) -> None:
    if asked:
        typer.echo(published_schema(), nl=False)
        raise typer.Exit


class _Options(Options):
    file: str = argument("FILE", "The pairs, as `rfc rewrite` writes them.")
    out: Path = option(..., "The final dataset.", metavar="FILE")
    decisions: Path | None = option(
        None, "What people decided; see --schema for its form.", metavar="FILE"
    )
    annotators: int = option(2, "How many people have to annotate a pair.", ge=1)
    unreviewed: Literal["drop", "keep"] = option(
        "drop", "What to do with pairs that fewer people annotated."
    )
    undecided: Literal["review", "keep", "drop"] = option(
        "review",
        "What to do with unreviewed pairs that are still undecided: move them to "
        "FILE.review.jsonl, keep them with a mark, or drop them.",
    )
    checks: Path | None = option(
        None, "What `rfc check --judge` found in the pairs.", metavar="FILE"
    )
    bands: Path | None = BANDS
    require: list[str] | None = option(
        None, "A field that every final pair must have; repeatable.", metavar="FIELD"
    )
    audit_floor: float = option(
        0.8, "The lowest pass rate of an audit; below it, nothing is written.", ge=0.0, le=1.0
    )
    print_schema: bool = option(
        False,
        "Print the JSON schema of a decision, and stop.",
        name="schema",
        callback=_show_schema,
    )


@command
def finalize(options: _Options) -> None:
    """Make the final dataset: unanimous passes stay, unanimous fails are revised or removed.

    Adjudication settles disagreements. Pairs that it leaves open, and pairs that only annotators
    pass and the contract fails, are hard cases in FILE.hard.jsonl. An expert's decision overrides
    a rule, and the pair gives both reasons. A pair that a person passed is decided, even if judges
    left it open. FILE.dropped.jsonl holds the removed pairs, FILE.ledger.jsonl every decision,
    FILE.retention.csv the retention per category. Exits with 1, and writes nothing, if the last
    audit of a category passed too few pairs.

    Example: contrafact rfc finalize pairs.jsonl --decisions decisions.jsonl --out final.jsonl
    """
    from contrafact.families.rfc.pipeline.finalize import HARD, REVIEW, audit_table, retention_table
    from contrafact.families.rfc.pipeline.finalize import finalize as settle

    file, out, decisions = options.file, options.out, options.decisions
    guard_output(out, file, decisions, kind="JSON Lines")
    rows = read_stage(file, ("article_id", "original", "rewritten"), manipulated=True)
    decided = load_decisions(decisions, (r.fields["id"] for r in rows)) if decisions else []
    audit = audit_table(rows, decided)
    kinds = dict.fromkeys(row.fields["manipulation"] for row in rows)
    if not audit.empty and not _passes(audit, kinds, options.audit_floor):
        raise typer.Exit(1)
    with Progress("pairs", len(rows)) as count:
        result = settle(
            rows,
            decided,
            contract=_contract(options.checks, options.bands),
            annotators=options.annotators,
            unreviewed=options.unreviewed,
            undecided=options.undecided,
            required=options.require or (),
            each=count.one,
        )
    retention = retention_table(rows, result)
    write_frame(retention, Path(f"{out}.retention.csv"))
    if not audit.empty:
        write_frame(audit, Path(f"{out}.audit.csv"))
    result.write(out, HARD, REVIEW)
    _show(options, len(rows), result, retention)


def _show(options: _Options, rows: int, result: "StageOutput", retention: "pd.DataFrame") -> None:
    from contrafact.families.rfc.pipeline.finalize import REVIEW

    out, retained, waiting = options.out, result.table(KEPT), result.table(REVIEW)
    show_frame("Before and after adjudication", retention, shares=("retention",))
    typer.echo(f"{out}: {len(retained):,} of {rows:,} pairs")
    show_counts(result.counts)
    overruled = sum("against_rules" in row for row in retained)
    if overruled:
        typer.echo(f"{overruled:,} of them are kept by an expert's decision, against a rule.")
    if waiting:
        typer.echo(
            f"{out}.review.jsonl: {len(waiting):,} pairs are undecided; judge them "
            "(`rfc check --judge M`, then --checks), or have people review them"
        )
    unseen = sum(row["review"] == "unreviewed" for row in retained)
    if unseen:
        typer.echo(f"{unseen:,} of them were not reviewed by {options.annotators} people.")


def _passes(audit: "pd.DataFrame", kinds: "Iterable[str]", floor: float) -> bool:
    show_frame("Audit", audit, shares=("pass_rate",))
    if unaudited := [kind for kind in kinds if kind not in set(audit["category"])]:
        typer.echo(f"No audit covers {', '.join(unaudited)}.", err=True)
    short = audit[(audit["pass_rate"] < floor) & (audit["category"] != "overall")]
    if not short.empty:
        typer.echo(
            f"The audit's pass rate is under {floor:.0%} in {', '.join(short['category'])}: revise "
            "these, and audit them again. Nothing is written.",
            err=True,
        )
    return short.empty


def _contract(checks: Path | None, bands: Path | None) -> "Contract":
    """Return a function that gives a pair's `Standing` by facts and the checks' file or its row."""
    from contrafact.families.rfc.contracts import Options, check_pairs
    from contrafact.families.rfc.contracts.pair_check import NO_VERDICT
    from contrafact.families.rfc.pipeline.finalize import Standing

    options = Options(bands=None if bands is None else load_bands(bands))
    found = {} if checks is None else {r.fields["id"]: r.fields for r in read_stage(checks)}

    def standing(row: "Mapping[str, Any]") -> "Standing":
        (facts,) = check_pairs([row], options=options)
        checked = found.get(row["id"], row)
        passed, broken = facts.passed, [(one.rule, one.message) for one in facts.violations]
        if passed is None or (passed and passed_of(checked) is False):
            passed = passed_of(checked)
            if passed is False:
                broken = _findings(checked, "violations") or [
                    ("its check", "the checks say that it has not passed")
                ]
        first: dict[str, str] = {}
        for rule, message in broken:
            first.setdefault(rule, f"{rule} ({message})")
        if passed is not None:
            return Standing([*first.values()])
        open_ = [text for rule, text in _findings(checked, "review") if rule == NO_VERDICT]
        why = checked.get("undecided") or "; ".join(open_) or "nobody has judged what it means"
        return Standing([*first.values()], str(why))

    return standing


def _findings(checked: "Mapping[str, Any]", name: str) -> list[tuple[str, str]]:
    """Return the rule and message of each finding in a check's ``violations`` or ``review``."""
    listed = checked.get(name)
    findings = listed if isinstance(listed, list) else []
    return [(str(finding.get("rule")), str(finding.get("message"))) for finding in findings]
