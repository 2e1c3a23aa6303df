"""The report's page: an HTML file that works offline, runs its own script and requests nothing."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from contrafact.family import Shown
from contrafact.family.display import format_number
from contrafact.report.chapter import Chapter
from contrafact.report.explorer import CHUNK
from contrafact.report.marks import marked_text
from contrafact.report.words import run_facts
from contrafact.report.write import heading_groups, row_groups
from contrafact.text.delimit import inner_html, visible_html, visible_text


def render_page(
    title: str,
    created: str | None,
    chapters: Sequence[Chapter],
    examples: Mapping[str, Sequence[Shown]],
) -> str:
    """Return the page as HTML; ``created`` is its time in ISO 8601.

    Every text from a model, a judge, a file or a user is escaped and its hidden characters are
    shown. The page's policy forbids any request and any script except the explorer's, which it
    names by its hash.
    """
    # Anchors include the chapter's name if there are several chapters.
    alone = len(chapters) == 1
    prefixes = {chapter.task: "" if alone else f"{chapter.task}-" for chapter in chapters}
    template = page_environment().get_template("report.html.jinja")
    script = _asset("explorer.js")
    script_hash = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    return template.render(
        title=title, created=created, chapters=chapters, examples=examples, alone=alone,
        prefixes=prefixes, script=script, script_hash=script_hash, chunk=CHUNK,
    )  # fmt: skip


@cache
def page_environment() -> Environment:
    """Return the template environment of pages, with filters that show hidden characters."""
    environment = Environment(
        loader=PackageLoader("contrafact.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        visible=visible_html, breakable=_breakable, prose=_prose, attribute=visible_text,
        number=format_number, marked=marked_text, data_uri=_data_uri,
    )  # fmt: skip
    environment.globals.update(
        style=_asset("style.css"), row_groups=row_groups, heading_groups=heading_groups,
        run_facts=run_facts,
    )  # fmt: skip
    return environment


def _data_uri(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"


@cache
def _asset(name: str) -> Markup:
    text = files("contrafact.report").joinpath("templates", name).read_text(encoding="utf-8")
    return Markup(text)


def _prose(text: object) -> Markup:
    """Return a sentence with what it has between backticks, its commands, as code."""
    parts = [inner_html(part) for part in str(text).split("`")]
    parts[1::2] = [Markup("<code>{}</code>").format(part) for part in parts[1::2]]
    return Markup("<bdi>{}</bdi>").format(Markup("").join(parts))


_MAY_BREAK = re.compile(r"(?<=[/:,=])")


def _breakable(text: object) -> Markup:
    """Return a name in which browsers may break lines after slashes, colons, commas and equals."""
    return Markup("<wbr>").join(map(visible_html, _MAY_BREAK.split(str(text))))
