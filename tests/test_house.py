"""The house holds: public interfaces only, no circles hidden in functions, no path of a machine."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import contrafact

SOURCE = Path(__file__).parents[1] / "src" / "contrafact"
MODULES = {
    path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))
}


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_only_public_interfaces_of_others_are_used():
    private = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path, tree in MODULES.items()
        for name in imports(tree)
        if name.split(".")[0] in ("inspect_ai", "typer", "transformers", "xllamacpp")
        and any(part.startswith("_") for part in name.split(".")[1:])
    ]
    assert private == []


def test_the_lowest_floors_are_tested_without_the_command():
    """``tools/newer.sh`` runs these tests where only the base is installed."""
    tests = Path(__file__).parent
    started = [
        str(path.relative_to(tests))
        for floor in ("causal", "files", "stats", "text")
        for path in sorted((tests / floor).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.arg) and node.arg.endswith("contrafact")
    ]
    assert started == []


def test_no_module_imports_an_executor():
    """The program finds them as entry points: Ray's is a package of its own."""
    for tree in MODULES.values():
        assert not {name.split(".")[0] for name in imports(tree)} & {"ray", "contrafact_ray"}


def listed_and_defined(tree: ast.Module) -> tuple[list[str] | None, set[str]]:
    """The names in ``__all__``, or None without one, and the names that a module defines."""
    defined: set[str] = set()
    listed: list[str] | None = None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            defined |= {(alias.asname or alias.name) for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            defined |= names
            if "__all__" in names:
                listed = ast.literal_eval(node.value)
    return listed, defined


def room_of(path: Path) -> str:
    """Return the folder that a module stands in, a family's whole folder being one."""
    folders = path.relative_to(SOURCE).parts[:-1]
    return "/".join(folders[: 2 if folders[:1] == ("families",) else 1])


def imported_elsewhere() -> set[Path]:
    """Return the modules of which another room imports something."""
    found: set[Path] = set()
    for path, tree in MODULES.items():
        for name in imports(tree):
            parts = name.split(".")
            for length in (len(parts), len(parts) - 1):
                module = SOURCE.parent.joinpath(*parts[:length]).with_suffix(".py")
                if module in MODULES and room_of(module) != room_of(path):
                    found.add(module)
    return found


def test_names_that_other_rooms_import_are_listed_and_what_is_listed_exists():
    wrong = []
    elsewhere = imported_elsewhere()
    for path, tree in MODULES.items():
        listed, defined = listed_and_defined(tree)
        if path == SOURCE / "__init__.py":
            defined |= set(contrafact._PLACES)  # imported when they are first used
        if listed is not None:
            wrong += [f"{path}: {name} is not there" for name in sorted({*listed} - defined)]
        elif path in elsewhere:
            wrong.append(f"{path} lists no public names in __all__")
    assert wrong == []


def without_types(tree: ast.Module) -> ast.Module:
    """Return a module without what is imported for its annotations alone."""

    class Types(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if ast.unparse(node.test) == "TYPE_CHECKING" else node

    return Types().visit(ast.parse(ast.unparse(tree)))


def test_no_files_import_each_other_in_a_circle():
    names = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in MODULES}
    graph = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): {
            module
            for name in imports(without_types(tree))
            for module in (name, name.rpartition(".")[0])
            if module in names
        }
        for path, tree in MODULES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(error.args[1]))


def test_every_room_keeps_its_budget_of_lines():
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## A budget for each room")[2].partition("\n## ")[0]
    budgets = {
        rooms: int(lines.replace(",", ""))
        for rooms, lines in re.findall(r"^\| (.+?) \| ([\d,]+) \|$", table, re.MULTILINE)
    }
    counted = dict.fromkeys(budgets, 0)
    for path in MODULES:
        name = path.relative_to(SOURCE).as_posix()
        homes = (
            rooms
            for rooms in budgets
            for room in re.findall(r"`([^`]+)`", rooms)
            if name == room or name.startswith(f"{room}/")
        )
        number = path.read_bytes().count(b"\n")
        counted[next(homes, "beside them")] += number
        counted["all"] += number
    assert counted["all"] <= budgets["all"]
    over = {rooms: lines for rooms, lines in counted.items() if lines > 1.1 * budgets[rooms]}
    assert not over


ENGINES = ("runs", "report", "study", "exams", "training", "cli", "api")
OF_A_FAMILY = ("api/texts.py",)
"""Functions that are one family's own."""
FAMILIES = re.compile(r"finforce|\brfc|_rfc|cobe", re.IGNORECASE)


def test_engines_name_no_family():
    named = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for engine in ENGINES
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


def names_given(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_names_are_the_fields():
    private = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path, tree in MODULES.items()
        for name in sorted({path.stem, *names_given(tree)} - EVENT_KINDS)
        if PRIVATE_WORDS.search(name.lower())
    ]
    assert private == []


def test_no_group_of_a_pattern_repeats_possessively():
    """Before 3.11.5 Python takes the beginning of such a group for all of it: ``(?>(?:…)+)``."""
    group = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9,]+\})\+")
    repeated = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if group.search(node.value)
    ]
    assert repeated == []


def test_every_decision_has_a_number_of_its_own():
    pages = sorted((SOURCE.parents[1] / "docs" / "decisions").glob("0*.md"))
    numbers = [page.name.partition("-")[0] for page in pages]
    assert numbers and len(set(numbers)) == len(numbers)
    for page, number in zip(pages, numbers, strict=True):
        assert page.read_text(encoding="utf-8").startswith(f"# {int(number)}. "), page.name
