"""The scorer of the task: the verdicts on one response, and their rates over samples.

CoBe, sections 4.2 and 4.3. The rates here are what Inspect's log shows; intervals, and figures by
graph, domain and failure mode, are the report's.

The seven failure modes (appendix B.1), and a suggestion for a response that failed: In the paper
people mapped failures to modes by hand. Here stories carry modes as labels (what they were written
to probe), and every failed response gets a *suggestion*, by a rule that looks only at which
criteria failed and at the story's labels and type of graph:

1. Of the criteria that failed, take them in the order E5, E1, E2, E4, E3, ``causes``.
2. If the story is labelled with a mode that one of them can be a sign of, suggest that label: that
   of the first such criterion, and there the first in the rule's list.
3. Else take the first failed criterion, and suggest the mode that goes with the story's type of
   graph, or else the first that the criterion can be a sign of.

The rule is data (``failure_modes.toml``). It is a place to start reading, not a finding: E1 failing
in a fork is often, and not always, a correlation taken for a cause.
"""

import math
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, cast

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric
from inspect_ai.solver import TaskState

from contrafact.families.cobe.data import CRITERION_NAMES, PHRASINGS, StoryQuery, query_of
from contrafact.families.cobe.items import SCORER
from contrafact.families.cobe.judging import Judging, probability
from contrafact.families.cobe.settings import CAUSES
from contrafact.family.task import log_scorer, number, output_of, rate_of
from contrafact.judges.judge import judges_of_role
from contrafact.models.asking import cache_policy
from contrafact.prompts import open_pack
from contrafact.records import Story

__all__ = ["failure_modes", "judged_edit", "suggested_mode"]


class FailureMode(NamedTuple):
    number: int
    name: str
    means: str


def failure_modes() -> dict[int, FailureMode]:
    """Return the seven modes by their number."""
    return {one["number"]: FailureMode(**one) for one in _data()["mode"]}


def suggested_mode(failed: Collection[str], story: Story) -> int | None:
    """Return the number of the mode that the rule suggests; None where no criterion failed."""
    rule: Mapping[str, Any] = _data()["rule"]
    ordered = [name for name in rule["order"] if name in failed]
    for name in ordered:
        for mode in rule[name]["modes"]:
            if mode in story.failure_modes:
                return int(mode)
    if not ordered:
        return None
    own = rule[ordered[0]]
    return int(own.get(story.graph, own["modes"][0]))


@cache
def _data() -> dict[str, Any]:
    text = (files("contrafact.families.cobe") / "failure_modes.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@metric(name="edit_rates")
def edit_rates() -> Metric:
    """Rates over samples as `rates_of` names them: the paper's, strict ones, and ``_stderr``."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        rows = [cast(dict[str, Any], score.score.metadata) for score in scores]
        stories = [str((score.sample_metadata or {})["story"]["id"]) for score in scores]
        return rates_of(rows, stories)

    return compute


def rates_of(rows: Sequence[Mapping[str, Any]], stories: Sequence[str]) -> dict[str, float]:
    """Return the rates of samples, by the metadata of their scores and the story of each.

    - ``valid``: the share of responses that could be judged.
    - ``accuracy_A``, ``_B``, ``_C``: the share of correct responses per phrasing; ``accuracy``:
      their mean, as in table 5; ``accuracy_spread``: their standard deviation (n - 1).
    - ``accuracy_strict``: over all responses, everything invalid, and what is no edit, counted as
      wrong.
    - ``E1_failure`` to ``E5_failure`` and ``causes_failure``: the share of failures among valid
      verdicts (figure 5).

    What nobody judged, or no story asks, is left out.
    """
    rates = rate_of("valid", [float(row["text"] is not None) for row in rows], stories)
    if not any(row["judged"] for row in rows):
        return rates
    rates |= _accuracies(rows, stories)
    strict = [float(row["correct"] is True and not row.get("degenerate")) for row in rows]
    rates |= rate_of("accuracy_strict", strict, stories)
    for name in (*CRITERION_NAMES, CAUSES):
        if any(name in row["asked"] for row in rows):
            passed = [
                row["verdicts"][name]["panel"]["passed"] if name in row["asked"] else None
                for row in rows
            ]
            failed = [math.nan if one is None else float(not one) for one in passed]
            rates |= rate_of(f"{name}_failure", failed, stories)
    return rates


def _accuracies(rows: Sequence[Mapping[str, Any]], stories: Sequence[str]) -> dict[str, float]:
    """Return accuracy per phrasing, their mean, its standard error and their deviation."""
    from contrafact.stats.intervals import standard_error

    right = [number(row["correct"]) for row in rows]
    phrasings = [row["phrasing"] for row in rows]
    present = [one for one in PHRASINGS if one in phrasings]
    rates: dict[str, float] = {}
    for phrasing in present:
        own = [v if q == phrasing else math.nan for v, q in zip(right, phrasings, strict=True)]
        rates |= rate_of(f"accuracy_{phrasing}", own, stories)
    means = {one: rates[f"accuracy_{one}"] for one in present}
    known = [mean for mean in means.values() if not math.isnan(mean)]
    rates["accuracy"] = mean = sum(known) / len(known) if known else math.nan
    if len(means) > 1:
        squares = sum((share - mean) ** 2 for share in means.values())
        rates["accuracy_spread"] = math.sqrt(squares / (len(means) - 1))
    # Accuracy is a mean of the phrasings' means: each response counts by its share in its own.
    sizes = Counter(q for v, q in zip(right, phrasings, strict=True) if not math.isnan(v))
    parts = [
        (v - means[q]) * sizes.total() / (len(known) * sizes[q]) if sizes[q] else math.nan
        for v, q in zip(right, phrasings, strict=True)
    ]
    rates["accuracy_stderr"] = standard_error(parts, stories)
    return rates


@log_scorer(SCORER, edit_rates())
def judged_edit(
    judged: bool = True,
    judge_context: bool = False,
    judge_causes: bool = False,
    judge_logprobs: bool = True,
    prompts: str | None = None,
    cache_scope: str | None = None,
) -> Scorer:
    """Score one sample: ``valid``, ``correct``, ``correct_strict`` and every criterion asked.

    All of a sample's judge calls are made by this one scorer; the arguments are the task's.
    """
    judging = None
    if judged:
        cache = cache_policy(cache_scope)
        judging = Judging(open_pack(prompts), judge_context, judge_logprobs, cache, judge_causes)

    async def score(state: TaskState, target: Target) -> Score:
        question, edited = query_of(state.metadata), output_of(state)
        value: dict[str, float] = {"valid": float(edited.text is not None)}
        metadata: dict[str, Any] = {
            "phrasing": question.phrasing,
            "text": edited.text,
            "invalid": edited.invalid,
            "degenerate": edited.degenerate,
            "judged": judging is not None,
            "asked": [],
            "correct": None,
            "suggested_failure_mode": None,
            "verdicts": {},
        }
        if judging is not None:
            if edited.text is not None:
                metadata |= await _judged(judging, question, edited.text)
            for name, both in metadata["verdicts"].items():
                value[name] = number(both["panel"]["passed"])
            value["correct"] = number(metadata["correct"])
            value["correct_strict"] = float(metadata["correct"] is True and not edited.degenerate)
        return Score(
            value=cast(Any, value),
            answer=edited.text,
            explanation=edited.invalid or edited.degenerate,
            metadata=metadata,
        )

    return score


async def _judged(judging: Judging, question: StoryQuery, text: str) -> dict[str, Any]:
    found = await judging.judge(judges_of_role(), question.story, text, query=question.query)
    failed = [name for name, one in found.panel.items() if one.passed is False]
    return {
        "asked": list(found.panel),
        "correct": found.passed,
        "suggested_failure_mode": suggested_mode(failed, question.story),
        "verdicts": {
            name: {**both, "probability": probability(found.members[name])}
            for name, both in found.as_json().items()
        },
    }
