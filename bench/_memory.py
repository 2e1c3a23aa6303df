"""The most memory a piece of work takes, as the system counts it."""

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bench import Timing
from bench._clock import timed

Result = TypeVar("Result")

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


class Memory:
    """The most resident memory of this process while it did one thing or another.

    What was freed before is given back first, as far as it can be; what the process holds then
    (the model, above all) is in every figure.
    """

    def __init__(self) -> None:
        self.peaks: dict[str, int] = {}

    def timed(self, way: str, items: int, work: Callable[[], Result]) -> tuple[Result, Timing]:
        """Do a piece of work, note its peak, and return what it gave and how long it took."""
        gc.collect()
        give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if give_back is not None:
            give_back(0)
        try:
            _CLEAR.write_text("5")  # sets the peak back to what there is now
        except OSError:
            return timed(way, items, work)
        result, timing = timed(way, items, work)
        self.add({way: _resident("VmHWM")})
        return result, timing

    def add(self, peaks: dict[str, int]) -> None:
        """Take note of peaks that were found in another process, in MiB."""
        for way, peak in peaks.items():
            self.peaks[way] = max(self.peaks.get(way, 0), peak)

    def note(self) -> str:
        """Say what was found."""
        if not self.peaks:
            return "this system does not tell how much memory the ways take"
        now = f"{_resident('VmRSS'):,} MiB are resident at the end"
        peaks = "; ".join(f"{way}: {peak:,} MiB" for way, peak in self.peaks.items())
        return f"most memory at once, the model in it: {peaks}; {now}"


def _resident(field: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(field))
