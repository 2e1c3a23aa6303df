"""What calls cost: by list price, call by call; free where it is; unknown never taken for free."""

from contextlib import nullcontext
from decimal import Decimal

import pytest
from genai_prices import Usage, calc_price
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.families.rfc.pipeline.label import LabelStage
from contrafact.models.estimate import CallEstimate, call_estimate, show_estimate
from contrafact.models.prices import FREE, LISTED, UNKNOWN, Tokens, dollars, price_note
from contrafact.stages.run import run_stage
from contrafact.stages.stage import InputRow, StageOutput

COUNTS = st.integers(0, 300_000)


@settings(max_examples=25)
@given(st.lists(st.tuples(COUNTS, COUNTS, COUNTS), max_size=4), st.sampled_from(
    [("openai", "gpt-4o-mini"), ("anthropic", "claude-sonnet-4-5"), ("google", "gemini-2.5-pro")]
))  # fmt: skip
def test_calls_cost_what_each_of_them_costs(
    counts: list[tuple[int, int, int]], model: tuple[str, str]
) -> None:
    provider, name = model
    wanted = sum(
        (
            calc_price(
                Usage(input_tokens=read + cached, cache_read_tokens=cached, output_tokens=written),
                model_ref=name,
                provider_id=provider,
            ).total_price
            for read, written, cached in counts
        ),
        Decimal(0),
    )
    calls = [Tokens(read, written, cached) for read, written, cached in counts]
    found = dollars(f"{provider}/{name}", calls)
    assert found is not None
    assert float(found) == pytest.approx(float(wanted), rel=1e-9, abs=1e-12)


def test_many_short_calls_are_not_priced_as_one_long_one() -> None:
    model = "anthropic/claude-sonnet-4-5"
    estimate = call_estimate(model, "judge", calls=1_000, sent=1_000_000, received=10_000)
    one = dollars(model, [Tokens(1_000, 10)])
    assert one is not None and estimate.dollars == one * 1_000
    assert dollars(model, [Tokens(1_000_000, 10_000)]) > estimate.dollars  # type: ignore[operator]


@pytest.mark.parametrize(
    ("model", "note", "cost"),
    [
        ("embedded/smollm2-135m", FREE, 0),
        ("smollm2-135m", FREE, 0),
        ("ollama/llama3.1", FREE, 0),
        ("openai/gpt-4o", LISTED, 1),
        ("openai-api/deepseek/deepseek-chat", LISTED, 1),
        ("grok/grok-4", LISTED, 1),
        ("openai-api/nearby/gpt-4o", UNKNOWN, None),
        ("openai/a-model-of-next-year", UNKNOWN, None),
        ("someone/gpt-4o", UNKNOWN, None),
    ],
)
def test_where_a_price_comes_from(model: str, note: str, cost: int | None) -> None:
    found = dollars(model, [Tokens(1_000, 100)])
    assert price_note(model) == note
    assert found is None if cost is None else bool(found) == bool(cost)


@pytest.mark.parametrize(
    ("model", "open", "wanted"),
    [("openai/gpt-4o", 1_001, [1_001]), ("openai/gpt-4o", 1_000, []), ("embedded/x", 1_001, [])],
)
def test_many_paid_calls_are_confirmed_before_the_first(model, open, wanted, monkeypatch):
    class NoError(Exception):
        """The answer is no."""

    asked: list[int] = []
    worked: list[InputRow] = []

    def no(calls: int) -> None:
        asked.append(calls)
        raise NoError

    async def work(rows: list[InputRow]) -> StageOutput:
        worked.extend(rows)
        return StageOutput()

    monkeypatch.setattr(LabelStage, "open", lambda *_: work)
    rows = [{"id": str(n), "title": "A ferry gained", "candidates": []} for n in range(open)]
    with pytest.raises(NoError) if wanted else nullcontext():
        run_stage(LabelStage("one", model), rows, confirm=no)
    assert asked == wanted
    assert len(worked) == (0 if wanted else open)


@pytest.mark.parametrize(
    ("priced", "unpriced", "said"),
    [
        (True, False, "20 calls, 10 of them paid; about $1.50"),
        (True, True, "about $1.50; the price of b/unpriced is not known and comes on top"),
        (False, True, "20 calls, 10 of them paid; the price of b/unpriced is not known"),
        (False, False, "10 calls, 0 of them paid"),
    ],
)
def test_an_unknown_price_is_not_about_nothing(
    priced: bool, unpriced: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [CallEstimate("embedded/free", "judge", 10, 1, 1, Decimal(0), False)]
    rows += [CallEstimate("a/priced", "subject", 10, 1, 1, Decimal("1.5"), True)] * priced
    rows += [CallEstimate("b/unpriced", "subject", 10, 1, 1, None, True)] * unpriced
    show_estimate(rows)
    shown = capsys.readouterr().out
    assert f"{said}\n" in shown and "$0.00" not in shown
