"""Ways of asking: what they show the model, what they keep, what they do with a bad reply."""

import asyncio
import re

import pandas as pd
import pytest
from inspect_ai.model import ModelOutput
from tests.support.replies import says

from contrafact.errors import InputError
from contrafact.families.cobe.data import StoryQuery, bundled_shots, bundled_stories
from contrafact.families.cobe.methods import METHODS
from contrafact.families.cobe.methods.few_shot import draw_shots
from contrafact.families.cobe.read.told import decide, read_by_grammar
from contrafact.families.cobe.synth.prove import situation_of
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings, ShotOptions
from contrafact.family.task import read_text
from contrafact.judges.replies import MAX_CHARACTERS
from contrafact.models.asking import Ask

STORY = bundled_stories()[0]


def model(*replies, seen=None):
    answers = iter(replies)
    return says(lambda _: next(answers), seen=seen)


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


ARNSFELD = {
    "graph": {"fuse": [], "oven": ["fuse"], "bread": ["oven"], "queue": ["bread"], "clown": []},
    "mechanisms": {
        "fuse": "u_fuse",
        "oven": "fuse",
        "bread": "oven",
        "queue": "12 + u_queue + 28*bread",
        "clown": "u_clown",
    },
    "noise": {term: [0.5, 0.5] for term in ("u_fuse", "u_queue", "u_clown")},
    "told": ["fuse", "oven", "bread", "queue", "clown"],
    "quantities": ["queue"],
    "relations": [],
    "wordings": {
        "queue": {"amounts": ["the queue was {n} people"], "entity": "the queue", "unit": "people"},
        **{
            name: {
                "true": {"clauses": [so], "supposed": [so.replace(*verb)]},
                "false": {"clauses": [not_so], "supposed": [not_so.replace(*verb)]},
            }
            for name, so, not_so, verb in (
                ("fuse", "the fuse blew", "the fuse held", ("fuse ", "fuse had ")),
                ("oven", "the oven was cold", "the oven was hot", ("was", "had been")),
                ("bread", "the bread came late", "the bread came early", ("came", "had come")),
                ("clown", "a clown juggled in the market", "no clown juggled in the market",
                 ("juggled", "had juggled")),
            )
        },
    },
}  # fmt: skip


def test_the_example_of_an_edit_in_place_is_proven_right_and_denials_of_it_wrong():
    seen = []
    edited = edit("in-place", "The new text.", seen=seen, phrasing="A")
    assert edited.text == "The new text."
    prompt = seen[0][0][-1].text
    assert prompt.endswith(f"<text>{STORY.text}</text>\n\n{STORY.queries[0]}")
    story, query, answer = re.search(
        r"<text>([^<]+)</text>\n\n(Rewrite [^\n]+)\n\n([^\n]+)\n\nThe text to edit", prompt
    ).groups()
    setting = re.findall(r"[^.]+\.", story)[:2]
    proof = ARNSFELD | {"setting": [sentence.strip() for sentence in setting]}
    facts = situation_of({"Variation text": story, "Query": [query], "Proof": proof})
    asked = {"E1": True, "E2": True, "E3": True, "E4": True}

    def passed(text):
        decided = decide(facts, read_by_grammar(facts, text))
        return {name: decided[name].passed for name in asked}

    assert passed(answer) == asked
    assert passed(answer.replace("The fuse blew", "The fuse did not blow")) == asked | {"E1": False}
    assert passed(answer.replace("did not come", "came")) == asked | {"E2": False}
    assert passed(answer.replace("12", "70")) == asked | {"E4": False}


def test_an_edit_in_place_is_asked_for_on_the_command_line(quick_contrafact, tmp_path):
    drawn = quick_contrafact("cobe", "synth", "--n", "1", "--seed", "3", "--out", "stories.jsonl")
    assert drawn.returncode == 0, drawn.stderr
    ran = quick_contrafact(
        "run", "cobe", "--method", "in-place", "--model", "embedded/smollm2-135m", "--judge",
        "proof", "--data", "stories.jsonl", "--max-tokens", "96", "--out", "run",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert list(items.method) == ["in-place"] * 3
    assert (items.text.notna() | items.invalid_reason.notna()).all()


def test_solvers_are_found_by_name_or_import_path_and_plan_their_calls():
    assert METHODS.names() == ["abduct-act-predict", "few-shot", "in-place", "plain"]
    calls = {
        name: len(METHODS.make(name, MethodContext()).plan(StoryQuery(STORY, "A")))
        for name in METHODS.names()
    }
    assert calls == {"abduct-act-predict": 4, "few-shot": 1, "in-place": 1, "plain": 1}
    assert METHODS.make("contrafact.families.cobe.methods.plain", MethodContext()).name == "plain"
    with pytest.raises(InputError, match="no method 'guess'"):
        METHODS.make("guess", MethodContext())
    with pytest.raises(InputError, match="cannot import"):
        METHODS.make("nowhere.guess", MethodContext())
    with pytest.raises(InputError, match="no function 'method"):
        METHODS.make("contrafact.families.cobe.items", MethodContext())
