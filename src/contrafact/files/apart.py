"""Reads a table once in a separate process, which ends if a limit is exceeded.

An untrusted upload could use up all memory or time before a count of its rows stops it: then the
operating system ends the separate process, and the calling process goes on.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from contrafact.errors import InputError
from contrafact.files.limits import VARIABLE, limit, named_limits, passed
from contrafact.files.tables import read_rows

__all__ = ["read_apart"]


def read_apart(path: Path, limits: Mapping[str, int], variable: str) -> None:
    """Check a table by reading it in a separate process, which ends if a limit is exceeded.

    Args:
        limits: The limits by name; those in the environment variable replace them.
        variable: The environment variable for the limits of this kind of file.

    Raises:
        InputError: A limit is exceeded, or the table cannot be read.
    """
    limits = {**limits, **named_limits(os.environ.get(variable, ""))}
    text = ",".join(f"{name}={number}" for name, number in limits.items())
    process = subprocess.run(
        [sys.executable, "-m", "contrafact.files.apart", str(path)],
        env={**os.environ, VARIABLE: text, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if process.returncode == 0:
        return
    try:
        problem, line, hint = json.loads(process.stdout)
    except ValueError:  # the system ended it: by SIGXCPU, or because no memory was left
        name = "seconds" if -process.returncode in (9, 24) else "memory"
        error = passed(name, limits[name], path)
        problem, line, hint = error.problem, error.line, error.hint or ""
    raise InputError(problem, file=path, line=line, hint=hint.replace(VARIABLE, variable))


def _main(path: str) -> int:
    """Read a table to its end, and print a problem as JSON."""
    memory, seconds = limit("memory"), limit("seconds")
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        for _ in read_rows(path):
            pass
    except MemoryError:
        return 1
    except InputError as error:
        print(json.dumps([error.problem, error.line, error.hint or ""]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1]))
