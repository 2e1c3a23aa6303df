"""A run from a config file, and the config.yaml that repeats a run."""

import json
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.family.settings import Sampling, Transport, identity
from contrafact.files.config import read_config, read_toml
from contrafact.runs.config import config_text, file_config, make_config
from contrafact.runs.prepare import make_settings, prepare, presets

BEGIN = "task: finforce\nmodel: openai-api/fake/writer\nfluency_model: none\nlimit: 1\n"


@pytest.fixture
def run(quick_contrafact, service, tmp_path):
    def start(*arguments, config=None, suffix=".yaml"):
        if config is not None:
            (tmp_path / f"run{suffix}").write_text(config, encoding="utf-8")
            arguments = ("--config", f"run{suffix}", *arguments)
        return quick_contrafact("run", *arguments, env=service.environment)

    return start


@pytest.mark.slow
def test_a_run_folder_repeats_itself(run, service, tmp_path):
    (tmp_path / "news.csv").write_text("headline\nTern & Vale raises its dividend\n")
    done = run(
        "finforce", "--data", "news.csv", "--model", service.model, "--judge", service.judge,
        "--method", "few-shot", "--shots", "2", "--draws", "2", "--seed", "5",
        "--temperature", "0.3", "--max-retries", "2", "--fluency-model", "none",
        "-M", "api_key=sk-of-nobody-12345678", "-M", "emulate_tools=false", "--out", "a/run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "a" / "run" / "config.yaml").read_text()
    assert "sk-of-nobody" not in text and "# Left out of model_args" in text
    shown = yaml.safe_load(text)
    assert shown["data"] == "../../news.csv" and shown["draws"] == 2 and shown["temperature"] == 0.3
    # In a new folder, from another place, without the secret: the same run.
    again = run("--config", "a/run/config.yaml", "--out", "b")
    assert again.returncode == 0, again.stderr
    one, two = (json.loads((tmp_path / f / "manifest.json").read_text()) for f in ("a/run", "b"))
    assert one["identity"] == two["identity"]
    items = [pd.read_parquet(tmp_path / f / "items.parquet") for f in ("a/run", "b")]
    pd.testing.assert_frame_equal(*items)
    # In its own folder: nothing changes, no model is called.
    before = {p: p.read_bytes() for p in (tmp_path / "b").rglob("*") if p.is_file()}
    answered = service.stats()["answered"]
    third = run("--config", "b/config.yaml", "--out", "b")
    assert third.returncode == 0 and "this run had finished" in third.stdout
    assert service.stats()["answered"] == answered
    assert before == {p: p.read_bytes() for p in (tmp_path / "b").rglob("*") if p.is_file()}


@pytest.mark.slow
def test_a_prompt_pack_is_repeated_from_the_runs_own_copy(run, service, quick_contrafact, tmp_path):
    assert quick_contrafact("prompts", "export", "pack").returncode == 0
    template = tmp_path / "pack" / "finforce" / "generate.jinja"
    template.write_text("Think of money.\n" + template.read_text())
    done = run(config=BEGIN + "prompts: pack\nout: a\n")
    assert done.returncode == 0, done.stderr
    template.unlink()
    again = run("--config", "a/config.yaml", "--out", "b")
    assert again.returncode == 0, again.stderr
    one, two = (json.loads((tmp_path / f / "manifest.json").read_text()) for f in "ab")
    assert one["identity"] == two["identity"]


WRONG = {
    "an unknown option": (BEGIN + "temperatur: 1\n", ":5: finforce has no option 'temperatur'; "
                          "did you mean 'temperature'?"),
    "an option of another task": (BEGIN + "judge_context: true\n", ":5: finforce has no option "
                                  "'judge_context'"),
    "a value of another kind": (BEGIN + "max_tokens: many\n", ":5: max_tokens: must be a whole "
                                "number"),
    "a value out of bounds": (BEGIN + "\n# higher\ntop_p: 2\n", ":7: top_p: must be at most 1 "
                              "(it is 2)"),
    "no task": ("model: x/y\n", "run.yaml: names no task; begin with task: NAME"),
    "no such task": ("task: finfroce\n", ":1: there is no task 'finfroce'; use finforce, "),
    "a key twice": (BEGIN + "limit: 2\n", ":5: 'limit' is there twice, first on line 4"),
    "not YAML": (BEGIN + "judge: [a\n", "not YAML: "),
    "nothing in it": ("# soon\n", "run.yaml: holds no keys"),
    "a grid": (BEGIN + "grid:\n  seed: [1, 2]\n", ":5: finforce has no option 'grid'"),
    "a file that is not there": (BEGIN + "data: news.csv\n", "news.csv: no such file"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_in_a_file_is_one_line(run, service, what, tmp_path):
    text, shown = WRONG[what]
    done = run(config=text)
    assert done.returncode == 2 and done.stdout == ""
    assert shown in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert service.stats()["answered"] == {}
    assert [path.name for path in tmp_path.iterdir()] == ["run.yaml"]


BROKEN = [
    ("a.yaml", "model: x\ndata: a: b\n", ":2: not YAML: mapping values are not allowed here; write "
               "key: value, one per line, indent by spaces, and put odd texts in quotes"),
    ("a.yaml", "a: 1\nb: [1, 2\nc: 3\n", ":2: not YAML: while parsing a flow sequence, exp"),
    ("a.yaml", "a:\n\tb: 1\n", ":2: not YAML: while scanning for the next token, found character"),
    ("a.yaml", "a: 1\nb\nc: 1\n", ":2: not YAML: while scanning a simple key, could not"),
    ("a.yaml", "a: @b\n", ":1: not YAML: while scanning for the next token, found character '@'"),
    ("a.yaml", "a: 1\n---\nb: 2\n", ":1: not YAML: expected a single document in the stream"),
    ("a.yaml", "a: 1\nb: \a\n", ":2: not YAML: an invisible character; remove it"),
    ("a.yaml", "a: !!int x\n", ": not YAML: a number or date cannot be read; put it in"),
    ("a.toml", "a = 1\nb = x\n", ":2: not TOML: Invalid value; write key = "),
    ("a.toml", "a = 1\nb 1\n", ":2: not TOML: Expected '=' after a key"),
    ("a.toml", "a = 1\na = 2\n", ":2: not TOML: Cannot overwrite a value"),
    ("a.toml", "a = 1\nb = [1\n", ":2: not TOML: Unclosed array"),
]  # fmt: skip


def settings_of(path):
    return read_toml(path.read_text(), path) if path.suffix == ".toml" else read_config(path)


@pytest.mark.parametrize(("name", "text", "shown"), BROKEN)
def test_what_a_file_of_settings_breaks_is_said_with_its_line_and_what_to_do(
    name, text, shown, tmp_path
):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        settings_of(tmp_path / name)
    assert f"{name}{shown}" in str(caught.value)


@given(st.sampled_from(BROKEN), st.text(), st.integers(0), st.sampled_from(["", "[" * 3_000]))
@pytest.mark.slow
def test_no_damage_to_a_file_of_settings_is_more_than_a_line(tmp_path_factory, one, new, at, deep):
    name, text, _ = one
    at %= len(text)
    path = tmp_path_factory.getbasetemp() / name
    path.write_text(text[:at] + new.replace("\r", "") + deep + text[at:], errors="replace")
    try:
        settings_of(path)
    except InputError as error:
        assert len(str(error).splitlines()) == 1


def test_what_is_wrong_with_the_command_is_one_line(run, tmp_path):
    (tmp_path / "busy").mkdir()
    (tmp_path / "busy" / "mine.txt").write_text("mine")
    for arguments, config, message in (
        (("--config", "none.yaml"), None, "none.yaml: there is no such config; check the path"),
        (("--config", "none.yaml", "--out", "x"), None, "none.yaml: there is no such config"),
        (("--config", "a.json"), None, "a.json: a config cannot be JSON; write it as YAML"),
        (("--config", "a.toml"), None, "a.toml: a config cannot be TOML; write it as"),
        (("--config",), None, "--config"),
        (("cobe", "--config", "run.yaml"), BEGIN, "run.yaml:1: is a config of finforce, not of "),
        (("--limit", "0"), BEGIN, "--limit"),
        (("--out", "busy"), BEGIN, "busy: is not empty and is not a run folder"),
        (("--out", "run.yaml"), BEGIN, "run.yaml: is a file"),
    ):
        if config is not None:
            (tmp_path / "run.yaml").write_text(config)
        more = ("--config", "run.yaml") if arguments[0] in ("--limit", "--out") else ()
        done = run(*more, *arguments)
        assert done.returncode == 2 and message in done.stderr, (arguments, done.stderr)
        assert done.stderr.count("\n") == 1


NUMBERS = {"temperature": st.floats(0, 2), "top_p": st.floats(0, 1), "max_tokens": st.integers(1),
           "seed": st.integers(0, 2**40), "limit": st.integers(1, 9), "timeout": st.integers(1),
           "structured": st.booleans(), "judge_faults": st.booleans(),
           "reasoning_effort": st.sampled_from(["none", "low"]), "cache": st.booleans(),
           "fluency_model": st.sampled_from(["none", "no", "1e5", "on: off", "~"]),
           "model_args": st.dictionaries(st.text("abc", min_size=1), st.text(max_size=5) |
                                         st.booleans() | st.integers() | st.floats(-5, 5),
                                         max_size=3)}  # fmt: skip


@given(values=st.fixed_dictionaries({}, optional=NUMBERS))
@example(values={"model_args": {"a": "\x85", "b": "x\u2028y", "c": "\u2029 on"}})
@settings(max_examples=40)
def test_whatever_is_set_is_repeated(values, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    first = make_config("finforce", {"model": "none/none", **values}).settings()
    (folder / "config.yaml").write_text(config_text(first, folder), encoding="utf-8")
    again = file_config(read_config(folder / "config.yaml"), {}, "finforce").settings()
    assert again == first.model_copy(update={"model_args": again.model_args})
    assert again.model_args == first.model_args


TEXTS = [{"headline": f"Mill {n} reopens", "up": f"Orders return to mill {n}",
          "down": f"Mill {n} cuts jobs"} for n in range(3)]  # fmt: skip


@pytest.mark.slow
def test_a_scored_folder_repeats_itself(run, quick_contrafact, service, tmp_path):
    (tmp_path / "in").mkdir()
    pd.DataFrame(TEXTS).to_csv(tmp_path / "in" / "desk.csv", index=False)
    done = quick_contrafact(
        "score", "finforce", "in/desk.csv", "--columns", "risk=down,opportunity=up",
        "--judge", service.judge, "--limit", "2", "--fluency-model", "none",
        "--judge-arg", "api_key=sk-of-nobody-12345678", "--out", "a",
        env=service.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "a" / "config.yaml").read_text()
    assert "sk-of-nobody" not in text and "# Left out of judge_args" in text
    assert yaml.safe_load(text) == {
        "task": "finforce", "score": "../in/desk.csv", "limit": 2, "fluency_model": "none",
        "columns": {"risk": "down", "opportunity": "up"}, "judge": [service.judge],
    }  # fmt: skip
    again = run("--config", "a/config.yaml", "--out", "b")
    assert again.returncode == 0, again.stderr
    # Judged again, by another judge and with perplexities left out by its own option.
    other = "openai-api/fake/other"
    done = quick_contrafact("score", "b", "--judge", other, "--out", "c", env=service.environment)
    assert done.returncode == 0, done.stderr
    said = yaml.safe_load((tmp_path / "c" / "config.yaml").read_text())
    assert said["run"] == "../b" and said["judge"] == [other] and "model" not in said
    again = run("--config", "c/config.yaml", "--out", "d")
    assert again.returncode == 0, again.stderr
    for one, two in (("a", "b"), ("c", "d")):
        identities = [json.loads((tmp_path / f / "manifest.json").read_text())["identity"]
                      for f in (one, two)]  # fmt: skip
        assert identities[0] == identities[1]
        items = [pd.read_parquet(tmp_path / f / "items.parquet") for f in (one, two)]
        pd.testing.assert_frame_equal(*items)
    assert set(service.stats()["answered"].values()) == {4}  # every question, once a run
    # In its own folder nothing changes.
    assert "this run had finished" in run("--config", "d/config.yaml", "--out", "d").stdout


@pytest.mark.parametrize(("more", "said"), [
    ("score: o.csv\nmodel: a/b\n", ":3: model is an option for generating, and nothing is"),
    ("score: o.csv\nrun: r\n", ":2: name either a file to score or a run; leave one of them out"),
    ("run: r\nsystem: mine\n", "system has no effect when a run is judged again"),
    ("score: none.csv\n", "none.csv: no such file"),
    ("run: nowhere\njudge: a/b\n", "nowhere: is not a run folder (no manifest.json)"),
    ("score: o.csv\nsytem: mine\n", ":3: finforce has no option 'sytem'; did you mean 'system'"),
])  # fmt: skip
def test_what_is_wrong_with_scoring_from_a_file_is_one_line(run, tmp_path, more, said):
    done = run("--out", "x", config=f"task: finforce\n{more}")
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", sorted(presets()))
def test_a_presets_run_is_repeated(name, tmp_path):
    from contrafact.runs.prepare import load_preset

    preset = load_preset(name)
    given = {"preset": name} if "models" in preset else {"preset": name, "model": ("x/y",)}
    if "data" in preset.get("needs", {}):
        given["data"] = tmp_path / "mine.jsonl"
        pair = {"original": "Sales rose 4%.", "rewritten": "Sales rose 7%."}
        row = {"headline": "Ostrava mill reopens", "manipulation": "numerical", **pair}
        given["data"].write_text(json.dumps(row) + "\n")
    first = make_config(str(preset["task"]), given).settings()
    (tmp_path / "config.yaml").write_text(config_text(first, tmp_path), encoding="utf-8")
    file = read_config(tmp_path / "config.yaml")
    again = prepare(file_config(file, {}, str(preset["task"])).settings())
    assert again.identity == prepare(first).identity


def test_a_config_says_yes_and_no_as_words_where_words_are_meant(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("task: finforce\nmodel: x/y\nyes: true\nfluency_model: no\nmethod: [on]\n")
    config = file_config(read_config(path), {}, "finforce")
    assert config.command.yes is True and config.given()["method"] == ("on",)
    assert config.given()["fluency_model"] == "no"


def test_paths_are_those_of_the_files_folder_and_the_command_lines_of_its_own(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("task: finforce\nmodel: x/y\ndata: news.csv\nshots_from: ../pool.csv\n")
    config = file_config(read_config(path), {"data": Path("mine.csv")}, "finforce")
    assert config.given()["data"] == Path("mine.csv")
    assert config.model_dump()["shots_from"] == tmp_path / ".." / "pool.csv"


def test_data_that_are_no_file_keep_their_name(tmp_path):
    path = tmp_path / "run.yaml"
    for data, kept in (
        ("fin-force", "fin-force"),
        ("hf://a/b", "hf:/a/b"),
        ("n.csv", str(tmp_path / "n.csv")),
    ):
        path.write_text(f"task: finforce\nmodel: x/y\ndata: {data}\n")
        assert str(file_config(read_config(path), {}, "finforce").given()["data"]) == kept
    for origin, named in (("fin-force@abc:x", "fin-force:x"), ("hf://a/b@abc", "hf://a/b@abc")):
        first = make_config("finforce", {"model": "x/y"}).settings()
        first = first.model_copy(update={"data": Path("/cache/f"), "data_source": origin})
        assert yaml.safe_load(config_text(first, tmp_path))["data"] == named


def test_an_identity_of_a_run_stays_what_it_was():
    given = {
        "models": ("openai/gpt-4o",), "judges": ("openai/gpt-4o-mini",), "methods": ("few-shot",),
        "seed": 3, "limit": 5, "generation": {"temperature": 0.3, "seed": 3},
        "transport": {"max_retries": 2}, "model_args": {"api_key": "k", "threads": 2},
    }  # fmt: skip
    settings = make_settings("finforce", given, {"shots": 2, "fluency_model": "none"})
    assert identity(settings, {"data": "d", "templates": {"a": "b"}}) == "845489221cbc"


def test_what_is_passed_to_inspect_is_named_and_typed_as_inspect_has_it():
    from inspect_ai.model import GenerateConfig

    for model in (Sampling, Transport):
        for name, field in model.model_fields.items():
            theirs = GenerateConfig.model_fields[name].annotation
            assert set(get_args(field.annotation)) <= set(get_args(theirs)), name


def test_a_key_that_is_merged_gives_way_to_the_one_that_is_written(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("base: &base\n  x: 1\n  y: 2\nz:\n  <<: *base\n  y: 3\n")
    assert read_config(path).values["z"] == {"x": 1, "y": 3}
