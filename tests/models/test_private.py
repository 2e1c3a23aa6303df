"""Keys stay out of what a service's replies and errors leave behind."""

import asyncio
import math

import pytest
from inspect_ai.model import GenerateConfig, Logprob, Logprobs, ModelAPI, ModelOutput, get_model

from contrafact.models.bodies import Body, bodies
from contrafact.models.service import guard
from contrafact.redaction import redacted


def private_model(monkeypatch, reply, body=""):
    async def generate(self, *_):
        if body:
            bodies.get().append(Body(400, body))
        if isinstance(reply, Exception):
            raise reply
        return reply

    monkeypatch.setenv("PROXY_TOKEN", "20261129")
    model = get_model("mockllm/private", memoize=False)
    model.api.__class__ = type("Replies", (ModelAPI,), {"generate": generate})
    return guard(model)


def ask(model):
    return asyncio.run(model.api.generate([], [], "none", GenerateConfig()))


@pytest.mark.parametrize("logprob", [-0.20261129, -math.inf])
def test_a_key_that_is_a_number_costs_no_figure_of_a_reply(monkeypatch, logprob):
    output = ModelOutput.from_content("m", "the token 20261129 is bad")
    output.choices[0].logprobs = Logprobs(content=[Logprob(token="the", logprob=logprob)])
    shown = ask(private_model(monkeypatch, output))
    assert shown.completion == "the token (left out) is bad"
    assert shown.choices[0].logprobs.content[0].logprob == logprob


def test_a_word_under_a_name_like_a_keys_stays_in_replies(monkeypatch):
    monkeypatch.setenv("KEYMAP", "international")
    monkeypatch.setenv("DESK_PASSWORD", "correcthorse")
    output = ModelOutput.from_content("m", "international trade, correcthorse")
    shown = ask(private_model(monkeypatch, output))
    assert shown.completion == "international trade, (left out)"


def test_a_password_that_holds_an_at_sign_is_left_out_whole():
    assert redacted("at postgresql://me:p@ss@host/db, a@b") == "at postgresql://host/db, a@b"


def test_errors_that_are_each_others_cause_are_cleaned(monkeypatch):
    error, inner = ConnectionError("20261129 is bad"), OSError("20261129 fell")
    error.__cause__, inner.__cause__ = inner, OSError("20261129 broke")
    inner.__cause__.__cause__ = inner
    with pytest.raises(ConnectionError) as raised:
        ask(private_model(monkeypatch, error))
    assert "20261129" not in str((error.args, inner.args, inner.__cause__.args, raised.value))


def test_a_filter_that_quotes_the_key_leaves_none_in_the_answer(monkeypatch):
    words = '{"error": "content_filter: the token 20261129"}'
    shown = ask(private_model(monkeypatch, ConnectionError("400"), words))
    assert shown.stop_reason == "content_filter"
    assert "content_filter" in shown.completion and "20261129" not in shown.completion
