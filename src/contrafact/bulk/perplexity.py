"""Perplexity over any number of texts: a model in each worker, batches of its partition's rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contrafact.bulk.stage import KEPT, InputRow, StageOutput

if TYPE_CHECKING:
    from contrafact.models.whitebox.weights import CausalModel

__all__ = ["PerplexityStage", "scored_rows"]


def scored_rows(
    rows: Sequence[Mapping[str, Any]], column: str, model: "CausalModel"
) -> list[dict[str, Any]]:
    """Return rows with the perplexity of their text, its tokens, and why there is none."""
    from contrafact.models.whitebox.perplexity import perplexities

    scored = perplexities([row[column] for row in rows], model=model)
    return [
        {
            **row,
            "perplexity": None if math.isnan(one.perplexity) else one.perplexity,
            "tokens": one.tokens,
            "perplexity_reason": one.reason,
        }
        for row, one in zip(rows, scored, strict=True)
    ]


@dataclass(frozen=True)
class PerplexityStage:
    """``perplexity``: texts in, the same with their perplexity out.

    Attributes:
        model: What scores: a name, a folder or a file that every worker has.
        weights: That each worker holds a model, so that workers are actors.
    """

    model: str
    column: str = "text"
    weights: bool = True
    name: str = "`perplexity`"
    partition_rows: int = 1_000

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        return {"model": self.model, "column": self.column}

    def open(self) -> Callable[[Sequence[InputRow]], StageOutput]:
        """Return the work, with the model loaded."""
        from contrafact.models.whitebox.weights import load_causal

        model = load_causal(self.model)

        def work(rows: Sequence[InputRow]) -> StageOutput:
            made, good = StageOutput(), []
            for row in rows:
                if isinstance(row.fields.get(self.column), str):
                    good.append(row)
                else:
                    made.fail(row, f"no text in the column '{self.column}'")
            scored = scored_rows([row.fields for row in good], self.column, model)
            for row, one in zip(good, scored, strict=True):
                made.add(KEPT, row.index, one)
            return made

        return work
