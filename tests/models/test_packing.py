"""Prompts in common rows: every token once, and each prompt read as it is read alone."""

from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.test_completion import made

from contrafact.models.whitebox import packing
from contrafact.models.whitebox.kv_cache import PrefixStore, read_prefix
from contrafact.models.whitebox.packing import can_pack, last_logits, packed
from contrafact.models.whitebox.weights import CausalModel

RUBRIC = tuple(range(2, 90))
PROMPT = st.lists(st.integers(2, 5), min_size=1, max_size=12).map(tuple)


class _Tokens:
    """What stands for a tokenizer where only its size is asked."""

    def __len__(self) -> int:
        return 256


@pytest.fixture(scope="module")
def llama() -> CausalModel:
    return made("llama", _Tokens())


@given(st.lists(st.tuples(PROMPT, st.integers(0, 3)), min_size=1, max_size=9), st.integers(4, 40))
@settings(deadline=None)
def test_every_prompt_is_spelt_once_and_what_is_shared_stands_once(prompts, most):
    rows = [((*RUBRIC, *own), None, len(RUBRIC) - lost) for own, lost in prompts]
    before, packing._ROW = packing._ROW, most
    try:
        groups = packed(rows)
    finally:
        packing._ROW = before
    assert sorted(number for group in groups for number in group.prompts) == [*range(len(rows))]
    for group in groups:
        count = len(group.prompts)
        leaves = [path[-1] for path in group.paths]
        assert leaves == [*range(len(group.tokens) - count, len(group.tokens))]
        for number, path in zip(group.prompts, group.paths, strict=True):
            whole = rows[number][0]
            assert tuple(group.tokens[at] for at in path) == whole[group.length :]
            assert [group.places[at] for at in path] == [*range(group.length, len(whole))]
        read = Counter(
            tuple(group.tokens[at] for at in path[: end + 1])
            for path in group.paths
            for end in range(len(path) - 1)
        )
        assert len(read) == len(group.tokens) - count  # no beginning stands twice


@given(st.lists(PROMPT, min_size=1, max_size=7), st.booleans())
@settings(max_examples=25, deadline=None)
def test_prompts_in_common_rows_are_read_as_alone(llama, prompts, kept):
    with torch.inference_mode():
        prefix = read_prefix(llama, RUBRIC, None, 0) if kept else None
        # Some are served by less of the beginning than others.
        rows = [
            ((*RUBRIC, *own), prefix, len(RUBRIC) - number % 3 if kept else 0)
            for number, own in enumerate(prompts)
        ]
        together = last_logits(llama, rows)
        for (tokens, _, _), own in zip(rows, together, strict=True):
            alone = llama.model(input_ids=torch.tensor([tokens])).logits[0, -1]
            assert torch.allclose(own, alone, rtol=1e-3, atol=1e-3)


def test_a_model_that_a_common_row_would_mislead_is_read_row_by_row(llama: CausalModel) -> None:
    assert can_pack(llama)
    assert can_pack(made("gpt2", _Tokens()))
    assert not can_pack(made("mistral", _Tokens()))  # forgets what is 40 tokens back

    blind: Any = made("llama", _Tokens())
    forward = blind.model.forward

    def without_places(
        input_ids: Any, attention_mask: Any, position_ids: Any, logits_to_keep: Any, **others: Any
    ) -> Any:
        """Count places in the row, whatever is stated."""
        return forward(
            input_ids, attention_mask=attention_mask, logits_to_keep=logits_to_keep, **others
        )

    blind.model.forward = without_places
    assert not can_pack(blind)


def test_responses_to_one_text_are_computed_together(llama: CausalModel) -> None:
    shared = (*RUBRIC, *range(100, 130))
    prompts = [(*shared, number) for number in range(6)]
    with torch.inference_mode():
        store = PrefixStore()
        served = store.prepare(llama, prompts)
        rows = [(p, prefix, length) for p, (prefix, length, _) in zip(prompts, served, strict=True)]
        fed = []
        forward = llama.model.forward
        llama.model.forward = lambda *args, **named: (  # type: ignore[method-assign]
            fed.append(named["input_ids"].numel()),
            forward(*args, **named),
        )[1]
        try:
            last_logits(llama, [(prompt, None, 0) for prompt in prompts])
        finally:
            del llama.model.forward
    assert rows[0][2] >= len(RUBRIC)
    assert fed == [len(shared) + len(prompts)]
