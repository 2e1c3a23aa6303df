"""The solvers and baselines under names of their own, for Inspect: ``--solver contrafact/rfc-…``.

Each answers the samples of ``rfc-detect`` and ``rfc-diagnose``. Which of the two a solver is for is
an argument; those that look at the data set (``memory``, ``majority``, ``surface``) take the same
``data`` as the task.
"""

from typing import Any

from inspect_ai.solver import Generate, Solver, TaskState, solver

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer, answer_items
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import TaskName
from contrafact.families.rfc.methods import methods_of
from contrafact.families.rfc.settings import DetectOptions
from contrafact.family.method import Method, MethodContext
from contrafact.prompts import open_pack

__all__ = [
    "rfc_coherence",
    "rfc_evidence",
    "rfc_likelihood",
    "rfc_majority",
    "rfc_memory",
    "rfc_plain",
    "rfc_reflect",
    "rfc_self_contrast",
    "rfc_stepwise",
    "rfc_surface",
]


@solver(name="rfc-plain")
def rfc_plain(
    shots: int = 0,
    shots_from: str | None = None,
    rationale: bool = False,
    prompts: str | None = None,
    seed: int = 0,
) -> Solver:
    """Ask for the label in one call; see `contrafact.families.rfc.methods.plain`."""
    given = {"shots": shots, "shots_from": shots_from, "rationale": rationale}
    return _Entry("plain", prompts=prompts, seed=seed, **given)


@solver(name="rfc-likelihood")
def rfc_likelihood(
    calibrate: bool = False,
    shots: int = 0,
    shots_from: str | None = None,
    prompts: str | None = None,
    seed: int = 0,
) -> Solver:
    """Take the likeliest label; see `contrafact.families.rfc.methods.likelihood`."""
    name = f"likelihood:calibrate={str(calibrate).lower()}"
    return _Entry(name, shots=shots, shots_from=shots_from, prompts=prompts, seed=seed)


@solver(name="rfc-stepwise")
def rfc_stepwise(
    shots: int = 0, shots_from: str | None = None, prompts: str | None = None, seed: int = 0
) -> Solver:
    """Reason in steps, then label; see `contrafact.families.rfc.methods.stepwise`."""
    return _Entry("stepwise", shots=shots, shots_from=shots_from, prompts=prompts, seed=seed)


@solver(name="rfc-reflect")
def rfc_reflect(
    shots: int = 0, shots_from: str | None = None, prompts: str | None = None, seed: int = 0
) -> Solver:
    """Answer, reflect, answer again; see `contrafact.families.rfc.methods.reflect`."""
    return _Entry("reflect", shots=shots, shots_from=shots_from, prompts=prompts, seed=seed)


@solver(name="rfc-memory")
def rfc_memory(
    data: str | None = None,
    background: str | None = None,
    shots: int = 0,
    shots_from: str | None = None,
    rationale: bool = False,
    prompts: str | None = None,
    seed: int = 0,
) -> Solver:
    """Show earlier news as background; see `contrafact.families.rfc.methods.memory`."""
    return _Entry(
        "memory",
        data=data,
        background=background,
        shots=shots,
        shots_from=shots_from,
        rationale=rationale,
        prompts=prompts,
        seed=seed,
    )


@solver(name="rfc-evidence")
def rfc_evidence(
    data: str | None = None,
    background: str | None = None,
    shots: int = 0,
    shots_from: str | None = None,
    prompts: str | None = None,
    seed: int = 0,
) -> Solver:
    """Cite earlier news; see `contrafact.families.rfc.methods.evidence`."""
    return _Entry(
        "evidence",
        data=data,
        background=background,
        shots=shots,
        shots_from=shots_from,
        prompts=prompts,
        seed=seed,
    )


@solver(name="rfc-self-contrast")
def rfc_self_contrast(by: str = "auto", prompts: str | None = None, seed: int = 0) -> Solver:
    """Compare with counterparts; see `contrafact.families.rfc.methods.self_contrast`."""
    return _Entry(f"self-contrast:by={by}", prompts=prompts, seed=seed)


@solver(name="rfc-majority")
def rfc_majority(data: str | None = None) -> Solver:
    """Say the most frequent label; see `contrafact.families.rfc.baselines.majority`."""
    return _Entry("majority", data=data)


@solver(name="rfc-surface")
def rfc_surface(data: str | None = None, seed: int = 0) -> Solver:
    """Judge by surface features; see `contrafact.families.rfc.baselines.surface`."""
    return _Entry("surface", data=data, seed=seed)


@solver(name="rfc-coherence")
def rfc_coherence() -> Solver:
    """Look for contradictions; see `contrafact.families.rfc.baselines.coherence`."""
    return _Entry("coherence")


class _Entry:
    """A solver that is made when it sees its first sample, which tells the task."""

    def __init__(self, name: str, **given: Any):
        self._name = name
        self._given = given
        self._made: dict[TaskName, Method[Item, Answer]] = {}

    async def __call__(self, state: TaskState, generate: Generate) -> TaskState:
        task = state.metadata.get("task")
        if task not in ("rfc-detect", "rfc-diagnose"):
            name = self._name.partition(":")[0]
            raise InputError(
                f"rfc-{name} answers the samples of rfc-detect and rfc-diagnose",
                hint="run it with one of these tasks",
            )
        if task not in self._made:
            self._made[task] = methods_of(task).make(self._name, _context(task, self._given))
        return await answer_items(self._made[task])(state, generate)


def _context(task: TaskName, given: dict[str, Any]) -> MethodContext:
    from contrafact.corpus.news_items import load_news
    from contrafact.families.rfc.data import bundled_pairs, bundled_shots, load_pairs

    data, pool, background = (given.get(name) for name in ("data", "shots_from", "background"))
    return MethodContext(
        task=task,
        items=load_pairs(data, originals=task == "rfc-diagnose") if data else bundled_pairs(),
        pack=open_pack(given.get("prompts")),
        shots=given.get("shots", 0),
        pool=load_pairs(pool, originals=True) if pool else bundled_shots(),
        settings=DetectOptions(rationale=given.get("rationale", False)),
        files={"background": load_news(background)} if background else {},
        seed=given.get("seed", 0),
    )
