"""``contrafact data`` as a user calls it."""

import json
import os
import shlex
import subprocess
import sys
from functools import partial

import pytest
from openpyxl import Workbook
from tests.support.lines import write_lines
from tests.support.loopback import folder_served
from tests.support.terminal import at_terminal
from typer.testing import CliRunner

from contrafact.cli.data import app
from contrafact.corpus.datasets import datasets
from contrafact.errors import InputError
from contrafact.families.cobe.data import bundled_stories, story_object
from contrafact.families.finforce.data import CATEGORIES
from contrafact.family import task_named
from contrafact.files.tables import few

HEADLINES = "headline,category\nOre exports rise again,Supply chain & logistics\n"


def call(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("CONTRAFACT_CACHE", str(folder))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    served = tmp_path / "served"
    served.mkdir()
    with folder_served(served) as url:
        monkeypatch.setenv("CONTRAFACT_DATA_URL", url)
        yield served


def write(tmp_path, text, name="rows.csv"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_check_exits_with_0_on_a_clean_file_and_gives_its_statistics(tmp_path):
    result = call("check", write(tmp_path, HEADLINES))
    assert result.exit_code == 0
    assert "Layout: table; 1 rows, 1 distinct headlines" in result.stdout
    assert "Supply chain & logistics                1" in result.stdout
    assert "headline  1      22" in result.stdout
    assert "Violations: none\nNotes: none\n" in result.stdout
    result = call("check", write(tmp_path, HEADLINES.replace("Supply chain &", "supply chain and")))
    assert result.exit_code == 0
    assert "Notes: 1\n  - 1 row with the category 'supply chain and logistics'" in result.stdout


def test_check_exits_with_1_on_violations(tmp_path):
    bad = "Tern Air lands a new order,Sport\n,Banking & financial stability\n"
    result = call("check", write(tmp_path, HEADLINES + bad))
    assert result.exit_code == 1
    assert "unknown: Sport" in result.stdout
    assert "  - 1 row with the unknown category 'Sport'" in result.stdout
    assert "  - 1 row with an empty headline (line 4)" in result.stdout


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rows.csv", "name\nx\n", "no column 'headline'"),
        ("rows.json", "[", "bad JSON"),
        ("rows.csv", "", "the file is empty"),
        ("rows.csv", "headline\n", "the file holds no rows"),
    ],
)
def test_check_raises_on_what_it_cannot_read(tmp_path, name, text, message):
    result = call("check", write(tmp_path, text, name))
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_check_knows_its_schemas(tmp_path):
    result = call("check", write(tmp_path, HEADLINES), "--schema", "sonnets")
    assert isinstance(result.exception, InputError)
    assert "there is no schema 'sonnets'; use finforce" in str(result.exception)
    assert call("check", write(tmp_path, HEADLINES), "--schema", "finforce").exit_code == 0


def test_a_file_of_pairs_is_checked_row_by_row(tmp_path):
    good = {"manipulation": "Flipping", "original": "Sales rose on Monday.", "article_id": "a"}
    good["rewritten"] = "Sales fell on Monday."
    rows = [
        good,
        good | {"rewritten": "Sales fell a lot on Monday.", "id": "own"},
        good | {"rewritten": "Sales fell a bit on Monday.", "id": "own"},
        good | {"rewritten": good["original"]},
        good | {"manipulation": "tilting"},
        {"manipulation": "causal", "text": "Sales rose because of rain."},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    result = call("check", write(tmp_path, text, "pairs.jsonl"))
    assert result.exit_code == 1
    assert "6 rows, 3 pairs that can be used, of 2 articles." in result.stdout
    assert "flipping      2      1         4                   5" in result.stdout
    assert "Violations: 3\n  - line 3: the id 'own' belongs to another pair" in result.stdout
    assert "  - line 4: original and rewritten are the same text" in result.stdout
    assert "  - line 5: 'tilting' is not a manipulation" in result.stdout
    assert "1 row without an original" in result.stdout
    clean = call("check", write(tmp_path, json.dumps(good), "one.jsonl"), "--schema", "rfc")
    assert clean.exit_code == 0 and "Violations: none" in clean.stdout


def test_the_benchmark_is_shown_next_to_table_1(tmp_path):
    row = {"headline": "Ore exports rise again", "classification": "market_event"}
    row["category"] = "Labor & employment"
    result = call("check", write(tmp_path, json.dumps([row]), "b.json"))
    assert "Labour & employment                     1      27         -26" in result.stdout


def test_nothing_in_a_file_reaches_the_terminal_as_a_control_code(tmp_path):
    name = "\x1b[2Jcleared\u202e"
    row = {"headline": "Ore exports rise again", "category": name}
    result = call("check", write(tmp_path, json.dumps(row), "b.jsonl"))
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "unknown: \\u001b[2Jcleared\\u202e" in result.stdout


def test_list_names_every_dataset_and_where_it_stands():
    result = call("list")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert "not fetched" in lines["fin-force"]
    assert "by file" in lines["cobe"]


def test_fetch_leaves_nothing_when_the_sum_is_wrong(mirror, cache):
    folder = mirror / "keanepotato/fin_force/7a2f584/data"
    folder.mkdir(parents=True)
    (folder / "fin_force.json").write_text("[]")
    result = call("fetch", "fin-force")
    assert isinstance(result.exception, InputError)
    assert not (cache / "data/fin-force/fin_force.json").exists()
    assert "not fetched" in call("list").stdout


def test_on_a_terminal_tables_are_framed(tmp_path):
    """On a pseudo-terminal, as the user's is one."""
    file = write(tmp_path, HEADLINES)
    command = [sys.executable, "-c", "from contrafact.cli.data import app; app()", "check", file]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    code, shown = at_terminal(partial(subprocess.Popen, command, env=environment))
    assert code == 0 and "Supply chain & logistics" in shown and "┃" in shown


def pair(kind="numerical", original="Profit rose 5%.", rewritten="Profit rose 9%.", **more):
    return {"original": original, "rewritten": rewritten, "manipulation": kind, **more}


def story(number, stays="The hose split.", changes="The van arrived on time.", **answers):
    queries = [
        "Rewrite the original text, based on what would have happened instead had it rained.",
        "Based on the preceding text, rewrite the scenario to reflect what happens if it rained.",
        "Rewrite the above passage to illustrate what would have occurred had it rained.",
    ]
    text = {"Domain": "Engineering", "Variation text": "A hose split.", "Query": queries}
    ids = {"Core Set ID": number, "Variation ID": 1}
    return {**ids, **text, "Evaluation criteria": [stays, changes], **answers}


def answers(**kinds):
    named = {"right": "Right answers", "wrong": "Wrong answers"}
    return {named[kind]: [given] for kind, given in kinds.items()}


RIGHT, WRONG = {"text": "The van came."}, {"text": "The  van came.", "fails": "E1"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [
                {"headline": "Ore exports rise again", "category": "Supply chain & logistics"},
                {"headline": "Ore exports  RISE again", "category": "Market movements"},
            ],
            "line 2: the category is ",
        ),
        (
            [pair(), pair("causal")],
            "line 2: the manipulation is 'causal', and 'numerical' in line 1",
        ),
        ([pair(), pair()], "line 2: repeats the pair of line 1"),
        ([pair(), pair(id="other")], "line 2: repeats the pair of line 1"),
        (
            [pair(), pair("flipping", "Profit rose 9%.", "Profit fell 9%.")],
            "line 2: the label is 'true', and 'false' in line 1",
        ),
        ([story(1), story(2)], "line 2: repeats the story of line 1"),
        ([story(1), story(2, changes="It is late.")], "line 2: what is right is "),
        (
            [story(1, changes="The hose split.")],
            "line 1: E1 (what stays) and E2 (what changes) are the same",
        ),
        (
            [story(1, **answers(right=RIGHT, wrong=WRONG))],
            "line 1: one answer has two verdicts: 'The van came.'",
        ),
        (
            [story(1, **answers(right={**RIGHT, "verdicts": {"E2": False}}))],
            "line 1: a right answer has other verdicts",
        ),
    ],
)
def test_what_rows_say_two_ways_is_named_by_its_lines(rows, said, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = call("check", str(file))
    assert said in result.output
    assert result.exit_code == 1


def test_pinned_sources_are_named_by_commit_and_sum():
    published = ["fin-force", "fin-force-supplement", "rfc-bench", "cobe"]
    assert list(datasets()) == [*published, "cobe-written", "cobe-written-held-out"]
    for dataset in datasets().values():
        if dataset.source == "github":
            assert dataset.revision
            assert all(len(bytes.fromhex(known)) == 32 for known in dataset.files.values())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fin-force-supplement", "not found"),
        ("cobe", "'cobe' has no public download; get the file from its"),
        ("finforce", "choose one of: fin-force, fin-force-supplement, rfc-b"),
    ],
)
def test_what_cannot_be_fetched_says_what_to_do(mirror, cache, name, message):
    assert message in str(call("fetch", name).exception)


def _gold(task):
    """Return rows of a task, the last of which says otherwise of a text that one before it has."""
    if task == "finforce":
        first = {"headline": "Harrow Mills lifts its dividend", "category": CATEGORIES[0]}
        return [first, {"headline": "HARROW  Mills lifts its dividend", "category": CATEGORIES[1]}]
    if task == "cobe":
        first = story_object(bundled_stories()[0])
        one, other, *rest = first["Evaluation criteria"]
        return [first, {**first, "Variation ID": 99, "Evaluation criteria": [other, one, *rest]}]
    lifts, cuts = (f"Harrow Mills {verb} its dividend by 15%." for verb in ("lifts", "cuts"))
    rise = {"original": "Harrow Mills lifts its dividend by 5%.", "rewritten": lifts}
    kept = {"original": lifts, "rewritten": cuts, "manipulation": "flipping"}
    if task == "rfc-detect":
        return [rise | {"manipulation": "numerical"}, kept]
    return [kept, kept | {"manipulation": "sentiment", "original": f"{lifts}\u200b"}]


@pytest.mark.parametrize("task", ["finforce", "cobe", "rfc-detect", "rfc-diagnose"])
def test_gold_of_two_minds_is_told_by_a_run_as_by_the_check(quick_contrafact, tmp_path, task):
    path = write_lines(tmp_path / "gold.jsonl", _gold(task))
    _, notes = task_named(task).run.load().load(path)
    assert "line 2: " in notes[0] and "in line 1, of the same text" in notes[0]
    assert notes[0] in quick_contrafact("data", "check", "gold.jsonl").stdout
    if task == "rfc-detect":
        done = quick_contrafact("run", task, "--data", "gold.jsonl", "--method", "majority",
                                "--out", "run", code=0)  # fmt: skip
        assert notes[0] in done.stderr.splitlines()[0]
        assert "of the same text" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("title", ["Wire March", "Wire #2", "Bea's", "Old"])
def test_the_name_of_another_sheet_is_one_that_works_in_a_shell(quick_contrafact, tmp_path, title):
    book = Workbook()
    book.active.append(["headline"])
    book.create_sheet(title).append(["headline"])
    book[title].append(["Tern & Vale waits for the quarter's figures"])
    (tmp_path / "in").mkdir()
    book.save(tmp_path / "in" / "wire.xlsx")
    said = quick_contrafact("data", "check", "in/wire.xlsx").stderr
    (named,) = shlex.split(said.splitlines()[0].partition("another is ")[2])
    assert "1 rows" in quick_contrafact("data", "check", named, code=0).stdout


def test_many_texts_of_two_minds_are_counted():
    assert few(["a", "b"]) == ["a", "b"]
    assert few(["a", "b", "c", "d", "e"])[3].startswith("and 2 more")
