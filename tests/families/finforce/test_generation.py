"""Reading a reply into two counterfactuals: each side valid, or invalid with its reason."""

import json
import re

import pytest
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput

from contrafact.families.finforce.data import bundled_headlines
from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.families.finforce.methods import METHODS
from contrafact.family.method import MethodContext

PAIR = {"opportunity_counterfactual": "Ore prices soar", "risk_counterfactual": "Ore prices sink"}


def reply(text: str, stop="stop") -> ModelOutput:
    message = ChatMessageAssistant(content=text)
    return ModelOutput(model="m", choices=[ChatCompletionChoice(message=message, stop_reason=stop)])


@pytest.mark.parametrize(
    "value",
    [
        PAIR,
        {"original_headline": "Ore prices steady", **PAIR},
        {"Counterfactuals": [{"original_headline": "Ore prices steady", **PAIR}]},
        {key.replace("_", " ").title(): text for key, text in PAIR.items()},
        {"scenarios": [{f"{key}_scenario": text for key, text in PAIR.items()}]},
    ],
)  # fmt: skip
def test_the_formats_of_paper_and_data_are_read(value):
    generation = read_pair(reply(json.dumps(value)))
    assert generation.texts == {"risk": "Ore prices sink", "opportunity": "Ore prices soar"}
    assert not generation.invalid


def test_keys_of_another_name_are_counted_as_repaired():
    generation = read_pair(reply(json.dumps({"risk": "a b", "opportunity": "c d"})))
    assert generation.repairs == ("key 'risk'", "key 'opportunity'")


@pytest.mark.parametrize(
    ("risk", "reason"),
    [
        (None, "not text"),
        (["a"], "not text"),
        ("", "empty"),
        (" ... ", "empty"),
        ("x" * 2001, "over 2000 characters"),
    ],
)
def test_one_bad_side_leaves_the_other_valid(risk, reason):
    generation = read_pair(reply(json.dumps({**PAIR, "risk_counterfactual": risk})))
    assert generation.texts == {"risk": None, "opportunity": "Ore prices soar"}
    assert reason in generation.invalid["risk"]
    assert "opportunity" not in generation.invalid


def test_a_missing_side_is_never_guessed_from_the_other():
    generation = read_pair(reply('{"risk_counterfactual": "Ore prices sink"}'))
    assert generation.texts["opportunity"] is None
    assert generation.invalid == {"opportunity": "no opportunity counterfactual in the reply"}


def test_a_reply_cut_off_says_so():
    generation = read_pair(reply('{"risk_counterfactual": "Ore pri', stop="max_tokens"))
    assert set(generation.invalid.values()) == {"cut off at the token limit"}


def test_line_breaks_in_a_counterfactual_become_spaces():
    value = {**PAIR, "risk_counterfactual": "Ore\nprices\t sink "}
    assert read_pair(reply(json.dumps(value))).texts["risk"] == "Ore prices sink"


def test_the_chain_of_reasoning_is_kept():
    generation = read_pair(reply(json.dumps({"reasoning": "step 1", **PAIR})), {"a": 1})
    assert generation.trace == {"a": 1, "reasoning": "step 1"}


def test_the_schema_asks_for_what_the_reader_reads():
    schema = pair_schema("reasoning").json_schema
    names = list(schema.properties or {})
    assert names == ["reasoning", *PAIR]
    assert schema.required == names
    value = dict.fromkeys(names, "some text")
    assert not read_pair(reply(json.dumps(value))).invalid


def test_the_papers_format_is_asked_for_shown_and_read():
    """FIN-FORCE, table 8: nested, the opportunity first."""
    whole = pair_schema("original_headline", nested=True).json_schema
    assert list(whole.properties) == ["Counterfactuals"]
    names = list(whole.properties["Counterfactuals"].items.properties)
    assert names == ["original_headline", *PAIR]
    value = {"Counterfactuals": [dict.fromkeys(names, "some text")]}
    assert not read_pair(reply(json.dumps(value))).invalid
    headline = bundled_headlines()[0]
    for method in ("zero-shot", "guided", "few-shot"):
        (call,) = METHODS.make(method, MethodContext()).plan(headline)
        found = re.findall(r'{"Counterfactuals": \[{.*}\]}', call.prompt)
        assert len(found) == (4 if method == "few-shot" else 1), "the form, and each example"
        assert all(list(json.loads(one)["Counterfactuals"][0]) == names for one in found)


def test_only_guided_says_what_the_judge_looks_for():
    headline = bundled_headlines()[0]
    plain, guided = (
        METHODS.make(method, MethodContext()).plan(headline)[0].prompt
        for method in ("zero-shot", "guided")
    )
    for asked in ("beyond a single party", "do not deny it", "Name a concrete development"):
        assert asked in guided and asked not in plain


def test_an_unanswered_call_is_invalid_on_both_sides():
    generation = Generation.none("prompt too long")
    assert set(generation.texts.values()) == {None}
    assert generation.invalid == {"risk": "prompt too long", "opportunity": "prompt too long"}
