"""One character, read from probabilities where there are any; anything else is invalid."""

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    TopLogprob,
    get_model,
)

from contrafact.judges.judge import (
    PANEL,
    LetterVerdict,
    judge_letter,
    judge_once,
    letter_of,
    panel_verdict,
)
from contrafact.records import Verdict


def first(chosen, **top):
    alternatives = [
        TopLogprob(token=token.replace("_", " "), logprob=math.log(p), bytes=None)
        for token, p in top.items()
    ]
    return Logprob(token=chosen, logprob=-1.0, bytes=None, top_logprobs=alternatives)


def verdict_of(output):
    return LetterVerdict(criterion="c", judge="j", **letter_of(output))


def letter(reply, *tokens):
    given = Logprobs(content=list(tokens)) if tokens else None
    message = ChatMessageAssistant(content=reply)
    choice = ChatCompletionChoice(message=message, stop_reason="stop", logprobs=given)
    return verdict_of(ModelOutput(model="m", choices=[choice]))


@pytest.mark.parametrize("reply", ["TF", "", "I think so", "1"])
def test_anything_else_is_invalid_with_what_it_was(reply):
    found = letter(reply)
    assert found.passed is None
    assert found.invalid.startswith("neither T nor F: ")
    assert reply[:10] in found.invalid or not reply


def test_what_is_written_beats_what_was_likely():
    found = letter("T", first("T", T=0.3, F=0.6))
    assert (found.passed, found.probability) == (True, pytest.approx(1 / 3))
    found = letter("The hose held, so: F", first("The", The=0.9, T=0.06, F=0.02))
    assert (found.passed, found.probability) == (False, None)
    found = letter("**F**", first("**", T=0.6, F=0.02))
    assert (found.passed, found.probability) == (False, None)


def test_white_space_before_the_letter_is_passed_over():
    found = letter("\nF", first("\n", _T=0.9), first("F", F=0.8, T=0.1))
    assert (found.passed, found.probability) == (False, pytest.approx(1 / 9))


@pytest.mark.parametrize(("tokens", "reason"), [(1, "neither T nor F"), (9, "token limit")])
def test_a_word_where_one_letter_was_asked_for_is_named_and_not_the_limit(tokens, reason):
    message = ChatMessageAssistant(content="The")
    choice = ChatCompletionChoice(message=message, stop_reason="max_tokens")
    usage = ModelUsage(output_tokens=tokens)
    found = verdict_of(ModelOutput(model="m", choices=[choice], usage=usage))
    assert found.passed is None and reason in found.invalid


def test_a_letter_of_little_mass_is_none():
    found = letter("T", first("T", T=0.3, F=0.1, Well=0.6))
    assert found.passed is None and "40%" in found.invalid
    assert found.mass == pytest.approx(0.4)
    bare = Logprob(token="T", logprob=-0.1, bytes=None, top_logprobs=None)
    assert letter("T", bare).passed is True and letter("T", bare).probability is None


def asked(output, **options):
    seen = []

    def answer(messages, tools, tool_choice, config):
        seen.append(config)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    model = get_model("mockllm/judge", custom_outputs=answer, memoize=False)
    return asyncio.run(judge_letter(model, "T or F?", "E1", **options)), seen[0]


def test_a_call_asks_for_probabilities_and_keeps_reply_and_judge():
    output = ModelOutput.from_content("mockllm/judge", "T")
    content = [first("T", T=0.7, F=0.1)]
    output.choices = [
        ChatCompletionChoice(message=output.choices[0].message, logprobs=Logprobs(content=content))
    ]
    verdict, config = asked(output)
    assert config.logprobs
    assert config.top_logprobs == 20
    assert config.max_tokens is None, "a judge may need tokens to reason with"
    assert (verdict.passed, verdict.judge, verdict.reply) == (True, "mockllm/judge", "T")
    assert verdict.probability == pytest.approx(0.875)
    _, config = asked(ModelOutput.from_content("mockllm/judge", "T"), logprobs=False)
    assert not config.logprobs


@pytest.mark.parametrize(
    ("stop", "why"), [("model_length", "too long"), ("content_filter", "content filter")]
)
def test_a_refusal_or_an_overlong_prompt_is_an_invalid_verdict(stop, why):
    output = ModelOutput.from_content("mockllm/judge", "T", stop_reason=stop)
    verdict, _ = asked(output)
    assert verdict.passed is None
    assert why in verdict.invalid


@pytest.mark.parametrize(
    ("message", "asked_again"), [("logprobs is not supported", True), ("broke", False)]
)
def test_a_service_that_refuses_probabilities_is_asked_without_them(message, asked_again):
    configs = []

    def answer(messages, tools, tool_choice, config):
        configs.append(config)
        if config.logprobs:
            raise ValueError(message)
        output = ModelOutput.from_content("mockllm/judge", "F")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    model = get_model("mockllm/judge", custom_outputs=answer, memoize=False)
    if asked_again:
        verdict = asyncio.run(judge_letter(model, "T or F?", "E1"))
        assert (verdict.passed, verdict.probability) == (False, None)
        assert [config.top_logprobs for config in configs] == [20, None]
    else:
        with pytest.raises(ValueError, match="broke"):
            asyncio.run(judge_letter(model, "T or F?", "E1"))


def test_a_judge_of_an_evaluation_that_takes_no_temperature_and_no_schema_answers_without():
    configs = []

    def answer(messages, tools, tool_choice, config):
        configs.append(config)
        if config.temperature is not None:
            raise ValueError("'temperature' does not support 0 with this model")
        if config.response_schema is not None:
            raise ValueError("response_format is not supported")
        output = ModelOutput.from_content("mockllm/judge", '{"E1": {"value": false}}')
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    model = get_model("mockllm/judge", custom_outputs=answer, memoize=False)
    verdict = asyncio.run(judge_once(model, "Does it hold?", "E1", structured=True))
    assert verdict.passed is False
    assert [config.temperature for config in configs] == [0.0, None, None]


def vote(passed, name="j"):
    invalid = None if passed is not None else "unreadable"
    return Verdict(criterion="c", passed=passed, invalid=invalid, judge=name)


def test_a_panel_of_one_is_its_member():
    assert panel_verdict([vote(True, "solo")]).judge == "solo"


@given(st.lists(st.sampled_from([True, False, None]), min_size=2, max_size=9), st.randoms())
def test_majority_of_the_valid_votes_in_any_order(votes, random):
    verdict = panel_verdict([vote(v) for v in votes])
    yes, no = votes.count(True), votes.count(False)
    assert verdict.judge == PANEL
    assert verdict.passed == (None if yes == no else yes > no)
    assert verdict.invalid == (None if yes != no else "tie" if yes else "no valid verdict")
    random.shuffle(votes)
    assert panel_verdict([vote(v) for v in votes]) == verdict


def test_votes_on_different_criteria_do_not_mix():
    other = Verdict(criterion="d", passed=True, judge="j")
    with pytest.raises(ValueError, match="one criterion"):
        panel_verdict([vote(True), other])
    with pytest.raises(ValueError, match="at least one"):
        panel_verdict([])
