"""From Inspect's logs to the per-item table of a run: one row per counterfactual."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from contrafact.files.tables import write_frame
from contrafact.finforce.bulk import redacted
from contrafact.finforce.error_classes import classify_many
from contrafact.finforce.judging import FAULTS
from contrafact.records import CRITERIA, SIDES
from contrafact.runs.fluency import score_fluency
from contrafact.runs.prepare import Prepared

if TYPE_CHECKING:
    from contrafact.models.whitebox.weights import CausalModel

__all__ = ["FAILURES", "ITEMS", "USAGE", "VERDICTS", "Failure", "system_label", "write_items"]

ITEMS = "items.parquet"
VERDICTS = "verdicts.parquet"
FAILURES = "failures.csv"
USAGE = "usage.csv"


@dataclass(frozen=True)
class Failure:
    """A sample that ended in an error.

    Attributes:
        system: The system.
        sample_id: The headline's id.
        draw: The draw.
        cause: The error that lies at the bottom, in one line.
    """

    system: str
    sample_id: str
    draw: int
    cause: str


def system_label(model: str, method: str, shots: int) -> str:
    """Return a system's name in tables: model, method, number of examples."""
    return f"{model} · {method}" + (f" ({shots})" if shots else "")


def write_items(
    folder: Path, prepared: Prepared, logs: list[EvalLog], scorer: "CausalModel | None"
) -> list[Failure]:
    """Write the per-item table, the judges' verdicts and the failures; return the failures."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    verdicts: list[dict[str, Any]] = []
    failures: list[Failure] = []
    usage: list[dict[str, Any]] = []
    for header in logs:
        log = read_eval_log(header.location)
        usage += _usage(log)
        system = _System.of(log, prepared)
        for sample in sorted(log.samples or [], key=lambda s: (str(s.id), s.epoch)):
            if sample.error is not None or not sample.scores:
                failures.append(_failure(system, sample))
                continue
            rows += system.rows(sample)
            verdicts += system.verdicts(sample)
    items = pd.DataFrame(rows, columns=list(_COLUMNS))
    order = {item.id: position for position, item in enumerate(prepared.headlines)}
    items = items.sort_values(
        by=["system", "draw", "sample_id"],
        key=lambda column: column.map(order) if column.name == "sample_id" else column,
        kind="stable",
        ignore_index=True,
    )
    scored = score_fluency([*items["headline"], *items["text"].dropna()], scorer, folder)
    items = items.assign(
        perplexity=[scored.get(text, math.nan) for text in items["text"]],
        headline_perplexity=[scored.get(text, math.nan) for text in items["headline"]],
    )
    items = classify_many(items)
    write_frame(items, folder / ITEMS)
    write_frame(pd.DataFrame(usage, columns=list(_USAGE)), folder / USAGE)
    if verdicts:
        write_frame(pd.DataFrame(verdicts), folder / VERDICTS)
    lost = folder / FAILURES
    if failures:
        write_frame(pd.DataFrame([vars(failure) for failure in failures]), lost)
    else:
        lost.unlink(missing_ok=True)
    return failures


_ERROR_LINE = re.compile(r"^([\w.]+(?:Error|Exception|Timeout)\w*: .+)$", re.MULTILINE)
_COLUMNS = (
    "system", "model", "method", "shots", "judge", "draw", "sample_id", "side", "headline",
    "category", "text", "invalid_reason", "mended", *CRITERIA,
    *(f"{name}_invalid" for name in CRITERIA), *FAULTS,
)  # fmt: skip


@dataclass(frozen=True)
class _System:
    label: str
    model: str
    method: str
    shots: int
    judge: str | None

    @classmethod
    def of(cls, log: EvalLog, prepared: Prepared) -> "_System":
        metadata = log.eval.metadata or {}
        model, method, shots = log.eval.model, metadata["method"], metadata["shots"]
        judges = prepared.settings.judges
        judge = " + ".join(judges) if judges else None
        return cls(system_label(model, method, shots), model, method, shots, judge)

    def rows(self, sample: EvalSample) -> list[dict[str, Any]]:
        generation = sample.store["generation"]
        panels = _panels(sample)
        rows = []
        for side in SIDES:
            row: dict[str, Any] = {
                "system": self.label,
                "model": self.model,
                "method": self.method,
                "shots": self.shots,
                "judge": self.judge,
                "draw": sample.epoch,
                "sample_id": str(sample.id),
                "side": side,
                "headline": str(sample.input),
                "category": sample.metadata.get("category"),
                "text": generation["texts"][side],
                "invalid_reason": generation["invalid"].get(side),
                "mended": len(generation["mended"]),
            }
            for name in (*CRITERIA, *FAULTS):
                verdict = panels.get(side, {}).get(name)
                passed = verdict["panel"]["passed"] if verdict else None
                row[name] = math.nan if passed is None else float(passed)
                row[f"{name}_invalid"] = verdict["panel"]["invalid"] if verdict else None
            rows.append(row)
        return rows

    def verdicts(self, sample: EvalSample) -> list[dict[str, Any]]:
        return [
            {
                "system": self.label,
                "draw": sample.epoch,
                "sample_id": str(sample.id),
                "side": side,
                "criterion": name,
                "judge": vote["judge"],
                "passed": math.nan if vote["passed"] is None else float(vote["passed"]),
                "invalid": vote["invalid"],
            }
            for side, by_name in _panels(sample).items()
            for name, both in by_name.items()
            for vote in both["members"]
        ]


_USAGE = ("model", "calls", "input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens")


def _usage(log: EvalLog) -> list[dict[str, Any]]:
    """Return what each model of a log was sent and gave back, and in how many calls."""
    counts: dict[str, list[int]] = {}
    for sample in log.samples or []:
        for event in sample.events:
            if event.event != "model" or event.output.empty:
                continue
            used = event.output.usage
            row = counts.setdefault(event.model, [0] * (len(_USAGE) - 1))
            row[0] += 1
            if used is not None:
                row[1] += used.input_tokens + (used.input_tokens_cache_read or 0)
                row[2] += used.output_tokens
                row[3] += used.reasoning_tokens or 0
                row[4] += used.input_tokens_cache_read or 0
    return [dict(zip(_USAGE, (model, *row), strict=True)) for model, row in counts.items()]


def _panels(sample: EvalSample) -> dict[str, Any]:
    score = (sample.scores or {})["counterfactuals"]
    found: dict[str, Any] = (score.metadata or {}).get("verdicts", {})
    return found


def _failure(system: _System, sample: EvalSample) -> Failure:
    message = sample.error.message if sample.error else "ended without a score"
    # Retries wrap what went wrong; a chained traceback names the cause first.
    causes = _ERROR_LINE.findall(sample.error.traceback) if sample.error else []
    cause = redacted(" ".join((causes or [message])[0].split()))
    return Failure(system.label, str(sample.id), sample.epoch, cause[:300])
