"""What the two tasks share: settings to data, solver, samples and scorer."""

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample

from contrafact.corpus.news_items import load_news
from contrafact.errors import InputError
from contrafact.families.rfc.answers import answer_items
from contrafact.families.rfc.bundled import bundled_pairs, bundled_shots
from contrafact.families.rfc.data import Item, items_of, load_pairs
from contrafact.families.rfc.error_classes import ErrorClasses
from contrafact.families.rfc.labels import TaskName
from contrafact.families.rfc.scoring import answered
from contrafact.families.rfc.solvers import SolverContext, make_solver
from contrafact.models.asking import cache_policy
from contrafact.prompts import open_pack
from contrafact.records import Rewrite

__all__ = ["TASK_VERSION", "label_task", "sample_of"]

# The first part changes when results are no longer comparable, the second with the interface.
TASK_VERSION = "1-A"


def label_task(
    task: TaskName,
    *,
    data: str | None,
    solver: str,
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
    needs_originals = task == "rfc-diagnose"
    pairs = load_pairs(data, originals=needs_originals) if data else bundled_pairs()
    pack = open_pack(prompts)
    context = SolverContext(
        task=task,
        pairs=pairs,
        pack=pack,
        shots=shots,
        pool=load_pairs(shots_from, originals=True) if shots_from else bundled_shots(),
        rationale=rationale,
        background=load_news(background) if background else None,
        seed=seed,
    )
    chosen = make_solver(solver, context)
    cache = cache_policy(cache_scope)
    if judged and not (rationale or solver in ("stepwise", "reflect")):
        raise InputError(
            "there are no reasons to sort", hint="ask for them (rationale=true), or do not judge"
        )
    items = items_of(task, pairs[:limit])
    return Task(
        dataset=MemoryDataset([sample_of(item) for item in items], name="pairs"),
        solver=answer_items(chosen, cache=cache, logprobs=logprobs),
        scorer=answered(ErrorClasses(pack, cache) if judged else None),
        version=TASK_VERSION,
        name=f"{task}-{solver.rsplit('.', 1)[-1]}" + (f"-{shots}" if shots else ""),
        metadata={"solver": chosen.name, "shots": chosen.shots, "fingerprint": fingerprint},
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
