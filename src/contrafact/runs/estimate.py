"""What a run will cost, before it starts: calls, tokens and, where prices are known, money."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from contrafact.finforce.judging import criteria_of
from contrafact.records import SIDES
from contrafact.runs.prepare import Prepared

__all__ = ["CallEstimate", "estimate", "is_paid", "paid_calls"]

# Providers that run on the user's own machines. Everything else is taken to cost money.
_OWN = {
    "embedded", "whitebox", "hf", "vllm", "sglang", "ollama", "llama-cpp-python", "mockllm",
    "transformer_lens", "nnterp", "none",
}  # fmt: skip
_JUDGE_REPLY_TOKENS = 12
_SAMPLE = 50


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


def estimate(prepared: Prepared, *, tokens: bool = True) -> list[CallEstimate]:
    """Return one estimate for every model and role of a run.

    Args:
        prepared: The run.
        tokens: Whether to count tokens as well as calls; it takes seconds.

    Tokens are counted with OpenAI's o200k vocabulary over the real prompts of up to 50 items,
    evenly spread, and scaled; other models' counts differ by some 10 to 30 percent.
    """
    settings = prepared.settings
    items = prepared.headlines
    count = _tokens if tokens else _no_tokens
    step = max(1, len(items) // _SAMPLE)
    sample = items[::step][:_SAMPLE]
    scale = len(items) / len(sample)
    rows: list[CallEstimate] = []
    for model in settings.models:
        for name, method in prepared.methods.items():
            draws = settings.draws if method.shots else 1
            plans = [call for item in sample for call in method.plan(item)]
            rows.append(
                _row(
                    model,
                    f"subject, {name}",
                    calls=len(plans) * scale * draws,
                    sent=sum(count(call.prompt) for call in plans) * scale * draws,
                    received=sum(call.reply_tokens for call in plans) * scale * draws,
                )
            )
    if prepared.judging is not None:
        prompts = [
            prompt
            for item in sample
            for side in SIDES
            for prompt in prepared.judging.prompts(item, side, item.text)
        ]
        systems = len(settings.models) * sum(
            settings.draws if method.shots else 1 for method in prepared.methods.values()
        )
        assert len(prompts) == len(sample) * sum(
            len(criteria_of(side, faults=prepared.judging.faults)) for side in SIDES
        )
        for judge in settings.judges:
            rows.append(
                _row(
                    judge,
                    "judge",
                    calls=len(prompts) * scale * systems,
                    sent=sum(map(count, prompts)) * scale * systems,
                    received=len(prompts) * _JUDGE_REPLY_TOKENS * scale * systems,
                )
            )
    return rows


def paid_calls(rows: Iterable[CallEstimate]) -> int:
    """Return how many calls cost money."""
    return sum(row.calls for row in rows if row.paid)


def is_paid(model: str) -> bool:
    """Whether calls of a model are taken to cost money: all but the user's own machines."""
    return model.split("/", 1)[0] not in _OWN


def _row(model: str, role: str, *, calls: float, sent: float, received: float) -> CallEstimate:
    tokens_in, tokens_out = round(sent), round(received)
    paid = is_paid(model)
    dollars = _price(model, tokens_in, tokens_out) if paid else Decimal(0)
    return CallEstimate(model, role, round(calls), tokens_in, tokens_out, dollars, paid)


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
