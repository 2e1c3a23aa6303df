"""Words that several chapters share: an interval, or the true reason for none."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contrafact import report
from contrafact.errors import Reason
from contrafact.exams import correct
from contrafact.family import exam_file
from contrafact.family.display import with_figures
from contrafact.family.report import ReportSpec
from contrafact.family.run_facts import Cost, RunFacts
from contrafact.report import estimates
from contrafact.report.summary import with_interval
from contrafact.report.words import judge_options, run_facts, sentences
from contrafact.stats import correction
from contrafact.stats.intervals import cluster_bootstrap


def displayed(values: list[float]) -> str:
    found = cluster_bootstrap(values, None, resamples=200, rng=np.random.default_rng(0))
    row = pd.Series({**vars(found), "headlines": found.clusters}, dtype=object)
    return with_interval(row, ReportSpec("", ("headline", "headlines"), ("text", "texts"), ()))


def test_a_share_without_an_interval_says_why() -> None:
    assert displayed([0.0, 1.0, 1.0, 1.0]) == "75.0% (too few headlines for an interval)"
    assert displayed([0.5] * 30) == "50.0% (no interval: all values are equal)"
    assert displayed([0.0, 1.0] * 15).startswith("50.0% (95% interval ")


def test_a_figure_finds_its_line_and_two_of_one_line_are_refused() -> None:
    lines = pd.DataFrame({"system": ["b", "a", "b"], "n": [1, 2, 3]}, index=[4, 4, 9])
    figures = pd.DataFrame(
        {
            "system": ["a", "b", "a", "c"],
            "measure": ["x", "x", "y", "x"],
            "group": [None, None, "g", None],
            "estimate": [0.1, 0.2, 0.3, 0.4],
            "low": [0.0, np.nan, 0.2, 0.3],
        }
    )
    wanted = {"x": {"measure": "x"}, "y": {"measure": "y", "group": "g"}, "z": {"measure": "z"}}
    found = with_figures(lines, figures, wanted)
    expected = lines
    for key, where in wanted.items():
        held = np.logical_and.reduce([figures[name].eq(value) for name, value in where.items()])
        part = figures.loc[held, ["system", "estimate", "low"]]
        part = part.set_axis(["system", key, f"{key}_low"], axis=1)
        expected = expected.merge(part, on="system", how="left")
    pd.testing.assert_frame_equal(found, expected)
    with pytest.raises(ValueError, match="more than one figure"):
        with_figures(lines, pd.concat([figures, figures]), wanted)


def test_advice_is_given_for_reasons_that_there_are() -> None:
    """A code that is renamed, or a template without one, would be advice that nobody gets."""
    modules = (correction, correct, exam_file, estimates)
    codes = {one.code for m in modules for one in vars(m).values() if isinstance(one, Reason)}
    assert set(sentences()["changes"]) - codes == {"other"}
    assert {"not-examined", "uninformative", "few-items", "needs-labels"} <= codes


def test_a_verifier_is_free_without_the_reader_that_it_asks() -> None:
    costs = [
        Cost(model=model, method=None, role=role, dollars=dollars, price="")
        for model, role, dollars in (
            ("verifier/proof:near/reader", "judge", 0.0),
            ("near/reader", "reader", None),
            ("ollama/llama3:8b", "subject", 0.0),
        )
    ]
    spec = ReportSpec("", ("headline", "headlines"), ("text", "texts"), ())
    told = dict(run_facts(RunFacts(name="r", costs=tuple(costs)), spec))["Cost"]
    assert told == (
        "the price of near/reader is unknown; ollama/llama3:8b ran on this machine, for nothing; "
        "verifier/proof costs nothing itself, and its reader's calls are counted under the "
        "reader's name"
    )


def test_a_judge_that_reads_is_named_with_its_reader_on_a_command_line() -> None:
    """The reader decides which exam is drawn, and is examined with the verifier."""
    panel = "verifier/proof:near/reader + near/a model"
    options = "--judge verifier/proof --judge 'near/a model' --reader near/reader"
    assert judge_options(panel) == options


def test_every_sentence_is_chosen_somewhere_by_its_code() -> None:
    parts = sentences()
    codes = {code for part in ("first", "more", "next", "warnings") for code in parts[part]}
    codes |= {code for part in parts["diff"].values() for code in part}
    code = "".join(path.read_text("utf-8") for path in Path(report.__file__).parent.glob("*.py"))
    assert [one for one in sorted(codes) if f'"{one}"' not in code] == []
