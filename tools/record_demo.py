"""Runs the demo and puts what it prints into ``docs/demo.md``, with the times of its tables.

``python tools/record_demo.py DIR`` runs it into DIR, which must be new. Progress goes to standard
error and is left out; lines are folded at 80 columns by the program itself.
"""

import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "demo.md"
TABLES = {"the exam's table": "Exam: ", "the first table of the model": "finforce: "}


def main(folder: str) -> None:
    """Run the demo and record it."""
    command = [Path(sys.executable).with_name("contrafact"), "demo", "--out", folder]
    environment = {**os.environ, "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}
    started, lines = time.monotonic(), []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        for line in running.stdout:
            lines.append(line.rstrip())
            for what, start in TABLES.items():
                if line.startswith(start):
                    print(f"{what}: {time.monotonic() - started:.0f} s")
    if running.returncode:
        sys.exit(f"the demo ended with {running.returncode}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"all: {time.monotonic() - started:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU")
    text = "\n".join(lines).strip().replace(f"report: {folder}/", "report: demo/")
    block = f"```text\n$ contrafact demo\n{text}\n```"
    page = PAGE.read_text(encoding="utf-8")
    page = re.sub(r"```text\n.*?```", lambda _: block, page, flags=re.DOTALL)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
