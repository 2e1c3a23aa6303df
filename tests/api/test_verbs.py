"""Every verb: plain arguments in, items and scores out, the command line's errors."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import contrafact as cf
from contrafact.family.exam_file import write_exam

sys.path.append(str(Path(__file__).parents[1] / "support"))
from made_exams import exam_with
from pair_judge import made_pairs

SRC = Path(cf.__file__).parent


def test_the_face_is_light_and_whole():
    code = (
        "import sys; before = set(sys.modules); import contrafact as cf; print(len(set(sys.modules)"
        " - before)); print(*dir(cf)); print('pandas' in sys.modules, 'pydantic' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded, names, heavy = result.stdout.splitlines()
    assert int(loaded) < 40 and heavy == "False False"
    stub = (SRC / "__init__.pyi").read_text(encoding="utf-8")
    for name in set(names.split()) - {"__version__"}:
        assert f"import {name} as {name}\n" in stub
        assert callable(getattr(cf, name))
    assert stub.count("import ") == len(names.split()) - 1
    with pytest.raises(AttributeError, match="nonsense"):
        cf.nonsense  # noqa: B018


def test_every_verb_documents_all_it_takes():
    import inspect

    for name in set(cf.__all__) - {"__version__", "InputError", "ModelError"}:
        verb = getattr(importlib.import_module(cf._PLACES[name]), name)
        signature, text = inspect.signature(verb), verb.__doc__
        for argument in signature.parameters:
            assert f"        {argument}: " in text, f"{name}: {argument}"
        assert "Returns:" in text and "Raises:" in text, name


def test_headlines_become_scenarios(models):
    found = cf.generate(["Oil rises", "", "Rates fall"], model=models.model, judge=models.judge)
    assert found.items["headline"].tolist() == ["Oil rises", "", "Rates fall"]
    assert found.items["valid"].tolist() == [True, False, True]
    assert found.items["error"][1] == "the headline is empty"
    shares = found.scores.set_index("measure")["share"]
    assert shares["valid"] == pytest.approx(2 / 3)
    assert 0 <= shares["risk_directionality"] <= 1
    frame = pd.DataFrame({"Headline": ["Oil rises"], "desk": ["energy"]})
    kept = cf.generate(frame, model=models.model, out="made.csv")
    assert kept.items["desk"].tolist() == ["energy"] and Path("made.csv").exists()
    table = pd.DataFrame({"ref": ["00042", "7e05", "'=1"], "ticker": ["NA", "TRUE", "None"]})
    table["headline"] = ["''Oil'' rises", "Rates fall", "-5% at Ore"]
    for out in ("t.csv", "t.tsv", "t.parquet", "t.xlsx", "t.jsonl"):
        items = cf.generate(table, model=models.model, judge=models.judge, out=out).items
        assert items[[*table]].equals(table), out
        assert items["valid"].tolist() == [True] * 3 and items["risk_directionality"].notna().all()
    table = pd.DataFrame([{"headline": "Oil rises", "error": "call failed: x", "valid": "no"}])
    for out in ("u.csv", "u.jsonl"):  # columns of an earlier result
        found = cf.generate(table, model=models.model, judge=models.judge, out=out)
        assert found.items[[*table]].equals(table) and found.items["contrafact_valid"].all()
        assert found.scores.set_index("measure")["share"]["valid"] == 1 and not found.notes
    with pytest.raises(cf.InputError, match=r"data:1: no column 'headline'"):
        cf.generate([{"x": "Oil"}], model=models.model)
    with pytest.raises(cf.InputError, match="no option 'temprature'; did you mean 'temperature'"):
        cf.generate(["Oil"], model=models.model, temprature=1)
    with pytest.raises(cf.ModelError, match=r"1 of 1 rows failed:\n  1 x call failed: .*on fire"):
        cf.generate(["Oil is doomed"], model=models.model, max_retries=0)


@pytest.mark.parametrize("verb", ["generate", "check", "rewrite"])
def test_many_paid_calls_are_made_on_word_only_and_estimated_without_one(verb, monkeypatch):
    monkeypatch.setattr("contrafact.models.estimate.ASK_ABOVE", 2)
    monkeypatch.setattr("inspect_ai.model.Model.generate", None)  # no model is called
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    rows = [{**PAIR, "headline": f"Oil {n}", "title": f"Oil {n}", "summary": PAIR["original"]}
            for n in range(3)]  # fmt: skip
    asked = {"judge" if verb == "check" else "model": "openai/gpt-4o"}
    priced = getattr(cf, verb)(rows, **asked, estimate=True)
    assert priced.calls == priced.paid_calls >= 3 and priced.dollars > 0
    with pytest.raises(cf.InputError, match=r"about [\d,]+ paid calls; add yes=True"):
        getattr(cf, verb)(rows, **asked)


def test_nothing_that_is_printed_names_a_temporary_file(models, pair_writer, capfd):
    found = cf.generate(["Oil rises", " "], model=models.model)
    assert found.items["valid"].tolist() == [True, False]
    article = {"title": "Tern", "summary": PAIR["original"], "manipulation": "flipping"}
    assert len(cf.rewrite([article], model=f"{pair_writer.model}-sound").items) == 1
    said = capfd.readouterr()
    assert "data:2: the headline is empty" in said.err and "rows: 1/1" in said.err
    assert "contrafact-" not in said.out + said.err and "written to" not in said.err


PAIR = {
    "manipulation": "flipping",
    "original": "Tern & Vale shares rose 5% on Monday as demand grew.",
    "rewritten": "Tern & Vale shares fell 5% on Monday as demand shrank.",
}


def test_pairs_are_checked():
    found = cf.check([PAIR, {**PAIR, "rewritten": PAIR["original"]}, {**PAIR, "original": " "}])
    assert found.items["passed"].tolist() == [None, False, False]
    assert found.items["violations"][2][0]["rule"] == "bad-row"
    (scores,) = found.scores.to_dict("records")
    assert (scores["pass"], scores["fail"], scores["undecided"]) == (0, 2, 1)
    assert "undecided" in found.notes[0] and "'original' is blank" in found.notes[1]
    with pytest.raises(cf.InputError, match="--each has no effect without --judge"):
        cf.check([PAIR], each=True)


def test_pairs_are_checked_by_judges_and_nothing_is_asked_twice(pair_judge, tmp_path, monkeypatch):
    pair_judge.make_known(monkeypatch)
    pairs = pd.DataFrame(made_pairs(32))
    asked = {"judge": "openai-api/fake/labels", "out": tmp_path / "c.jsonl", "max_connections": 4}
    found = cf.check(pairs, **asked)
    known = [place // 4 % 4 > 0 or place % 4 == 3 for place in range(32)]
    assert found.items["passed"].tolist() == known
    assert found.scores["fail"].tolist() == [2, 2, 2, 0]
    assert len(pair_judge.stats()["answered"]) == 24
    pair_judge.forget()
    again = cf.check(pairs, **asked)
    assert again.items.equals(found.items) and not pair_judge.stats()["answered"]
    exam = tmp_path / "exam.json"
    write_exam(exam, exam_with({}, judge="x/y"))
    found = cf.check(pairs, **asked, exam=exam)
    assert found.scores.set_index("manipulation")["sound"].dropna().to_dict() == {"numerical": 8}
    assert any("the exam is one of x/y" in note for note in found.notes)


@pytest.fixture
def pair_writer(pair_service, monkeypatch):
    pair_service.make_known(monkeypatch)
    return pair_service


def test_articles_are_rewritten_the_same_from_a_frame_and_a_file(
    tmp_path, monkeypatch, pair_writer
):
    monkeypatch.chdir(tmp_path)
    article = {"title": "Tern gains", "summary": PAIR["original"], "manipulation": "flipping"}
    frame = pd.DataFrame([article, {**article, "manipulation": "numerical"}])
    found = cf.rewrite(frame, seed=7)
    assert found.items["manipulation"].tolist() == ["numerical"]
    frame.to_csv("articles.csv", index=False)
    filed = cf.rewrite("articles.csv", seed=7, out="pairs.jsonl")
    assert found.items["rewritten"].tolist() == filed.items["rewritten"].tolist()
    assert len(found.items) == found.scores["kept"].sum() > 0
    by_model = cf.rewrite(
        frame, model=f"{pair_writer.model}-sound", judge=pair_writer.judge, max_connections=2
    )
    assert by_model.items["passed"].tolist() == [True, True]
    alone = cf.rewrite(frame, model=f"{pair_writer.model}-sound").scores.set_index("manipulation")
    assert alone["undecided"].to_dict() == {"flipping": 1, "numerical": 0}
    assert cf.check(found.items).items["passed"].all()
    with pytest.raises(cf.InputError, match="data:1: no manipulation"):
        cf.rewrite([{"title": "Tern", "summary": "Tern rose."}])


@pytest.mark.parametrize(("title", "kept"), [("Tern & Vale gains", 1), ("Tern & Vale", 0)])
def test_rewriting_may_drop_nothing_or_all(tmp_path, title, kept):
    text = PAIR["original"] if kept else "Tern & Vale met."
    article = {"title": title, "summary": text, "manipulation": "numerical"}
    out = tmp_path / "pairs.jsonl"
    found = cf.rewrite([article], seed=7, out=out)
    (row,) = found.scores.to_dict("records")
    assert (len(found.items), row["kept"], row["dropped"]) == (kept, kept, 1 - kept)
    assert bool(row["frequent_reason"]) == (not kept)
    dropped = out.with_name("pairs.jsonl.dropped.jsonl")
    assert out.stat().st_size * dropped.stat().st_size == 0  # one of the two has no row


@pytest.mark.slow
def test_stories_are_drawn_and_run(models):
    found = cf.synth(3, seed=2, graph="diamond", out="stories.json")
    assert found.items["Graph type"].unique().tolist() == ["diamond"]
    assert found.scores["stories"].sum() == 3
    pd.testing.assert_frame_equal(cf.load("stories.json"), found.items)
    judged = cf.run("cobe", model=models.model, judge=models.judge, data=found.items.head(1))
    assert len(judged.items) == 3
    for wrong in ({"n": 0}, {"n": 1, "graph": "ring"}, {"n": 1, "domain": "Magic"}):
        with pytest.raises(cf.InputError):
            cf.synth(**wrong)


@pytest.mark.slow
def test_a_judge_is_examined_and_a_run_corrected_by_it(models, monkeypatch):
    found = cf.exam(models.judge, family="cobe", n=6, out="exam.json", order=False)
    assert set(found.scores["measure"]) == {"sensitivity", "specificity", "invalid"}
    assert found.items["item"].nunique() == 6 and found.items["known"].notna().all()
    before = models.stats()["answered"]
    assert cf.exam(models.judge, family="cobe", n=6, out="exam.json").scores.equals(found.scores)
    assert models.stats()["answered"] == before
    run = cf.run("cobe", model=models.model, judge=models.judge, limit=2)
    rates = cf.correct(run, exam="exam.json").scores
    assert set(rates["judge"]) == {models.judge} and not rates["usable"].any()
    assert rates["why"].str.len().gt(0).all()
    with pytest.raises(cf.InputError, match="no exam or labels are given"):
        cf.correct(run)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    priced = cf.exam("openai/gpt-4o", family="cobe", n=6, estimate=True)
    assert priced.paid_calls == priced.calls > 6 and priced.dollars > 0
    with pytest.raises(cf.InputError, match=r"about [\d,]+ paid calls; add yes=True"):
        cf.exam("openai/gpt-4o", family="cobe", n=300)
    with pytest.raises(cf.InputError, match="no option 'colour'"):
        cf.exam(models.judge, family="cobe", colour="red")


def test_raters_agree_wide_and_long_alike():
    wide = pd.DataFrame({"item": list("abcd"), "ann": [1, 1, 0, 0], "bob": [1, 0, 0, 0]})
    long = wide.melt("item", var_name="rater", value_name="rating")
    one, two = cf.agreement(wide), cf.agreement(long.to_dict("records"))
    assert one.scores.equals(two.scores)
    kappa = one.scores.set_index("coefficient").loc["cohen_kappa", "estimate"]
    assert kappa == pytest.approx(0.5)
    assert one.items.to_dict("records") == [{"item": "b", "ann": 1.0, "bob": 0.0}]
    with pytest.raises(cf.InputError, match="data: there is 1 rater"):
        cf.agreement(wide[["item", "ann"]])


def test_texts_are_scored_and_what_would_have_been_is_written(byte_model, tmp_path):
    model = str(byte_model(tmp_path / "model"))
    found = cf.perplexity(["plain", ""], model=model)
    assert found.items["perplexity"].iloc[0] > 1 and np.isnan(found.items["perplexity"].iloc[1])
    assert "1 texts have no perplexity" in found.notes[0]
    shown = cf.whatif(model=model, factual_prompt="a", text="bcd", counterfactual_prompt="a")
    assert shown.items["counterfactual"].tolist() == ["bcd"]
    with pytest.raises(cf.InputError, match="nothing is to be changed"):
        cf.whatif(model=model, factual_prompt="a", text="b")
    with pytest.raises(cf.InputError, match="no column 'body'"):
        cf.perplexity(pd.DataFrame({"text": ["a"]}), model=model, column="body")


def test_every_result_shows_itself_without_running_what_it_shows():
    found = cf.agreement(
        pd.DataFrame(
            {"item": ["<img src=x>"] * 1 + ["b"], "a\u202e": ["<b>", "y"], "z": ["n", "y"]}
        )
    )
    page = found.report()
    for html in (found._repr_html_(), page.html):
        assert "<img" not in html and "<b>n" not in html and "\u202e" not in html
    assert "&lt;img src=x&gt;" in page.html and "202E" in page.html
    assert "cohen_kappa" in repr(found) and "\u202e" not in repr(found)


def test_a_notebook_shows_the_edit_marked_and_nothing_of_it_runs(models):
    pair = {"manipulation": "numerical", "original": "<b>Tern</b> rose 5% on Monday.",
            "rewritten": "<b>Tern</b> rose 9% on Monday."}  # fmt: skip
    checked = cf.check([pair] * 12)
    html = checked._repr_html_()
    assert html.count("<del>5</del><ins>9</ins>%") == 10
    assert "&lt;b&gt;Tern&lt;/b&gt; rose" in html and "<b>Tern" not in html
    text = "Tern & Vale shares rose 5% on Monday."
    made = cf.rewrite([{"title": text, "manipulation": "numerical"}], seed=7)
    (new,) = made.items["rewritten"]
    assert f"<del>5</del><ins>{new.split()[5].rstrip('%')}</ins>" in made._repr_html_()
    written = cf.generate(["Oil rises"], model=models.model)
    assert "<ins>" in written._repr_html_() and "opportunity" in written._repr_html_()


@pytest.mark.slow
def test_many_rows_are_rewritten_by_a_plain_script(tmp_path: Path) -> None:
    """A script that guards nothing must not be run again by processes of ours."""
    script = tmp_path / "plain.py"
    script.write_text(
        "import contrafact as cf\n"
        "text = 'Orvane Steel said profit rose 12% to $40 million in March.'\n"
        "rows = [\n"
        "    {'title': f'Note {n}', 'summary': f'{text} It has {n} mills.',"
        " 'manipulation': 'numerical'}\n"
        "    for n in range(2, 62)\n"
        "]\n"
        "print('kept', len(cf.rewrite(rows).items))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "kept 60" in done.stdout
