"""The seam between families and engines: finding families, methods outside, identity of runs."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from contrafact import plugins
from contrafact.errors import InputError
from contrafact.family import families, family_of_task, task_named, tasks
from contrafact.family.method import MethodContext
from contrafact.family.run import load_once
from contrafact.prompts import export_pack, open_pack
from contrafact.runs.prepare import make_settings, prepare

GIVEN = {"models": ("mockllm/model",)}
METHOD = """
from contrafact.families.finforce.generation import Generation
from contrafact.models.asking import PlannedCall

OPTIONS = {"rounds": 1}


class Mine:
    name = "mine"
    shots = 0

    def __init__(self, context):
        self.template = context.pack.template("my-method/ask", required={"headline"})
        self.rounds = context.options["rounds"]

    async def __call__(self, headline, ask, *, draw=1):
        return Generation({"risk": "down", "opportunity": "up"})

    def plan(self, headline):
        return [PlannedCall(self.template.render(headline=headline.text), 10)] * self.rounds


def method(context):
    return Mine(context)
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A method in a file outside the package, its template in a folder next to it."""
    (tmp_path / "my_method.py").write_text(METHOD)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "ask.jinja").write_text("Think about {{ headline }}.")
    package = tmp_path / "own_methods"
    package.mkdir()
    shutil.move(tmp_path / "my_method.py", package / "my_method.py")
    shutil.move(tmp_path / "prompts", package / "prompts")
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    for name in [name for name in sys.modules if name.split(".")[0] == "own_methods"]:
        del sys.modules[name]


def identity(task="finforce", methods=(), options=None, **given):
    named = {"methods": methods} if methods else {}
    return prepare(make_settings(task, {**GIVEN, **named, **given}, options or {})).identity


def test_the_three_families_are_found_through_their_entry_points():
    assert [name for name in families() if name in ("finforce", "rfc", "cobe")] == [
        "finforce",
        "rfc",
        "cobe",
    ]
    assert family_of_task("rfc-diagnose").name == "rfc"
    assert {"finforce", "rfc-detect", "rfc-diagnose", "cobe"} <= set(tasks())
    with pytest.raises(InputError, match=r"no task 'cob'; use .*cobe"):
        task_named("cob")


def test_two_families_cannot_share_a_task_and_an_entry_point_names_a_family(monkeypatch):
    twin = EntryPoint("twin", "contrafact.families.cobe.family:FAMILY", plugins.FAMILY_GROUP)
    monkeypatch.setattr(
        "contrafact.family.family_entries", lambda: (*plugins.family_entries(), twin)
    )
    families.cache_clear()
    try:
        with pytest.raises(InputError, match="names no family of that name"):
            families()
    finally:
        families.cache_clear()


def test_a_method_outside_brings_its_templates_and_its_options(outside, tmp_path):
    methods = task_named("finforce").run.load().methods
    made = methods.make("own_methods.my_method:rounds=2", MethodContext(pack=open_pack()))
    headline = prepare(make_settings("finforce", {**GIVEN, "limit": 1}, {})).items[0]
    assert [call.prompt for call in made.plan(headline)] == [f"Think about {headline.text}."] * 2
    # A user's own pack may hold the template instead.
    export_pack(tmp_path / "pack")
    own = tmp_path / "pack" / "my-method" / "ask.jinja"
    own.parent.mkdir()
    own.write_text("Dream of {{ headline }}.")
    made = methods.make("own_methods.my_method", MethodContext(pack=open_pack(tmp_path / "pack")))
    assert made.plan(headline)[0].prompt == f"Dream of {headline.text}."
    with pytest.raises(InputError, match=r"'turns' is not an option of own_methods\.my_method"):
        methods.make("own_methods.my_method:turns=2", MethodContext())


def test_a_run_s_identity_rests_on_the_templates_that_it_uses_and_on_no_others(outside, tmp_path):
    export_pack(tmp_path / "pack")
    pack = tmp_path / "pack"
    before = identity(prompts=pack), identity(methods=("few-shot",), prompts=pack)
    judged = identity(prompts=pack, judges=("mockllm/judge",))
    chained = identity(methods=("least-to-most",), prompts=pack)
    cobe = identity("cobe", prompts=pack)
    # A template that is new, or another method's, or another family's.
    (pack / "finforce" / "brand-new.jinja").write_text("new {{ headline }}")
    for name in ("least-to-most-fluency", "judge-forward-compatibility"):
        path = pack / "finforce" / f"{name}.jinja"
        path.write_text(path.read_text() + "\nMore.")
    assert (identity(prompts=pack), identity(methods=("few-shot",), prompts=pack)) == before
    assert identity("cobe", prompts=pack) == cobe
    assert identity(methods=("least-to-most",), prompts=pack) != chained
    assert identity(prompts=pack, judges=("mockllm/judge",)) != judged
    path = pack / "finforce" / "generate.jinja"
    path.write_text(path.read_text() + "\nMore.")
    assert identity(prompts=pack) != before[0]
    # The template of a method outside counts where the method is used.
    mine = identity(methods=("own_methods.my_method",))
    (outside / "prompts" / "ask.jinja").write_text("Other {{ headline }}.")
    assert identity(methods=("own_methods.my_method",)) != mine


def test_data_are_read_once_and_again_when_the_file_changes(tmp_path):
    read = []

    def load(path):
        read.append(path)
        return path.read_text()

    file = tmp_path / "data.txt"
    file.write_text("one")
    assert [load_once(load, file), load_once(load, file)] == ["one", "one"]
    assert len(read) == 1
    file.write_text("another")
    assert load_once(load, file) == "another"


def test_a_run_reads_its_data_once(tmp_path, monkeypatch):
    """Not once to check it and again for the Inspect task."""
    from contrafact.families.finforce import task as finforce
    from contrafact.family.inspect_tasks import run_task

    reads = []
    real = finforce.load_headlines
    monkeypatch.setattr(
        finforce,
        "load_headlines",
        lambda path, notes, **names: reads.append(path) or real(path, notes, **names),
    )
    file = tmp_path / "news.jsonl"
    file.write_text(json.dumps({"headline": "Fallow Bank cuts its outlook"}) + "\n")
    prepared = prepare(make_settings("finforce", {**GIVEN, "data": file}, {}))
    run_task(prepared, "zero-shot")
    assert reads == [file]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("cobe -T judged=false -T draws=x", "Error: draws = 'x': must be a whole number"),
        ("cobe -T judged=false -T fingerprnt=1", "Error: cobe has no argument 'fingerprnt'; use"),
        ("rfc-detect -T data=none.csv", "Error: none.csv: no such file; check the path"),
        ("rfc-detect -T method=plane", "Error: rfc-detect has no method 'plane'; use one of"),
        ("cobe", "Error: no judge is bound to the role 'grader'; name one"),
    ],
)
def test_what_is_wrong_with_a_task_is_one_line_of_inspect(quick_inspect, tmp_path, words, line):
    task, *arguments = words.split()
    done = quick_inspect(
        *("eval", f"contrafact/{task}", *arguments, "--model", "mockllm/model"),
        *("--display", "plain", "--log-dir", "logs"),
    )
    shown = (done.stdout + done.stderr).strip()
    assert done.returncode != 0 and "Traceback" not in shown
    assert shown.splitlines()[-1].startswith(line)
    assert not list((tmp_path / "logs").glob("*.eval"))


def test_a_task_that_a_program_makes_finds_its_judge_when_it_is_evaluated():
    from contrafact.families.cobe.task import cobe

    assert cobe(limit=1).dataset
    with pytest.raises(InputError, match="no such file"):
        cobe(data="none.jsonl")


def test_inspect_lists_our_tasks():
    import contrafact

    words = [sys.executable, "-m", "inspect_ai", "list", "tasks"]
    done = subprocess.run(words, cwd=contrafact.__path__[0], capture_output=True, text=True)
    assert {line.rpartition("@")[2] for line in done.stdout.split()} >= set(tasks())
