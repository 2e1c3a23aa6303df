"""How a chapter opens: what may be said first, and what may not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from contrafact.family.display import Table
from contrafact.family.report import ChapterData
from contrafact.report.chapter import Options, chapter_data, sections_of
from contrafact.report.frames import TaskRuns
from contrafact.report.summary import summarise
from contrafact.report.tables import panel_section
from contrafact.report.write import row_groups
from contrafact.stats.paired import holm

SIDES = ("risk", "opportunity")
CRITERIA = ("forward_compatibility", "directionality")


def tables_of(data: ChapterData) -> dict[str, Table]:
    shows = [one for section in sections_of(data) for one in section.shows]
    return {one.key: one for one in shows if isinstance(one, Table)}


@pytest.fixture
def opened(study: Any) -> Any:
    """Open a chapter of made-up headlines; ``change`` takes the items in hand first."""

    def open_chapter(
        change: Any = None, *, systems: int = 2, headlines: int = 16, **given: Any
    ) -> Any:
        items = study.make_items(
            headlines=headlines, systems=study.systems[:3:2][:systems], **given
        )
        items["degenerate"] = None
        if change is not None:
            change(items)
        data = chapter_data(TaskRuns("finforce", items, study.make_meta()), Options(resamples=400))
        return summarise(data), data

    return open_chapter


def passed(items: pd.DataFrame, held: Any, value: float) -> None:
    for name in CRITERIA:
        items.loc[held & items["text"].notna(), name] = value
        items.loc[held, f"{name}_invalid"] = None


def all_read(items: pd.DataFrame) -> None:
    items["text"] = items["text"].fillna("a text")
    items["invalid_reason"] = None
    passed(items, pd.Series(True, index=items.index), 1.0)


def test_the_best_stands_first_with_its_interval_and_whether_it_differs(opened: Any) -> None:
    def change(items: pd.DataFrame) -> None:
        all_read(items)
        passed(items, items["system"].str.startswith("embedded") & (items.index % 3 > 0), 0.0)

    summary, _ = opened(change)
    assert summary.sentence.code == "one-best" and "northwind" in summary.sentence.text
    assert "100.0%" in summary.sentence.text and "16 headlines" in summary.sentence.text
    assert summary.more[0].code == "apart" and "embedded" in summary.more[0].text
    assert [bar.system.split("/")[0] for bar in summary.bars] == ["northwind", "embedded"]


def test_copies_that_the_judge_passed_are_no_lead(opened: Any) -> None:
    def change(items: pd.DataFrame) -> None:
        all_read(items)
        copies = items["system"].str.startswith("northwind")
        items.loc[copies, "degenerate"] = "repeats its input"
        passed(items, ~copies & (items.index % 4 == 0), 0.0)

    summary, _ = opened(change)
    assert summary.sentence.code == "one-best" and summary.best.startswith("embedded")
    assert summary.results["form"] == "strict"
    more = {said.code: said.text for said in summary.more}
    assert "northwind" in more["other-over-valid"] and "32" in more["losses"]


def test_one_headline_names_no_best_and_marks_none(opened: Any) -> None:
    summary, data = opened(headlines=1)
    assert summary.sentence.text.startswith("On one headline, ")
    assert {said.code for said in summary.more}.isdisjoint({"apart", "not-apart"})
    shown = tables_of(data)
    assert {"overall", "risk_vs_opportunity"} <= set(shown)
    for table in shown.values():
        best = [
            cell for group in row_groups(table) for row in group.rows for cell in row if cell.best
        ]
        assert best == [], table.key


def test_when_nothing_was_judged_it_says_what_can_be_said(opened: Any) -> None:
    summary, _ = opened(judged=False)
    assert summary.sentence.text.startswith("Nothing was judged; ")
    assert summary.results["measure"] is None
    assert "losses" in summary.results["codes"]


@pytest.mark.parametrize("copies, code", [(range(32), "apart"), ([0, 2, 4], "not-apart")])
def test_when_nothing_was_judged_it_says_whether_answers_differ(
    opened: Any, copies: Any, code: str
) -> None:
    def change(items: pd.DataFrame) -> None:
        items["text"], items["invalid_reason"] = "a text", None
        own = items.index[items["system"].str.startswith("embedded")]
        items.loc[own[list(copies)], "degenerate"] = "repeats its input"

    summary, _ = opened(change, judged=False)
    assert summary.more[0].code == code


def none_read(items: pd.DataFrame) -> None:
    items["text"], items["invalid_reason"] = None, "no JSON"
    items[list(CRITERIA)] = np.nan


def two_judges(items: pd.DataFrame) -> None:
    all_read(items)
    northwind = items["system"].str.startswith("northwind")
    passed(items, ~northwind, 0.0)
    items.loc[northwind, "judge"] = "moor/judge"


@pytest.mark.parametrize(
    ("change", "systems", "code"),
    [
        (all_read, 2, "all-alike"),
        (None, 1, "one-system"),
        (none_read, 2, "nothing-read"),
        (two_judges, 2, "several-judges"),
    ],
    ids=["a tie", "one system", "nothing read", "two judges"],
)
def test_where_no_system_is_best_none_is_told_apart(
    opened: Any, change: Any, systems: int, code: str
) -> None:
    summary, _ = opened(change, systems=systems)
    assert summary.sentence.code == code
    assert {said.code for said in summary.more}.isdisjoint({"apart", "not-apart"})


def paid(items: pd.DataFrame) -> None:
    """Give the first system one call for a headline, the second four, the third nine."""
    calls = dict(zip(items["system"].unique(), (1, 4, 9), strict=False))
    items["calls"] = items["system"].map(calls)
    items["tokens"] = 100.0 * items["calls"]
    items["dollars"] = 0.002 * items["calls"]


def test_what_it_cost_stands_beside_the_scores(opened: Any) -> None:
    costs = ["calls", "tokens", "dollars_per_1000"]
    _, data = opened(paid)
    table = tables_of(data)["overall"]
    assert [column.key for column in table.columns if column.key in costs] == costs
    rows = table.frame.query("scope == 'Both sides'").set_index("system")
    assert sorted(rows["tokens"]) == [100.0, 400.0]
    assert sorted(rows["dollars_per_1000"]) == [2.0, 8.0]
    _, data = opened()
    shown = {column.key for column in tables_of(data)["overall"].columns}
    assert shown.isdisjoint(costs), "not known: no column"


MARKS = ("reference (ours)", "control: said again")


@pytest.fixture
def marked(study: Any) -> Any:
    """Open a chapter of so many systems, beside a reference that passes all and a control."""

    def open_chapter(systems: int) -> Any:
        items = study.make_items(headlines=12, systems=study.systems[:1], scored=False)
        items["degenerate"] = None
        parts = [items.assign(system=f"x/m{n}", model=f"x/m{n}") for n in range(systems)]
        for name, value in zip(MARKS, (1.0, 0.0), strict=True):
            mark = items.assign(system=name, model=name, method="given", invalid_reason=None)
            all_read(mark)
            passed(mark, mark.index >= 0, value)
            parts.append(mark)
        both = pd.concat(parts, ignore_index=True)
        data = chapter_data(TaskRuns("finforce", both, study.make_meta()), Options(resamples=100))
        return summarise(data), data

    return open_chapter


@pytest.mark.parametrize("systems", [1, 2, 4])
@pytest.mark.slow
def test_references_and_controls_are_marks_never_ranked_tested_or_best(
    marked: Any, systems: int
) -> None:
    summary, data = marked(systems)
    assert not any(name in summary.sentence.text for name in MARKS)
    assert [mark.system for mark in summary.marks] == list(MARKS)
    assert summary.marks[0].text == "100.0%" and summary.marks[0].between != "no interval"
    assert len(summary.bars) == systems and data.systems[-2:] == list(MARKS)
    named = {f"x/m{n}" for n in range(systems)}
    tested = set() if data.pairs.empty else {*data.pairs["first"], *data.pairs["second"]}
    assert tested == (named if systems > 1 else set())
    for _, part in data.pairs.groupby("form") if systems > 1 else ():
        assert part["p_adjusted"].to_numpy() == pytest.approx(holm(part["p_value"]))
        assert len(part) == 3 * systems * (systems - 1) / 2, "a family of what was asked for"
    table = tables_of(data)["overall"]
    for group in row_groups(table):
        for row in group.rows:
            if row[0].text in MARKS:
                assert not any(cell.best for cell in row)


def test_where_only_references_are_there_they_are_what_was_asked_about(study: Any) -> None:
    items = study.make_items(headlines=6, systems=study.systems[:1], scored=False)
    items = items.assign(system=MARKS[0], method="given", degenerate=None)
    data = chapter_data(TaskRuns("finforce", items, study.make_meta()), Options(resamples=50))
    assert data.systems_as("asked") == [MARKS[0]] and MARKS[0] in summarise(data).sentence.text


@pytest.mark.parametrize(
    ("given", "step", "command"),
    [
        ({"judged": False}, "judge", "contrafact score RUN --judge"),
        ({}, "label", "contrafact finforce study sample RUN --for calibration"),
        ({"headlines": 64}, "examine", "--family finforce --out exam.json"),
    ],
)
def test_it_says_what_to_do_next(opened: Any, given: Any, step: str, command: str) -> None:
    summary, _ = opened(**given)
    assert summary.next.code == step and command in summary.next.text


def test_judges_of_different_runs_are_no_panel(study: Any) -> None:
    items = study.make_items(headlines=8, systems=study.systems[:3:2])
    items["degenerate"] = None
    verdicts = study.make_panel(items)
    one, other = items["system"].unique()
    other_run = verdicts["system"].eq(other)
    verdicts = verdicts[~other_run | verdicts["judge"].ne("moor/judge")]
    verdicts.loc[other_run, "judge"] = verdicts.loc[other_run, "judge"].str.replace("lakeside", "x")
    made = {"together": verdicts[verdicts["system"].eq(one)], "apart": verdicts}
    titles, counts = {}, {}
    for name, held in made.items():
        meta = study.make_meta(panel=held)
        data = chapter_data(TaskRuns("finforce", items, meta), Options(resamples=50))
        judged, table = panel_section(data).shows
        assert isinstance(judged, Table) and isinstance(table, Table)
        assert {*judged.frame["judge"]} == {*held["judge"]}
        titles[name] = table.title
        counts[name] = {row.criterion: row.judges for row in table.frame.itertuples(index=False)}
    assert titles == {"together": "Agreement of the panel", "apart": "Agreement of each panel"}
    assert set(counts["together"].values()) == {3}
    assert sorted(counts["apart"].values()) == [2, 2, 3, 3]
    assert any(name.endswith("of x/judge-1 and x/judge-2") for name in counts["apart"])


def test_of_outputs_most_of_which_are_no_answer_no_judge_is_asked_for(opened: Any) -> None:
    summary, _ = opened(lambda items: items.__setitem__("degenerate", "repeats its input"))
    assert summary.next.code == "no-answers"
