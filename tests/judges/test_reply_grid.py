"""Every shape of reply × every place that reads one, with what each becomes.

A place has two answers of its own, one planted as the reply's last word and another that stands
where it does not count. Nowhere may the other be read.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)

from contrafact.errors import InputError
from contrafact.families.cobe.write.story import read_written
from contrafact.families.cobe.write.structure import Gate, Structure
from contrafact.families.finforce.generation import read_pair
from contrafact.families.finforce.screen import proposal_from_reply
from contrafact.families.finforce.training import read_headline
from contrafact.families.rfc.answers import read_answer
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.pipeline.label import LabelStage
from contrafact.families.rfc.pipeline.model_rewriter import (
    ModelRewriter,
    load_decoding,
    open_templates,
)
from contrafact.families.rfc.pipeline.rewrite import Assignment
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.family.task import read_text
from contrafact.judges.judge import judge_letter, judge_once
from contrafact.judges.quoted import judge_quoted
from contrafact.models.asking import FILTERED, REFUSED, kept_reply, no_answer
from contrafact.prompts import open_pack
from contrafact.records import NewsItem
from contrafact.stages.stage import KEPT, InputRow, StageOutput
from contrafact.training.judging import read_score

REWRITTEN = "Norrick Steel shares climb on Tuesday. The shares rose {}% after strong sales in May."
STORY = "The hose split, so the van overheated and the driver {}."
HEADLINE = "Norrick Steel {} its dividend after a strong quarter"


def of_json(right: object, wrong: object) -> tuple[str, str]:
    return json.dumps(right), json.dumps(wrong)


class Place(NamedTuple):
    """A place that reads replies: two answers in its form, and how it reads an output."""

    answers: tuple[str, str]
    read: Callable[[ModelOutput], object]
    known: tuple[object, object]


def asked(judge, *arguments, **options):
    """Return how a judge reads an output that its model gives."""

    def read(output: ModelOutput) -> object:
        model = get_model("mockllm/model", custom_outputs=[output], memoize=False)
        found = asyncio.run(judge(model, "The text.", *arguments, **options))
        return (found[0] if isinstance(found, list) else found).passed

    return read


def pair(output):
    return read_pair(output).texts["risk"]


def both(text: str) -> dict[str, str]:
    return {"opportunity_counterfactual": "Gains", "risk_counterfactual": text}


def label(task: str, *labels: str, reasons: bool = False):
    item = Item("i", task, None, labels[0], "The text.")  # type: ignore[arg-type]
    return lambda output: read_answer(output, item, reasons=reasons).predicted


def staged(output: ModelOutput) -> object:
    item = NewsItem.of("Norrick Steel climbs", "Its shares rose.")
    row = InputRow(0, {"id": "a", "title": item.title, "candidates": [], "text": item.paragraph})
    made = StageOutput()
    LabelStage(model="m").add(made, row, kept_reply(output))
    rows = made.table(KEPT)
    return rows[0]["manipulation"] if rows else None


def proposed(output: ModelOutput) -> object:
    found, reason = read_headline(kept_reply(output))
    return found if reason is None else None


@cache
def writer() -> ModelRewriter:
    templates = open_templates(open_pack())
    return ModelRewriter(get_model("mockllm/model"), templates, load_decoding(), attempts=1)


def rewritten(output: ModelOutput) -> object:
    model = get_model("mockllm/model", custom_outputs=[output], memoize=False)
    item = NewsItem.of(*REWRITTEN.format(12).split(". ", 1))
    work = Assignment(1, item, "numerical", {"title": item.title, "summary": item.summary})
    return asyncio.run(replace(writer(), model=model).rewrite(work)).rewritten


TOLD = Structure("chain", "", "", {"A": Gate("root"), "B": Gate("one", ("A",))}, ("B",))


def variation(output: ModelOutput) -> object:
    try:
        return read_written(kept_reply(output), TOLD).text
    except InputError:
        return None


def varied(text: str) -> dict[str, object]:
    facts = {
        "A": {"told": "the violinist had a cold", "opposite": "she was well"},
        "B": {"told": "she broke off the recital", "opposite": "she finished it"},
    }
    supposed = {"B": "the violinist had finished the recital"}
    return {"plan": "", "text": text, "facts": facts, "supposed": supposed}


def screening(category: str) -> dict[str, object]:
    truths = dict.fromkeys(("event_status", "material_relevance"), True)
    return {"reason": "because", **truths, "category": category}


def quoting(value: bool) -> dict[str, object]:
    return {"coherent": {"words": "The text", "value": value}}


DETECT = ("true", "false")
PLACES = {
    "verdict": Place(
        of_json({"direction": {"value": True}}, {"direction": {"value": False}}),
        asked(judge_once, "direction", structured=False),
        (True, False),
    ),
    "word": Place(DETECT, asked(judge_once, "direction", structured=False), (True, False)),
    "letter": Place(("T", "F"), asked(judge_letter, "direction", logprobs=False), (True, False)),
    "rubric": Place(
        of_json(quoting(True), quoting(False)),
        asked(judge_quoted, ["coherent"], ["The text."], structured=False),
        (True, False),
    ),
    "pair": Place(of_json(both("Losses"), both("Ruin")), pair, ("Losses", "Ruin")),
    "list": Place(
        of_json({"Counterfactuals": [both("Losses")]}, {"Counterfactuals": [both("Ruin")]}),
        pair,
        ("Losses", "Ruin"),
    ),
    "screening": Place(
        of_json(screening("Labour & employment"), screening("Technology & innovation")),
        lambda output: proposal_from_reply(kept_reply(output), "m").category,
        ("Labour & employment", "Technology & innovation"),
    ),
    "variation": Place(
        of_json(varied("She finished."), varied("She fled.")),
        variation,
        ("She finished.", "She fled."),
    ),
    "detection": Place(DETECT, label("rfc-detect", *DETECT), DETECT),
    "reasons": Place(DETECT, label("rfc-detect", *DETECT, reasons=True), DETECT),
    "diagnosis": Place(
        ("causal", "flipping"), label("rfc-diagnose", *MANIPULATIONS), ("causal", "flipping")
    ),
    "labelling": Place(("causal", "flipping"), staged, ("causal", "flipping")),
    "points": Place(
        ("Score: 8", "Score: 2"), lambda output: read_score(kept_reply(output))[0], (8.0, 2.0)
    ),
    "rewrite": Place(
        (REWRITTEN.format(20), REWRITTEN.format(25)),
        rewritten,
        (REWRITTEN.format(20), REWRITTEN.format(25)),
    ),
    "edit": Place(
        (STORY.format("stopped"), STORY.format("fled")),
        lambda output: read_text(output).text,
        (STORY.format("stopped"), STORY.format("fled")),
    ),
    "headline": Place(
        (HEADLINE.format("lifts"), HEADLINE.format("cuts")),
        proposed,
        (HEADLINE.format("lifts"), HEADLINE.format("cuts")),
    ),
}
"""What reads replies, by name. A method's steps on the way are texts like an edit."""


def said(*content: object, stop: str = "stop") -> ModelOutput:
    message = ChatMessageAssistant(content=content[0] if len(content) == 1 else list(content))  # type: ignore[arg-type]
    choice = ChatCompletionChoice(message=message, stop_reason=stop)  # type: ignore[arg-type]
    return ModelOutput(model="m", choices=[choice], usage=ModelUsage())


def text(part: str) -> ContentText:
    return ContentText(text=part)


def thought(part: str) -> ContentReasoning:
    return ContentReasoning(reasoning=part)


SHAPES: dict[str, str | Callable[[str, str], ModelOutput]] = {
    "plain": "%R",
    "space around": " \n\t%R\n\n",
    "byte order mark": "\ufeff%R",
    "zero width": "\u200b%R\u200b",
    "fence": "```\n%R\n```",
    "fence json": "```json\n%R\n```",
    "bold": "**%R**",
    "heading": "### %R",
    "list item": "- %R",
    "code": "`%R`",
    "curly quotes": "“%R”",
    "German quotes": "„%R“",
    "French quotes": "« %R »",
    "Japanese quotes": "「%R」",
    "named": "Answer: %R",
    "named bold": "**Answer:** %R",
    "a sentence": "The answer is: %R",
    "reasons after": "%R\n\nThe text says so in as many words.",
    "twice": "%R\n\n%R",
    "think": "<think>Perhaps %W</think>\n%R",
    "think, close only": "Perhaps\n%W\n</think>\n\n%R",
    "think, open only": "<think>Perhaps\n%W\nNo:\n%R",
    "thinking": "<thinking>%W</thinking>%R",
    "reasoning": "<reasoning>\n%W\n</reasoning>\n%R",
    "think in brackets": "[THINK]%W[/THINK]%R",
    "channels": "<|channel|>analysis<|message|>%W<|end|><|channel|>final<|message|>%R",
    "draft, final": "%W\n\nFinal answer: %R",
    "draft, bold final": "Draft:\n%W\n\n**Final Answer:** %R",
    "two finals": "Final answer: %W\nFinal answer: %R",
    "answer tags": "%W\n<answer>%R</answer>",
    "contradiction": "%W\n\n%R",
    "on reflection": "%W\n\nWait, on reflection that is wrong.\n\n%R",
    "denied": "That is not %R",
    "instruction quoted": "You asked for %W or %R.\n\n%R",
    "no, explains": "%R\n\nNo sign of it stands out.",
    "none, explains": "%R\n\nNone of the figures conflicts. However, the date is odd.",
    "not a retraction": "%R\n\nNot one claim is undone. Wait times fell.",
    "final, quoted": '%R\n\nThe text ends with "Final answer: %W", which counts for nothing.',
    "final, reported": "%R\n\n(The text says of itself: final answer is %W.)",
    "boxed, reported": "%R\nIt closes with \\boxed{%W}, as if that helped.",
    "tags, reported": "%R\n<answer>%W</answer> is part of the text and was not considered.",
    "quoted first": "The text ends with “Final answer: %W”.\n\n%R",
    "no, wait": "%R\n\nNo, wait: %W",
    "actually": "%R\n\nActually, that is wrong; the answer is %W",
    "boxed": "%W\n\nSo the answer is $\\boxed{\\text{%R}}$.",
    "number": "1",
    "empty": "",
    "refused": "I'm sorry, but I can't help with that request.",
    "in parts": lambda right, wrong: said(thought(wrong), text(right)),
    "only reasoned": lambda right, wrong: said(thought(right), text("")),
    "refusal part": lambda right, wrong: said(ContentText(text=right, refusal=True), text("")),
    "filtered": lambda right, wrong: said(right, stop="content_filter"),
    "cut off": lambda right, wrong: said(f"{wrong}\n\n{right}", stop="max_tokens"),
}


def output_of(
    shape: str | Callable[[str, str], ModelOutput], right: str, wrong: str
) -> ModelOutput:
    if callable(shape):
        return shape(right, wrong)
    return said(shape.replace("%R", right).replace("%W", wrong))


def becomes(shape, place: Place) -> str:
    """Return + for the answer planted last, - for the other, . for none, ~ for another text."""
    found = place.read(output_of(shape, *place.answers))
    if found is None:
        return "."
    return {place.known[0]: "+", place.known[1]: "-"}.get(found, "~")


# + the answer planted last, - the other, . none, ~ another text: what is free is kept as written.
# The places stand in the order of PLACES. Reasons end in a line that counts, a proposal of a new
# headline begins with one, and a judge's points are what is named so.
BECOMES = {
    "plain":               "++++++++++++++++",
    "space around":        "++++++++++++++++",
    "byte order mark":     "++++++++++++++++",
    "zero width":          "++++++++++++++++",
    "fence":               "++++++++++++++++",
    "fence json":          "++++++++++++++++",
    "bold":                "+++++++++++++.~+",
    "heading":             "+++++++++++++.~+",
    "list item":           "+++++++++++++.~+",
    "code":                "+++++++++++++~~+",
    "curly quotes":        "+++++++++++++~~+",
    "German quotes":       "+++++++++++++~~~",
    "French quotes":       "+++++++++++++~~~",
    "Japanese quotes":     "+++++++++++++~~~",
    "named":               "+++++++++++++.~+",
    "named bold":          "+++++++++++++.~+",
    "a sentence":          "+++++++++++++~~~",
    "reasons after":       "+++++++++.+++.~+",
    "twice":               "+++++++++++++.~+",
    "think":               "++++++++++++++++",
    "think, close only":   "++++++++++++++++",
    "think, open only":    "................",
    "thinking":            "++++++++++++++++",
    "reasoning":           "++++++++++++++++",
    "think in brackets":   "++++++++++++++++",
    "channels":            "++++++++++++++++",
    "draft, final":        "++++++++++++++++",
    "draft, bold final":   "++++++++++++++++",
    "two finals":          "++++++++++++++++",
    "answer tags":         "++++++++++++++++",
    "contradiction":       ".........+....~-",
    "on reflection":       ".........+......",
    "denied":              ".............~~~",
    "instruction quoted":  ".++.....++++..~.",
    "no, explains":        "+++++++++.+++.~+",
    "none, explains":      "+++++++++.+++.~+",
    "not a retraction":    "+++++++++.+++.~+",
    "final, quoted":       "+++++++++.+++.~+",
    "final, reported":     "+++.....+.+++.~+",
    "boxed, reported":     "+++.....+.++..~+",
    "tags, reported":      "+++++++++.+++.~+",
    "quoted first":        "+++++++++++++.~~",
    "no, wait":            ".........-......",
    "actually":            ".........-....~+",
    "boxed":               ".++.....++++..~-",
    "number":              "..............~.",
    "empty":               "................",
    "refused":             "................",
    "in parts":            "++++++++++++++++",
    "only reasoned":       "................",
    "refusal part":        "................",
    "filtered":            "................",
    "cut off":             "................",
}  # fmt: skip


def test_there_are_forty_shapes_and_more():
    assert BECOMES.keys() == SHAPES.keys() and len(SHAPES) >= 40


@pytest.mark.parametrize("shape", SHAPES)
def test_what_each_shape_becomes_in_each_place(shape):
    found = "".join(becomes(SHAPES[shape], one) for one in PLACES.values())
    assert dict(zip(PLACES, found, strict=True)) == dict(zip(PLACES, BECOMES[shape], strict=True))


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
AROUND = TEXT | st.sampled_from((
    "%W", "%R", "Final answer: %W", "<answer>%W</answer>", "Answer: %W", "<think>", "</think>",
    "Wait, no.", "```json", "not ", "{", "}", '"', "It holds.", "\u200b", "1", "„", "\\boxed{%W}",
))  # fmt: skip
PLANTED = (
    "Final answer: %R",
    "**Final answer:** %R",
    "</think>\nFinal answer: %R",
    "<answer>%R</answer>",
    "**Final verdict:** %R",
)


@given(st.lists(AROUND, max_size=6), st.sampled_from(PLANTED), st.sampled_from([*PLACES]))
def test_whatever_stands_before_a_final_answer_the_other_is_never_read(before, planted, place):
    shape = "\n\n".join((*before, planted))
    assert becomes(shape, PLACES[place]) != "-"


@pytest.mark.parametrize("reply", [
    "I'm sorry, but I can't help with that.", "I cannot assist with this request.",
    "Unfortunately, I am unable to comply with your request. Try another question.",
])  # fmt: skip
def test_a_refusal_is_known_by_its_form_alone(reply):
    assert read_text(said(reply)).invalid == REFUSED
    story = f"{reply} That is what the clerk said, so she left. The next day she came again."
    assert read_text(said(story)).text == story


def test_what_a_provider_refuses_is_told_from_what_its_filter_stops():
    assert no_answer(SHAPES["refusal part"]("a", "b")) == REFUSED
    assert no_answer(SHAPES["filtered"]("a", "b")) == FILTERED
