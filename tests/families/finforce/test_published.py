"""The published rows are what the paper prints: its derived columns follow from the others."""

from functools import partial

import pandas as pd
import pytest

from contrafact.families.finforce.published import PAPER
from contrafact.family import published
from contrafact.family.published import published_facts, published_table

SCOPES = ("overall", "risk", "opportunity")
COLUMNS = (
    *("perplexity", "delta_perplexity", "forward_compatibility", "directionality", "average"),
)
HALF_UNIT = 0.005  # everything is printed with two decimals
table = partial(published_table, PAPER)


def residuals() -> tuple[int, pd.DataFrame]:
    """Recompute every derived figure; return how many, and those further off than by rounding."""
    facts = published_facts(PAPER)
    tables = {scope: table(scope).set_index("system") for scope in SCOPES}
    found: list[tuple[str, str, float, float, int]] = []  # at last: from how many rounded figures
    for scope, rows in tables.items():
        for system, line in rows.iterrows():
            delta = float(line["perplexity"]) - facts["headline_perplexity"]
            found.append((scope, str(system), line["delta_perplexity"], delta, 2))
            mean = (float(line["forward_compatibility"]) + float(line["directionality"])) / 2
            found.append((scope, str(system), line["average"], mean, 1))
    for column in COLUMNS:
        sides = (tables["risk"][column] + tables["opportunity"][column]) / 2
        for system, both in sides.items():
            printed = float(tables["overall"][column].loc[str(system)])
            found.append(("overall", str(system), printed, float(both), 1))
    by_method = table("overall").set_index(["model", "method"])
    for _, line in table("changes").iterrows():
        few, zero = (by_method.loc[(line["model"], m)] for m in ("few-shot", "zero-shot"))
        for column in ("perplexity", "forward_compatibility", "directionality"):
            moved = float(few[column]) - float(zero[column])
            found.append(("changes", str(line["model"]), line[column], moved, 2))
    frame = pd.DataFrame(found, columns=["where", "row", "printed", "computed", "inputs"])
    frame["where"] = frame["where"].map(facts["tables"])
    apart = (frame["printed"] - frame["computed"]).abs()
    return len(frame), frame[apart > HALF_UNIT * (1 + frame["inputs"]) + 1e-9]


def test_every_derived_figure_reproduces_within_the_printed_rounding() -> None:
    number, off = residuals()
    # 3 tables x 14 rows x (Δ, average), 14 rows x 5 columns of table 2, 5 models x 3 in figure 3
    assert number == 3 * 14 * 2 + 14 * 5 + 5 * 3
    assert off.empty, off.to_string()


def test_a_single_mistyped_digit_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = published._text

    def mistyped(package: str, name: str) -> str:
        text = whole(package, name)
        return text.replace("84.14", "84.41") if name == "risk.csv" else text

    monkeypatch.setattr(published, "_text", mistyped)
    _, off = residuals()
    assert {(row["where"], row["row"]) for _, row in off.iterrows()} == {
        ("table 14", "Claude 3.5 Haiku"),
        ("table 2", "Claude 3.5 Haiku"),
    }


@pytest.mark.parametrize("scope", ["overall", "risk", "opportunity"])
def test_the_three_tables_have_the_same_rows_in_the_same_order(scope: str) -> None:
    rows = table(scope)
    assert list(rows["system"]) == list(table("overall")["system"])
    assert len(rows) == 14
    assert rows["system"].is_unique
    assert rows[["forward_compatibility", "directionality", "average"]].max().max() <= 100


def test_the_rankings_the_paper_marks_follow_from_the_rows() -> None:
    """Bold and underlined cells of tables 2, 14 and 15, as (best, second) per column."""
    marked = {
        "overall": {
            "perplexity": ("LM-Counterfactuals", "SRLM"),
            "forward_compatibility": ("GPT-4o FS", "Claude 3.5 Haiku FS"),
            "directionality": ("SRLM", "Claude 3.5 Haiku"),
            "average": ("LM-Counterfactuals", "SRLM"),
        },
        "risk": {
            "perplexity": ("LM-Counterfactuals", "SRLM"),
            "forward_compatibility": ("GPT-4o FS", "Qwen 2.5 72B FS"),
            "directionality": ("Claude 3.5 Haiku", "SRLM"),
            "average": ("LM-Counterfactuals", "Gemini 2.0 Flash FS"),
        },
        "opportunity": {
            "perplexity": ("LM-Counterfactuals", "SRLM"),
            "forward_compatibility": ("Claude 3.5 Haiku FS", "GPT-4o FS"),
            "directionality": ("SRLM", "Claude 3.5 Haiku"),
            "average": ("SRLM", "Claude 3.5 Haiku"),
        },
    }
    for scope, columns in marked.items():
        rows = table(scope)
        for column, expected in columns.items():
            ordered = rows.sort_values(column, ascending=column == "perplexity")["system"]
            assert tuple(ordered.iloc[:2]) == expected, (scope, column)


def test_facts_and_changes_are_the_papers() -> None:
    facts = published_facts(PAPER)
    assert (facts["headlines"], facts["headline_perplexity"]) == (1368, 267.98)
    assert facts["study_agreement"] == {"forward_compatibility": 89.6, "directionality": 81.4}
    changes = table("changes")
    assert (changes["perplexity"] < 0).all()
    assert (changes["forward_compatibility"] > 0).all()
    assert (changes["directionality"] < 0).all()
