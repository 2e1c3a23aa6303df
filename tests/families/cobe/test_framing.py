"""How requests are put: one convention in three wordings, by every way of asking, told apart."""

import asyncio
import json
from pathlib import Path

import pandas as pd
import pytest
from tests.support.replies import evaluated, says

import contrafact as cf
from contrafact.errors import InputError
from contrafact.families.cobe.data import StoryQuery, bundled_stories, cause_told, read_story
from contrafact.families.cobe.methods import METHODS, framing_of
from contrafact.families.cobe.phrasing import FRAMINGS, request_of, usual_framing
from contrafact.families.cobe.reward import edit_reward, reward_rows
from contrafact.families.cobe.settings import CobeOptions
from contrafact.families.cobe.stories import Stories
from contrafact.families.cobe.synth.compose import line_of
from contrafact.family import edit_specs
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings, identity
from contrafact.models.asking import Ask
from contrafact.prompts import open_pack

OUTSIDE = {
    "stated:1": "Take the change as made by a hand from outside",
    "stated:2": "Treat this change as an intervention",
    "stated:3": "for reasons outside the story",
}


@pytest.fixture(scope="module")
def rows():
    """Four drawn stories of one block, as rows of a file."""
    drawn = Stories(4)
    return [json.loads(drawn[place]["metadata"]["story"]) for place in range(4)]


@pytest.fixture
def drawn(rows, tmp_path: Path) -> str:
    (tmp_path / "drawn.jsonl").write_text("".join(f"{line_of(row)}\n" for row in rows))
    return "drawn.jsonl"


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("name", ["plain", "few-shot", "abduct-act-predict"])
def test_every_method_asks_with_the_sentence_behind_the_query(name, framing):
    seen: list = []
    story = bundled_stories()[0]
    spec = name if framing == "plain" else f"{name} · {framing}"
    method = METHODS.make(spec, MethodContext())
    asyncio.run(method(StoryQuery(story, "C"), Ask(says(lambda _: "A text.", seen=seen))))
    asked = "\n".join(message.text for message in seen[-1][0] if message.role == "user")
    for one, words in OUTSIDE.items():
        assert (words in asked) == (one == framing), "no wording but its own"
    if framing != "plain":
        assert request_of(open_pack(), framing)(story.queries[2]).startswith(story.queries[2])
        assert request_of(open_pack(), framing)(story.queries[2]) in asked
    assert framing_of(method.name) == (name, framing)
    planned = "".join(call.prompt for call in method.plan(StoryQuery(story, "C")))
    assert (OUTSIDE.get(framing, "None of them") in planned) == (framing != "plain")


def test_the_default_is_by_what_stories_tell_and_a_told_cause_by_their_graphs(rows):
    stories = [read_story(row) for row in rows]
    assert usual_framing(bundled_stories()) == "plain"
    assert usual_framing([*bundled_stories(), *stories]) == "stated:1"
    bare = [story.model_copy(update={"text": "Nothing is told."}) for story in stories]
    assert usual_framing(bare) == "plain", "no rule stands in the text"
    assert cause_told(bundled_stories()[0]) is None
    for row, story in zip(rows, stories, strict=True):
        proof = row["Proof"]
        causes = {one for name in proof["intervention"] for one in proof["graph"][name]}
        left = [one for one in causes if one in proof["told"] and one not in proof["intervention"]]
        assert cause_told(story) is bool(left)


def test_trainers_get_the_convention_unless_they_ask_plainly(rows):
    stories = [read_story(row) for row in rows]
    by_framing = {one: Stories(4, framing=one)[0] for one in FRAMINGS}
    assert Stories(4)[0] == by_framing["stated:1"] == cf.stories(4, framing="stated")[0]
    for framing, entry in by_framing.items():
        assert entry["metadata"]["framing"] == framing
        assert [one for one in OUTSIDE if OUTSIDE[one] in entry["question"]] == [
            one for one in OUTSIDE if one == framing
        ]
        assert entry["answer"] == by_framing["plain"]["answer"], "what is right is the same"
    with pytest.raises(InputError, match="no framing 'stated:4'"):
        cf.stories(4, framing="stated:4")

    assert all(OUTSIDE["stated:1"] in row["prompt"] for row in reward_rows(stories))
    plain = reward_rows(stories, "plain")
    assert not any(words in row["prompt"] for row in plain for words in OUTSIDE.values())
    assert not any(OUTSIDE["stated:1"] in row["prompt"] for row in reward_rows(bundled_stories()))
    answers = [row["Representative answer"] for row in rows for _ in range(3)]
    for made in (plain, reward_rows(stories)):
        columns = {name: [row[name] for row in made] for name in ("story", "query")}
        prompts = [row["prompt"] for row in made]
        assert edit_reward("proof")(prompts, answers, **columns) == [1.0] * 12

    spec = edit_specs()["cobe"]
    assert (spec.framing(None), spec.framing("stated")) == ("stated:1", "stated:1")
    tasks = {
        one: next(spec.tasks(open_pack(), "train", 1, 1, one)) for one in ("plain", "stated:3")
    }
    assert OUTSIDE["stated:3"] in tasks["stated:3"].prompt
    assert tasks["plain"].answer == tasks["stated:3"].answer


def test_a_plain_run_is_the_run_that_it_was_and_other_framings_are_others():
    def of(*framing: str) -> str:
        options = CobeOptions(framing=framing)
        settings = RunSettings(task="cobe", methods=("plain",), options=options)
        return identity(settings, {})

    assert of("plain") == of()
    with pytest.raises(ValueError, match="no framing 'loud'"):
        of("loud")


@pytest.mark.slow
def test_inspect_takes_one_framing_and_the_default_by_data(drawn, tmp_path):
    def asked(**arguments):
        log, _ = evaluated(
            "cobe", says(lambda _: "A text."), tmp_path, judged=False, limit=1, **arguments
        )
        return log.samples[0].messages, log.eval.metadata["method"]

    path = str(tmp_path / drawn)
    assert asked(data=path)[1] == "plain · stated:1"
    assert asked(data=path, framing="plain")[1] == "plain"
    assert asked(framing="stated:2")[1] == "plain · stated:2"
    with pytest.raises(InputError, match="two tasks"):
        asked(framing=["plain", "stated"])


def test_framings_make_a_grid_with_a_table_of_reading_and_following(
    quick_contrafact, drawn, tmp_path
):
    both = {"framing": ["plain", "stated"], "limit": 1, "data": tmp_path / drawn}
    assert cf.run("cobe", model="embedded/smollm2-135m", **both, estimate=True).calls == 6
    common = ("--model", "embedded/smollm2-135m", "--data", drawn, "--max-tokens", "24")
    ran = quick_contrafact(
        "run", "cobe", *common, "--framing", "plain", "--framing", "stated", "--limit", "1",
        "--judge", "proof", "--temperature", "0", "--out", "run", code=0,
    )  # fmt: skip
    assert "request:" not in ran.stderr, "nothing is a default here"
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert list(items["framing"]) == ["plain"] * 3 + ["stated:1"] * 3
    assert set(items["method"]) == {"plain"} and items["cause_told"].notna().all()
    assert items["system"].nunique() == 2 and items["query"].nunique() == 3
    calls = pd.read_parquet(tmp_path / "run" / "calls.parquet")
    stated = calls["system"].str.endswith("stated:1")
    assert list(calls["prompt"].str.contains(OUTSIDE["stated:1"])) == list(stated)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["settings"]["framing"] == ["plain", "stated:1"]
    assert "cobe/framing" in manifest["pack"]["templates"]
    table = pd.read_csv(tmp_path / "run" / "tables" / "framing.csv")
    assert table["which"].iloc[0] == "all" and table["pairs_strict"].iloc[0] == 3
    assert "Reading the request" in (tmp_path / "run" / "report.html").read_text()

    again = quick_contrafact("run", "--config", "run/config.yaml", "--out", "run", code=0)
    assert "no model was called" in again.stdout


def test_a_default_is_said_and_an_unfinished_run_of_before_goes_on(
    quick_contrafact, drawn, tmp_path
):
    common = ("run", "cobe", "--model", "embedded/smollm2-135m", "--data", drawn)
    common += ("--max-tokens", "12", "--limit", "1", "--temperature", "0", "--judge", "proof")
    ran = quick_contrafact(*common, "--out", "stated", code=0)
    assert "request: stated:1, default for drawn stories" in ran.stderr
    assert "request: stated:1, default for drawn" in (tmp_path / "stated/report.html").read_text()

    quick_contrafact(*common, "--framing", "plain", "--out", "old", code=0)
    path = tmp_path / "old" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["settings"]["framing"]
    path.write_text(json.dumps({**manifest, "status": "running"}))
    refused = quick_contrafact(*common, "--out", "old", code=2)
    assert "it differs in prompts" in refused.stderr
    resumed = quick_contrafact(*common, "--framing", "plain", "--out", "old", code=0)
    assert "3 of 3 samples had finished" in resumed.stderr
    assert len(list((tmp_path / "old" / "logs").glob("*.eval"))) == 1

    compared = quick_contrafact("diff", "old", "stated", code=0)
    assert "stated:1" in compared.stdout


@pytest.mark.parametrize("name", ["stated:4", "stated:", "loud"])
def test_a_framing_that_does_not_exist_is_one_line(quick_contrafact, name, tmp_path):
    model = ("--model", "embedded/smollm2-135m")
    refused = quick_contrafact("run", "cobe", *model, "--framing", name, code=2)
    (line,) = refused.stderr.splitlines()
    assert f"there is no framing '{name}'" in line and "stated:3" in line
    (tmp_path / "run.yaml").write_text(f"task: cobe\nmodel: m/n\nframing:\n- plain\n- {name!r}\n")
    refused = quick_contrafact("run", "--config", "run.yaml", code=2)
    (line,) = refused.stderr.splitlines()
    assert "run.yaml:3: framing: there is no framing" in line


def test_the_table_is_what_one_counts_by_hand(quick_contrafact, rows, drawn, tmp_path):
    """Right where it is stated, and plainly wrong in the phrasings A and B: back to a cause."""
    outputs = []
    for row in rows:
        wrong = next(one["text"] for one in row["Wrong answers"] if not one["verdicts"]["E1"])
        for phrasing in "ABC":
            story = {"id": f"{row['Core Set ID']}v{row['Variation ID']}", "phrasing": phrasing}
            right = row["Representative answer"]
            plain = right if phrasing == "C" else wrong
            outputs += [
                {**story, "model": "m", "method": "free", "response": plain},
                {**story, "model": "m", "method": "free · stated:2", "response": right},
            ]
    (tmp_path / "out.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in outputs))
    quick_contrafact(
        "score", "cobe", "out.jsonl", "--data", drawn, "--judge", "proof", "--out", "scored", code=0
    )
    table = pd.read_csv(tmp_path / "scored" / "tables" / "framing.csv")
    whole = table[table["which"].eq("all")].iloc[0]
    assert (whole["stories"], whole["pairs_valid"], whole["pairs_strict"]) == (4, 12, 12)
    assert whole["plain_valid"] == pytest.approx(1 / 3) and whole["following_valid"] == 1.0
    assert whole["reading_strict"] == pytest.approx(2 / 3)
    graphs = table[table["which"].isin([row["Graph type"] for row in rows])]
    assert graphs["stories"].sum() == 4
    overall = pd.read_csv(tmp_path / "scored" / "tables" / "overall.csv")
    assert list(overall["framing"]) == ["plain", "stated:2"]
