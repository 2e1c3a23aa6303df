"""``contrafact finforce screen`` and ``release``: from raw headlines to a dataset."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from contrafact.corpus.ledger import append_events
from contrafact.corpus.release import ReleaseOptions
from contrafact.errors import InputError
from contrafact.families.finforce.release import Released, release_files
from contrafact.files.atomic import write_folder
from contrafact.files.journal import sidecar_path
from contrafact.files.tables import read_rows, require_tables, source_name
from contrafact.options import ASKING, CallOptions, absolute, argument, command, option
from contrafact.stages.run import stage_command

if TYPE_CHECKING:
    from contrafact.corpus.ledger import LedgerEvent
    from contrafact.families.finforce.review_exports import ReviewedHeadline
    from contrafact.families.finforce.screen import Outcome, SheetDecision


class _Screen(CallOptions):
    file: str = argument("FILE", "News items or headlines: JSONL, CSV, Parquet.")
    out: Path = option(..., "Proposals, JSON Lines.", metavar="FILE")
    model: str | None = option(
        None, "Asked about what the rules leave open.", metavar="M", panel=ASKING
    )
    against: list[Path] | None = option(
        None, "A set whose headlines must not come again.", metavar="FILE"
    )
    near: float = option(0.8, "Similarity from which two headlines are one.", ge=0.3, le=1)
    prompts: Path | None = option(None, "Another prompt pack.", metavar="DIR")
    structured: bool = option(True, "Ask providers for JSON by schema.")


@command
def screen(options: _Screen) -> None:
    """Propose which headlines report market events, and of which category, for people to decide.

    Rules decide where a headline's form leaves no doubt, the model is asked about the rest, and
    what neither settles is left open. FILE.sheet.csv is the sheet to decide on; duplicates stand in
    FILE.dropped.jsonl, everything in FILE.ledger.jsonl. Killed and run again, it goes on.

    Example: contrafact finforce screen news.jsonl --out screened.jsonl --model openai/gpt-4o
    """
    require_tables(options.file)
    from contrafact.families.finforce.screen import ScreenStage

    stage = ScreenStage(
        options.model,
        tuple(map(str, options.against or ())),
        options.near,
        absolute(options.prompts),
        options.structured,
        options.max_connections,
        options.bounds,
    )
    stage_command(stage, options.file, options.out)


class _Release(ReleaseOptions):
    file: str = argument(
        "FILE", "Headlines, as `finforce screen` writes them, or a review's exported items."
    )
    decisions: list[Path] | None = option(
        None,
        "Filled sheets, one or several per person, or what a review exports: its items or its "
        "decisions.",
        metavar="FILE",
    )
    unreviewed: bool = option(False, "Take in proposals that nobody decided on, marked as such.")
    name: str = option("market-events", "The dataset's name.")


@command
def release(options: _Release) -> None:
    """Release the headlines that people took for market events, in the benchmark's shape.

    Next to the headlines stand a schema, a card, Croissant metadata and checksums; the decisions
    are in DIR.ledger.jsonl. Exits with 1 if nothing is left to release.

    The items that `review export` writes can stand in FILE's place, and then decide themselves.

    Example: contrafact finforce release screened.jsonl --decisions anna.csv --out release
    """
    require_tables(options.file)

    facts, out, unreviewed = options.check(), options.out, options.unreviewed
    found = _decided(options.file, options.decisions or [], unreviewed=unreviewed)
    released, events, counts = _taken(found, unreviewed=unreviewed)
    if not released:
        waiting = counts["under way in the review, left out"]
        why = ": all are under way in the review" if waiting == len(found.rows) else ""
        typer.echo(f"no headline is left to release{why}", err=True)
        raise typer.Exit(1)
    write_folder(out, release_files(released, facts, counts))
    append_events(sidecar_path(out, "ledger"), events)
    for what, number in counts.items():
        typer.echo(f"{what}: {number:,}")
    typer.echo(f"{out}: {len(released):,} headlines")


@dataclass
class _Decided:
    rows: "list[dict[str, Any]]"
    answers: "Mapping[str, Sequence[SheetDecision]]"
    reviewed: "Mapping[str, ReviewedHeadline]"
    repeated: int


def _decided(file: str, decisions: list[Path], *, unreviewed: bool) -> _Decided:
    """Return a file's headlines with the decisions of sheets and reviews, one source for each."""
    from contrafact.families.finforce.review_exports import (
        ReviewedHeadline,
        is_review_export,
        read_review_export,
        rows_of_items,
    )
    from contrafact.families.finforce.screen import read_sheets

    rows = [row for _, row in read_rows(file, guarded=is_review_export)]
    from_review = bool(rows) and not decisions and all(is_review_export(row) for row in rows)
    if from_review and not all(row.get("headline") for row in rows):
        raise InputError(
            "holds what was decided, and no headlines",
            file=file,
            hint="export the review's items, or give it with --decisions",
        )
    if from_review:
        rows = rows_of_items(rows)
    elif any("market_event" not in row or "id" not in row for row in rows):
        raise InputError(
            "is not a file of screened headlines",
            file=file,
            hint="run finforce screen first, or give a review's exported items",
        )
    if not decisions and not unreviewed and not from_review:
        raise InputError(
            "no decisions are given",
            hint="name filled sheets with --decisions, or take proposals with --unreviewed",
        )
    known = {str(row["id"]) for row in rows}
    unique: dict[str, dict[str, Any]] = {}
    reviewed: dict[str, ReviewedHeadline] = {}
    if from_review:
        for line, row in enumerate(rows, start=1):
            if row["id"] not in unique:
                unique[row["id"]] = row
                reviewed |= read_review_export([(line, row)], known, file)
    sheets = _exported(decisions, known, reviewed)
    answers = read_sheets(sheets, known)
    if both := answers.keys() & reviewed.keys():
        raise InputError(
            f"'{min(both)}' is decided on in a sheet and in a review",
            hint="leave one of them out",
        )
    kept = list(unique.values()) if from_review else rows
    return _Decided(kept, answers, reviewed, len(rows) - len(kept))


def _exported(
    files: list[Path], known: set[str], reviewed: "dict[str, ReviewedHeadline]"
) -> list[Path]:
    """Add what reviews' exports among files come to; return the other files, which are sheets."""
    from contrafact.families.finforce.review_exports import is_review_export, read_review_export

    sheets = []
    for path in files:
        lines = list(read_rows(path, guarded=is_review_export))
        if not lines or not is_review_export(lines[0][1]):
            sheets.append(path)
            continue
        exported = read_review_export(lines, known, source_name(path))
        if twice := reviewed.keys() & exported.keys():
            raise InputError(
                f"'{min(twice)}' is decided on in another export too",
                file=path,
                hint="give one export of a review, of its items or of its decisions",
            )
        reviewed |= exported
    return sheets


def _taken(
    found: _Decided, *, unreviewed: bool
) -> "tuple[list[Released], list[LedgerEvent], Counter[str]]":
    from contrafact.families.finforce.screen import outcome_event, outcome_of

    counts = Counter({"screened headlines": len(found.rows) + found.repeated})
    if found.repeated:
        counts["the same headline again, left out"] = found.repeated
    by_decision = {"kept": "taken by people", "dropped": "refused by people"}
    released: list[Released] = []
    events: list[LedgerEvent] = []
    for row in found.rows:
        given, seen = found.answers.get(row["id"]), found.reviewed.get(row["id"])
        if seen is not None and seen.outcome is None:
            counts["under way in the review, left out"] += 1
            continue
        if seen is not None:
            outcome = cast("Outcome", seen.outcome)
            events.append(outcome_event(row["id"], seen.by, seen.when, outcome))
            row = {**row, **seen.edited}
        elif given is not None:
            outcome = outcome_of(given, row["proposed_category"])
            when = max((one.when for one in given if one.when), default=None)
            by = [one.decided_by for one in given]
            events.append(outcome_event(row["id"], by, when, outcome))
        else:
            taken = unreviewed and row.get("market_event") is True
            counts["taken unreviewed" if taken else "not decided on, left out"] += 1
            if taken:
                released.append(Released(row, row["proposed_category"], 0))
            continue
        counts[by_decision.get(outcome.decision, "left out as hard cases")] += 1
        if outcome.decision == "kept" and outcome.category:
            released.append(Released(row, outcome.category, outcome.people))
    return released, events, counts
