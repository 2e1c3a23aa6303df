"""``contrafact whatif``: the text that a model would have written with the same noise."""

from dataclasses import asdict
from pathlib import Path
from typing import Literal

import typer

from contrafact.files.atomic import guard_output
from contrafact.files.tables import write_rows
from contrafact.options import Options, command, option


class _Options(Options):
    model: str = option(
        ...,
        "The model that wrote the text: smollm2-135m, a folder, a GGUF file, or a name on the hub.",
        metavar="M",
    )
    factual_prompt: str = option(..., "The prompt that the text was written under.", metavar="P")
    text: str | None = option(None, "The whole text. [the model writes one]", metavar="T")
    counterfactual_prompt: str | None = option(
        None, "The prompt to write under instead. [P]", metavar="Q"
    )
    counterfactual_model: str | None = option(
        None, "The model to write with instead, same tokenizer. [M]", metavar="M2"
    )
    samples: int = option(1, "Counterfactuals, each under its own noise.", ge=1, metavar="N")
    noise: Literal["shared", "fresh"] = option(
        "shared", "Keep the noise, or draw it anew for comparison."
    )
    temperature: float = option(1.0, "Sampling temperature, of both texts.", metavar="X")
    top_p: float = option(1.0, "Nucleus, of both texts.", metavar="X")
    max_tokens: int = option(128, "The most tokens to write.", ge=1, metavar="N")
    seed: int = option(0, "Seed of the noise.", ge=0, metavar="S")
    chat: bool | None = option(
        None,
        "Prompts are chat messages, or texts to continue. [--chat if the model can]",
        flags=("--chat/--plain",),
    )
    out: Path | None = option(None, "Write all results, as JSONL.", metavar="FILE")


@command
def whatif(options: _Options) -> None:
    """Show what would have been written under another prompt or by another model.

    The noise that led to the text is inferred and kept, so that parts unaffected by the change stay
    the same. A text with its own prompt gives the same text. Each sample is another noise that fits
    the text.

    Example: contrafact whatif --model smollm2-135m
    --factual-prompt "Describe the market today in one sentence."
    --text "Shares rose as traders welcomed calm data."
    --counterfactual-prompt "Describe the market in a crash in one sentence."
    """
    from contrafact.models.whitebox.noise import Sampling, counterfactual_texts

    if options.out is not None:
        guard_output(options.out, kind="JSON Lines")
    made = counterfactual_texts(
        options.model,
        options.factual_prompt,
        options.counterfactual_prompt,
        text=options.text,
        other=options.counterfactual_model,
        samples=options.samples,
        seed=options.seed,
        held=options.noise == "shared",
        sampling=Sampling(options.temperature, options.top_p),
        max_tokens=options.max_tokens,
        chat=options.chat,
    )
    if options.out is not None:
        write_rows(options.out, map(asdict, made))
    for one in made:
        if options.text is None:
            typer.echo(f"factual: {one.factual}\ninstead: {one.counterfactual}")
        else:
            typer.echo(one.counterfactual)
    cut = sum(not one.ended for one in made)
    if cut:
        typer.echo(
            f"{cut} of {len(made)} cut at {options.max_tokens} tokens (--max-tokens)", err=True
        )
