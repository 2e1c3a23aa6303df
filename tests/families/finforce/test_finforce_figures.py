"""The figures equal an independent computation in plain pandas; intervals respect headlines."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from contrafact.errors import InputError
from contrafact.families.finforce.report import SPEC
from contrafact.report import estimates
from contrafact.stats.intervals import cluster_bootstrap
from contrafact.stats.replicates import Bootstrap, Sampler, mean_over

Study = Any
SHARES = ("forward_compatibility", "directionality")


def prepare_items(items: pd.DataFrame) -> pd.DataFrame:
    return estimates.prepare_items(items, SPEC)


def estimate_figures(items: pd.DataFrame) -> pd.DataFrame:
    bootstrap = Bootstrap(rng=np.random.default_rng(0), resamples=300)
    return estimates.estimate_figures(items, SPEC, bootstrap)


@pytest.fixture(scope="module")
def items(study: Study) -> pd.DataFrame:
    return prepare_items(study.make_items())


@pytest.fixture(scope="module")
def figures(items: pd.DataFrame) -> pd.DataFrame:
    return estimate_figures(items)


def figure(
    figures: pd.DataFrame, system: str, scope: str, measure: str, **more: str
) -> "pd.Series[Any]":
    """The one figure of all categories together."""
    wanted = {"system": system, "scope": scope, "measure": measure, **more}
    held = figures["category"].isna()
    for column, value in wanted.items():
        held &= figures[column].eq(value)
    assert held.sum() == 1, wanted
    return figures[held].iloc[0]


def by_hand(items: pd.DataFrame, system: str, measure: str, form: str) -> dict[str, float]:
    """Mean over draws of the side's mean, then the mean of the sides, straight from the frame."""
    own = items[items["system"] == system]
    sides: dict[str, list[float]] = {"risk": [], "opportunity": []}
    for draw in sorted(own["draw"].unique()):
        for side in sides:
            part = own[(own["draw"] == draw) & (own["side"] == side)]
            values = []
            for _, row in part.iterrows():
                value = row[measure]
                unread = pd.notna(row.get(f"{measure}_invalid"))
                if form == "strict" and (row["invalid_reason"] is not None or unread):
                    value = 0.0 if pd.isna(value) else value
                if not pd.isna(value):
                    values.append(float(value))
            sides[side].append(sum(values) / len(values))
    means = {side: float(np.mean(values)) for side, values in sides.items()}
    return means | {
        "overall": (means["risk"] + means["opportunity"]) / 2,
        "risk-opportunity": means["risk"] - means["opportunity"],
    }


@pytest.mark.parametrize("form", ["valid", "strict"])
@pytest.mark.parametrize("measure", SHARES)
def test_judged_scores_in_both_forms(
    study: Study, figures: pd.DataFrame, measure: str, form: str
) -> None:
    raw = study.make_items()
    for system, *_ in study.systems:
        expected = by_hand(raw, system, measure, form)
        for scope, value in expected.items():
            row = figure(figures, system, scope, measure, form=form)
            assert row["estimate"] == pytest.approx(value, abs=1e-12)


def test_average_and_delta_are_the_papers(items: pd.DataFrame, figures: pd.DataFrame) -> None:
    for system, own in items.groupby("system"):
        for scope in ("overall", "risk", "opportunity"):

            def at(measure: str, system: Any = system, scope: str = scope) -> Any:
                return figure(figures, system, scope, measure, form="valid")["estimate"]

            parts = [at(measure) for measure in SHARES]
            average = at("average")
            assert average == pytest.approx(sum(parts) / 2, abs=1e-12)
            headlines = own.drop_duplicates("sample_id")["headline_perplexity"].mean()
            expected = at("perplexity") - headlines
            assert at("delta_perplexity") == pytest.approx(expected, abs=1e-9)
    median = figure(figures, "northwind/large-2 · zero-shot", "risk", "perplexity_median")
    part = items[(items["system"] == median["system"]) & (items["side"] == "risk")]
    assert median["estimate"] == pytest.approx(part["perplexity"].median())


def test_a_draw_is_averaged_and_is_not_a_cluster(
    items: pd.DataFrame, figures: pd.DataFrame
) -> None:
    few = "northwind/large-2 · few-shot (4)"
    row = figure(figures, few, "risk", "directionality", form="valid")
    part = items[(items["system"] == few) & (items["side"] == "risk")]
    by_draw = part.groupby("draw")["directionality"].mean()
    assert (row["draws"], row["headlines"]) == (5, 64)
    assert row["n"] == part["directionality"].notna().sum()
    assert row["sd_over_draws"] == pytest.approx(by_draw.std(ddof=1))
    single = figures[figures["draws"] == 1]
    assert single["sd_over_draws"].isna().all()


def test_one_mean_has_the_interval_of_the_statistics_package(items: pd.DataFrame) -> None:
    part = items[(items["system"] == items["system"].iloc[0]) & (items["side"] == "risk")]
    part = part[part["directionality"].notna()]
    values, labels = part["directionality"].to_numpy(float), part["sample_id"].to_numpy(object)
    values = values + np.arange(len(values)) / 100  # no share, whose bounds need no resamples
    sampler = Sampler(labels, rng=np.random.default_rng(1), resamples=20_000)
    (replicates,) = sampler.means([(values, labels)])
    ours = sampler.interval(replicates, n=len(values), clusters=len(set(labels)))
    theirs = cluster_bootstrap(values, labels, resamples=20_000, rng=np.random.default_rng(2))
    assert ours.estimate == pytest.approx(theirs.estimate)
    assert ours.low == pytest.approx(theirs.low, abs=0.01)
    assert ours.high == pytest.approx(theirs.high, abs=0.01)


def test_a_draw_without_values_is_left_out_of_the_mean() -> None:
    first, second = np.array([1.0, np.nan]), np.array([3.0, 5.0])
    assert mean_over([first, second]).tolist() == [2.0, 5.0]


def test_a_side_without_valid_outputs_has_no_overall_figure_in_the_valid_form(
    study: Study,
) -> None:
    items = study.make_items(headlines=12, systems=study.systems[:1])
    dead = items["side"].eq("opportunity")
    items.loc[dead, "text"] = None
    items.loc[dead, "invalid_reason"] = "no opportunity was written"
    found = estimate_figures(prepare_items(items))
    whole = found[found["category"].isna() & found["measure"].eq("directionality")]
    assert set(whole.loc[whole["form"] == "valid", "scope"]) == {"risk"}
    strict = whole[whole["form"] == "strict"].set_index("scope")["estimate"]
    assert strict["opportunity"] == 0.0
    assert strict["overall"] == pytest.approx(strict["risk"] / 2)


def test_the_order_of_rows_does_not_matter(study: Study, figures: pd.DataFrame) -> None:
    items = study.make_items()
    parts = [part.sample(frac=1, random_state=3) for _, part in items.groupby("system", sort=False)]
    again = estimate_figures(prepare_items(pd.concat(parts)))
    pd.testing.assert_frame_equal(again, figures, check_exact=False, rtol=1e-9)


def test_what_cannot_be_prepared_is_refused(study: Study) -> None:
    items = study.make_items(headlines=4)
    with pytest.raises(InputError, match=r"two rows for one counterfactual.*each run once"):
        prepare_items(pd.concat([items, items]))
    with pytest.raises(InputError, match="finish the run first"):
        prepare_items(items.iloc[:0])
    with pytest.raises(ValueError, match="lacks headline"):
        prepare_items(items.drop(columns="headline"))


def test_two_judges_of_one_system_are_never_pooled(study: Study) -> None:
    items = study.make_items(headlines=6, systems=study.systems[:1])
    second = items.assign(judge="moor/judge")
    frame = prepare_items(pd.concat([items, second]))
    label = study.systems[0][0]
    assert set(frame["system"]) == {
        f"{label} · judged by {study.judge}",
        f"{label} · judged by moor/judge",
    }


def test_strict_needs_a_judge(study: Study) -> None:
    frame = prepare_items(study.make_items(judged=False))
    assert frame["directionality_strict"].isna().all()
    assert not frame["was_judged"].any()


def test_an_item_that_was_never_judged_counts_in_neither_form(study: Study) -> None:
    items = study.make_items(headlines=8, systems=study.systems[:1])
    row = items.index[items["directionality"].notna()][0]
    items.loc[row, ["directionality", "directionality_invalid"]] = [np.nan, None]
    frame = prepare_items(items)
    assert np.isnan(frame.loc[row, "directionality_strict"])


def test_fixture_has_what_the_tests_need(study: Study) -> None:
    items = study.make_items()
    assert items["invalid_reason"].notna().sum() > 3
    assert items["directionality_invalid"].notna().sum() > 3
    assert (items["perplexity"].isna() & items["text"].notna()).sum() > 3
