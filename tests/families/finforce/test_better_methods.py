"""Methods that write more than they return: what they keep, drop, show, and never show."""

import asyncio
import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.model import (
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelOutput,
    get_model,
)
from tests.support.replies import counted, says
from tests.support.writer_server import KINDS, pair

from contrafact.families.finforce.data import bundled_shots
from contrafact.families.finforce.generation import check_texts, read_pair, run_method
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.methods.best_of import draft_details
from contrafact.families.finforce.records import SIDES, Headline
from contrafact.families.finforce.settings import FinforceOptions
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings
from contrafact.models.asking import Ask
from contrafact.text.degenerate import (
    EQUAL_SIDES,
    FOREIGN,
    OF_INPUT,
    OF_OTHER,
    OF_PROMPT,
    Batch,
    equal,
)

HEADLINE = Headline.of("Norwind Bank cuts its key rate for the third time this year")
OTHER = Headline.of("Talmora Steel buys back shares after a strong second quarter")
CONTEXT = MethodContext(items=(HEADLINE, OTHER))
KIND = st.sampled_from([*KINDS, "other", "crossed"])


def reply(kind, number):
    """Return what a writer of this kind says, told apart by the number of the draft."""
    made = pair(kind, HEADLINE.text)
    if kind == "other":
        made = dict.fromkeys(("risk_counterfactual", "opportunity_counterfactual"), OTHER.text)
    if kind == "crossed":
        turn = ("as banks lend more", "as banks lend less")
        first, second = turn if number % 2 else reversed(turn)
        made = {
            "risk_counterfactual": f"{HEADLINE.text} {first}",
            "opportunity_counterfactual": f"{HEADLINE.text} {second}",
        }
    return made if isinstance(made, str) else json.dumps(made)


def model_of(replies):
    left = iter(replies)
    return says(lambda _: next(left), "writer")


def made_by(spec, replies, context=CONTEXT, headline=HEADLINE):
    ask = Ask(model_of(replies), config=GenerateConfig())
    method = METHODS.make(spec, context)
    batch = Batch([one.text for one in context.items])
    return asyncio.run(run_method(method, headline, ask, batch=batch))


def sound_texts(replies):
    """Return by side what was drawn and is a counterfactual, whatever the other side is."""
    batch = Batch([HEADLINE.text, OTHER.text])
    prompt = METHODS.make("zero-shot", CONTEXT).plan(HEADLINE)[0].prompt
    found = {side: [] for side in SIDES}
    for text in replies:
        drawn = read_pair(ModelOutput.from_content("none/none", text))
        for side, said in drawn.texts.items():
            if said and not batch.reason(said, HEADLINE.text, shown=[(prompt, text)]):
                found[side].append(said)
    return found


def check_best(made, replies):
    """No degenerate text where a sound one was drawn; none at all only where both sides had one."""
    sound = sound_texts(replies)
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        if not sound[side]:
            continue
        assert side not in made.degenerate
        if made.texts[side] is None:
            both = [*sound[side], *sound[other]]
            assert sound[other] and all(equal(both[0], one) for one in both)


ONE_ANSWER = (
    *("zero-shot", "few-shot", "llms-for-cfs", "counterfactual-distil"),
    *("metacognitive", "least-to-most", "best-of:n=2"),
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
    text = reply(kind, 0)
    if kind == "line":
        prompt = METHODS.make(spec, context).plan(led)[0].prompt
        lines = sorted(prompt.splitlines(), key=len)[-2:]
        keys = ("risk_counterfactual", "opportunity_counterfactual")
        text = json.dumps(dict(zip(keys, lines, strict=True)))
    made = made_by(spec, [text] * 6, context=context, headline=led)
    found = tuple(
        "invalid" if side in made.invalid else made.degenerate.get(side) for side in SIDES
    )
    wanted = WRONG[kind]
    if kind == "equal" and spec.startswith("best-of"):
        # One sound text was drawn: one side has it.
        assert found == (None, "invalid")
    elif kind == "other" and spec.startswith("best-of"):
        assert found[0] == OF_OTHER or found == wanted
    else:
        assert found == wanted


@settings(max_examples=40)
@given(st.lists(KIND, min_size=4, max_size=4))
def test_best_of_never_returns_a_degenerate_text_when_a_sound_one_was_drawn(kinds):
    replies = [reply(kind, number) for number, kind in enumerate(kinds)]
    check_best(made_by("best-of", replies), replies)


def likely(text, log_probability):
    """Return an output each of whose tokens has one log probability."""
    output = counted(text, "writer")
    tokens = [Logprob(token=one, logprob=log_probability) for one in text.split()]
    output.choices[0].logprobs = Logprobs(content=tokens)
    return output


def drafts_by(answers):
    """Return what best-of makes of answers; one that is an error is raised."""
    left, asked = list(answers), []

    def answer(prompt, tools, choice, config):
        asked.append(config.logprobs)
        if isinstance(left[0], Exception) and config.logprobs:
            raise left[0]
        left[:] = left[isinstance(left[0], Exception) :]
        return left.pop(0)

    writer = get_model("mockllm/writer", custom_outputs=answer, memoize=False)
    ask = Ask(writer, config=GenerateConfig(max_connections=1))
    spec = f"best-of:n={sum(not isinstance(one, Exception) for one in answers)}"
    return asyncio.run(run_method(METHODS.make(spec, CONTEXT), HEADLINE, ask)), asked


def test_the_likelier_of_the_sound_drafts_is_kept():
    kinds = (("weak", -2.0), ("good", -1.0), ("copy", -0.1))
    made, _ = drafts_by([likely(reply(kind, 0), log) for kind, log in kinds])
    assert made.texts["risk"] == f"{HEADLINE.text}, and lenders take fright"
    assert [one["chosen"] for one in made.trace["drafts"]["risk"]] == [False, True, False]
    details = draft_details(made.trace, "risk")
    assert "mean log probability -2" in details["Draft 1, refused"]
    assert "repeats its input" in details["Draft 3, refused"]
    drafts = {"risk": [dict(made.trace["drafts"]["risk"][0], likelihood=-1e-9)]}
    (first,) = draft_details({"drafts": drafts}, "risk").values()
    assert first.endswith("probability 0"), "nothing has one of -0"


def test_sides_are_chosen_one_by_one():
    halves = ("weak", "good")
    replies = [json.loads(reply(kind, 0)) for kind in halves]
    mixed = [
        {**replies[0], "opportunity_counterfactual": HEADLINE.text},
        {**replies[1], "risk_counterfactual": HEADLINE.text},
    ]
    made = made_by("best-of:n=2", map(json.dumps, mixed))
    assert made.texts == {
        "risk": f"{HEADLINE.text}, some worry",
        "opportunity": f"{HEADLINE.text}, and lenders take heart",
    }


def test_a_service_without_probabilities_has_its_first_sound_draft_kept():
    sound = [counted(reply(kind, 0), "writer") for kind in ("copy", "weak", "good")]
    made, asked = drafts_by(sound)
    assert made.texts["risk"] == f"{HEADLINE.text}, some worry" and asked == [True] * 3
    refused = [ValueError("logprobs is not supported"), *sound[1:]]
    made, asked = drafts_by(refused)
    assert made.texts["risk"] == f"{HEADLINE.text}, some worry" and None in asked
    with pytest.raises(ValueError, match="down"):
        drafts_by([ValueError("the engine is down"), *sound])


ROLES = ("--model", "openai-api/fake/writer", "--judge", "openai-api/fake/judge")


@pytest.mark.slow
def test_every_draft_is_kept_counted_and_paid_for(quick_contrafact, writers, tmp_path):
    command = ("run", "finforce", "--limit", "5", *ROLES, "--method", "best-of")
    command += ("--method", "zero-shot", "--fluency-model", "none", "--out", "run")
    done = quick_contrafact(*command, env=writers)
    assert done.returncode == 0, done.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    usage = pd.read_csv(tmp_path / "run" / "usage.csv")
    by_method = usage[usage["role"] != "judge"].groupby("method")["calls"].sum()
    each = items.drop_duplicates(["method", "sample_id"]).groupby("method")["calls"].sum()
    assert by_method.to_dict() == each.to_dict()
    strict = pd.read_csv(tmp_path / "run" / "tables" / "overall.csv").query("scope == 'Both sides'")
    assert strict["calls"].notna().all() and strict["tokens"].gt(0).all()
    drafted = items[items["method"] == "best-of"]
    texts = {text.partition(" (")[0] for one in drafted["details"] for text in
             list(json.loads(one).values())}  # fmt: skip
    assert len(texts) > len(drafted), "drafts of one prompt are drawn apart"
    for row in drafted.itertuples():
        if row.degenerate is None or pd.isna(row.degenerate):
            continue
        # A text that is none is kept only where nothing better was drawn.
        details = json.loads(row.details)
        fates = {name: text for name, text in details.items() if name.startswith("Draft")}
        assert fates and all("score" not in text for text in fates.values())
    again = quick_contrafact(*command, env=writers)
    assert "no model was called" in again.stdout


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


def test_a_batch_of_headlines_is_known_to_what_drops_drafts():
    made = made_by("best-of:n=2", [reply("other", 0), reply("weak", 0)])
    drafts = made.trace["drafts"]["risk"]
    assert [one["problem"] for one in drafts] == ["repeats another input", None]
    seen = check_texts(Batch([HEADLINE.text, OTHER.text]), HEADLINE, made, [])
    assert not seen.degenerate
