"""Judges of pairs: who they are, how they are asked, and what they and the facts amount to."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from inspect_ai.model import Model

from contrafact.errors import InputError
from contrafact.families.rfc.contracts import Check, review
from contrafact.families.rfc.judging import UNDECIDED, Judging, settled
from contrafact.judges.quoted import QuotedVerdict
from contrafact.judges.rubric import Judged
from contrafact.models.asking import failure_cause
from contrafact.models.estimate import (
    CallEstimate,
    judge_estimates,
    sampled,
)
from contrafact.models.opening import call_config, open_model
from contrafact.prompts import open_pack
from contrafact.redaction import without_secrets

_VERDICT_TOKENS = 40  # of a reply, for one criterion
_Pair = tuple[Any, str, str]  # manipulation, original, rewritten


@dataclass(frozen=True)
class JudgeSettings:
    """Who judges, what is asked and how calls are made."""

    judges: tuple[str, ...]
    each: bool = False
    numerical: bool = False
    structured: bool = True
    prompts: str | None = None
    judge_args: Mapping[str, Any] = field(default_factory=dict)
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)

    def judging(self) -> Judging:
        pack = open_pack(self.prompts)
        return Judging(pack, self.each, self.numerical, self.structured)

    def models(self) -> list[Model]:
        config = call_config(self.max_connections, **self.bounds)
        return [open_model(name, config=config, **self.judge_args) for name in self.judges]

    def open(
        self, at_once: int, wrap: Callable[[Model], Model]
    ) -> "Callable[..., Coroutine[Any, Any, list[JudgedPair]]]":
        judges = [wrap(model) for model in self.models()]
        return partial(judge_pairs, self.judging(), judges, at_once=at_once)

    def asked(self) -> dict[str, Any]:
        given = without_secrets(dict(self.judge_args))
        own = {"each": self.each, "structured": self.structured}
        return {**own, "judge_args": given} if given else own

    def estimates(self, pairs: Sequence[_Pair], *, tokens: bool) -> list[CallEstimate]:
        """Return what the verdicts on pairs cost, each of which is asked about."""
        judging, some = self.judging(), sampled(pairs)
        prompts = [prompt for pair in some for _, prompt in judging.prompts(*pair)]
        reply = _VERDICT_TOKENS if self.each else 3 * _VERDICT_TOKENS
        times = len(pairs) / max(1, len(some))
        return judge_estimates(self.judges, prompts, times, reply_tokens=reply, tokens=tokens)

    def facts(self) -> dict[str, Any]:
        prompts = self.judging().pack.used_hash
        own = {"judge": list(self.judges), "numerical": self.numerical, "prompts": prompts}
        return {**own, **self.asked()}


@dataclass(frozen=True)
class JudgedPair:
    check: Check
    judged: Judged[QuotedVerdict] | None = None
    failure: str | None = None


async def judge_pairs(
    judging: Judging,
    judges: Sequence[Model],
    pairs: Sequence[tuple[Mapping[str, Any], Check]],
    *,
    at_once: int,
    each: Callable[[], None] = lambda: None,
) -> list[JudgedPair]:
    """Judge the pairs that facts leave open, so many at a time; return the outcome of all.

    A pair about which a call failed stays undecided, and says why; the others go on.
    """
    free = asyncio.Semaphore(at_once)

    async def one(row: Mapping[str, Any], facts: Check) -> JudgedPair:
        kind, original, rewritten = (row[k] for k in ("manipulation", "original", "rewritten"))
        if not judging.asks(kind, facts):
            each()
            return JudgedPair(facts)
        async with free:
            try:
                judged = await judging.judge(judges, kind, original, rewritten)
            except InputError:
                raise
            except Exception as error:  # noqa: BLE001 - this pair's failure; the others go on
                cause = failure_cause(error)
                open_ = review(UNDECIDED, f"the call of a judge failed: {cause}")
                return JudgedPair(replace(facts, review=(*facts.review, open_)), None, cause)
            finally:
                each()
        return JudgedPair(settled(facts, judged, kind, original, rewritten), judged)

    return list(await asyncio.gather(*(one(row, facts) for row, facts in pairs)))
