"""A whole report: its files, its page, and hostile text that stays text."""

import base64
import csv
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.pages import read

from contrafact.family.display import Column, Table
from contrafact.report import build
from contrafact.report.frames import TaskRuns
from contrafact.report.marks import marked_text
from contrafact.report.write import render_json, render_latex, render_markdown, render_table_csv

Study = Any


def build_report(items: pd.DataFrame, meta: Any, out: Path, **options: Any) -> Path:
    return build.build_report([TaskRuns("finforce", items, meta)], out, **options)


@pytest.fixture(scope="module")
def built(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    items = study.make_items()
    meta = study.make_meta(
        embedded_judge=True,
        panel=study.make_panel(items),
        name="run <script>alert(1)</script> \u202e",
        prompt_pack="pack</dd><img src=x>",
    )
    out = tmp_path_factory.mktemp("report")
    return build_report(items, meta, out, with_published=True, resamples=300)


@pytest.fixture(scope="module")
def page(built: Path) -> str:
    return (built / "report.html").read_text(encoding="utf-8")


def test_every_table_and_figure_is_written(built: Path) -> None:
    tables = {path.name for path in (built / "tables").iterdir()}
    names = {
        "overall risk_vs_opportunity few_shot_change by_category paired panel",
        "errors invalid invalid_reasons",
    }
    for name in " ".join(names).split():
        assert {f"{name}.csv", f"{name}.md", f"{name}.tex"} <= tables
    assert (built / "figures" / "risk_vs_opportunity.png").read_bytes().startswith(b"\x89PNG")
    assert (built / "figures" / "few_shot_change.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (built / "figures" / "risk_vs_opportunity.svg").read_bytes()


class TestPage:
    def test_runs_only_its_own_script_and_asks_for_nothing(self, page: str) -> None:
        reader = read(page)
        assert not {"iframe", "object", "embed", "form", "link", "base"} & set(reader.tags)
        (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'; style-src" in page
        for packed in re.findall(r"<script [^>]*>(.*?)</script>", page, re.DOTALL):
            assert re.fullmatch(r"[A-Za-z0-9+/=]+", packed)
        assert len(re.findall("<script", page)) == reader.tags.count("script")
        assert not [name for name, _ in reader.attributes if name.startswith("on")]
        for name, value in reader.attributes:
            if name in ("src", "srcset", "href", "action", "data", "poster"):
                assert (value or "").startswith(("data:image/svg+xml;base64,", "#")), value
        assert "http://" not in page
        assert "https://" not in page
        assert "url(" not in page
        assert "@import" not in page
        policy = dict(reader.attributes)["content"]
        contents = [value for name, value in reader.attributes if name == "content"]
        assert policy
        assert any("default-src 'none'" in (value or "") for value in contents)
        assert not any("unsafe-eval" in (value or "") for value in contents)

    def test_is_well_formed(self, page: str) -> None:
        reader = read(page)
        assert reader.ill == []
        assert reader.open == []

    def test_anchors_lead_somewhere(self, page: str) -> None:
        reader = read(page)
        ids = [value for name, value in reader.attributes if name == "id"]
        assert len(ids) == len(set(ids))
        links = [v for name, v in reader.attributes if name == "href"]
        assert links
        assert {link.removeprefix("#") for link in links if link} <= set(ids)

    def test_hostile_text_is_text(self, page: str, study: Study, tmp_path: Path) -> None:
        texts = study.hostile * 4
        items = study.make_items(headlines=5, systems=study.systems[:1])
        items["text"] = [f"{texts[i % 5]} and more" for i in range(len(items))]
        items["invalid_reason"] = None
        items["category"] = "</tbody><script>alert(2)</script>\u202e{{ 1/0 }}"
        items["system"] = "evil <svg onload=alert(3)> $x_{ \u200b \x00 %s"
        paths = build_report(items, study.make_meta(), tmp_path, resamples=100)
        shown = (paths / "report.html").read_text(encoding="utf-8")
        reader = read(shown)
        assert "svg" not in reader.tags
        kinds = re.findall(r"<script(.*?)>", shown)
        assert [kind for kind in kinds if 'type="text/plain"' not in kind] == [""]
        assert reader.ill == []
        assert reader.open == []
        text = "".join(reader.text)
        assert "evil <svg onload=alert(3)>" in text
        assert "</tbody><script>alert(2)</script>" in text
        assert not re.search(r"[\u202a-\u202e\u2066-\u2069\u200b\u2060\u00ad\x00\x1b]", shown)
        assert "U+202E" in shown
        assert "<script>alert" not in page

    def test_a_judge_that_is_the_embedded_model_is_warned_of(self, page: str) -> None:
        before, _, _ = page.partition('id="results"')
        assert "The judge is the embedded model" in before

    def test_shows_invalid_outputs_and_what_was_run(self, page: str) -> None:
        text = "".join(read(page).text)
        for fact in (
            "no opportunity was written",
            "finforce/generate 41b8a0c3",
            "812,345 in",
            "temperature 0.0",
        ):
            assert fact in text
        assert "Published · FIN-FORCE, table 2" in text

    def test_figures_have_words(self, page: str) -> None:
        images = re.findall(r'<img src="data:[^"]+" alt="([^"]+)"', page)
        assert len(images) == 3
        assert all(len(alt) > 60 for alt in images)
        assert "few-shot" in " ".join(images)


def test_results_hold_every_figure_with_its_interval(built: Path, study: Study) -> None:
    results = json.loads((built / "results.json").read_text(encoding="ascii"))
    figures = pd.DataFrame(results["figures"])
    overall = figures[
        figures["category"].isna()
        & figures["scope"].eq("overall")
        & figures["measure"].eq("directionality")
    ]
    assert len(overall) == 2 * len(study.systems)
    assert {"estimate", "low", "high", "n", "headlines", "draws", "method"} <= set(figures.columns)
    assert results["settings"] == {"seed": 0, "resamples": 300, "level": 0.95}
    assert results["runs"][0]["prompt_pack_hash"] == "9f2c" * 16
    invalid = {row["system"]: row["invalid"] for row in results["invalid"]}
    raw = study.make_items()
    assert sum(invalid.values()) == raw["invalid_reason"].notna().sum()
    assert len(results["few_shot_change"]) == 1
    assert len(results["paired"]) == 21
    assert results["panel"]


def test_the_same_seed_gives_the_same_files(study: Study, tmp_path: Path) -> None:
    items = study.make_items(headlines=12, systems=study.systems[:1], scored=False)

    def files(name: str, seed: int) -> dict[str, bytes]:
        out = tmp_path / name
        build_report(items, study.make_meta(), out, seed=seed, resamples=100)
        found = (path for path in sorted(out.rglob("*")) if path.is_file())
        return {str(path.relative_to(out)): path.read_bytes() for path in found}

    first = files("a", 1)
    assert first == files("b", 1)
    other = files("c", 2)
    assert first.keys() == other.keys()
    assert first["results.json"] != other["results.json"]


def test_nothing_is_written_when_the_page_cannot_be(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object) -> str:
        raise RuntimeError("no page")

    monkeypatch.setattr(build, "render_page", fails)
    items = study.make_items(headlines=6, systems=study.systems[:1], scored=False)
    with pytest.raises(RuntimeError, match="no page"):
        build_report(items, study.make_meta(), tmp_path / "out", resamples=50)
    assert not (tmp_path / "out").exists()


def test_a_run_without_judge_fluency_categories_or_valid_outputs(
    study: Study, tmp_path: Path
) -> None:
    items = study.make_items(headlines=7, judged=False, scored=False, systems=study.systems[:1])
    items["category"] = None
    items["text"] = None
    items["invalid_reason"] = "empty reply"
    meta = study.make_meta(judges=(), fluency_model=None)
    paths = build_report(items, meta, tmp_path, resamples=50, with_published=True)
    text = "".join(read((paths / "report.html").read_text(encoding="utf-8")).text)
    assert "empty reply" in text
    assert "are left out" in text
    assert not list((paths / "figures").iterdir()) if (paths / "figures").exists() else True
    overall = pd.read_csv(paths / "tables" / "overall.csv")
    assert overall["valid"].tolist() == 3 * [0.0]


def test_the_edit_is_marked_and_long_text_is_cut() -> None:
    before = "Ostrel Bank names <a> new chief"
    edit = marked_text(before, "Ostrel Bank loses its chief" + " and waits" * 9_000, 1_200)
    assert "<del>names &lt;a&gt; new</del> <ins>loses its</ins>" in edit
    assert len(edit) < 4_000
    scattered = "A strike closes the port for a week"
    assert marked_text(before, scattered, 1_200) == scattered


class TestWrite:
    def table(self) -> Table:
        frame = pd.DataFrame(
            {
                "system": ["=cmd|' /C calc'!A0", "50% $x_1$ #2 & {a} \\b ~c^ <i>|\u202e"],
                "score": [0.5, 0.25],
                "score_low": [0.4, np.nan],
                "score_high": [0.6, np.nan],
                "score_sd": [0.01, np.nan],
            }
        )
        columns = (
            Column("system", "System", "text"),
            Column("score", "Dir.", "share", "Strict, %", "high"),
        )
        return Table("t_1", "Title & more", "100% of it", columns, frame, ("a_note",))

    def test_csv_has_raw_numbers_and_no_formula(self) -> None:
        rows = list(csv.reader(io.StringIO(render_table_csv(self.table()))))
        assert rows[0] == ["system", "score", "score_low", "score_high", "score_sd"]
        assert rows[1] == ["'=cmd|' /C calc'!A0", "0.5", "0.4", "0.6", "0.01"]
        assert rows[2][0].endswith("‹U+202E›")
        assert rows[2][2:] == ["", "", ""]

    def test_markdown_cells_cannot_break_out(self) -> None:
        text = render_markdown(self.table())
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {3}
        assert "**50.0** (40.0–60.0; sd 1.0)" in text
        assert "<u>" not in text
        assert "<i>" not in text
        assert "\u202e" not in text

    def test_latex_is_escaped_and_marked(self) -> None:
        text = render_latex(self.table(), "rfc-detect")
        assert r"\label{tab:rfc-detect-t-1}" in text
        assert r"50\% \$x\_\allowbreak{}1\$ \#2 \& \{a\} \textbackslash{}b" in text
        assert r"\textasciitilde{}c\textasciicircum{} \textless{}i\textgreater{}" in text
        assert r"\textbf{50.0}" in text
        assert r"\underline" not in text
        assert r"\toprule" in text
        assert r"\cmidrule(lr){2-2}" in text
        bare = re.sub(r"\\\\|\\[{}%$&#_]", "", text)  # a line's end, or an escaped sign
        assert bare.count("{") == bare.count("}")

    def test_json_is_ascii_and_missing_is_null(self) -> None:
        texts = pd.Series(["\ud800\u202e", None], dtype=object)
        frame = pd.DataFrame({"a": [1.5, float("nan")], "b": texts})
        text = render_json({"frame": frame, "inf": float("inf"), "n": np.int64(3)})
        assert text.isascii()
        read_back = json.loads(text)
        assert read_back["frame"][1] == {"a": None, "b": None}
        assert (read_back["inf"], read_back["n"]) == (None, 3)
