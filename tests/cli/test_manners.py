"""What every command owes its user: quick help with an example, and one clear line when wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
import typer
from tests.support.terminal import at_terminal

from contrafact.cli.main import app
from contrafact.plugins import family_entries

MODEL = "embedded/smollm2-135m"


def _leaves(command, path=()):
    if not hasattr(command, "list_commands"):
        return [" ".join(path)]
    inner = {name: command.get_command(None, name) for name in command.list_commands(None)}
    return [leaf for name in inner for leaf in _leaves(inner[name], (*path, name))]


# What families outside the package bring is theirs to test.
OUTSIDE = [one.name for one in family_entries() if not one.value.startswith("contrafact.")]
COMMANDS = [c for c in _leaves(typer.main.get_command(app)) if not {*OUTSIDE} & {*c.split()}]
GROUPS = sorted({" ".join(c.split()[:n]) for c in COMMANDS for n in range(len(c.split()))})
HEAVY = {
    "torch", "transformers", "spacy", "pandas", "pyarrow", "matplotlib", "inspect_ai", "openai",
    "scipy", "sklearn", "numpy", "jinja2", "xllamacpp",
}  # fmt: skip


def test_every_help_has_an_example_and_imports_nothing_heavy():
    # All in one process: it is enough that none of them loads anything.
    code = """
import contextlib, io, json, sys
from contrafact import plugins
own = [one for one in plugins.family_entries() if one.value.startswith("contrafact.")]
plugins.family_entries = lambda: own
from contrafact.cli.main import main
texts = {}
for command in json.loads(sys.argv[1]):
    sys.argv = ["contrafact", *command.split(), "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, command
    texts[command] = output.getvalue()
print(json.dumps([texts, sorted({name.split(".")[0] for name in sys.modules})]))
"""
    names = [*COMMANDS, *GROUPS]
    run = subprocess.run(
        [sys.executable, "-c", code, json.dumps(names)], capture_output=True, text=True, check=True
    )
    texts, modules = json.loads(run.stdout)
    assert HEAVY.isdisjoint(modules)
    for command in COMMANDS:
        assert f"Example: contrafact {command} " in " ".join(texts[command].split()) + " "
    for command in names:
        assert "Usage: contrafact" in texts[command]


def test_what_is_not_there_is_told_before_anything_heavy_is_loaded():
    code = """
import contextlib, io, json, sys
from contrafact.cli.main import main
told = {}
for command in json.loads(sys.argv[1]):
    sys.argv = ["contrafact", *command.split()]
    with contextlib.redirect_stderr(io.StringIO()) as output:
        try:
            main()
        except SystemExit as ended:
            assert ended.code == 2, command
    told[command] = output.getvalue()
print(json.dumps([told, sorted({name.split(".")[0] for name in sys.modules})]))
"""
    commands = [
        *("run cobe --model x/y --data {}.csv", "run --config {}.yaml", "report {}", "diff {} {}"),
        *("score cobe {}.jsonl", "score {} --judge x/y", "rfc check {}.jsonl", "cobe leak {}"),
        *("rfc rewrite {}.jsonl --out o.jsonl", "cobe augment {}.json --model x/y --out o.json"),
        *("finforce release {}.jsonl --out o", "generate {}.csv --model x/y --out o.csv"),
        *("exam --judge x/y --out {}.csv", "train srlm {}.yaml", "train edit {}.yaml"),
    ]
    named = [command.replace("{}", "none/such") for command in commands]
    run = subprocess.run(
        [sys.executable, "-c", code, json.dumps(named)], capture_output=True, text=True, check=True
    )
    told, modules = json.loads(run.stdout)
    assert all("none/such" in line for line in told.values()), told
    heavy = {"torch", "transformers", "spacy", "pandas", "matplotlib", "inspect_ai", "sklearn"}
    assert heavy.isdisjoint(modules)


def test_it_runs_as_a_module_where_its_script_is_not_on_the_path():
    module = [sys.executable, "-m", "contrafact"]
    wrong = subprocess.run([*module, "agree", "none.csv"], capture_output=True, text=True)
    shown = subprocess.run([*module, "--version"], capture_output=True, text=True)
    assert (shown.returncode, shown.stdout[:11]) == (0, "contrafact ")
    assert wrong.returncode == 2 and wrong.stderr.startswith("contrafact: none.csv")


def test_without_arguments_it_says_what_to_do_first(quick_contrafact):
    result = quick_contrafact()
    assert result.returncode == 0
    for command in ("demo", "run finforce", "report", "generate"):
        assert f"contrafact {command}" in result.stdout


WRONG = {
    "nonsense": "No such command 'nonsense'",
    "--nope": "No such option: --nope",
    "data": "no command is named; see `contrafact data --help`",
    # demo
    "demo --out news.jsonl": "news.jsonl/finforce: cannot be written",
    "demo more": "unexpected extra argument",
    "demo --out": "'--out' requires an argument",
    # diff
    "diff": "Missing argument 'RUN_A'",
    "diff folder none": "folder: is not a run folder (no manifest.json)",
    "diff news.jsonl folder": "news.jsonl: is not a folder",
    "diff folder folder --rule worse": "Invalid value for '--rule': 'worse' is not one of",
    # run
    "run": "no command is named; see `contrafact run --help`",
    "run nosuch --model M": "there is no task 'nosuch'; use finforce",
    "run finforce": "no model is named; add --model",
    "run finforce --model M --data none.json": "none.json: no such file",
    "run finforce --model M --data folder": "folder: is a folder",
    "run finforce --model M --data nohead.jsonl": "nohead.jsonl:1: no column 'headline'",
    "run finforce --model M --data broken.jsonl": "broken.jsonl:2: bad JSON",
    "run finforce --model M --data -": "name a file with --data",
    "run finforce --model M --limit 0": "Invalid value for '--limit'",
    "run finforce --model M --method nosuch": "finforce has no method 'nosuch'; use one of",
    "run finforce --model M --method no.such.module": "cannot import the method 'no.such.module'",
    "run finforce --model M --preset nosuch": "there is no preset 'nosuch'; use one of",
    "run finforce --model M --prompts folder": "folder: holds no .jinja template",
    "run finforce --model M --reasoning-effort silly": "Invalid value for '--reasoning-effort'",
    "run finforce --model M -M bad": "-M bad is not KEY=VALUE",
    "run finforce --model M --draws 3": "--draws is for worked examples, and no method here",
    "run finforce --model nosuch/model": "cannot use the model 'nosuch/model'",
    "run finforce --model gpt-4o": "cannot use the model 'gpt-4o'",
    "run finforce --model openai/gpt-4o": "OPENAI_API_KEY",
    "run finforce --model embedded/./none.gguf": "none.gguf: there is no such file",
    "run finforce --model embedded/./notes.gguf": "notes.gguf: this is not a GGUF file",
    # report
    "report": "Missing argument 'DIR",
    "report none": "none: is not a run folder",
    "report news.jsonl": "news.jsonl: is not a folder",
    "report folder": "folder: is not a run folder",
    # generate
    "generate news.jsonl --model M": "Missing option '--out'",
    "generate none.csv --model M --out o.csv": "none.csv: no such file",
    "generate none.csv --model M --out -": "none.csv: no such file",
    "rfc bucket news.jsonl --out -": "this cannot be written to standard output; name a file",
    "generate folder --model M --out o.csv": "folder: is a folder",
    "generate news.jsonl --model M --out folder": "folder: is a folder",
    "generate news.jsonl --model M --out o.csv/": "o.csv/: is a folder",
    "generate news.jsonl --model M --out o.ods": "o.ods: the result is not written in that",
    "generate news.jsonl --model M --out news.jsonl/o.csv": "part of the path is a file",
    "generate nohead.jsonl --model M --out o.csv": "nohead.jsonl:1: no column 'headline'",
    "generate broken.jsonl --model M --out o.csv": "broken.jsonl:2: bad JSON",
    "generate wide.csv --model M --out o.csv": "wide.csv:2: the row has 3 cells",
    "generate news.jsonl --model M --out o.csv --method nosuch": "has no method 'nosuch'",
    "generate news.jsonl --model nosuch/x --out o.csv": "cannot use the model 'nosuch/x'",
    "generate news.jsonl --model openai/gpt-4o --out o.csv": "OPENAI_API_KEY",
    "generate news.jsonl --model M --out o.csv --prompts none": "none: no such folder of prompts",
    "generate news.jsonl --model M --out o.csv --shots-from none": "none: no such file",
    "generate news.jsonl --model M --out o.csv --shots-from -": "cannot be read from standard in",
    # data
    "data list more": "unexpected extra argument",
    "data list --nope": "No such option",
    "data list --out o.csv": "No such option",
    "data lisst": "No such command",
    "data fetch": "Missing argument 'NAME'",
    "data fetch nosuch": "there is no dataset 'nosuch'; choose one of",
    "data fetch cobe": "has no public download",
    "data check none": "none: no such file",
    "data check folder": "folder: is a folder",
    "data check news.jsonl --schema nosuch": "there is no schema 'nosuch'",
    # finforce study
    "finforce study sample": "Missing argument 'RUN",
    "finforce study sample none --out s.csv": "none: is not a run folder",
    "finforce study sample folder --out s.csv --n 0": "Invalid value for '--n'",
    "finforce study score": "Missing argument 'FILE",
    "finforce study score none.csv": "none.csv: ",
    "finforce study score wide.csv --key none.csv": "none.csv: no such file",
    # cobe
    "cobe synth --n 5": "Missing option '--out'",
    "cobe synth --n 0 --out o.json": "Invalid value for '--n'",
    "cobe synth --n 5 --out o.json --graph nosuch": "there is no graph type 'nosuch'; use one of",
    "cobe synth --n 5 --out folder --graph nosuch": "folder: is a folder",
    "cobe prove": "Missing argument 'FILE'",
    "cobe prove nosuch.jsonl": "nosuch.jsonl: no such file",
    "cobe prove cobe-writen": "cobe-writen: no such file or dataset; name a file, or a dataset",
    "cobe prove folder": "folder: is a folder",
    "cobe leak": "Missing argument 'FILE'",
    "cobe leak nosuch.jsonl": "nosuch.jsonl: no such file",
    "cobe leak folder": "folder: is a folder",
    "cobe leak news.jsonl --nope": "No such option: --nope",
    # models
    "models": "no command is named",
    "models fetch": "Missing argument 'NAME'",
    "models fetch nosuch": "there are no weights named 'nosuch'",
    "models fetch smollm2-135m --nope": "No such option: --nope",
    "models list x": "Got unexpected extra argument(s) (x)",
    "models list --nope": "No such option: --nope",
    "models list smollm2-135m x": "Got unexpected extra argument(s)",
    "cobe augment nohead.jsonl --model M --out news.jsonl/o.json": "part of the path is a file",
    "cobe augment none.json --model M --out o.json": "none.json: no such file",
    "cobe augment folder --model M --out o.json": "folder: is a folder",
    "cobe augment nohead.jsonl --model M --out o.json": "nohead.jsonl:1: the key 'Variation te",
    "cobe write --n 0 --model M --reader R --out o.jsonl": "must be at least 1",
    "cobe write --n 1 --model M --out o.jsonl": "Missing option '--reader'",
    "cobe write --n 1 --model M --reader R --out folder": "folder: is a folder",
    "cobe study sample": "Missing argument 'FILE|RUN",
    "cobe study sample none --out o.csv": "none: is not a run folder",
    "cobe study sample folder --out o.csv": "folder: is not a run folder",
    "cobe study score": "Missing argument 'FILE",
    "cobe study score none.csv": "none.csv: ",
    "cobe study score wide.csv --key none.csv": "none.csv: no such file",
    "run cobe --model M --data nohead.jsonl": "nohead.jsonl:1: the key 'Variation text'",
    "run cobe --model M --data none.json": "none.json: no such file",
    "run cobe": "no model is named; add --model",
    # rfc-detect, rfc-diagnose
    "run rfc-detect --model M --data nohead.jsonl": "nohead.jsonl:1: the manipulation is missing",
    "run rfc-detect --model M --shots 3": "use 0, 2 or 8 examples",
    "run rfc-detect": "no model is named; add --model",
    "run rfc-diagnose --model M --shots 2": "No such option: --shots",
    "run rfc-diagnose --model M --data none.jsonl": "none.jsonl: no such file",
    "run rfc-diagnose": "no model is named; add --model",
    # score
    "score nosuch o.jsonl": "there is no task 'nosuch', and no run folder of that name",
    "score folder --judge M": "folder: is not a run folder",
    "score news.jsonl --judge M": "is not a folder; a table is judged by contrafact score TASK",
    "score finforce": "Missing argument 'FILE'",
    "score finforce none.jsonl": "none.jsonl: no such file",
    "score finforce -": "outputs are not read from standard input",
    "score finforce news.jsonl": "do not fit finforce (found: headline)",
    "score finforce broken.jsonl": "broken.jsonl:2: bad JSON",
    "score finforce news.jsonl --columns headline": "--columns",
    "score finforce news.jsonl --columns risque=x": "there is no field 'risque'",
    "score finforce news.jsonl --columns risk=x": "news.jsonl: there is no column 'x' for 'risk'",
    "score finforce news.jsonl --model M": "No such option: --model",
    "score cobe": "Missing argument 'FILE'",
    "score cobe nohead.jsonl": "do not fit cobe (found: x)",
    "score cobe nohead.jsonl --data none.json": "none.json: no such file",
    "score rfc-detect nohead.jsonl": "do not fit rfc-detect (found: x)",
    "score rfc-detect folder": "folder: is a folder",
    "score rfc-detect nohead.jsonl --limit 0": "must be at least 1",
    "score rfc-diagnose nohead.jsonl": "do not fit rfc-diagnose (found: x)",
    "score rfc-diagnose": "Missing argument 'FILE'",
    "score rfc-diagnose nohead.jsonl --judge M --shots 2": "No such option: --shots",
    # exam, agree
    "news fetch nosuch --out o.jsonl": "Invalid value for 'SOURCE': 'nosuch' is not one of",
    "rfc rewrite news.jsonl --out o.jsonl --decoding d.toml": "has no effect without --model",
    "exam --judge M": "--out is missing; name the exam's file",
    "exam --judge nosuch/x --out o.json": "cannot use the model 'nosuch/x'",
    "exam --judge proof --out o.json": "finforce has no verifier 'proof', but cobe has one",
    "exam --judge M --out folder": "folder: the result is a JSON file",
    "exam --judge nosuch/x --out news.jsonl/o.json": "part of the path is a file",
    "report folder --exam none.json": "none.json: no such file",
    # review
    "review project nosuch": "there is no review project 'nosuch'; use one of",
    "review project none.toml": "none.toml: ",
    "review project --nope": "No such option",
    "review import news.jsonl": "name its project: --project NAME",
    "review import news.jsonl --project nosuch": "there is no review project 'nosuch'",
    "review import": "Missing argument 'FILE'",
    "review export": "Missing option '--out'",
    "review export --out o.jsonl": "there is no database",
    "review export --db sqlite:///none/none.db --out o.jsonl": "the folder does not exist",
    "review prove": "there is no database",
    "review prove --db sqlite:///none/none.db": "the folder does not exist",
    "review prove more": "unexpected extra argument",
    "review serve --port 99999": "must be at most 65535",
    "review serve --tls-key key.pem": "a TLS key needs its certificate",
    "review serve --host 0.0.0.0": "passw",
    "review serve --db sqlite:///none/none.db": "the folder does not exist",
    "review invite": "Missing argument 'NAME'",
    "review invite Ann --db sqlite:///none/none.db": "the folder does not exist",
    "review invite Ann --nope": "No such option",
    "review plan": "Missing option '--budget'",
    "review plan --budget 0": "must be at least 1",
    "review plan none.jsonl --budget 5": "Missing option '--out'",
    "review estimate": "Missing argument 'KEY'",
    "review estimate none.jsonl": "Missing option '--labels'",
    "review estimate none.json --labels none.csv": "none.json: no such file",
    "review figures": "Missing option '--out'",
    "review figures --out o": "there is no database",
    "review figures --out o --db sqlite:///none/none.db": "the folder does not exist",
    # train
    "train edit": "Missing argument 'CONFIG'",
    "train edit nosuch": "there is no such config",
    "train edit tiny --examples 4": "must be at least 16",
    "train edit tiny --from nosuch": "nosuch: is not an adapter's folder",
    "train srlm": "Missing argument 'CONFIG'",
    "train srlm nosuch": "there is no such config",
    "train srlm tiny --iterations 0": "must be at least 1",
    # whatif
    "whatif --model M": "Missing option",
    "whatif --model M --factual-prompt a": "nothing is to be changed",
    "whatif --model none/ --factual-prompt a --counterfactual-prompt b --text c": "none",
    # prompts
    "init": "Missing argument 'DIR'",
    "init news.jsonl": "news.jsonl: holds something else; name a new folder, or an empty one",
    "init news.jsonl/project": "news.jsonl/project: cannot be written",
    "methods nothing": "there is no task 'nothing'",
    "methods cobe more": "unexpected extra argument",
    "methods --task cobe": "No such option",
    "prompts import": "Missing argument 'FILE'",
    "prompts import none.md new": "none.md: cannot be used",
    "prompts import news.jsonl new": "news.jsonl: does not begin with a section",
    "prompts list more": "unexpected extra argument",
    "prompts list --json": "No such option",
    "prompts list --pack stated": "No such option",
    "prompts export": "Missing argument 'DIR'",
    "prompts export folder": "folder: exists and is not an empty folder",
    "prompts export news.jsonl/pack": "not a directory",
}


# Commands that read one file of rows, and how each is called with it.
READERS = {
    "news fetch": "news fetch file FILE --out o.jsonl",
    "news dedupe": "news dedupe FILE --out o.jsonl",
    "finforce screen": "finforce screen FILE --out o.jsonl",
    "finforce release": "finforce release FILE --out o",
    "rfc hydrate": "rfc hydrate FILE --news n.jsonl --out o.jsonl",
    "rfc bucket": "rfc bucket FILE --out o.jsonl",
    "rfc label": "rfc label FILE --out o.jsonl",
    "rfc ledger": "rfc ledger FILE",
    "rfc calibrate": "rfc calibrate FILE --out o",
    "rfc rewrite": "rfc rewrite FILE --out o.jsonl",
    "rfc check": "rfc check FILE --out o.jsonl",
    "rfc finalize": "rfc finalize FILE --out o.jsonl",
    "rfc release": "rfc release FILE --out o",
    "rfc surface": "rfc surface FILE --out o",
    "rfc study sample": "rfc study sample FILE --out o.csv",
    "rfc study score": "rfc study score FILE",
    "agree": "agree FILE",
}
UNREADABLE = ("none.jsonl", "folder", "broken.jsonl", "latin.jsonl")


def test_every_command_is_given_three_wrong_inputs():
    for command in COMMANDS:
        known = sum(wrong == command or wrong.startswith(f"{command} ") for wrong in WRONG)
        assert known + len(UNREADABLE) * (command in READERS) >= 3, command


@pytest.mark.parametrize("command", READERS)
def test_a_file_that_cannot_be_read_is_named_and_nothing_is_written(
    quick_contrafact, tmp_path, command
):
    (tmp_path / "broken.jsonl").write_text('{"headline": "Mills close"}\n{"headline": "a\n')
    (tmp_path / "latin.jsonl").write_bytes('{"headline": "Öfen"}\n'.encode("latin-1"))
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for name in UNREADABLE:
        result = quick_contrafact(*(READERS[command].replace("FILE", name).split()))
        assert result.returncode == 2, result.stdout + result.stderr
        first, *more = result.stderr.splitlines()
        assert first.startswith(f"contrafact: {name}"), first
        assert not any("Traceback" in line for line in more)
        if command != "rfc check":  # which answers the rows that it can read
            assert sorted(tmp_path.rglob("*")) == before, name


@pytest.mark.parametrize("command", WRONG)
def test_what_is_wrong_is_reported_in_one_line_that_exits_with_2(
    quick_contrafact, tmp_path, command
):
    (tmp_path / "news.jsonl").write_text('{"headline": "Mills close in Ostrava"}\n')
    (tmp_path / "nohead.jsonl").write_text('{"x": 1}\n')
    (tmp_path / "broken.jsonl").write_text('{"headline": "Mills close"}\n{"headline": "a\n')
    (tmp_path / "wide.csv").write_text("a,b\n1,2,3\n")
    (tmp_path / "notes.gguf").write_text("not a model")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "letter").write_text("dear")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    result = quick_contrafact(*(MODEL if word == "M" else word for word in command.split()))
    assert result.returncode == 2, result.stdout + result.stderr
    line = result.stderr.removesuffix("\n")
    assert "\n" not in line
    assert line.startswith("contrafact: ")
    assert WRONG[command] in line and ".;" not in line
    for path, content in before.items():
        assert path.read_bytes() == content
    assert not list(tmp_path.glob("*.csv.work")) + list(tmp_path.glob("o.*"))


def test_a_pipe_that_closes_early_is_no_error(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "contrafact.cli.main", "data", "list"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.slow
def test_ctrl_c_stops_a_run_and_the_same_command_goes_on(
    quick_contrafact, start_contrafact, start_service
):
    with start_service("--latency", "0.5") as service:
        command = (
            "run", "finforce", "--model", service.model, "--fluency-model", "none",
            "--out", "out", "--max-connections", "2", "--limit", "12",
        )  # fmt: skip
        with start_contrafact(
            *command, env=service.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            deadline = time.monotonic() + 600
            while len(service.stats()["answered"]) < 4:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, shown = process.communicate(timeout=60)
        assert process.returncode == 130, shown
        assert "Traceback" not in shown
        assert "goes on when the command is repeated" in shown
        again = quick_contrafact(*command, env=service.environment)
        assert again.returncode == 0, again.stderr
        answered = service.stats()["answered"]
    assert len(answered) == 12
    assert sum(answered.values()) <= 12 + 2


def test_a_terminal_sees_a_bar_and_a_pipe_sees_lines(start_contrafact, service, tmp_path):
    (tmp_path / "news.jsonl").write_text('{"headline": "Mills close in Ostrava"}\n' * 3)
    command = ("generate", "news.jsonl", "--model", service.model, "--out", "out.csv")
    environment = {**service.environment, "TERM": "xterm-256color"}
    code, shown = at_terminal(partial(start_contrafact, *command, env=environment))
    assert code == 0 and "━" in shown and "3/3" in shown
    assert "rows: 1/3" not in shown


def test_a_providers_key_is_in_no_file_of_a_run(quick_contrafact, service, tmp_path):
    secret = "sk-given-on-the-line-0123456789"
    result = quick_contrafact(
        "run", "finforce", "--model", service.model, "--judge", service.judge, "--limit", "1",
        "--out", "out", "--fluency-model", "none", "-M", f"api_key={secret}",
        "--judge-arg", f"api_key={secret}", env=service.environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    keys = (secret.encode(), service.environment["FAKE_API_KEY"].encode())
    assert secret not in result.stdout + result.stderr
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            assert not any(key in contents for key in keys for contents in unpacked(path)), path


def unpacked(path):
    """Return what a file holds, Inspect's logs decompressed."""
    if path.suffix != ".eval":
        return [path.read_bytes()]
    from inspect_ai.log import read_eval_log

    return [read_eval_log(str(path)).model_dump_json().encode()]


def test_a_run_that_is_refused_asks_nobody_and_leaves_no_folder(
    quick_contrafact, service, tmp_path
):
    run = ("run", "finforce", "--model", service.model, "--limit", "2")
    done = quick_contrafact(*run, "--fluency-model", "nowhere.gguf", env=service.environment)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "nowhere.gguf" in done.stderr
    assert service.stats()["answered"] == {}
    assert not list(tmp_path.iterdir())


def test_what_a_terminal_cannot_show_is_escaped(contrafact, tmp_path):
    (tmp_path / "a.csv").write_text("item,Jürgen,夏\n1,ja ✓,ja ✓\n2,nein ✗,ja ✓\n3,ja ✓,ja ✓\n")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "COLUMNS": "10"}
    done = contrafact("agree", "a.csv", env={**os.environ, **plain})
    assert done.returncode == 0 and "ja \\u2713" in done.stdout
    assert "Traceback" not in done.stderr


def test_closed_streams_are_no_fault(tmp_path):
    line = f"'{sys.executable}' -m contrafact.cli.main methods <&- >&- 2>errors"
    assert subprocess.run(["sh", "-c", line], cwd=tmp_path, check=False).returncode == 0
    assert (tmp_path / "errors").read_text() == ""


def test_without_a_home_a_temporary_folder_is_used_and_said(contrafact, tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    done = contrafact(
        "models", "list", env={**env, "HOME": "/dev/null/none", "TMPDIR": str(tmp_path)}
    )
    folder = tmp_path / f"contrafact-{os.getuid()}"
    assert done.returncode == 0 and folder.stat().st_mode & 0o777 == 0o700
    assert f"/dev/null/none cannot be written; {folder} is used" in done.stderr
