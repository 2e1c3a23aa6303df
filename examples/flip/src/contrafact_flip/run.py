"""How ``flip`` is run: its options, its criteria, and what is computed without a judge."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from pydantic import Field

from contrafact.family.inspect_tasks import make_task
from contrafact.family.method import Method
from contrafact.family.settings import FluencyOptions, RunSettings
from contrafact.family.text_run import TextRun
from contrafact.models.fluency import score_fluency
from contrafact.records import Criterion
from contrafact.text.diff import normalised_edit_distance
from contrafact_flip.data import SAMPLES, Review, classifier, load_reviews
from contrafact_flip.methods import METHODS

__all__ = ["RUN", "FlipOptions", "FlipRun", "flip"]


class FlipOptions(FluencyOptions):
    """Options of label flipping."""

    outputs: int = Field(default=1, ge=1, description="Texts per review, for diversity.")


class FlipRun(TextRun[Review]):
    """Runs of ``flip``: one row for each review and text."""

    name = "flip"
    methods = METHODS
    bundled = SAMPLES
    without_judge = "whether the label flipped is decided by the classifier alone"
    criteria = tuple(
        Criterion(name=name, template=f"flip/judge-{name}") for name in ("flipped", "fluent")
    )
    columns = ("label", "wanted", "review", "text", "invalid_reason")

    def load(
        self, path: Path, columns: Mapping[str, str] | None = None
    ) -> tuple[Sequence[Review], list[str]]:
        """Return the reviews of a file."""
        return load_reviews(path, columns)

    def draws(self, settings: RunSettings, method: Method[Any, Any]) -> int:
        """Return how many texts are asked for."""
        return int(settings.option("outputs", 1))

    def prompt_texts(self, item: Review, text: str) -> Mapping[str, str]:
        """Return the edited review and the label that it was to have."""
        return {"review": text, "label": item.other}

    def input_of(self, item: Review) -> str:
        """Return the review."""
        return item.text

    def item_columns(self, item: Review) -> Mapping[str, Any]:
        """Return the review, its label and the other one."""
        return {"label": item.label, "wanted": item.other, "review": item.text}

    def finish(self, items: Any, scorer: Any, folder: Path) -> Any:
        """Add what needs no judge: the classifier's label, edit distance, perplexity."""
        made, texts = items["text"].notna(), items["text"].fillna("")
        scored = score_fluency(texts[made], scorer, folder)
        found = items.assign(
            flipped_by_classifier=(classifier().predict(texts) != items["label"]).astype(float),
            edit_distance=list(map(normalised_edit_distance, items["review"], texts)),
            perplexity=texts.map(scored).astype(float),
        )
        computed = ["flipped_by_classifier", "edit_distance", "perplexity"]
        return found.assign(**{name: found[name].where(made) for name in computed})


@task
def flip(data: str | None = None, method: str = "plain", **how: Any) -> Task:
    """Label-flipping counterfactuals of short reviews; arguments as `make_task` says."""
    return make_task(RUN, {"data": data, "method": method, "judged": True, **how})


RUN = FlipRun(flip)
