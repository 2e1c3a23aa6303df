"""What a report says of a strong model holds: bounds, tests, judges, reasons, commands, tables."""

import html
import re
import shlex
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.test_diff import make_run
from tests.report.test_explorer import unpack, value_of
from tests.support.made_exams import examined
from typer.main import get_command

from contrafact.cli.main import app
from contrafact.families.cobe.verifier import RECORD
from contrafact.families.finforce.report_figures import few_shot_change
from contrafact.family import task_named
from contrafact.family.display import Column, Table
from contrafact.family.run_facts import ReportMeta, RunFacts
from contrafact.family.tables import reason_table
from contrafact.judges.judge import Verdict, panel_verdict
from contrafact.report.build import build_report
from contrafact.report.chapter import Options, chapter_data, make_chapter, sections_of
from contrafact.report.diff import diff_runs
from contrafact.report.estimates import adjusted
from contrafact.report.explorer import pack_items
from contrafact.report.frames import TaskRuns, read_tasks
from contrafact.report.regression import check_runs
from contrafact.report.summary import summarise
from contrafact.report.tables import panel_section, votes_by_judge
from contrafact.report.words import facts, warnings
from contrafact.report.write import _TEX_ROOM, render_latex, row_groups
from contrafact.runs.items import agreement
from contrafact.stats.paired import holm, paired_comparison

ROOT = Path(__file__).parents[2]
CRITERIA = ("forward_compatibility", "directionality")
FEW, ZERO = "north/large · few-shot (3)", "north/large · zero-shot"


@pytest.fixture
def made(study: Any) -> Any:
    """Make headlines' outputs of two systems of one model, all read and all passed."""

    def make(headlines: int = 8, **columns: Any) -> pd.DataFrame:
        systems = (
            (FEW, "north/large", "few-shot", 3, 1, 1.0, 1.0, 0.0),
            (ZERO, "north/large", "zero-shot", 0, 1, 1.0, 1.0, 0.0),
        )
        items = study.make_items(headlines=headlines, systems=systems, **columns)
        items["degenerate"] = None
        for name in CRITERIA:
            items[name], items[f"{name}_invalid"] = 1.0, None
        return items

    return make


def fail(items: pd.DataFrame, system: str, criterion: str, places: Any) -> None:
    rows = items.index[items["system"].eq(system)]
    items.loc[rows[[*places]], criterion] = 0.0


@pytest.fixture
def opened(study: Any) -> Any:
    def open_chapter(items: pd.DataFrame, **meta: Any) -> Any:
        runs = TaskRuns("finforce", items, study.make_meta(systems=(FEW, ZERO), **meta))
        data = chapter_data(runs, Options(resamples=200))
        return summarise(data), data

    return open_chapter


class TestFirstSentence:
    def test_bounds_lead_for_a_mean_of_two_criteria(self, made: Any, opened: Any) -> None:
        items = made()
        is_open = items["system"].eq(FEW) & (items.index % 4 == 0)
        items.loc[is_open, "directionality"] = np.nan
        items.loc[is_open, "directionality_invalid"] = "undecided: cannot read 'so'"
        summary, _ = opened(items)
        assert summary.sentence.code == "open"
        assert "28 of 32 verdicts are decided and 28 right" in summary.sentence.text
        assert "between 87.5% and 100.0%" in summary.sentence.text
        assert summary.next.code == "decide"
        assert {said.code for said in summary.more}.isdisjoint({"apart", "other-over-valid"})

    def test_what_a_judge_left_open_altogether_was_judged(self, made: Any, study: Any) -> None:
        """Neither is it an accuracy of 0, nor is a system without a decided verdict left out."""
        items = made(headlines=12)
        for systems in ((FEW,), (FEW, ZERO)):
            is_open = items["system"].isin(systems)
            for name in CRITERIA:
                items.loc[is_open, [name, f"{name}_invalid"]] = np.nan, "undecided: cannot read"
            runs = TaskRuns("finforce", items.copy(), study.make_meta(systems=(FEW, ZERO)))
            chapter = make_chapter(runs, Options(resamples=50))
            said = chapter.summary.sentence
            assert said.code == "open" and "nothing was judged" not in said.text
            assert f"of {FEW}, 0 of 48 verdicts are decided and 0 right" in said.text
            assert "between 0.0% and 100.0%" in said.text
            assert (f"of {ZERO}, 48 of 48" in said.text) == (len(systems) == 1)
            assert chapter.summary.next.code == "decide"
            assert "--judge proof" not in chapter.summary.next.text, "this judge is a model"

    def test_of_many_systems_with_open_verdicts_three_are_spelt_out(
        self, made: Any, study: Any
    ) -> None:
        parts = [made(headlines=9).query("system == @FEW").assign(system=f"s{n}") for n in range(5)]
        items = pd.concat(parts, ignore_index=True)
        items.loc[items.index % 3 == 0, "directionality"] = np.nan
        items.loc[items.index % 3 == 0, "directionality_invalid"] = "undecided: cannot read"
        meta = study.make_meta(systems=tuple(f"s{n}" for n in range(5)))
        said = summarise(chapter_data(TaskRuns("finforce", items, meta), Options(resamples=20)))
        assert said.sentence.text.count("lies between") == 3
        assert "; of 2 more, as drawn" in said.sentence.text

    def test_it_counts_what_the_figure_rests_on(self, made: Any, opened: Any) -> None:
        items = made(headlines=9).query("system == @FEW")
        unjudged = items["sample_id"].eq("h0008")
        items.loc[unjudged, list(CRITERIA)] = np.nan
        summary, _ = opened(items)
        assert "over 8 headlines" in summary.sentence.text

    @pytest.mark.parametrize("lost", [False, True])
    def test_what_few_open_verdicts_leave_out_is_said_wherever_it_is_counted(
        self, made: Any, opened: Any, lost: bool
    ) -> None:
        """The sentence, the chart and the tile name one number, that of the figure's outputs."""
        items = made(headlines=12).query("system == @FEW").reset_index(drop=True)
        for name in CRITERIA:  # two verdicts of one output
            items.loc[0, [name, f"{name}_invalid"]] = np.nan, "tie"
        if lost:
            items.loc[1, ["text", "invalid_reason", *CRITERIA]] = None, "no JSON", np.nan, np.nan
        summary, data = opened(items)
        text = summary.sentence.text
        assert ("; 1 of its 24 counterfactuals is left open and not counted" in text) != lost
        assert ("counting what is invalid, no answer or left open as wrong" in text) == lost
        assert ("invalid, no answer or left open counts as wrong" in summary.caption) == lost
        below = "24 counterfactuals, 1 invalid, 1 left open" if lost else "24 counterfactuals, 1 "
        assert summary.bars[0].below.startswith(below)
        (tile,) = [one for one in facts(data) if one.label == "Counterfactuals"]
        assert tile.below.endswith(", 1 left open")

    def test_systems_asked_in_other_words_are_told_apart_by_them(self, made: Any) -> None:
        def said(words: str) -> list[str]:
            runs = [
                RunFacts(name=name, systems=(name,), prompt_pack=pack, templates={"t": text})
                for name, pack, text in ((FEW, "default", "a"), (ZERO, "stated", words))
            ]
            runs[1] = runs[1].model_copy(update={"templates": {"t": words, "of it alone": "c"}})
            meta = ReportMeta(runs=tuple(runs), created="2026-11-20T10:10:00Z")
            data = chapter_data(TaskRuns("finforce", made(), meta), Options(resamples=20))
            return [one.text for one in summarise(data).more if one.code == "prompts"]

        (text,) = said("b")
        assert f"{FEW} by 'default'; {ZERO} by 'stated', which says what is judged." in text
        assert said("a") == [], "a template that one uses in addition is no other prompt"

    @pytest.mark.parametrize(("pack", "told"), [("default", []), ("stated", ["'stated'"])])
    def test_prompts_of_another_pack_are_named_though_all_systems_got_them(
        self, made: Any, pack: str, told: list[str]
    ) -> None:
        run = RunFacts(name="r", systems=(FEW, ZERO), prompt_pack=pack, templates={"t": "a"})
        meta = ReportMeta(runs=(run,), created="2026-11-20T10:10:00Z")
        data = chapter_data(TaskRuns("finforce", made(), meta), Options(resamples=20))
        (*said,) = [one.text for one in summarise(data).more if one.code == "pack"]
        assert said == [f"The prompts are those of the pack {one}, which says what is judged."
                        for one in told]  # fmt: skip

    def test_no_answers_are_counted_with_their_own_reasons(self, made: Any, opened: Any) -> None:
        items = made()
        items.loc[[0, 2], "degenerate"] = "breaks off in mid-sentence"
        items.loc[1, "degenerate"] = "declines to answer"
        summary, _ = opened(items)
        (said,) = [one.text for one in summary.more if one.code == "losses"]
        assert "3 are no answer (breaks off in mid-sentence; declines to answer)" in said

    def test_bundled_samples_are_named_in_title_and_sentence(self, made: Any, study: Any) -> None:
        meta = study.make_meta(bundled=True, systems=(FEW, ZERO))
        chapter = make_chapter(TaskRuns("finforce", made(), meta), Options(resamples=50))
        assert chapter.title.endswith("(bundled samples)")
        assert chapter.summary.sentence.text.startswith("On bundled samples, ")


class TestNextStep:
    def test_where_nothing_failed_something_harder(self, made: Any, opened: Any) -> None:
        said = summarise_without_exam(opened, made(headlines=12))
        assert said.next.code == "harder" and "nothing failed" in said.next.text
        assert "cobe synth --level" in task_named("cobe").report.load().harder

    def test_systems_not_told_apart_need_so_many_more(self, made: Any, opened: Any) -> None:
        items = made(headlines=30)
        fail(items, ZERO, "directionality", range(0, 40, 13))
        said = summarise_without_exam(opened, items)
        assert [one.code for one in said.more if "apart" in one.code] == ["not-apart"]
        assert said.next.code == "tell-apart"
        assert re.search(
            r"with about [\d,]+ headlines, four of five such studies would find the difference "
            r"\(by the strictest of Holm's adjustments for 4 tests\), if it and its spread are "
            "what was seen here",
            said.next.text,
        )

    def test_what_cannot_reach_significance_is_said(self, made: Any, opened: Any) -> None:
        items = made()
        fail(items, ZERO, "directionality", (0, 2, 4))
        summary, _ = opened(items)
        (said,) = [one.text for one in summary.more if one.code == "powerless"]
        assert "With 3 headlines on which their scores differ, the smallest p" in said
        assert "is 0.250, or 1.000 by the strictest of Holm's adjustments for 4 tests" in said
        assert holm([2.0**-6], 4)[0] > 0.05 > holm([2.0**-7], 4)[0]
        assert "apart, whichever is better; with 8 such headlines, it could" in said
        items = made()
        fail(items, ZERO, "directionality", range(0, 12, 2))
        summary, _ = opened(items)
        (said,) = [one.text for one in summary.more if one.code == "powerless"]
        assert "so by that adjustment it could not have told them apart" in said, "6 may do"

    def test_few_judged_items_are_sent_to_no_exam(self, made: Any, opened: Any) -> None:
        summary, _ = opened(made(headlines=40))
        assert summary.next.code == "label" and "exam" not in summary.next.text
        assert "draws 100 of each system (--n), or all if there are fewer" in summary.next.text
        said = {one.code: one.text for one in summary.more}["correctable"]
        said, can = said.split(". ", 1)
        assert re.match(r"The judge passes \d+\.\d% of the outputs of north/large · .* on ", said)
        assert can.startswith("A rate of 80 outputs can be corrected for the judge's errors to")
        assert "rate of 95%" in can and "no rate nearer to 0% or 100% is assumed" in can

    @pytest.mark.parametrize("size", [10, 200])
    def test_an_exam_that_corrects_nothing_takes_no_advice_away(
        self, made: Any, study: Any, size: int
    ) -> None:
        """Whatever its size: of so few outputs no rate is corrected by it."""
        rows = [
            {"item": f"x{n}", "criterion": name, "known": n % 2 == 0, "passed": n % 2 == 0}
            for name, n in product(CRITERIA, range(size))
        ]
        exam = examined(rows, family="finforce", judge="lakeside/judge-1")
        runs = TaskRuns("finforce", made(), study.make_meta(systems=(FEW, ZERO)))
        data = chapter_data(runs, Options(resamples=50, exams=(exam,)))
        assert not data.rates["usable"].any()
        summary = summarise(data)
        assert summary.next.code == "label"
        (said,) = [one.text for one in summary.more if one.code == "correctable"]
        assert "no exam can correct a rate for the judge's errors: 100 are needed" in said
        (text,) = [one.text for one in warnings(data) if one.code == "not-corrected"]
        assert "below 100 judged items, as here" in text and "may change this" not in text
        assert ("exam needs 25 items" in text) == (size == 10)

    @pytest.mark.parametrize(("headlines", "enough"), [(8, False), (60, True)])
    def test_a_warning_promises_no_correction_that_is_refused(
        self, made: Any, opened: Any, headlines: int, enough: bool
    ) -> None:
        _, data = opened(made(headlines=headlines))
        (text,) = [one.text for one in warnings(data) if one.code == "not-examined"]
        assert ("To correct the rates" in text) == enough
        assert ("An exam corrects no rate here" in text) == (not enough)
        # What is refused is said before the command, and what the command is for after it.
        assert text.index("contrafact exam") > text.find("An exam corrects no rate here")


def summarise_without_exam(opened: Any, items: pd.DataFrame) -> Any:
    """Return the summary of a judge with a record, which needs no exam."""
    _, data = opened(items)
    spec = replace(data.spec, records={"lakeside/judge-1": "wrong in 0 of 9 verdicts"})
    return summarise(replace(data, spec=spec))


class TestOneFamilyOfTests:
    def test_either_form_is_adjusted_for_the_same_number(self, made: Any, opened: Any) -> None:
        items = made(headlines=12)
        fail(items, ZERO, "directionality", range(0, 20, 2))
        for scored in (items, items.assign(perplexity=np.nan)):
            _, data = opened(scored)
            forms = data.pairs.set_index(["measure", "form"])["p_adjusted"].unstack()
            both = forms.dropna()
            assert len(both) == 3 and both["valid"].equals(both["strict"])
        tests = data.pairs["measure"].nunique()
        assert tests == 3, "what was not scored is no test"

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(0, 9))
    @settings(max_examples=40)
    def test_tests_that_one_form_lacks_count_as_accepted(self, p: list[float], more: int) -> None:
        expected = holm([*p, *[1.0] * more])[: len(p)]
        assert holm(p, len(p) + more) == pytest.approx(expected)
        frame = pd.DataFrame({"first": "a", "second": "b", "measure": range(len(p) + more)})
        frame["form"] = ["valid"] * len(p) + ["strict"] * more
        frame["p_value"] = [*p, *[1.0] * more]
        assert adjusted(frame)["p_adjusted"].iloc[: len(p)].to_numpy() == pytest.approx(expected)

    @given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=6, max_size=20), st.randoms())
    @settings(max_examples=30, deadline=None)
    def test_who_is_named_first_changes_signs_alone(self, a: list[float], draw: Any) -> None:
        b = [draw.choice([0.0, 1.0]) for _ in a]
        one, other = (
            paired_comparison(x, y, None, rng=np.random.default_rng(0), resamples=200)
            for x, y in ((a, b), (b, a))
        )
        assert one.difference == -other.difference and one.p_value == other.p_value
        if one.difference:
            assert [one.low, one.high] == pytest.approx([-other.high, -other.low], nan_ok=True)


def test_diff_and_report_draw_the_same_resamples(made: Any, study: Any, tmp_path: Path) -> None:
    items = made(headlines=12)
    fail(items, ZERO, "directionality", range(0, 20, 3))
    parts = [items[items["system"].eq(name)] for name in (FEW, ZERO)]
    folders = [make_run(tmp_path / name, part) for name, part in zip("ab", parts, strict=True)]
    diff = diff_runs(*folders, resamples=500).differences.set_index(["measure", "form"])
    runs = TaskRuns("finforce", items, study.make_meta(systems=(FEW, ZERO)))
    pairs = chapter_data(runs, Options(resamples=500)).pairs.set_index(["measure", "form"])
    for key, row in pairs.iterrows():
        ours = diff.loc[key]
        assert [ours["low"], ours["high"]] == pytest.approx(
            [-row["high"], -row["low"]], nan_ok=True
        )
        assert ours["p_value"] == row["p_value"]


@pytest.mark.parametrize("headlines", [12, 40])
def test_one_difference_has_one_interval(made: Any, opened: Any, headlines: int) -> None:
    items = made(headlines=headlines)
    fail(items, ZERO, "directionality", range(0, 20, 3))
    _, data = opened(items)
    (line,) = few_shot_change(data).results["few_shot_change"].to_dict("records")
    assert set(data.pairs["first"]) == {FEW}
    for _, row in data.pairs.iterrows():
        key = f"{row['measure']}_{row['form']}".replace("perplexity_valid", "perplexity")
        assert line[key] == pytest.approx(row["difference"])
        shown = [line[f"{key}_low"], line[f"{key}_high"]]
        assert shown == pytest.approx([row["low"], row["high"]], nan_ok=True, abs=1e-12), key


def test_a_check_of_runs_without_an_answer_fails_with_words(made: Any, tmp_path: Path) -> None:
    items = made(headlines=6).query("system == @FEW").assign(degenerate="repeats its input")
    folders = [make_run(tmp_path / name, items) for name in "ab"]
    _, (finding,) = check_runs(*folders, ["average"])
    assert finding.regressed and "no output" in finding.text
    _, (finding,) = check_runs(*folders, ["valid"])  # says how many could be read, and no more
    assert not finding.regressed


class TestJudges:
    @pytest.fixture
    def panel(self, made: Any, study: Any) -> Any:
        """Two judges, of which one decides a quarter, and the other judged once before."""
        items = made(headlines=12).query("system == @FEW").assign(judge="a judge + b")
        own = items[["system", "draw", "sample_id", "side"]]
        parts = []
        for criterion in CRITERIA:
            for judge in ("a judge", "b", "b [earlier]"):
                passed = np.where((np.arange(len(own)) % 4 > 0) & (judge == "a judge"), np.nan, 1.0)
                why = [None if held == 1.0 else "undecided: cannot read 'x'" for held in passed]
                votes = own.assign(criterion=criterion, judge=judge, passed=passed, invalid=why)
                parts.append(votes.assign(read="grammar" if judge == "a judge" else None))
        verdicts = pd.concat(parts, ignore_index=True)
        meta = study.make_meta(systems=(FEW,), judges=("a judge", "b"), panel=verdicts)
        runs = TaskRuns("finforce", items, meta)
        return chapter_data(runs, Options(resamples=50)), verdicts

    def test_it_says_who_decided_alone_and_who_judged_again(self, panel: Any) -> None:
        data, _ = panel
        votes = votes_by_judge(data).set_index("judge")
        assert votes["decided"].to_dict() == {"a judge": 12, "b": 48, "b [earlier]": 48}
        assert votes["alone"].to_dict() == {"a judge": 0, "b": 36, "b [earlier]": 0}
        assert votes["both"].to_dict() == {"a judge": 12, "b": 12, "b [earlier]": 48}
        said = {one.code: one.text for one in summarise(data).more}
        assert (
            "Of its 48 decided verdicts" in said["alone"] and "b alone decided 36" in said["alone"]
        )
        assert said["alone"].endswith("on the other 12, more than one judge decided.")

    @given(st.lists(st.tuples(*[st.sampled_from([1.0, 0.0, None])] * 3), min_size=1, max_size=12))
    @settings(max_examples=60, deadline=None)
    def test_what_a_panel_decided_is_what_its_verdicts_are(self, votes: list[Any]) -> None:
        rows = [
            {"system": "s", "sample_id": str(n), "criterion": "x", "judge": judge, "passed": passed}
            for n, of_output in enumerate(votes)
            for judge, passed in zip("abc", of_output, strict=True)
        ]
        run = RunFacts(name="r", systems=("s",), judges=tuple("abc"))
        meta = ReportMeta(runs=(run,), panel=pd.DataFrame(rows))
        found = votes_by_judge(SimpleNamespace(meta=meta))  # type: ignore[arg-type]
        why = {1.0: None, 0.0: None, None: "no letter"}
        panel = [
            panel_verdict(
                [Verdict(criterion="x", passed=p, invalid=why[p], judge="j") for p in one]
            )
            for one in votes
        ]
        assert set(found["of"]) == {sum(one.passed is not None for one in panel)}
        assert set(found["ties"]) == {sum(one.invalid == "tie" for one in panel)}
        assert found["alone"].sum() == sum(len(one) - one.count(None) == 1 for one in votes)

    def test_a_tie_is_none_of_its_decided_verdicts(self, panel: Any) -> None:
        data, verdicts = panel
        both = verdicts.index[verdicts["judge"].eq("b") & verdicts["sample_id"].eq("h0000")]
        verdicts.loc[both[:1], "passed"] = 0.0
        said = {one.code: one.text for one in summarise(data).more}["alone"]
        assert said.startswith("A panel judged. Of its 47 decided verdicts, ")
        assert said.endswith("decided; it left 1 more open, where its judges disagreed.")

    def test_the_explorer_shows_what_a_panel_left_open_and_why(self, panel: Any) -> None:
        """Its judges decided, and disagree: what one of them left open elsewhere is not it."""
        data, _ = panel
        items = data.items.copy()
        items.loc[items.index[1], ["directionality", "directionality_invalid"]] = np.nan, "tie"
        data = replace(data, items=items)
        lines = value_of(unpack(pack_items(data, None).index)["said"], 1).split("\n")
        assert lines[-1] == "Directional, the panel: left open, tie"
        assert any(line.startswith("Forward-compatible, Directional, a judge") for line in lines)

    @given(st.permutations(["E5", "E2", "E4", "E1"]))
    @settings(max_examples=20, deadline=None)
    def test_criteria_stand_in_their_order_however_they_came(self, names: list[str]) -> None:
        rows = [
            {"system": "s", "sample_id": "1", "criterion": name, "judge": judge, "passed": passed}
            for name in names
            for judge, passed in (("a", 1.0), ("b", float(name != "E1")))
        ]
        found = agreement(
            pd.DataFrame(rows),
            np.asarray,
            rng=np.random.default_rng(0),
            criteria=("E1", "E2", "E4"),
        )
        assert [*dict.fromkeys(found["criterion"])] == ["E1", "E2", "E4", "E5"]
        assert found.groupby("criterion")["failed"].first().to_dict() == {
            "E1": 1, "E2": 0, "E4": 0, "E5": 0
        }  # fmt: skip

    def test_it_says_what_a_panel_says_where_its_judges_disagree(self, panel: Any) -> None:
        data, _ = panel
        caption = panel_section(data).shows[0].caption
        assert "Without a majority, as when two disagree, the panel's is left open" in caption
        two = [Verdict(criterion="x", passed=passed, judge="j") for passed in (True, False)]
        assert (panel_verdict(two).passed, panel_verdict(two).invalid) == (None, "tie")

    def test_a_members_record_is_told_apart_from_the_panels_errors(self, panel: Any) -> None:
        data, _ = panel
        spec = replace(data.spec, records={"a judge": "wrong in 0 of 9 verdicts"})
        rates = data.rates.assign(judge="a judge + b")
        data = replace(data, spec=spec, rates=rates)
        (said,) = [one.text for one in summarise(data).more if one.code == "record-of-one"]
        assert "not those of the panel or of its other judges" in said
        (text,) = [one.text for one in warnings(data) if one.code == "not-examined"]
        assert "how often the panel a judge + b errs" in text and "any amount" not in text

    def test_agreement_is_over_what_two_judges_decided(self, panel: Any) -> None:
        _, verdicts = panel
        found = agreement(verdicts, np.asarray, rng=np.random.default_rng(0), resamples=50)
        assert set(found["judges"]) == {2}, "one judge, asked again, is no other"
        assert set(found["n"]) == {6}
        ac1 = found[found["coefficient"].eq("Gwet's AC1")]["estimate"]
        assert ac1.tolist() == [1.0, 1.0], "where all are alike"
        again = verdicts[verdicts["judge"].ne("a judge")]
        assert agreement(again, np.asarray, rng=np.random.default_rng(0)).empty

    def test_the_explorer_shows_who_said_what(self, panel: Any) -> None:
        data, _ = panel
        index = unpack(pack_items(data, None).index)
        said = value_of(index["said"], 1)
        assert "a judge: left open, undecided: cannot read 'x'" in said
        assert "Forward-compatible, Directional, b: passed" in said.split("\n")
        assert index["pair"][0] == index["pair"][1] != index["pair"][2], "a headline's two sides"

    def test_a_judge_is_not_blamed_where_all_is_right(self, made: Any, opened: Any) -> None:
        items = made(headlines=30)
        _, data = opened(items)
        assert "one-answer" not in {one.code for one in warnings(data)}
        items.loc[items.index[:5], "degenerate"] = "repeats its input"
        _, data = opened(items)
        assert "one-answer" in {one.code for one in warnings(data)}

    def test_what_is_known_of_a_verifier_is_what_its_page_says(self) -> None:
        spec = task_named("cobe").report.load()
        assert spec.records == {"verifier/proof": RECORD}
        page = (ROOT / "docs" / "verifiers.md").read_text(encoding="utf-8")
        rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
        for label, decided in (("proven answers of 90", "13,720"), ("by hand, the 128", "334")):
            (row,) = [row for row in rows if label in row[1]]
            assert (row[4].strip(), row[7].strip()) == (decided, "0")
            assert f"0 of {decided}" in RECORD


def printed_width(cell: str) -> float:
    """Return the characters of a LaTeX cell's widest line, small ones for less."""
    lines = re.sub(r"\\(begin|end){tabular}(\[t\]{@{}r@{}})?|\\shortstack\[r\]", "", cell).split(
        r"\\"
    )
    small = [0.8 if r"\tiny" in line else 1 for line in lines]
    signs = r"\\(allowbreak|text\w+|tiny|\w+arrow|\w+rule.*)|[{}$\\]"
    plain = [re.sub(signs, "", line).strip() for line in lines]
    return max(one * len(line) for one, line in zip(small, plain, strict=True))


class TestTables:
    columns = (
        Column("system", "System", "text"),
        Column("a_valid", "A", "share", "Over valid outputs, %", "high"),
        Column("a_strict", "A", "share", "Strict, %", "high"),
    )

    def table(self, **columns: Any) -> Table:
        frame = pd.DataFrame({"system": ["x", "y", "z"], **columns})
        return Table("t", "T", "", self.columns, frame)

    def test_twins_fold_where_equal_and_stay_in_the_csv(self) -> None:
        same = self.table(a_valid=[0.1, 0.2, 0.3], a_strict=[0.1, 0.2, 0.3])
        assert [c.group for c in same.shown] == ["", "Valid and strict, %"]
        assert "a_strict" in same.raw
        other = self.table(a_valid=[0.1, 0.2, 0.3], a_strict=[0.1, 0.2, 0.2])
        assert other.shown == self.columns

    @given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.floats(0, 0.5))
    @settings(max_examples=50)
    def test_bold_is_none_with_another_inside_its_interval(
        self, values: list[float], reach: float
    ) -> None:
        low, high = ([value + way * reach for value in values] for way in (-1, 1))
        table = self.table(a_valid=values, a_valid_low=low, a_valid_high=high)
        (group,) = row_groups(table)
        bold = [i for i, row in enumerate(group.rows) if row[1].best]
        first, second = sorted(values, reverse=True)[:2]
        assert len(bold) == (second < first - reach)
        assert all(values[i] == first for i in bold)

    @pytest.mark.parametrize("headlines", [8, 24])
    def test_bold_is_none_that_a_test_does_not_tell_from_the_next(
        self, made: Any, opened: Any, headlines: int
    ) -> None:
        items = made(headlines=headlines)
        fail(items, ZERO, "directionality", range(0, headlines, 2))
        fail(items, ZERO, "directionality", range(1, headlines, 2))
        _, data = opened(items)
        tests = data.pairs[data.pairs["measure"].eq("directionality")]
        apart = bool((tests["p_adjusted"] < 0.05).all())
        assert apart == (headlines == 24), tests["p_adjusted"].tolist()
        shows = [one for section in sections_of(data) for one in section.shows]
        for table in (one for one in shows if isinstance(one, Table) and one.key == "overall"):
            place = [column.key for column in table.shown].index("directionality_valid")
            bold = [row[place].best for row in row_groups(table)[0].rows]
            assert any(bold) == apart

    def test_latex_fits_a_column(self, made: Any, opened: Any) -> None:
        items = made(headlines=12).assign(calls=12.5, tokens=4_321.5, dollars=0.0125)
        fail(items, ZERO, "directionality", range(0, 20, 3))
        items.loc[0, ["text", "invalid_reason"]] = None, "no JSON"
        _, data = opened(items)
        shows = [one for section in sections_of(data) for one in section.shows]
        tables = [one for one in shows if isinstance(one, Table)]
        assert {"overall", "paired", "invalid"} <= {table.key for table in tables}
        for table in tables:
            text = render_latex(table, "finforce")
            assert text.count("{table}") == 2 * text.count("caption{")
            for part in re.findall(
                r"\\begin{tabular}{(>.*?|r+)}\n(.*?)\\bottomrule", text, re.DOTALL
            ):
                spec, lines = part
                rows = [line.split(" & ") for line in lines.splitlines() if "multicol" not in line]
                texts = spec.count("p{")
                room = _TEX_ROOM * (1 - sum(map(float, re.findall(r"p{([\d.]+)", spec))))
                widths = [[printed_width(cell) for cell in row[texts:]] for row in rows if row[1:]]
                numbers = len(spec) - len(spec.rstrip("r"))
                assert {len(row) for row in rows if row[1:]} == {texts + numbers}
                assert sum(map(max, zip(*widths, strict=True))) <= room + 1, (table.key, lines)

    def test_latex_escapes_breaks_names_and_goes_on_after_a_page(self, made: Any) -> None:
        count, name = 90, "vendor/a_very-long.name_50%&#_of_a_model"
        column = Column("a_valid", "Share", "share", "Over valid outputs, %", "high")
        columns = (self.columns[0], Column("judge", "Judge", "text"), column)
        frame = pd.DataFrame({"system": [f"{name}{n}" for n in range(count)], "judge": "one/judge"})
        frame = frame.assign(a_valid=0.5, a_valid_low=0.4, a_valid_high=0.6)
        text = render_latex(Table("t", "T", "It's ±1.", columns, frame), "flip")
        assert text.count(r"\begin{table}") == text.count("continued.") + 1 > 2
        assert text.count(r"\label{") == 1 and text.count(r"\toprule") == text.count("{table}") / 2
        assert r"vendor/\allowbreak{}a\_\allowbreak{}very-long" in text and r"50\%\&\#" in text
        assert text.count("judge") == 1 and r"Judge: one/\allowbreak{}judge." in text
        assert r"$\pm$1" in text and r"\tiny 40.0--60.0" in text
        assert sum(line.startswith("vendor") for line in text.splitlines()) == count

    def test_reasons_are_few_lines_of_whole_words(self, made: Any, opened: Any) -> None:
        items = made(headlines=40).query("system == @FEW").reset_index(drop=True)
        for i, criterion in enumerate(CRITERIA):
            items[criterion] = np.nan
            items[f"{criterion}_invalid"] = [
                f"undecided: cannot read '{'its sewing ' * (n % 19)}machine {n}'"
                for n in items.index
            ]
            items.loc[items.index[: 12 + i], f"{criterion}_invalid"] = [
                f"reason {chr(97 + n)}" for n in range(12 + i)
            ]
        _, data = opened(items)
        table = reason_table(data)
        assert table is not None and len(table.frame) <= 10
        assert table.frame["count"].sum() == 2 * len(items)
        assert table.frame["invalid_reason"].iloc[0] == "undecided: cannot read …"
        for example in table.frame["example"].dropna():
            assert len(example) <= 122 and not re.search(r"\b(sew|sewin|machin)\b", example)

    def test_error_classes_have_their_denominators(self, made: Any, opened: Any) -> None:
        items = made(headlines=8)
        items["fantastical_edit"] = [True, False, *[None] * (len(items) - 2)]
        _, data = opened(items)
        shows = [one for section in sections_of(data) for one in section.shows]
        (table,) = [one for one in shows if isinstance(one, Table) and one.key == "errors"]
        row = table.frame.set_index("system").loc[FEW]
        assert (row["fantastical_edit"], row["fantastical_edit_of_valid"]) == (0.5, 2)


def commands_on(page: str) -> list[list[str]]:
    """Return the command lines that a page shows as code, as a shell would divide them."""
    shown = [html.unescape(text) for text in re.findall(r"<code>(.*?)</code>", page)]
    return [shlex.split(text)[1:] for text in shown if text.startswith("contrafact ")]


def parse(words: list[str]) -> None:
    """Parse a command line as the program does, without running it."""
    command, rest = get_command(app), words
    context = None
    while rest and hasattr(command, "resolve_command"):
        context = command.make_context(
            command.name, rest[:], parent=context, resilient_parsing=True
        )
        _, command, rest = command.resolve_command(context, rest)
    # The words of prose after a command are no part of it, and are refused.
    command.make_context(command.name, rest, parent=context)


JUDGES = (
    ("lakeside/judge-1",),
    ("verifier/proof", "openai-api/local/strong judge"),
    ("it's 'quoted' \"judge\"",),
)


@pytest.mark.parametrize("judges", JUDGES, ids=["one", "a panel", "quotes"])
@pytest.mark.parametrize("headlines", [8, 60])
def test_every_command_on_a_page_is_one_that_the_program_reads(
    made: Any, study: Any, tmp_path: Path, judges: tuple[str, ...], headlines: int
) -> None:
    items = made(headlines=headlines).assign(judge=" + ".join(judges))
    fail(items, ZERO, "directionality", range(0, 16, 2))
    meta = study.make_meta(systems=(FEW, ZERO), judges=judges)
    out = build_report([TaskRuns("finforce", items, meta)], tmp_path, resamples=50)
    page = (out / "report.html").read_text(encoding="utf-8")
    found = commands_on(page)
    assert page.count("contrafact exam --") + page.count("contrafact report RUN") == sum(
        words[0] in ("exam", "report") and len(words) > 1 for words in found
    ), "all are shown as code"
    assert {words[0] for words in found} >= {"exam", "report"}
    for words in found:
        parse([str(tmp_path) if word == "RUN" else word for word in words])
    exams = [words for words in found if words[0] == "exam"]
    for words in exams:
        named = [words[i + 1] for i, word in enumerate(words) if word == "--judge"]
        assert tuple(named) in (judges, ("MODEL",))


def test_the_command_says_what_an_exam_could_not_correct(
    made: Any, tmp_path: Path, quick_contrafact: Any
) -> None:
    rows = [
        {"item": f"x{n}", "criterion": name, "known": n % 2 == 0, "passed": n % 2 == 0}
        for name, n in product(CRITERIA, range(10))
    ]
    folder, sat = make_run(tmp_path / "run", made()), tmp_path / "exam.json"
    exam = examined(rows, family="finforce", judge="lakeside/judge-1")
    sat.write_text(exam.model_dump_json(), encoding="utf-8")
    said = quick_contrafact("report", str(folder), "--exam", str(sat), code=0).stdout
    assert said.startswith("The judged rates cannot be corrected: lakeside/judge-1 on Forward-")
    assert "below 100 judged items" in said and said.splitlines()[-1].startswith("report: ")
    assert quick_contrafact("report", str(folder), code=0).stdout.startswith("report: ")


def test_items_of_two_files_that_are_numbered_alike_are_no_pairs(made, tmp_path):
    """One file's headline 1 is another's text: their systems share no item, and no cluster."""
    few, zero = (made(headlines=12).query("system == @one") for one in (FEW, ZERO))
    data = {"name": "news.csv", "sha256": "0" * 64, "items": 12}
    pairs = []
    for name, headline in (("same", zero["headline"]), ("other", "Not " + zero["headline"])):
        run = {"few": few, "zero": zero.assign(headline=headline)}
        folders = [
            make_run(tmp_path / name / key, items, data=data | {"sha256": sha * 64})
            for (key, items), sha in zip(run.items(), "ab", strict=True)
        ]
        (task,) = read_tasks(folders)
        clusters = task.items.groupby("system")[task.spec.cluster].agg(set)
        pairs.append(len(clusters[FEW] & clusters[ZERO]))
    assert pairs == [12, 0]
