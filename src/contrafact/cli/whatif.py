"""``contrafact whatif``: the string the model would have written, its noise held."""

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = ["whatif"]


def whatif(
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="M",
            help="Whose noise it is: smollm2-135m, a folder, a GGUF file, or a name on the hub.",
        ),
    ],
    factual_prompt: Annotated[
        str, typer.Option(metavar="P", help="The prompt that the text was written under.")
    ],
    text: Annotated[
        str | None, typer.Option(metavar="T", help="The text, whole. [the model writes one]")
    ] = None,
    counterfactual_prompt: Annotated[
        str | None, typer.Option(metavar="Q", help="The prompt to write under instead. [P]")
    ] = None,
    counterfactual_model: Annotated[
        str | None,
        typer.Option(metavar="M2", help="The model to write with instead, same tokenizer. [M]"),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Counterfactuals, each under its own noise.")
    ] = 1,
    noise: Annotated[
        Literal["shared", "fresh"], typer.Option(help="Hold the noise, or draw it anew to compare.")
    ] = "shared",
    temperature: Annotated[
        float, typer.Option(metavar="X", help="Sampling temperature, of both texts.")
    ] = 1.0,
    top_p: Annotated[
        float, typer.Option("--top-p", metavar="X", help="Nucleus, of both texts.")
    ] = 1.0,
    max_tokens: Annotated[
        int, typer.Option(min=1, metavar="N", help="The most tokens to write.")
    ] = 128,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the noise.")] = 0,
    chat: Annotated[
        bool | None,
        typer.Option(
            "--chat/--plain",
            help="Prompts are messages, or texts to go on from. [--chat if the model can]",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write all of it, as JSONL.")
    ] = None,
) -> None:
    """Say what would have been written under another prompt or by another model.

    The noise that led to the text is inferred, and held: what the change does not touch stays. A
    text and its own prompt give the text back. Each sample is another noise that fits the text.

    Example: contrafact whatif --model smollm2-135m
    --factual-prompt "Describe the market today in one sentence."
    --text "Shares rose as traders welcomed calm data."
    --counterfactual-prompt "Describe the market in a crash in one sentence."
    """
    import json
    from dataclasses import asdict

    from contrafact.errors import InputError
    from contrafact.files.atomic import write_text
    from contrafact.models.whitebox.noise import Sampling, counterfactual_texts
    from contrafact.models.whitebox.weights import load_causal

    if counterfactual_prompt is None and counterfactual_model is None:
        raise InputError(
            "nothing is to be changed",
            hint="give --counterfactual-prompt, --counterfactual-model or both",
        )
    if text is not None and not text.strip():
        raise InputError("the text is empty", hint="leave --text out to let the model write one")
    sampling = Sampling(temperature, top_p)
    causal = load_causal(model)
    made = counterfactual_texts(
        causal,
        factual_prompt,
        factual_prompt if counterfactual_prompt is None else counterfactual_prompt,
        text=text,
        other=None if counterfactual_model is None else load_causal(counterfactual_model),
        samples=samples,
        seed=seed,
        held=noise == "shared",
        sampling=sampling,
        max_tokens=max_tokens,
        chat=chat,
    )
    if out is not None:
        lines = (json.dumps(asdict(one), ensure_ascii=False) for one in made)
        write_text(out, "".join(f"{line}\n" for line in lines))
    for one in made:
        if text is None:
            typer.echo(f"factual: {one.factual}")
        typer.echo(one.counterfactual if text is not None else f"instead: {one.counterfactual}")
    cut = sum(not one.ended for one in made)
    if cut:
        typer.echo(f"{cut} of {len(made)} cut at {max_tokens} tokens (--max-tokens)", err=True)
