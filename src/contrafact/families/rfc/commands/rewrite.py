"""``contrafact rfc rewrite``: labelled articles in, pairs out."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from contrafact.families.rfc.commands.shared import (
    Bands,
    absolute,
    counts_below,
    refuse_unused,
)
from contrafact.options import (
    JudgeArguments,
    MaxConnections,
    MaxRetries,
    Prompts,
    Structured,
    Timeout,
    bulk_options,
    key_values,
)

if TYPE_CHECKING:
    from contrafact.console import Progress
    from contrafact.families.rfc.pipeline.model_rewriter import WriterSettings
    from contrafact.families.rfc.pipeline.rewrite import Assignment, RewriteOutcome
    from contrafact.files.journal import Journal

__all__ = ["rewrite"]

_MODEL = "With a model"
_ATTEMPTS = {"rules": 16, "model": 3}


@bulk_options(rates=True)
def rewrite(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Labelled articles, as `rfc label` writes them.")
    ],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The pairs, JSON Lines.")],
    rewriter: Annotated[
        Literal["rules", "model"] | None,
        typer.Option(
            help="By rule, without a model, which writes numerical pairs alone; or by --model. "
            "[model if --model is given, else rules]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of every choice.")] = 0,
    attempts: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Proposals for a row at most. [16 by rule, 3 by model]"
        ),
    ] = None,
    bands: Bands = None,
    model: Annotated[
        str | None, typer.Option(metavar="M", rich_help_panel=_MODEL, help="The model that writes.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="J",
            rich_help_panel=_MODEL,
            help="Decides what a rewrite means; several are a panel. Undecided if none.",
        ),
    ] = None,
    each: Annotated[
        bool,
        typer.Option(
            "--each", rich_help_panel=_MODEL, help="Ask judges each criterion in a call of its own."
        ),
    ] = False,
    polarity_model: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", rich_help_panel=_MODEL, help="A FinBERT folder that judges tone."
        ),
    ] = None,
    decoding: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_MODEL,
            help="Decoding settings per manipulation, TOML; the paper's if none. The paper prints "
            "those of flipping and numerical where each other's description ends.",
        ),
    ] = None,
    structured: Structured = True,
    prompts: Prompts = None,
    judge_arg: JudgeArguments = None,
    max_connections: MaxConnections = 16,
    max_retries: MaxRetries = None,
    timeout: Timeout = None,
    bulk: dict[str, Any] | None = None,
) -> None:
    """Rewrite each article by its manipulation; keep what no fact and no judge is against.

    A proposal that breaks a fact, or that a judge fails, is written again with the reason. What
    nobody decides is kept with the reason under 'undecided'. What is dropped stands in
    FILE.dropped.jsonl, every decision in FILE.ledger.jsonl. Killed and run again it goes on.

    Example: contrafact rfc rewrite labelled.jsonl --seed 7 --out pairs.jsonl
    """
    from contrafact.errors import InputError
    from contrafact.files.atomic import guard_output

    if bulk is None:
        guard_output(out, file)
    rewriter = rewriter or ("rules" if model is None else "model")
    if (model is None) == (rewriter == "model"):
        problem = "--rewriter model needs a model" if model is None else "--model is not used"
        raise InputError(problem, hint="give --model M, with --rewriter model or alone")
    by_model = {
        "--each": each,
        "--judge-arg": judge_arg is not None,
        "--judge": bool(judge),
        "--polarity-model": polarity_model is not None,
        "--decoding": decoding is not None,
        "--prompts": prompts is not None,
        "--max-retries": max_retries is not None,
        "--timeout": timeout is not None,
    }
    if model is None:
        refuse_unused(by_model, f"with --rewriter {rewriter}", "leave it out")
    tries = attempts or _ATTEMPTS[rewriter]
    writing = None
    if model is not None:
        from contrafact.families.rfc.checking import JudgeSettings
        from contrafact.families.rfc.judging import check_judges
        from contrafact.families.rfc.pipeline.model_rewriter import WriterSettings

        calls: dict[str, Any] = {
            "prompts": absolute(prompts),
            "max_connections": max_connections,
            "bounds": {"max_retries": max_retries, "timeout": timeout},
        }
        judging = None
        if judge:
            asked = key_values("--judge-arg", judge_arg)
            judging = JudgeSettings(
                check_judges(judge), each, structured=structured, judge_args=asked, **calls
            )
        writing = WriterSettings(
            model,
            seed,
            tries,
            decoding=absolute(decoding),
            judging=judging,
            polarity_model=absolute(polarity_model),
            bands=absolute(bands),
            **calls,
        )
    if bulk is not None:
        from contrafact.bulk.run import bulk_command
        from contrafact.families.rfc.bulk import ModelRewriteStage, RewriteStage

        stage = (
            RewriteStage(seed, tries, absolute(bands))
            if writing is None
            else ModelRewriteStage(writing)
        )
        found = bulk_command(stage, file, out, bulk)
        _show(found.counts, by_rule=writing is None)
        found.end()
        return
    _one_file(file, out, writing, seed, tries, absolute(bands))


def _one_file(
    file: str, out: str, writing: "WriterSettings | None", seed: int, tries: int, bands: str | None
) -> None:
    from contrafact.console import Progress
    from contrafact.families.rfc.labels import load_bands
    from contrafact.families.rfc.pipeline.rewrite import (
        RewriteOutcome,
        load_assignments,
        rewrite_by_rules,
        rule_facts,
        write_pairs,
    )
    from contrafact.files.journal import Journal, hash_of
    from contrafact.models.calls import counted_calls

    assignments = load_assignments(file)
    texts = [[one.item.id, one.manipulation, one.fields] for one in assignments]
    facts = rule_facts(seed, tries, bands) if writing is None else writing.facts()
    journal = Journal.of_output(out, {"input": hash_of(texts)} | facts, what="`rfc rewrite`")
    if journal.finished():
        typer.echo(f"{out} is finished: nothing is left to do")
        return
    with journal, counted_calls(journal) as calls:
        left = [at for at in range(len(assignments)) if str(at) not in journal.known]
        with Progress("rows", len(assignments), len(assignments) - len(left)) as progress:
            if writing is not None:
                _by_model(journal, assignments, left, writing, progress)
            else:
                chosen = None if bands is None else load_bands(bands)
                for at in left:
                    found = rewrite_by_rules(
                        assignments[at], seed=seed, attempts=tries, bands=chosen
                    )
                    journal.keep(str(at), found.as_json())
                    progress.step()
        outcomes = [
            RewriteOutcome.of_json(journal.known[str(at)]) for at in range(len(assignments))
        ]
        name = "rules" if writing is None else f"model:{writing.model}"
        write_pairs(Path(out), assignments, outcomes, rewriter=name)
        journal.finish(calls.repeated())
    _show(_counts(assignments, outcomes), by_rule=writing is None)
    kept = sum(outcome.rewritten is not None for outcome in outcomes)
    typer.echo(
        f"{len(assignments)} rows: {kept} rewritten, {len(assignments) - kept} dropped; written "
        f"to {out}",
        err=True,
    )


def _by_model(
    journal: "Journal",
    assignments: "list[Assignment]",
    left: list[int],
    writing: "WriterSettings",
    progress: "Progress",
) -> None:
    import asyncio

    from contrafact.errors import ModelError
    from contrafact.models.asking import failure_cause
    from contrafact.models.kept import KeptModel

    writer = writing.open(KeptModel)

    async def rewrite(position: str) -> "dict[str, Any]":
        return (await writer.rewrite(assignments[int(position)])).as_json()

    keys = [str(at) for at in left]
    failures = asyncio.run(
        journal.fill(keys, rewrite, at_once=writing.max_connections, each=progress.one)
    )
    if failures:
        raise ModelError(
            f"{len(failures)} of {len(assignments)} rows failed, and nothing is written yet; the "
            "same command tries them again:",
            map(failure_cause, failures.values()),
        )


def _counts(assignments: "list[Assignment]", outcomes: "list[RewriteOutcome]") -> "Counter[str]":
    return Counter(
        f"{one.manipulation}|{name}"
        for one, outcome in zip(assignments, outcomes, strict=True)
        for name in outcome.counted
    )


def _show(counts: "Counter[str]", *, by_rule: bool) -> None:
    """Print what became of rows, by ``manipulation|kept|attempt`` and ``manipulation|why|…``."""
    from contrafact.console import show_table
    from contrafact.records import MANIPULATIONS

    rows = []
    for manipulation in MANIPULATIONS:
        tries, reasons = (
            counts_below(counts, f"{manipulation}|{what}|") for what in ("kept", "why")
        )
        kept, dropped = tries.total(), reasons.total()
        rows.append(
            (
                manipulation,
                f"{kept + dropped:,}",
                f"{kept:,}",
                f"{kept / (kept + dropped):.0%}" if kept + dropped else "–",
                ", ".join(f"{n}: {tries[n]:,}" for n in sorted(tries, key=int)) or "–",
                f"{counts[f'{manipulation}|undecided']:,}",
                f"{dropped:,}",
                "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(3)),
            )
        )
    columns = ("manipulation", "rows", "kept", "yield", "kept at try", "of these undecided")
    show_table(
        "Rewritten, and dropped by reason",
        (*columns, "dropped", "most frequent reasons"),
        rows,
        stderr=True,
    )
    undecided = sum(counts[f"{manipulation}|undecided"] for manipulation in MANIPULATIONS)
    if undecided:
        typer.echo(
            f"{undecided:,} are undecided: no fact is against them, and nobody has said what they "
            "mean; judge them (`rfc check --judge M`), or have people review them",
            err=True,
        )
    others = [m for m in MANIPULATIONS if m != "numerical" and counts_below(counts, f"{m}|why|")]
    if by_rule and others:
        typer.echo(
            f"Rules write numerical pairs alone: {', '.join(others)} take --model M", err=True
        )
