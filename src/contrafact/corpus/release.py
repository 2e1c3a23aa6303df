"""What every release of a dataset has: a name, a version, a schema, Croissant metadata, checksums.

A release is a folder that is written whole (`contrafact.files.atomic.write_folder`); the same rows
give the same bytes.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from contrafact.corpus.news_items import day_of
from contrafact.errors import InputError
from contrafact.files.atomic import guard_folder
from contrafact.options import Options, option

__all__ = [
    "CROISSANT",
    "Facts",
    "Fields",
    "ReleaseOptions",
    "card_of",
    "croissant_of",
    "json_text",
    "schema_of",
    "sha256_text",
    "with_checksums",
]

CROISSANT = "croissant.json"

Fields = Mapping[str, tuple[str, str]]
"""A row's fields by name: type (``string``, ``boolean``, ``integer`` or ``date``) and meaning."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_VERSION = re.compile(r"\A\d+\.\d+\.\d+(?:[-+][\w.+-]+)?", re.ASCII)
_TYPES = {"string": "sc:Text", "boolean": "sc:Boolean", "integer": "sc:Integer", "date": "sc:Date"}


class Facts(Options):
    """The facts about a release that its metadata state."""

    name: str = option(..., "The dataset's name.")
    version: str = option("1.0.0", "Its version, as in 1.0.0.")
    license: str | None = option(None, "Licence of what was added: an SPDX name or an address.")
    url: str | None = option(None, "Where it will be published.")
    date: str | None = option(None, "Day of publication, YYYY-MM-DD.")


class ReleaseOptions(Facts):
    """The options of every command that makes a release: its folder, and the facts about it."""

    out: Path = option(..., "A new folder.", metavar="DIR")

    def check(self) -> Facts:
        """Return the facts about the release, after checking them and the folder."""
        guard_folder(self.out)
        check_facts(self)
        return self


def check_facts(facts: Facts) -> None:
    """Raise an `InputError` for facts that do not fit into metadata."""
    if not _NAME.fullmatch(facts.name):
        raise InputError(
            f"'{facts.name[:40]}' is not a name for a dataset",
            hint="use letters, digits, dots, hyphens and underscores",
        )
    if not _VERSION.fullmatch(facts.version):
        raise InputError(f"'{facts.version[:40]}' is not a version", hint="write it as in 1.0.0")
    if facts.date is not None and day_of(facts.date) != facts.date:
        raise InputError(f"'{facts.date[:40]}' is not a day", hint="write it as YYYY-MM-DD")


def schema_of(
    title: str, fields: Fields, nullable: Collection[str], own: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a row; ``own`` adds keywords to some fields."""
    properties: dict[str, Any] = {}
    for name, (kind, meaning) in fields.items():
        plain = "string" if kind == "date" else kind
        types: Any = [plain, "null"] if name in nullable else plain
        properties[name] = {"type": types, "description": meaning, **own.get(name, {})}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": properties,
        "required": list(fields),
        "additionalProperties": False,
    }


def json_text(value: object) -> str:
    """Return the text of a release's JSON file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def croissant_of(
    facts: Facts, about: str, fields: Fields, data: Mapping[str, str]
) -> dict[str, Any]:
    """Return the metadata of a release as JSON-LD (Croissant 1.0, MLCommons).

    ``data`` are its files of rows, by name; each row has a unique field ``id``.
    """
    properties = {
        "name": facts.name,
        "description": about,
        "version": facts.version,
        "license": facts.license,
        "url": facts.url,
        "datePublished": facts.date,
        "creator": {"@type": "Organization", "name": f"The authors of {facts.name}"},
        "citeAs": f"{facts.name} {facts.version}, built with contrafact.",
    }
    context = resources("contrafact.corpus").joinpath("croissant_context.json")
    return {
        "@context": json.loads(context.read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **{key: value for key, value in properties.items() if value is not None},
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "contentSize": f"{len(text.encode())} B",
                "encodingFormat": "application/jsonlines",
                "sha256": sha256_text(text),
            }
            for file, text in data.items()
        ],
        "recordSet": [_record_set(file, text, fields) for file, text in data.items()],
    }


def _record_set(file: str, text: str, fields: Fields) -> dict[str, Any]:
    name = file.removesuffix(".jsonl")
    rows = [json.loads(line) for line in text.split("\n") if line]
    # A field with a date that cannot be read is declared as text.
    texts = {
        field
        for field, (kind, _) in fields.items()
        if kind == "date" and any((given := row.get(field)) and not day_of(given) for row in rows)
    }
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "key": {"@id": f"{name}/id"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{field}",
                "name": field,
                "description": meaning,
                "dataType": _TYPES["string" if field in texts else kind],
                "source": {"fileObject": {"@id": file}, "extract": {"column": field}},
            }
            for field, (kind, meaning) in fields.items()
        ],
    }


def sha256_text(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def card_of(template: Path, **values: object) -> str:
    """Return the card of a dataset, rendered from a template."""
    # It takes longer to load than the command that only shows its help.
    from contrafact.prompts import plain_environment

    environment = plain_environment()
    environment.filters["cell"] = lambda text: " ".join(text.split()).replace("|", "\\|")
    return environment.from_string(template.read_text(encoding="utf-8")).render(**values)


def with_checksums(files: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a release, plus ``SHA256SUMS`` with their checksums, in their order."""
    sums = "".join(f"{sha256_text(text)}  {name}\n" for name, text in files.items())
    return {**files, "SHA256SUMS": sums}
