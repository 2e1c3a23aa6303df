"""Ways of asking: what they show the model, what they keep, what they do with a bad reply."""

import asyncio
import json

import pytest
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from contrafact.errors import InputError
from contrafact.families.cobe.causal_graph import read_graph
from contrafact.families.cobe.data import StoryQuery, bundled_shots, bundled_stories
from contrafact.families.cobe.methods import METHODS
from contrafact.families.cobe.methods.few_shot import draw_shots
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings, ShotOptions
from contrafact.family.task import MAX_CHARACTERS, read_text
from contrafact.models.asking import Ask

STORY = bundled_stories()[0]
GRAPH = {
    "events": [
        {"name": "split", "says": "a hose split"},
        {"name": "heat", "says": "the engine overheated"},
        {"name": "stop", "says": "the driver stopped"},
        {"name": "rain", "says": "it rained"},
    ],
    "edges": [{"cause": "split", "effect": "Heat "}, {"cause": "heat", "effect": "stop"}],
    "intervened": ["heat"],
}


def model(*replies, seen=None):
    answers = iter(replies)

    def answer(messages, tools, tool_choice, config):
        if seen is not None:
            seen.append((list(messages), config))
        output = ModelOutput.from_content("mockllm/model", next(answers))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def edit(name, *replies, seen=None, phrasing="B", **context):
    method = METHODS.make(name, MethodContext(**context))
    return asyncio.run(method(StoryQuery(STORY, phrasing), Ask(model(*replies, seen=seen))))


@pytest.mark.parametrize("name", ["plain", "few-shot"])
def test_one_call_with_the_query_in_its_phrasing(name):
    seen = []
    edited = edit(name, "The new text.\n\n(A remark.)", seen=seen)
    assert edited.text == "The new text.\n\n(A remark.)", "judged as it came"
    ((messages, _),) = seen
    prompt = messages[-1].text
    assert prompt.endswith(STORY.queries[1])
    assert f"<text>{STORY.text}</text>" in prompt
    shown = [shot for shot in bundled_shots() if shot.answer in prompt]
    assert len(shown) == (3 if name == "few-shot" else 0)
    assert all(shot.queries[1] in prompt for shot in shown)
    assert STORY.answer not in prompt
    assert STORY.unchanged not in prompt.replace(STORY.text, "")


def test_examples_are_the_same_for_all_and_never_of_the_storys_own_core():
    pool = [*bundled_stories(), *bundled_shots()]
    names = [
        [shot.id for shot in draw_shots(pool, 4, seed=1, draw=draw, story=story)]
        for draw in (1, 2)
        for story in bundled_shots()[:1] + bundled_stories()[:1]
    ]
    assert all(len(set(own)) == 4 for own in names)
    assert names[0] != names[2], "another draw, another order"
    varied = STORY.model_copy(update={"variation_id": 2, "id": "1v2", "text": "Another."})
    for story in bundled_stories():
        own = draw_shots([*pool, varied], 19, seed=0, draw=1, story=story)
        assert story.core_set_id not in {shot.core_set_id for shot in own}
        assert len({shot.core_set_id for shot in own}) == len(own)
    with pytest.raises(InputError, match="too few to draw 5"):
        settings = RunSettings(options=ShotOptions(shots=5))
        METHODS.make("few-shot", MethodContext(settings, pool=bundled_shots()))


def test_three_steps_then_the_text_in_one_conversation():
    seen = []
    edited = edit("abduct-act-predict", "facts", "change", "effects", "The text.", seen=seen)
    assert edited.text == "The text."
    assert edited.trace["steps"] == {
        "situate": "facts",
        "intervene": "change",
        "predict": "effects",
    }
    last = seen[-1][0]
    assert [message.role for message in last] == ["user", "assistant"] * 3 + ["user"]
    assert STORY.text in last[0].text
    assert "Reply with the rewritten text only" in last[-1].text


def test_the_graph_is_kept_and_its_descendants_are_what_may_change():
    seen = []
    edited = edit("graph-first", json.dumps(GRAPH), "The text.", seen=seen)
    assert edited.text == "The text."
    graph = edited.trace["graph"]
    assert graph["edges"][0] == {"cause": "split", "effect": "heat"}
    assert (graph["intervened"], graph["downstream"]) == (["heat"], ["stop"])
    assert graph["kept"] == ["split", "rain"], "causes of what is set stay"
    assert seen[0][1].response_schema.name == "causal_graph"
    prompt = seen[1][0][-1].text
    may_change = prompt.split("may change")[1].split("stay as they are")[0]
    assert "- the driver stopped" in may_change
    assert "- a hose split" in prompt.split("stay as they are")[1]


def test_a_graph_that_cannot_be_used_is_asked_for_once_more_then_invalid():
    seen = []
    edited = edit("graph-first", "no graph", json.dumps(GRAPH), "The text.", seen=seen)
    assert edited.text == "The text."
    assert edited.trace["refused_graphs"][0]["reply"] == "no graph"
    assert "the graph is no JSON object" in seen[1][0][-1].text
    edited = edit("graph-first", "no graph", "none again")
    assert edited.text is None
    assert edited.invalid == "no usable graph: the graph is no JSON object"
    assert edited.reply == "none again"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"events": []}, "fewer than two events"),
        ({"events": GRAPH["events"] + [{"name": " SPLIT", "says": ""}]}, "are called ' SPLIT'"),
        ({"events": [{"says": "x"}, {"says": "y"}]}, "has no name"),
        ({"edges": [{"cause": "split", "effect": "snow"}]}, "unknown event 'snow'"),
        ({"edges": ["split"]}, "unknown event"),
        ({"intervened": []}, "which of its events the query sets"),
        ({"intervened": ["snow"]}, "which of its events the query sets"),
        ({"edges": GRAPH["edges"] + [{"cause": "stop", "effect": "split"}]}, "cycle"),
    ],
)
def test_a_graph_is_checked(change, reason):
    graph, why = read_graph(json.dumps(GRAPH | change))
    assert graph is None
    assert reason in why


@pytest.mark.parametrize(
    ("reply", "stop", "reason"),
    [
        ("", "stop", "empty reply"),
        (" … ", "stop", "empty reply"),
        ("", "max_tokens", "cut off at the token limit"),
        ("The van did not over", "max_tokens", "cut off at the token limit"),
        ("<think>The van", "stop", "the reasoning never ended"),
        ("x" * (MAX_CHARACTERS + 1), "stop", "over 20,000 characters"),
    ],
)
def test_an_empty_or_endless_reply_is_invalid(reply, stop, reason):
    edited = read_text(ModelOutput.from_content("m", reply, stop_reason=stop))
    assert edited.text is None
    assert reason in edited.invalid
    assert edited.reply == reply


def test_solvers_are_found_by_name_or_import_path_and_plan_their_calls():
    assert METHODS.names() == ["abduct-act-predict", "few-shot", "graph-first", "plain"]
    calls = {
        name: len(METHODS.make(name, MethodContext()).plan(StoryQuery(STORY, "A")))
        for name in METHODS.names()
    }
    assert calls == {"abduct-act-predict": 4, "few-shot": 1, "graph-first": 2, "plain": 1}
    assert METHODS.make("contrafact.families.cobe.methods.plain", MethodContext()).name == "plain"
    with pytest.raises(InputError, match="no method 'guess'"):
        METHODS.make("guess", MethodContext())
    with pytest.raises(InputError, match="cannot import"):
        METHODS.make("nowhere.guess", MethodContext())
    with pytest.raises(InputError, match="no function 'method"):
        METHODS.make("contrafact.families.cobe.items", MethodContext())
