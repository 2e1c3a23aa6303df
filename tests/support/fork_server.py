"""Runs the command line in forks of one process that has imported it: real processes, no waiting.

As a program it accepts clients at the listening Unix socket whose number it is given, serves each
in a fork of its own, and ends when the last of them has gone. A request is one JSON object a line.
With ``arguments``, for ``contrafact`` or another ``program``, the ``environment`` and the working
``folder`` come three open files, standard input, output and error, and the answer is the process's
id; with ``wait``, such an id, the answer is its exit code, or null if it still runs and is not to
be waited for.
"""

import functools
import gc
import importlib
import importlib.metadata
import json
import os
import pkgutil
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

packages_distributions = functools.cache(importlib.metadata.packages_distributions)


def main() -> None:
    server = socket.socket(fileno=int(sys.argv[1]))
    _import()
    # What is imported is there to stay: no fork need look through it for garbage.
    gc.collect()
    gc.freeze()
    server.settimeout(1)
    clients: set[int] = set()
    first = True
    while clients or first:
        with suppress(TimeoutError):
            client, _ = server.accept()
            client.settimeout(None)
            first = False
            if (child := os.fork()) == 0:
                server.close()
                _serve(client)
                os._exit(0)
            client.close()
            clients.add(child)
        clients = {child for child in clients if os.waitpid(child, os.WNOHANG)[0] == 0}


def _serve(client: socket.socket) -> None:
    client.sendall(b"ready\n")
    while (received := _receive(client)) is not None:
        request, files = received
        answer: int | None
        if "wait" in request:
            child, status = os.waitpid(request["wait"], 0 if request["blocks"] else os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if child else None
        else:
            answer = os.fork()
            if answer == 0:
                client.close()
                _run(request, files)
            for file in files:
                os.close(file)
        client.sendall(json.dumps(answer).encode() + b"\n")


def _receive(client: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    data, files, _, _ = socket.recv_fds(client, 1 << 16, 3)
    while data and not data.endswith(b"\n"):
        data += client.recv(1 << 16)
    return (json.loads(data), files) if data else None


def _import() -> None:
    """Import what commands do, but for llama.cpp, whose threads no fork would have.

    PyTorch, which spaCy imports, starts none before it computes.
    """
    # The engine asks in every evaluation which packages are installed, and of which
    # version, at every model; here they stay the same.
    importlib.metadata.packages_distributions = packages_distributions
    importlib.metadata.version = functools.cache(importlib.metadata.version)

    import contrafact
    from contrafact.models import service

    # A model server of tests need not be spared: calls that fail are made again after a moment, not
    # after seconds.
    service._FIRST = 0.05

    for module in pkgutil.walk_packages(contrafact.__path__, "contrafact."):
        importlib.import_module(module.name)

    # These are imported only when they are used: by the engine when it begins to evaluate, by
    # others when they are called.
    for name in (
        "IPython",
        "acp",
        "alembic.command",
        "anyio._backends._asyncio",
        "datasketch",
        "encodings.utf_16_le",
        "fsspec.implementations.chained",
        "genai_prices.data",
        "httpcore2",
        "inspect_ai._control.disconnect",
        "inspect_ai.agent._acp.server",
        "inspect_ai.hooks._startup",
        "inspect_ai.model._providers.none",
        "inspect_ai.model._providers.openai_compatible",
        "matplotlib.backends.backend_agg",
        "matplotlib.backends.backend_svg",
        "openai.resources.chat.completions.completions",
        "pandas.core.arrays.arrow.extension_types",
        "pandas.core.methods.to_dict",
        "pandas.core.reshape.reshape",
        "pyarrow.dataset",
        "pyarrow.pandas_compat",
        "pyarrow.parquet",
        "rich.markdown",
        "sklearn.linear_model",
        "sqlalchemy.dialects.sqlite",
        "truststore",
        "uvicorn.lifespan.on",
        "uvicorn.protocols.http.h11_impl",
    ):
        importlib.import_module(name)

    import matplotlib.figure
    from inspect_ai.model import get_model_info
    from matplotlib.backends import backend_agg, backend_svg

    from contrafact.report.html import page_environment
    from contrafact.text.degenerate import languages
    from contrafact.text.diff import token_count
    from contrafact.text.parsing import entities, parsed
    from contrafact.text.quantities.context import quantities
    from contrafact.text.words.lexicon import spots

    # What is known of all models is read once.
    get_model_info("openai/gpt-4o")
    for template in page_environment().list_templates():
        page_environment().get_template(template)
    list(spots("Sales rose."))
    token_count("Sales rose.")
    languages("Sales rose.")
    quantities("Sales rose 3% in May, to $2 billion, after GDP growth of a quarter point.")
    list(parsed(["Sales rose."]))
    entities("Sales rose.")
    # Fonts are found and read once.
    plot = matplotlib.figure.Figure(layout="constrained")
    plot.subplots().set_title("Aa")
    for canvas in (backend_agg.FigureCanvasAgg, backend_svg.FigureCanvasSVG):
        canvas(plot).print_figure(os.devnull, format="svg" if "SVG" in canvas.__name__ else "png")
    importlib.metadata.packages_distributions()


def _forget_what_is_installed() -> None:
    """What was found on the path before may not be all."""
    from contrafact.family import families
    from contrafact.plugins import family_entries, family_folders

    for cached in (family_entries, family_folders, families, packages_distributions):
        cached.cache_clear()
    # It offers the families that there were when it was imported.
    sys.modules.pop("contrafact.cli.exam", None)


def _run(request: dict[str, Any], files: list[int]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    # Whoever starts the tests in the background may have them ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    # Where Python looks first, as when it starts.
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if added := [path for path in named if path not in sys.path]:
        sys.path[:0] = added
        _forget_what_is_installed()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - the parent's was read
    program = request.get("program", "contrafact")
    sys.argv = [program, *request["arguments"]]
    if program == "inspect":
        from inspect_ai._cli.main import main as command
    else:
        from contrafact.cli.main import main as command

    try:
        command()
        code: object = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001 - the interpreter would print it and end with 1
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
