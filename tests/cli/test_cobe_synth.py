"""``contrafact cobe synth``, through the command line."""

import json


def test_stories_are_written_and_the_same_again(quick_contrafact, tmp_path):
    words = ("cobe", "synth", "--n", "24", "--seed", "3", "--out")
    first = quick_contrafact(*words, "one.json")
    assert first.returncode == 0, first.stderr
    assert "one.json: 24 stories of 48 templates" in first.stdout
    assert "all proven by both algorithms" in first.stdout
    assert quick_contrafact(*words, "two.json").returncode == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    rows = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert len(rows) == 24
    for row in rows:
        assert len(row["Query"]) == 3
        assert {answer["fails"] for answer in row["Wrong answers"]} >= {"E1", "E2", "E3"}
        assert row["Proof"]["noise_settings"] >= 1


def test_graph_and_domain_choose(quick_contrafact, tmp_path):
    run = quick_contrafact(
        "cobe", "synth", "--graph", "diamond", "--domain", "engineering", "--n", "5",
        "--out", "few.json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    rows = json.loads((tmp_path / "few.json").read_text(encoding="utf-8"))
    assert {(row["Graph type"], row["Domain"]) for row in rows} == {("diamond", "Engineering")}


def test_wrong_choices_are_told_in_one_line(quick_contrafact, tmp_path):
    for words, told in (
        (("--graph", "tree"), "there is no graph type 'tree'; use one of chain"),
        (("--domain", "Cooking"), "there is no domain 'Cooking'; use one of Health"),
        (("--templates", "nowhere"), "nowhere: has no templates"),
    ):
        run = quick_contrafact("cobe", "synth", "--n", "1", "--out", "x.json", *words)
        assert run.returncode == 2
        assert told in run.stderr
        assert run.stderr.count("\n") == 1
    assert not (tmp_path / "x.json").exists()


def test_a_template_of_ones_own(quick_contrafact, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "wet.toml").write_text(
        'number = 9\ndomain = "Engineering"\ngraph = "chain"\nwords = { town = "town" }\n[told]\n'
        'rain.yes = ["rain <fell|fallen> on {town}", "the rain"]\n'
        'rain.no = ["the sky over {town} <stayed> clear", "the clear sky"]\n'
        'flood.yes = ["the cellar <filled>", "the water in the cellar"]\n'
        'flood.no = ["the cellar <stayed> dry", "the dry cellar"]\n'
        'cat.yes = "the cat <fled>"\ncat.no = "the cat <slept>"\n'
        '[causes]\nflood = "rain"\ncat = "flood"\n'
    )
    words = ("cobe", "synth", "--n", "20", "--out", "wet.json", "--templates", "mine")
    run = quick_contrafact(*words)
    assert run.returncode == 0, run.stderr
    rows = json.loads((tmp_path / "wet.json").read_text(encoding="utf-8"))
    assert [row["Core Set ID"] for row in rows] == [9] * 20
