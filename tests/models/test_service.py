"""What a service does besides answering, over HTTP: told in its words, retried within bounds."""

import asyncio
import gzip
import json
import math
import zlib

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import ChatMessageUser, GenerateConfig, ModelOutput, ModelUsage

from contrafact.models import service as module
from contrafact.models.asking import (
    CALLED,
    FILTERED,
    REASONED,
    REFUSED,
    answer,
    failure_cause,
    no_answer,
)
from contrafact.models.bodies import LONGEST, ReplyTooLongError, watch
from contrafact.models.calls import asked_for, counted_calls, is_cut
from contrafact.models.opening import open_model
from contrafact.models.requests import SharedSchema, closed_object


@pytest.fixture
def ask(start_service, monkeypatch):
    """Ask a service with a fault; return what came, and how many requests it got."""

    def ask(fault, *prompts, config=GenerateConfig(), **transport):
        with start_service("--faults", fault) as running:
            monkeypatch.setenv("FAKE_BASE_URL", running.environment["FAKE_BASE_URL"])
            monkeypatch.setenv("FAKE_API_KEY", "sk-not-a-real-key-0123456789")
            model = open_model(f"openai-api/fake/{fault}-{running.port}", transport=transport)

            async def all_of() -> list:
                found = []
                for prompt in prompts or ("<news>Up</news>",):
                    try:
                        output = await answer(model, prompt, config)
                        found.append(no_answer(output) or output.completion)
                    except Exception as error:  # noqa: BLE001
                        found.append(failure_cause(error))
                        assert type(error).__name__ != "RetryError"
                return found

            found = asyncio.run(all_of())
            stats = running.stats()
            return found, sum(stats["met"].values()) + sum(stats["answered"].values())

    return ask


@pytest.mark.parametrize("fault", ["nochoices", "error200", "500"])
def test_a_reply_without_an_answer_is_tried_again_and_answered(ask, fault):
    (found,), requests = ask(fault)
    assert "take fright" in found and requests == 2


def test_content_in_parts_is_the_text_in_them_and_a_refusal_is_one(ask):
    (found,), requests = ask("parts")
    assert "take fright" in found and "decoy" not in found and requests == 1
    assert ask("refusal") == ([REFUSED], 1)


@pytest.mark.parametrize(
    ("fault", "what"), [("azure", FILTERED), ("reasoned", REASONED), ("called", CALLED)]
)
def test_an_answer_that_is_none_is_told_as_what_it_is_and_asked_for_once(ask, fault, what):
    assert ask(fault) == ([what], 1)


def test_a_service_without_schemas_is_asked_without_from_then_on_which_is_said_once(ask, capfd):
    config = GenerateConfig(
        response_schema=SharedSchema(name="counterfactuals", json_schema=closed_object({}))
    )
    found, requests = ask("noschema", *(f"<news>{n}</news>" for n in "abc"), config=config)
    assert all("take fright" in text for text in found) and requests == 4
    assert capfd.readouterr().err.count("does not accept JSON schema") == 1


def test_a_service_that_takes_no_temperature_is_asked_without_where_it_is_0(ask, capfd):
    prompts = [f"<news>{n}</news>" for n in "abc"]
    found, requests = ask("notemperature", *prompts, config=GenerateConfig(temperature=0.0))
    assert all("take fright" in text for text in found) and requests == 4
    assert capfd.readouterr().err.count("does not accept temperature, now left out") == 1
    schema = SharedSchema(name="counterfactuals", json_schema=closed_object({}))
    config = GenerateConfig(temperature=0.7, response_schema=schema)
    found, requests = ask("notemperature", *prompts, config=config)
    assert requests == 3
    assert all("--temperature" in text and "--no-structured" not in text for text in found)


def test_one_error_that_names_a_grammar_leaves_schemas_on(start_service, monkeypatch, capfd):
    schema = SharedSchema(name="counterfactuals", json_schema=closed_object({}))
    config = GenerateConfig(response_schema=schema)

    async def answers(model):
        return [await answer(model, f"<news>{n}</news>", config) for n in "ab"]

    with start_service("--faults", "grammar") as running:
        running.make_known(monkeypatch)
        model = open_model(f"openai-api/fake/grammar-{running.port}", transport={})
        found = asyncio.run(answers(model))
        stats = running.stats()
    assert all("take fright" in output.completion for output in found)
    assert stats["met"] == {"grammar": 2} and sum(stats["answered"].values()) == 2
    assert stats["with_schema"] == 4
    assert "does not accept JSON schema" not in capfd.readouterr().err


def test_a_reply_that_drips_is_waited_for_as_long_as_its_call_may_take(ask):
    (found,), requests = ask("drip", timeout=2)
    assert "no whole reply" in found and requests == 1


def received(reply, **headers):
    """Return what a client that is watched reads of a reply."""

    async def get():
        def send(request):
            return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(reply))

        async with httpx2.AsyncClient(transport=httpx2.MockTransport(send)) as client:
            watch(client)
            return (await client.get("http://service/")).content

    return asyncio.run(get())


@pytest.mark.parametrize(
    ("packing", "pack"),
    [
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda text: zlib.compress(text, wbits=-15)),
    ],
)
def test_a_reply_is_read_to_its_end_or_to_the_bound_however_it_is_packed(packing, pack):
    whole = b"x" * LONGEST
    assert received(pack(whole), **{"content-encoding": packing}) == whole
    with pytest.raises(ReplyTooLongError):
        received(pack(whole + b"x"), **{"content-encoding": packing})
    with pytest.raises(ReplyTooLongError):
        received(b"packed", **{"content-encoding": "br"})


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens",
                         "prompt_tokens_details", "completion_tokens_details"])  # fmt: skip


@given(usage=ANYTHING | st.dictionaries(NAMES, ANYTHING))
def test_whatever_a_service_counts_its_answer_is_the_same(usage):
    choice = {"index": 0, "message": {"content": "Yes"}, "finish_reason": "stop"}
    reply = json.loads(
        received(json.dumps({"model": "m", "choices": [choice], "usage": usage}).encode())
    )
    assert reply["choices"][0]["message"]["content"] == "Yes"
    counts = reply["usage"]
    assert counts is None or all(
        isinstance(counts[name], int) and counts[name] >= 0
        for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )


@given(odd=ANYTHING)
def test_an_odd_alternative_costs_neither_the_answer_nor_the_other_probabilities(odd):
    sound = {"token": "T", "logprob": -0.1}
    others = [sound, odd, {"token": "F", "logprob": odd}]
    choice = {"message": {"content": "T"}, "logprobs": {"content": [{**sound}]}}
    choice["logprobs"]["content"][0]["top_logprobs"] = others
    body = json.dumps({"choices": [choice]}).encode()
    (token,) = json.loads(received(body))["choices"][0]["logprobs"]["content"]
    assert token["top_logprobs"][0] == sound
    assert all(math.isfinite(one["logprob"]) for one in token["top_logprobs"])


def test_an_answer_whose_usage_is_odd_is_kept(ask):
    (found,), requests = ask("oddusage")
    assert "take fright" in found and requests == 1


@given(words=st.integers(0, 3_000), counted=st.integers(0, 4_000))
def test_a_prompt_is_cut_where_far_fewer_tokens_are_counted_than_it_has_words(words, counted):
    messages = [ChatMessageUser(content="word " * words)]
    output = ModelOutput(usage=ModelUsage(input_tokens=counted, output_tokens=1, total_tokens=1))
    cut = is_cut(messages, output)
    assert cut <= (16 <= counted < words)
    assert cut >= (16 <= counted < words / 2 and words >= 100)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("nochoices", "without an answer"),
        ("error200", "upstream has gone away"),
        ("422", "the window is 4,096 tokens"),
    ],
)
def test_what_the_service_said_is_what_the_user_reads(ask, fault, words):
    (found,), requests = ask(fault, max_retries=0)
    assert words in found and requests == 1


def test_retries_are_as_many_as_are_asked_for(ask):
    (found,), requests = ask("doomed", "<news>doomed</news>", max_retries=2)
    assert "on fire" in found and requests == 3


def test_a_wait_that_a_call_has_no_time_for_ends_it_and_one_that_it_has_is_said(ask):
    (found,), requests = ask("later", timeout=20)
    assert requests == 1
    assert "asks to wait 3,600 s; a call's limit is 20 s" in found and "too many" in found


def test_a_used_up_quota_is_not_asked_again(ask):
    found, requests = ask("quota", "<news>One</news>", "<news>Two</news>", "<news>Three</news>")
    assert requests == 1
    assert all("you have spent it" in one for one in found)


def test_who_opens_a_model_again_asks_a_quota_that_was_used_up_anew(start_service, monkeypatch):
    with start_service("--faults", "quota") as running:
        running.make_known(monkeypatch)
        for opened in (1, 2):
            model = open_model(f"openai-api/fake/again-{running.port}", transport={})
            for _ in range(2):
                with pytest.raises(Exception, match="you have spent it"):
                    asyncio.run(answer(model, "<news>Up</news>", GenerateConfig()))
            assert running.stats()["met"] == {"quota": opened}


def test_what_failed_is_asked_again_for_another_draw_alone(start_service, monkeypatch):
    async def draws(model) -> None:
        with counted_calls():
            for draw in ("1", "2", "2"):
                asked_for.set(draw)
                with pytest.raises(Exception, match="on fire"):
                    await answer(model, "<news>doomed</news>", GenerateConfig())

    with start_service() as running:
        running.make_known(monkeypatch)
        model = open_model(f"openai-api/fake/draws-{running.port}", transport={"max_retries": 0})
        asyncio.run(draws(model))
        assert sum(running.stats()["met"].values()) == 2


def test_a_wait_is_said(ask, monkeypatch, capfd):
    monkeypatch.setattr(module, "_SHOWN_FROM", 0.01)
    (found,), _ = ask("500")
    assert "take fright" in found
    assert ": retrying in 0 s (" in capfd.readouterr().err


def test_a_refused_request_is_told_by_the_service_and_not_by_the_prompt():
    class ModelGenerateError(RuntimeError):  # Inspect's, around the service's
        pass

    error = ModelGenerateError("Request: {'messages': ['You are a strategist.']}")
    error.__cause__ = ValueError("Error code: 422 - max_tokens is too large")
    assert failure_cause(error) == "ValueError: Error code: 422 - max_tokens is too large"
