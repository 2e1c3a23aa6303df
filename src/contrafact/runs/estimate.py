"""What a run will cost, before it starts: calls, tokens and, where prices are known, money."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

__all__ = ["SAMPLED", "CallEstimate", "call_estimate", "is_paid", "paid_calls", "token_counter"]

# Providers that run on the user's own machines. Everything else is taken to cost money.
_OWN = {
    "embedded", "whitebox", "hf", "vllm", "sglang", "ollama", "llama-cpp-python", "mockllm",
    "transformer_lens", "nnterp", "none",
}  # fmt: skip
SAMPLED = 50
"""Tokens are counted over the real prompts of up to so many items, evenly spread, and scaled."""


@dataclass(frozen=True)
class CallEstimate:
    """One model in one role.

    Attributes:
        model: The model's name.
        role: ``subject`` with the method, or ``judge``.
        calls: Number of calls.
        input_tokens: About how many tokens they send.
        output_tokens: About how many they get back, reasoning not counted.
        dollars: About what that costs in US dollars; none where no price is known.
        paid: Whether calls of this model are taken to cost money.
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
    """Return the estimate of one model in one role, with its price where it is known.

    Args:
        model: The model's name.
        role: ``subject`` with the method, or ``judge``.
        calls: Number of calls; rounded.
        sent: Tokens that they send; rounded.
        received: Tokens that come back; rounded.
    """
    tokens_in, tokens_out = round(sent), round(received)
    paid = is_paid(model)
    dollars = _price(model, tokens_in, tokens_out) if paid else Decimal(0)
    return CallEstimate(model, role, round(calls), tokens_in, tokens_out, dollars, paid)


def paid_calls(rows: Iterable[CallEstimate]) -> int:
    """Return how many calls cost money."""
    return sum(row.calls for row in rows if row.paid)


def is_paid(model: str) -> bool:
    """Whether calls of a model are taken to cost money: all but the user's own machines."""
    return model.split("/", 1)[0] not in _OWN


def token_counter(*, tokens: bool = True) -> Callable[[str], int]:
    """Return what counts a text's tokens, by OpenAI's o200k vocabulary.

    Other models' counts differ by some 10 to 30 percent.

    Args:
        tokens: Whether to count at all; without, every text counts 0.
    """
    return _tokens if tokens else _no_tokens


def _price(model: str, tokens_in: int, tokens_out: int) -> Decimal | None:
    from genai_prices import Usage, calc_price

    provider, _, name = model.partition("/")
    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    try:
        total: Decimal = calc_price(usage, model_ref=name, provider_id=provider).total_price
    except LookupError:
        return None
    return total


def _tokens(text: str) -> int:
    return len(_encoding().encode_ordinary(text))


def _no_tokens(text: str) -> int:
    return 0


@cache
def _encoding() -> Any:
    from bpe_openai import get_encoding

    return get_encoding("o200k_base")
