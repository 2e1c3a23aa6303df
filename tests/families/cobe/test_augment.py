"""Variations: what is asked for, what is kept, and why the rest is not."""

import json

import numpy as np
import pytest
from tests.support.replies import says

from contrafact.errors import InputError
from contrafact.families.cobe.augment import (
    WAYS,
    AugmentStage,
    Rejected,
    guard_approved,
    plan_variations,
    quoted_share,
    read_variation,
    without_intervention,
)
from contrafact.families.cobe.data import (
    APPROVAL,
    StoryNotes,
    bundled_stories,
    load_stories,
    write_stories,
)
from contrafact.families.cobe.records import DOMAINS
from contrafact.stages.run import run_stage

STORIES = bundled_stories()
CORE = STORIES[1]
GOOD = {
    "text": "The violinist had a cold and the hall was freezing, so she broke off the recital.",
    "intervention": "the violinist had finished the recital",
    "unchanged": "The violinist had a cold and the hall was freezing.",
    "changed": "The violinist broke off the recital.",
    "numerical": "",
    "latent": "",
    "answer": "Although she had a cold and the hall was freezing, the violinist finished.",
}


def planned(n=3):
    return plan_variations([CORE], n, np.random.default_rng(0))


def test_ways_take_turns_domains_do_not_repeat_and_numbers_are_new():
    later = CORE.model_copy(update={"variation_id": 9, "id": "2v9", "text": "Other."})
    found = plan_variations([CORE, later], 9, np.random.default_rng(3))
    assert [one.way for one in found] == [*WAYS] * 3
    assert [one.name for one in found] == [f"2v{number}" for number in range(10, 19)]
    assert {one.core.id for one in found} == {"2v1"}, "the first of a core set is varied"
    moved = [one.domain for one in found if one.way == "domain"]
    assert len(set(moved)) == 3
    assert CORE.domain not in moved
    assert set(moved) < set(DOMAINS)
    assert all(one.domain == CORE.domain for one in found if one.way != "domain")


def test_a_good_variation_is_a_story_of_the_schema():
    story = read_variation(json.dumps(GOOD), planned()[0])
    assert story.id == "2v2"
    assert (story.graph, story.failure_modes) == (CORE.graph, CORE.failure_modes)
    assert story.queries[0].endswith("instead had the violinist finished the recital.")
    assert story.numerical is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (None, "the reply is no JSON object"),
        ({"text": ""}, "'text' is missing"),
        ({"text": 4}, "'text' is not text"),
        ({"text": "She left."}, "2 words"),
        ({"text": "word " * 400}, "400 words"),
        ({"answer": GOOD["text"]}, "repeats the text"),
        ({"unchanged": ""}, "'unchanged' is missing"),
        ({"unchanged": "Mirel had slept badly and it was stuffy."}, "'unchanged' does not quote"),
        ({"changed": "Mirel dozed off during the talk."}, "'changed' does not quote"),
        ({"intervention": "the violinist finished"}, "has no 'had'"),
    ],
)
def test_what_breaks_the_schema_is_not_kept(change, reason):
    reply = "I would rather not." if change is None else json.dumps(GOOD | change)
    with pytest.raises(InputError, match=reason):
        read_variation(reply, planned()[0])


def test_a_criterion_that_the_core_story_has_must_not_get_lost():
    core = STORIES[0]
    asked = plan_variations([core], 1, np.random.default_rng(0))[0]
    assert core.numerical
    with pytest.raises(InputError, match="'numerical' is missing"):
        read_variation(json.dumps(GOOD), asked)


def test_quoting_is_by_stems():
    assert quoted_share("The engines overheated.", "the engine was overheating") == 1.0
    assert quoted_share("Rain fell.", "the sun shone") == 0.0
    assert quoted_share("", "anything") == 0.0


@pytest.fixture
def run(tmp_path, monkeypatch):
    def run_with(replies, stories=(CORE,), plan=None):
        given = iter(replies)

        def answer(_):
            reply = next(given)
            if isinstance(reply, Exception):
                raise reply
            return reply

        model = says(answer, "writer")
        monkeypatch.setattr("contrafact.families.cobe.augment.open_model", lambda *_, **__: model)
        plan = plan or planned()
        stage = AugmentStage(stories, plan, "mockllm/writer", max_connections=1)
        found = run_stage(stage, [{"id": one.name} for one in plan], tmp_path / "out.json")
        rejected = [one for _, one in sorted(found.made.figures) if isinstance(one, Rejected)]
        kept = len(rejected) < len(plan)
        stories = load_stories(tmp_path / "out.json") if kept else []
        return stories, rejected, found.causes

    return run_with


def test_duplicates_and_failures_are_reported_and_everything_kept_awaits_approval(run, tmp_path):
    again = GOOD | {"text": GOOD["text"].upper()}
    stories, (duplicate, failed), causes = run(
        [json.dumps(GOOD), json.dumps(again), RuntimeError("no credit left")]
    )
    assert [story.id for story in stories] == ["2v2"]
    assert duplicate.reason == "a duplicate: the same text as 2v2"
    assert "no credit left" in failed.reason and len(causes) == 1
    assert json.loads(duplicate.line())["id"] == "2v3"
    notes = StoryNotes()
    load_stories(tmp_path / "out.json", notes)
    assert notes.lines() == ["1 row awaiting a person's approval (line 2)"]
    (row,) = json.loads((tmp_path / "out.json").read_text())
    assert (row["Awaiting approval"], row["Variation kind"]) == (True, "domain")


def test_only_what_failed_is_asked_for_again_and_what_is_new(run):
    _, _, causes = run([json.dumps(GOOD), "no story", RuntimeError("no credit left")])
    assert len(causes) == 1
    other = GOOD | {"text": GOOD["text"].replace("recital", "concert that evening")}
    stories, rejected, _ = run([json.dumps(other), "no story either"], plan=planned(4))
    assert [story.id for story in stories] == ["2v2", "2v4"]
    assert [one.reply for one in rejected] == ["no story", "no story either"]


def test_the_core_story_itself_is_a_duplicate(run):
    own = GOOD | {"text": CORE.text, "unchanged": CORE.unchanged, "changed": CORE.changed}
    _, (rejected,), _ = run([json.dumps(own)], plan=planned(1))
    assert rejected.reason == "a duplicate: the same text as 2v1 of the other set"


def test_a_story_whose_queries_are_all_in_free_form_is_skipped_and_the_others_are_varied():
    some = CORE.model_copy(update={"queries": ("What if?", *CORE.queries[1:])})
    free = CORE.model_copy(
        update={"id": "77v1", "core_set_id": 77, "queries": ("What if?", "And if not?", "Else?")}
    )
    assert without_intervention([some, free]) == [free]
    found = plan_variations([free, some], 2, np.random.default_rng(0))
    assert [one.core.id for one in found] == [CORE.id] * 2


def test_the_command_names_what_it_skips(quick_contrafact, tmp_path):
    path = tmp_path / "free.json"
    free = CORE.model_copy(update={"queries": ("What if?", "And if not?", "Or else?")})
    write_stories([free], path, [{}])
    run = quick_contrafact("cobe", "augment", str(path), "--model", "none/none", "--out", "o.json")
    assert run.returncode == 2
    assert f"story {CORE.id} is not varied" in run.stderr
    assert "no story has a query" in run.stderr
    assert not (tmp_path / "o.json").exists()


def test_stories_that_were_approved_are_never_written_over(tmp_path):
    out = tmp_path / "variations.json"
    guard_approved(out)
    story = bundled_stories()[0]
    for more in ([{APPROVAL: True}], []):
        write_stories([story][: len(more)], out, more)
        guard_approved(out)
    write_stories([story, story], out, [{APPROVAL: True}, {}])
    with pytest.raises(InputError, match="does not await approval"):
        guard_approved(out)
