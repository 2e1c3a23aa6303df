"""Write ``docs/api.md`` from the docstrings of the Python face; ``--check`` only compares.

python tools/api_page.py
"""

import inspect
import re
import sys
from pathlib import Path

import contrafact
from contrafact.api.results import Estimate, Page, Result, Run

PAGE = Path(__file__).parents[1] / "docs" / "api.md"

HEAD = """\
# The Python interface

Made from the docstrings by `tools/api_page.py`; [Python](python.md) shows how it is used.
Every verb can be awaited: `await cf.run.aio(…)` takes what `cf.run(…)` takes.
"""


def page() -> str:
    """Return the page."""
    verbs = [name for name in contrafact.__all__ if name[0].islower()]
    parts = [HEAD, "## Verbs", *(_verb(name) for name in verbs), "## Results"]
    parts += [_class(cls) for cls in (Result, Run, Estimate, Page)]
    parts += ["## Errors", *(_class(getattr(contrafact, e)) for e in ("InputError", "ModelError"))]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _verb(name: str) -> str:
    verb = getattr(contrafact, name)
    lines = [f"    {_written(one)}," for one in inspect.signature(verb).parameters.values()]
    kinds = [one.kind for one in inspect.signature(verb).parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        lines.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "    *,")
    code = "\n".join(["```text", f"cf.{name}(", *lines, ")", "```"])
    return f"### cf.{name}\n\n{code}\n\n{_text(inspect.getdoc(verb) or '')}"


def _written(one: inspect.Parameter) -> str:
    stars = "**" if one.kind == inspect.Parameter.VAR_KEYWORD else ""
    default = "" if one.default is inspect.Parameter.empty else f" = {one.default!r}"
    return f"{stars}{one.name}{default}"


def _class(cls: type) -> str:
    parts = [f"### {cls.__name__}", _text(inspect.getdoc(cls) or "")]
    for name, member in vars(cls).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            names = ", ".join(
                _written(one)
                for one in inspect.signature(member).parameters.values()
                if one.name != "self"
            )
            parts.append(f"**`.{name}({names})`** {_text(inspect.getdoc(member) or '')}")
    return "\n\n".join(parts)


def _text(docstring: str) -> str:
    """Return a Google-style docstring as Markdown: a list for each section of names."""
    out: list[str] = []
    named = False
    for line in docstring.splitlines():
        if found := re.fullmatch(r"(Args|Returns|Raises|Attributes):", line):
            named = found.group(1) != "Returns"
            title = {"Args": "Arguments", "Returns": "Returns"}.get(found.group(1), found.group(1))
            out += [f"*{title}*", ""]
        elif named and (found := re.fullmatch(r"    (\w+): (.*)", line)):
            out.append(f"- `{found.group(1)}`: {found.group(2)}")
        else:
            out.append(f"  {line.strip()}" if named and line.startswith("     ") else line.strip())
    return re.sub(r"``([^`]+)``", r"`\1`", "\n".join(out)).strip()


if __name__ == "__main__":
    made = page()
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != made)
    PAGE.write_text(made, encoding="utf-8")
