"""Run the Python of a README, and check that what it says is printed is.

Called as ``python tools/readme.py README.md``; it needs what the README needs, and no more.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def run(page: Path) -> str:
    """Return what the blocks printed, in order, run in one namespace.

    Raises:
        SystemExit: A ``text`` block behind a ``python`` block is not what that printed.
    """
    names: dict[str, object] = {}
    printed, last = "", ""
    for kind, body in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                exec(body, names)
            last = shown.getvalue()
            printed += last
        elif body != last:
            raise SystemExit(f"{page} says\n{body}\nwhere this is printed:\n{last}")
    return printed


if __name__ == "__main__":
    print(run(Path(sys.argv[1])), end="")
