"""T/F judgements by white-box weights: one look behind a shared rubric against a generation each.

Ours is the provider ``whitebox``: concurrent calls meet in batches of 16, a
rubric is computed once, and the verdict is read from the probabilities of the next token. The
baseline is what is commonly run: the same weights in transformers, one prompt after the other, five
tokens generated.
Three rubrics alternate, as they do when one response after the other is judged.
"""

import asyncio
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from inspect_ai.model import GenerateConfig, Model, get_model

from bench import BenchResult, Timing
from bench._clock import added
from bench._headlines import headlines
from bench._memory import Memory
from bench._plain import NAME, Apart, device_name, plain_causal
from contrafact.judges.judge import TOP_LOGPROBS, LetterVerdict, judge_letter
from contrafact.models.whitebox.noise import prompt_tokens
from contrafact.models.whitebox.weights import shared_causal
from contrafact.prompts import open_pack

TARGET = 10.0
_SLICES = 2
_GENERATED = 5
_OURS = "shared rubric, one look"
_THEIRS = "a generation each"
_RUBRICS = ("cobe/judge-changed", "cobe/judge-unchanged", "cobe/judge-latent")
_ENDINGS = (
    "and then lost its largest customer, sending its shares to a two-year low",
    "and then won a ten-year contract, sending its shares to a new high",
)


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time judgements our way in some slices, and a part of each by the baseline."""
    texts, source = headlines(data)
    asked = prompts(texts[: 8 if quick else 32])
    model = get_model("whitebox/smollm2-135m", config=GenerateConfig(max_connections=64))
    judged(model, [f"Reply with T or F. {n}" for n in range(16)])  # loads the model, and warms up

    memory = Memory()
    ours: list[Timing] = []
    baseline: list[Timing] = []
    same, letters, apart = 0, 0, 0.0
    size = len(asked) // _SLICES
    with Apart(memory) as process:
        process.timed(_THEIRS, 1, generated, ["Reply with T or F."])  # the same
        for start in range(0, len(asked), size):
            part = asked[start : start + size]
            work = partial(judged, model, part)
            verdicts, timing = memory.timed(_OURS, len(part), work)
            ours.append(timing)
            few = part[: max(1, size // (6 if quick else 4))]
            replies, timing = process.timed(_THEIRS, len(few), generated, few)
            baseline.append(timing)
            for verdict, (reply, share) in zip(verdicts, replies, strict=False):
                same += verdict.reply == reply
                if verdict.probability is not None and share is not None:
                    letters += 1
                    apart = max(apart, abs(verdict.probability - share))
    causal = shared_causal(NAME)  # loaded above, in the thread that answers
    lengths = [len(prompt_tokens(causal, prompt)) for prompt in asked]
    return BenchResult(
        name="whitebox_judging",
        unit="judgements",
        total_items=len(asked),
        ours=added(ours),
        baseline=added(baseline),
        target=TARGET,
        data=f"{len(asked) // 6} of {source}, six judgements each",
        notes=[
            f"prompts have {sum(lengths) / len(lengths):.0f} tokens on average; the first reading "
            "of each rubric counts, and weighs more in a short run",
            f"{same} of {added(baseline).items} replies begin the same both ways; {letters} are T "
            f"or F" + (f", whose probability differs by at most {apart:.1e}" if letters else ""),
            memory.note(),
        ],
        device=device_name(causal),
    )


def prompts(texts: Sequence[str]) -> list[str]:
    """Six judgements per headline: two texts by three rubrics."""
    pack = open_pack()
    templates = [
        pack.template(path, required={"criterion", "response"}, optional={"story", "query"})
        for path in _RUBRICS
    ]
    return [
        template.render(criterion=text, response=f"{text}, {ending}", story=None, query=None)
        for text in texts
        for ending in _ENDINGS
        for template in templates
    ]


def judged(model: Model, asked: Sequence[str]) -> list[LetterVerdict]:
    """Judge by the provider, all calls at once."""

    async def judge_all() -> list[LetterVerdict]:
        verdicts = (judge_letter(model, prompt, "E1") for prompt in asked)
        return list(await asyncio.gather(*verdicts))

    return asyncio.run(judge_all())


def generated(asked: Sequence[str]) -> list[tuple[str, float | None]]:
    """Generate a reply to each; return its first token, and T's share of T and F by its scores.

    None where the token is neither, as a judge reads it.
    """
    import torch

    causal = plain_causal()
    found: list[tuple[str, float | None]] = []
    for prompt in asked:
        fed = torch.tensor([prompt_tokens(causal, prompt)], device=causal.device)
        with torch.inference_mode():
            reply = causal.model.generate(
                input_ids=fed,
                attention_mask=torch.ones_like(fed),
                max_new_tokens=_GENERATED,
                do_sample=False,
                pad_token_id=causal.start_token,
                return_dict_in_generate=True,
                output_logits=True,
            )
        first = causal.tokenizer.decode([int(reply.logits[0][0].argmax())])
        # As a judge reads it: among the likeliest tokens, those that are T or F but for space.
        likeliest = reply.logits[0][0].log_softmax(-1).topk(TOP_LOGPROBS)
        mass = {"T": 0.0, "F": 0.0}
        for token, log_p in zip(*(part.tolist() for part in likeliest[::-1]), strict=True):
            letter = causal.tokenizer.decode([token]).strip()
            if letter in mass:
                mass[letter] += math.exp(log_p)
        share = mass["T"] / sum(mass.values()) if first.strip() in mass else None
        found.append((first, share))
    return found
