"""``cf.run`` and ``cf.load``: tables in, results out, anywhere."""

import asyncio
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

import contrafact as cf

HEADLINES = [
    "Tern & Vale raises its dividend",
    "Harbour Bank falls 5% as loan losses mount",
    "Oil rises <script>alert(1)</script> on supply fears",
]
OPTIONS = {"fluency_model": "none", "temperature": 0}


@pytest.fixture
def run(models):
    def start(**options):
        return cf.run("finforce", **{"model": models.model, "judge": models.judge, **OPTIONS,
                                     **options})  # fmt: skip

    return start


def test_three_headlines_judged_and_shown(run, models):
    frame = pd.DataFrame({"headline": HEADLINES, "desk": ["a", None, "c"]})
    found = run(data=frame)
    assert found.items["headline"].unique().tolist() == HEADLINES
    assert found.items["side"].value_counts().to_dict() == {"risk": 3, "opportunity": 3}
    assert len(found.verdicts) == 12 and found.failures.empty
    scores = found.scores.set_index(["measure", "form"])["estimate"]
    assert scores["forward_compatibility", "valid"] == found.items["forward_compatibility"].mean()
    assert found.table()["system"].tolist() == [f"{models.model} · zero-shot"]
    shown = found._repr_html_()
    assert f"{100 * scores['directionality', 'valid']:.1f}" in shown
    # The same call again, from a list of rows, in whose folder all is found: no model is called.
    before = models.stats()["answered"]
    again = run(data=frame.to_dict("records"), out=found.folder)
    pd.testing.assert_frame_equal(again.items, found.items)
    pd.testing.assert_frame_equal(cf.load(found.folder).scores, found.scores)
    assert models.stats()["answered"] == before


def test_what_models_and_news_wrote_is_escaped_wherever_it_is_shown(run):
    found = run(data=HEADLINES[2:], judge=None)
    page = found.report()
    assert page.path == found.folder / "report.html"
    for html in (found._repr_html_(), page.html, page._repr_html_()):
        assert "<script>alert" not in html
    assert "sandbox" in page._repr_html_()
    assert any("no --judge" in note for note in found.notes)


def test_a_file_in_the_same_folder_is_the_same_run(run, tmp_path):
    pd.DataFrame({"headline": HEADLINES[:1]}).to_csv("news.csv", index=False)
    found = run(data="news.csv", judge=None, seed=3)
    manifest = json.loads((found.folder / "manifest.json").read_text())
    assert manifest["settings"]["seed"] == 3 and manifest["data"]["name"] == "news.csv"
    assert cf.load("news.csv").to_dict("records") == [{"headline": HEADLINES[0]}]


def test_a_running_event_loop_is_no_obstacle(run, models):
    async def notebook():
        inside = run(limit=1, judge=None)
        both = await asyncio.gather(
            cf.run.aio("finforce", model=models.model, limit=1, **OPTIONS),
            cf.run.aio("finforce", model=models.model, limit=2, **OPTIONS),
        )
        return inside, *both

    inside, one, two = asyncio.run(notebook())
    assert (len(inside.items), len(one.items), len(two.items)) == (2, 2, 4)
    assert inside.folder == one.folder != two.folder


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modle": "x"}, "finforce has no option 'modle'; did you mean 'model'?"),
        ({"temperature": -1}, "temperature: must be at least 0 (it is -1)"),
        ({"data": []}, "data has no rows; give at least one"),
        ({"data": 3}, "data is int, not a table"),
        ({"data": [{"x": 1}]}, "data:1: no column 'headline' (found: x)"),
        ({"data": [{"headline": "fine"}, {"headline": " "}]}, "data:2: the headline is empty"),
        ({"data": "none.csv"}, "none.csv: no such file; check the path"),
        ({"data": "-"}, "standard input"),
        ({"model": None}, "no model is named"),
        ({"model": "nobody/x"}, "cannot use the model 'nobody/x'"),
        ({"preset": "paper"}, "there is no preset 'paper'"),
        ({"shots": 2}, "--shots is for worked examples"),
    ],
)
def test_what_is_wrong_is_one_line_before_the_first_call(run, models, options, message):
    before = models.stats()["answered"]
    with pytest.raises(cf.InputError) as caught:
        run(**options)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert models.stats()["answered"] == before


@pytest.mark.slow
def test_samples_that_fail_are_listed_and_reported(run):
    with pytest.warns(UserWarning, match="1 of 2 samples failed"):
        found = run(data=["Tern & Vale is doomed", HEADLINES[0]], judge=None, max_retries=0)
    assert found.failures["cause"].str.contains("on fire").all() and len(found.items) == 2
    with pytest.raises(cf.ModelError, match=r"1 of 1 samples failed.*\n  1 x .*on fire"):
        run(data=["Tern & Vale is doomed"], judge=None, max_retries=0)


def test_rows_are_never_put_into_the_folder_of_another_run(run, tmp_path):
    found = run(data=HEADLINES[:1], judge=None)
    kept = (found.folder / "data.jsonl").read_bytes()
    with pytest.raises(cf.InputError, match="holds another run"):
        run(data=HEADLINES[1:2], judge=None, out=found.folder)
    assert (found.folder / "data.jsonl").read_bytes() == kept
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "data.jsonl").write_text('{"headline": "mine"}\n')
    with pytest.raises(cf.InputError, match="is not from this run"):
        run(data=HEADLINES[:1], judge=None, out="mine")
    assert (tmp_path / "mine" / "data.jsonl").read_text() == '{"headline": "mine"}\n'


def test_outputs_made_elsewhere_are_judged(models):
    rows = [
        {"headline": text, "risk": f"{text}, and it sinks", "opportunity": f"{text}, and it soars"}
        for text in HEADLINES
    ]
    options = {"judge": models.judge, "fluency_model": "none"}
    found = cf.score("finforce", pd.DataFrame(rows), system="desk", **options)
    assert "score: data.jsonl" in (found.folder / "config.yaml").read_text()
    assert set(found.items["system"]) == {"desk"} and len(found.items) == 6
    assert found.items["text"].tolist()[:2] == [rows[0]["risk"], rows[0]["opportunity"]]
    assert found.scores.query("measure == 'directionality'")["n"].eq(6).all()
    before = models.stats()["answered"]
    assert cf.score("finforce", rows, system="desk", **options).items.equals(found.items)
    assert models.stats()["answered"] == before
    several = [{**row, "system": name} for row in rows[:1] for name in ("one", "two")]
    assert set(cf.score("finforce", several, **options).items["system"]) == {"one", "two"}
    with pytest.raises(cf.InputError, match="do not fit finforce"):
        cf.score("finforce", [{"x": 1}], **options)
    with pytest.raises(cf.InputError, match="no option 'judge_fault'; did you mean 'judge_faults'"):
        cf.score("finforce", rows, judge_fault=True, **options)


@pytest.mark.slow
def test_a_finished_run_is_judged_again(run, models):
    found = run(data=HEADLINES[:2])
    again = cf.score(found, judge="openai-api/face/second")
    assert again.items["text"].tolist() == found.items["text"].tolist()
    assert set(again.verdicts["judge"]) == {models.judge, "openai-api/face/second"}
    before = models.stats()["answered"]
    for source in (found.folder, str(found.folder)):
        assert cf.score(source, judge="openai-api/face/second").folder == again.folder
    assert models.stats()["answered"] == before
    for arguments, options, message in (
        ((found,), {}, "no judge is named"),
        (("finforce",), {}, "no outputs of finforce are given"),
        (("nix",), {}, "there is no task 'nix', and no run folder of that name"),
        ((found,), {"judge": models.judge, "system": "x"}, "system has no effect when a run"),
        (("finforce", found), {}, "a run is judged again on its own"),
        ((found, [{"id": 1}]), {}, "a run is judged again on its own"),
        (("finforce", [{"id": 1}]), {"temperature": 1}, "temperature is an option for generating"),
        (("finforce", [{"id": 1}]), {"shots": 1}, "shots is an option for generating"),
    ):
        with pytest.raises(cf.InputError) as caught:
            cf.score(*arguments, **options)
        assert message in str(caught.value)


@pytest.mark.slow
def test_many_paid_calls_are_made_on_word_only_and_estimated_without_one(run, models, monkeypatch):
    monkeypatch.setattr("contrafact.runs.execute.ASK_ABOVE", 4)
    before = models.stats()["answered"]
    with pytest.raises(cf.InputError, match="about 5 paid calls; add yes=True"):
        run(data=HEADLINES[:1])
    rows = [{"headline": HEADLINES[0], "risk": "It sinks", "opportunity": "It soars"}]
    for found in (
        run(data=HEADLINES[:1], estimate=True, model="openai/gpt-4o"),
        run(limit=1, estimate=True, model="openai/gpt-4o"),
    ):
        assert (found.calls, found.paid_calls) == (5, 5)
        assert found.tokens == found.items[["input_tokens", "output_tokens"]].sum().sum() > 100
        assert found.dollars == found.items["dollars"].sum() > 0
        assert found.items["role"].tolist() == ["subject, zero-shot", "judge"]
        assert f"no price is known for {models.judge}" in found.notes
    scored = cf.score("finforce", rows, judge=models.judge, fluency_model="none", estimate=True)
    assert (scored.calls, scored.dollars) == (4, 0)
    assert models.stats()["answered"] == before
    done = run(data=HEADLINES[:1], yes=True)
    # What has finished asks nothing, and needs no word.
    assert run(data=HEADLINES[:1]).folder == done.folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "cf.run('finforce', model='openai-api/fake/writer', limit=2, fluency_model='none')",
        "cf.generate(['Oil rises'], model='openai-api/fake/writer')",
    ],
)
def test_an_interrupt_stops_the_work_where_an_event_loop_runs(start_service, tmp_path, call):
    code = (
        "import asyncio, signal, threading, time, os, contrafact as cf\n"
        "async def notebook():\n"
        "    threading.Timer(8, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        f"    {call}\n"
        "import contrafact.runs.execute, contrafact.families.finforce.scenarios\n"
        "loop = asyncio.new_event_loop()\n"
        "try: loop.run_until_complete(notebook())\n"
        "except KeyboardInterrupt: print('stopped')\n"
        "for thread in threading.enumerate():\n"
        "    if thread.name == 'contrafact': thread.join(20); print(thread.is_alive())\n"
    )
    with start_service("--latency", "60") as service:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
            cwd=tmp_path, env=service.environment,
        )  # fmt: skip
    assert done.stdout.splitlines() == ["stopped", "False"], done.stderr


def test_a_runs_own_cache_is_its_own_and_inspects_place_is_left_as_it_was(run, models, monkeypatch):
    monkeypatch.delenv("INSPECT_CACHE_DIR", raising=False)
    own = run(data=HEADLINES[:1], judge=None)
    assert "INSPECT_CACHE_DIR" not in os.environ
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(shared := Path("shared").absolute()))
    run(data=HEADLINES[1:2], judge=None, cache=True)
    assert os.environ["INSPECT_CACHE_DIR"] == str(shared)
    kept = [path for path in shared.rglob("*") if path.is_file()]
    assert kept and not (own.folder / "cache").exists()
    with monkeypatch.context() as patched, pytest.raises(RuntimeError):
        patched.setattr("contrafact.runs.execute.eval_set", _fails)
        run(data=HEADLINES[2:], judge=None)
    assert os.environ["INSPECT_CACHE_DIR"] == str(shared)
    # Another folder, the same questions: what is shared answers them, at two threads' calls too.
    before = models.stats()["answered"]
    with ThreadPoolExecutor(2) as pool:
        ran = [pool.submit(run, data=HEADLINES[1:2], judge=None, cache=True, out=f"again-{n}")
               for n in range(2)]  # fmt: skip
        assert all(len(one.result().items) for one in ran)
    assert models.stats()["answered"] == before
    assert os.environ["INSPECT_CACHE_DIR"] == str(shared)


def _fails(*_, **__):
    raise RuntimeError("no evaluation")
