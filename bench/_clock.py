"""Wall-clock and processor time of a piece of work.

Ways that are compared are timed in turns, a slice each, so that what else the machine does
weighs on both.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from bench import Timing

Result = TypeVar("Result")


def timed(way: str, items: int, work: Callable[[], Result]) -> tuple[Result, Timing]:
    """Do a piece of work and return what it gave and how long it took."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, Timing(way, items, time.perf_counter() - wall, time.process_time() - processor)


def added(timings: Sequence[Timing]) -> Timing:
    """Return the timings of one way's slices as one."""
    return Timing(
        timings[0].way,
        sum(timing.items for timing in timings),
        sum(timing.seconds for timing in timings),
        sum(timing.cpu_seconds for timing in timings),
    )
