"""Labels scored after a prompt: by the embedded model, by the same weights in PyTorch, by hand."""

import asyncio
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import GenerateConfig, get_model

from contrafact.errors import InputError
from contrafact.models.asking import Ask
from contrafact.models.likelihood import (
    LabelLogprobs,
    begun_label,
    calls_for,
    label_logprobs,
    spellings,
)
from contrafact.records import MANIPULATIONS

TOLERANCE = 0.06
"""By how much probabilities of llama.cpp and of PyTorch in float32 may differ."""

PROMPTS = {
    ("true", "false"): "Water boils at a lower temperature on a mountain. Answer true or false.",
    MANIPULATIONS: (
        "Sales rose 4%. Sales rose 9%. Which was it: numerical, flipping, sentiment or causal? "
        "Answer with one word."
    ),
}


def test_the_spellings_of_a_label_differ_in_case_and_space():
    assert spellings("true") == ("true", "True", " true", " True")
    assert calls_for(("true", "false"), "embedded/smollm2-135m") == 8
    assert calls_for(("true", "false"), "openai/gpt-4o") == 1


@given(st.sampled_from(MANIPULATIONS), st.integers(1, 12), st.sampled_from(["", " ", "\n"]))
def test_every_beginning_of_a_label_begins_that_label(label, length, space):
    for start in (label, label.upper(), label.capitalize()):
        assert begun_label(space + start[:length], MANIPULATIONS) == label
    assert begun_label(space + label + "ly", MANIPULATIONS) is None
    assert begun_label(space, MANIPULATIONS) is None


@given(st.lists(st.floats(-800, 0), min_size=4, max_size=4))
def test_shares_add_up_to_one_and_keep_the_order(logprobs):
    found = LabelLogprobs(dict(zip(MANIPULATIONS, logprobs, strict=True)), whole=True).shares()
    assert sum(found.values()) == pytest.approx(1.0)
    best = max(MANIPULATIONS, key=dict(zip(MANIPULATIONS, logprobs, strict=True)).__getitem__)
    assert found[best] == max(found.values())


def test_labels_that_begin_alike_are_refused(model):
    with pytest.raises(ValueError, match="begin alike"):
        asyncio.run(label_logprobs(Ask(model), "Which?", ("true", "truth")))


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"temperature": 1.5, "seed": 3}])
def test_the_embedded_model_writes_one_of_the_replies_it_is_held_to(ask, settings):
    choice = ["numerical", "flipping", "sentiment", "causal"]
    shown = ask("Tell me a story.", max_tokens=32, extra_body={"guided_choice": choice}, **settings)
    assert shown.completion in choice
    assert shown.stop_reason == "stop"


@pytest.mark.parametrize("choice", ["true", [], [""], [1]])
def test_a_choice_that_is_no_list_of_replies_is_refused(ask, choice):
    with pytest.raises(InputError, match="list of replies"):
        ask("Well?", extra_body={"guided_choice": choice})


@pytest.mark.slow
@pytest.mark.parametrize("labels", PROMPTS)
def test_label_probabilities_are_those_of_the_weights(model, smollm, labels):
    prompt = PROMPTS[labels]
    expected = LabelLogprobs(by_weights(smollm, prompt, labels), whole=True)
    # Whatever settings a run has, labels are scored at temperature 1.
    busy = GenerateConfig(temperature=0.7, max_tokens=1)
    found = asyncio.run(label_logprobs(Ask(model, config=busy), prompt, labels))
    assert found.whole and not found.at_most
    for label in labels:
        assert found.shares()[label] == pytest.approx(expected.shares()[label], abs=TOLERANCE)
        assert found.logprobs[label] == pytest.approx(expected.logprobs[label], rel=0.05)
    own = asyncio.run(label_logprobs(Ask(get_model("whitebox/smollm2-135m")), prompt, labels))
    assert own.logprobs == pytest.approx(expected.logprobs, abs=1e-3)


def by_weights(smollm, prompt, labels):
    """One pass for each spelling, the log-probabilities of its own tokens added up."""
    import torch

    start = smollm.tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
    )
    before = smollm.tokenizer(start, add_special_tokens=False)["input_ids"]
    found = {}
    for label in labels:
        total = 0.0
        for spelling in spellings(label):
            own = smollm.tokenizer(spelling, add_special_tokens=False)["input_ids"]
            assert re.fullmatch(re.escape(spelling), smollm.tokenizer.decode(own))
            with torch.inference_mode():
                logits = smollm.model(torch.tensor([[*before, *own]])).logits[0].double()
            log_p = logits.log_softmax(-1)
            places = range(len(before) - 1, len(before) + len(own) - 1)
            total += math.exp(sum(float(log_p[p, t]) for p, t in zip(places, own, strict=True)))
        found[label] = math.log(total)
    return found
