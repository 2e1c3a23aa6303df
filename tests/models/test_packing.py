"""Prompts in common rows: every token once, and each prompt read as it is read alone."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.small_models import NUMBERS, random_model

from contrafact.models.whitebox.completion import Completer, CompletionRequest
from contrafact.models.whitebox.kv_cache import read_prefix
from contrafact.models.whitebox.packing import can_pack, last_logits, packed
from contrafact.models.whitebox.weights import CausalModel

CPU = torch.device("cpu")
RUBRIC = tuple(range(2, 90))
PROMPT = st.lists(st.integers(2, 5), min_size=1, max_size=12).map(tuple)


@pytest.fixture(scope="module")
def llama() -> CausalModel:
    return made("llama")


@pytest.fixture(scope="module", params=["gpt2", "llama", "qwen2", "qwen3"])
def causal(request: pytest.FixtureRequest) -> CausalModel:
    return made(request.param)


def made(kind: str) -> CausalModel:
    return CausalModel(kind, random_model(kind, 256, context=512), NUMBERS, CPU, 0, 512)


@given(st.lists(st.tuples(PROMPT, st.integers(0, 3)), min_size=1, max_size=9), st.integers(1, 40))
@settings(deadline=None)
def test_every_prompt_is_spelt_once_and_what_is_shared_stands_once(prompts, most):
    rows = [((*RUBRIC, *own), None, len(RUBRIC) - lost) for own, lost in prompts]
    groups = packed(rows, len(RUBRIC) + most)
    assert sorted(number for group in groups for number in group.prompts) == [*range(len(rows))]
    for group in groups:
        assert len(group.prompts) == 1 or group.length + group.size <= len(RUBRIC) + most
        for number, path in zip(group.prompts, group.paths, strict=True):
            whole = rows[number][0]
            assert tuple(group.tokens[at] for at in path) == whole[group.length : -1]
            assert [group.places[at] for at in path] == [*range(group.length, len(whole) - 1)]
        read = Counter(
            tuple(group.tokens[at] for at in path[: end + 1])
            for path in group.paths
            for end in range(len(path))
        )
        assert len(read) == len(group.tokens)  # no beginning stands twice


@given(st.lists(PROMPT, min_size=1, max_size=7), st.booleans())
@settings(max_examples=25, deadline=None)
def test_prompts_in_common_rows_are_read_as_alone(causal, prompts, kept):
    assert can_pack(causal)
    with torch.inference_mode():
        prefix = read_prefix(causal, RUBRIC, None, 0) if kept else None
        # Some are served by less of the beginning than others.
        rows = [
            ((*RUBRIC, *own), prefix, len(RUBRIC) - number % 3 if kept else 0)
            for number, own in enumerate(prompts)
        ]
        together = last_logits(causal, rows)
        for (tokens, _, _), own in zip(rows, together, strict=True):
            alone = causal.model(input_ids=torch.tensor([tokens])).logits[0, -1]
            assert torch.allclose(own, alone, rtol=1e-3, atol=1e-3)


def test_a_model_that_a_common_row_would_mislead_is_not_given_any(llama: CausalModel) -> None:
    assert can_pack(llama)
    assert not can_pack(made("mistral"))  # forgets what is 40 tokens back
    windowed: Any = made("qwen2")
    windowed.model.config.layer_types = ["full_attention", "sliding_attention"]
    assert not can_pack(windowed)


@contextmanager
def fed_to(causal: CausalModel) -> Iterator[list[int]]:
    """How many tokens each pass through the model is given."""
    fed: list[int] = []
    forward = causal.model.forward

    def counted(*args: Any, **named: Any) -> Any:
        fed.append(named["input_ids"].numel())
        return forward(*args, **named)

    causal.model.forward = counted
    try:
        yield fed
    finally:
        del causal.model.forward


def test_a_reply_of_two_takes_one_pass_over_its_prompt(llama: CausalModel) -> None:
    replies = ((7, 11), (7, 12))
    asked = [
        CompletionRequest((*RUBRIC, 100 + number), 2, alternatives=5, replies=replies)
        for number in range(6)
    ]
    completer = Completer(llama)
    completer.complete(asked)  # reads what they share, and tries the model
    with fed_to(llama) as fed:
        answers = completer.complete(asked)
    assert len(fed) == 1
    assert all(answer.tokens in replies for answer in answers)
