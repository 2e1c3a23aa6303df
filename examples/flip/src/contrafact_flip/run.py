"""How ``flip`` is run: its options, its Inspect task, and its per-item table."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from pydantic import Field

from contrafact.family.method import Method, MethodContext
from contrafact.family.run import Evaluated, Prepared, TaskRun, load_once
from contrafact.family.settings import FluencyOptions, RunSettings
from contrafact.family.task import criteria_scorer, method_solver, verdict_columns
from contrafact.judges.rubric import Rubric
from contrafact.models.asking import cache_policy
from contrafact.models.fluency import score_fluency
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Criterion, Output
from contrafact.text.diff import normalised_edit_distance
from contrafact_flip.data import SAMPLES, Review, classifier, load_reviews
from contrafact_flip.methods import METHODS

__all__ = ["CRITERIA", "RUN", "FlipOptions", "FlipRun", "flip", "rubric"]

CRITERIA = ("flipped", "fluent")


class FlipOptions(FluencyOptions):
    """Options of label flipping."""

    outputs: int = Field(default=1, ge=1, description="Texts per review, for diversity.")


def rubric(pack: PromptPack, **how: Any) -> Rubric:
    """Return what a judge is asked about an edited review."""
    criteria = [Criterion(name=name, template=f"flip/judge-{name}") for name in CRITERIA]
    return Rubric(pack, criteria, frozenset({"review", "label"}), **how)


class FlipRun(TaskRun[Review, Review]):
    """Runs of ``flip``: one sample and one row for each review and output."""

    methods = METHODS
    bundled = SAMPLES
    without_judge = "whether the label flipped is told by the classifier alone"
    columns = (
        *("system", "model", "method", "shots", "judge", "draw", "sample_id", "label"),
        *("wanted", "review", "text", "invalid_reason", *CRITERIA, *(f"{name}_invalid" for name in CRITERIA)),
    )

    def load(self, path: Path) -> tuple[Sequence[Review], list[str]]:
        """Return the reviews of a file."""
        return load_reviews(path)

    def draws(self, settings: RunSettings, method: Method[Any, Any]) -> int:
        """Return how many texts are asked for."""
        return int(settings.option("outputs", 1))

    def judging(self, pack: PromptPack, settings: RunSettings) -> Rubric:
        """Return the criteria, their templates checked."""
        return rubric(pack)

    def judge_prompts(self, judging: Rubric, unit: Review) -> Sequence[str]:
        """Return what is asked about an edit as long as the review."""
        return judging.prompts(review=unit.text, label=unit.other)

    def task(self, prepared: Prepared, method: str) -> Task:
        """Return the Inspect task of one method."""
        draws, judged = prepared.draws(method), prepared.judged(method)
        return flip(method=method, outputs=draws, judged=judged, **prepared.common)

    def rows(self, evaluated: Evaluated) -> Iterable[Mapping[str, Any]]:
        """Return one row per review and output."""
        for sample in evaluated.samples:
            output = Output(**sample.store["output"])
            score = (sample.scores or {})["criteria"]
            yield {
                **evaluated.facts,
                "draw": sample.epoch,
                "sample_id": str(sample.id),
                "label": sample.metadata["label"],
                "wanted": sample.target,
                "review": sample.input,
                "text": output.text,
                "invalid_reason": output.invalid,
                **verdict_columns((score.metadata or {}).get("verdicts", {}), CRITERIA),
            }

    def finish(self, items: Any, scorer: Any, folder: Path) -> Any:
        """Add what needs no judge: the classifier's label, edit distance, perplexity."""
        texts = items["text"].fillna("")
        made = items["text"].notna()
        scored = score_fluency(items.loc[made, "text"], scorer, folder)
        labels = classifier().predict(texts)
        distances = [
            normalised_edit_distance(*pair) for pair in zip(items["review"], texts, strict=True)
        ]
        return items.assign(
            flipped_by_classifier=(labels != items["label"]).astype(float).where(made),
            edit_distance=distances,
            perplexity=items["text"].map(scored).astype(float),
        ).assign(edit_distance=lambda table: table["edit_distance"].where(made))


RUN = FlipRun()


@task
def flip(
    data: str | None = None,
    method: str = "plain",
    outputs: int = 1,
    seed: int = 0,
    prompts: str | None = None,
    judged: bool = True,
    limit: int | None = None,
    cache_scope: str | None = None,
    fingerprint: str | None = None,
) -> Task:
    """Label-flipping counterfactuals of short reviews."""
    reviews, _ = load_once(RUN.load, data or SAMPLES)
    pack = open_pack(prompts)
    chosen = METHODS.make(method, MethodContext(pack=pack, task="flip", items=reviews, seed=seed))
    cache = cache_policy(cache_scope)
    by_id = {review.id: review for review in reviews}

    def texts(state: Any, text: str) -> Mapping[str, str]:
        return {"review": text, "label": by_id[str(state.sample_id)].other}

    samples = [
        Sample(id=one.id, input=one.text, target=one.other, metadata={"label": one.label})
        for one in reviews[:limit]
    ]
    return Task(
        dataset=MemoryDataset(samples, name="reviews"),
        solver=method_solver(
            chosen,
            item_of=lambda state: by_id[str(state.sample_id)],
            unanswered=lambda reason: Output(text=None, invalid=reason),
            shown=lambda output: output.text or output.reply or "",
            cache=cache,
            judged=judged,
        ),
        scorer=criteria_scorer(rubric(pack, cache=cache) if judged else None, texts),
        epochs=Epochs(outputs, "mean"),
        version=RUN.version,
        name=f"flip-{method.rsplit('.', 1)[-1]}",
        metadata={"method": chosen.name, "shots": chosen.shots, "fingerprint": fingerprint},
    )
