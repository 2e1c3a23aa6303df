"""Judges of known rates, over HTTP: their exams find the rates, and corrected intervals hold."""

import pandas as pd
import pytest
from tests.support.judge_server import digest
from tests.support.lines import write_lines

from contrafact.families.finforce.exam import examiner, finforce_items
from contrafact.families.finforce.judging import Judging
from contrafact.families.finforce.records import CRITERIA, SIDES, Headline
from contrafact.family.exam_file import read_exam
from contrafact.family.settings import StructuredOptions
from contrafact.prompts import open_pack

FORWARD, DIRECTION = CRITERIA


RIGHT, WRONG = 0.9, 0.85


def texts_of_a_run():
    """Return headlines with counterfactuals of known verdict: 120 headlines that no exam asks of.

    Every third is given those of the party that was spared, every other pair with its sides
    exchanged.
    """
    passes = {}
    for item in finforce_items():
        if item.kind in ("pass", "denied"):
            key = item.about, item.kind
            passes.setdefault(key, {}).setdefault(item.facts["side"], []).append(item.text)
    rows = []
    for about in dict.fromkeys(about for about, _ in passes):
        for place in range(3):
            kind = "denied" if len(rows) % 3 == 0 else "pass"
            pair = {side: passes[about, kind][side][place % 2] for side in SIDES}
            turned = len(rows) % 4 == 0
            texts = dict(zip(SIDES, reversed(pair.values()), strict=True)) if turned else pair
            known = {FORWARD: kind == "pass", DIRECTION: not turned}
            rows.append((f"Desk {place}: {about}", texts, known))
    return rows


@pytest.fixture(scope="module")
def asked(key_of):
    """Return the verdict of every prompt, and the prompts on forward compatibility."""
    items, pack = finforce_items(), open_pack()
    asks = examiner(pack, StructuredOptions())
    verdicts = key_of(items, asks)
    forward = {
        digest(prompt)
        for item in items
        for name, prompt in asks.prompts(item).items()
        if name == FORWARD
    }
    judging = Judging(pack, structured=True)
    for headline, texts, known in texts_of_a_run():
        for side in SIDES:
            prompts = judging.prompts(Headline.of(headline), side, texts[side])
            for name, prompt in zip(CRITERIA, prompts, strict=True):
                verdicts[digest(prompt)] = known[name]
                if name == FORWARD:
                    forward.add(digest(prompt))
    return verdicts, forward


@pytest.mark.slow
@pytest.mark.parametrize("worth", ["good", "good at one criterion"])
def test_the_exam_finds_the_rates_and_corrected_intervals_cover(
    quick_contrafact, tmp_path, start_judge, asked, worth
):
    verdicts, forward = asked
    rows = texts_of_a_run()
    made = [
        {"headline": headline} | {f"{side}_counterfactual": texts[side] for side in SIDES}
        for headline, texts, _ in rows
    ]
    write_lines(tmp_path / "made.jsonl", made)
    rates = {"sensitivity": RIGHT, "specificity": WRONG}
    good = None if worth == "good" else forward
    with start_judge(verdicts, **rates, good=good) as judge:
        exam = quick_contrafact(
            "exam", "--judge", judge.judge, "--no-order", "--out", "exam.json",
            env=judge.environment,
        )  # fmt: skip
        assert exam.returncode == 0, exam.stderr
        scored = quick_contrafact(
            "score", "finforce", "made.jsonl", "--judge", judge.judge, "--fluency-model", "none",
            "--out", "run", env=judge.environment,
        )  # fmt: skip
        assert scored.returncode == 0, scored.stderr
    found = read_exam(tmp_path / "exam.json").criteria
    known = {FORWARD: (RIGHT, WRONG), DIRECTION: (RIGHT, WRONG) if good is None else (0.5, 0.5)}
    for name, (right, wrong) in known.items():
        assert found[name].sensitivity.low <= right <= found[name].sensitivity.high, name
        assert found[name].specificity.low <= wrong <= found[name].specificity.high, name
    shown = quick_contrafact("report", "run", "--exam", "exam.json", "--out", "report")
    assert shown.returncode == 0, shown.stderr
    table = pd.read_csv(tmp_path / "report" / "tables" / "corrected.csv")
    table.index = table["criterion"].str.lower().str.replace("-", "_")
    for name in CRITERIA:
        row = table.loc[name]
        if known[name] == (0.5, 0.5):
            assert pd.isna(row["corrected_low"]), "a coin corrects nothing"
        else:
            truth = sum(one[2][name] for one in rows) / len(rows)
            assert row["corrected_low"] <= truth <= row["corrected_high"]
