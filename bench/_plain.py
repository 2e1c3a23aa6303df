"""Baselines in a process of their own: the embedded weights as transformers loads and runs them.

In one process two ways would share PyTorch's threads, and what each allocates.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from typing import Any, ParamSpec, Self, TypeVar

from bench import Timing
from bench._memory import Memory
from contrafact.models.whitebox.weights import CausalModel, load_causal

Given = ParamSpec("Given")
Result = TypeVar("Result")

NAME = "smollm2-135m"


@cache
def plain_causal() -> CausalModel:
    """Return the model, whose layers multiply as PyTorch does by itself; loaded once."""
    return load_causal(NAME, packed=False)


def device_name(causal: CausalModel) -> str:
    """Return what a model runs on, as results name it."""
    import torch

    device = causal.device
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "processor"


class Apart:
    """A process beside this one, for work that must not share its threads and memory.

    Args:
        memory: Takes note of what the work holds.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def timed(
        self,
        way: str,
        items: int,
        work: Callable[Given, Result],
        *given: Given.args,
        **named: Given.kwargs,
    ) -> tuple[Result, Timing]:
        """Do a piece of work there; return what it gave, and how long it took there."""
        call = partial(work, *given, **named)
        result, timing, peaks = self._pool.submit(_measured, way, items, call).result()
        self._memory.add(peaks)
        return result, timing


def _measured(way: str, items: int, work: Callable[[], Any]) -> tuple[Any, Timing, dict[str, int]]:
    memory = Memory()
    result, timing = memory.timed(way, items, work)
    return result, timing, memory.peaks
