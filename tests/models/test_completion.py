"""Completing in batches, against one plain pass for each prompt.

And which schemas leave only a few replies open.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from inspect_ai.util import json_schema
from pydantic import BaseModel
from tests.support.small_models import random_model

from contrafact.errors import InputError
from contrafact.judges.judge import bool_schema
from contrafact.models.whitebox.completion import (
    MOST_REPLIES,
    Completion,
    CompletionRequest,
    complete,
    finite_replies,
)
from contrafact.models.whitebox.noise import Sampling
from contrafact.models.whitebox.weights import CausalModel, converted

RUBRIC = tuple(np.random.default_rng(0).integers(2, 250, 150).tolist())
OTHER = tuple(np.random.default_rng(1).integers(2, 250, 190).tolist())


@pytest.fixture(scope="session")
def byte_tokenizer(tiny_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(converted(tiny_gguf, tmp_path_factory.mktemp("bytes")))


@pytest.fixture(scope="module", params=["llama", "gpt2", "mistral"])
def causal(request: pytest.FixtureRequest, byte_tokenizer: Any) -> CausalModel:
    return made(request.param, byte_tokenizer)


@pytest.fixture(scope="module")
def llama(byte_tokenizer: Any) -> CausalModel:
    return made("llama", byte_tokenizer)


def made(kind: str, tokenizer: Any) -> CausalModel:
    model = random_model(kind, len(tokenizer), context=512)
    return CausalModel(kind, model, tokenizer, torch.device("cpu"), 0, 512)


class Forced:
    """Noise under which one token is written, again and again."""

    def __init__(self, token: int):
        self.token = token

    def at(self, position: int, vocabulary: int) -> np.ndarray:
        return 1e6 * (np.arange(vocabulary) == self.token)


def forced(request: CompletionRequest, token: int, **changed: Any) -> CompletionRequest:
    return replace(request, sampling=Sampling(), noise=Forced(token), alternatives=None, **changed)


def judge(tokens: Sequence[int], **options: Any) -> CompletionRequest:
    return CompletionRequest(tuple(tokens), **{"max_tokens": 1, "alternatives": 20, **options})


def judgements(count: int) -> list[CompletionRequest]:
    rng = np.random.default_rng(2)
    return [
        judge((*(RUBRIC if number % 3 else OTHER), *rng.integers(2, 250, 5 + number).tolist()))
        for number in range(count)
    ]


def plainly(causal: CausalModel, tokens: Sequence[int]) -> torch.Tensor:
    """The next token's log-probabilities: one prompt, one pass, nothing kept."""
    with torch.inference_mode():
        logits: torch.Tensor = causal.model(input_ids=torch.tensor([list(tokens)])).logits
    return logits[0, -1].log_softmax(-1)


def written(causal: CausalModel, tokens: Sequence[int], count: int) -> tuple[int, ...]:
    """The likeliest tokens, one plain pass each, up to the end token."""
    text: list[int] = []
    while len(text) < count and 1 not in text:
        text.append(int(plainly(causal, [*tokens, *text]).argmax()))
    return tuple(text)


def assert_scores(causal: CausalModel, request: CompletionRequest, answer: Completion) -> None:
    expected = plainly(causal, request.tokens)
    (one,) = answer.scored
    assert one.logprob == pytest.approx(float(expected[one.token]), abs=1e-3)
    assert [logprob for _, logprob in one.others] == pytest.approx(
        expected.topk(20).values.tolist(), abs=1e-3
    )
    for token, logprob in one.others:
        assert logprob == pytest.approx(float(expected[token]), abs=1e-3)


def test_judgements_are_those_of_plain_passes(causal: CausalModel) -> None:
    requests = judgements(12)
    for request, answer in zip(requests, complete(causal, requests), strict=True):
        assert_scores(causal, request, answer)


def test_prompts_of_one_token_equal_ones_and_long_ones_are_answered(causal: CausalModel) -> None:
    rng = np.random.default_rng(5)
    requests = [judge(rng.integers(2, 250, length).tolist()) for length in (1, 2, 90, 300)]
    requests += [judge(RUBRIC), judge(RUBRIC), judge(RUBRIC[:140]), judge((*RUBRIC, 9, 9))]
    for request, answer in zip(requests, complete(causal, requests), strict=True):
        assert_scores(causal, request, answer)


def test_what_is_computed_together_is_bounded(
    llama: CausalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contrafact.models.whitebox import completion

    asked = judgements(9)
    whole = complete(llama, asked)
    monkeypatch.setattr(completion, "_BATCH_TOKENS", 500)
    parts = complete(llama, asked)
    for one, two in zip(whole, parts, strict=True):
        assert one.tokens == two.tokens
        assert one.scored[0].logprob == pytest.approx(two.scored[0].logprob, abs=1e-3)


def test_the_likeliest_text_is_written_whatever_the_batch(causal: CausalModel) -> None:
    requests = [replace(one, max_tokens=12, alternatives=None) for one in judgements(6)]
    expected = [written(causal, one.tokens, 12) for one in requests]
    assert [answer.tokens for answer in complete(causal, requests)] == expected
    assert [complete(causal, [one])[0].tokens for one in requests] == expected


def test_an_answer_ends_at_its_end_token_a_stop_or_its_limit(llama: CausalModel) -> None:
    (request,) = judgements(1)
    (ended,) = complete(llama, [forced(request, 1, max_tokens=30)])
    assert (ended.tokens, ended.text, ended.stop) == ((1,), "", "stop")
    (cut,) = complete(llama, [replace(request, max_tokens=7)])
    assert (len(cut.tokens), cut.stop) == (7, "max_tokens")
    letter = llama.tokenizer("h", add_special_tokens=False)["input_ids"][0]
    again = forced(request, letter, max_tokens=30, stops=("zz", "hhh"))
    (stopped,) = complete(llama, [again])
    assert (stopped.text, stopped.stop, len(stopped.tokens)) == ("", "stop", 3)


def test_a_reply_of_few_is_the_likeliest_token_by_token(llama: CausalModel) -> None:
    (request,) = judgements(1)
    replies = ((10, 11, 12, 20, 13), (10, 11, 12, 30, 13, 14), (10, 11, 99))
    asked = replace(request, max_tokens=50, replies=replies)
    (answer,) = complete(llama, [asked])
    at = plainly(llama, (*request.tokens, 10, 11))
    after = plainly(llama, (*request.tokens, 10, 11, 12))
    if at[99] > at[12]:
        expected = replies[2]
    else:
        expected = replies[0] if after[20] > after[30] else replies[1]
    assert (answer.tokens, answer.stop) == (expected, "stop")
    assert [one.token for one in answer.scored] == list(expected)
    place = 2  # where the first of them parts from the others
    assert answer.scored[place].logprob == pytest.approx(float(at[expected[place]]), abs=1e-3)
    (short,) = complete(llama, [replace(asked, max_tokens=2)])
    assert (short.tokens, short.stop) == ((10, 11), "max_tokens")
    (only,) = complete(llama, [replace(request, max_tokens=9, replies=((4, 5),))])
    assert (only.tokens, only.stop) == ((4, 5), "stop")


def test_a_model_that_is_damaged_is_reported(byte_tokenizer: Any) -> None:
    broken = made("llama", byte_tokenizer)
    with torch.no_grad():
        broken.model.get_output_embeddings().weight.fill_(math.nan)
    with pytest.raises(InputError, match="not finite"):
        complete(broken, judgements(2))


def test_work_ends_when_it_is_no_longer_wanted(llama: CausalModel) -> None:
    calls = 0

    class Enough(Exception):
        pass

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls > 5:
            raise Enough

    long = [forced(one, 9, max_tokens=400) for one in judgements(2)]
    with pytest.raises(Enough):
        complete(llama, long, check=check)
    assert calls == 6


# Schemas


BOOLEAN = {"type": "boolean"}


def test_a_judges_schema_leaves_two_replies():
    schema = bool_schema("directionality").json_schema.model_dump(exclude_none=True)
    replies = finite_replies(schema)
    assert replies is not None
    assert [json.loads(reply) for reply in replies] == [
        {"directionality": {"value": True}},
        {"directionality": {"value": False}},
    ]


def test_labels_and_alternatives_are_listed():
    schema = {
        "type": "object",
        "properties": {
            "label": {"enum": ["up", "down"]},
            "sure": {"anyOf": [BOOLEAN, {"type": "null"}]},
        },
        "required": ["label", "sure"],
    }
    replies = finite_replies(schema)
    assert replies is not None and len(replies) == 6
    assert '{"label": "down", "sure": null}' in replies


class Free(BaseModel):
    value: bool
    why: str


@pytest.mark.parametrize(
    "schema",
    [
        json_schema(Free).model_dump(exclude_none=True),
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {"a": BOOLEAN}, "required": []},
        {"enum": [1, 12]},  # the end of 1 cannot be told from the middle of 12
        {"anyOf": [BOOLEAN, {"type": "number"}]},
        {"type": "array", "items": BOOLEAN},
        {},
    ],
)
def test_what_cannot_be_listed_is_not(schema):
    assert finite_replies(schema) is None


def test_too_many_replies_are_not_listed():
    names = [f"n{number}" for number in range(40)]
    many = {"type": "object", "properties": dict.fromkeys(names, BOOLEAN), "required": names}
    assert finite_replies(many) is None
    assert finite_replies({"enum": [str(n) for n in range(MOST_REPLIES + 1)]}) is None
    some = finite_replies({"enum": [str(n) for n in range(MOST_REPLIES)]})
    assert some is not None and len(some) == MOST_REPLIES
