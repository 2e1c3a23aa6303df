"""Processes that share a command's work."""

import os
import threading
from multiprocessing import connection, parent_process

__all__ = ["end_with_parent"]


def end_with_parent() -> None:
    """End this worker when its parent is killed; otherwise it would wait for work forever."""

    def watch() -> None:
        if (parent := parent_process()) is not None:
            connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
