"""A command at a terminal, with somebody who answers."""

import os
import pty
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def at_terminal(start: Callable[..., Any], answer: bytes = b"") -> tuple[int, str]:
    """Run a command at a terminal, type an answer; return its exit code and what it showed."""
    own, its = pty.openpty()
    with start(stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        os.write(own, answer)
        shown = b""
        with suppress(OSError):  # the end of a terminal
            while read := os.read(own, 65536):
                shown += read
        process.wait()
    os.close(own)
    return process.returncode, shown.decode().replace("\r\n", "\n")
