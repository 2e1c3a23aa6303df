"""``rfc rewrite`` as a stage: labelled articles in, pairs out, by rules or by a model."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import typer

from contrafact.console import show_table
from contrafact.corpus.ledger import LedgerEvent
from contrafact.families.rfc.contracts.pair_check import open_options
from contrafact.families.rfc.labels import load_bands
from contrafact.families.rfc.pipeline.check import undecided_reasons
from contrafact.families.rfc.pipeline.edits import RewriteOutcome
from contrafact.families.rfc.pipeline.rewrite import (
    Assignment,
    assignment_of,
    pair_row,
    rewrite_by_rules,
    why_kept,
)
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.files.journal import hash_of
from contrafact.files.tables import RowNotes
from contrafact.stages.stage import (
    KEPT,
    REJECTS,
    Asked,
    InputRow,
    RowStage,
    StageOutput,
    StageResult,
    Wrap,
    below,
)

if TYPE_CHECKING:
    from contrafact.families.rfc.judging import JudgeSettings
    from contrafact.families.rfc.pipeline.model_rewriter import ModelRewriter
    from contrafact.models.estimate import CallEstimate


@dataclass(frozen=True)
class RewriteStage(RowStage):
    """``rfc rewrite``: labelled articles in, pairs out; by rules if no model is named.

    It counts, for each manipulation, the pairs ``kept`` at each try, those of them that are
    ``undecided``, and the dropped rows by the reason ``why``.
    """

    seed: int = 0
    attempts: int = 16
    bands: str | None = None
    model: str | None = None
    judging: "JudgeSettings | None" = None
    decoding: str | None = None
    prompts: str | None = None
    polarity_model: str | None = None
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    name: str = "`rfc rewrite`"
    journal: ClassVar[Literal["answers", "output"]] = "output"
    shows_progress: ClassVar[bool] = True

    @property
    def asked(self) -> Asked | None:
        judges = () if self.judging is None else self.judging.judges
        return None if self.model is None else Asked(self.model, self.max_connections, judges)

    @property
    def rewriter(self) -> str:
        return "rules" if self.model is None else f"model:{self.model}"

    def facts(self) -> dict[str, Any]:
        bands = None if self.bands is None else {**load_bands(self.bands)}
        facts = {
            "rewriter": "rules", "seed": self.seed, "attempts": self.attempts, "bands": bands
        }  # fmt: skip
        if self.model is None:
            return facts
        from contrafact.families.rfc.pipeline.model_rewriter import load_decoding, open_templates
        from contrafact.prompts import open_pack

        pack = open_pack(self.prompts)
        open_templates(pack)
        decoding = load_decoding(self.decoding).items()
        return facts | {
            "rewriter": "model",
            "model": self.model,
            "prompts": pack.used_hash,
            "decoding": {kind: one.model_dump(exclude_none=True) for kind, one in decoding},
            "judging": None if self.judging is None else self.judging.facts(),
            "polarity-model": self.polarity_model,
        }

    def input_facts(self, rows: Sequence[InputRow]) -> dict[str, Any]:
        """Return the hash of the articles, their manipulations and their other fields."""
        assignments: Iterable[Assignment] = (row.value for row in rows)
        return {"input": hash_of([[a.item.id, a.manipulation, a.fields] for a in assignments])}

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        row.value = assignment_of(row.fields, row.line)

    def key(self, row: InputRow) -> str | None:
        return f"{row.value.item.id} {row.value.manipulation}"

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> "list[CallEstimate]":
        """Return the estimated cost of one proposal for each row and of judging it."""
        from contrafact.families.rfc.pipeline.model_rewriter import open_templates, planned_call
        from contrafact.models.estimate import sampled, subject_estimates
        from contrafact.prompts import open_pack

        assignments: list[Assignment] = [row.value for row in rows]
        templates, some = open_templates(open_pack(self.prompts)), sampled(assignments)
        plans = {"rewrite": [planned_call(templates, assignment) for assignment in some]}
        times = {"rewrite": len(assignments) / max(1, len(some))}
        costs = subject_estimates([str(self.model)], plans, times, tokens=tokens)
        if self.judging is not None:
            texts = ((one.manipulation, one.item.paragraph) for one in assignments)
            # Facts decide numerical pairs.
            pairs = [(kind, text, text) for kind, text in texts if kind != "numerical"]
            costs += self.judging.estimates(pairs, tokens=tokens)
        return costs

    @property
    def estimate_notes(self) -> Sequence[str]:
        """The note that a row may take several proposals."""
        return [f"One proposal is counted for each row; there may be up to {self.attempts}."]

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        by_model = None if self.model is None else self._open(wrap, self.model)
        bands = None if self.bands is None else load_bands(self.bands)

        async def rewrite(output: StageOutput, row: InputRow) -> None:
            if by_model is not None:
                outcome = await by_model.rewrite(row.value)
            else:
                outcome = rewrite_by_rules(
                    row.value, seed=self.seed, attempts=self.attempts, bands=bands
                )
            self.add(output, row.value, outcome)

        return rewrite

    def _open(self, wrap: Wrap, name: str) -> "ModelRewriter":
        from contrafact.families.rfc.judging import Judging
        from contrafact.families.rfc.pipeline.model_rewriter import (
            ModelRewriter,
            load_decoding,
            open_templates,
        )
        from contrafact.models.opening import call_config, open_model
        from contrafact.prompts import open_pack

        judging, config = self.judging, call_config(self.max_connections, **self.bounds)
        return ModelRewriter(
            wrap(open_model(name, config=config)),
            open_templates(open_pack(self.prompts)),
            load_decoding(self.decoding),
            self.seed,
            self.attempts,
            open_options(self.polarity_model, self.bands),
            [] if judging is None else [wrap(judge) for judge in judging.models()],
            Judging() if judging is None else judging.judging(),
        )

    def add(self, output: StageOutput, assignment: Assignment, outcome: RewriteOutcome) -> None:
        """Add a row's pair, or the dropped row with its reason, and the ledger's event."""
        item, kind, kept = assignment.item, assignment.manipulation, outcome.rewritten is not None
        if kept:
            row = pair_row(assignment, outcome, self.rewriter)
            output.counts[kind, "kept", str(outcome.attempts)] += 1
            if outcome.undecided:
                output.counts[kind, "undecided"] += 1
                output.counts[kind, "open", outcome.undecided] += 1
        else:
            violations = [dict(violation) for violation in outcome.violations]
            why = {"stage": "rewrite", "reason": outcome.reason, "violations": violations}
            row = {**assignment.fields, "attempts": outcome.attempts, **why}
            output.counts[kind, "why", outcome.reason] += 1
        event = LedgerEvent.of(
            "rewrite",
            row["id"] if kept else item.id,
            "kept" if kept else "dropped",
            "rule:rewrite" if self.model is None else self.rewriter,
            outcome.reason or why_kept(outcome),
            article_id=item.id,
            manipulation=kind,
            **({"undecided": True} if outcome.undecided else {}),
        )
        output.add(KEPT if kept else REJECTS, assignment.line - 1, row, event)

    def show(self, result: StageResult) -> None:
        """Print the outcomes of rows by manipulation, and what is left to do."""
        counts, rows, others = result.counts, [], []
        for kind in MANIPULATIONS:
            tries, reasons = below(counts, kind, "kept"), below(counts, kind, "why")
            kept, dropped = tries.total(), reasons.total()
            others += [kind] * (kind != "numerical" and dropped > 0)
            yielded = f"{kept / (kept + dropped):.0%}" if kept + dropped else "–"
            by_try = ", ".join(f"{n}: {tries[n]:,}" for n in sorted(tries, key=int)) or "–"
            frequent = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(3))
            figures = (f"{kept + dropped:,}", f"{kept:,}", yielded, by_try)
            undecided = f"{counts[kind, 'undecided']:,}"
            rows.append((kind, *figures, undecided, f"{dropped:,}", frequent))
        columns = ("manipulation", "rows", "kept", "yield", "kept at try", "of these undecided")
        reasons_of = ("dropped", "most frequent reasons")
        show_table("Rewritten, and dropped by reason", (*columns, *reasons_of), rows, stderr=True)
        if open_ := undecided_reasons(counts):
            hint = "A judge (`rfc check --judge M`) or people can decide them"
            typer.echo("\n".join([*open_, hint]), err=True)
        if self.model is None and others:
            typer.echo(
                f"Rules write numerical pairs only: {', '.join(others)} need --model M", err=True
            )
        pairs, dropped = result.rows[KEPT], result.rows[REJECTS]
        written = f"; written to {result.out}" if result.out else ""
        typer.echo(f"{result.given} rows: {pairs} rewritten, {dropped} dropped{written}", err=True)
