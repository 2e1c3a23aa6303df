"""MkDocs hooks: the pages that are made from the code, and the folders of versions.

`make docs` runs them. They add a page for every command (its options and its example, as the
program has them), the table of methods, criteria and measures, the pages of ``docs_tables``, and
those of the repository that lie outside ``docs``. After the build they write ``versions.json``,
which the selector of versions in the header reads, beside the version's folder.
"""

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import docs_tables
import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import contrafact
from contrafact.cli.main import app
from contrafact.family import families, tasks
from contrafact.family.method import Methods
from contrafact.plugins import family_entries

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Pages of the repository that the site shows, by where they lie there. The README is its front
page, so that both say the same."""
FOUND = {
    "decisions/": 0.0001,
    "changelog": 0.0001,
    "api/": 0.01,
    "agents": 0.1,
    "api.md": 0.001,
    "catalogue": 0.3,
    "commands/": 0.5,
    "your-own-family": 0.3,
    "own-method": 0.3,
    "agree": 0.5,
    "scenarios": 0.3,
    "concepts/": 2,
    "exam": 2,
    "faq": 1.5,
    "recipes": 2,
}
"""How early the search finds pages, by how their names begin; others by 1. What a newcomer asks is
answered first; what was decided, what has changed and modules' docstrings come last."""
NOT_SHOWN = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+(?:register|tests|src|tools)/[^)]*\)|"
    r"\[([^\]]+)\]\((?:diff-workflow\.yml|[^):]*\.ipynb|decisions/)\)"
)
"""Links to what is read in the repository and not on the site; their words stay."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the version, and fill in the parts of the navigation that the code decides."""
    config.extra["version"]["default"] = contrafact.__version__
    config.site_name = "contrafact"
    nav = {title: section for entry in config.nav or () for title, section in entry.items()}
    commands = [{name: f"commands/{name}.md"} for name, _ in top_commands()]
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    _fill(nav["Reference"], "Commands", commands)
    _fill(nav["Help"], "Decisions", [f"decisions/{path.name}" for path in decisions])
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    made = {f"commands/{name}.md": command_page(name, one) for name, one in top_commands()}
    agents = (ROOT / "docs" / "llms.txt").read_text("utf-8")
    made |= {
        "catalogue.md": catalogue_page(),
        "columns.md": docs_tables.columns_page(),
        "scenarios.md": docs_tables.scenarios_page(),
        "agents.md": docs_tables.agents_page(agents),
        "llms.txt": docs_tables.for_agents(agents),
        **docs_tables.schemas(),
    }
    for path, name in OUTSIDE.items():
        made[name] = (ROOT / path).read_text("utf-8").replace("](docs/", "](")
    for uri, text in made.items():
        if found := files.get_file_from_path(uri):
            files.remove(found)
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to the repository's own pages into links of the site, and say how found it is."""
    for name, boost in FOUND.items():
        if page.file.src_uri.startswith(name):
            page.meta["search"] = {"boost": boost}
    for path, name in OUTSIDE.items():
        above = "../" * page.file.src_uri.count("/")
        markdown = re.sub(rf"\]\((?:\.\./)+{re.escape(path)}", f"]({above}{name}", markdown)
    return NOT_SHOWN.sub(lambda found: found[1] or found[2], markdown)


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Make a page readable to screen readers: a name for the search dialog, no empty headings.

    A table without a heading over its first column has a cell there instead.
    """
    named = output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
    return named.replace("<th></th>", "<td></td>")


def on_post_build(*, config: MkDocsConfig) -> None:
    """List the versions that lie side by side, newest first, and lead the root to the newest."""
    site = Path(config.site_dir)
    if site.name != contrafact.__version__:
        return
    found = sorted(
        (path.parent.name for path in site.parent.glob("*/index.html")),
        key=lambda name: [int(part) if part.isdigit() else -1 for part in re.split(r"\W", name)],
        reverse=True,
    )
    listed = [{"version": name, "title": name, "aliases": []} for name in found]
    listed[0]["aliases"] = ["latest"]
    (site.parent / "versions.json").write_text(json.dumps(listed, indent=1), "utf-8")
    (site.parent / "index.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>contrafact</title>'
        f'<meta http-equiv="refresh" content="0; url={found[0]}/">'
        f'<a href="{found[0]}/">contrafact {found[0]}</a></html>\n',
        "utf-8",
    )


def top_commands() -> list[tuple[str, Any]]:
    """Return the program's commands and groups of commands, by name."""
    cli: Any = typer.main.get_command(app)
    context = typer.Context(cli)
    return [(name, cli.get_command(context, name)) for name in cli.list_commands(context)]


def leaves(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the commands below a command, each with the words that name it."""
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    context = typer.Context(command)
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), (*path, name))


def command_page(name: str, command: Any) -> str:
    """Return the page of a command: what it does, its example and its options, from its help."""
    found = list(leaves(command, (name,)))
    alone = found[0][1] is command
    parts = [f"# contrafact {name}"]
    if not alone:
        parts += [_plain(command.help or "").split("Example:")[0].strip()]
        rows = [
            f"| [`contrafact {' '.join(path)}`](#{'-'.join(('contrafact', *path))}) "
            f"| {_cell(one.get_short_help_str(300))} |"
            for path, one in found
        ]
        parts += ["\n".join(["| command | does |", "| --- | --- |", *rows])]
    for path, one in found:
        if not alone:
            parts.append(f"## contrafact {' '.join(path)}")
        parts += _described(path, one)
    return "\n\n".join(parts) + "\n"


def _described(path: tuple[str, ...], command: Any) -> list[str]:
    text = _plain(command.help or "")
    said, _, example = text.partition("Example: ")
    example, _, more = example.partition("\n\n")
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    context = typer.Context(command)
    wanted = [_names(one, context).replace("`", "") for one in arguments]
    usage = " ".join(["contrafact", *path, *wanted])
    parts = [said.strip(), f"```text\n{usage}{' [OPTIONS]' if options else ''}\n```"]
    if example:
        parts += ["Example:", f"```bash\n{' '.join(example.split())}\n```"]
    if more.strip():
        parts.append(more.strip())
    panels: dict[str, list[Any]] = {}
    for one in arguments:
        panels.setdefault("Arguments", []).append(one)
    for one in options:
        panels.setdefault(getattr(one, "rich_help_panel", None) or "Options", []).append(one)
    for title, group in panels.items():
        rows = [_row(one, context) for one in group]
        parts += [f"**{title}**", "\n".join(["| name | does |", "| --- | --- |", *rows])]
    return parts


def _names(one: Any, context: Any) -> str:
    """Return how an option or an argument is written, with what it takes, as the help has it."""
    written = one.get_help_record(context)[0]
    if one.param_type_name == "argument":
        return f"`{written.split(' <')[0]}`"
    return f"`{written}`"


def _row(one: Any, context: Any) -> str:
    said = re.sub(r"\s*\[(default: [^]]+|[^]]*[<>]=[^]]*|required)\]$", r" (\1)",
                  _plain(one.get_help_record(context)[1])).strip()  # fmt: skip
    if getattr(one, "multiple", False) and "repeat" not in said and "several" not in said:
        said += " Can be given several times."
    return f"| {_names(one, context).replace('|', chr(92) + '|')} | {_cell(said)} |"


def _plain(text: str) -> str:
    """Return a help text without Typer's markup."""
    return re.sub(r"\[/?(?:bold|dim|italic|cyan|green|yellow|red)\]", "", text).replace("\b", "")


def _cell(text: str) -> str:
    return escape(" ".join(text.split()), quote=False).replace("|", "\\|").replace("[", "\\[")


def catalogue_page() -> str:
    """Return the tables of methods, judged criteria and measures of every task."""
    shipped = {entry.name for entry in family_entries()}
    parts = [
        "# Methods, criteria, measures",
        "Made from the code: what every task of the families knows by name. Methods and baselines "
        "are named by `--method`; measures are the columns of `results.json` and of the tables.",
    ]
    for family in families().values():
        if family.name not in shipped:
            continue
        parts += [f"## {family.title}", f"*{family.question}*"]
        for task in family.tasks:
            spec = task.report.load()
            run: Any = task.run.load()
            parts += [f"### {task.name}", f"{task.summary}."]
            parts += ["**Methods**", _methods(run.methods)]
            criteria = [f"| `{one.column}` | {_cell(one.label)} |" for one in spec.criteria]
            if criteria:
                head = ["| criterion | a judge says whether |", "| --- | --- |"]
                parts += ["**Criteria**", "\n".join([*head, *criteria])]
            parts += ["**Measures**", _measures(spec.measures)]
    assert tasks()
    return "\n\n".join(parts) + "\n"


def _methods(methods: Methods) -> str:
    rows = ["| name | does | options | asks a model |", "| --- | --- | --- | --- |"]
    for package, names, asks in (
        (methods.package, methods.names(), "yes"),
        (methods.baselines, methods.baseline_names(), "no"),
    ):
        for name in names:
            path = f"{package}.{name.replace('-', '_')}"
            said, options = _module_facts(path)
            known = ", ".join(f"`{key}={value}`" for key, value in options.items()) or "–"
            rows.append(f"| `{name}` | {_cell(said)} | {known} | {asks} |")
    return "\n".join(rows)


def _module_facts(path: str) -> tuple[str, Mapping[str, Any]]:
    """Return what a method's module says of itself in its first line, and its options."""
    module = importlib.import_module(path)
    first = (module.__doc__ or "").strip().splitlines()[0]
    return first.partition(": ")[2] or first, getattr(module, "OPTIONS", {})


def _measures(measures: Any) -> str:
    rows = ["| name | heading | better | forms | rests on a judge |"]
    rows += ["| --- | --- | --- | --- | --- |"]
    for one in measures:
        judged = "yes" if one.judged else "no"
        rows.append(
            f"| `{one.name}` | {_cell(one.label)} | {one.better or '–'} | "
            f"{', '.join(one.forms)} | {judged} |"
        )
    return "\n".join(rows)


def _fill(section: list[Any], title: str, entries: list[Any]) -> None:
    (entry,) = (one for one in section if isinstance(one, dict) and title in one)
    entry[title] = entries
