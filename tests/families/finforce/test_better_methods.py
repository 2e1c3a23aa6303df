"""What a reply counts for with every method, and what `generate` says of it."""

import asyncio
import json

import pandas as pd
import pytest
from inspect_ai.model import (
    GenerateConfig,
)
from tests.support.replies import says
from tests.support.writer_server import pair

from contrafact.families.finforce.data import bundled_shots
from contrafact.families.finforce.generation import run_method
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.records import SIDES, Headline
from contrafact.families.finforce.settings import FinforceOptions
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings
from contrafact.models.asking import Ask
from contrafact.text.degenerate import (
    EQUAL_SIDES,
    FOREIGN,
    OF_INPUT,
    OF_PROMPT,
    Batch,
)

HEADLINE = Headline.of("Norwind Bank cuts its key rate for the third time this year")
OTHER = Headline.of("Talmora Steel buys back shares after a strong second quarter")
CONTEXT = MethodContext(items=(HEADLINE, OTHER))


def reply(kind):
    """Return what a writer of this kind says."""
    made = pair(kind, HEADLINE.text)
    if kind == "other":
        made = dict.fromkeys(("risk_counterfactual", "opportunity_counterfactual"), OTHER.text)
    return made if isinstance(made, str) else json.dumps(made)


def model_of(replies):
    left = iter(replies)
    return says(lambda _: next(left), "writer")


def made_by(spec, replies, context=CONTEXT, headline=HEADLINE):
    ask = Ask(model_of(replies), config=GenerateConfig())
    method = METHODS.make(spec, context)
    batch = Batch([one.text for one in context.items])
    return asyncio.run(run_method(method, headline, ask, batch=batch))


ONE_ANSWER = (
    *("zero-shot", "few-shot", "llms-for-cfs", "counterfactual-distil"),
    *("metacognitive", "least-to-most"),
)
"""Every method whose reply is one pair."""
WRONG = {
    "copy": (OF_INPUT, OF_INPUT),
    "other": (EQUAL_SIDES, EQUAL_SIDES),
    "equal": (EQUAL_SIDES, EQUAL_SIDES),
    "foreign": (FOREIGN, FOREIGN),
    "line": (OF_PROMPT, OF_PROMPT),
    "half": (None, "invalid"),
    "refusal": ("invalid", "invalid"),
    "good": (None, None),
    "weak": (None, None),
    "injected": (None, None),
}
"""What becomes of each side of a reply of some kind; None of a sound text."""


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("spec", ONE_ANSWER)
def test_with_every_method_a_reply_counts_for_what_it_is(spec, kind):
    led = HEADLINE.model_copy(update={"description": "Its governor spoke of weak demand."})
    options = FinforceOptions(shots=2 if spec == "few-shot" else 0)
    context = MethodContext(
        RunSettings(task="finforce", options=options),
        items=(led, OTHER),
        pool=tuple(bundled_shots()),
    )
    text = reply(kind)
    if kind == "line":
        prompt = METHODS.make(spec, context).plan(led)[0].prompt
        lines = sorted(prompt.splitlines(), key=len)[-2:]
        keys = ("risk_counterfactual", "opportunity_counterfactual")
        text = json.dumps(dict(zip(keys, lines, strict=True)))
    made = made_by(spec, [text] * 6, context=context, headline=led)
    found = tuple(
        "invalid" if side in made.invalid else made.degenerate.get(side) for side in SIDES
    )
    assert found == WRONG[kind]


def test_generate_says_in_a_column_why_a_scenario_is_none(quick_contrafact, writers, tmp_path):
    texts = [HEADLINE.text, OTHER.text]
    pd.DataFrame({"headline": texts}).to_csv(tmp_path / "news.csv", index=False)
    done = quick_contrafact(
        *("generate", "news.csv", "--model", "openai-api/fake/writer-copy"),
        *("--out", "scenarios.csv"),
        env=writers,
    )
    made = pd.read_csv(tmp_path / "scenarios.csv")
    assert made["degenerate"].tolist() == [f"risk {OF_INPUT}; opportunity {OF_INPUT}"] * 2
    assert not made["valid"].any() and made["risk_counterfactual"].str.len().gt(0).all()
    assert "2 with a text that is no scenario (column 'degenerate')" in done.stderr
