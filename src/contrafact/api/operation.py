"""Make functions callable directly, from a notebook with a running event loop, or by ``await``."""

import asyncio
import contextvars
import ctypes
import functools
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, overload

from contrafact.api.tables import check_options
from contrafact.errors import InputError
from contrafact.options import checked_value

if TYPE_CHECKING:
    from contrafact.api.results import Estimate

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Inspect runs one evaluation at a time in a process, and the process shares a cache of answers.
_one_at_a_time = threading.Lock()
_inside: ContextVar[bool] = ContextVar("inside", default=False)
"""Whether the call comes from within such a function, for example from a user's method."""


class Operation(Generic[_P, _R]):
    """A function that can be called in any context: ``run(…)``, or ``await run.aio(…)``.

    If an event loop is running, as in a notebook, it is blocked until the work is done, and an
    interrupt stops the work. Operations of the same process wait for each other. Arguments are
    checked by the types and bounds of the signature before the work starts.
    """

    def __init__(self, function: Callable[_P, _R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Run the operation and return its result."""
        work = functools.partial(self._work, args, kwargs)
        try:
            return _in_thread(work) if _loop_runs() else work()
        except ModuleNotFoundError as error:
            # Inspect needs it in a notebook.
            if "ipywidgets" not in str(error):
                raise
            hint = "pip install 'contrafact[notebook]'"
            raise InputError("a notebook needs the package ipywidgets", hint=hint) from error

    def _work(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _R:
        with nullcontext() if _inside.get() else _one_at_a_time:
            token = _inside.set(True)
            try:
                call = self._checked(args, kwargs)
                return self._function(*call.args, **call.kwargs)
            finally:
                _inside.reset(token)

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._function)

    def _checked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """Return the arguments of a call, each converted to its parameter's type."""
        parameters = self._signature.parameters
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            check_options(kwargs, list(parameters), self._function.__name__)
        try:
            call = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            problem = f"{self._function.__name__}: {error}"
            raise InputError(problem, hint=f"it takes {', '.join(parameters)}") from None
        for name, value in call.arguments.items():
            parameter = parameters[name]
            if parameter.kind is not parameter.VAR_KEYWORD:
                call.arguments[name] = checked_value(name, parameter.annotation, value)
        return call

    async def aio(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Run the operation in a thread and return its result, without blocking the event loop.

        Cancelling the wait does not stop the work.
        """
        return await asyncio.to_thread(self, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<contrafact.{self._function.__name__}>"


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_thread(work: Callable[[], _R]) -> _R:
    """Run the work in a thread that the caller waits for, since engines have their own event loops.

    An interrupt only reaches the caller's thread, so it is passed on.
    """
    outcome: Future[_R] = Future()

    def settle() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            outcome.set_exception(error)

    # A daemon thread, so that the interpreter can exit without waiting for calls under way.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(settle,), name="contrafact", daemon=True)
    thread.start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        if not outcome.done() and thread.ident is not None:
            stop = ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(*stop)
        raise


class EstimatedOperation(Operation[_P, _R]):
    """An operation that returns an `Estimate` with ``estimate=True``, typed for type checkers."""

    if TYPE_CHECKING:

        def __init__(self, function: Callable[_P, _R | Estimate]) -> None: ...
        @overload
        def __call__(self, *args: Any, estimate: Literal[True], **kwargs: Any) -> Estimate: ...
        @overload
        def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Run the operation and return its result."""
