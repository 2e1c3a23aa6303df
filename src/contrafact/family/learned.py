"""Verifiers that learned: a folder that ``contrafact train verifier`` saved, as a judge.

``--judge verifier/DIR`` asks it. It decides the criteria on which it was better than the surface of
texts, where its calibrated probability is high enough, and leaves all else undecided.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.family import families, family_named
from contrafact.judges.verifier import Decision, Subject

if TYPE_CHECKING:
    from contrafact.models.whitebox.classifier import Classifier

__all__ = ["FILE", "LearnedVerifier", "is_learned", "learned_name", "learned_verifier"]

FILE = "verifier.json"
"""Makes a folder a verifier's."""
FORMAT = 1
_MOST_NAMED = 3


def is_learned(name: str) -> bool:
    """Tell whether a name is of a folder, and not of a verifier that a family has.

    A folder here that is called as a family's verifier is (``proof``) does not hide it; it is named
    with its path.
    """
    if "/" in name:
        return True
    known = {own for family in families().values() for own in family.verifiers}
    return name not in known and Path(name).is_dir()


def learned_name(name: str) -> str:
    """Return the one name of a verifier's folder, however it is given."""
    return str(Path(name).expanduser().absolute())


@dataclass(frozen=True)
class LearnedVerifier:
    """A verifier that was trained.

    Attributes:
        folder: Its folder.
        criteria: By ``FAMILY/NAME``, the figures of what it may decide.
        decided: The probability at which it gives a verdict.
        length: The most tokens of an item.
    """

    folder: Path
    criteria: Mapping[str, Mapping[str, Any]]
    decided: float
    length: int

    @property
    def families(self) -> tuple[str, ...]:
        """The families that it judges."""
        return tuple(dict.fromkeys(name.partition("/")[0] for name in self.criteria))

    @property
    def classifier(self) -> "Classifier":
        """Its model, loaded once in this process."""
        from contrafact.models.whitebox.classifier import shared_classifier

        return shared_classifier(self.folder)

    def __call__(self, criterion: str, subject: Subject) -> Decision:
        """Decide one criterion about one subject."""
        family = subject["family"]
        figures = self.criteria.get(f"{family}/{criterion}")
        if figures is None:
            return Decision(None, f"it did not learn {criterion} better than the surface shows")
        learning = family_named(family).learning
        spec = None if learning is None else learning.load()
        item = None if spec is None else spec.subject(subject)
        if spec is None or item is None:
            return Decision(None, "what is judged lacks what the question needs")
        if not item.text.strip():
            return Decision(None, "there is no text")
        fed = self.classifier.tokens(spec.question(criterion, item), item.text)
        if len(fed["input_ids"]) > self.length:
            return Decision(None, f"over {self.length} tokens, more than it learned from")
        logit = float(self.classifier.logits([fed])[0]) / figures["temperature"]
        probability = 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
        reason = f"it holds with probability {probability:.2f}"
        passed = probability >= 0.5
        if max(probability, 1.0 - probability) < self.decided:
            return Decision(None, f"{reason}, too near to chance", probability)
        share = f"{figures['accuracy']:.0%} of {figures['coverage']:.0%} decided"
        return Decision(passed, f"{reason}; on unseen items {share} were right", probability)


@lru_cache(maxsize=8)
def learned_verifier(folder: str) -> LearnedVerifier:
    """Return the verifier of a folder; its model is loaded when it is first asked.

    Raises:
        InputError: The folder holds no verifier, or a damaged one.
    """
    path = Path(folder)
    hint = _hint(path)
    if not path.is_dir():
        raise InputError("there is no such folder of a verifier", file=path, hint=hint)
    try:
        stated = json.loads((path / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"the folder holds no verifier (no {FILE})", file=path, hint=hint
        ) from None
    except (OSError, ValueError) as error:
        raise InputError("cannot be read", file=path / FILE, hint="train it anew") from error
    if not isinstance(stated, dict) or stated.get("format") != FORMAT:
        raise InputError("is of another format", file=path / FILE, hint="train it anew")
    return LearnedVerifier(path, stated["criteria"], stated["decided"], stated["length"])


def _hint(path: Path) -> str:
    """Return which folders of verifiers are near a path that is none, or what makes one."""
    near = [path, *path.parents[:2], Path.cwd() / "runs"]
    there = sorted({file.parent for one in near for file in _inside(one)})
    if there:
        return "there is " + ", ".join(f"verifier/{one}" for one in there[:_MOST_NAMED])
    return "train one with `contrafact train verifier CONFIG`; none ships"


def _inside(folder: Path) -> list[Path]:
    try:
        return [*folder.glob(f"verifier/{FILE}"), *folder.glob(f"*/verifier/{FILE}")]
    except OSError:
        return []
