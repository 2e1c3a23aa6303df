"""``contrafact whatif``: the string the model would have written with the same noise."""

from pathlib import Path
from typing import Literal

import typer

from contrafact.options import Options, option, takes


class _Options(Options):
    model: str = option(
        "Whose noise it is: smollm2-135m, a folder, a GGUF file, or a name on the hub.",
        metavar="M",
    )
    factual_prompt: str = option("The prompt that the text was written under.", metavar="P")
    text: str | None = option("The text, whole. [the model writes one]", None, metavar="T")
    counterfactual_prompt: str | None = option(
        "The prompt to write under instead. [P]", None, metavar="Q"
    )
    counterfactual_model: str | None = option(
        "The model to write with instead, same tokenizer. [M]", None, metavar="M2"
    )
    samples: int = option("Counterfactuals, each under its own noise.", 1, min=1, metavar="N")
    noise: Literal["shared", "fresh"] = option(
        "Hold the noise, or draw it anew to compare.", "shared"
    )
    temperature: float = option("Sampling temperature, of both texts.", 1.0, metavar="X")
    top_p: float = option("Nucleus, of both texts.", 1.0, metavar="X")
    max_tokens: int = option("The most tokens to write.", 128, min=1, metavar="N")
    seed: int = option("Seed of the noise.", 0, min=0, metavar="S")
    chat: bool | None = option(
        "Prompts are messages, or texts to go on from. [--chat if the model can]",
        None,
        "--chat/--plain",
    )
    out: Path | None = option("Write all of it, as JSONL.", None, metavar="FILE")


@takes(_Options)
def whatif(options: _Options) -> None:
    """Say what would have been written under another prompt or by another model.

    The noise that led to the text is inferred, and held: what the change does not touch stays. A
    text and its own prompt give the text back. Each sample is another noise that fits the text.

    Example: contrafact whatif --model smollm2-135m
    --factual-prompt "Describe the market today in one sentence."
    --text "Shares rose as traders welcomed calm data."
    --counterfactual-prompt "Describe the market in a crash in one sentence."
    """
    from dataclasses import asdict

    from contrafact.files.atomic import guard_output
    from contrafact.files.tables import write_rows
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
