"""The house holds: public interfaces only, no circles hidden in functions, no path of a machine."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import contrafact

SOURCE = Path(__file__).parents[1] / "src" / "contrafact"
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_only_public_interfaces_of_others_are_used(path):
    for name in imports(path):
        package, *inner = name.split(".")
        if package in ("inspect_ai", "typer", "transformers", "xllamacpp"):
            assert not any(part.startswith("_") for part in inner), f"{name} is private"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_public_names_are_listed_and_exist(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined: set[str] = set()
    listed: list[str] | None = None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            defined |= {(alias.asname or alias.name) for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {t.id for t in targets if isinstance(t, ast.Name)}
            defined |= names
            if "__all__" in names:
                listed = ast.literal_eval(node.value)
    if path == SOURCE / "__init__.py":
        defined |= set(contrafact._PLACES)  # imported when they are first used
    if listed is not None:
        assert set(listed) <= defined
    elif any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in tree.body):
        pytest.fail("a module with code lists its public names in __all__")


ENGINES = ("runs", "report", "study", "exam", "training", "cli", "api")
OF_A_FAMILY = ("api/texts.py",)
"""Functions that are one family's own."""
FAMILIES = re.compile(r"finforce|\brfc|_rfc|cobe", re.IGNORECASE)


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_name_no_family(engine):
    named = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sorted((SOURCE / engine).rglob("*"))
        if path.suffix in (".py", ".jinja", ".css", ".js", ".toml", ".json")
        and path.relative_to(SOURCE).as_posix() not in OF_A_FAMILY
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if FAMILIES.search(line)
    ]
    assert named == []


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("cli.main", "torch spacy pandas matplotlib inspect_ai scipy numpy pydantic jinja2"),
        ("_registry", "torch transformers spacy pandas matplotlib scipy xllamacpp"),
    ],
)
def test_heavy_packages_stay_out_of_the_command_line_and_of_what_inspect_looks_up(module, heavy):
    code = (
        f"import sys; import contrafact.{module}; "
        f"print(sorted({set(heavy.split())} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


PRIVATE_WORDS = re.compile(
    r"(?:^|_)(?:beside|ladder|looks?|mend(?:ed|s)?|said|shelf|sitting|tell|telling|unask\w*)(?:_|$)"
)
"""Words that stood for something which the field has a word for (CONTRIBUTING.md, "Names")."""
EVENT_KINDS = {"_said"}
"""Methods named after a kind of event that reviews have stored."""


def names_given(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_names_are_the_fields(path):
    named = {path.stem, *names_given(path)} - EVENT_KINDS
    assert [name for name in sorted(named) if PRIVATE_WORDS.search(name.lower())] == []
