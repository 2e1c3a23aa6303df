"""The tables: what is marked, what is left out and noted, what the paper's rows may show."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from contrafact.cli.show import _cell
from contrafact.families.finforce.published import PAPER, paper_fluency
from contrafact.families.finforce.report_figures import (
    base_distance,
    few_shot_change,
    risk_against_opportunity,
)
from contrafact.family.display import Column, Table, format_number
from contrafact.family.published import published_table
from contrafact.family.report import ChapterData, Section, TerminalColumn
from contrafact.family.tables import reason_table
from contrafact.report.chapter import Options, chapter_data, sections_of
from contrafact.report.frames import TaskRuns
from contrafact.report.tables import comparison_table, panel_section
from contrafact.report.words import warnings
from contrafact.report.write import row_groups
from contrafact.runs.items import agreement, cluster_labels
from contrafact.stats.paired import holm

Study = Any


def data_of(items: pd.DataFrame, meta: Any, **options: Any) -> ChapterData:
    return chapter_data(TaskRuns("finforce", items, meta), Options(**{"resamples": 300} | options))


def shown(data: ChapterData, key: str) -> Table | None:
    shows = [one for section in sections_of(data) for one in section.shows]
    return {one.key: one for one in shows if isinstance(one, Table)}.get(key)


def one_table(section: Section) -> Table:
    (table,) = [one for one in section.shows if isinstance(one, Table)]
    return table


@pytest.fixture(scope="module")
def data(study: Study) -> ChapterData:
    return data_of(study.make_items(), study.make_meta())


def keys(table: Table) -> set[str]:
    return {column.key for column in table.columns}


def test_numbers_read_as_they_should() -> None:
    assert format_number(0.12345, "share") == "12.3"
    assert format_number(0.9997, "share") == "<100.0" and format_number(1.0, "share") == "100.0"
    assert format_number(0.0003, "share") == ">0.0" and format_number(0.0, "share") == "0.0"
    assert format_number(1.0 - 1e-12, "share") == "100.0"
    row = {"estimate": 0.97, "low": 0.7, "high": 0.9997}
    assert _cell(row, TerminalColumn("a", "valid", "A %")) == ("97.0", "70.0–<100.0")
    assert _cell(row, TerminalColumn("a", "valid", "A", scale=1, digits=2)) == ("0.97", "0.70–1.00")
    assert format_number(-0.021, "points") == "−2.1"
    assert format_number(-0.00001, "points") == "0.0"
    assert format_number(3.04, "signed") == "+3.0"
    assert format_number(1234.56, "number") == "1,234.6"
    assert format_number(0.0004, "p") == "<0.001"
    assert format_number(float("nan"), "share") == "–"
    assert format_number(None, "text") == "–"


def test_the_best_is_marked_by_column_and_direction() -> None:
    frame = pd.DataFrame(
        {"system": list("abcd"), "up": [0.5, 0.7, 0.9, 0.1], "down": [4, 2, 1, np.nan]}
    )
    for name, reach in (("up", 0.1), ("down", 2)):
        frame[f"{name}_low"], frame[f"{name}_high"] = frame[name] - reach, frame[name] + reach
    columns = (
        Column("system", "System", "text"),
        Column("up", "Up", "share", better="high"),
        Column("down", "Down", "number", better="low"),
    )
    (group,) = row_groups(Table("t", "T", "", columns, frame))
    assert [[cell.best for cell in row[1:]] for row in group.rows] == [
        [False, False],
        [False, False],
        [True, False],  # of what goes down, another is inside the interval
        [False, False],
    ]


def test_a_single_system_is_not_best_of_anything() -> None:
    columns = (Column("up", "Up", "share", better="high"),)
    (group,) = row_groups(Table("t", "T", "", columns, pd.DataFrame({"up": [0.5]})))
    assert not group.rows[0][0].best


def test_overall_table_has_both_forms_and_the_median(data: ChapterData) -> None:
    table = shown(data, "overall")
    assert table is not None
    scores = {
        f"{measure}_{form}"
        for measure in ("forward_compatibility", "directionality", "average")
        for form in ("valid", "strict")
    }
    assert scores | {"perplexity", "perplexity_median", "delta_perplexity", "valid"} <= keys(table)
    assert {"average_strict_low", "average_strict_high"} <= set(table.raw.columns)
    assert table.frame["headlines"].tolist() == 9 * [64]
    assert list(table.frame["scope"].unique()) == ["Both sides", "Risk", "Opportunity"]
    both = table.frame[table.frame["scope"].eq("Both sides")]
    few = both.set_index("system").loc["northwind/large-2 · few-shot (4)"]
    assert few["average_valid_sd"] > 0
    assert (table.frame["average_strict"] <= table.frame["average_valid"]).all()


def test_without_judge_or_fluency_columns_go_and_it_is_reported(study: Study) -> None:
    items = study.make_items(judged=False, scored=False)
    data = data_of(items, study.make_meta(judges=(), fluency_model=None), resamples=50)
    table = shown(data, "overall")
    assert table is not None
    assert keys(table) == {"system", "headlines", "valid", "sound"}
    assert any("--judge" in note for note in table.notes)
    assert any("perplexity columns are left out" in note for note in table.notes)
    assert not risk_against_opportunity(data).shows
    assert data.pairs.empty
    assert comparison_table(data) is None


def test_different_judges_or_fluency_models_are_not_ranked(study: Study) -> None:
    items = study.make_items(headlines=12)
    items.loc[items["system"] == study.systems[0][0], "judge"] = "moor/judge"
    meta = study.make_meta()
    meta = meta.model_copy(
        update={"runs": (*meta.runs, meta.runs[0].model_copy(update={"fluency_model": "gpt2"}))}
    )
    data = data_of(items, meta, resamples=50)
    assert (data.one_judge, data.meta.one_fluency_model) == (False, False)
    assert not paper_fluency(meta.fluency_models)
    table = shown(data, "overall")
    assert table is not None
    rows = [row for group in row_groups(table) for row in group.rows]
    assert not any(cell.best for row in rows for cell in row)
    assert sum("not comparable" in note for note in table.notes) == 2
    pairs = data.pairs
    assert set(pairs["measure"]) == {"forward_compatibility", "directionality", "average"}
    judged_alike = {study.systems[1][0], study.systems[2][0]}
    assert {*pairs["first"], *pairs["second"]} == judged_alike


def test_category_table_is_largest_first_and_marks_within_a_category(data: ChapterData) -> None:
    table = shown(data, "by_category")
    assert table is not None
    sizes = data.items.drop_duplicates("sample_id")["category"].value_counts()
    assert table.frame["category"].iloc[0] == sizes.index[0]
    assert len(table.frame) == 3 * len(sizes)
    marked = [sum(cell.best for row in group.rows for cell in row) for group in row_groups(table)]
    assert sum(marked) > 0 and max(marked) <= len(table.shown), "one a column in each category"


def test_few_shot_change_is_the_difference_of_the_overall_figures(data: ChapterData) -> None:
    table, overall_table = one_table(few_shot_change(data)), shown(data, "overall")
    assert overall_table is not None
    (line,) = table.frame.to_dict("records")
    overall = overall_table.frame.query("scope == 'Both sides'").set_index("system")
    few, zero = (overall.loc[f"northwind/large-2 · {m}"] for m in ("few-shot (4)", "zero-shot"))
    for key in ("perplexity", "directionality_valid", "average_strict"):
        assert line[key] == pytest.approx(few[key] - zero[key], abs=1e-9)
        assert line[f"{key}_low"] < line[key] < line[f"{key}_high"]
    assert line["draws"] == 5


def test_few_shot_change_leaves_out_what_one_side_has_no_valid_text_for(study: Study) -> None:
    items = study.make_items()
    few = items["method"].eq("few-shot")
    judged = ["forward_compatibility", "directionality"]
    items.loc[few, judged] = float("nan")
    items.loc[few, "invalid_reason"] = "cut off at the token limit"
    table = one_table(few_shot_change(data_of(items, study.make_meta())))
    found = keys(table)
    assert "directionality_strict" in found and "directionality_valid" not in found


def test_paired_comparison_averages_draws_per_item(data: ChapterData, study: Study) -> None:
    items, pairs = data.items, data.pairs
    assert len(pairs) == 3 * 7
    few, zero = study.systems[1][0], study.systems[0][0]
    row = pairs[
        pairs["first"].eq(zero)
        & pairs["second"].eq(few)
        & pairs["measure"].eq("directionality")
        & pairs["form"].eq("strict")
    ].iloc[0]
    means = items.groupby(["system", "sample_id", "side"])["directionality_strict"].mean()
    expected = (means.loc[zero] - means.loc[few]).mean()
    assert row["difference"] == pytest.approx(expected)
    assert (row["n"], row["headlines"]) == (128, 64)
    for _, part in pairs.groupby("form"):
        assert part["p_adjusted"].to_numpy() == pytest.approx(holm(part["p_value"], 3 * 4))
    table = comparison_table(data)
    assert table is not None
    assert len(table.frame) == 3 * 4


def test_paired_comparison_uses_only_shared_headlines(study: Study) -> None:
    items = study.make_items(headlines=30)
    first = study.systems[0][0]
    drop = items["system"].eq(first) & items["sample_id"].gt("h0019")
    data = data_of(items[~drop], study.make_meta(), resamples=50)
    assert not data.one_set
    pairs = data.pairs
    strict = pairs[pairs["form"].eq("strict")]
    assert set(strict.loc[strict["first"].eq(first), "headlines"]) == {20}
    assert set(strict.loc[~strict["first"].eq(first), "headlines"]) == {30}


def test_invalid_outputs_and_reasons_are_all_counted(study: Study, data: ChapterData) -> None:
    raw = study.make_items()
    invalid = shown(data, "invalid")
    assert invalid is not None
    counts = invalid.frame.set_index("system")
    for system, own in raw.groupby("system"):
        line = counts.loc[str(system)]
        assert line["invalid"] == own["invalid_reason"].notna().sum()
        assert line["valid"] + line["invalid"] == line["asked"] == len(own)
        assert line["directionality_unread"] == own["directionality_invalid"].notna().sum()
        assert line["directionality_missing"] == 0
    reasons = reason_table(data)
    assert reasons is not None
    unread = [f"{c}_invalid" for c in ("forward_compatibility", "directionality")]
    every = raw["invalid_reason"].notna().sum() + raw[unread].notna().to_numpy().sum()
    assert reasons.frame["count"].sum() == every


def test_many_reasons_share_a_line_and_no_count_is_lost(study: Study) -> None:
    items = study.make_items()
    bad = items["invalid_reason"].notna()
    items.loc[bad, "invalid_reason"] = [f"reason {i}" for i in range(bad.sum())]
    table = reason_table(data_of(items, study.make_meta(), resamples=20))
    assert table is not None
    unread = items[["forward_compatibility_invalid", "directionality_invalid"]].notna()
    assert table.frame["count"].sum() == bad.sum() + unread.to_numpy().sum()
    assert len(table.frame) == 10


def test_error_classes_leave_out_what_was_not_computed(data: ChapterData) -> None:
    table = shown(data, "errors")
    assert table is not None
    named = {key for key in keys(table) if not key.endswith("_of_valid")}
    assert named == {"system", "similar_semantics", "fantastical_edit", "fluency_lapse"}


def side_of(data: ChapterData, side: str = "Risk") -> Table:
    """Return the lines of one side of the table of results."""
    table = shown(data, "overall")
    assert table is not None
    return replace(table, frame=table.frame[table.frame["scope"].eq(side)])


@pytest.mark.parametrize(("compatible", "directional"), [(1.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_where_all_verdicts_agree_averages_sides_and_differences_have_intervals(
    study: Study, compatible: float, directional: float
) -> None:
    items = study.make_items(headlines=8, systems=study.systems[:1], scored=False)
    items[["text", "forward_compatibility", "directionality"]] = ("x", compatible, directional)
    items["invalid_reason"] = None
    data = data_of(items, study.make_meta(), resamples=100)
    figures = data.figures[data.figures["category"].isna() & data.figures["form"].eq("valid")]
    bounds = figures.set_index(["measure", "scope"])[["low", "high"]]
    exact = 0.025 ** (1 / 8)  # of eight of eight
    right = round(4 * (compatible + directional))
    low, high = binomtest(right, 8).proportion_ci(0.95, method="exact")
    for scope in ("overall", "risk", "opportunity"):
        assert bounds.loc[("average", scope)].tolist() == pytest.approx([low, high])
    apart = bounds.loc[("directionality", "risk-opportunity")].tolist()
    assert apart == pytest.approx([exact - 1, 1 - exact])


@pytest.fixture(scope="module")
def published(data: ChapterData) -> ChapterData:
    return replace(data, published=True)


class TestPublished:
    def test_perplexity_of_another_model_is_blanked_and_reported(
        self, published: ChapterData
    ) -> None:
        table = side_of(published)
        rows = table.frame[table.frame["source"] == "published"]
        assert len(rows) == 14
        assert rows[["perplexity", "delta_perplexity", "perplexity_median"]].isna().all(axis=None)
        assert any("left blank" in note and "smollm2" in note for note in table.notes)
        claude = rows.set_index("system").loc["Claude 3.5 Haiku"]
        assert claude["directionality_valid"] == pytest.approx(0.8414)

    @pytest.mark.parametrize("name", ["gpt2", "openai-community/gpt2", "/models/gpt2"])
    def test_under_gpt2_the_published_perplexities_stand(
        self, published: ChapterData, study: Study, name: str
    ) -> None:
        data = replace(published, meta=study.make_meta(fluency_model=name))
        table = side_of(data)
        rows = table.frame[table.frame["source"] == "published"]
        assert rows["perplexity"].tolist() == published_table(PAPER, "risk")["perplexity"].tolist()
        assert any("267.98" in note for note in table.notes)

    @pytest.mark.parametrize("name", ["gpt2-xl", "distilgpt2", "embedded/smollm2-135m"])
    def test_models_with_a_like_name_are_not_gpt2(self, name: str) -> None:
        assert not paper_fluency((name,))

    def test_published_rows_stand_apart_as_printed_and_unmarked(
        self, published: ChapterData
    ) -> None:
        table, bare = side_of(published), side_of(replace(published, published=False))
        own, paper = row_groups(table)
        assert (own.published, paper.published) == (False, True)
        assert "Published" in paper.label
        assert "table 14" in paper.label
        assert not any(cell.best for row in paper.rows for cell in row)
        assert own.rows == row_groups(bare)[0].rows
        assert "84.14" in {cell.text for cell in paper.rows[0]}

    def test_sides_and_changes(self, published: ChapterData) -> None:
        rows = one_table(risk_against_opportunity(published)).frame.set_index("system")
        moved = rows.loc["GPT-4o", "directionality_valid"]
        assert moved == pytest.approx(0.5270 - 0.4174)
        rows = one_table(few_shot_change(published)).frame.set_index("model")
        assert rows.loc["GPT-4o", "directionality_valid"] == pytest.approx(-0.0946)
        assert np.isnan(rows.loc["GPT-4o", "perplexity"])


class TestPanel:
    def test_agreement_of_members(self, study: Study) -> None:
        items = study.make_items(headlines=20)
        votes = study.make_panel(items)
        clusters = cluster_labels(items, "sample_id")
        found = agreement(votes, clusters, rng=np.random.default_rng(0), resamples=200)
        assert len(found) == 8
        pairs = found[found["coefficient"] == "Agreement of pairs"]
        part = votes[votes["criterion"] == "directionality"]
        wide = part.pivot(
            index=["system", "draw", "sample_id", "side"], columns="judge", values="passed"
        ).to_numpy()
        both = [
            np.nanmean(
                [a == b for a, b in ((r[0], r[1]), (r[0], r[2]), (r[1], r[2])) if a == a and b == b]
            )
            for r in wide
            if np.isfinite(r).sum() >= 2
        ]
        value = pairs.set_index("criterion").loc["directionality", "estimate"]
        assert value == pytest.approx(np.mean(both))
        _, table = panel_section(data_of(items, study.make_meta(panel=votes), resamples=50)).shows
        assert table is not None
        assert [group.label for group in row_groups(table)] == [
            "Forward-compatibility",
            "Directionality",
        ]

    def test_below_the_fewest_clusters_of_a_task_agreement_has_no_bounds(
        self, study: Study
    ) -> None:
        items = study.make_items(headlines=20)
        data = data_of(items, study.make_meta(panel=study.make_panel(items)), resamples=50)
        for fewest, bounds in ((20, True), (21, False)):
            few = replace(data, spec=replace(data.spec, fewest=fewest))
            panel = panel_section(few).results["panel"]
            assert panel["low"].notna().any() == panel["high"].notna().any() == bounds
            assert panel["method"].eq("no interval: too few headlines").all() != bounds


def test_an_unfinished_run_is_named(data: ChapterData, study: Study) -> None:
    found = warnings(replace(data, meta=study.make_meta(complete=False)))
    assert [one.code for one in found] == ["embedded-system", "unfinished", "not-examined"]
    assert "2026-11-20-northwind" in found[1].text


@pytest.fixture(scope="module")
def with_base(study: Study) -> ChapterData:
    """The second system is nearer to its base than the first; the third writes none."""
    items = study.make_items(headlines=12)
    near = items["system"].map(
        dict(zip([label for label, *_ in study.systems], (0.6, 0.4), strict=False))
    )
    lean = np.where(items["side"].eq("risk"), 0.1, -0.1)
    items = items.assign(
        base=np.where(near.notna(), "What came next", None), base_distance=near + lean
    )
    return data_of(items, study.make_meta(), resamples=200)


def test_distances_from_the_base_are_of_valid_outputs_of_systems_that_write_one(
    with_base: ChapterData, study: Study
) -> None:
    items = with_base.items
    assert items.loc[items["valid"] == 0, "base_distance"].isna().all()
    table = one_table(base_distance(with_base))
    lines = table.frame.set_index("system")
    assert list(lines.index) == [label for label, *_ in study.systems[:2]]
    assert lines["base_distance_valid"].tolist() == pytest.approx([0.6, 0.4])
    for side, means in (("risk", [0.7, 0.5]), ("opportunity", [0.5, 0.3])):
        figures = with_base.overall("base_distance", scope=side)
        assert figures["estimate"].tolist() == pytest.approx(means)
    assert lines["headlines"].tolist() == [12, 12]


def test_distances_are_among_the_tests_of_the_page(with_base: ChapterData, study: Study) -> None:
    items = study.make_items(headlines=12)
    without = data_of(items, study.make_meta(), resamples=200).pairs
    both = with_base.pairs
    apart = both["measure"].eq("base_distance")
    rest, alone = (
        pairs.drop(columns="p_adjusted").reset_index(drop=True) for pairs in (both[~apart], without)
    )
    pd.testing.assert_frame_equal(rest, alone)
    assert (both[~apart]["p_adjusted"].to_numpy() >= without["p_adjusted"].to_numpy()).all()
    (line,) = both[apart].to_dict("records")
    assert line["difference"] == pytest.approx(0.2)
    tests = len(both[["first", "second", "measure"]].drop_duplicates())
    assert line["p_adjusted"] == pytest.approx(min(1.0, line["p_value"] * tests))
    table = comparison_table(with_base)
    assert table is not None
    shown = table.frame.set_index("measure").loc["Edit distance from the base, × 100"]
    assert shown["difference_valid"] == pytest.approx(20)


def test_without_a_base_nothing_is_stated_of_it(data: ChapterData) -> None:
    assert data.items["base_distance"].isna().all()
    assert base_distance(data).shows == [None]
