"""Both tasks under Inspect, with a model that says what a test wants."""

import math

import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    Logprob,
    Logprobs,
    TopLogprob,
    get_model,
)
from tests.support.replies import counted, evaluated

from contrafact.families.rfc.data import bundled_pairs
from contrafact.families.rfc.items import ITEM_COLUMNS, items_frame
from contrafact.families.rfc.scoring import pairwise_accuracy

pytestmark = pytest.mark.slow  # an evaluation takes seconds to start


def model(reply, name="model", logprobs=None):
    """A model whose reply is a function of the prompt."""

    def answer(messages, tools, tool_choice, config):
        output = counted(reply(messages[-1].text), name)
        if logprobs is not None and config.logprobs:
            message = output.choices[0].message
            tokens = Logprobs(content=logprobs(messages[-1].text))
            output.choices = [ChatCompletionChoice(message=message, logprobs=tokens)]
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer)


def run(tmp_path, task, model, **arguments):
    log, rates = evaluated(task, model, tmp_path, **arguments)
    rows = items_frame(log.samples, system="s", model="m", method="plain", shots=0)
    return rows, rates


ORIGINALS = {pair.original for pair in bundled_pairs()}


def shown(prompt):
    return prompt.rsplit("<paragraph>", 1)[1].split("</paragraph>")[0]


def test_one_who_knows_gets_everything_and_one_who_always_says_true_no_pair(tmp_path):
    knowing = model(lambda p: "true" if shown(p) in ORIGINALS else "False.")
    rows, rates = run(tmp_path, "rfc-detect", knowing)
    assert rates["accuracy"] == rates["pairwise_accuracy"] == rates["mcc"] == 1.0
    assert len(rows) == 48
    assert all(tuple(row) == ITEM_COLUMNS for row in rows)
    assert all(math.isnan(row["p_true"]) for row in rows)
    _, rates = run(tmp_path, "rfc-detect", model(lambda p: "true"))
    assert (rates["accuracy"], rates["pairwise_accuracy"], rates["mcc"]) == (0.5, 0.0, 0.0)


def test_invalid_replies_are_counted_kept_and_wrong_only_strictly(tmp_path):
    def reply(prompt):
        if shown(prompt).startswith("Brightmere"):
            return "true or false?"
        return "true" if shown(prompt) in ORIGINALS else "false"

    rows, rates = run(tmp_path, "rfc-detect", model(reply), limit=4)
    assert rates["invalid_rate"] == 0.25
    assert (rates["accuracy"], rates["accuracy_strict"]) == (1.0, 0.75)
    assert (rates["pairwise_accuracy"], rates["pairwise_accuracy_strict"]) == (1.0, 0.75)
    invalid = [row for row in rows if row["predicted"] is None]
    assert {row["invalid_reason"] for row in invalid} == {"several labels: true, false"}
    assert {row["reply"] for row in invalid} == {"true or false?"}


def test_diagnosis_shows_both_texts_and_is_scored_four_ways(tmp_path):
    kinds = {pair.rewritten: pair.manipulation for pair in bundled_pairs()}

    def reply(prompt):
        assert prompt.rsplit("<original>", 1)[1].split("</original>")[0] in ORIGINALS
        return kinds[shown(prompt)].upper()

    rows, rates = run(tmp_path, "rfc-diagnose", model(reply))
    assert rates["f1"] == 1.0
    assert "pairwise_accuracy" not in rates
    assert {row["gold"] for row in rows} == set(kinds.values())
    assert all(row["shown"] is None for row in rows)


def test_logprobs_give_probabilities(tmp_path):
    def tokens(prompt):
        p = 0.8 if shown(prompt) in ORIGINALS else 0.6  # says true to all, and ranks them right
        pair = [("True", p), ("false", 0.9 - p), (" maybe", 0.1)]
        top = [TopLogprob(token=t, logprob=math.log(q), bytes=None) for t, q in pair]
        return [Logprob(token="True", logprob=math.log(p), bytes=None, top_logprobs=top)]

    rows, rates = run(
        tmp_path, "rfc-detect", model(lambda p: "True", logprobs=tokens), logprobs=True
    )
    assert rates["accuracy"] == 0.5
    # It says true to all: of 0.8889 where that is right and 0.6667 where it is not.
    assert sorted({round(row["p_true"], 4) for row in rows}) == [0.6667, 0.8889]


def test_logprobs_give_diagnosis_probabilities_of_four_labels(tmp_path):
    kinds = {pair.rewritten: pair.manipulation for pair in bundled_pairs()}

    def tokens(prompt):
        first = {"numerical": "num", "flipping": "F", "sentiment": " sent", "causal": "ca"}
        share = dict.fromkeys(first.values(), 0.2) | {first[kinds[shown(prompt)]]: 0.3}
        top = [TopLogprob(token=t, logprob=math.log(q), bytes=None) for t, q in share.items()]
        begun = Logprob(token="num", logprob=math.log(0.2), bytes=None, top_logprobs=top)
        return [begun, Logprob(token="erical", logprob=0.0, bytes=None, top_logprobs=top[:0])]

    says_one = model(lambda p: "numerical", logprobs=tokens)
    rows, rates = run(tmp_path, "rfc-diagnose", says_one, logprobs=True)
    assert rates["accuracy"] == 0.25
    for row in rows:
        assert row[f"p_{row['gold']}"] == pytest.approx(1 / 3)
        assert math.isnan(row["p_true"])


def test_pairs_of_which_one_member_was_shown_count_in_no_pairwise_figure():
    half = [{"pair_id": "a", "gold": "false", "predicted": "false"}]
    assert all(math.isnan(value) for value in pairwise_accuracy(half))
