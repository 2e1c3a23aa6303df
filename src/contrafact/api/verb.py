"""How a verb is called: at once, from a notebook whose event loop runs, or awaited."""

import asyncio
import contextvars
import ctypes
import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, ParamSpec, TypeVar

from contrafact.errors import InputError

__all__ = ["Verb"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Inspect runs one evaluation at a time in a process, and the cache of answers is the process's.
_one_at_a_time = threading.RLock()


class Verb(Generic[_P, _R]):
    """A function that may be called anywhere: ``verb(…)``, or ``await verb.aio(…)``.

    Where an event loop runs already, as in a notebook, the work is done in a thread, which the
    caller waits for. Verbs of one process wait for each other. An interrupt, or the cancellation of
    what awaits, stops the work.

    Args:
        function: What is done; blocking.
    """

    def __init__(self, function: Callable[_P, _R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Do it, and return the result."""
        if not _in_event_loop():
            return self._alone(*args, **kwargs)
        work = _Work(functools.partial(self._alone, *args, **kwargs))
        try:
            return work.outcome.result()
        except BaseException:
            work.stop()
            raise

    async def aio(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Do it in a thread, and return the result; the event loop goes on."""
        work = _Work(functools.partial(self._alone, *args, **kwargs))
        try:
            return await asyncio.shield(asyncio.wrap_future(work.outcome))
        except asyncio.CancelledError:
            work.stop()
            raise

    def __repr__(self) -> str:
        return f"<contrafact.{self._function.__name__}>"

    def _alone(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            with _one_at_a_time:
                return self._function(*args, **kwargs)
        except ModuleNotFoundError as error:
            # Inspect wants it wherever it runs in a notebook.
            if "ipywidgets" not in str(error):
                raise
            hint = "pip install 'contrafact[notebook]'"
            raise InputError("a notebook needs the package ipywidgets", hint=hint) from error


def _in_event_loop() -> bool:
    # On its own, so that the error does not become the context of whatever goes wrong later.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _Work(Generic[_R]):
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], _R]) -> None:
        self.outcome: Future[_R] = Future()
        context = contextvars.copy_context()
        # A daemon: an interpreter that ends does not wait for calls under way.
        self._thread = threading.Thread(
            target=context.run, args=(self._run, call), name="contrafact", daemon=True
        )
        self._thread.start()

    def _run(self, call: Callable[[], _R]) -> None:
        try:
            self.outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the caller's, whatever it is
            self.outcome.set_exception(error)

    def stop(self) -> None:
        """Interrupt the call, as Ctrl-C would, if it is still under way."""
        if self._thread.is_alive() and self._thread.ident is not None:
            interrupt: Any = ctypes.py_object(KeyboardInterrupt)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident), interrupt
            )
