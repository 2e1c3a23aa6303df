"""Annotations that were made with other tools: exports of Label Studio and Potato, as they come.

Label Studio: JSON (a list of tasks with ``annotations``), JSON-MIN and CSV (a row per annotation,
the controls' names as columns). Potato: JSON Lines, CSV, TSV and Parquet of its exporters (a row
per item and user, ``labels`` or a column per scheme), the ``user_state.json`` that it keeps of each
person, and the ``annotated_instances.jsonl`` of earlier versions. What becomes of them in a review
is decided in `contrafact.review.import_annotations`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from contrafact.errors import InputError
from contrafact.files.tables import read_rows, source_name
from contrafact.review.field_mapping import json_value

__all__ = ["TOOLS", "ExternalAnnotation", "read_annotations"]


Tool = Literal["label-studio", "potato"]
TOOLS: tuple[Tool, ...] = ("label-studio", "potato")

_MIN_KEYS = ("annotation_id", "annotator")
_MIN_FACTS = ("id", *_MIN_KEYS, "created_at", "updated_at", "lead_time", "agreement", "history")
_STATE_LABELS = "instance_id_to_label_to_value"
_POTATO_OWN = ("user_state.json", "annotated_instances.jsonl")
_POTATO_IDS = ("instance_id", "id")
_POTATO_USERS = ("user_id", "user", "annotator")
_POTATO_LABELS = ("labels", "label_annotations")


@dataclass(frozen=True)
class ExternalAnnotation:
    """One person's answers to one item, as another tool has them.

    Attributes:
        ids: What may be the item's id in the review, likeliest first.
        data: The item's fields, as the tool repeats them; empty where it does not.
        answers: By the tool's name for a question, everything that was chosen or written.
        when: The time there, as it was written; empty if there is none.
        key: The annotation's name there, which tells a repeated import from a second opinion.
        skipped: Why it holds no decision; empty if it does.
    """

    line: int
    ids: tuple[str, ...]
    data: Mapping[str, Any]
    by: str
    answers: Mapping[str, tuple[str, ...]]
    when: str = ""
    key: str = ""
    skipped: str = field(default="")


def read_annotations(
    path: str | Path, tool: Tool, *, annotator: str | None = None
) -> list[ExternalAnnotation]:
    """Return the annotations that an export of another tool holds, in its order.

    Args:
        annotator: Who made the decisions, where the file does not say: the files that earlier
            versions of Potato keep in a folder per person. Else the folder's name is taken.

    Raises:
        InputError: The file cannot be read, or a row is not of the tool's form; the line is named.
    """
    found: list[ExternalAnnotation] = []
    file = Path(path)
    folder = file.parent.name if file.name in _POTATO_OWN else ""
    kept = _user_state(file) if tool == "potato" else None
    for line, given in read_rows(path) if kept is None else [(1, kept)]:
        row = json_value(given)
        try:
            if tool == "label-studio":
                found += label_studio_annotations(line, row)
            else:
                found += potato_annotations(line, row, annotator or folder)
        except InputError as error:
            raise InputError(
                error.problem, file=source_name(path), line=line, hint=error.hint
            ) from error
    if not found:
        raise InputError("the file holds no annotations", file=source_name(path))
    return found


def label_studio_annotations(line: int, row: dict[str, Any]) -> Iterator[ExternalAnnotation]:
    """Yield the annotations of a task of Label Studio, or the one of a row of JSON-MIN or CSV.

    Raises:
        InputError: It is neither.
    """
    annotations = row.get("annotations", row.get("completions"))
    if annotations is None and all(key in row for key in _MIN_KEYS):
        yield ExternalAnnotation(
            line,
            _item_ids(row, "item_id"),
            row,
            _person_name(row["annotator"]),
            {
                str(name): values
                for name, value in row.items()
                if name not in _MIN_FACTS and (values := _texts(_unpacked(value)))
            },
            str(row.get("updated_at") or row.get("created_at") or ""),
            str(row["annotation_id"]),
        )
        return
    data = row.get("data")
    if not isinstance(annotations, list) or not isinstance(data, dict):
        raise InputError(
            "this is no task of Label Studio: 'data' and 'annotations' are not there",
            hint="export as JSON, JSON-MIN or CSV",
        )
    for place, annotation in enumerate(annotations, start=1):
        if not isinstance(annotation, dict):
            raise InputError("an annotation is no object", hint="export the project again")
        results = annotation.get("result") or []
        answers: dict[str, tuple[str, ...]] = {}
        for result in results if isinstance(results, list) else []:
            if not isinstance(result, dict) or not isinstance(result.get("value"), dict):
                continue
            # A control's name, and what was chosen or written in it.
            name, kind = str(result.get("from_name", "")), str(result.get("type", ""))
            value = result["value"].get(kind, result["value"].get("text"))
            if name:
                answers[name] = (*answers.get(name, ()), *_texts(value))
        cancelled = bool(annotation.get("was_cancelled"))
        yield ExternalAnnotation(
            line,
            _item_ids(data, "item_id", "id"),
            data,
            _person_name(annotation.get("completed_by")),
            answers,
            str(annotation.get("updated_at") or annotation.get("created_at") or ""),
            str(annotation.get("id") or f"{row.get('id')}-{place}"),
            "the annotator skipped it" if cancelled else "",
        )


def _unpacked(value: object) -> object:
    """Return what a cell holds: what is more than one choice or text is written as JSON there."""
    if isinstance(value, str) and value[:2] in ("[{", '["', '{"'):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _item_ids(data: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    """Return what may be the item's id of a task; its number in Label Studio is none."""
    given = (data.get(name) for name in names)
    return tuple(dict.fromkeys(str(one) for one in given if one not in (None, "")))


def _person_name(given: object) -> str:
    """Return a person's name: Label Studio has numbers, e-mail addresses or objects of both."""
    if isinstance(given, dict):
        given = given.get("email") or given.get("username") or given.get("id")
    return "" if given is None else str(given).strip()


def potato_annotations(
    line: int, row: dict[str, Any], annotator: str
) -> Iterator[ExternalAnnotation]:
    """Yield the annotations of a row of Potato's exports, or of what its server keeps of a person.

    Args:
        annotator: Who made them, where the row does not say; empty if nobody is known.

    Raises:
        InputError: It is neither, or names nobody.
    """
    ids = tuple(str(row[name]) for name in _POTATO_IDS if row.get(name) not in (None, ""))
    if not ids and _STATE_LABELS not in row:
        raise InputError(
            "this is no row of Potato: 'instance_id' is not there",
            hint="export with its csv, tsv, jsonl or parquet exporter",
        )
    user = next((str(row[n]) for n in _POTATO_USERS if row.get(n) not in (None, "")), annotator)
    if not user:
        raise InputError("nobody is named ('user_id')", hint="say whose file this is")
    if _STATE_LABELS in row:
        yield from _user_state_annotations(line, row[_STATE_LABELS], user)
        return
    labels = next((row[name] for name in _POTATO_LABELS if isinstance(row.get(name), dict)), None)
    answers = _flat(row) if labels is None else _nested(labels)
    yield ExternalAnnotation(line, ids[:1], {}, user, answers, key=f"{ids[0]} {user}")


def _user_state(file: Path) -> dict[str, Any] | None:
    """Return what Potato's server keeps of a person; None for any other file."""
    if file.suffix != ".json":
        return None
    try:
        held = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None  # reading its rows will say what is wrong with it
    return held if isinstance(held, dict) and _STATE_LABELS in held else None


def _user_state_annotations(line: int, items: object, user: str) -> Iterator[ExternalAnnotation]:
    """Read ``{item: [[{schema, name}, value], …]}``, or ``{item: {schema: {name: value}}}``."""
    if not isinstance(items, dict):
        raise InputError(f"'{_STATE_LABELS}' is no object", hint="export it again")
    for item, given in items.items():
        labels: dict[str, Any] = given if isinstance(given, dict) else {}
        for entry in given if isinstance(given, list) else ():
            match entry:
                case [{"schema": str(schema), "name": str(label)}, value]:
                    labels.setdefault(schema, {})[label] = value
                case _:
                    raise InputError(
                        f"the labels of '{str(item)[:40]}' are not [[{{schema, name}}, value], …]",
                        hint="export with Potato's csv, tsv, jsonl or parquet exporter",
                    )
        answers = _nested(labels)
        skipped = "" if answers else "nothing is answered"
        yield ExternalAnnotation(
            line, (str(item),), {}, user, answers, key=f"{item} {user}", skipped=skipped
        )


def _nested(labels: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return answers from ``{scheme: {label: value}}``."""
    answers = {}
    for scheme, chosen in labels.items():
        values = _chosen(chosen) if isinstance(chosen, dict) else _texts(chosen)
        if values:
            answers[str(scheme)] = values
    return answers


def _flat(row: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return answers from columns ``scheme`` or ``scheme.label`` (``scheme:::label`` once)."""
    whole: dict[str, tuple[str, ...]] = {}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        if name in (*_POTATO_IDS, *_POTATO_USERS, "displayed_text"):
            continue
        scheme, mark, label = name.partition(":::" if ":::" in name else ".")
        if mark and label.startswith("_"):  # spans and the like, which are no answers
            continue
        if mark:
            parts.setdefault(scheme, {})[label] = value
        elif values := _texts(value):
            whole[name] = values
    joined = {scheme: values for scheme, own in parts.items() if (values := _chosen(own))}
    # A column of the scheme's own name holds the person's final choice.
    return joined | whole


def _chosen(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels that were chosen, or the text that was written into a box."""
    chosen: list[str] = []
    for label, value in given.items():
        texts = _texts(value)
        if not texts or texts[0].casefold() in ("false", "0", "0.0"):
            continue
        written = str(label) in ("text_box", "free_response", "textbox")
        chosen.append(texts[0] if written else str(label))
    return tuple(chosen)


def _texts(value: object) -> tuple[str, ...]:
    """Return every text in a value, however deeply a tool nests it."""
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, dict):
        inner = value.get("choices", value.get("text"))
        return _texts(inner)
    if isinstance(value, list | tuple):
        return tuple(text for one in value for text in _texts(one))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return (text,) if text else ()
