"""``contrafact rfc ledger`` and ``statistics``: what became of the items of a build.

By the decisions on them, with how many errors are left; and by what each stage let through.
"""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contrafact.corpus.attrition import AuditRate, StageCount
    from contrafact.corpus.ledger import LedgerEvent
    from contrafact.stats.intervals import Interval

__all__ = ["ledger", "statistics"]


def ledger(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Ledgers, in the order of the stages.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to write the tables to, as CSV.")
    ] = None,
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Confidence level of the intervals.")
    ] = 0.95,
) -> None:
    """Show attrition by stage and category, and the error rate that audits suggest.

    Audits are the events with an inclusion probability: the one with which their item was drawn.

    Example: contrafact rfc ledger bucketed.jsonl.ledger.jsonl pairs.jsonl.ledger.jsonl
    """
    from contrafact.corpus.attrition import attrition, audit_rates
    from contrafact.corpus.ledger import read_ledger
    from contrafact.errors import InputError

    events = [event for file in files for event in read_ledger(file)]
    if not events:
        raise InputError(
            "holds no events", file=files[0], hint="run a stage first: each writes its ledger"
        )
    counts = attrition(events)
    rates = audit_rates(events, level=level)
    _show_counts(counts)
    _show_reasons(events, counts)
    _show_undecided(events)
    if rates:
        _show_rates(rates, level)
    else:
        typer.echo(
            "No event has an inclusion probability, so no audit speaks of the errors that are left."
        )
    if out is not None:
        _write(counts, rates, out)
        typer.echo(f"Tables are in {out}")


def statistics(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="The stages' files in order, from bucket to final."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the tables.")],
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Draw the figures.")] = True,
) -> None:
    """Count items per manipulation before and after each gate, over time, and by ticker.

    Every file stands for the gate that wrote it, under the file's name. Over time is after every
    gate, by ticker after the last.

    Example: contrafact rfc statistics bucketed.jsonl labelled.jsonl pairs.jsonl --out statistics
    """
    from contrafact.console import show_frame
    from contrafact.errors import InputError
    from contrafact.families.rfc.pipeline.stages import read_stage
    from contrafact.families.rfc.pipeline.statistics import (
        Gate,
        by_gate,
        by_ticker,
        draw_figures,
        items_of,
        over_time,
    )
    from contrafact.files.atomic import guard_folder
    from contrafact.files.tables import write_frame

    guard_folder(out)
    names = [path.stem for path in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two files are called '{twice}'", hint="rename one of them")
    gates = [
        Gate(
            path.stem,
            items_of([row.fields for row in read_stage(path, unique=(), allow_empty=True)]),
        )
        for path in files
    ]
    counts = by_gate(gates)
    write_frame(counts, out / "by_gate.csv")
    write_frame(over_time(gates), out / "over_time.csv")
    write_frame(by_ticker(gates[-1]), out / "by_ticker.csv")
    show_frame("Items after each gate", counts, shares=("of_first", "of_previous"))
    if plots:
        draw_figures(gates, out)
    typer.echo(f"Tables{' and figures' if plots else ''} are in {out}")


def _show_counts(counts: "list[StageCount]") -> None:
    from contrafact.console import show_table
    from contrafact.corpus.ledger import DECISIONS

    rows = [
        (
            count.stage,
            count.category,
            f"{count.items:,}",
            *(f"{count.decisions[decision]:,}" for decision in DECISIONS),
            f"{count.retention:.1%}",
            f"{len(count.articles):,}",
        )
        for count in counts
    ]
    columns = ("stage", "category", "items", *DECISIONS, "left", "articles left")
    show_table("Attrition", columns, rows)


def _show_reasons(events: "list[LedgerEvent]", counts: "list[StageCount]") -> None:
    from contrafact.corpus.attrition import reasons

    for stage in dict.fromkeys(count.stage for count in counts):
        for why, number in reasons(events, stage):
            typer.echo(f"{stage} dropped {number:,}: {why or 'no reason given'}")


def _show_undecided(events: "list[LedgerEvent]") -> None:
    last = {(event.stage, event.item_id, event.manipulation): event for event in events}
    open_ones = Counter(
        event.stage for event in last.values() if (event.model_extra or {}).get("undecided")
    )
    for stage, number in open_ones.items():
        typer.echo(f"{stage} left {number:,} undecided: nobody has said what they mean")


def _show_rates(rates: "list[AuditRate]", level: float) -> None:
    from contrafact.console import show_table

    rows = [
        (
            rate.stage if rate.round is None else f"{rate.stage}, round {rate.round}",
            rate.category,
            f"{rate.audited:,}",
            f"{rate.faulty:,}",
            f"{rate.undecided:,}",
            _shares(rate.rate),
            _shares(rate.residual),
        )
        for rate in rates
    ]
    columns = ("audit", "category", "audited", "faulty", "undecided", "error rate", "unaudited")
    show_table(f"Errors by audit, with {level:.0%} intervals", columns, rows)
    typer.echo(
        "error rate: in what was audited from; unaudited: among the items that were not drawn, "
        "which is what is left once the faulty ones that were found are fixed"
    )


def _shares(interval: "Interval") -> str:
    if interval.estimate != interval.estimate:
        return "–"
    return f"{interval.estimate:.1%} [{interval.low:.1%}, {interval.high:.1%}]"


def _write(counts: "list[StageCount]", rates: "list[AuditRate]", out: Path) -> None:
    import pandas as pd

    from contrafact.corpus.ledger import DECISIONS
    from contrafact.files.tables import write_frame

    write_frame(
        pd.DataFrame(
            {
                "stage": count.stage,
                "category": count.category,
                "items": count.items,
                **{name.replace(" ", "_"): count.decisions[name] for name in DECISIONS},
                "retention": count.retention,
                "articles_left": len(count.articles),
            }
            for count in counts
        ),
        out / "attrition.csv",
    )
    if rates:
        write_frame(
            pd.DataFrame(
                {
                    "stage": rate.stage,
                    "round": rate.round,
                    "category": rate.category,
                    "audited": rate.audited,
                    "faulty": rate.faulty,
                    "undecided": rate.undecided,
                    **_columns("error_rate", rate.rate),
                    **_columns("unaudited_error_rate", rate.residual),
                    "level": rate.rate.level,
                    "method": rate.rate.method,
                }
                for rate in rates
            ),
            out / "audit.csv",
        )


def _columns(name: str, interval: "Interval") -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}
