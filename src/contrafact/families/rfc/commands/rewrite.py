"""``contrafact rfc rewrite``: labelled articles in, pairs out."""

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from contrafact.options import (
    MaxConnections,
    MaxRetries,
    Prompts,
    Timeout,
    bulk_options,
)

if TYPE_CHECKING:
    from inspect_ai.model import GenerateConfig

    from contrafact.families.rfc.pipeline.model_rewriter import ModelRewriter
    from contrafact.families.rfc.pipeline.rewrite import Assignment, Outcome
    from contrafact.files.journal import Journal

__all__ = ["rewrite"]

_MODEL = "With --rewriter model"
_ATTEMPTS = {"rules": 16, "model": 3}


@bulk_options(rates=True)
def rewrite(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Labelled articles, as `rfc label` writes them.")
    ],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The pairs, JSON Lines.")],
    rewriter: Annotated[
        Literal["rules", "model"],
        typer.Option("--rewriter", help="By rule, without a model, or by --model."),
    ] = "rules",
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of every choice.")] = 0,
    attempts: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Proposals for a row at most. [16 by rule, 3 by model]"
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes, by rule. [one per core]")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="M", rich_help_panel=_MODEL, help="The model that writes.")
    ] = None,
    feedback: Annotated[
        bool,
        typer.Option(
            "--feedback/--no-feedback",
            rich_help_panel=_MODEL,
            help="Tell the model what its last proposal broke.",
        ),
    ] = True,
    decoding: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_MODEL,
            help="Decoding settings per manipulation, TOML; the paper's if none. The paper prints "
            "those of flipping and numerical where each other's description ends.",
        ),
    ] = None,
    prompts: Prompts = None,
    max_connections: MaxConnections = 16,
    max_retries: MaxRetries = None,
    timeout: Timeout = None,
    bulk: dict[str, Any] | None = None,
) -> None:
    """Rewrite each article by its manipulation; keep what passes the edit contract.

    What is dropped stands in FILE.dropped.jsonl, every decision in FILE.ledger.jsonl. Killed and
    run again it goes on, and ends in the same bytes.

    Example: contrafact rfc rewrite labelled.jsonl --rewriter rules --seed 7 --out pairs.jsonl
    """
    from contrafact.errors import InputError
    from contrafact.families.rfc.pipeline.rewrite import (
        Outcome,
        load_assignments,
        matched_outcomes,
        write_pairs,
    )
    from contrafact.files.atomic import guard_output
    from contrafact.files.journal import Journal, hash_of

    if bulk is None:
        guard_output(out, file)
    if (model is None) == (rewriter == "model"):
        problem = "--rewriter model needs a model" if model is None else "--model is not used"
        raise InputError(problem, hint="give --rewriter model and --model M together")
    by_model = {
        "--no-feedback": not feedback,
        "--decoding": decoding is not None,
        "--prompts": prompts is not None,
        "--max-retries": max_retries is not None,
        "--timeout": timeout is not None,
    }
    useless = by_model if model is None else {"--workers": workers is not None}
    for option, given in useless.items():
        if given:
            raise InputError(f"{option} has no use with --rewriter {rewriter}", hint="leave it out")
    tries = attempts or _ATTEMPTS[rewriter]
    if bulk is not None:
        from contrafact.bulk.command import bulk_command
        from contrafact.families.rfc.bulk import ModelRewriteStage, RewriteStage

        stage: RewriteStage | ModelRewriteStage = RewriteStage(seed, tries)
        if model is not None:
            stage = ModelRewriteStage(
                model,
                seed,
                tries,
                feedback,
                None if decoding is None else str(decoding.absolute()),
                None if prompts is None else str(prompts.absolute()),
                max_connections,
                {"max_retries": max_retries, "timeout": timeout},
            )
        told = bulk_command(stage, file, out, bulk)
        _show_counts(told.counts)
        told.end()
        return
    assignments = load_assignments(file)
    texts = [[one.item.id, one.manipulation, one.fields] for one in assignments]
    facts: dict[str, Any] = {
        "input": hash_of(texts),
        "rewriter": rewriter,
        "seed": seed,
        "attempts": tries,
    }
    writer: ModelRewriter | None = None
    if model is not None:
        from contrafact.models.opening import call_config

        config = call_config(max_connections, max_retries=max_retries, timeout=timeout)
        writer, decisive = _model_rewriter(model, config, seed, tries, feedback, decoding, prompts)
        facts |= decisive
    journal = Journal.of_output(out, facts, what="`rfc rewrite`")
    if journal.finished():
        typer.echo(f"{out} is finished: nothing is left to do")
        return
    with journal:
        if writer is None:
            _by_rules(journal, assignments, seed, tries, workers)
        else:
            _by_model(journal, assignments, writer, max_connections)
        kept = [Outcome.of_json(journal.known[str(at)]) for at in range(len(assignments))]
        outcomes = matched_outcomes(assignments, kept)
        write_pairs(
            Path(out),
            assignments,
            outcomes,
            rewriter="rules" if model is None else f"model:{model}",
        )
        journal.finish()
    _show(assignments, outcomes, out)


def _model_rewriter(
    model: str,
    config: "GenerateConfig",
    seed: int,
    attempts: int,
    feedback: bool,
    decoding: Path | None,
    prompts: Path | None,
) -> "tuple[ModelRewriter, dict[str, Any]]":
    """Return the rewriter, and what of it decides the result."""
    from contrafact.families.rfc.pipeline.model_rewriter import ModelRewriter, load_decoding
    from contrafact.models.opening import open_model
    from contrafact.prompts import open_pack

    pack = open_pack(prompts)
    settings = load_decoding(decoding)
    templates = ModelRewriter.open_templates(pack, feedback=feedback)
    writer = ModelRewriter(
        open_model(model, config=config),
        templates,
        templates.get("feedback"),
        settings,
        seed,
        attempts,
    )
    decisive = {
        "model": model,
        "feedback": feedback,
        "prompts": pack.used_hash,
        "decoding": {
            name: setting.model_dump(exclude_none=True) for name, setting in settings.items()
        },
    }
    return writer, decisive


def _by_rules(
    journal: "Journal",
    assignments: "list[Assignment]",
    seed: int,
    attempts: int,
    workers: int | None,
) -> None:
    """Keep every row's outcome."""
    from contrafact.console import Progress
    from contrafact.families.rfc.pipeline.rewrite import rewrite_all_by_rules

    left = [at for at in range(len(assignments)) if str(at) not in journal.known]
    with Progress("rows", len(assignments), len(assignments) - len(left)) as progress:
        for position, outcome in rewrite_all_by_rules(
            assignments, left, seed=seed, attempts=attempts, workers=workers or os.cpu_count() or 1
        ):
            journal.keep(str(position), outcome.as_json())
            progress.step()


def _by_model(
    journal: "Journal",
    assignments: "list[Assignment]",
    writer: "ModelRewriter",
    at_once: int,
) -> None:
    """Keep every row's outcome.

    Raises:
        ModelError: If calls failed; what came of the others is kept for a rerun.
    """
    import asyncio

    from contrafact.console import Progress
    from contrafact.errors import ModelError
    from contrafact.models.asking import failure_cause

    async def rewrite(position: str) -> "dict[str, Any]":
        return (await writer.rewrite(assignments[int(position)])).as_json()

    left = [str(at) for at in range(len(assignments)) if str(at) not in journal.known]
    with Progress("rows", len(assignments), len(assignments) - len(left)) as progress:
        failures = asyncio.run(journal.fill(left, rewrite, at_once=at_once, each=progress.one))
    if failures:
        raise ModelError(
            f"{len(failures)} of {len(assignments)} rows failed, and nothing is written yet; the "
            "same command tries them again:",
            map(failure_cause, failures.values()),
        )


def _show(assignments: "list[Assignment]", outcomes: "list[Outcome]", out: str) -> None:
    counts: Counter[str] = Counter()
    for one, outcome in zip(assignments, outcomes, strict=True):
        what = f"why|{outcome.reason}" if outcome.rewritten is None else "kept"
        counts[f"{one.manipulation}|{what}"] += 1
    _show_counts(counts)
    kept = sum(outcome.rewritten is not None for outcome in outcomes)
    typer.echo(
        f"{len(assignments)} rows: {kept} rewritten, {len(assignments) - kept} dropped; written "
        f"to {out}",
        err=True,
    )


def _show_counts(counts: "Counter[str]") -> None:
    """Print what became of rows, by ``manipulation|kept`` and ``manipulation|why|reason``."""
    from contrafact.console import show_table
    from contrafact.records import MANIPULATIONS

    rows = []
    for manipulation in MANIPULATIONS:
        start = f"{manipulation}|why|"
        reasons = Counter(
            {key.removeprefix(start): n for key, n in counts.items() if key.startswith(start)}
        )
        frequent = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(3))
        kept, dropped = counts[f"{manipulation}|kept"], reasons.total()
        rows.append((manipulation, str(kept + dropped), str(kept), str(dropped), frequent))
    show_table(
        "Rewritten, and dropped by reason",
        ("manipulation", "rows", "kept", "dropped", "most frequent reasons"),
        rows,
        stderr=True,
    )
