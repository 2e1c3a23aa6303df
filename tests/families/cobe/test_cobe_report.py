"""The chapter of cobe: figures counted by hand, marks, words, and what judges are worth."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.test_explorer import unpack
from tests.support.made_exams import examined

from contrafact.errors import InputError
from contrafact.families.cobe.data import CRITERION_NAMES, PHRASINGS
from contrafact.families.cobe.items import ITEM_COLUMNS, READ_BY
from contrafact.families.cobe.records import DOMAINS, GRAPHS
from contrafact.families.cobe.report import SPEC, scope_parts
from contrafact.family.display import Table
from contrafact.family.exam_file import Exam
from contrafact.family.report import ChapterData
from contrafact.family.run_facts import ReportMeta, RunFacts
from contrafact.report.build import build_report
from contrafact.report.chapter import Options, chapter_data, make_chapter, sections_of
from contrafact.report.estimates import prepare_items
from contrafact.report.explorer import pack_items
from contrafact.report.frames import TaskRuns
from contrafact.report.summary import summarise

HOSTILE = "The kiln <script>alert(1)</script> cooled \u202e and {{ 7*7 }} pots cracked."
GOOD, POOR, JUDGE = "tern/one · plain", "tern/two · plain", "tern/judge"


def row(story: int, phrasing: str, system: str, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(ITEM_COLUMNS)
    found |= {
        "system": system,
        "model": system.split(" ")[0],
        "method": "plain",
        "shots": 0,
        "judge": JUDGE,
        "draw": 1,
        "sample_id": f"{story}v1",
        "block": str(story),
        "phrasing": phrasing,
        "domain": DOMAINS[story % len(DOMAINS)],
        "graph": GRAPHS[story % len(GRAPHS)],
        "failure_modes": "1 3" if story % 2 else "",
        "story": HOSTILE,
        "query": f"Rewrite, had the kiln held ({story}{phrasing}).",
        "text": HOSTILE.replace("cracked", "held"),
        "answer": "The kiln held.",
        "unchanged": "There are pots.",
        "changed": "The kiln held.",
        "E1": 1.0,
        "E2": 1.0,
        "E3": 1.0,
        "correct": 1.0,
    }
    return found | given


def frame(*, stories: int = 24, seed: int = 5) -> pd.DataFrame:
    """A system that is mostly right and one that mostly is not, some of whose output is unread."""
    rng = np.random.default_rng(seed)
    rows = []
    for story in range(stories):
        for phrasing in PHRASINGS:
            for system, share in ((GOOD, 0.9), (POOR, 0.4)):
                if rng.random() < 0.05:
                    empty = dict.fromkeys(("E1", "E2", "E3", "correct"), np.nan)
                    why = "cut off <b>"
                    rows.append(
                        row(story, phrasing, system, text=None, invalid_reason=why, **empty)
                    )
                    continue
                right = float(rng.random() < share)
                rows.append(row(story, phrasing, system, E2=right, correct=right))
    return pd.DataFrame(rows, columns=list(ITEM_COLUMNS))


def meta(**given: Any) -> ReportMeta:
    run = RunFacts(
        name="run <one>",
        systems=(GOOD, POOR),
        models=("tern/one", "tern/two"),
        judges=(JUDGE,),
        prompt_pack_hash="p",
        asked={"judge_context": False, "structured": True},
    )
    return ReportMeta(runs=(run,), created="2026-11-20T10:10:00Z", **given)


def exam(
    sensitivity: float,
    specificity: float,
    *,
    judge: str = JUDGE,
    n: int = 400,
    criteria: tuple[str, ...] = ("E1", "E2", "E3"),
) -> Exam:
    rows = []
    for place in range(n * len(criteria)):
        number, criterion = place % n, criteria[place // n]
        known = number % 2 == 0
        right = number // 2 < (sensitivity if known else specificity) * n / 2
        rows.append(
            {"item": f"x{number}", "criterion": criterion, "known": known, "passed": known == right}
        )
    return examined(rows, judge=judge)


def report(tmp_path: Path, **options: Any) -> tuple[str, dict[str, Any], Path]:
    options = {"resamples": 200} | options
    out = build_report([TaskRuns("cobe", frame(), meta())], tmp_path, **options)
    page, found = ((out / name).read_text() for name in ("report.html", "results.json"))
    return page, json.loads(found), out / "tables"


@pytest.fixture(autouse=True)
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures out, whose drawing takes most of a report's time, but of slow tests."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr("contrafact.families.cobe.report.measure_chart", lambda *a, **k: None)


def of(figures: pd.DataFrame, measure: str, form: str = "valid", **where: str) -> pd.DataFrame:
    held = figures["measure"].eq(measure) & figures["form"].eq(form)
    for name, value in ({"scope": "overall"} | where).items():
        held &= figures[name].eq(value)
    return figures[held]


def data_of(items: pd.DataFrame) -> ChapterData:
    return chapter_data(TaskRuns("cobe", items, meta()), Options(resamples=20))


def estimate(items: pd.DataFrame) -> pd.DataFrame:
    return data_of(items).figures


def test_accuracy_spread_and_both_forms_are_what_one_counts_by_hand() -> None:
    correct = {"A": (1, 1, 1, 0), "B": (1, 1, 0, 0), "C": (1, 0, 0, np.nan)}
    rows = [
        row(story, phrasing, GOOD, correct=value)
        for phrasing, values in correct.items()
        for story, value in enumerate(values)
    ]
    figures = estimate(pd.DataFrame(rows))
    assert of(figures, "accuracy")["estimate"].item() == pytest.approx(6 / 11)
    assert of(figures, "accuracy", "strict")["estimate"].item() == pytest.approx(6 / 12)
    spread = of(figures, "accuracy_spread", "strict")["estimate"].item()
    assert spread == pytest.approx(np.std([0.75, 0.5, 0.25], ddof=1))
    by_c = of(figures, "accuracy", scope="phrasing", group="C")
    assert by_c["estimate"].item() == pytest.approx(1 / 3)


def test_a_criterion_that_a_story_lacks_is_not_asked_and_what_is_unread_fails_strictly() -> None:
    gone = dict.fromkeys(CRITERION_NAMES, np.nan)
    rows = [
        row(0, "A", GOOD, numerical="fewer pots", E4=0.0, correct=0.0),
        row(1, "A", GOOD, numerical="fewer pots", E4=np.nan, E4_invalid="said maybe", correct=0.0),
        row(
            2, "A", GOOD, numerical="fewer", text=None, invalid_reason="no", correct=np.nan, **gone
        ),
        row(3, "A", GOOD),
        row(4, "A", GOOD, numerical="fewer pots", E4=1.0),
    ]
    figures = estimate(pd.DataFrame(rows))
    assert of(figures, "E4_fails")["estimate"].item() == 0.5
    assert of(figures, "E4_fails", "strict")[["estimate", "n"]].to_numpy().tolist() == [[0.75, 4]]
    assert of(figures, "E5_fails", "strict").empty
    assert of(figures, "E3_fails", "strict")["estimate"].item() == pytest.approx(1 / 5)


def test_unjudged_responses_have_no_accuracy_in_any_form() -> None:
    nobody = dict.fromkeys((*CRITERION_NAMES, "correct"), np.nan) | {"judge": None}
    items = pd.DataFrame([row(story, "A", GOOD, **nobody) for story in range(6)])
    assert set(estimate(items)["measure"]) == {"invalid"}


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=3, max_size=18), st.randoms())
@pytest.mark.slow
def test_strict_accuracy_never_exceeds_the_valid_one_and_rows_may_come_in_any_order(
    values: list[float], random: Any
) -> None:
    rows = [row(i // 3, PHRASINGS[i % 3], GOOD, correct=value) for i, value in enumerate(values)]
    figures = estimate(pd.DataFrame(rows))
    strict, valid = of(figures, "accuracy", "strict"), of(figures, "accuracy")
    assert strict["estimate"].item() == pytest.approx(values.count(1.0) / len(values))
    if len(valid):
        assert strict["estimate"].item() <= valid["estimate"].item() + 1e-12
    random.shuffle(rows)
    again = estimate(pd.DataFrame(rows))
    mixed = of(again, "accuracy", "strict")[["estimate", "low", "high"]].to_numpy(float)
    assert mixed == pytest.approx(strict[["estimate", "low", "high"]].to_numpy(float), nan_ok=True)


def test_a_story_with_two_failure_modes_counts_under_both_and_strange_domains_are_kept() -> None:
    raw = pd.DataFrame([row(1, "A", GOOD), row(2, "A", GOOD, domain="Music", graph=None)])
    items = prepare_items(raw, SPEC)
    modes = dict(scope_parts("failure_mode", items))
    assert [name.split(".")[0] for name in modes] == ["1", "3"]
    assert set(dict(scope_parts("domain", items))) == {DOMAINS[1], "Music"}
    assert set(dict(scope_parts("graph", items))) == {GRAPHS[1], "not named"}


@pytest.mark.parametrize(("blocks", "bounded"), [(9, False), (10, True)])
def test_intervals_are_by_block_and_there_is_none_under_ten(blocks: int, bounded: bool) -> None:
    items = frame(stories=4 * blocks)
    items["block"] = items["sample_id"].str.extract(r"(\d+)")[0].astype(int).mod(blocks).astype(str)
    data = data_of(items)
    accuracy, apart = data.overall("accuracy", "valid"), data.pairs
    assert set(accuracy["blocks"]) == {blocks}
    for rows in (accuracy, apart):
        assert rows["low"].notna().eq(bounded).all() and rows["high"].notna().eq(bounded).all()
    assert (
        bounded
        or accuracy["method"].eq(f"no interval: too few blocks ({blocks} of 10 needed)").all()
    )


@pytest.mark.parametrize(("blocks", "bounded"), [(9, False), (12, True)])
def test_judged_rates_are_corrected_by_block_too(blocks: int, bounded: bool) -> None:
    """Stories of a block have the same verdicts; taken one by one they would be worth more."""
    items = frame(stories=4 * blocks)
    story = items["sample_id"].str.extract(r"(\d+)")[0].astype(int)
    items.loc[items["correct"].notna(), ["E2", "correct"]] = 1.0
    items.loc[items["correct"].notna() & story.mod(blocks).lt(4), ["E2", "correct"]] = 0.0
    labels = pd.DataFrame(
        {
            "system": GOOD, "judge": JUDGE, "item": str(place), "sample_id": one["sample_id"],
            "phrasing": one["phrasing"], "draw": 1, "annotator": "Ola",
            "question": "E3", "answer": bool(place % 3),
        }
        for place, one in items[items["system"].eq(GOOD)].iloc[::3].iterrows()
    )  # fmt: skip
    widths, rates = {}, {}
    for name, block in (("block", story.mod(blocks)), ("story", story)):
        runs = TaskRuns("cobe", items.assign(block=block.astype(str)), meta())
        sat = exam(0.95, 0.95, n=2_000)
        found = chapter_data(runs, Options(resamples=50, exams=(sat,), labels=labels)).rates
        rates[name] = found.set_index(["system", "criterion"])
        one = rates[name].loc[GOOD, "E2"]
        widths[name] = one["high"] - one["low"], one["raw_high"] - one["raw_low"]
    assert set(rates["block"]["clusters"]) == {blocks}
    assert rates["block"].loc[GOOD, "E3"]["by"] == "labels"
    assert rates["block"]["usable"].any() == bounded
    assert rates["block"]["raw_low"].notna().all() == bounded
    assert rates["story"].loc[GOOD, "E2"]["usable"]
    if bounded:
        assert all(a > 1.3 * b for a, b in zip(widths["block"], widths["story"], strict=True))
    else:
        (why,) = set(rates["block"].loc[(GOOD, ["E2", "E3"]), "why"])
        assert why == "the outputs are of 9 blocks, and 10 are needed for an interval"


@pytest.mark.parametrize("panel", [False, True])
def test_what_the_proof_cannot_read_is_left_out_or_the_panels(panel: bool) -> None:
    judge = "verifier/proof" + " + tern/judge" * panel
    items = frame(stories=12).assign(judge=judge, **{f"by_{name}": 1.0 for name in READ_BY})
    shows = [one for section in sections_of(data_of(items)) for one in section.shows]
    (table,) = [one for one in shows if isinstance(one, Table) and one.key == "read_by"]
    assert ("the panel's other judges decide alone" in table.caption) == panel
    assert ("The valid form leaves it out" in table.caption) == (not panel)
    # What the proof left open was read all the same.
    assert [column.label for column in table.columns[1:]][-1] == "Left open"
    assert "read" not in table.title.lower() and "nobody" not in table.caption.lower()


def test_no_two_columns_of_the_invalid_table_have_one_name() -> None:
    data = data_of(frame(stories=12))
    shows = [one for section in sections_of(data) for one in section.shows]
    (table,) = [one for one in shows if isinstance(one, Table) and one.key == "invalid"]
    labels = [column.label for column in table.columns]
    assert len(set(labels)) == len(labels)
    assert {"Verdicts asked for", "Verdicts left open", "Responses left open"} <= set(labels)


def test_a_judge_that_always_passes_and_the_embedded_one_are_warned_of() -> None:
    items = pd.DataFrame([row(n, phrasing, GOOD) for n in range(8) for phrasing in PHRASINGS])

    def warned(meta: ReportMeta) -> dict[str, str]:
        chapter = make_chapter(TaskRuns("cobe", items, meta), Options(resamples=20))
        return {one.code: one.text for one in chapter.warnings}

    shown = warned(meta(embedded_judge=True))
    assert "embedded-judge" in shown
    assert "one-answer" not in shown, "all may be right"
    items.loc[items.index[:4], "degenerate"] = "repeats its input"
    shown = warned(meta(embedded_judge=True))
    assert f"On E1, {JUDGE} answered T 100.0%" in shown["one-answer"]
    assert "all criteria" not in shown["one-answer"]
    assert f"exam --judge {JUDGE} --family cobe" in shown["not-examined"]
    examined = Options(resamples=20, exams=(exam(0.95, 0.95),))
    chapter = make_chapter(TaskRuns("cobe", items, meta()), examined)
    assert "one-answer" not in [one.code for one in chapter.warnings]
    own = RunFacts(name="r", self_judged=True)
    assert "self-judged" in warned(ReportMeta(runs=(own,)))


@pytest.mark.slow
def test_the_page_shows_all_parts_and_escapes_what_models_wrote(tmp_path: Path) -> None:
    page, results, _ = report(tmp_path, with_published=True)
    assert "<script>alert" not in page
    for key in ("accuracy", "criteria", "by_graph", "by_phrasing", "by_domain", "by_failure_mode"):
        assert (tmp_path / "figures" / f"{key}.svg").exists()
        assert f'id="figure-{key}"' in page
    assert "GPT-5.4-Pro" in page
    assert "55.70" in page
    paired = results["paired"][0]
    assert paired["difference"] > 0
    assert paired["p_adjusted"] < 0.05


def test_without_an_exam_it_is_said_once_that_the_judge_was_not_examined(tmp_path: Path) -> None:
    page, results, tables = report(tmp_path)
    assert "GPT-5.4-Pro" not in page, "published rows stay away unless they are asked for"
    overall = pd.read_csv(tables / "overall.csv")
    assert not any("corrected" in name or "rank" in name for name in overall.columns)
    assert page.count("was not examined") == 1
    assert results["opening"]["codes"][-1] == "label", "no exam corrects accuracy"
    assert {row["why_code"] for row in results["judged_rates"]} == {"not-examined"}
    assert not (tables / "corrected.csv").exists()


def test_an_exam_corrects_the_rates_of_its_judge(tmp_path: Path) -> None:
    items = pd.concat([frame(stories=60, seed=seed).assign(draw=seed) for seed in (1, 2)])
    runs = TaskRuns("cobe", items, meta())
    found = exam(0.9, 0.7)
    paths = build_report([runs], tmp_path, resamples=200, exams=[found])
    rates = pd.read_csv(paths / "tables" / "corrected.csv")
    poor = rates[rates["band"].str.startswith(POOR)].set_index("criterion")
    whole = poor.loc["all criteria"]
    assert pd.isna(whole["corrected"]), "an exam has another mix of failures than the run"
    assert "people's labels" in whole["known"]
    second = poor[poor.index.str.startswith("E2")].iloc[0]
    assert second["corrected"] == pytest.approx((second["raw"] + 0.7 - 1) / (0.9 + 0.7 - 1))
    criteria = pd.read_csv(paths / "tables" / "criteria.csv").set_index("system").loc[POOR]
    assert criteria["E2_fails_corrected"] == pytest.approx(1 - second["corrected"])
    assert "E2_fails_of_valid" in criteria and "E2_fails_of_corrected" not in criteria
    assert criteria["E2_fails_corrected_low"] == pytest.approx(1 - second["corrected_high"])
    judge = pd.read_csv(paths / "tables" / "judge.csv").set_index("criterion")
    assert judge["sensitivity"].unique() == pytest.approx([0.9])
    assert (judge["sensitivity_low"] < 0.9).all() and (judge["specificity_high"] > 0.7).all()
    named = json.loads((paths / "results.json").read_text())["exams"]
    assert named[0]["judge"] == JUDGE


def test_an_exam_of_whole_verdicts_alone_corrects_no_run_with_another_mix(tmp_path: Path) -> None:
    _, results, _ = report(tmp_path, exams=[exam(0.9, 0.7, criteria=("response",))])
    rates = pd.DataFrame(results["judged_rates"])
    assert rates["corrected"].isna().all()
    whole = rates["criterion"].eq("correct")
    assert (rates.loc[whole, "why_code"] == "needs-labels").all()
    assert (rates.loc[~whole, "why_code"] == "not-asked").all()


@pytest.mark.slow
def test_a_judge_that_cannot_tell_corrects_nothing_and_is_warned_of(tmp_path: Path) -> None:
    page, results, tables = report(tmp_path, exams=[exam(0.6, 0.3)])
    rates = pd.read_csv(tables / "corrected.csv")
    assert rates["corrected"].isna().all()
    parts = rates[rates["criterion"].ne("all criteria")]
    assert parts["known"].str.contains("sensitivity and specificity sum to 0.90").all()
    assert page.count("sum to 0.90, not above 1") == 1
    few = report(tmp_path / "few", exams=[exam(0.9, 0.7)])[1]["warnings"][-1]["text"]
    assert few.count("judged items") == 1 and "--limit" in few
    assert "not-corrected" in [warning["code"] for warning in results["warnings"]]
    assert {row["why_code"] for row in results["judged_rates"]} == {"uninformative", "needs-labels"}


def test_an_exam_of_a_judge_that_judged_nothing_here_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fits no judge of these runs"):
        report(tmp_path, exams=[exam(0.9, 0.9, judge="tern/other")])


def test_where_verdicts_are_left_open_bounds_are_said_first_and_no_rate():
    """36 of one system's 72 responses are open, as a proof leaves free wording open."""
    rows = [row(story, phrasing, GOOD) for story in range(24) for phrasing in PHRASINGS]
    for one in rows[:36]:  # whole stories, on which the bounds rest all the same
        one |= {"E3": np.nan, "E3_invalid": "cannot read it", "correct": np.nan}
    rows += [row(story, phrasing, POOR) for story in range(24) for phrasing in PHRASINGS]
    items = pd.DataFrame(rows, columns=list(ITEM_COLUMNS))
    data = chapter_data(TaskRuns("cobe", items, meta()), Options(resamples=400))
    summary = summarise(data)
    assert (summary.sentence.code, summary.next.code) == ("open", "decide")
    counts = "36 of 72 responses are decided and 36 right"
    said = f"of {GOOD}, {counts}, so it lies between 50.0% and 100.0%"
    assert said in summary.sentence.text
    assert "over 24 " in summary.sentence.text
    assert {said.code for said in summary.more}.isdisjoint({"apart", "not-apart"})
    bar = next(bar for bar in summary.bars if bar.system == GOOD)
    assert (bar.left, bar.width, np.isnan(bar.place)) == (50.0, 50.0, True)
    chapter = make_chapter(TaskRuns("cobe", items, meta()), Options(resamples=20))
    (fact,) = [one for one in chapter.facts if one.label == "Responses"]
    assert fact.below == "144 valid (100.0%), 36 left open"
    how = dict(chapter.how)
    assert "outputs whose verdict is left open" in how["Over valid outputs, and strict"]
    # A page shows fewer intervals than results.json has, so that none are counted in words.
    assert "exact binomial" in how["Intervals"] and " of the 1" not in how["Intervals"]
    tables = chapter.tables
    for key, decided, asked in (("overall", 36, 72), ("by_phrasing", 12, 24)):
        lines = tables[key].frame.query("system == @GOOD")
        assert "decided" in {column.key for column in tables[key].columns}
        assert set(zip(lines["decided"], lines["asked"], strict=True)) == {(decided, asked)}
    own = tables["criteria"].frame.set_index("system").loc[GOOD]
    assert (own["E3_fails_of_valid"], own["E3_fails_of_strict"]) == (36, 72)
    assert own["E1_fails_of_valid"] == 72
    closed = chapter_data(
        TaskRuns("cobe", items.assign(correct=1.0), meta()), Options(resamples=20)
    )
    shown = [one for section in sections_of(closed) for one in section.shows]
    (overall,) = [one for one in shown if isinstance(one, Table) and one.key == "overall"]
    assert "decided" not in {column.key for column in overall.columns}, "all are decided"


def test_the_explorer_tells_open_verdicts_from_criteria_that_a_story_lacks() -> None:
    items = frame(stories=4)
    place = items.index[items["text"].notna()][0]
    items.loc[place, ["E3", "E3_invalid", "correct"]] = np.nan, "tie", np.nan
    items.loc[place + 1 :, ["E1", "unchanged"]] = np.nan, None
    data = chapter_data(TaskRuns("cobe", items, meta()), Options(resamples=20))
    flags = {flag["label"]: flag for flag in unpack(pack_items(data, None).index)["flags"]}
    assert flags["E1"]["words"] == ["passed", "failed", "not asked"]
    assert flags["E1"]["codes"][place + 1 :] == [-1] * (len(items) - place - 1)
    assert flags["E3"]["codes"][place] == flags["all criteria"]["codes"][place] == 2
    assert flags["all criteria"]["codes"].count(2) == 1
