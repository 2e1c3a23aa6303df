"""Reading a reply into two counterfactuals: each side valid, or invalid with its reason."""

import asyncio
import json
import re
from dataclasses import asdict

import pandas as pd
import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
)

from contrafact.families.finforce.data import bundled_headlines
from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.task import RUN
from contrafact.family.method import MethodContext
from contrafact.models.requests import request_body
from contrafact.text.degenerate import OF_ANY, OF_INPUT

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


@pytest.mark.parametrize(
    ("risk", "reason"),
    [
        (None, "not text"),
        (["a"], "not text"),
        ("", "empty"),
        (" ... ", "empty"),
        ("x" * 2001, "over 2000 characters"),
        ("absent", "no risk counterfactual in the reply"),
    ],
)
def test_one_bad_side_leaves_the_other_valid_and_is_never_guessed_from_it(risk, reason):
    value = {**PAIR, "risk_counterfactual": risk}
    if risk == "absent":
        del value["risk_counterfactual"]
    generation = read_pair(reply(json.dumps(value)))
    assert generation.texts == {"risk": None, "opportunity": "Ore prices soar"}
    assert reason in generation.invalid["risk"]
    assert "opportunity" not in generation.invalid


def test_keys_cuts_and_line_breaks_are_told_or_mended():
    generation = read_pair(reply(json.dumps({"risk": "a\nb\t c ", "opportunity": "c d"})))
    assert generation.texts == {"risk": "a b c", "opportunity": "c d"}
    assert generation.repairs == ("key 'risk'", "key 'opportunity'")
    cut = read_pair(reply('{"risk_counterfactual": "Ore pri', stop="max_tokens"))
    assert set(cut.invalid.values()) == {"cut off at the token limit"}
    none = Generation.none("prompt too long")
    assert none.texts == {"risk": None, "opportunity": None}
    assert none.invalid == {"risk": "prompt too long", "opportunity": "prompt too long"}


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
    for method in ("zero-shot", "few-shot"):
        (call,) = METHODS.make(method, MethodContext()).plan(headline)
        found = re.findall(r'{"Counterfactuals": \[{.*}\]}', call.prompt)
        assert len(found) == (4 if method == "few-shot" else 1), "the form, and each example"
        assert all(list(json.loads(one)["Counterfactuals"][0]) == names for one in found)


def test_a_pair_that_the_list_repeats_counts_once_and_different_pairs_are_invalid():
    repeated = read_pair(reply(json.dumps({"Counterfactuals": [PAIR, PAIR]})))
    assert repeated.texts["risk"] == "Ore prices sink"
    assert repeated.repairs == ("repeated pair",)
    other = {**PAIR, "risk_counterfactual": "Ore prices halve"}
    several = read_pair(reply(json.dumps({"Counterfactuals": [PAIR, other]})))
    assert several.texts == {"risk": None, "opportunity": None}
    assert "several different pairs" in several.invalid["risk"]
    twice = read_pair(reply(json.dumps({**PAIR, "Risk": "Ore prices halve"})))
    assert (twice.texts["risk"], bool(twice.texts["opportunity"])) == (None, True)
    assert twice.invalid == {"risk": "several different risk counterfactuals"}


def test_a_model_run_here_is_held_to_one_pair_and_a_service_is_sent_the_plain_list():
    schema = pair_schema("original_headline", nested=True)
    config = GenerateConfig(response_schema=schema)
    body = asyncio.run(request_body("m", [ChatMessageUser(content="x")], config))
    sent = body["response_format"]["json_schema"]["schema"]["properties"]["Counterfactuals"]
    assert (sent["minItems"], sent["maxItems"]) == (1, 1)
    assert "Items" not in json.dumps(schema.json_schema.model_dump(exclude_none=True))


def test_what_only_a_whole_system_shows_is_found_when_its_table_is_made():
    said = "Everybody gains as conditions improve"
    heads = ["Norwind Bank cuts its key rate", "Talmora Steel hires", "Velda port strike ends"]
    rows = [
        {"system": system, "headline": one, "text": text, "degenerate": None}
        for system, texts in (
            ("vague", [said] * 3),
            ("good", [f"{one} and lenders take heart" for one in heads]),
            ("mixed", [said, None, heads[2]]),
        )
        for one, text in zip(heads, texts, strict=True)
    ]
    rows[8]["degenerate"] = OF_INPUT  # what the prompt has shown stays
    found = RUN.check_across(pd.DataFrame(rows))["degenerate"].tolist()
    assert found[:3] == [OF_ANY] * 3 and found[8] == OF_INPUT
    assert pd.isna(found[3:8]).all()
    other_way = RUN.check_across(pd.DataFrame(rows).iloc[::-1])["degenerate"]
    assert other_way.sort_index().fillna("").tolist() == pd.Series(found).fillna("").tolist()


def test_a_result_is_written_by_side_and_read_again():
    kept = {
        "texts": {"risk": "Ore sinks", "opportunity": None},
        "invalid": {"opportunity": "empty"},
        "repairs": ["key 'risk'"],
        "trace": {"steps": [1, 2]},
        "degenerate": {"risk": "the headline itself"},
    }
    made = Generation(**kept)
    assert json.loads(json.dumps(asdict(made))) == kept
    assert made.outputs["risk"].degenerate == "the headline itself"
    assert made.outputs["opportunity"].invalid == "empty"


def test_a_side_that_a_method_says_nothing_of_is_invalid():
    made = Generation({"risk": "Ore sinks"})
    assert made.texts == {"risk": "Ore sinks", "opportunity": None}
    assert made.invalid == {"opportunity": "no opportunity counterfactual"}
