"""Two runs compared: by the report's own figures, on shared items, and what a CI job is shown."""

import json
import math
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.report import Measure
from contrafact.report.chapter import Options, chapter_data
from contrafact.report.diff import RunDiff, diff_runs, match_systems, verdict_of
from contrafact.report.diff_tables import diff_json, differences_table
from contrafact.report.estimates import prepare_items
from contrafact.report.frames import TaskRuns, read_tasks
from contrafact.report.regression import Check, check_runs, find_regressions, parse_check
from contrafact.report.words import run_facts
from contrafact.report.write import row_groups
from contrafact.runs.folder import read_manifest, read_prompts

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "docs" / "diff-workflow.yml"
SPEC = task_named("finforce").report.load()
FIRST, SECOND = "northwind/large-2 · zero-shot", "embedded/smollm2-135m · zero-shot"


def make_run(folder: Path, items: pd.DataFrame, task: str = "finforce", **changes: Any) -> Path:
    """Write the folder of a run that has finished, as far as a comparison reads it."""
    folder.mkdir(parents=True)
    items.to_parquet(folder / "items.parquet")
    judges = list(items["judge"].dropna().unique()) if "judge" in items else []
    data = {"name": "news.csv", "sha256": "0" * 64, "items": int(items["sample_id"].nunique())}
    manifest: dict[str, Any] = {
        "identity": folder.name,
        "status": "finished",
        "started": "2026-11-20T10:00:00+00:00",
        "contrafact": "0.1.0",
        "inspect_ai": "0.3.285",
        "task": task,
        "task_version": "1-A",
        "data": data,
        "pack": {"name": "default", "hash": "0" * 12, "templates": {}},
        "settings": {
            "task": task,
            "models": sorted(set(items["model"])),
            "judges": judges,
            "methods": sorted(set(items["method"])),
            "limit": None,
            "seed": 0,
            "generation": {"temperature": 0.0},
            "transport": {},
            "fluency_model": "smollm2-135m",
        },
    }
    (folder / "manifest.json").write_text(json.dumps(manifest | changes), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def items(study: Any) -> pd.DataFrame:
    return study.make_items()


@pytest.fixture(scope="module")
def two(items: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of one system, and a run of another, over the same headlines."""
    folder = tmp_path_factory.mktemp("two")
    made = [
        make_run(folder / name, items[items["system"].eq(system)])
        for name, system in (("a", SECOND), ("b", FIRST))
    ]
    return made[0], made[1]


@pytest.fixture(scope="module")
def compared(two: tuple[Path, Path]) -> RunDiff:
    return diff_runs(*two, resamples=200)


def figure(diff: RunDiff, measure: str, form: str) -> "pd.Series[Any]":
    rows = diff.differences
    return rows[rows["measure"].eq(measure) & rows["form"].eq(form)].iloc[0]


class TestFigures:
    @pytest.mark.slow
    def test_are_those_of_the_report_of_both_runs(
        self, study: Any, items: pd.DataFrame, two: tuple[Path, Path]
    ) -> None:
        compared = diff_runs(*two, resamples=4_000)
        both = items[items["system"].isin((FIRST, SECOND))]
        runs = TaskRuns("finforce", both, study.make_meta())
        data = chapter_data(runs, Options(resamples=4_000))
        pairs = data.pairs[data.pairs["first"].eq(FIRST) & data.pairs["second"].eq(SECOND)]
        assert len(pairs) == 7
        for _, row in pairs.iterrows():
            ours = figure(compared, row["measure"], row["form"])
            assert ours["difference"] == pytest.approx(row["difference"], abs=1e-12)
            assert ours["n"] == row["n"]
            # Other random numbers, of the same distribution.
            for end in ("low", "high"):
                assert ours[end] == pytest.approx(row[end], rel=0.25, abs=0.05), row["measure"]
            assert ours["p_value"] == pytest.approx(row["p_value"], abs=0.05)
        own = data.figures[data.figures["system"].eq(FIRST) & data.figures["scope"].eq("overall")]
        own = own[own["category"].isna()].set_index(["measure", "form"])["estimate"]
        for _, row in compared.differences.iterrows():
            assert row["after"] == pytest.approx(own[row["measure"], row["form"]])

    def test_of_no_mean_are_not_compared_and_a_check_of_one_says_so(
        self, compared: RunDiff
    ) -> None:
        names = {"perplexity_median", "delta_perplexity"}
        assert names.isdisjoint(compared.differences["measure"])
        check = parse_check("perplexity_median", SPEC.measures)
        with pytest.raises(InputError, match="a measure that is a mean over outputs"):
            find_regressions([check], compared.differences, [compared.pairs[0].name])

    def test_of_a_run_and_itself_are_zero_and_nothing_flips(self, two: tuple[Path, Path]) -> None:
        same = diff_runs(two[0], two[0], resamples=20)
        assert (same.differences["difference"] == 0).all()
        assert not same.flips
        assert not same.changes["settings"] and not same.changes["prompts"]

    def test_swapped_runs_swap_the_sign(self, two: tuple[Path, Path], compared: RunDiff) -> None:
        back = diff_runs(two[1], two[0], resamples=20)
        for _, row in compared.differences.iterrows():
            other = figure(back, row["measure"], row["form"])
            assert other["difference"] == pytest.approx(-row["difference"])
        ways = [flip["direction"] for flip in back.flips]
        ours = [flip["direction"] for flip in compared.flips]
        assert len(ways) == len(ours)
        assert back.flip_counts["improved"].tolist() == compared.flip_counts["worsened"].tolist()


@pytest.mark.parametrize("text", ["1", "2"])
def test_a_template_that_one_run_uses_in_addition_is_named_and_is_no_other_prompt(
    items: pd.DataFrame, tmp_path: Path, quick_contrafact: Any, text: str
) -> None:
    own = items[items["system"].eq(FIRST)]
    packs = [
        {"name": "default", "hash": str(len(templates)), "templates": templates}
        for templates in ({"f/a": "1", "f/b": "1"}, {"f/a": "1", "f/b": text, "f/c": "3"})
    ]
    runs = [make_run(tmp_path / n, own, pack=pack) for n, pack in zip("ab", packs, strict=True)]
    (task,) = read_tasks(runs)
    first, second = ([one for one in run.notes if "prompts" in one] for run in task.meta.runs)
    other = "the same texts" if text == "1" else "other texts of f/b"
    assert not first
    assert second == [f"Compared with the prompts of a: {other}; b uses f/c in addition."]
    shown = dict(run_facts(task.meta.runs[1], task.spec))
    assert shown["Prompt pack"] == "default"
    assert shown["Its templates used"] == f"f/a 1, f/b {text}, f/c 3"
    said = quick_contrafact("diff", *map(str, runs)).stdout
    assert "prompt added: f/c" in said and "settings: the same" in said
    assert ("prompts: the same where both runs use a template" in said) == (text == "1")


@pytest.fixture
def sixteen(study: Any) -> pd.DataFrame:
    """Two systems' outputs for eight headlines, all read; of the first 14 are passed outright."""
    items = study.make_items(headlines=8, systems=(study.systems[0], study.systems[2]))
    items = items.assign(text="a text", invalid_reason=None, degenerate=None, calls=1.0)
    for name in ("forward_compatibility", "directionality"):
        items[name], items[f"{name}_invalid"] = 1.0, None
    items.loc[0, "degenerate"] = "declines to answer"
    items.loc[1, "directionality"] = 0.0
    items.loc[items.index[16:23], "directionality"] = 0.0
    return items


def test_p_values_shares_and_counts_are_those_of_the_report(
    study: Any, sixteen: pd.DataFrame, tmp_path: Path
) -> None:
    names = list(sixteen["system"].unique())
    folders = [make_run(tmp_path / n[0], sixteen[sixteen["system"].eq(n)]) for n in names]
    found = diff_runs(*folders, resamples=200)
    pairs = chapter_data(TaskRuns("finforce", sixteen, study.make_meta()), Options(resamples=200))
    for _, row in pairs.pairs.iterrows():
        ours = figure(found, row["measure"], row["form"])
        assert ours["p_adjusted"] == pytest.approx(row["p_adjusted"]), row["measure"]
        assert ours["n"] == row["n"], row["measure"]
    assert figure(found, "calls", "all")["n"] == 8, "a headline's two outputs share its calls"
    table = differences_table(found)
    assert table is not None and "calls" not in set(found.flip_counts["measure"])
    cells = {row[0].text: row[1:4] for row in row_groups(table)[0].rows}
    before, after, difference = cells["Dir. ↑"]
    assert (before.text, before.interval[-6:]) == ("93.8", "<100.0")
    assert (after.text, difference.text) == ("56.2", "−37.5")


def test_a_flip_says_why_the_strict_form_counted_it_as_failed(
    sixteen: pd.DataFrame, tmp_path: Path
) -> None:
    own = sixteen[sixteen["system"].eq(sixteen["system"].iloc[0])].copy()
    after = own.assign(directionality=1.0, degenerate=None)
    own.loc[2, ["text", "invalid_reason", "directionality"]] = None, "no JSON", None
    own.loc[3, ["directionality", "directionality_invalid"]] = None, "tie"
    found = diff_runs(make_run(tmp_path / "a", own), make_run(tmp_path / "b", after), resamples=20)
    words = [flip["measures"]["directionality"] for flip in found.flips]
    assert {one["state_b"] for one in words} == {"passed"}
    assert sorted(one["state_a"] for one in words) == [
        "failed", "invalid", "left open", "no answer",
    ]  # fmt: skip


class TestSharedItems:
    def test_only_what_both_runs_have_is_counted(
        self, items: pd.DataFrame, tmp_path: Path, compared: RunDiff
    ) -> None:
        """Dropping items from one run equals dropping them from both."""
        a, b = (items[items["system"].eq(name)] for name in (SECOND, FIRST))
        kept = b[b["sample_id"] >= "h0020"]
        one = diff_runs(make_run(tmp_path / "a", a), make_run(tmp_path / "b", kept), resamples=20)
        whole = diff_runs(
            make_run(tmp_path / "c", a[a["sample_id"] >= "h0020"]),
            make_run(tmp_path / "d", kept),
            resamples=20,
        )
        assert len(one.changes["data"]["removed"]) == 20
        assert not one.changes["data"]["added"]
        (note,) = one.notes
        assert note.code == "other-data" and "44 headlines" in note.text
        assert not whole.notes
        columns = ["measure", "form", "before", "after", "difference", "n"]
        pd.testing.assert_frame_equal(one.differences[columns], whole.differences[columns])
        assert (
            figure(one, "directionality", "strict")["n"]
            < figure(compared, "directionality", "strict")["n"]
        )

    def test_runs_that_share_nothing_are_refused(self, items: pd.DataFrame, tmp_path: Path) -> None:
        own = items[items["system"].eq(FIRST)]
        a = make_run(tmp_path / "a", own[own["sample_id"] < "h0020"])
        b = make_run(tmp_path / "b", own[own["sample_id"] >= "h0020"])
        with pytest.raises(InputError, match="share no headline"):
            diff_runs(a, b)

    def test_verdicts_of_two_judges_are_not_compared(
        self, items: pd.DataFrame, two: tuple[Path, Path], tmp_path: Path
    ) -> None:
        own = items[items["system"].eq(SECOND)].assign(judge="moor/judge")
        found = diff_runs(two[0], make_run(tmp_path / "b", own), resamples=20)
        assert found.notes[0].code == "other-judges"
        assert "lakeside/judge-1" in found.notes[0].text and "moor/judge" in found.notes[0].text
        judged = {measure.name for measure in SPEC.measures if measure.judged}
        assert judged.isdisjoint(found.differences["measure"])
        assert judged.isdisjoint(found.flip_counts["measure"])
        check = parse_check("directionality", SPEC.measures)
        with pytest.raises(InputError, match="cannot be compared"):
            find_regressions([check], found.differences, [found.pairs[0].name])

    def test_a_measure_of_one_side_is_named(
        self, items: pd.DataFrame, two: tuple[Path, Path], tmp_path: Path
    ) -> None:
        own = items[items["system"].eq(SECOND)]
        bare = own.assign(judge=None, perplexity=float("nan"))
        bare[[m.name for m in SPEC.measures if m.judged and m.name in bare]] = float("nan")
        found = diff_runs(two[0], make_run(tmp_path / "b", bare), resamples=20)
        assert [note.code for note in found.notes[:2]] == ["judged-once", "one-side"]
        assert "Only A" in found.notes[0].text and "Perplexity: Mean" in found.notes[1].text
        assert "perplexity" not in set(found.differences["measure"])
        swapped = diff_runs(tmp_path / "b", two[0], resamples=20)
        assert "Only B" in swapped.notes[0].text


class TestFlips:
    def test_are_the_outputs_whose_yes_became_a_no(
        self, items: pd.DataFrame, compared: RunDiff
    ) -> None:
        a, b = (
            prepare_items(items[items["system"].eq(name)], SPEC).set_index(["sample_id", "side"])
            for name in (SECOND, FIRST)
        )
        wanted = {
            (place, name)
            for name in ("forward_compatibility", "directionality")
            for place in a.index
            if abs(b.loc[place, f"{name}_strict"] - a.loc[place, f"{name}_strict"]) == 1
        }
        assert len(wanted) > 20
        found = {
            ((flip["sample_id"], flip["side"]), name)
            for flip in compared.flips
            for name in flip["measures"]
            if name in ("forward_compatibility", "directionality")
        }
        assert found == wanted

    def test_show_both_texts_or_why_there_is_none(
        self, items: pd.DataFrame, compared: RunDiff
    ) -> None:
        rows = items.set_index(["system", "sample_id", "side"])
        invalid = 0
        for flip in compared.flips:
            for system, text, why in (
                (SECOND, flip["a"], flip["invalid_a"]),
                (FIRST, flip["b"], flip["invalid_b"]),
            ):
                row = rows.loc[(system, flip["sample_id"], flip["side"])]
                invalid += text is None
                if text is None:
                    assert why == row["invalid_reason"]
                else:
                    assert why is None and text == row["text"]
        assert invalid

    def test_the_worst_come_first(self, compared: RunDiff) -> None:
        rank = ["worsened", "improved", "changed"]
        places = [rank.index(flip["direction"]) for flip in compared.flips]
        assert places == sorted(places)
        assert {0, 1} <= set(places)


def systems(*rows: tuple[str, str, str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["system", "model", "method"])
    return frame.assign(shots=0)


class TestMatching:
    def test_goes_by_name_then_method_then_model_then_what_is_left(self) -> None:
        before = systems(("x/1 · p", "x/1", "p"), ("x/1 · q", "x/1", "q"), ("x/2 · r", "x/2", "r"))
        after = systems(("x/1 · p", "x/1", "p"), ("y/1 · q", "y/1", "q"), ("z/2 · s", "z/2", "s"))
        pairs, left, right = match_systems(before, after)
        assert [(pair.before, pair.after) for pair in pairs] == [
            ("x/1 · p", "x/1 · p"),
            ("x/1 · q", "y/1 · q"),
            ("x/2 · r", "z/2 · s"),
        ]
        assert left == right == []

    def test_does_not_guess_among_several(self) -> None:
        before = systems(("x/1 · p", "x/1", "p"), ("x/2 · p", "x/2", "p"))
        after = systems(("y/1 · p", "y/1", "p"), ("y/2 · p", "y/2", "p"))
        with pytest.raises(InputError, match="--system A=B"):
            match_systems(before, after)
        pairs, left, right = match_systems(before, after, wanted=["x/2=y/1"])
        assert [(pair.before, pair.after) for pair in pairs] == [("x/2 · p", "y/1 · p")]
        assert (left, right) == (["x/1 · p"], ["y/2 · p"])

    def test_takes_names_with_an_equals_sign(self) -> None:
        before = systems(("m · p:k=2", "m", "p:k=2"), ("m · q", "m", "q"))
        after = systems(("m · p:k=4", "m", "p:k=4"), ("m · q", "m", "q"))
        pairs, _, _ = match_systems(before, after, wanted=["p:k=2=p:k=4"])
        assert [(pair.before, pair.after) for pair in pairs] == [("m · p:k=2", "m · p:k=4")]

    @settings(max_examples=40)
    @given(st.lists(st.tuples(*[st.sampled_from("abc")] * 2), min_size=1, unique=True), st.data())
    def test_uses_each_system_once_and_loses_none(
        self, names: list[tuple[str, str]], data: st.DataObject
    ) -> None:
        others = data.draw(
            st.lists(st.tuples(*[st.sampled_from("abd")] * 2), min_size=1, unique=True)
        )
        before, after = (
            systems(*((f"{model} · {method}", model, method) for model, method in part))
            for part in (names, others)
        )
        try:
            pairs, left, right = match_systems(before, after)
        except InputError:
            return
        assert sorted([pair.before for pair in pairs] + left) == sorted(before["system"])
        assert sorted([pair.after for pair in pairs] + right) == sorted(after["system"])
        same = set(before["system"]) & set(after["system"])
        assert all(any(p.before == p.after == name for p in pairs) for name in same)


def difference_row(check: Check, difference: float, low: float, high: float) -> pd.DataFrame:
    row = {
        "system_a": "x", "system_b": "x", "pair": "x", "measure": check.measure.name,
        "form": check.form,
        "difference": difference, "low": low, "high": high, "n": 30, "level": 0.95,
        "method": "no interval: m",
    }  # fmt: skip
    return pd.DataFrame([row])


class TestRegression:
    @settings(max_examples=40)
    @given(
        st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 0.4),
        st.sampled_from(["high", "low"]),
    )  # fmt: skip
    def test_rules_grow_stricter_and_margins_more_lenient(
        self, difference: float, below: float, above: float, margin: float, better: Any
    ) -> None:
        measure = Measure("m", "M", better=better)

        def regressed(rule: Any, allowed: float, turned: float = 1.0) -> bool:
            check = Check(measure, "strict", allowed)
            ends = sorted((turned * (difference - below), turned * (difference + above)))
            rows = difference_row(check, turned * difference, *ends)
            (found,) = find_regressions([check], rows, ["x"], rule=rule)
            return found.regressed

        rules = ("interval", "difference", "non-inferiority")
        found = [regressed(rule, margin) for rule in rules]
        assert found == sorted(found)
        for rule in rules:
            assert regressed(rule, margin) <= regressed(rule, 0.0)
            # What is a loss one way is a gain the other: never a loss beyond the margin both ways.
            if rule != "non-inferiority":
                assert not (regressed(rule, margin) and regressed(rule, margin, -1.0))

    def test_nothing_to_compare_is_no_pass(self) -> None:
        check = Check(Measure("m", "M"), "valid", 0.0)
        rows = difference_row(check, math.nan, math.nan, math.nan)
        with pytest.raises(InputError, match="has a value in both runs"):
            find_regressions([check], rows, ["x"])

    def test_without_an_interval_the_difference_decides(self) -> None:
        check = Check(Measure("m", "M"), "strict", 0.02)
        rows = difference_row(check, -1.0, math.nan, math.nan)
        for rule in ("interval", "difference", "non-inferiority"):
            (found,) = find_regressions([check], rows, ["x"], rule=rule)
            assert found.regressed
            assert "no interval" in found.text and "by difference" in found.text

    @pytest.mark.parametrize(
        ("text", "form", "margin"),
        [
            ("directionality", "strict", 0.0),
            ("directionality:0.02", "strict", 0.02),
            ("directionality.valid:2%", "valid", 0.02),
            ("valid:5%", "all", 0.05),
            ("perplexity:1.5", "valid", 1.5),
        ],
    )
    def test_a_check_is_read(self, text: str, form: str, margin: float) -> None:
        check = parse_check(text, SPEC.measures)
        assert (check.form, check.margin) == (form, pytest.approx(margin))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("happiness", "no measure 'happiness'"),
            ("similar_semantics", "has no better direction"),
            ("directionality.lenient", "no form 'lenient'"),
            ("directionality:", "'' is not a margin"),
            ("directionality:-0.1", "'-0.1' is not a margin"),
            ("directionality:nan", "is not a margin"),
            ("directionality:2", "whole scale"),
            ("directionality:200%", "whole scale"),
            ("perplexity:5%", "is not a margin"),
        ],
    )
    def test_a_wrong_check_is_one_clear_line(self, text: str, message: str) -> None:
        with pytest.raises(InputError, match=re.escape(message)) as error:
            parse_check(text, SPEC.measures)
        assert "\n" not in str(error.value)


def test_the_json_is_strict_and_whole(compared: RunDiff) -> None:
    from contrafact.report.write import render_json

    found = json.loads(render_json(diff_json(compared)))
    assert len(found["flips"]) == len(compared.flips)
    assert len(found["differences"]) == len(compared.differences)
    assert found["systems"] == [{"a": SECOND, "b": FIRST}]
    assert {"name": "models", "before": "embedded/smollm2-135m", "after": "northwind/large-2"} in (
        found["changes"]["settings"]
    )


def test_a_terminal_is_not_steered_by_what_models_wrote(
    quick_contrafact: Any, folders: Path
) -> None:
    done = quick_contrafact("diff", "a", "b", "--show", "500")
    assert done.returncode == 0, done.stderr
    assert "‹U+202E›" in done.stdout
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e]", done.stdout)


WRONG = {
    "no runs": [],
    "one run": ["a"],
    "a folder that is not there": ["a", "nowhere"],
    "a folder that is no run": ["a", "."],
    "a file": ["a", "a/manifest.json"],
    "another task": ["a", "other"],
    "a run that has not ended": ["a", "begun"],
    "one system": ["a", "b", "--system", "zero-shot"],
    "no such system": ["a", "b", "--system", "zero-shot=eleven-shot"],
    "no such measure": ["a", "b", "--fail-on-regression", "happiness"],
    "a rule without a measure": ["a", "b", "--rule", "interval"],
    "no such rule": ["a", "b", "--rule", "luck", "--fail-on-regression", "valid"],
    "JSON into a folder": ["a", "b", "--json", "a"],
    "a number of nothing": ["a", "b", "--show", "-1"],
}


@pytest.fixture
def folders(study: Any, tmp_path: Path) -> Path:
    """Runs of few headlines that nobody scored for fluency: quick to compare."""
    items = study.make_items(headlines=24, scored=False)
    for name, system in (("a", SECOND), ("b", FIRST)):
        make_run(tmp_path / name, items[items["system"].eq(system)])
    make_run(tmp_path / "other", items[items["system"].eq(FIRST)], "cobe")
    begun = make_run(tmp_path / "begun", items[items["system"].eq(FIRST)])
    (begun / "items.parquet").unlink()
    return tmp_path


def test_wrong_invocations_are_one_line_and_write_nothing(
    quick_contrafact: Any, folders: Path
) -> None:
    before = sorted(path.name for path in folders.iterdir())
    shown = {}
    for name, words in WRONG.items():
        done = quick_contrafact("diff", *words)
        assert done.returncode == 2, (name, done.stdout, done.stderr)
        assert len(done.stderr.strip().splitlines()) == 1, (name, done.stderr)
        assert done.stderr.startswith("contrafact: ") and not done.stdout
        shown[name] = done.stderr
    assert sorted(path.name for path in folders.iterdir()) == before
    assert "run of finforce" in shown["another task"] and "cobe" in shown["another task"]
    assert len(set(shown.values())) == len(shown)


def test_a_regression_ends_with_one_and_says_why(quick_contrafact: Any, folders: Path) -> None:
    words = ["diff", "b", "a", "--json", "-", "--fail-on-regression", "directionality"]
    done = quick_contrafact(*words)
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert re.match(r"regression: directionality\.strict: .* is −\d.* interval −\d", line)
    found = json.loads(done.stdout)
    assert found["regressions"][0]["regressed"] is True
    assert found["regressions"][0]["text"] in line
    done = quick_contrafact("diff", "a", "b", *words[3:])
    assert done.returncode == 0
    assert done.stderr.startswith("no regression: directionality.strict: ")
    done = quick_contrafact(*words[:-1], "directionality:99%")
    assert done.returncode == 0


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    """A base and a head as the workflow checks them out: other prompts, the same headlines."""
    from contrafact.prompts import export_pack

    for name in ("base", "head"):
        export_pack(tmp_path / name / "prompts")
    prompt = tmp_path / "head" / "prompts" / "finforce" / "generate.jinja"
    prompt.write_text(
        prompt.read_text(encoding="utf-8").replace("You are", "Be sure that you are", 1),
        encoding="utf-8",
    )
    judge = tmp_path / "head" / "prompts" / "finforce" / "judge-directionality-risk.jinja"
    judge.write_text(judge.read_text(encoding="utf-8") + "\n{# asked again #}\nTake care.\n")
    data = tmp_path / "head" / "data"
    data.mkdir()
    lines = [
        {"headline": f"{firm} {event}", "category": "Corporate strategy & operations"}
        for firm in ("Halden Foods", "Corvane Shipping", "Tarn Valley Rail")
        for event in ("delays its second plant", "names a new finance chief")
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (data / "headlines.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def workflow_steps() -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["compare"]["steps"]


@pytest.mark.slow
def test_the_workflow_of_the_docs_runs(
    service: Any, contrafact_program: Path, checkouts: Path
) -> None:
    """Its own commands, in its own order, against a server on this machine."""
    paths = f"{contrafact_program.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **service.environment, "PATH": paths, "MODEL": service.model, "JUDGE": service.judge,
    }  # fmt: skip
    document = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert {"MODEL", "JUDGE"} <= set(document["jobs"]["compare"]["env"])
    ran = []
    for step in workflow_steps():
        if "run" not in step or step["name"] == "Install":
            continue
        # What GitHub fills in: a hash of the files that the expression names.
        script = re.sub(
            r"\$\{\{ hashFiles\((.*?)\) \}\}",
            lambda found: f"{abs(hash(found[1])):x}",
            step["run"],
        )
        assert "${{" not in script
        done = subprocess.run(
            ["bash", "-e", "-c", script], cwd=checkouts, env=environment, capture_output=True,
            text=True, check=False, timeout=300,
        )  # fmt: skip
        ran.append((step["name"], done))
        if step["name"] != "Compare":
            assert done.returncode == 0, done.stderr
    compare = ran[-1][1]
    assert [name for name, _ in ran] == ["Run the base", "Run the pull request", "Compare"]
    assert compare.returncode in (0, 1), compare.stderr
    found = json.loads((checkouts / "diff.json").read_text(encoding="utf-8"))
    assert compare.returncode == int(any(one["regressed"] for one in found["regressions"]))
    assert [one["measure"] for one in found["regressions"]] == ["directionality", "valid"]
    assert [one["name"] for one in found["changes"]["prompts"]] == [
        "finforce/generate",
        "finforce/judge-directionality-risk",
    ]
    changed = found["changes"]["prompts"][0]["diff"]
    assert any(line.startswith("-You are") for line in changed)
    assert any(line.startswith("+Be sure that you are") for line in changed)
    assert found["changes"]["data"] == {
        "same_file": True, "shared": 6, "added": [], "removed": [], "changed": [],
    }  # fmt: skip
    for folder in (checkouts / "runs").iterdir():
        kept_prompts_are_the_runs_own(folder)


def kept_prompts_are_the_runs_own(folder: Path) -> None:
    """A run's templates are kept; one that was changed since is not taken for the run's."""
    manifest = read_manifest(folder)
    assert set(read_prompts(folder, manifest)) == set(manifest.pack.templates)
    assert len(manifest.pack.templates) == 4
    kept = folder / "prompts" / "finforce" / "generate.jinja"
    kept.write_text("Something else.", encoding="utf-8")
    assert set(read_prompts(folder, manifest)) == {*manifest.pack.templates} - {"finforce/generate"}


@pytest.mark.parametrize(
    ("p", "said"), [(0.16, "not after Holm"), (0.01, "better"), (float("nan"), "better")]
)
def test_nothing_is_called_better_that_the_adjusted_test_does_not_tell(p: float, said: str) -> None:
    row = {"low": -3.0, "high": -1.0, "difference": -2.0, "better": "low", "p_adjusted": p}
    assert verdict_of(pd.Series(row)) == said


@pytest.mark.parametrize("rule", ["intervall", "Interval", "non_inferiority", "", None])
def test_a_rule_that_is_none_is_refused_by_name(rule: Any) -> None:
    with pytest.raises(InputError, match=r"there is no rule .* non-inferiority"):
        check_runs(Path("a"), Path("b"), ["valid"], rule=rule)
