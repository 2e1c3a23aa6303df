"""The solvers and baselines under names of their own, for Inspect: ``--solver contrafact/rfc-…``.

Each answers the samples of ``rfc-detect`` and ``rfc-diagnose``. All take the same arguments, those
of the tasks; those that look at the data set (``memory``, ``majority``, ``surface``) want the same
``data`` as the task, and one that has no use for an argument refuses it or passes it over.
"""

from collections.abc import Callable
from typing import Any

from inspect_ai.solver import Generate, Solver, TaskState, solver

from contrafact.corpus.news_items import load_news
from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer, answer_items, item_of
from contrafact.families.rfc.data import Item, bundled_pairs, bundled_shots, load_data, load_pairs
from contrafact.families.rfc.methods import methods_of
from contrafact.families.rfc.settings import DetectOptions
from contrafact.family.method import Method, MethodContext
from contrafact.prompts import open_pack

__all__ = [
    "rfc_likelihood",
    "rfc_majority",
    "rfc_memory",
    "rfc_plain",
    "rfc_reflect",
    "rfc_stepwise",
    "rfc_surface",
]


class _Entry:
    """A solver that is made when it sees its first sample, which tells the task and the data."""

    def __init__(self, name: str, given: dict[str, Any]):
        self._name = name
        self._given = given
        self._made: dict[tuple[str, bool], Method[Item, Answer]] = {}

    async def __call__(self, state: TaskState, generate: Generate) -> TaskState:
        if state.metadata.get("task") not in ("rfc-detect", "rfc-diagnose"):
            name = self._name.partition(":")[0]
            raise InputError(
                f"rfc-{name} answers the samples of rfc-detect and rfc-diagnose",
                hint="run it with one of these tasks",
            )
        key = (state.metadata["task"], "claim" in state.metadata)
        if key not in self._made:
            context = _context(item_of(state.metadata), self._given)
            self._made[key] = methods_of(key[0]).make(self._name, context)
        return await answer_items(self._made[key])(state, generate)


def _context(item: Item, given: dict[str, Any]) -> MethodContext:
    data, pool, background = (given[name] for name in ("data", "shots_from", "background"))
    bundled = bundled_pairs() if item.pair.manipulation else [item.pair]
    return MethodContext(
        task=item.task,
        items=load_data(data) if data else bundled,
        pack=open_pack(given["prompts"]),
        shots=given["shots"],
        pool=load_pairs(pool, originals=True) if pool else bundled_shots(),
        settings=DetectOptions(rationale=given["rationale"]),
        files={"background": load_news(background)} if background else {},
        seed=given["seed"],
    )


def _named(name: str) -> Callable[..., Solver]:
    @solver(name=f"rfc-{name}")
    def made(
        options: str = "",
        data: str | None = None,
        background: str | None = None,
        shots: int = 0,
        shots_from: str | None = None,
        rationale: bool = False,
        prompts: str | None = None,
        seed: int = 0,
    ) -> Solver:
        given = locals()
        return _Entry(f"{name}:{options}" if options else name, given)

    return made


rfc_plain, rfc_likelihood, rfc_stepwise, rfc_reflect, rfc_memory = map(
    _named, ("plain", "likelihood", "stepwise", "reflect", "memory")
)
rfc_majority, rfc_surface = map(_named, ("majority", "surface"))
