"""Rendering: templates that escape everything, and what every page shows."""

import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["asset", "guidelines_html", "redirect_to", "render"]


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Return a page.

    Every template also has ``account`` (None where nobody is signed in), ``csrf`` (the token of
    its forms), ``path_for`` (a route's path by name) and ``asset`` (a static file's address).
    """
    state = request.scope["state"]
    page = _environment().get_template(template)
    text = page.render(
        account=state.get("account"),
        csrf=state.get("csrf", ""),
        path_for=lambda name, **parts: str(request.app.url_path_for(name, **parts)),
        asset=asset,
        **context,
    )
    return HTMLResponse(text, status_code=status)


def redirect_to(path: str) -> RedirectResponse:
    """Return the response to a form that was taken: go on to another page."""
    return RedirectResponse(path, status_code=303)


@lru_cache(maxsize=32)
def asset(name: str) -> str:
    """Return the address of a static file; it changes with the file, so browsers may keep it."""
    content = files("contrafact.review.web").joinpath("static", name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


@lru_cache(maxsize=32)
def guidelines_html(text: str) -> Markup:
    """Return guidelines, which are Markdown, as HTML: no tag of theirs is taken over as one.

    Headings go two levels down, below the page's own.
    """
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    return Markup(reader.renderer.render(tokens, reader.options, {}))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("contrafact.review.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
