"""lm-counterfactuals: one noise, three texts; what is read, kept and measured."""

import asyncio
import json
from dataclasses import asdict

import pytest
from inspect_ai.model import get_model

from contrafact.families.finforce.data import bundled_headlines
from contrafact.families.finforce.generation import Generation, run_method
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.methods.lm_counterfactuals import _engine, read_line
from contrafact.families.finforce.records import SIDES, Headline
from contrafact.families.finforce.task import finforce
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings
from contrafact.models.asking import Ask
from contrafact.models.whitebox.noise import (
    Sampling,
    draw,
    generate,
    prompt_tokens,
)
from contrafact.models.whitebox.weights import shared_causal, weights_name
from contrafact.prompts import export_pack, open_pack
from contrafact.text.diff import normalised_edit_distance

HEADLINES = bundled_headlines()[:2]
LIKED = "Ċabc"  # of a byte model that ends its lines


@pytest.mark.parametrize(
    ("text", "line", "repairs"),
    [
        ("Tern & Vale cuts jobs.", "Tern & Vale cuts jobs.", []),
        ("  Tern  &\tVale cuts\n", "Tern & Vale cuts", []),
        ('"Tern & Vale cuts jobs"', "Tern & Vale cuts jobs", ["marks around the headline"]),
        ("**“Tern cuts”**", "Tern cuts", ["marks around the headline"]),
        ('"Jobs" and "pay" fall', '"Jobs" and "pay" fall', []),
        ('"Jobs," says "Tern"', '"Jobs," says "Tern"', []),
        (
            "Here is the headline:\n\nTern cuts jobs\n\nNote: invented.",
            "Tern cuts jobs",
            ["introduction", "text after the headline"],
        ),
    ],
)
def test_a_headline_is_read_from_plain_text_and_repairs_are_reported(text, line, repairs):
    assert read_line(text, "risk", ended=True) == (line, None, repairs)


@pytest.mark.parametrize(
    ("text", "ended", "reason"),
    [
        ("", True, "the risk counterfactual is empty"),
        (' \n"…" \n', True, "the risk counterfactual is empty"),
        ("Tern & Vale cuts", False, "cut off at the token limit"),
        ("Here it is:\nTern & Vale cuts", False, "cut off at the token limit"),
        ("x" * 2001, True, "the risk counterfactual is over 2000 characters"),
    ],
)
def test_what_is_no_whole_headline_is_invalid_with_its_reason(text, ended, reason):
    assert read_line(text, "risk", ended=ended)[:2] == (None, reason)


def test_a_line_that_is_whole_counts_although_what_follows_was_cut():
    assert read_line("Tern cuts jobs\nAnd the", "risk", ended=False)[0] == "Tern cuts jobs"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("embedded/smollm2-135m", "smollm2-135m"),
        ("embedded//folder/model.gguf", "/folder/model.gguf"),
        ("whitebox/openai-community/gpt2", "openai-community/gpt2"),
        ("whitebox//folder", "/folder"),
        ("hf/gpt2", "gpt2"),
        ("openai/gpt-4o", None),
        ("whitebox/", None),
        ("embedded", None),
    ],
)
def test_names_of_models_with_weights_are_told_from_services(model, name):
    assert weights_name(model) == name


def test_a_pack_without_the_prompts_is_reported_before_anything_is_loaded(tmp_path):
    export_pack(tmp_path / "pack")
    (tmp_path / "pack" / "finforce" / "lm-counterfactuals-risk.jinja").unlink()
    context = MethodContext(pack=open_pack(tmp_path / "pack"))
    with pytest.raises(Exception, match=r"lacks the template 'finforce/lm-counterfactuals-risk"):
        METHODS.make("lm-counterfactuals", context)
    METHODS.make("lm-counterfactuals:prompts=one", context)


@pytest.fixture(scope="module")
def weights(byte_model, tmp_path_factory):
    return str(byte_model(tmp_path_factory.mktemp("bytes"), context=2_000, seed=1, liked=LIKED))


@pytest.fixture(scope="module")
def write(weights):
    """Run the method on all headlines at once, as a run does."""

    def run(spec: str, headlines=HEADLINES, *, seed: int = 0) -> list[Generation]:
        model = f"whitebox/{weights}"
        method = METHODS.make(spec, MethodContext(RunSettings(seed=seed, models=(model,))))

        async def all_at_once():
            ask = Ask(get_model(model))
            return await asyncio.gather(*(run_method(method, one, ask) for one in headlines))

        return asyncio.run(all_at_once())

    return run


def test_shared_noise_holds_what_fresh_noise_does_not(write, weights):
    shared = write("lm-counterfactuals:max-tokens=8,temperature=0.5")
    fresh = write("lm-counterfactuals:max-tokens=8,temperature=0.5,noise=fresh")
    (other,) = write("lm-counterfactuals:max-tokens=8,temperature=0.5", HEADLINES[:1], seed=1)
    assert other.trace["tokens"]["base"] != shared[0].trace["tokens"]["base"]
    causal = shared_causal(weights)
    assert shared_causal(weights) is causal
    assert _engine(f"whitebox/{weights}", {}).causal is causal
    method = METHODS.make("lm-counterfactuals", MethodContext())
    for number, headline in enumerate(HEADLINES):
        held, drawn = shared[number].trace, fresh[number].trace
        assert held["base"] and held["tokens"]["base"] == drawn["tokens"]["base"]
        # What the queue wrote is what generating alone gives: noise by seed and headline.
        prompts = [prompt_tokens(causal, call.prompt) for call in method.plan(headline)]
        noise = draw(0, f"{headline.id} 1")
        alone = generate(causal, prompts, [noise] * 3, max_tokens=8, sampling=Sampling(0.5))
        for part, one in zip(("base", *SIDES), alone, strict=True):
            same = held["tokens"][part] == list(one.tokens)
            assert same or min(held["least_lead"][part], *one.leads) < 1e-3
    tokens = [[one.trace["tokens"][side] for one in shared for side in SIDES], [
        one.trace["tokens"][side] for one in fresh for side in SIDES
    ]]  # fmt: skip
    assert tokens[0] != tokens[1]


def test_what_is_kept_can_be_stored_and_distances_are_of_what_was_read(write):
    (one,) = write("lm-counterfactuals:max-tokens=48,temperature=0.5", HEADLINES[:1])
    stored = json.loads(json.dumps(asdict(one)))
    trace = stored["trace"]
    for side in SIDES:
        text = stored["texts"][side]
        assert (text is None) == (side in stored["invalid"])
        expected = None if text is None else normalised_edit_distance(text, trace["base"])
        assert trace["base_distance"][side] == expected
    assert stored["texts"]["risk"] or stored["texts"]["opportunity"]


def test_a_headline_too_long_is_invalid_and_others_are_not_concerned(write):
    long = Headline.of("Tern & Vale raises its dividend and " * 1_200)
    first, second = write("lm-counterfactuals:max-tokens=4", [long, HEADLINES[0]])
    assert set(first.texts.values()) == {None}
    assert first.invalid["risk"].startswith("prompt too long: a prompt of ")
    assert second.trace["tokens"]["base"]


def test_one_prompt_for_both_sides_is_read_as_json(write):
    (one,) = write("lm-counterfactuals:max-tokens=8,prompts=one", HEADLINES[:1])
    assert set(one.trace["tokens"]) == {"base", "pair"}
    assert set(one.invalid.values()) == {"cut off at the token limit"}


@pytest.mark.parametrize(
    "method",
    [
        "lm-counterfactuals:temperature=0.7,noise=fresh",
        # As `inspect eval -T` gives it: parted at commas.
        ["lm-counterfactuals:temperature=0.7", "noise=fresh"],
    ],
)
def test_the_task_knows_its_method_with_its_options(method):
    task = finforce(method=method, judged=False, limit=1)
    assert task.metadata["method"] == "lm-counterfactuals:noise=fresh,temperature=0.7"
    assert task.name == "finforce-lm-counterfactuals-temperature-0.7-noise-fresh"
