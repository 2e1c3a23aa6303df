"""A family that says no more than it must has a whole chapter; a hook of its own adds to it."""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from contrafact.cli.show import show_agreement, show_results
from contrafact.family import Family, Lazy, Task, families
from contrafact.family.display import Column, Table
from contrafact.family.report import (
    Breakdown,
    ChapterData,
    Explorer,
    JudgedColumn,
    Measure,
    Part,
    ReportSpec,
    Section,
)
from contrafact.family.run_facts import ReportMeta, RunFacts
from contrafact.report.build import build_report
from contrafact.report.chapter import Options, chapter_data
from contrafact.report.frames import TaskRuns
from contrafact.stats.intervals import Interval

JUDGE = "tern/judge"
SYSTEMS = (
    ("tern/one · plain", "tern/one", "plain", 0.85),
    ("tern/two · plain", "tern/two", "plain", 0.4),
    ("people", "none/none", "people", 0.95),
)


def per_review(items: pd.DataFrame) -> pd.DataFrame:
    """Return how much the outputs for one review differ: 1 less the share of equal pairs."""
    grouped = items[items["valid"].eq(1)].groupby(["system", "sample_id"], sort=True)["text"]
    share = grouped.agg(lambda texts: texts.nunique() / len(texts))
    return share.rename("diversity").reset_index()


SPEC = ReportSpec(
    title="Reviews rewritten so that their label flips",
    unit=("review", "reviews"),
    output=("rewrite", "rewrites"),
    columns=dict.fromkeys(("judge", "review", "target", "text", "judged_invalid"), str),
    criteria=(JudgedColumn("judged", "Flipped, says the judge"),),
    measures=(
        Measure("judged", "Flipped", judged=True, compared="Flipped, points"),
        Measure("classified", "Classified so", compared="Classified so, points"),
        Measure("distance", "Edits", "coefficient", "low", forms=("valid",), group="Text"),
        Measure(
            "perplexity", "Perplexity", "number", "low", forms=("valid",), group="Text",
            fluency=True, compared="Perplexity",
        ),
        Measure(
            "diversity", "Diversity", "coefficient", forms=("valid",), group="Text",
            units=per_review,
        ),
    ),
    breakdowns=(Breakdown("length", ("judged", "classified")),),
    explorer=Explorer(
        before="review", where=("{sample_id}", "{length}"), facts=(("Asked for", "target"),)
    ),
)  # fmt: skip


def rows(*, reviews: int = 24, draws: int = 2, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    found: list[dict[str, Any]] = []
    for number in range(reviews):
        review = f"The soup <b>was</b> cold \u202e and {{{{ 7*7 }}}} we waited ({number})."
        for system, model, method, right in SYSTEMS:
            for draw in range(1, draws + 1 if method == "plain" else 2):
                ok = rng.random() > 0.1
                unread = bool(rng.random() < 0.1)
                flipped = float(rng.random() < right)
                text = review.replace("cold", "hot" if flipped else "tepid")
                found.append(
                    {
                        "system": system, "model": model, "method": method, "shots": 0,
                        "judge": JUDGE, "draw": draw, "sample_id": f"r{number:02d}",
                        "review": review, "target": "positive",
                        "length": "short" if number % 3 else "long",
                        "text": text if ok else None,
                        "invalid_reason": None if ok else "no <i>rewrite</i>",
                        "judged": flipped if ok and not unread else np.nan,
                        "judged_invalid": "said maybe" if ok and unread else None,
                        "classified": float(rng.random() < right) if ok else np.nan,
                        "distance": rng.random() if ok else np.nan,
                        "perplexity": np.exp(rng.normal(4, 1)) if ok else np.nan,
                    }
                )  # fmt: skip
    return pd.DataFrame(found)


def meta(**given: Any) -> ReportMeta:
    systems = tuple(label for label, *_ in SYSTEMS)
    run = RunFacts(
        name="run", systems=systems, models=("tern/one",), judges=(JUDGE,), fluency_model="gpt2"
    )
    return ReportMeta(runs=(run,), created="2026-11-20T10:10:00Z", **given)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[ReportSpec], None]:
    """Install a family 'flip' of one task, with a spec."""

    def installed(spec: ReportSpec) -> None:
        module: Any = ModuleType("made_up_flip")
        module.SPEC = spec
        monkeypatch.setitem(sys.modules, "made_up_flip", module)
        task = Task("flip", "rewrites", Lazy("made_up_flip:RUN"), Lazy("made_up_flip:SPEC"))
        family = Family("flip", "Flip", "What would flip the label?", (task,))
        known = {**families(), "flip": family}
        monkeypatch.setattr("contrafact.family.families", lambda: known)
        monkeypatch.setattr("contrafact.exams.correct.families", lambda: known)

    installed(SPEC)
    return installed


@pytest.fixture
def built(install: Callable[..., None], tmp_path: Path) -> Path:
    return build_report([TaskRuns("flip", rows(), meta())], tmp_path, resamples=200)


def test_a_spec_of_measures_and_an_example_makes_every_section(built: Path) -> None:
    page = (built / "report.html").read_text(encoding="utf-8")
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    anchors = "results by_length paired errors explorer runs how"
    for anchor in anchors.split():
        assert f'<section id="{anchor}"' in page, anchor
    tables = {path.stem for path in (built / "tables").iterdir()}
    every = "overall by_length paired invalid invalid_reasons"
    assert tables == set(every.split())
    assert {path.stem for path in (built / "figures").iterdir()} == {"overall", "by_length"}
    assert page.count("<script>") == 1
    assert "\u202e" not in page
    assert "&lt;i&gt;rewrite" in page
    assert "has the highest flipped" in page.casefold() or "Without any model, people has" in page
    assert "and 1 without a model" in page


def test_both_forms_are_what_one_counts_by_hand(built: Path) -> None:
    results = json.loads((built / "results.json").read_text(encoding="ascii"))
    assert {"figures", "paired", "judged_rates", "invalid"} <= set(results)
    figures = pd.DataFrame(results["figures"])
    items = rows()
    own = items[items["system"].eq(SYSTEMS[0][0])]

    def figure(measure: str, form: str, length: str | None = None) -> Any:
        held = figures["system"].eq(SYSTEMS[0][0]) & figures["measure"].eq(measure)
        held &= figures["length"].isna() if length is None else figures["length"].eq(length)
        return figures[held & figures["form"].eq(form)].squeeze()

    assert figure("judged", "valid")["estimate"] == pytest.approx(own["judged"].mean())
    strict = own["judged"].fillna(0.0)
    assert figure("judged", "strict")["estimate"] == pytest.approx(strict.mean())
    short = own[own["length"].eq("short")]
    assert figure("classified", "valid", "short")["estimate"] == pytest.approx(
        short["classified"].mean()
    )
    assert figure("classified", "strict")["estimate"] == pytest.approx(
        own["classified"].fillna(0.0).mean()
    )
    assert figure("invalid", "all")["estimate"] == pytest.approx(own["text"].isna().mean())
    bounded = figure("judged", "valid")
    assert bounded["low"] < bounded["estimate"] < bounded["high"]
    assert bounded["reviews"] == 24
    texts = own[own["text"].notna()].groupby("sample_id")["text"]
    expected = texts.agg(lambda one: one.nunique() / len(one)).mean()
    assert figure("diversity", "valid")["estimate"] == pytest.approx(expected)


def test_systems_are_compared_and_those_without_a_model_stand_last(
    built: Path,
) -> None:
    results = json.loads((built / "results.json").read_text(encoding="ascii"))
    pairs = pd.DataFrame(results["paired"])
    assert set(pairs["measure"]) == {"judged", "classified", "perplexity"}
    first = pairs[pairs["measure"].eq("judged") & pairs["form"].eq("valid")].iloc[0]
    assert (first["first"], first["second"]) == (SYSTEMS[0][0], SYSTEMS[1][0])
    assert first["difference"] > 0
    assert first["p_adjusted"] >= first["p_value"]
    overall = pd.read_csv(built / "tables" / "overall.csv")
    assert overall["system"].tolist() == [label for label, *_ in SYSTEMS]
    assert {"judged_valid_low", "classified_strict", "distance", "diversity"} <= set(overall)
    (said,) = [one for one in results["summary"] if one.startswith("Without any model, people has")]
    # Of the systems' verdicts more than a tenth could not be read: bounds lead, and no test.
    assert results["opening"]["codes"][0] == "open"
    assert re.search(r"has \d+\.\d to \d+\.\d%\.$", said)


def test_without_judge_and_fluency_the_chapter_says_so(
    install: Callable[..., None], tmp_path: Path
) -> None:
    items = rows().assign(judge=None, judged=np.nan, judged_invalid=None, perplexity=np.nan)
    run = RunFacts(name="run", models=("tern/one",))
    paths = build_report([TaskRuns("flip", items, ReportMeta(runs=(run,)))], tmp_path, resamples=50)
    overall = (paths / "tables" / "overall.md").read_text(encoding="utf-8")
    assert "No judge was named (--judge), so judged measures are left out." in overall
    assert "Fluency was not scored" in overall
    assert "Flipped" not in overall.split("\n")[4]


@pytest.mark.slow
def test_two_families_share_a_page(
    install: Callable[..., None], study: Any, tmp_path: Path
) -> None:
    small = study.make_items(headlines=2, systems=study.systems[:1], scored=False)
    other = TaskRuns("finforce", small, study.make_meta())
    paths = build_report([TaskRuns("flip", rows(), meta()), other], tmp_path, resamples=50)
    page = (paths / "report.html").read_text(encoding="utf-8")
    first_screen, _, rest = page.partition('<article class="chapter"')
    for part in json.loads((paths / "results.json").read_text())["tasks"].values():
        assert (
            part["opening"]["sentence"] in first_screen and part["opening"]["sentence"] not in rest
        )
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids)) and {"flip-results", "finforce-results"} <= set(ids)
    assert set(re.findall(r' href="#([^"]+)"', page)) <= set(ids)
    assert page.count("<script>") == 1
    assert list(json.loads((paths / "results.json").read_text())["tasks"]) == ["flip", "finforce"]
    assert (paths / "tables" / "flip" / "overall.csv").exists()
    assert (paths / "tables" / "finforce" / "overall.csv").exists()


def longest(data: ChapterData) -> Section:
    frame = data.items.assign(size=data.items["text"].str.len()).groupby("system")["size"].max()
    table = frame.reset_index()
    columns = (Column("system", "System", "text"), Column("size", "Characters", "count"))
    shown = Table("longest", "Longest", "The longest rewrite.", columns, table)
    return Section("longest", "Longest", [shown], results={"longest": table})


def best_of_two(part: Part, form: str) -> Interval | None:
    """A figure of a group of rows that is no mean: the share of reviews flipped by any rewrite."""
    best = part.rows.groupby("sample_id")["judged"].max()
    return part.bootstrap.mean(best, best.index.to_series())


def test_sections_add_tables_results_and_figures_that_are_no_means(
    install: Callable[..., None], tmp_path: Path
) -> None:
    measure = Measure("any", "Any flips", forms=("valid",), group="Text", compute=best_of_two)
    spec = replace(
        SPEC, measures=(*SPEC.measures, measure), sections=("results", longest, "errors")
    )
    install(spec)
    data = chapter_data(TaskRuns("flip", rows(), meta()), Options(resamples=100))
    row = data.overall("any").iloc[0]
    own = data.items[data.items["system"].eq(SYSTEMS[0][0])]
    assert row["estimate"] == pytest.approx(own.groupby("sample_id")["judged"].max().mean())
    assert row["low"] <= row["estimate"] <= row["high"]
    paths = build_report([TaskRuns("flip", rows(), meta())], tmp_path, resamples=50)
    assert "longest" in json.loads((paths / "results.json").read_text())
    assert (paths / "tables" / "longest.csv").exists()
    assert 'id="table-longest"' in (paths / "report.html").read_text()


def test_the_terminal_shows_the_first_measures(
    built: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    show_results(built)
    shown = capsys.readouterr().out
    assert "flip: Reviews rewritten so that their label flips, with 95% intervals" in shown
    assert "Flipped %" in shown
    assert "strict Flipped %" in shown
    assert all(label in shown for label, *_ in SYSTEMS)


def test_the_terminal_announces_no_intervals_that_it_has_not(
    install: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(replace(SPEC, fewest=10_000))
    show_results(build_report([TaskRuns("flip", rows(), meta())], tmp_path, resamples=50))
    assert "so that their label flips\n" in capsys.readouterr().out
    for name, low in (("with", 0.5), ("without", None)):
        agreed = {"criterion": ["x"], "estimate": [0.9], "estimate_low": [low], "n": [9]}
        (tmp_path / name).mkdir()
        pd.DataFrame(agreed).to_csv(tmp_path / name / "agreement.csv")
        show_agreement(tmp_path / name)
        assert ("with 95% intervals" in capsys.readouterr().out) == (name == "with")


def test_the_spec_on_the_page_makes_a_chapter(install: Callable[..., None], tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "report.md"
    (source,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, Any] = {}
    exec(source, found)
    install(found["SPEC"])
    items = rows().rename(columns={"judged": "flipped", "judged_invalid": "flipped_invalid"})
    paths = build_report([TaskRuns("flip", items, meta())], tmp_path, resamples=50)
    overall = pd.read_csv(paths / "tables" / "overall.csv")
    assert {"flipped_valid", "flipped_valid_low", "flipped_strict", "distance"} <= set(overall)
    shown = (paths / "report.html").read_text(encoding="utf-8")
    for anchor in ("results", "by_length", "paired", "errors", "explorer"):
        assert f'<section id="{anchor}"' in shown, anchor
