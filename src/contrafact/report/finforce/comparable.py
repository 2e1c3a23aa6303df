"""What may stand side by side: judges, fluency models and headlines that systems share."""

from dataclasses import dataclass

import pandas as pd

from contrafact.records import CRITERIA
from contrafact.report.meta import ReportMeta

__all__ = ["PAPER_FLUENCY", "Comparability", "comparability"]

PAPER_FLUENCY = frozenset({"gpt2", "openai-community/gpt2"})
"""Names of the fluency model whose perplexities the paper's may stand beside."""


@dataclass(frozen=True)
class Comparability:
    """What was measured, and what can be compared between the systems of a report.

    Attributes:
        judged: Whether any output was judged.
        scored: Whether any output's fluency was scored.
        one_judge: Whether all judged systems were judged by the same judge.
        one_fluency_model: Whether all perplexities come from one model.
        one_headline_set: Whether all systems wrote about the same headlines.
        paper_fluency: Whether that model is the paper's.
        fluency_models: The fluency models, in order.
    """

    judged: bool
    scored: bool
    one_judge: bool
    one_fluency_model: bool
    one_headline_set: bool
    paper_fluency: bool
    fluency_models: tuple[str, ...]

    def notes(self, *, fluency: bool = True) -> tuple[str, ...]:
        """Return a sentence for each thing that is missing or cannot be compared.

        Args:
            fluency: Whether to speak of perplexity.
        """
        said: list[str] = []
        if not self.judged:
            said.append(
                "No judge was named (--judge), so forward-compatibility and directionality "
                "are left out."
            )
        if fluency and not self.scored:
            said.append("Fluency was not scored, so the perplexity columns are left out.")
        if self.judged and not self.one_judge:
            said.append(
                "These systems were not all judged by the same judge, so their judged scores are "
                "not comparable and none is marked as best."
            )
        if fluency and self.scored and not self.one_fluency_model:
            said.append(
                f"Perplexities come from different models ({', '.join(self.fluency_models)}), so "
                "they are not comparable and none is marked as best."
            )
        if not self.one_headline_set:
            said.append(
                "The systems did not all write about the same headlines; the paired comparisons "
                "use the headlines that two systems share."
            )
        return tuple(said)


def comparability(items: pd.DataFrame, meta: ReportMeta) -> Comparability:
    """Return what can be compared, from prepared items and the runs' facts."""
    judged = items[items["judged"]]
    judges = {"" if pd.isna(judge) else str(judge) for judge in judged["judge"]}
    sets = {frozenset(part) for _, part in items.groupby("system")["sample_id"]}
    scored = bool(items["perplexity"].notna().any())
    models = meta.fluency_models
    return Comparability(
        judged=bool(items[list(CRITERIA)].notna().any().any()) or len(judged) > 0,
        scored=scored,
        one_judge=len(judges) <= 1,
        one_fluency_model=len(models) <= 1,
        one_headline_set=len(sets) == 1,
        paper_fluency=len(models) == 1 and _paper_model(models[0]),
        fluency_models=models,
    )


def _paper_model(name: str) -> bool:
    plain = name.removeprefix("hf/").rstrip("/").lower()
    return plain in PAPER_FLUENCY or ("/" in name and plain.rsplit("/", 1)[-1] == "gpt2")
