"""What the small things cost: importing the package, every command's help, a run's first call.

Processor seconds of processes of their own, so that what else the machine does does not count. Each
has a limit in seconds; the ratio is of the limit to the slowest help page.
"""

import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench import BenchResult, Timing

TARGET = 1.0
HELP, IMPORT, FIRST_CALL = 0.6, 0.1, 3.0
_COMMAND = [sys.executable, "-m", "contrafact.cli.main"]


def commands() -> list[tuple[str, ...]]:
    """Every command and group of the program, by its words."""
    from typer.main import get_command

    from contrafact.cli.main import app

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield words
        if hasattr(command, "list_commands"):
            for name in command.list_commands(None):
                yield from below(command.get_command(None, name), (*words, name))

    return list(below(get_command(app), ()))


def processor_seconds(command: Sequence[str]) -> float:
    """Processor seconds of a process; the better of two."""
    took = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took)


def to_first_call(task: str) -> float:
    """Processor seconds that a run has taken when its first call reaches the model's server."""
    called, spent = threading.Event(), []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            if not called.is_set():
                fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
                spent.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
                called.set()
            self.send_error(500)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    environment = os.environ | {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "none"}
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [*_COMMAND, "run", task, "--model", "openai/gpt-4o", "--out", f"{folder}/run"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        called.wait(120)
        child.kill()
        child.wait()
    server.shutdown()
    server.server_close()
    if not spent:
        raise RuntimeError("the run made no call")
    return spent[0]


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time help pages (of the first level if quick), the import and a run's first call."""
    asked = [words for words in commands() if not quick or len(words) < 2]
    helps = {words: processor_seconds([*_COMMAND, *words, "--help"]) for words in asked}
    bare = processor_seconds([sys.executable, "-c", "pass"])
    imported = processor_seconds([sys.executable, "-c", "import contrafact"]) - bare
    first = to_first_call("cobe")
    slowest = max(helps, key=lambda words: helps[words])
    over = sorted(" ".join((*words, "--help")) for words, took in helps.items() if took > HELP)
    most = helps[slowest]
    return BenchResult(
        name="startup",
        unit="processes",
        total_items=1,
        ours=Timing(f"{' '.join(('contrafact', *slowest))} --help, the slowest", 1, most, most),
        baseline=Timing("the limit", 1, HELP, HELP),
        target=TARGET,
        data=f"{len(asked)} help pages; seconds are of the processor",
        notes=[
            f"over {HELP} s: {', '.join(over) or 'none'}",
            f"import contrafact: {imported:.3f} s over a bare interpreter's {bare:.3f}"
            f" (limit {IMPORT})",
            f"a run's first call: after {first:.2f} s (limit {FIRST_CALL})",
        ],
    )
