"""self-contrast and evidence: what they compare, what they cite, what they cannot know."""

import asyncio
import math

import pytest
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from contrafact.errors import InputError
from contrafact.families.rfc.data import items_of
from contrafact.families.rfc.methods import evidence, self_contrast
from contrafact.families.rfc.methods.evidence import Citation, check_citations, citations
from contrafact.families.rfc.methods.self_contrast import counterparts
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask
from contrafact.records import Rewrite

TEXT = (
    "Velmont Valves sales rise. Sales at Velmont Valves rose 8% to $412 million in the second "
    "quarter due to firm demand from shipyards, and it employs 3,100 people."
)
CALM = "Velmont Valves names a finance chief. The maker of valves named a finance chief."
TORN = "Velmont Valves cuts its outlook. It cut the outlook to $96 million from $90 million."


def pair(text, article="a1", **more):
    return Rewrite.of("numerical", text, text + " So it is.", article_id=article, **more)


def item(text, **more):
    return items_of("rfc-detect", [pair(text, **more)])[0]


def ask(reply="", model="mockllm/model"):
    output = ModelOutput.from_content("mockllm/model", reply)
    output.usage = ModelUsage(input_tokens=9, output_tokens=9, total_tokens=18)
    return Ask(get_model(model, custom_outputs=[output]))


def contrast(**given):
    return self_contrast.method(MethodContext(task="rfc-detect", **given))


def by_likelihood(monkeypatch, worth):
    """Let every text have the log-likelihood that a function gives it."""

    async def scored(ask, prompt, reply, *, most):
        return worth(reply)

    monkeypatch.setattr(self_contrast, "reply_logprob", scored)
    answerer = contrast(options={"by": "likelihood", "each": 1})
    return lambda text: asyncio.run(answerer(item(text), ask()))


def test_counterparts_are_other_versions_each_but_once():
    made = counterparts(TEXT, each=2)
    assert {name.partition("-")[0] for name in made} >= {"numerical", "causal"}
    assert len({*made.values(), TEXT}) == len(made) + 1


def test_a_paragraph_likelier_than_its_counterparts_passes_and_a_less_likely_one_does_not(
    monkeypatch,
):
    other = by_likelihood(monkeypatch, lambda text: 0.0 if text == TEXT else -9.0)(TEXT)
    assert other.predicted == "true"
    assert other.probabilities["true"] == pytest.approx(1 / (1 + math.exp(-9.0 / 4.0)))
    assert all(margin == 9.0 for margin in other.trace["margins"].values())
    assert (
        by_likelihood(monkeypatch, lambda t: -9.0 if t == TEXT else 0.0)(TEXT).predicted == "false"
    )


def test_what_contradicts_itself_is_manipulated_however_likely_it_is(monkeypatch):
    answer = by_likelihood(monkeypatch, lambda text: 0.0 if text == TORN else -50.0)(TORN)
    assert answer.predicted == "false"
    assert "$90 million" in answer.rationale


def test_without_a_counterpart_nothing_can_be_known_and_the_answer_says_so():
    assert counterparts(CALM) == {}
    answer = asyncio.run(contrast()(item(CALM), ask()))
    assert (answer.predicted, answer.invalid.partition(":")[0]) == (None, "cannot be known")
    assert contrast().plan(item(CALM)) == []


def test_by_prompt_the_version_that_is_named_decides():
    place = contrast()._versions(item(TEXT), list(counterparts(TEXT).values()))[1]
    for number, label in ((place, "true"), (place % 3 + 1, "false")):
        answer = asyncio.run(contrast()(item(TEXT), ask(f"Number: {number}.")))
        assert answer.predicted == label
    for reply in ("All of them", "1 or 2", "99"):
        answer = asyncio.run(contrast()(item(TEXT), ask(reply)))
        assert answer.predicted is None
        assert answer.invalid


def test_the_place_of_the_paragraph_among_its_versions_tells_nothing():
    seeds = {contrast(seed=n)._versions(item(TEXT), ["a", "b"])[1] for n in range(20)}
    assert seeds == {1, 2, 3}


def test_a_model_over_http_is_not_asked_for_the_likelihood_of_a_text():
    with pytest.raises(InputError, match="gives no likelihood of a whole text"):
        contrast(models=["openai/gpt-4o"], options={"by": "likelihood"})
    with pytest.raises(InputError, match="no way 'guess'"):
        contrast(options={"by": "guess"})


def test_citations_are_read_and_checked_to_exist():
    reply = 'It fell before [2: "sales fell 4%"], and [P] says so, [1: “Rose, again”].\nfalse'
    found = citations(reply)
    assert found == [
        Citation("2", "sales fell 4%"),
        Citation("P", ""),
        Citation("1", "Rose, again"),
    ]
    shown = ["It rose again in May.", "Velmont sales fell 4% in April."]
    assert check_citations(found, shown, TEXT) is None
    assert check_citations(found, shown[:1], TEXT) == "cites [2], which is not there"
    wrong = [Citation("1", "it sank")]
    assert check_citations(wrong, shown, TEXT) == "quotes words that [1] does not have"


EARLIER = pair(
    "Velmont Valves sales fall in spring. Sales at Velmont Valves fell 4% as shipyards held back.",
    "a0", date="2025-01-05", ticker="VLV",
)  # fmt: skip
LATER = pair(
    "Velmont Valves sales soar in autumn. Sales at Velmont Valves soared as yards placed orders.",
    "a2", date="2025-09-05", ticker="VLV",
)  # fmt: skip
SHOWN = pair(TEXT, "a1", date="2025-05-05", ticker="VLV")


def answered(reply):
    context = MethodContext(task="rfc-detect", items=[EARLIER, LATER, SHOWN])
    answerer = evidence.method(context)
    shown = items_of("rfc-detect", [SHOWN])[0]
    return answerer, shown, asyncio.run(answerer(shown, ask(reply)))


def test_evidence_is_the_company_s_own_earlier_news_and_nothing_later():
    answerer, shown, _ = answered("true")
    assert answerer.evidence(shown) == [EARLIER.original]
    (call,) = answerer.plan(shown)
    assert EARLIER.original in call.prompt
    assert LATER.original not in call.prompt


@pytest.mark.parametrize(
    ("reply", "predicted", "invalid"),
    [
        ('Sales fell [1: "fell 4%"] and now rise.\nfalse', "false", None),
        ("Nothing bears on it.\ntrue", "true", None),
        ('It says so [3: "fell 4%"].\nfalse', None, "cites [3], which is not there"),
        ('It says so [1: "fell 9%"].\ntrue', None, "quotes words that [1] does not have"),
        ("It is wrong.\nfalse", None, "false, and cites nothing"),
    ],
)
def test_an_answer_that_cites_what_is_not_there_is_invalid(reply, predicted, invalid):
    answer = answered(reply)[2]
    assert (answer.predicted, answer.invalid) == (predicted, invalid)
    assert answer.trace["citations_exist"] is (invalid is None or "nothing" in invalid)


@pytest.mark.slow
def test_the_embedded_model_gives_a_likelihood_of_a_text():
    answer = asyncio.run(contrast()(item(TEXT), Ask(get_model("embedded/smollm2-135m"))))
    assert answer.trace["logprob"] < 0
    assert set(answer.trace["margins"]) == set(counterparts(TEXT))
