"""Croissant metadata (MLCommons, version 1.0) of a release, and its check by mlcroissant."""

import logging
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["CHECKER", "can_check", "check_croissant", "croissant"]

CHECKER = "mlcroissant"
_TYPES = {"string": "sc:Text", "boolean": "sc:Boolean", "array": "sc:Text", "date": "sc:Date"}
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(
    *,
    name: str,
    version: str,
    license: str | None,
    url: str | None,
    date: str | None,
    fields: Mapping[str, tuple[str, str]],
    digests: Mapping[str, str],
    sizes: Mapping[str, int],
    private: bool,
) -> dict[str, Any]:
    """Return the metadata as JSON-LD.

    Args:
        name: The dataset's name.
        version: Its version.
        license: Its licence; none if unsaid.
        url: Where it is published; none if nowhere.
        date: The day of its publication; none if unsaid.
        fields: Type and meaning of each field of a row.
        digests: The SHA-256 of each data file.
        sizes: The bytes of each data file.
        private: Whether the rows hold originals.
    """
    about = (
        "Artificial financial misinformation: news paragraphs with one small manipulation each, "
        "for research on detection. Every text in it is false by construction."
    )
    said = {
        "name": name,
        "description": about + (" Private copy with originals." if private else ""),
        "version": version,
        "license": license,
        "url": url,
        "datePublished": date,
        "creator": {"@type": "Organization", "name": f"The authors of {name}"},
        "citeAs": f"{name} {version}, built with contrafact.",
    }
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **{key: value for key, value in said.items() if value is not None},
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "contentSize": f"{sizes[file]} B",
                "encodingFormat": "application/jsonlines",
                "sha256": digest,
            }
            for file, digest in digests.items()
        ],
        "recordSet": [_record_set(file, fields) for file in digests],
    }


def can_check() -> bool:
    """Return whether mlcroissant, which the package does not need otherwise, is installed."""
    return find_spec(CHECKER) is not None


def check_croissant(path: str | Path) -> tuple[list[str], list[str]]:
    """Return mlcroissant's errors and warnings about a metadata file; nothing is downloaded.

    Raises:
        ImportError: mlcroissant is not installed.
    """
    import mlcroissant  # type: ignore[import-untyped]

    errors: list[str] = []
    warnings: list[str] = []
    # mlcroissant logs what it finds as well; it is told by the caller, once.
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        found = mlcroissant.Dataset(jsonld=str(path)).metadata.ctx.issues
        errors, warnings = sorted(found.errors), sorted(found.warnings)
    except mlcroissant.ValidationError as error:
        errors = [line.strip(" -") for line in str(error).splitlines() if line.strip()]
    finally:
        logger.setLevel(level)
    return errors, warnings


def _record_set(file: str, fields: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    name = file.removesuffix(".jsonl")
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
                "description": told,
                "dataType": _TYPES[kind],
                **({"repeated": True} if kind == "array" else {}),
                "source": {"fileObject": {"@id": file}, "extract": {"column": field}},
            }
            for field, (kind, told) in fields.items()
        ],
    }
