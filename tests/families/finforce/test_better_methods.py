"""Methods that write more than they return: what they keep, drop, show, and never show."""

import asyncio
import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.model import (
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    get_model,
)

from contrafact.families.finforce.data import bundled_shots
from contrafact.families.finforce.generation import check_texts, read_pair, run_method
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.settings import FinforceOptions
from contrafact.families.finforce.verifying import (
    SENTENCES,
    draft_details,
    read_findings,
)
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings
from contrafact.models.asking import Ask
from contrafact.records import SIDES, Headline
from contrafact.text.degenerate import (
    EQUAL_SIDES,
    FOREIGN,
    OF_INPUT,
    OF_OTHER,
    OF_PROMPT,
    Batch,
    equal,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from writer_server import KINDS, pair

HEADLINE = Headline.of("Norwind Bank cuts its key rate for the third time this year")
OTHER = Headline.of("Talmora Steel buys back shares after a strong second quarter")
CONTEXT = MethodContext(items=(HEADLINE, OTHER))
FAILED = st.sampled_from(["none", *SENTENCES])
SAYS = st.fixed_dictionaries({"why": st.just("so"), "failed": FAILED, "score": st.integers(-1, 11)})
VERDICTS = st.one_of(st.just("hm"), st.fixed_dictionaries(dict.fromkeys(SIDES, SAYS)))
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


def one_for_both(finding):
    return {side: dict(finding) for side in SIDES}


def model_of(replies, name="writer"):
    left = iter(replies)

    def answer(*_):
        return counted(name, next(left))

    return get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def counted(name, text):
    """Return an output that says what it used, so that nobody counts tokens."""
    output = ModelOutput.from_content(f"mockllm/{name}", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def made_by(spec, replies, verdicts=None, context=CONTEXT, headline=HEADLINE):
    helpers = {}
    if verdicts is not None:
        texts = (one if isinstance(one, str) else json.dumps(one) for one in verdicts)
        helpers = {"verifier": model_of(texts, "verifier")}
    ask = Ask(model_of(replies), config=GenerateConfig(), helpers=helpers)
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
    *("zero-shot", "guided", "few-shot", "llms-for-cfs", "counterfactual-distil"),
    *("metacognitive", "least-to-most", "best-of:n=2", "repair:rounds=1"),
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
    if kind == "equal" and spec.startswith(("best-of", "repair")):
        # One sound text was drawn: one side has it.
        assert found == (None, "invalid")
    elif kind == "other" and spec.startswith(("best-of", "repair")):
        assert found[0] == OF_OTHER or found == wanted
    else:
        assert found == wanted


@settings(max_examples=40)
@given(st.lists(KIND, min_size=4, max_size=4), st.lists(VERDICTS, min_size=4, max_size=4))
def test_best_of_never_returns_a_degenerate_text_when_a_sound_one_was_drawn(kinds, verdicts):
    replies = [reply(kind, number) for number, kind in enumerate(kinds)]
    check_best(made_by("best-of", replies, verdicts), replies)


@settings(max_examples=40)
@given(st.lists(KIND, min_size=4, max_size=4), st.lists(VERDICTS, min_size=4, max_size=4))
def test_repair_never_returns_a_degenerate_text_when_a_sound_one_was_drawn(kinds, verdicts):
    replies = [reply(kind, number) for number, kind in enumerate(kinds)]
    made = made_by("repair:rounds=3", replies, verdicts)
    sound = sound_texts(replies[: 1 + made.trace["rounds"]])
    for side in SIDES:
        # A repair is read for the sides alone that it was asked for.
        taken = [one for one in made.trace["drafts"][side] if one["text"] in sound[side]]
        assert not (taken and side in made.degenerate)


def test_sides_are_chosen_one_by_one_by_the_verifiers_score():
    replies = [reply(kind, 0) for kind in ("weak", "good", "copy", "injected")]
    low, high = ({"why": "w", "failed": "none", "score": n} for n in (2, 9))
    verdicts = [{"risk": high, "opportunity": low}, {"risk": low, "opportunity": high}]
    bad = one_for_both({"why": "w", "failed": "scope", "score": 10})
    made = made_by("best-of", replies, [*verdicts, bad])
    assert made.texts == {
        "risk": f"{HEADLINE.text}, some worry",
        "opportunity": f"{HEADLINE.text}, and lenders take heart",
    }
    kept = made.trace["drafts"]["risk"]
    assert [one["chosen"] for one in kept] == [True, False, False, False]
    assert kept[2]["problem"] == "repeats its input"
    assert kept[3]["failed"] == "scope" and kept[3]["by"] == "mockllm/verifier"


def likely(text, log_probability):
    """Return an output each of whose tokens has one log probability."""
    output = counted("writer", text)
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


def test_without_a_verifier_the_likelier_of_the_sound_drafts_is_kept():
    kinds = (("weak", -2.0), ("good", -1.0), ("copy", -0.1))
    made, _ = drafts_by([likely(reply(kind, 0), log) for kind, log in kinds])
    assert made.texts["risk"] == f"{HEADLINE.text}, and lenders take fright"
    assert made.trace["ranked_by"] == "the writer's likelihood"
    details = draft_details(made.trace, "risk")
    assert details["Drafts ranked by"] == "the writer's likelihood"
    assert "score -2 (the writer's likelihood)" in details["Draft 1, refused"]
    drafts = {"risk": [dict(made.trace["drafts"]["risk"][0], score=-1e-9)]}
    (first, _) = draft_details({**made.trace, "drafts": drafts}, "risk").values()
    assert "score 0 " in first, "nothing has a score of -0"


def test_a_service_without_probabilities_has_its_first_sound_draft_kept():
    sound = [counted("writer", reply(kind, 0)) for kind in ("copy", "weak", "good")]
    made, asked = drafts_by(sound)
    assert made.texts["risk"] == f"{HEADLINE.text}, some worry" and asked == [True] * 3
    assert made.trace["ranked_by"] == "the order of writing"
    refused = [ValueError("logprobs is not supported"), *sound[1:]]
    made, asked = drafts_by(refused)
    assert made.texts["risk"] == f"{HEADLINE.text}, some worry" and None in asked
    with pytest.raises(ValueError, match="down"):
        drafts_by([ValueError("the engine is down"), *sound])


def test_repair_says_what_is_wrong_and_stops_when_nothing_is():
    asked = []
    good = one_for_both({"why": "fine", "failed": "none", "score": 8})
    bad = {"risk": {"why": "It is vague.", "failed": "clarity", "score": 3}}
    replies = iter([reply("half", 0), reply("weak", 0)])
    verdicts = iter([bad, good])

    def write(prompt, *_):
        asked.append(prompt[-1].text)
        return counted("writer", next(replies))

    writer = get_model("mockllm/writer", custom_outputs=write, memoize=False)
    ask = Ask(writer, helpers={"verifier": model_of(map(json.dumps, verdicts), "verifier")})
    made = asyncio.run(run_method(METHODS.make("repair", CONTEXT), HEADLINE, ask))
    assert len(asked) == 2 and made.trace["rounds"] == 1 and not made.invalid
    assert SENTENCES["clarity"] in asked[1] and "It is vague." in asked[1]
    assert "no opportunity counterfactual in the reply" in asked[1]


def test_what_a_verifier_wrote_is_copied_and_not_written():
    why = "The text leaves open who would lose money and by how much it would be"
    bad = one_for_both({"why": why, "failed": "clarity", "score": 3})
    copied = dict.fromkeys(("risk_counterfactual", "opportunity_counterfactual"), why)
    made = made_by("repair:rounds=1", [reply("weak", 0), json.dumps(copied)], [bad, bad])
    assert made.texts["risk"] == f"{HEADLINE.text}, some worry"
    drafts = made.trace["drafts"]["risk"]
    assert drafts[1]["problem"] == "repeats an example or a line of the prompt"


def test_a_verifiers_reply_that_is_none_leaves_a_text_open():
    for said in ("", "{}", '{"risk": 3}', '{"risk": {"score": 3, "failed": "mood", "why": ""}}'):
        found = read_findings(ModelOutput.from_content("m", said), ("risk",), "v")
        assert found["risk"].score is None and found["risk"].failed is None


ROLES = ("--model", "openai-api/fake/writer", "--judge", "openai-api/fake/judge")


def test_a_verifier_that_is_the_judge_or_that_nobody_asks_is_refused(quick_contrafact, writers):
    run = ("run", "finforce", "--limit", "1", *ROLES, "--method", "best-of")
    done = quick_contrafact(*run, "--verifier", "openai-api/fake/judge", env=writers)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "the verifier openai-api/fake/judge is also the judge" in done.stderr
    done = quick_contrafact(*run[:-1], "guided", "--verifier", "openai-api/fake/v", env=writers)
    assert done.returncode == 2 and "no method here asks a verifier" in done.stderr


@pytest.mark.slow
def test_every_draft_is_kept_counted_and_paid_for(quick_contrafact, writers, tmp_path):
    done = quick_contrafact(
        *("run", "finforce", "--limit", "5", *ROLES, "--verifier", "openai-api/fake/verifier"),
        *("--method", "best-of", "--method", "repair", "--method", "zero-shot"),
        *("--fluency-model", "none", "--out", "run"),
        env=writers,
    )
    assert done.returncode == 0, done.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    usage = pd.read_csv(tmp_path / "run" / "usage.csv")
    by_method = usage[usage["role"] != "judge"].groupby("method")["calls"].sum()
    each = items.drop_duplicates(["method", "sample_id"]).groupby("method")["calls"].sum()
    assert by_method.to_dict() == each.to_dict()
    assert (usage["role"] == "verifier").sum() == 2
    strict = pd.read_csv(tmp_path / "run" / "tables" / "overall.csv").query("scope == 'Both sides'")
    assert strict["calls"].notna().all() and strict["tokens"].gt(0).all()
    drafted = items[items["method"].isin(["best-of", "repair"])]
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
    again = quick_contrafact(
        *("run", "finforce", "--limit", "5", *ROLES, "--verifier", "openai-api/fake/verifier"),
        *("--method", "best-of", "--method", "repair", "--method", "zero-shot"),
        *("--fluency-model", "none", "--out", "run"),
        env=writers,
    )
    assert "no model was called" in again.stdout


def test_generate_writes_drafts_in_columns(quick_contrafact, writers, tmp_path):
    texts = [
        f"Norwind Bank cuts its key rate for the {n} time" for n in ("first", "second", "last")
    ]
    pd.DataFrame({"headline": texts}).to_csv(tmp_path / "news.csv", index=False)
    done = quick_contrafact(
        *("generate", "news.csv", "--model", "openai-api/fake/writer-good", "--method", "best-of"),
        *("--verifier", "openai-api/fake/verifier", "--out", "scenarios.xlsx"),
        env=writers,
    )
    assert done.returncode == 0, done.stderr
    made = pd.read_excel(tmp_path / "scenarios.xlsx")
    assert len(made) == 3 and made["valid"].all()
    drafts = json.loads(made["opportunity_drafts"][0])
    assert len(drafts) == 4 and sum(one["chosen"] for one in drafts) == 1


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
    assert "2 with a scenario that is none (column 'degenerate')" in done.stderr


def test_a_batch_of_headlines_is_known_to_what_drops_drafts():
    made = made_by("best-of:n=2", [reply("other", 0), reply("weak", 0)])
    drafts = made.trace["drafts"]["risk"]
    assert [one["problem"] for one in drafts] == ["repeats another input", None]
    seen = check_texts(Batch([HEADLINE.text, OTHER.text]), HEADLINE, made, [])
    assert not seen.degenerate
