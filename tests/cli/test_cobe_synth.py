"""``contrafact cobe synth``, through the command line."""

import json
from pathlib import Path

from tests.support.lines import one_line

DOCS = Path(__file__).parents[2] / "docs"


def test_stories_are_written_and_the_same_again(quick_contrafact, tmp_path):
    words = ("cobe", "synth", "--n", "24", "--seed", "3", "--out")
    first = quick_contrafact(*words, "one.json", code=0)
    assert "one.json: 24 stories of " in first.stdout
    assert "all proven from the stories' texts and by both algorithms" in first.stdout
    page = " ".join((DOCS / "synth.md").read_text(encoding="utf-8").replace("\n>", "").split())
    convention = first.stdout.splitlines()[-2].partition("read the stories: e")[2]
    assert convention and f"E{convention}" in page
    assert quick_contrafact(*words, "two.json").returncode == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    rows = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert len(rows) == 24
    blocks = len({row["Core Set ID"] for row in rows})
    assert f"\n{blocks} blocks of stories that share events" in first.stdout and blocks < 24
    for row in rows:
        assert len(row["Query"]) == 3
        assert (len(row["Right answers"]), len(row["Wrong answers"])) == (2, 8)
        assert row["Proof"]["mechanisms"].keys() == row["Proof"]["graph"].keys()


def test_graph_and_domain_choose(quick_contrafact, tmp_path):
    run = quick_contrafact(
        "cobe", "synth", "--graph", "diamond", "--domain", "engineering", "--n", "5",
        "--out", "few.json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    rows = json.loads((tmp_path / "few.json").read_text(encoding="utf-8"))
    assert {(row["Graph type"], row["Domain"]) for row in rows} == {("diamond", "Engineering")}


def test_wrong_choices_are_reported_in_one_line(quick_contrafact, tmp_path):
    for words, message in (
        (("--graph", "tree"), "there is no graph type 'tree'; use one of chain"),
        (("--domain", "Cooking"), "there is no domain 'Cooking'; use one of Health"),
    ):
        run = quick_contrafact("cobe", "synth", "--n", "1", "--out", "x.json", *words)
        assert message in one_line(run)
    assert not (tmp_path / "x.json").exists()


def test_a_file_is_proven_from_itself_alone_and_a_false_label_is_found(quick_contrafact, tmp_path):
    quick_contrafact("cobe", "synth", "--n", "16", "--seed", "5", "--out", "few.jsonl", code=0)
    proven = quick_contrafact("cobe", "prove", "few.jsonl", code=0)
    assert "16 stories of 16 distinct cases with 160 answers proven" in proven.stdout
    lines = (tmp_path / "few.jsonl").read_text(encoding="utf-8").splitlines()
    row = json.loads(lines[6])
    wrong = row["Wrong answers"].pop()
    row["Right answers"].append({**wrong, "verdicts": dict.fromkeys(wrong["verdicts"], True)})
    lines[6] = json.dumps(row)
    (tmp_path / "bad.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = quick_contrafact("cobe", "prove", "bad.jsonl")
    assert found.returncode == 1
    assert "bad.jsonl:7: a right answer fails " in found.stdout
    assert "15 stories of 16 distinct cases" in found.stdout
    # A story without a proof is not proven; a file without any is no file of such stories.
    bare = [json.dumps({k: v for k, v in json.loads(line).items() if k != "Proof"})
            for line in lines]  # fmt: skip
    (tmp_path / "mixed.jsonl").write_text("\n".join([bare[0], lines[1]]) + "\n", encoding="utf-8")
    mixed = quick_contrafact("cobe", "prove", "mixed.jsonl")
    assert mixed.returncode == 1 and "mixed.jsonl:1: the story has no proof" in mixed.stdout
    (tmp_path / "bare.jsonl").write_text("\n".join(bare) + "\n", encoding="utf-8")
    none = quick_contrafact("cobe", "prove", "bare.jsonl")
    assert none.returncode == 2 and none.stdout == ""
    assert none.stderr == (
        "contrafact: bare.jsonl: no story in it has a proof; give what `contrafact cobe synth` or "
        "`cobe write` wrote\n"
    )


def test_two_processes_write_what_one_does(quick_contrafact, tmp_path):
    words = ("cobe", "synth", "--n", "60", "--seed", "2", "--graph", "fork")
    for name, processes in (("one.jsonl", "1"), ("two.jsonl", "2")):
        quick_contrafact(*words, "--processes", processes, "--out", name, code=0)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
