"""Written stories: structures, what is kept and why not, answers, and proofs by structure."""

import json
import os
import time
from collections import Counter
from itertools import count
from random import Random
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.lines import one_line
from tests.support.story_server import StoryServer

from contrafact.errors import InputError
from contrafact.families.cobe.data import bundled_stories, load_known, load_stories, subject_of
from contrafact.families.cobe.phrasing import usual_framing
from contrafact.families.cobe.records import DOMAINS, GRAPHS
from contrafact.families.cobe.synth.difficulty import level_named
from contrafact.families.cobe.synth.expressions import graph_name
from contrafact.families.cobe.verifier import decisions
from contrafact.families.cobe.write.answers import check_written
from contrafact.families.cobe.write.reading import disagreements, expected
from contrafact.families.cobe.write.story import Written, problems_of
from contrafact.families.cobe.write.structure import (
    Gate,
    Structure,
    draw_structures,
    structure_of_story,
    twin_of,
)

SEEDS = st.integers(0, 10**6)


def rows_of(structure, told=None, reader="r"):
    """Return the readings of a reader who takes a story as told by a structure."""
    told = told or structure
    return [
        {"reader": reader, "suppose": list(case), "after": expected(told, case)}
        for case in structure.cases
    ]


def structure(gates, supposed):
    return Structure("collider", DOMAINS[0], "", gates, tuple(supposed))


BOTH = structure({"A": Gate("root"), "B": Gate("root"), "C": Gate("all", ("A", "B"))}, "A")
EITHER = structure({**BOTH.gates, "C": Gate("any", ("A", "B"))}, "A")


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from(GRAPHS))
def test_a_structure_is_of_its_graph_and_its_proof_needs_no_guess(seed, graph):
    for drawn in draw_structures(4, seed, graph, None):
        told = {n: tuple(c for c in drawn.causes[n] if c != "Z") for n in drawn.told}
        assert graph_name(told, [drawn.shared]) == graph
        after = drawn.after(drawn.supposed)
        assert "undetermined" not in {one.kind for one in after.values()}
        assert "stays" in {after[name].kind for name in drawn.told}
        assert not disagreements(drawn, rows_of(drawn))


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_no_structure_comes_twice_and_twins_have_other_consequences(seed):
    drawn = draw_structures(12, seed, None, None)
    assert len({(one.domain, str(one.gates), one.supposed) for one in drawn}) == 12
    assert {one.graph for one in drawn} == {*GRAPHS}
    for one in drawn:
        if twin := twin_of(one, Random(seed)):
            assert (twin.told, twin.supposed, twin.graph) == (one.told, one.supposed, one.graph)
            query = one.supposed
            assert expected(one, query) != expected(twin, query)
            assert disagreements(one, rows_of(one, twin)), "the other story is not taken for it"


@pytest.mark.parametrize("level", [0, 3, 5])
def test_levels_ask_for_facts_suppositions_and_traps(level):
    wanted = level_named(level)
    for one in draw_structures(6, 1, None, None, wanted):
        assert wanted.facts[0] <= len(one.told) <= wanted.facts[1]
        assert wanted.suppositions[0] <= len(one.supposed) <= wanted.suppositions[1]
        assert len({*one.traps} & {*wanted.traps}) >= wanted.least_traps


def test_and_is_told_from_or_by_a_case_that_the_query_does_not_ask():
    # With B supposed away as well, both lose C; only A alone tells them apart.
    other = structure(BOTH.gates, "AB"), structure(EITHER.gates, "AB")
    assert expected(other[0], ("A", "B")) == expected(other[1], ("A", "B"))
    assert disagreements(other[0], rows_of(*other)) == [("stays", "C", "A"), ("stays", "C", "B")]


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_one_answer_otherwise_is_enough_and_an_open_one_only_where_nothing_settles_it(seed):
    rng = Random(seed)
    (drawn,) = draw_structures(1, seed, None, None)
    rows = rows_of(drawn)
    row = rng.choice(rows)
    name = rng.choice(sorted(row["after"]))
    then = row["after"][name]
    row["after"][name] = None
    case = tuple(row["suppose"])
    if found := disagreements(drawn, rows):
        assert found[0][0] == "open"
    else:  # readings of other cases leave only one answer
        assert case != drawn.supposed
    assert not disagreements(drawn, [*rows, *rows_of(drawn, reader="s")]) or case == drawn.supposed
    row["after"][name] = {"up": "down", "down": "nowhere", "nowhere": "up"}.get(then, not then)
    assert disagreements(drawn, rows)


FACTS = {
    "A": {"told": "a wasp stung Marta", "opposite": "no wasp stung Marta"},
    "B": {"told": "Marta's finger swelled", "opposite": "Marta's finger did not swell"},
    "Q": {
        "told": "the bill came to 310 crowns",
        "what": "the bill",
        "amount": 310,
        "unit": "crowns",
    },
}
TEXT = (
    "A wasp stung Marta while she was picking plums, and her finger swelled so badly that she "
    "had to see a doctor. His bill came to 310 crowns, which was more than she earned that day."
)
GATES = {"A": Gate("root"), "B": Gate("one", ("A",)), "Q": Gate("up", ("B",))}


@pytest.mark.parametrize(
    ("text", "facts", "supposed", "problem"),
    [
        (TEXT, {}, None, ""),
        ("A wasp stung Marta; her finger swelled; 310 crowns.", {}, None, "9 words, not 25 to 60"),
        (TEXT.replace("finger swelled", "hand ached"), {}, None, "does not hold the clause"),
        (TEXT.replace("which was", "which would have been"), {}, None, "'would have'"),
        (TEXT.replace("while", "whenever"), {}, None, "'whenever'"),
        (TEXT.replace("310", "3,100"), {}, None, "310 does not stand once"),
        (TEXT, {"B": {"told": FACTS["A"]["told"], "opposite": "it did not"}}, None, "stands twice"),
        (TEXT, {"Q": {**FACTS["Q"], "what": ""}}, None, "'what' is empty"),
        (TEXT, {}, "Marta's finger did not swell", "has no 'had'"),
    ],
)
def test_rules_say_what_is_wrong_with_a_story(text, facts, supposed, problem):
    supposed = {"B": supposed or "Marta's finger had not swollen"}
    written = Written.model_validate({"text": text, "facts": FACTS | facts, "supposed": supposed})
    found = [*problems_of(written, written.text, structure(GATES, "B"))]
    assert found == [] if not problem else any(problem in one for one in found), found


@pytest.fixture
def served():
    server = StoryServer()
    yield server
    server.close()


@pytest.fixture
def service(served):
    at = {"FAKE_BASE_URL": f"{served.url}/v1", "FAKE_API_KEY": "sk-not-a-real-key-012345678"}
    return {"env": {**os.environ, **at}}


MODELS = ("--model", "openai-api/fake/writer", "--reader", "openai-api/fake/one")


@pytest.fixture
def write(quick_contrafact, service):
    def run(*options, command=("write", "--n", "8", "--seed", "1"), **how):
        given = ("cobe", *command, *MODELS, "--out", "o.jsonl", *options)
        return quick_contrafact(*given, **service, **how)

    return run


TWO = ("--reader", "openai-api/fake/two")


def test_stories_are_written_read_proven_and_judged_by_a_reader(
    write, served, quick_contrafact, tmp_path
):
    ran = write(*TWO, code=0)
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert f"{len(rows)} of {len(rows)} stories are kept" in ran.stdout
    assert len(rows) > 8, "some come in pairs"
    asked = served.asked.copy()
    assert asked["write"] == 8 and asked["read_story"] == 2 * len(rows)
    write(*TWO, code=0)
    assert served.asked == asked, "a finished command asks nothing again"
    proven = quick_contrafact("cobe", "prove", "o.jsonl", code=0)
    assert f"{len(rows)} stories" in proven.stdout and "(basis: structure)" in proven.stdout
    stories, known = load_stories(tmp_path / "o.jsonl"), load_known(tmp_path / "o.jsonl")
    assert usual_framing(stories) == "plain"
    assert all(len(one.right) == 3 and one.wrong for one in known)
    assert {"backtracks", "stops short", "spills over"} <= {
        w.why for one in known for w in one.wrong
    }
    pairs = [
        w for one in known for w in one.wrong if w.why == "is right for the other story of the pair"
    ]
    assert pairs and all(w.text in {r.text for one in known for r in one.right} for w in pairs)
    # Without a reader every criterion is open, and none fails.
    decided = decisions(subject_of(stories[0], known[0].right[0].text))
    assert {one.passed for one in decided.values()} == {None}
    assert "by a reader alone" in decided["E1"].reason


def test_a_killed_command_goes_on_and_repeats_only_the_calls_under_way(
    write, served, service, start_contrafact, tmp_path
):
    answered, under_way, requests = 20, set(), Counter()
    full, free, number = Event(), Event(), count(1)

    def arrives(request):
        requests[request] += 1
        if next(number) > answered:
            under_way.add(request)
            full.set()
            free.wait(120)

    served.arrives = arrives
    asked = ("cobe", "write", "--n", "8", "--seed", "1", *MODELS, "--out", "o.jsonl")
    with start_contrafact(*asked, **service) as command:
        assert full.wait(120)
        kept = tmp_path / "o.jsonl.answers.jsonl"
        deadline = time.monotonic() + 60
        while kept.read_text(encoding="utf-8").count("\n") < 1 + answered:  # a line of settings
            assert time.monotonic() < deadline, "what is answered is not kept"
            time.sleep(0.02)
        command.kill()
    assert not (tmp_path / "o.jsonl").exists()
    free.set()
    before = requests.copy()
    served.arrives = lambda request: requests.update([request])
    write(code=0)
    again = {request for request in requests - before if before[request]}
    assert again == under_way
    write("--out", "whole.jsonl", code=0)
    assert (tmp_path / "whole.jsonl").read_bytes() == (tmp_path / "o.jsonl").read_bytes()


def test_prove_finds_what_does_not_agree_with_the_structure(write, tmp_path):
    write(code=0)
    row = json.loads((tmp_path / "o.jsonl").read_text().splitlines()[0])
    assert check_written(row) == []

    def broken(**change):
        return " ".join(check_written(json.loads(json.dumps(row)) | change))

    def proof(**change):
        return broken(Proof={**row["Proof"], **change})

    readings = row["Proof"]["readings"]
    name = next(iter(readings[0]["after"]))
    flipped = {**readings[0]["after"], name: not readings[0]["after"][name]}
    other = proof(readings=[{**readings[0], "after": flipped}, *readings[1:]])
    assert "agrees with the readings" in other or "two answers" in other or "readers take" in other
    assert "did not answer every case" in proof(readings=readings[:-1])
    assert "the text does not hold" in broken(**{"Variation text": "Nothing happened at all."})
    assert "the criteria are not" in broken(**{"Evaluation criteria": ["One thing.", "Another."]})
    assert "do not state the intervention" in broken(Query=["Rewrite it."] * 3)
    wrong = [
        {
            **row["Wrong answers"][0],
            "verdicts": dict.fromkeys(row["Right answers"][0]["verdicts"], True),
        }
    ]
    assert "an answer is read as" in broken(**{"Wrong answers": wrong})
    assert "are not those of the structure" in proof(
        mechanisms={**row["Proof"]["mechanisms"], "A": "not u_A"}
    )


def test_a_writer_is_told_what_readers_took_otherwise_and_tries_three_times(
    write, served, tmp_path
):
    def misread(reading, structure):
        for said in reading["cases"].values():
            for label in said:
                said[label] = "open"

    served.misreads = misread
    ran = write(code=1)
    assert "0 of" in ran.stdout and "x read as 'open'" in ran.stdout
    assert served.asked["write"] == 8 * 3 and not served.asked["rewrite"]
    dropped = [json.loads(x) for x in (tmp_path / "o.jsonl.dropped.jsonl").read_text().splitlines()]
    assert {one["attempt"] for one in dropped} == {1, 2, 3}
    assert all(one["readings"] and one["problems"] for one in dropped)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"sense": "absurd", "why": "a stork on the roof"}, "called odd"),
        ({"sense": "odd", "why": "no motive"}, "called odd"),
        ({"cases": {}}, "a reader's reply"),
    ],
)
def test_what_jars_and_what_cannot_be_read_is_not_kept(write, served, change, why):
    served.misreads = lambda reading, structure: reading.update(change)
    assert f"x {why}" in write(code=1).stdout


def test_answers_are_written_again_with_the_reasons_if_no_right_one_is_decided(
    write, served, tmp_path
):
    other = {"causes": ["other"], "effect": "F1", "kind": "because"}
    served.links = lambda text: [] if "again" in text else [other | {"words": text.split(".")[0]}]
    sent = []
    served.arrives = sent.append
    write("--n", "4", code=0)
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert served.asked["rewrite"] == 2 * len(rows)
    for row in rows:
        assert all(
            one["text"].startswith(f"R{n} again") for n, one in enumerate(row["Right answers"], 1)
        )
    told = [one for one in sent if "None of the right rewritings" in one]
    assert len(told) == len(rows) and all("- R1: a link joins something" in one for one in told)

    served.links = lambda text: [other | {"words": text.split(".")[0]}]
    ran = write("--out", "none.jsonl", code=1)
    assert "x no right answer" in ran.stdout
    dropped = [
        json.loads(x) for x in (tmp_path / "none.jsonl.dropped.jsonl").read_text().splitlines()
    ]
    assert all("R3: a link joins something" in " ".join(one["problems"]) for one in dropped)


def test_core_stories_are_varied_by_their_criteria_or_by_their_structure(write, served, tmp_path):
    from contrafact.families.cobe.data import story_object

    (tmp_path / "core.json").write_text(json.dumps([*map(story_object, bundled_stories()[:3])]))
    ran = write(command=("augment", "core.json", "--n", "2"), code=0)
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    cores = {story.core_set_id: story for story in bundled_stories()[:3]}
    assert len(rows) == 2 * len(cores) and "stories are kept" in ran.stdout
    for row in rows:
        core = cores[row["Core Set ID"]]
        assert row["Awaiting approval"] is True and "Proof" not in row
        assert row["Domain"] != core.domain and row["Graph type"] == core.graph
        assert row["Variation ID"] > core.variation_id and row["Representative answer"]
    rows[0].pop("Awaiting approval")
    (tmp_path / "o.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    refused = write(command=("augment", "core.json"))
    assert "o.jsonl:1: holds a story that does not await approval" in one_line(refused)
    write("--out", "written.jsonl", code=0)
    write("--out", "varied.jsonl", command=("augment", "written.jsonl", "--n", "1"), code=0)
    varied = [json.loads(x) for x in (tmp_path / "varied.jsonl").read_text().splitlines()]
    assert all(check_written(row) == [] for row in varied)


def test_a_story_whose_query_states_no_change_is_not_varied():
    story = bundled_stories()[0]
    free = story.model_copy(update={"queries": ("What now?", "And then?", "Go on.")})
    with pytest.raises(InputError, match="free form"):
        structure_of_story(free, Random(0))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--graph", "tree"), "there is no graph type 'tree'"),
        (("--domain", "Cooking"), "there is no domain 'Cooking'"),
        (("--level", "9"), "difficulty 9 is no level"),
        (("--out", "o.csv"), "the result is JSON Lines"),
        (("--reader", "nobody/x"), "cannot use the model 'nobody/x'"),
        (
            ("--n", "900", "--graph", "chain", "--level", "0", "--domain", DOMAINS[0]),
            "no further structure",
        ),
    ],
)
def test_wrong_options_are_one_line(write, options, problem, tmp_path):
    assert problem in one_line(write(*options))
    assert not (tmp_path / "o.jsonl").exists()
