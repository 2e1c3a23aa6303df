"""How a function is called: at once, from a notebook whose event loop runs, or awaited."""

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from contrafact.errors import InputError

__all__ = ["Operation"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Inspect runs one evaluation at a time in a process, and the cache of answers is the process's.
_one_at_a_time = threading.RLock()


class Operation(Generic[_P, _R]):
    """A function that may be called anywhere: ``run(…)``, or ``await run.aio(…)``.

    Where an event loop runs already, as in a notebook, it stands still until the work is done, and
    an interrupt stops the work. Those of one process wait for each other.
    """

    def __init__(self, function: Callable[_P, _R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Do it, and return the result."""
        # The work has event loops of its own, and a thread runs one at a time. In a thread of its
        # own an interrupt would not reach it, so the outer loop is set aside, by what asyncio has
        # for those who write event loops.
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        try:
            with _one_at_a_time:
                return self._function(*args, **kwargs)
        except ModuleNotFoundError as error:
            # Inspect wants it wherever it runs in a notebook.
            if "ipywidgets" not in str(error):
                raise
            hint = "pip install 'contrafact[notebook]'"
            raise InputError("a notebook needs the package ipywidgets", hint=hint) from error
        finally:
            asyncio._set_running_loop(outer)

    async def aio(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Do it in a thread, and return the result; the event loop goes on.

        Who stops waiting does not stop the work.
        """
        return await asyncio.to_thread(self, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<contrafact.{self._function.__name__}>"
