"""The published rows are what the paper prints; where it disagrees with itself, a note says so."""

import math

import pandas as pd
import pytest

from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.family import published

PAPER = "contrafact.families.rfc"
_HALF_UNIT = 0.0005  # everything is printed with three decimals


def residuals():
    """Recompute every figure that follows from others; the tolerance is what rounding can leave."""
    found = []

    def note(key, printed, computed, tolerance=_HALF_UNIT):
        found.append(
            {
                "key": key,
                "printed": printed,
                "computed": computed,
                "residual": printed - computed,
                "tolerance": tolerance,
            }
        )

    for row in _records("audit"):
        key = f"audit:{row['category']}"
        note(f"{key}:agreement_rate", row["agreement_rate"], row["pass"] / row["sample_size"])
        note(f"{key}:sample_size", row["sample_size"], row["pass"] + row["fail"], 0.0)
    retention = _records("retention")
    for row in retention:
        rate = row["final_retained"] / row["pre_adjudication"]
        note(f"retention:{row['category']}:retention_rate", row["retention_rate"], rate)
    for column in ("pre_adjudication", "final_retained", "hard_cases"):
        total = sum(row[column] for row in retention[:-1])
        note(f"retention:total:{column}", retention[-1][column], total, 0.0)
    for step in ("category", "rewrite"):
        *rows, overall = (row for row in _records("agreement") if row["step"] == step)
        samples = sum(row["samples"] for row in rows)
        note(f"agreement:{step}:overall:samples", overall["samples"], samples, 0.0)
        for column in ("accuracy", "macro_f1", "cohen_kappa", "gwet_ac1"):
            values = [row[column] for row in rows if not math.isnan(row[column])]
            mean = sum(values) / len(values)
            note(f"agreement:{step}:overall:{column}", overall[column], mean, 2 * _HALF_UNIT)
    for row in _records("human"):
        mean = sum(row[name] for name in MANIPULATIONS) / len(MANIPULATIONS)
        note(f"human:{row['annotator']}:{row['task']}", row["overall"], mean)
    for row in _records("detect"):
        # For two classes, MCC is the geometric mean of what macro precision and recall have above
        # one half, doubled.
        precision, recall = 2 * row["precision"] - 1, 2 * row["recall"] - 1
        sign = 1.0 if recall > 0 else -1.0
        computed = sign * abs(precision * recall) ** 0.5
        note(f"detection:{row['model']}:{row['shots']}:macro", row["mcc"], computed, 0.004)
    return pd.DataFrame(found)


def table(name):
    return published.published_table(PAPER, name)


def _records(name):
    return table(name).to_dict("records")


def off(found):
    return set(found.loc[found["residual"].abs() > found["tolerance"] + 1e-9, "key"])


def test_what_follows_from_other_figures_reproduces_or_is_noted():
    found = residuals()
    # 4 x 2 of table 2, 5 + 3 of table 4, 2 x 5 of table 3, 3 of table 7, 33 rows of tables 6a and 9
    assert len(found) == 8 + 8 + 10 + 3 + 33
    noted = set(published.published_notes(PAPER))
    assert off(found) <= noted
    # A note on a figure that does reproduce would be wrong itself.
    assert {key for key in noted if ":" in key} == off(found)


def test_a_single_mistyped_digit_would_be_found(monkeypatch: pytest.MonkeyPatch):
    whole = published._text
    monkeypatch.setattr(
        published, "_text", lambda *named: whole(*named).replace("775,703,20", "775,730,20")
    )
    assert "retention:total:final_retained" in off(residuals())
    assert "retention:numerical:retention_rate" in off(residuals())


def test_the_paper_s_three_disagreements_are_noted():
    shown = " ".join(published.published_notes(PAPER).values())
    for figure in ("1,826", "1,845", "123", "122", "0.715", "0.7125"):
        assert figure in shown


def test_the_invalid_count_of_fmdllama_tells_the_size_of_the_set():
    rows = table("detect").set_index(["model", "shots"])
    assert round(rows.loc[("FMDLlama", 0), "invalid"] / (2 * 1845), 4) == 0.0905


def test_fmdllama_s_macro_figures_are_averages_over_three_classes():
    row = table("detect").set_index(["model", "shots"]).loc[("FMDLlama", 0)]
    precision, recall = (2 * 1.5 * row[name] - 1 for name in ("precision", "recall"))
    assert (precision * recall) ** 0.5 == pytest.approx(row["mcc"], abs=0.004)
    assert 1.5 * row["recall"] == pytest.approx(row["accuracy"], abs=0.002)


def test_the_tables_have_the_paper_s_rows():
    rows = table("detect")
    assert rows.groupby("shots").size().to_dict() == {0: 15, 2: 9, 8: 9}
    assert list(table("diagnose")["model"]) == list(rows["model"][:15])
    assert table("diagnose")["accuracy"].max() == 0.977
    assert len(table("human")) == 3
