"""``contrafact rfc ledger``: losses at each stage of a build, and an estimate of the remaining
errors.
"""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from contrafact.console import show_frame
from contrafact.errors import InputError
from contrafact.files.tables import require_tables, write_frame
from contrafact.options import Options, argument, command, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from contrafact.corpus.ledger import LedgerEvent


class _Options(Options):
    files: list[str] = argument("FILE…", "Ledgers, in the order of the stages.")
    out: Path | None = option(None, "Folder to write the tables to, as CSV.", metavar="DIR")
    dates: list[Path] | None = option(
        None,
        "A build's rows with dates, whose months are counted; may be repeated.",
        metavar="FILE",
    )
    level: float = option(0.95, "Confidence level of the intervals.", ge=0.5, le=0.999)


@command
def ledger(options: _Options) -> None:
    """Show attrition by stage and category, and the error rate that audits suggest.

    Audits are the events with an inclusion probability: that with which the item was drawn. With
    --dates, the articles of each month are counted, by manipulation and all together.

    Example: contrafact rfc ledger bucketed.jsonl.ledger.jsonl pairs.jsonl.ledger.jsonl
    """
    require_tables(*options.files, *(options.dates or ()))
    import pandas as pd

    from contrafact.corpus.ledger import attrition, audit_rates, read_ledger, reasons
    from contrafact.families.rfc.pipeline.stages import BuildEvent

    files, out, level = options.files, options.out, options.level
    events = [event for file in files for event in read_ledger(file, BuildEvent)]
    if not events:
        raise InputError(
            "holds no events", file=files[0], hint="run a stage first: each writes its ledger"
        )
    counts = pd.DataFrame(attrition(events))
    show_frame("Attrition", counts, shares=("retention",))
    for stage in dict.fromkeys(counts["stage"]):
        for why, number in reasons(events, stage):
            typer.echo(f"{stage} dropped {number:,}: {why or 'no reason given'}")
    _show_undecided(events)
    rates = pd.DataFrame(audit_rates(events, level=level))
    if rates.empty:
        typer.echo("No event has an inclusion probability, so the errors left cannot be estimated.")
    else:
        shown = rates.drop(columns=["level", "method"])
        title = f"Errors by audit, with {level:.0%} intervals"
        show_frame(title, shown, shares=("error_rate", "unaudited_error_rate"))
        typer.echo(
            "error rate: among all items that the audit drew from; unaudited: among the items not "
            "drawn, the rate that is left once the faulty items found are fixed"
        )
    months = _months(options.dates) if options.dates else None
    if months is not None:
        show_frame("Articles by month", months)
    if out is not None:
        write_frame(counts, out / "attrition.csv")
        if months is not None:
            write_frame(months, out / "months.csv")
        if not rates.empty:
            write_frame(rates, out / "audit.csv")
        typer.echo(f"Tables are in {out}")


def _months(files: "Sequence[Path]") -> "pd.DataFrame":
    """Return the articles of each month by manipulation, and of all once (appendix E, 6 and 7)."""
    import pandas as pd

    from contrafact.corpus.news_items import day_of
    from contrafact.files.tables import read_rows

    found: list[tuple[str, str, str]] = []
    for file in files:
        for line, row in read_rows(file):
            article, kind = row.get("article_id") or row.get("id"), row.get("manipulation")
            if not article:
                raise InputError("no field 'id'", file=file, line=line, hint="give a stage's file")
            day = day_of(str(row.get("date") or ""))
            kinds = row.get("candidates") if kind is None else [kind]
            found += [
                (day[:7] if day else "no date", str(one), str(article)) for one in kinds or ()
            ]
    frame = pd.DataFrame(found, columns=["month", "category", "article"]).drop_duplicates()
    merged = frame.drop_duplicates("article").assign(category="all")
    both = pd.concat([frame, merged])
    return pd.crosstab(both["month"], both["category"]).reset_index().rename_axis(columns=None)


def _show_undecided(events: "list[LedgerEvent]") -> None:
    last = {(event.stage, event.item_id, event.manipulation): event for event in events}
    open_ones = Counter(
        event.stage for event in last.values() if (event.model_extra or {}).get("undecided")
    )
    for stage, number in open_ones.items():
        typer.echo(f"{stage} left {number:,} undecided: nobody has judged what they mean")
