"""The errors of this program: what a user can fix, in one line, and calls that failed."""

from pathlib import Path

__all__ = ["InputError", "ModelError"]


class InputError(Exception):
    """Bad usage or bad input. The command line prints it as one line and exits with 2.

    Args:
        problem: What is wrong, in one clause.
        file: The file it was found in, if any.
        line: The line in that file, counted from 1, if known.
        hint: What to do about it.
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

    def __str__(self) -> str:
        where = ""
        if self.file is not None:
            where = f"{self.file}:{self.line}: " if self.line is not None else f"{self.file}: "
        text = f"{where}{self.problem}"
        if self.hint:
            text += f"; {self.hint}"
        return " ".join(text.split())


class ModelError(Exception):
    """Calls of a model failed for good, and nothing came of them; the same call tries them again.

    One line says how many, and the most frequent causes, without secrets.
    """
