"""The white-box provider as Inspect's users and our judges meet it."""

import asyncio
import gc
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
    get_model,
)
from inspect_ai.util import json_schema
from pydantic import BaseModel
from tests.support.small_models import random_model

from contrafact.errors import InputError
from contrafact.judges.judge import judge_letter, judge_once
from contrafact.models.whitebox import provider
from contrafact.models.whitebox.weights import CausalModel, converted, load_causal

TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
RUBRIC = "Is the news good for those who hold the shares? " * 3
NEWS = ["Tern & Vale cuts its dividend", "Norrick Steel lifts output", "Pell Street waits", "Oil"]


class Free(BaseModel):
    value: bool
    why: str


@pytest.fixture(scope="module")
def folder(tiny_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random model that reads 512 bytes, with a chat template."""
    from transformers import AutoTokenizer

    place = tmp_path_factory.mktemp("model")
    tokenizer = AutoTokenizer.from_pretrained(converted(tiny_gguf, place / "cache"))
    tokenizer.chat_template = TEMPLATE
    tokenizer.model_max_length = 512
    own = place / "tiny"
    random_model("llama", len(tokenizer), context=512).save_pretrained(own)
    tokenizer.save_pretrained(own)
    return own


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return get_model(f"whitebox/{folder}")


@pytest.fixture(scope="module")
def causal(folder: Path) -> CausalModel:
    return load_causal(str(folder))


def ask_all(model: Model, prompts: Sequence[Any], **settings: Any) -> list[ModelOutput]:
    config = GenerateConfig(**{"temperature": 0.0, "max_tokens": 8, **settings})

    async def all_at_once() -> list[ModelOutput]:
        calls = (model.generate(prompt, config=config) for prompt in prompts)
        return list(await asyncio.gather(*calls))

    return asyncio.run(all_at_once())


def ask(model: Model, prompt: Any, **settings: Any) -> ModelOutput:
    return ask_all(model, [prompt], **settings)[0]


def ids(causal: CausalModel, shown: str) -> list[int]:
    tokens: list[int] = causal.tokenizer(shown, add_special_tokens=False)["input_ids"]
    return tokens


def next_log_p(causal: CausalModel, shown: str) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = causal.model(input_ids=torch.tensor([ids(causal, shown)])).logits
    return logits[0, -1].log_softmax(-1)


# -- judging


def test_concurrent_judgements_are_those_of_plain_passes(model: Model, causal: CausalModel) -> None:
    prompts = [f"{RUBRIC}\n{text}" for text in NEWS * 5]
    outputs = ask_all(model, prompts, max_tokens=1, logprobs=True, top_logprobs=20)
    assert {output.stop_reason for output in outputs} <= {"max_tokens", "stop"}
    for prompt, output in zip(prompts, outputs, strict=True):
        expected = next_log_p(causal, f"[user]{prompt}\n[assistant]")
        logprobs = output.choices[0].logprobs
        assert logprobs is not None
        (first,) = logprobs.content
        assert first.logprob == pytest.approx(float(expected.max()), abs=1e-3)
        assert first.top_logprobs is not None and first.top_logprobs[0].token == first.token
        shown = [one.logprob for one in first.top_logprobs]
        assert shown == pytest.approx(expected.topk(20).values.tolist(), abs=1e-3)


def test_usage_counts_the_prompt_and_what_was_written(model: Model) -> None:
    prompts = [f"{RUBRIC}\n{text}" for text in NEWS]
    for prompt, output in zip(prompts, ask_all(model, prompts, max_tokens=1), strict=True):
        usage = output.usage
        assert usage is not None
        assert usage.input_tokens == len(f"[user]{prompt}\n[assistant]") - prompt.count("th")
        assert usage.total_tokens == usage.input_tokens + 1


def test_a_t_or_f_judge_reads_the_probability(model: Model, causal: CausalModel) -> None:
    prompt = f"{RUBRIC}\nT or F:"
    expected = next_log_p(causal, f"[user]{prompt}\n[assistant]").exp()
    verdict = asyncio.run(judge_letter(model, prompt, "E1"))
    assert verdict.judge == str(model)
    # A random model may not have T or F among its 20 likeliest tokens; it is held to one.
    true = ids(causal, "T")[0]
    only: dict[str, Any] = {"extra_body": {"guided_choice": ["T"]}}
    output = ask(model, prompt, max_tokens=1, logprobs=True, **only)
    assert output.completion == "T"
    logprobs = output.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content[0].logprob == pytest.approx(float(expected[true].log()), abs=1e-3)


def test_a_judge_of_true_and_false_always_answers_one_of_them(
    model: Model, causal: CausalModel
) -> None:
    prompts = [f"{RUBRIC}\n{text}" for text in NEWS]

    async def judge_all() -> list[Any]:
        calls = (judge_once(model, one, "good", structured=True) for one in prompts)
        return list(await asyncio.gather(*calls))

    for prompt, verdict in zip(prompts, asyncio.run(judge_all()), strict=True):
        assert verdict.invalid is None
        begun = f'[user]{prompt}\n[assistant]{{"good": {{"value": '
        log_p = next_log_p(causal, begun)
        true, false = (ids(causal, word)[0] for word in ("true", "false"))
        assert verdict.passed is bool(log_p[true] > log_p[false])
        assert json.loads(verdict.reply) == {"good": {"value": verdict.passed}}


def test_what_is_not_served_is_left_out_and_reported_once(
    model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    provider._warn.cache_clear()
    schema = ResponseSchema(name="free", json_schema=json_schema(Free))
    with caplog.at_level(logging.WARNING):
        outputs = [ask(model, "Say.", response_schema=schema, top_k=3) for _ in range(2)]
    assert outputs[0].completion == ask(model, "Say.").completion
    messages = " ".join(record.message for record in caplog.records)
    assert messages.count("response_schema") == messages.count("top_k") == 1


# -- writing


def test_a_seed_repeats_an_answer_and_another_changes_it(model: Model) -> None:
    texts = [
        ask(model, "Tell.", temperature=1.0, seed=seed, max_tokens=20).completion
        for seed in (5, 5, 6)
    ]
    assert texts[0] == texts[1] != texts[2]
    unseeded = [ask(model, "Tell.", temperature=1.0, max_tokens=20).completion for _ in range(2)]
    assert unseeded[0] != unseeded[1]


def test_prompts_under_one_seed_do_not_share_their_noise(model: Model) -> None:
    # All tokens are as good.
    outputs = ask_all(model, NEWS[:2], temperature=1e9, seed=1, max_tokens=20)
    assert outputs[0].completion != outputs[1].completion


def test_an_answer_that_is_begun_goes_on(model: Model, causal: CausalModel) -> None:
    conversation = [
        ChatMessageSystem(content="Be brief."),
        ChatMessageUser(content="Up or down?"),
        ChatMessageAssistant(content="It went"),
    ]
    output = ask(model, conversation, max_tokens=1)
    log_p = next_log_p(causal, "[system]Be brief.\n[user]Up or down?\n[assistant]It went")
    assert output.completion == causal.tokenizer.decode(
        [int(log_p.argmax())], skip_special_tokens=True
    )


def test_a_model_without_a_template_goes_on_with_the_text(folder: Path, tmp_path: Path) -> None:
    import shutil

    plain = tmp_path / "plain"
    shutil.copytree(folder, plain)
    (plain / "chat_template.jinja").unlink()
    causal = load_causal(str(plain))
    with torch.inference_mode():
        logits = causal.model(input_ids=torch.tensor([[0, *ids(causal, "One.\n\nTwo.")]])).logits
    output = ask(
        get_model(f"whitebox/{plain}"),
        [ChatMessageSystem(content="One."), ChatMessageUser(content="Two.")],
        max_tokens=1,
    )
    assert output.completion == causal.tokenizer.decode(
        [int(logits[0, -1].argmax())], skip_special_tokens=True
    )


# -- what cannot be


def test_a_prompt_longer_than_the_context_is_reported(model: Model) -> None:
    fits, output = ask_all(model, ["x" * (512 - len("[user]\n[assistant]") - 1), "x" * 600])
    assert fits.stop_reason in ("max_tokens", "stop") and fits.usage is not None
    assert fits.usage.output_tokens == 1
    assert output.stop_reason == "model_length"
    assert output.error == "the prompt has 618 tokens, and the model's context holds 512"
    verdict = asyncio.run(judge_letter(model, "x" * 600, "E1"))
    assert verdict.invalid is not None and "prompt too long" in verdict.invalid


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("/no/where", {}, "there is no such file or folder"),
        ("./nowhere", {}, "there is no such file or folder"),
        ("smollm2-135m", {"rows": 0}, "whole number from 1"),
        ("smollm2-135m", {"speed": 9}, "no argument speed.*rows, device, precision"),
        ("smollm2-135m", {"precision": "8bit"}, "float32, bfloat16"),
        ("smollm2-135m", {"base_url": "http://127.0.0.1:1"}, "no base URL"),
    ],
)
def test_what_cannot_be_is_reported_when_the_model_is_named(
    name: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        get_model(f"whitebox/{name}", **arguments)


def test_odd_text_is_answered(model: Model) -> None:
    for text in ("", "\ud800", "a\x00b", "<|end|>"):
        assert ask(model, text).usage is not None


# -- together


def test_a_cancelled_call_leaves_the_others_alone(model: Model) -> None:
    config = GenerateConfig(temperature=0.0, max_tokens=6)

    async def some_cancelled() -> list[Any]:
        calls = [asyncio.ensure_future(model.generate(text, config=config)) for text in NEWS]
        await asyncio.sleep(0.01)
        calls[1].cancel()
        return list(await asyncio.gather(*calls, return_exceptions=True))

    first, cancelled, *others = asyncio.run(some_cancelled())
    assert isinstance(cancelled, asyncio.CancelledError)
    alone = ask(model, NEWS[0], max_tokens=6).completion
    assert first.completion == alone and all(isinstance(one, ModelOutput) for one in others)


def test_callers_at_once_share_batches_and_verdicts_do_not_wait_for_long_texts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[list[int]] = []
    real = provider.complete

    def counted(causal: CausalModel, requests: Sequence[Any], **options: Any) -> Any:
        batches.append([request.max_tokens for request in requests])
        return real(causal, requests, **options)

    monkeypatch.setattr(provider, "complete", counted)
    engine = provider.Engine(provider.WhiteboxSettings(str(folder), rows=4))

    async def all_at_once() -> list[Any]:
        limits = [1, 3, 1, 3, 1, 1, 1]
        requests = (provider.CompletionRequest((1, 2, n), limit) for n, limit in enumerate(limits))
        return list(await asyncio.gather(*map(engine.complete, requests)))

    answers = asyncio.run(all_at_once())
    assert batches == [[1, 1, 1, 1], [3, 3], [1]]
    assert [len(answer.tokens) for answer in answers[::2]] == [1, 1, 1, 1]


def test_an_error_goes_to_all_callers_of_its_batch_and_the_next_is_answered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = provider.Engine(provider.WhiteboxSettings(str(folder)))
    request = provider.CompletionRequest((1, 2), 1)

    async def twice() -> list[Any]:
        calls = (engine.complete(request) for _ in range(2))
        return list(await asyncio.gather(*calls, return_exceptions=True))

    def fails(*_: Any, **__: Any) -> Any:
        raise OverflowError("the batch")

    with monkeypatch.context() as patch:
        patch.setattr(provider, "complete", fails)
        assert [type(error) for error in asyncio.run(twice())] == [OverflowError] * 2
    assert [len(answer.tokens) for answer in asyncio.run(twice())] == [1, 1]


def test_work_that_nobody_waits_for_stops(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, stopped = threading.Event(), threading.Event()

    def endless(*_: Any, check: Any, **__: Any) -> Any:
        began.set()
        try:
            while True:
                check()
        finally:
            stopped.set()

    monkeypatch.setattr(provider, "complete", endless)
    engine = provider.Engine(provider.WhiteboxSettings(str(folder)))

    async def gives_up() -> None:
        call = asyncio.create_task(engine.complete(provider.CompletionRequest((1, 2), 1)))
        await asyncio.to_thread(began.wait, 10)
        call.cancel()

    asyncio.run(gives_up())
    assert stopped.wait(10)


def test_models_of_equal_settings_share_an_engine_whose_thread_ends_with_the_last(
    folder: Path,
) -> None:
    one, two = (get_model(f"whitebox/{folder}", memoize=False, rows=7) for _ in range(2))
    ask_all(one, NEWS)
    ask_all(two, NEWS)
    assert one.api.engine() is two.api.engine()

    def threads() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if f"answering with {folder}" in one.name]

    before = threads()
    one.api.close()
    gc.collect()
    assert threads() == before
    two.api.close()
    gc.collect()
    for thread in set(before) - set(kept := threads()):
        thread.join(10)
    assert len(kept) == len(before) - 1
    assert ask(one, NEWS[0]).usage is not None  # and begins anew


@pytest.mark.slow
def test_a_process_with_calls_under_way_ends_at_once(folder: Path) -> None:
    program = f"""
import asyncio
from inspect_ai.model import GenerateConfig, get_model
model = get_model("whitebox/{folder}")
async def main():
    config = GenerateConfig(max_tokens=400, temperature=0.0)
    call = asyncio.ensure_future(model.generate("Go on.", config=config))
    while not model.api._engine:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.05)
    print("leaving")
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")
