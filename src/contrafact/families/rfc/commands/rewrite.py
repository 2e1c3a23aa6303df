"""``contrafact rfc rewrite``: labelled articles in, pairs out."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from contrafact.families.rfc.commands.shared import BANDS, JudgeOptions, absolute, counts_below
from contrafact.options import argument, bulk_options, option, takes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contrafact.families.rfc.bulk import RewriteStage
    from contrafact.families.rfc.pipeline.model_rewriter import WriterSettings
    from contrafact.families.rfc.pipeline.rewrite import Assignment

__all__ = ["RewriteOptions", "rewrite"]

_MODEL = "With a model"
_BY_RULE, _BY_MODEL = 16, 3  # proposals for a row
_PROPOSALS = "One proposal is counted for each row; there may be up to {}."


class RewriteOptions(JudgeOptions):
    """The options of the command."""

    file: str = argument("FILE", "Labelled articles, as `rfc label` writes them.")
    out: str = option("The pairs, JSON Lines.", metavar="FILE")
    seed: int = option("Seed of every choice.", 0, min=0, metavar="S")
    attempts: int | None = option(
        "Proposals for a row at most. [16 by rule, 3 by model]", None, min=1, metavar="N"
    )
    bands: Path | None = BANDS
    model: str | None = option(
        "The model that writes. [by rule, numerical pairs alone]", None, metavar="M", panel=_MODEL
    )
    judge: list[str] | None = option(
        "Decides what a rewrite means; several are a panel. Undecided if none.",
        None,
        metavar="J",
        panel=_MODEL,
    )
    each: bool = option(
        "Ask judges each criterion in a call of its own.", False, "--each", panel=_MODEL
    )
    polarity_model: Path | None = option(
        "A FinBERT folder that judges tone.", None, metavar="DIR", panel=_MODEL
    )
    decoding: Path | None = option(
        "Decoding settings per manipulation, TOML; the paper's if none. The paper prints those of "
        "flipping and numerical where each other's description ends.",
        None,
        metavar="FILE",
        panel=_MODEL,
    )

    def writing(self, tries: int) -> "WriterSettings | None":
        """Return how a model writes; None without one."""
        from contrafact.families.rfc.pipeline.model_rewriter import WriterSettings

        if self.model is None:
            return None
        return WriterSettings(
            self.model,
            self.seed,
            tries,
            decoding=absolute(self.decoding),
            judging=self.judging(),
            polarity_model=absolute(self.polarity_model),
            bands=absolute(self.bands),
            **self.calls,
        )


_ONLY_WRITING = (
    "each",
    "judge_arg",
    "judge",
    "polarity_model",
    "decoding",
    "prompts",
    "max_retries",
    "timeout",
    "attempt_timeout",
    "estimate",
)


@bulk_options(rates=True)
@takes(RewriteOptions)
def rewrite(options: RewriteOptions, bulk: dict[str, Any] | None = None) -> None:
    """Rewrite each article by its manipulation; keep what no fact and no judge is against.

    A proposal that breaks a fact, or that a judge fails, is written again with the reason. What
    nobody decides is kept with the reason under 'undecided'. What is dropped stands in
    FILE.dropped.jsonl, every decision in FILE.ledger.jsonl. Killed and run again it goes on.

    Example: contrafact rfc rewrite labelled.jsonl --seed 7 --out pairs.jsonl
    """
    from contrafact.errors import require
    from contrafact.files.atomic import guard_output
    from contrafact.files.tables import require_tables

    file, out, model = options.file, options.out, options.model
    if bulk is None:
        require_tables(file)
        guard_output(out, file, kind="JSON Lines")
    if model is None:
        options.refuse(_ONLY_WRITING, "without --model", "name one")
    else:
        require("bpe_openai", "the lengths of rewrites")
    from contrafact.families.rfc.bulk import RewriteStage

    tries = options.attempts or (_BY_RULE if model is None else _BY_MODEL)
    writing = options.writing(tries)
    stage = RewriteStage(options.seed, tries, absolute(options.bands), writing)
    if bulk is None:
        from contrafact.families.rfc.pipeline.rewrite import load_assignments
        from contrafact.models.estimate import show_estimate

        assignments = {str(at): one for at, one in enumerate(load_assignments(file))}
        if writing is not None and options.estimate:
            show_estimate(writing.estimates([*assignments.values()]), [_PROPOSALS.format(tries)])
            return
        _one_file(file, out, assignments, stage, yes=options.yes)
        return
    options.refuse(["estimate"], "with --engine ray", "leave one out")
    from contrafact.bulk.run import bulk_command

    found = bulk_command(stage, file, out, bulk)
    _show(found.counts, by_rule=writing is None)
    found.end()


def _one_file(
    file: str,
    out: str,
    assignments: "Mapping[str, Assignment]",
    stage: "RewriteStage",
    *,
    yes: bool,
) -> None:
    from contrafact.bulk.stage import KEPT, StageOutput
    from contrafact.errors import InputError, ModelError
    from contrafact.families.rfc.pipeline.rewrite import RewriteOutcome, add_outcome
    from contrafact.files.journal import Journal, hash_of
    from contrafact.files.tables import source_name
    from contrafact.models.calls import counted_calls
    from contrafact.models.estimate import ask_if_many, paid_calls
    from contrafact.models.kept import KeptModel, work_open

    writing, made = stage.writing, StageOutput()
    texts = [[one.item.id, one.manipulation, one.fields] for one in assignments.values()]
    facts = {"input": hash_of(texts)} | stage.facts()
    journal = Journal.of_output(out, facts, what=stage.name)
    if journal.finished():
        typer.echo(f"{out} is finished: nothing is left to do")
        return
    with journal, counted_calls(journal) as calls:
        if writing is not None and not yes:
            left = [one for key, one in assignments.items() if key not in journal.known]
            ask_if_many(paid_calls(writing.estimates(left, tokens=False)))
        rewrite, at_once = stage.open_writer(KeptModel), 1
        if writing is not None:
            at_once = writing.max_connections

        refused: list[InputError] = []

        async def kept(one: "Assignment") -> dict[str, Any]:
            try:
                return (await rewrite(one)).as_json()
            except InputError as error:
                refused.append(error.at(source_name(file), one.line))
                raise

        failures = work_open(assignments, kept, journal, at_once=at_once, noun="rows")
        if refused and writing is None:  # no call failed: the rules cannot work on the row
            raise refused[0]
        if failures:
            raise ModelError(
                f"{len(failures)} of {len(assignments)} rows failed, and nothing is written yet; "
                "the same command tries them again:",
                failures.values(),
            )
        for key, one in assignments.items():
            outcome = RewriteOutcome.of_json(journal.known[key])
            add_outcome(made, one, outcome, rewriter=stage.rewriter)
        made.write(out)
        journal.finish(calls.repeated())
    _show(made.counts, by_rule=writing is None)
    pairs = len(made.table(KEPT))
    written = source_name(out)  # a temporary file has no name
    typer.echo(
        f"{len(assignments)} rows: {pairs} rewritten, {len(assignments) - pairs} dropped"
        + (f"; written to {written}" if written else ""),
        err=True,
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
