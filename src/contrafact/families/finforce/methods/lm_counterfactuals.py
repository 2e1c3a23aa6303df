"""lm-counterfactuals: what the model would have written, with the same sampling noise.

FIN-FORCE, section 4 and B.2, table 11, after Ravfogel et al. (2024). The model writes a base
continuation of the headline; risk and opportunity are written under the same noise, so that they
differ from the base by what the prompt asks, and not by chance. The noise of the base is drawn
here, so it need not be inferred from the text, as the original method does.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from inspect_ai.model import ModelOutput

from contrafact.errors import InputError
from contrafact.families.finforce.generation import MAX_CHARACTERS, Generation, read_pair
from contrafact.families.finforce.records import SIDES, Headline, Side
from contrafact.family.method import MethodContext, Option
from contrafact.models.asking import Ask, PlannedCall, Unanswered
from contrafact.text.delimit import delimit, replace_surrogates
from contrafact.text.diff import normalised_edit_distance

if TYPE_CHECKING:
    from contrafact.models.whitebox.completion import Completion
    from contrafact.models.whitebox.provider import Engine, WhiteboxSettings

OPTIONS: Mapping[str, Option] = {
    "noise": "shared",
    "prompts": "each",
    "temperature": 1.0,
    "top-p": 1.0,
    "max-tokens": 96,
}
"""``noise``: ``shared`` by base, risk and opportunity, or ``fresh`` for each, as a control.
``prompts``: a prompt for ``each`` side, answered by a headline, or ``one`` prompt for both sides,
answered by JSON. The others are the sampling settings of all three texts."""

_CHOICES = {"noise": ("shared", "fresh"), "prompts": ("each", "one")}
_REPLY_TOKENS = 40
_ROWS = 48  # texts per batch, three for each of 16 headlines: the fastest on two cores


class LmCounterfactuals:
    shots = 0

    def __init__(self, context: MethodContext):
        from contrafact.models.whitebox.noise import Sampling

        options = {**OPTIONS, **context.options}
        for key, choices in _CHOICES.items():
            if options[key] not in choices:
                raise InputError(f"the option {key} is {' or '.join(choices)}, not {options[key]}")
        if float(options["temperature"]) == 0:
            raise InputError(
                "lm-counterfactuals samples, and there is no noise to hold at temperature 0",
                hint="give it a temperature of its own: --method lm-counterfactuals:temperature=1",
            )
        self.name = context.name or "lm-counterfactuals"
        self._shared = options["noise"] == "shared"
        self._sampling = Sampling(float(options["temperature"]), float(options["top-p"]))
        self._max_tokens = int(options["max-tokens"])
        if self._max_tokens < 1:
            raise InputError(f"the option max-tokens is at least 1, not {self._max_tokens}")
        self._seed = context.settings.seed
        template, one = context.pack.template, options["prompts"] == "one"
        self._prompts = {
            part: template(f"finforce/lm-counterfactuals-{part}", required={"headline"})
            for part in (("base",) if one else ("base", *SIDES))
        }
        if one:
            self._prompts["pair"] = template("finforce/generate", required={"headline", "shots"})
        for model in context.settings.models:
            _weights(model)

    def open(self, model: str, model_args: Mapping[str, Any]) -> None:
        _engine(model, model_args)

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        from contrafact.models.whitebox.completion import CompletionRequest
        from contrafact.models.whitebox.noise import draw as draw_noise
        from contrafact.models.whitebox.noise import prompt_tokens

        model = str(ask.model)
        engine = await asyncio.to_thread(_engine, model, ask.model.model_args)
        prompts = self._rendered(headline)
        # Step 1: the noise of the base is drawn; the counterfactuals share it, or have their own.
        name = f"{headline.id} {draw}"
        own = [part for part in prompts if part != "base" and not self._shared]
        noise = {part: draw_noise(self._seed, f"{name} {part}") for part in own}
        base_noise = draw_noise(self._seed, name)
        tokens = [tuple(prompt_tokens(engine.causal, prompt)) for prompt in prompts.values()]
        longest, context = max(map(len, tokens)), engine.causal.context
        if longest + self._max_tokens > context:
            raise Unanswered(
                f"prompt too long: a prompt of {longest:,} tokens and {self._max_tokens:,} to be "
                f"written do not fit the context of {context:,} tokens"
            )
        # Step 2: all texts are written in one batch, where rows with equal noise compute it once.
        requests = [
            CompletionRequest(
                prompt, self._max_tokens, sampling=self._sampling, noise=noise.get(part, base_noise)
            )
            for part, prompt in zip(prompts, tokens, strict=True)
        ]
        texts = await asyncio.gather(*map(engine.complete, requests))
        lengths = dict(zip(prompts, map(len, tokens), strict=True))
        return _generation(dict(zip(prompts, texts, strict=True)), lengths, model)

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        return [PlannedCall(prompt, _REPLY_TOKENS) for prompt in self._rendered(headline).values()]

    def _rendered(self, headline: Headline) -> dict[str, str]:
        values: dict[str, object] = {"headline": delimit(headline.text), "shots": []}
        return {
            part: template.render(**{name: values[name] for name in template.variables})
            for part, template in self._prompts.items()
        }


def method(context: MethodContext) -> LmCounterfactuals:
    return LmCounterfactuals(context)


def read_line(text: str, side: str, *, ended: bool) -> tuple[str | None, str | None, list[str]]:
    """Return the first line of a reply as a headline, or why it is not one, and the repairs.

    An introduction before it, text after it and marks around it are repaired; a line that was cut
    off is invalid.
    """
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    repairs: list[str] = []
    if len(lines) > 1 and lines[0].endswith(":"):
        lines = lines[1:]
        repairs.append("introduction")
    line = lines[0] if lines else ""
    if len(lines) > 1:
        repairs.append("text after the headline")
    bare = _bare(line)
    if bare != line:
        repairs.append("marks around the headline")
    if not bare.strip(" .…"):
        return None, f"the {side} counterfactual is empty", repairs
    if len(lines) == 1 and not ended:
        return None, "cut off at the token limit", repairs
    if len(bare) > MAX_CHARACTERS:
        return None, f"the {side} counterfactual is over {MAX_CHARACTERS} characters", repairs
    return replace_surrogates(bare), None, repairs


def _bare(line: str) -> str:
    """Return a line without Markdown's marks, and without quotation marks around all of it."""
    bare = line.strip("*#_ ")
    inside = bare[1:-1]
    quoted = len(bare) > 2 and bare[0] + bare[-1] in ('""', "“”", "''")
    return inside.strip() if quoted and not set(inside) & set('"“”') else bare


def _generation(
    written: "Mapping[str, Completion]", lengths: Mapping[str, int], model: str
) -> Generation:
    base, pair = written["base"], written.get("pair")
    if pair is not None:
        read = read_pair(ModelOutput.from_content(model, pair.text, stop_reason=pair.stop))
    else:
        read = _read_each(written)
    factual = read_line(base.text, "base", ended=True)[0] or ""
    distances = {
        side: None if text is None or not factual else normalised_edit_distance(text, factual)
        for side, text in read.texts.items()
    }
    trace: dict[str, Any] = {
        **read.trace,
        "base": factual,
        "base_ended": base.ended,
        "base_distance": distances,
        "tokens": {part: list(text.tokens) for part, text in written.items()},
        "prompt_tokens": lengths,
        # A token without a runner-up leads by infinity, which JSON does not have.
        "least_lead": {
            part: least if math.isfinite(least := min(text.leads)) else None
            for part, text in written.items()
        },
    }
    return replace(read, trace=trace)


def _read_each(written: "Mapping[str, Completion]") -> Generation:
    texts: dict[Side, str | None] = {}
    invalid: dict[Side, str] = {}
    repairs: list[str] = []
    for side in SIDES:
        completion = written[side]
        texts[side], reason, changes = read_line(completion.text, side, ended=completion.ended)
        if reason is not None:
            invalid[side] = reason
        repairs += [f"{side}: {change}" for change in changes]
    return Generation(texts, invalid, tuple(repairs))


def _weights(model: str) -> str:
    """Return the name for loading a model's weights; `InputError` if they are not available."""
    from contrafact.models.whitebox.weights import WEIGHTS_HINT, check_causal, weights_name

    name = weights_name(model)
    if name is None:
        raise InputError(
            f"lm-counterfactuals needs a model's weights, and {model} has none here",
            hint=WEIGHTS_HINT,
        )
    check_causal(name)
    return name


def _engine(model: str, model_args: Mapping[str, Any]) -> "Engine":
    from contrafact.models.whitebox.provider import WhiteboxSettings

    # Another provider's arguments do not apply: the model does not run there.
    names = {"device", "precision"} & {*model_args} if model.startswith("whitebox/") else ()
    arguments = {name: model_args[name] for name in names}
    return _opened(WhiteboxSettings(_weights(model), _ROWS, **arguments))


@cache
def _opened(settings: "WhiteboxSettings") -> "Engine":
    from contrafact.models.whitebox.provider import shared_engine

    return shared_engine(settings)
