"""What the two tasks share: settings to data, method, samples and scorer."""

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample

from contrafact.corpus.news_items import load_news
from contrafact.errors import InputError
from contrafact.families.rfc.answers import answer_items
from contrafact.families.rfc.data import Item, items_of
from contrafact.families.rfc.error_classes import ErrorClasses
from contrafact.families.rfc.labels import TaskName
from contrafact.families.rfc.methods import methods_of
from contrafact.families.rfc.options import DetectOptions
from contrafact.families.rfc.run import DETECT, DIAGNOSE, REASONING
from contrafact.families.rfc.scoring import answered
from contrafact.family.method import MethodContext
from contrafact.family.run import load_once
from contrafact.models.asking import cache_policy
from contrafact.prompts import open_pack
from contrafact.records import Rewrite

__all__ = ["label_task", "sample_of"]


def label_task(
    task: TaskName,
    *,
    data: str | None,
    method: str,
    shots: int = 0,
    shots_from: str | None = None,
    background: str | None = None,
    rationale: bool = False,
    judged: bool = False,
    logprobs: bool = False,
    seed: int = 0,
    prompts: str | None = None,
    limit: int | None = None,
    cache_scope: str | None = None,
    fingerprint: str | None = None,
) -> Task:
    """Return one of the two tasks; see `contrafact.families.rfc.detect` for the arguments.

    Raises:
        InputError: for the first thing that is wrong with them.
    """
    run = DETECT if task == "rfc-detect" else DIAGNOSE
    pairs, _ = load_once(run.load, data or run.bundled)
    pack = open_pack(prompts)
    context = MethodContext(
        task=task,
        items=pairs,
        pack=pack,
        shots=shots,
        pool=load_once(run.load_shots, shots_from or run.bundled_shots or ""),
        settings=DetectOptions(rationale=rationale),
        files={"background": load_news(background)} if background else {},
        seed=seed,
    )
    chosen = methods_of(task).make(method, context)
    cache = cache_policy(cache_scope)
    if judged and not (rationale or method in REASONING):
        raise InputError(
            "there are no reasons to sort", hint="ask for them (rationale=true), or do not judge"
        )
    items = items_of(task, pairs[:limit])
    return Task(
        dataset=MemoryDataset([sample_of(item) for item in items], name="pairs"),
        solver=answer_items(chosen, cache=cache, logprobs=logprobs),
        scorer=answered(ErrorClasses(pack, cache) if judged else None),
        version=run.version,
        name=f"{task}-{method.rsplit('.', 1)[-1]}" + (f"-{shots}" if shots else ""),
        metadata={"method": chosen.name, "shots": chosen.shots, "fingerprint": fingerprint},
    )


def sample_of(item: Item) -> Sample:
    """Return the Inspect sample of one item."""
    pair: Rewrite = item.pair
    both = f"Original: {pair.original}\n\nManipulated: {pair.rewritten}"
    return Sample(
        id=item.id,
        input=item.shown or both,
        target=item.gold,
        metadata={
            "sample_id": item.id,
            "task": item.task,
            "gold": item.gold,
            "shown": item.shown,
            "pair": pair.model_dump(mode="json", exclude={"edits"}),
        },
    )
