"""The probability of an answer: that of the token where it begins."""

import math

import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Logprob,
    Logprobs,
    ModelOutput,
    TopLogprob,
)

from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.judges.probabilities import answer_masses
from contrafact.judges.replies import read_label, read_letter

LETTERS, LABELS = ("T", "F"), ("true", "false")


def token(text, bytes_=None, **top):
    likely = [TopLogprob(token=t, logprob=math.log(p), bytes=None) for t, p in top.items()]
    return Logprob(token=text, logprob=-9999.0, bytes=bytes_, top_logprobs=likely)


def masses(reply, tokens, answers=LETTERS):
    choice = ChatCompletionChoice(
        message=ChatMessageAssistant(content=reply), logprobs=Logprobs(content=tokens)
    )
    read = read_letter(reply) if answers is LETTERS else read_label(reply, answers)
    return answer_masses(ModelOutput(model="m", choices=[choice]), read.at, answers)


T = token("T", T=0.95, F=0.03)
THINKS = [token("F", F=0.9, T=0.08), token("irst", irst=1.0), token("</think>")]


@pytest.mark.parametrize(
    ("reply", "tokens"),
    [
        ("T", [T]),
        ("T", [*THINKS, T]),
        ("T", [token("<think>"), token("T", T=0.4, F=0.5), token("</think>"), T]),
        ("T", [*THINKS, token("\n\n"), T, token("<|im_end|>")]),
        ("<think>F or T?</think>\n\nT", [token("<think>F or T?"), token("</think>\n\n"), T]),
        ("T", [token("ĠT", ĠT=0.95, ĠF=0.03)]),
        ("T", [*THINKS, token("▁T", **{"▁T": 0.95, "▁F": 0.03})]),
        ("**T**", [token("**", T=0.1), T, token("**")]),
        (
            "Answer: T",
            [token("Answer", F=0.9), token(":"), token(" T", **{" T": 0.95, " F": 0.03})],
        ),
        ("✅ T", [token("\\xe2\\x9c", [226, 156]), token("\\x85", [133]), token(" "), T]),
    ],
)
def test_the_probability_is_that_of_the_token_where_the_answer_begins(reply, tokens):
    assert masses(reply, tokens) == pytest.approx({"T": 0.95, "F": 0.03})


def test_where_no_answer_was_likely_or_tokens_are_of_another_text_there_is_none():
    never = Logprob(token="T", logprob=-9999.0, top_logprobs=[])
    impossible = [TopLogprob(token="T", logprob=-9999.0, bytes=None)]
    assert masses("T", [never]) is None
    assert masses("T", [never.model_copy(update={"top_logprobs": impossible})]) is None
    assert masses("T", [token("Okay", T=0.9)]) is None
    assert masses("T", []) is None


def test_a_label_that_is_split_or_begun_within_a_token_is_read_at_its_first_letters():
    split = [token(" f", f=0.6, t=0.2, The=0.2), token("alse", alse=1.0)]
    assert masses("false", split, LABELS) == pytest.approx({"true": 0.2, "false": 0.6})
    glued = [token("Label"), token(":false", **{":false": 0.7, ":true": 0.2})]
    assert masses("Label:false", glued, LABELS) == pytest.approx({"true": 0.2, "false": 0.7})
    after = [token("true", true=0.9, false=0.1), token(". Not"), token(" false", true=0.5)]
    assert masses("true. Not false", after, LABELS) == pytest.approx({"true": 0.9, "false": 0.1})
    found = masses("Causal", [token("Causal", Causal=0.6, sentiment=0.2, The=0.2)], MANIPULATIONS)
    assert found == pytest.approx({"numerical": 0, "flipping": 0, "sentiment": 0.2, "causal": 0.6})
