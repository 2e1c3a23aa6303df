"""Estimates of a run's cost before it starts: calls, tokens and, if prices are known, money."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

from contrafact.console import one_line, say_once, show_table
from contrafact.errors import installed
from contrafact.models.asking import PlannedCall
from contrafact.models.prices import Tokens, dollars, is_paid

__all__ = [
    "ASK_ABOVE",
    "NOT_COUNTED",
    "CallEstimate",
    "ask_first",
    "ask_if_many",
    "judge_estimates",
    "paid_calls",
    "sampled",
    "show_estimate",
    "subject_estimates",
    "unpriced",
]

_T = TypeVar("_T")

SAMPLED = 50
"""Tokens are counted in the real prompts of at most this many items, and scaled up."""


ASK_ABOVE = 1_000
"""More paid calls than this need a confirmation on a terminal."""

NOT_COUNTED = "Tokens are OpenAI's o200k count; reasoning tokens and retries come on top."
"""The note below an estimate."""


@dataclass(frozen=True)
class CallEstimate:
    """The estimated calls of one model in one role: ``subject`` with the method, or ``judge``.

    Attributes:
        output_tokens: Tokens of the replies, without reasoning tokens.
        dollars: US dollars; None if the price is not known.
        paid: Whether calls of this model are assumed to cost money.
    """

    model: str
    role: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None
    paid: bool


def call_estimate(
    model: str, role: str, *, calls: float, sent: float, received: float
) -> CallEstimate:
    """Return the estimate for one model in one role, with rounded tokens and the price if known."""
    tokens_in, tokens_out = round(sent), round(received)
    paid = is_paid(model)
    # Per call: tokens of a long prompt may cost more than those of many short ones.
    number = round(calls)
    each = Tokens(round(sent / max(1, number)), round(received / max(1, number)))
    cost = dollars(model, [each] * number)
    return CallEstimate(model, role, number, tokens_in, tokens_out, cost, paid)


def sampled(items: Sequence[_T]) -> Sequence[_T]:
    """Return up to `SAMPLED` items, evenly spread."""
    return items[:: max(1, len(items) // SAMPLED)][:SAMPLED]


def subject_estimates(
    models: Sequence[str],
    plans: Mapping[str, Sequence[PlannedCall]],
    times: Mapping[str, float],
    *,
    tokens: bool,
) -> list[CallEstimate]:
    """Return one estimate for every model and method.

    Args:
        plans: For every method, the calls that it plans for the sampled items.
        times: For every method, how often the whole run makes these calls.
        tokens: Whether to count tokens as well as calls.
    """
    return [
        _planned(model, f"subject, {name}", calls, times[name], tokens)
        for model in models
        for name, calls in plans.items()
    ]


def _planned(
    model: str, role: str, calls: Sequence[PlannedCall], times: float, tokens: bool
) -> CallEstimate:
    count = _tokens if tokens else lambda text: 0
    return call_estimate(
        model,
        role,
        calls=len(calls) * times,
        sent=sum(count(call.prompt) for call in calls) * times,
        received=sum(call.reply_tokens for call in calls) * times,
    )


def judge_estimates(
    judges: Sequence[str],
    prompts: Sequence[str],
    times: float,
    *,
    reply_tokens: int,
    tokens: bool,
    role: str = "judge",
) -> list[CallEstimate]:
    """Return one estimate for every judge.

    Args:
        prompts: The prompts to each judge about the sampled items of one system.
        times: How often the whole run sends these prompts.
        tokens: Whether to count tokens as well as calls.
    """
    calls = [PlannedCall(prompt, reply_tokens) for prompt in prompts]
    return [_planned(judge, role, calls, times, tokens) for judge in judges]


def paid_calls(rows: Iterable[CallEstimate]) -> int:
    """Return how many calls cost money."""
    return sum(row.calls for row in rows if row.paid)


def show_estimate(rows: Sequence[CallEstimate], notes: Iterable[str] = ()) -> None:
    """Print calls, tokens and cost by model and role, with notes below."""

    def cost(row: CallEstimate) -> str:
        if not row.paid:
            return "free"
        return "unknown" if row.dollars is None else f"{row.dollars:.2f}"

    columns = ("model", "role", "calls", "tokens in", "tokens out", "US dollars")
    cells = [
        (row.model, row.role, f"{row.calls:,}", f"{row.input_tokens:,}", f"{row.output_tokens:,}",
         cost(row))
        for row in rows
    ]  # fmt: skip
    show_table("Estimate, before the first call", columns, cells)
    total = f"{sum(row.calls for row in rows):,} calls, {paid_calls(rows):,} of them paid"
    if known := [row.dollars for row in rows if row.paid and row.dollars is not None]:
        total += f"; about ${sum(known):.2f}"
    if unknown := unpriced(rows):
        more = " and comes on top" * bool(known)
        total += f"; the price of {', '.join(unknown)} is not known{more}"
    for line in (total, NOT_COUNTED, *notes):
        print(one_line(line))


def ask_first(calls: int) -> None:
    """Ask on a terminal whether to make this number of paid calls; a no raises `typer.Abort`."""
    import typer

    if calls and sys.stdin.isatty() and sys.stdout.isatty():
        typer.confirm(f"This run makes about {calls:,} paid calls. Go on?", abort=True)


def ask_if_many(calls: int, ask: Callable[[int], None] = ask_first) -> None:
    """Ask for confirmation if there are many paid calls."""
    if calls > ASK_ABOVE:
        ask(calls)


_CHARACTERS = 4  # characters of English in a token, roughly, by OpenAI's documentation


def unpriced(rows: Iterable[CallEstimate]) -> list[str]:
    """Return the paid models whose price is not known."""
    return sorted({row.model for row in rows if row.dollars is None})


def _tokens(text: str) -> int:
    """Return the number of tokens in OpenAI's o200k vocabulary; others differ by 10 to 30 percent.

    Without the tokenizer's package, a token is assumed to have four characters.
    """
    if not installed("bpe_openai"):
        say_once(
            "tokens are estimated at four characters each; OpenAI's counts need bpe-openai "
            "(pip install 'contrafact[tokens]')"
        )
        return -(-len(text) // _CHARACTERS)
    return len(_encoding().encode_ordinary(text))


@cache
def _encoding() -> Any:
    from bpe_openai import get_encoding

    return get_encoding("o200k_base")
