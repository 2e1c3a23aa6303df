"""The request body, against the one Inspect's HTTP provider builds."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import ChatMessageUser, GenerateConfig, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.models.requests import clean_value, request_body
from contrafact.text.delimit import tokenizable


def body(config: GenerateConfig, text: str = "hi") -> dict[str, Any]:
    return asyncio.run(request_body("m", [ChatMessageUser(content=text)], config))


def test_settings_that_are_not_set_are_not_sent() -> None:
    assert body(GenerateConfig()) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_a_schema_goes_along_as_it_is_without_what_it_leaves_out() -> None:
    part = JSONSchema(type="string", maxLength=9, description="told")
    schema = JSONSchema(
        type="object", properties={"text": part}, required=["text"], additionalProperties=False
    )
    config = GenerateConfig(response_schema=ResponseSchema(name="n", json_schema=schema))
    assert body(config)["response_format"]["json_schema"]["schema"] == {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 9, "description": "told"}},
        "required": ["text"],
        "additionalProperties": False,
    }


def test_extra_body_and_llama_cpp_settings_go_along() -> None:
    config = GenerateConfig(
        top_k=5, cache_prompt=False, logit_bias={7: -1.0}, extra_body={"min_p": 0.1}
    )
    sent = body(config)
    assert (sent["top_k"], sent["cache_prompt"], sent["min_p"]) == (5, False, 0.1)
    assert sent["logit_bias"] == {"7": -1.0}


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [("a\x00b", "ab"), ("a\ud800b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("plain\n", "plain\n")],
)
def test_cleaning(text: str, cleaned: str) -> None:
    assert tokenizable(text) == cleaned
    assert body(GenerateConfig(stop_seqs=[text]), text)["messages"][0]["content"] == cleaned
    assert clean_value({text: [text, 1, None]}) == {cleaned: [cleaned, 1, None]}


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_cleaned_text_is_utf8_and_cleaning_it_again_changes_nothing(text: str) -> None:
    once = tokenizable(text)
    once.encode("utf-8")
    assert "\x00" not in once
    assert tokenizable(once) == once
