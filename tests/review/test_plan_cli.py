"""The planner on the command line: plan, label, estimate."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from contrafact.review.export import write_rows


def write_items(path: Path, n: int = 300) -> dict[str, str]:
    """Write items of two systems with a judge's verdicts; return what people would say."""
    source = np.random.default_rng(8)
    truth = {}
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["item_id", "text", "system", "verdict"])
        for at in range(n):
            right = source.random() < (0.9, 0.6)[at % 2]
            judged = right if source.random() < 0.85 else not right
            truth[f"i{at}"] = "pass" if right else "fail"
            system = ("all", "south")[at % 2]
            rows.writerow([f"i{at}", f"Text {at}.", system, "pass" if judged else "fail"])
    return truth


def label(plans: list[Path], truth: dict[str, str], path: Path) -> None:
    rows = [f"{row['item_id']},{truth[row['item_id']]}" for plan in plans for row in read(plan)]
    path.write_text("item_id,label\n" + "\n".join(rows) + "\n")


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(newline="")))


PLAN = ("review", "plan", "items.csv", "--judge", "verdict", "--by", "system")


def test_a_plan_and_its_figures(quick_contrafact, tmp_path):
    truth = write_items(tmp_path / "items.csv")
    first = quick_contrafact(*PLAN, "--hide", "system", "--budget", "140", "--out", "one.csv")
    assert first.returncode == 0, first.stderr
    assert "one.csv: 140 of 300 items to label" in first.stdout
    drawn = read(tmp_path / "one.csv")
    assert len(drawn) == 140
    # Whoever labels does not see what the judge said.
    assert list(drawn[0]) == ["item_id", "text"]
    key = read(tmp_path / "one.key.csv")
    assert len(key) == 300
    assert sum(float(row["probability"]) for row in key) == pytest.approx(140)
    assert {row["item_id"] for row in key if row["drawn"] == "True"} == {
        row["item_id"] for row in drawn
    }

    label([tmp_path / "one.csv"], truth, tmp_path / "labels.csv")
    result = quick_contrafact(
        "review", "estimate", "one.key.csv", "--labels", "labels.csv", "--out", "figures.json"
    )
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "figures.json").read_text())
    share = np.mean([message == "pass" for message in truth.values()])
    assert found["overall"]["low"] <= share <= found["overall"]["high"]
    assert found["overall"]["labels"] == 140
    assert set(found["by_group"]) >= {"all"}
    labels = [line.split()[-1] for line in result.stdout.splitlines() if line.startswith("all ")]
    assert labels == ["140", str(found["by_group"]["all"]["labels"])]  # all, and the group "all"


def test_ids_that_a_spreadsheet_would_run_are_the_same_all_the_way(quick_contrafact, tmp_path):
    said = ["pass", "fail"] * 6
    ids = [f"{'=+-@'[at % 4]}{at}" for at in range(12)]
    items = [
        {"item_id": name, "text": "-5% on the day", "system": "=sys", "verdict": verdict}
        for name, verdict in zip(ids, said, strict=True)
    ]
    write_rows(items, tmp_path / "items.csv")
    quick_contrafact(*PLAN, "--budget", "12", "--out", "one.csv", code=0)
    for file in ("one.csv", "one.key.csv"):
        assert all(row["item_id"].startswith("'") for row in read(tmp_path / file))
    labels = [
        {"item": name, "rater": "=Ann", "rating": verdict}
        for name, verdict in zip(ids, said, strict=True)
    ]
    for form in ("csv", "jsonl"):
        write_rows(labels, tmp_path / f"labels.{form}")
        run = quick_contrafact(
            *("review", "estimate", "one.key.csv", "--labels", f"labels.{form}"),
            *("--out", "figures.json"),
            code=0,
        )
        assert "were not drawn" not in run.stderr
        found = json.loads((tmp_path / "figures.json").read_text())
        assert found["overall"]["labels"] == 12
        assert [*found["by_group"]] == ["=sys"]


def test_the_same_plan_again_changes_nothing_and_another_does_not_take_its_name(
    quick_contrafact, tmp_path
):
    write_items(tmp_path / "items.csv")
    first = quick_contrafact(*PLAN, "--budget", "20", "--out", "plan.csv")
    files = {path: path.read_bytes() for path in tmp_path.glob("plan*")}
    again = quick_contrafact(*PLAN, "--budget", "20", "--out", "plan.csv")
    assert (first.returncode, again.returncode) == (0, 0)
    other = quick_contrafact(*PLAN, "--budget", "20", "--out", "plan.csv", "--seed", "1")
    assert other.returncode == 2
    assert "another plan" in other.stderr
    assert {path: path.read_bytes() for path in tmp_path.glob("plan*")} == files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", "5", "--out", "p.csv"), "items come from a file or from a review"),
        (("items.csv", "--budget", "900", "--out", "p.csv"), "only 300 items can be drawn"),
        (
            ("items.csv", "--budget", "5", "--figure", "residual", "--out", "p.csv"),
            "final items",
        ),
        (("items.csv", "--budget", "5", "--judge", "text", "--out", "p.csv"), "neither a yes"),
        (("gone.csv", "--budget", "5", "--out", "p.csv"), "gone.csv"),
        (("items.csv", "--budget", "5", "--out", "p.txt"), "name the file .csv"),
    ],
)
def test_what_cannot_be_planned_is_reported_in_one_line(
    quick_contrafact, tmp_path, arguments, message
):
    write_items(tmp_path / "items.csv")
    found = quick_contrafact("review", "plan", *arguments)
    assert found.returncode == 2
    assert message in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize(
    "change", [("drawn", "3"), ("probability", "much"), ("probability", "0"), ("figure", "ranking")]
)
def test_a_key_that_was_damaged_is_refused_by_its_line(quick_contrafact, tmp_path, change):
    truth = write_items(tmp_path / "items.csv")
    quick_contrafact(*PLAN, "--budget", "20", "--out", "plan.csv")
    label([tmp_path / "plan.csv"], truth, tmp_path / "labels.csv")
    rows = read(tmp_path / "plan.key.csv")
    rows[4][change[0]] = change[1]
    with (tmp_path / "plan.key.csv").open("w", newline="") as stream:
        out = csv.DictWriter(stream, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    found = quick_contrafact("review", "estimate", "plan.key.csv", "--labels", "labels.csv")
    assert found.returncode == 2
    assert "plan.key.csv:6: this row of the key" in found.stderr
