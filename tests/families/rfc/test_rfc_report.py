"""The chapters of rfc-detect and rfc-diagnose: figures counted by hand, marks, words."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.report.test_explorer import unpack, value_of

from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.families.rfc.report import DETECT, DIAGNOSE
from contrafact.families.rfc.report_figures import (
    by_shots,
    confusion,
    confusion_frame,
    pair_frame,
    pairwise,
    surface,
    surface_figures,
)
from contrafact.family.display import GridChart, Table
from contrafact.family.report import ChapterData
from contrafact.family.run_facts import ReportMeta, RunFacts
from contrafact.report.build import build_report
from contrafact.report.chapter import Options, chapter_data, sections_of
from contrafact.report.explorer import pack_items
from contrafact.report.frames import TaskRuns
from contrafact.report.summary import summarise
from contrafact.report.words import warnings

HOSTILE = "Tarn Rail <script>alert(1)</script> \u202e cuts {{ 7*7 }} its outlook"
ALWAYS, FAIR, SURFACE = "tern/one · plain", "tern/two · plain (2)", "baseline · surface"


def overall_of(data: ChapterData) -> Table:
    shows = [one for section in sections_of(data) for one in section.shows]
    return next(one for one in shows if isinstance(one, Table) and one.key == "overall")


def rows(task: str, *, pairs: int = 24, seed: int = 3) -> pd.DataFrame:
    """A system that always says the same, one that knows something, and a baseline."""
    rng = np.random.default_rng(seed)
    found: list[dict[str, Any]] = []
    for i in range(pairs):
        kind = MANIPULATIONS[i % 4]
        original = f"{HOSTILE} ({i}) and sales rose 5%"
        rewritten = f"{HOSTILE} ({i}) and sales rose 15%"
        golds = ("true", "false") if task == "rfc-detect" else (kind,)
        labels = ("true", "false") if task == "rfc-detect" else MANIPULATIONS
        for gold in golds:
            for system, model, method, shots in (
                (ALWAYS, "tern/one", "plain", 0),
                (FAIR, "tern/two", "plain", 2),
                ("tern/two · plain", "tern/two", "plain", 0),
                (SURFACE, "none/none", "surface", 0),
            ):
                predicted: str | None = labels[0]
                if system != ALWAYS:
                    predicted = gold if rng.random() < 0.7 else str(rng.choice(labels))
                    predicted = None if rng.random() < 0.1 and model != "none/none" else predicted
                found.append(
                    {
                        "task": task,
                        "system": system,
                        "model": model,
                        "method": method,
                        "shots": shots,
                        "draw": 1,
                        "sample_id": f"p{i:03d}-{gold}",
                        "pair_id": f"p{i:03d}",
                        "article_id": f"n{i // 2:03d}",
                        "manipulation": kind,
                        "gold": gold,
                        "predicted": predicted,
                        "invalid_reason": None if predicted else "no label <b>",
                        "p_true": 0.6 if predicted == "true" else 0.3,
                        "rationale": None,
                        "original": original,
                        "rewritten": rewritten,
                        "shown": {"true": original, "false": rewritten}.get(gold),
                        "reply": predicted or "who <i>knows</i>",
                        "category": None,
                        "ticker": None,
                        "date": None,
                    }
                )
    return pd.DataFrame(found)


def meta() -> ReportMeta:
    run = RunFacts(name="run <one>", models=("tern/one",), methods=("plain",), data="pairs.jsonl")
    return ReportMeta(runs=(run,), created="2026-11-20T10:10:00Z")


def data_of(frame: pd.DataFrame, task: str, resamples: int = 200) -> ChapterData:
    return chapter_data(TaskRuns(task, frame, meta()), Options(resamples=resamples))


def warnings_for(data: ChapterData) -> dict[str, str]:
    own = (warning for section in sections_of(data) for warning in section.warnings)
    return {one.code: one.text for one in (*warnings(data), *own)}


@cache
def estimated(task: str) -> ChapterData:
    return data_of(rows(task), task)


def value(
    figures: pd.DataFrame, system: str, measure: str, form: str, kind: object = None
) -> float:
    part = figures[
        figures["system"].eq(system) & figures["measure"].eq(measure) & figures["form"].eq(form)
    ]
    part = part[part["manipulation"].isna() if kind is None else part["manipulation"].eq(kind)]
    return float(part["estimate"].item())


def test_a_system_that_always_says_the_same_is_half_right_and_never_on_a_pair() -> None:
    data = estimated("rfc-detect")
    figures = data.figures
    assert value(figures, ALWAYS, "accuracy", "valid") == 0.5
    (line,) = data.overall("accuracy").query("system == @ALWAYS").to_dict("records")
    assert line["low"] < 0.5 < line["high"], "one of each pair is right in every resample"
    assert value(figures, ALWAYS, "pairwise_accuracy", "valid") == 0.0
    assert value(figures, ALWAYS, "says_true", "valid") == 1.0
    (table,) = (one for one in pairwise(data).shows if isinstance(one, Table))
    chance = table.frame.set_index("system")
    keys = [column.key for column in table.columns]
    for kind in MANIPULATIONS:
        assert keys[keys.index(kind) + 1] == f"{kind}_of" and set(chance[f"{kind}_of"]) == {6}
    assert chance.loc[ALWAYS, "by_chance"] == 0.0
    share = value(figures, FAIR, "says_true", "valid")
    assert chance.loc[FAIR, "by_chance"] == pytest.approx(share * (1 - share))
    text = warnings_for(data)["system-says-one"]
    assert ALWAYS in text and "true 100.0%" in text
    assert FAIR not in text


def test_valid_and_strict_forms_are_what_counting_gives() -> None:
    data = estimated("rfc-detect")
    items, figures = data.items, data.figures
    own = items[items["system"].eq(FAIR)]
    right = own["predicted"].eq(own["gold"])
    valid = own["predicted"].notna()
    assert value(figures, FAIR, "accuracy", "valid") == pytest.approx(right[valid].mean())
    assert value(figures, FAIR, "accuracy", "strict") == pytest.approx(right.mean())
    both = [part for _, part in own.groupby("pair_id")]
    all_right = [bool(part["right_strict"].all()) for part in both]
    whole = [bool(part["predicted"].notna().all()) for part in both]
    assert value(figures, FAIR, "pairwise_accuracy", "strict") == pytest.approx(np.mean(all_right))
    assert value(figures, FAIR, "pairwise_accuracy", "valid") == pytest.approx(
        sum(all_right) / sum(whole)
    )


def test_one_class_of_diagnosis_is_what_scikit_learn_gives() -> None:
    from sklearn.metrics import precision_recall_fscore_support

    data = estimated("rfc-diagnose")
    items, figures = data.items, data.figures
    own = items[items["system"].eq(FAIR) & items["predicted"].notna()]
    for kind in MANIPULATIONS:
        expected = precision_recall_fscore_support(
            own["gold"].tolist(), own["predicted"].tolist(), labels=[kind], average=None
        )
        for measure, number in zip(("precision", "recall", "f1"), expected[:3], strict=True):
            assert value(figures, FAIR, measure, "valid", kind) == pytest.approx(number[0]), measure


def test_pairs_with_one_member_only_have_no_pairwise_accuracy() -> None:
    half = rows("rfc-detect")
    data = data_of(half[half["gold"].eq("false")], "rfc-detect", 50)
    assert pair_frame(data.items).empty
    assert "pairwise_accuracy" not in set(data.figures["measure"])
    assert "no-originals" in warnings_for(data)


def test_surface_and_the_median_of_the_models_are_resampled_together() -> None:
    data = estimated("rfc-diagnose")
    items, figures = data.items, data.figures
    found = surface_figures(items, "rfc-diagnose", rng=np.random.default_rng(0), resamples=300)
    of = found.set_index(["what", "measure"])["estimate"]
    asked = [s for s in data.systems if s != SURFACE]
    expected = np.median([value(figures, s, "f1", "valid") for s in asked])
    assert of["median of the models", "f1"] == pytest.approx(expected)
    assert of[SURFACE, "accuracy"] == pytest.approx(value(figures, SURFACE, "accuracy", "valid"))
    assert of["difference", "f1"] == pytest.approx(expected - of[SURFACE, "f1"])
    alone = items[items["baseline"]]
    assert surface_figures(alone, "rfc-diagnose", rng=np.random.default_rng(0)).empty


@pytest.mark.parametrize("task", ["rfc-detect", "rfc-diagnose"])
def test_a_figure_that_two_tables_show_has_its_interval_in_one(task: Any) -> None:
    every = rows(task)
    for models in ({ALWAYS, FAIR, SURFACE}, {FAIR, SURFACE}):
        data = data_of(every[every["system"].isin(models)], task)
        (table,) = surface(task, data).shows
        lines = table.frame.set_index("system")
        bounded = {(at, name) for name in ("accuracy", "f1") for at in lines.index
                   if np.isfinite(lines.loc[at, f"{name}_low"])}  # fmt: skip
        median = {("median of the models (2)", name) for name in ("accuracy", "f1")}
        if len(models) == 3:
            assert bounded == median | {("median minus baseline", name) for _, name in median}
        else:
            assert bounded == {("the model minus baseline", "f1")}
        assert SURFACE in lines.index and "published" not in dict(data.spec.how)["The task"]


def test_one_test_is_adjusted_for_no_other() -> None:
    for task, tests in (("rfc-diagnose", 1), ("rfc-detect", 2)):
        every = rows(task)
        data = data_of(every[every["system"].isin({FAIR, SURFACE})], task)
        assert len(data.pairs[["first", "measure"]].drop_duplicates()) == tests
        (said,) = [one.text for one in summarise(data).more if one.code.startswith("baseline")]
        assert "p = " in said and ("Holm" in said) == (tests > 1)


def test_the_area_of_diagnosis_is_the_mean_over_manipulations_and_each_ones_own() -> None:
    from sklearn.metrics import roc_auc_score

    noise = np.random.default_rng(5)
    frame = rows("rfc-diagnose")
    scores = noise.dirichlet(np.ones(4), size=len(frame))
    with_scores = frame.assign(
        **{f"p_{kind}": scores[:, i] for i, kind in enumerate(MANIPULATIONS)}
    )
    data = data_of(with_scores, "rfc-diagnose")
    items, figures = data.items, data.figures
    own = items[items["system"].eq(FAIR) & items["predicted"].notna()]
    areas = {kind: roc_auc_score(own["gold"].eq(kind), own[f"p_{kind}"]) for kind in MANIPULATIONS}
    for kind, area in areas.items():
        assert value(figures, FAIR, "auroc", "valid", kind) == pytest.approx(area)
    mean = value(figures, FAIR, "auroc", "valid")
    assert mean == pytest.approx(np.mean(list(areas.values())))
    whole = figures[figures["measure"].eq("auroc") & figures["manipulation"].isna()]
    assert (whole["low"] < whole["estimate"]).all()
    assert (whole["estimate"] < whole["high"]).all()
    assert whole["articles"].eq(12).all()
    shown = overall_of(data)
    assert "averaged over the manipulations" in shown.caption
    assert shown.frame.set_index("system")["auroc_valid"][FAIR] == pytest.approx(mean)
    # Tables of runs without probabilities, and older ones without the columns, have no such figure.
    assert "auroc" not in set(estimated("rfc-diagnose").figures["measure"])


def test_the_explorer_shows_the_paragraph_that_the_model_saw() -> None:
    data = data_of(rows("rfc-detect", pairs=4), "rfc-detect", 20)
    index = unpack(pack_items(data, None).index)
    for place, (_, row) in enumerate(data.items.iterrows()):
        text, before = (value_of(index[name], place) for name in ("text", "before"))
        assert text == row["shown"]
        assert (text == before) == (row["gold"] == "true"), "an original has no marks"
    diagnosed = data_of(rows("rfc-diagnose", pairs=4), "rfc-diagnose", 20)
    index = unpack(pack_items(diagnosed, None).index)
    assert value_of(index["text"], 0) == diagnosed.items["rewritten"].iloc[0]


@pytest.mark.parametrize(("task", "share"), [("rfc-detect", "50.0%"), ("rfc-diagnose", "25.0%")])
def test_without_a_baseline_it_says_what_one_answer_would_have(task: Any, share: str) -> None:
    alone = data_of(rows(task).query("system == @FAIR"), task, 50)
    summary = summarise(alone)
    (said,) = [one.text for one in summary.more if one.code == "chance"]
    assert said == f"Giving the same answer to every item would be right in {share} of cases."
    assert summary.next.code == "second-system"
    assert summary.next.text.endswith("without a model: --method majority or surface.")
    assert "chance" not in {one.code for one in summarise(estimated(task)).more}


def test_a_confusion_matrix_loses_no_answer() -> None:
    data = estimated("rfc-diagnose")
    counted = confusion_frame(data, "rfc-diagnose")
    assert counted[[*MANIPULATIONS, "invalid"]].to_numpy().sum() == len(data.items)


@pytest.mark.parametrize("draws", [1, 2])
def test_a_confusion_matrix_speaks_of_draws_where_there_are_several(draws: int) -> None:
    frame = rows("rfc-detect", pairs=4)
    frame = pd.concat([frame.assign(draw=draw) for draw in range(1, draws + 1)])
    shows = confusion("rfc-detect", data_of(frame, "rfc-detect", 20)).shows
    assert ["all draws" in one.caption for one in shows] == [draws > 1] * 2


def test_a_label_of_another_task_is_the_callers_mistake() -> None:
    frame = rows("rfc-detect", pairs=2).assign(gold="causal")
    with pytest.raises(ValueError, match="'causal' is not a label of rfc-detect"):
        data_of(frame, "rfc-detect")
    assert DETECT.unit == DIAGNOSE.unit == ("pair", "pairs")


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two tasks on one page."""
    out = tmp_path_factory.mktemp("together")
    tasks = [
        TaskRuns("rfc-detect", rows("rfc-detect"), meta()),
        TaskRuns("rfc-diagnose", rows("rfc-diagnose"), meta()),
    ]
    build_report(tasks, out, with_published=True, resamples=100)
    return out


def test_published_rows_stand_apart_with_their_disagreements(together: Path) -> None:
    page = (together / "report.html").read_text(encoding="utf-8")
    assert 'id="rfc-detect-pairwise"' in page and 'id="rfc-diagnose-confusion"' in page
    assert "no label &lt;b&gt;" in page
    for name in ("accuracy", "confusion", "shots"):
        assert (together / "figures" / "rfc-detect" / f"{name}.svg").exists(), name
    overall = pd.read_csv(together / "tables" / "rfc-detect" / "overall.csv")
    published = overall[overall["source"].eq("published")].set_index("system")
    assert published.loc["GPT-4.1", "accuracy_valid"] == 0.527
    assert published.loc["GPT-4.1 · 2 shots", "accuracy_valid"] == 0.584
    assert published["accuracy_strict"].isna().all()
    text = (together / "tables" / "rfc-detect" / "overall.md").read_text(encoding="utf-8")
    assert "0.7125" in text
    assert "1,845" in text
    shots = pd.read_csv(together / "tables" / "rfc-detect" / "shots.csv")
    assert {"valid_0", "valid_2"} <= set(shots.columns)
    assert "GPT-4.1" in set(shots["system"])


def test_paired_comparisons_of_detection_are_by_item_and_by_pair(together: Path) -> None:
    results = json.loads((together / "results.json").read_text(encoding="ascii"))
    pairs = pd.DataFrame(results["tasks"]["rfc-detect"]["paired"])
    assert set(pairs["measure"]) == {"accuracy", "pairwise_accuracy"}
    strict = pairs[pairs["form"].eq("strict") & pairs["first"].eq(ALWAYS)]
    assert set(strict.loc[strict["measure"].eq("accuracy"), "n"]) == {48}
    assert set(strict.loc[strict["measure"].eq("pairwise_accuracy"), "n"]) == {24}
    assert set(strict["articles"]) == {12}


def without_valid_output(task: str) -> pd.DataFrame:
    """Rows with one more run of one of the models, in which not one reply is a label."""
    frame = rows(task)
    silent = frame[frame["system"].eq(FAIR)].assign(
        system="tern/two · plain (8)",
        shots=8,
        predicted=None,
        invalid_reason="no label",
        p_true=None,
    )
    return pd.concat([frame, silent], ignore_index=True)


@pytest.mark.parametrize("task", ["rfc-detect", "rfc-diagnose"])
def test_a_run_without_valid_output_leaves_its_places_empty(task: Any) -> None:
    data = data_of(without_valid_output(task), task)
    chart, table = by_shots(data).shows
    assert isinstance(table, Table) and isinstance(chart, GridChart)
    line = table.frame.iloc[0]
    assert pd.isna(line["valid_8"]) and line["strict_8"] == 0 and line["valid_2"] > 0
    assert {"valid_8", "strict_8"} <= {column.key for column in table.columns}
    assert chart.series == ["0 shots", "2 shots", "8 shots"]
    found = surface_figures(data.items, task, rng=np.random.default_rng(1), resamples=50)
    median = found[found["what"].eq("median of the models")]
    assert median["estimate"].notna().all() and set(median["models"]) == {3}


def test_tables_keep_their_columns_where_no_system_has_a_valid_output() -> None:
    frame = without_valid_output("rfc-detect")
    only = frame[frame["system"].eq("tern/two · plain (8)")]
    data = data_of(only, "rfc-detect")
    overall = overall_of(data)
    assert {"accuracy_valid", "accuracy_strict", "f1_valid"} <= set(overall.raw.columns)
