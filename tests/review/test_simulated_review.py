"""A whole review of rewrites by five simulated people in the studio's pages, over HTTP."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reviewers

from contrafact.review.store.store import Store


def bundled_pairs(path: Path) -> dict[str, str]:
    """Write the bundled pairs; return their rewritten texts by id."""
    from importlib.resources import files

    text = (
        files("contrafact.families.rfc").joinpath("samples/pairs.jsonl").read_text(encoding="utf-8")
    )
    path.write_text(text, encoding="utf-8")
    return {row["id"]: row["rewritten"] for row in map(json.loads, text.splitlines())}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def printed_rows(text: str) -> set[tuple[str, ...]]:
    """Return the rows of the tables that a command printed, as cells."""
    return {tuple(re.split(r" {2,}", line.strip())) for line in text.splitlines()}


@pytest.mark.slow
def test_a_review_from_import_to_the_finalized_set(quick_contrafact, served, tmp_path):
    pairs = bundled_pairs(tmp_path / "pairs.jsonl")
    rng = np.random.default_rng(12)
    world = reviewers.world_of(pairs, flawed=0.3, rng=rng)
    team = reviewers.five_people(seed=5)
    running = served(Store(str(tmp_path / "review.db"), seed=3))
    manager = reviewers.Browser(running.base)
    link = running.studio.invite_link("manager", running.base, by="command line", manager=True)
    manager.join(link, "the manager's own long password")
    links = reviewers.open_review(
        manager, "pairs", "rfc-rewrite", tmp_path / "pairs.jsonl", {p.name: p.roles for p in team}
    )
    for one in team:
        one.browser = reviewers.Browser(running.base)
        one.browser.join(links[one.name], f"a long password for {one.name}")
    decided = reviewers.review_all(team, "pairs", world, rng)
    # Whoever comes back finds that nothing is left.
    assert team[0].browser.get("/r/pairs/work").heading == "All done"
    page = manager.get("/manage/r/pairs/figures")
    for what in ("decisions", "items", "history", "ratings"):
        query = "?stage=annotation" if what == "ratings" else ""
        manager.save(f"/manage/r/pairs/export/{what}.jsonl{query}", tmp_path / f"{what}.jsonl")
    for one in (manager, *(person.browser for person in team)):
        one.close()

    # Every decision that was sent is in the history, and the state is what the history says.
    history = read(tmp_path / "history.jsonl")
    assert sum(row["kind"] == "answered" for row in history) == decided
    proof = quick_contrafact("review", "prove", "--review", "pairs")
    assert proof.returncode == 0, proof.stdout

    # The manager's page says of agreement what `agree` says of the export.
    agreed = quick_contrafact("agree", "ratings.jsonl", "--out", "agreement.json")
    assert agreed.returncode == 0, agreed.stderr
    message = json.loads((tmp_path / "agreement.json").read_text())
    printed, shown = printed_rows(agreed.stdout), set(page.rows)
    names = {row[0] for row in printed & shown if len(row) == 5}
    assert len(message["coefficients"]) >= 4
    assert {"agreement", "Gwet's AC1", "Krippendorff's alpha", "Cohen's kappa"} <= names

    # The finalized set is what the review made final, in the words it ended with.
    items = read(tmp_path / "items.jsonl")
    assert {row["review_outcome"] for row in items} <= {"final", "removed", "hard case"}
    final = quick_contrafact(
        "rfc", "finalize", "pairs.jsonl", "--decisions", "decisions.jsonl", "--out", "final.jsonl"
    )
    assert final.returncode == 0, final.stderr
    kept = {row["rewritten"] for row in read(tmp_path / "final.jsonl")}
    wanted = {row["rewritten"] for row in items if row["review_outcome"] == "final"}
    # An expert has seen every pair, so that no rule overturns what people made final.
    assert kept == wanted

    true = np.mean([world.truth[text] != reviewers.RIGHT for text in wanted])

    # An audit of final items is planned with known probabilities, blind to how they came there.
    audit = quick_contrafact(
        "review", "plan", "--db", "review.db", "--review", "pairs", "--figure", "residual",
        "--budget", "6", "--out", "audit.jsonl",
    )  # fmt: skip
    assert audit.returncode == 0, audit.stderr
    drawn = read(tmp_path / "audit.jsonl")
    assert len(drawn) == 6
    assert {row["rewritten"] for row in drawn} <= wanted
    assert not any(key.startswith(("review_", "answer_")) for key in drawn[0])
    told_by = [
        {"item_id": row["item_id"], "label": world.truth[row["rewritten"]] == reviewers.RIGHT}
        for row in drawn
    ]
    (tmp_path / "audited.jsonl").write_text("\n".join(map(json.dumps, told_by)) + "\n")
    result = quick_contrafact(
        "review", "estimate", "audit.key.csv", "--labels", "audited.jsonl", "--out", "audit.json"
    )
    assert result.returncode == 0, result.stderr
    error = json.loads((tmp_path / "audit.json").read_text())
    assert error["figure"] == "residual error"
    assert error["overall"]["low"] <= true <= error["overall"]["high"]
