"""Ways of asking for a counterfactual edit, one module each (CoBe, section 4.2).

Every method can be run under each framing of the request, `contrafact.families.cobe.phrasing`: it
asks by a question's ``query``, which then holds the convention too.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from contrafact.families.cobe.data import StoryQuery
from contrafact.families.cobe.phrasing import PLAIN, request_of
from contrafact.family.method import Method, MethodContext, Methods
from contrafact.family.settings import UNDER
from contrafact.models.asking import Ask, PlannedCall
from contrafact.prompts import PromptPack
from contrafact.records import Output

__all__ = ["METHODS", "framing_of"]


class _Framed:
    """A method with its requests in a framing; everything else is as in the method itself."""

    def __init__(self, method: Method[StoryQuery, Output], pack: PromptPack, framing: str):
        self.name, self.shots = f"{method.name}{UNDER}{framing}", method.shots
        self._method = method
        self._request = request_of(pack, framing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    async def __call__(self, item: StoryQuery, ask: Ask, *, draw: int = 1) -> Output:
        return await self._method(self._asked(item), ask, draw=draw)

    def plan(self, item: StoryQuery) -> Sequence[PlannedCall]:
        return self._method.plan(self._asked(item))

    def _asked(self, item: StoryQuery) -> StoryQuery:
        return replace(item, framed=self._request(item.query))


class _FramedMethods(Methods):
    def make(self, spec: str, context: MethodContext) -> Method[Any, Any]:
        method, _, framing = spec.partition(UNDER)
        asking = super().make(method, context)
        return _Framed(asking, context.pack, framing) if framing else asking


def framing_of(method: str) -> tuple[str, str | None]:
    """Return a method's name without its framing, and the framing; None for texts from elsewhere.

    A run names a method under a framing ``METHOD · stated:1``; so may a file of outputs.
    """
    name, under, framing = method.partition(UNDER)
    return name, framing if under else None if name == "given" else PLAIN


METHODS = _FramedMethods("cobe", __name__)
