"""How a function is called: at once, from a notebook whose event loop runs, or awaited."""

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar, get_args, get_type_hints

from contrafact.api.tables import check_options
from contrafact.errors import InputError
from contrafact.options import checked_value

__all__ = ["Operation"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Inspect runs one evaluation at a time in a process, and the cache of answers is the process's.
_one_at_a_time = threading.RLock()


class Operation(Generic[_P, _R]):
    """A function that may be called anywhere: ``run(…)``, or ``await run.aio(…)``.

    Where an event loop runs already, as in a notebook, it stands still until the work is done, and
    an interrupt stops the work. Those of one process wait for each other. Values are checked by
    the types and bounds of the signature before anything is done.
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
                call = self._checked(args, kwargs)
                return self._function(*call.args, **call.kwargs)
        except ModuleNotFoundError as error:
            # Inspect wants it wherever it runs in a notebook.
            if "ipywidgets" not in str(error):
                raise
            hint = "pip install 'contrafact[notebook]'"
            raise InputError("a notebook needs the package ipywidgets", hint=hint) from error
        finally:
            asyncio._set_running_loop(outer)

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._function)

    def _checked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """Return the arguments of a call, each as its type has it."""
        call = self._signature.bind(*args, **kwargs)
        for name, value in call.arguments.items():
            one = self._signature.parameters[name]
            if one.kind is not one.VAR_KEYWORD:
                call.arguments[name] = checked_value(name, one.annotation, value)
            elif typed := get_args(one.annotation):  # Unpack of their names and types
                kinds = get_type_hints(typed[0], include_extras=True)
                check_options(value, list(kinds))
                call.arguments[name] = {
                    option: checked_value(option, kinds[option], given)
                    for option, given in value.items()
                }
        return call

    async def aio(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Do it in a thread, and return the result; the event loop goes on.

        Who stops waiting does not stop the work.
        """
        return await asyncio.to_thread(self, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<contrafact.{self._function.__name__}>"
