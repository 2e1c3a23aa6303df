"""Reviews in: a text, the label that it has, and, where there is one, its human revision."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from contrafact.errors import InputError
from contrafact.files.tables import read_rows
from contrafact.records import content_id

__all__ = ["SAMPLES", "Review", "classifier", "load_reviews"]

SAMPLES = Path(__file__).parent / "samples" / "reviews.jsonl"
Label = Literal["positive", "negative"]


class Review(BaseModel):
    """A review with its label; a revision of the other label; one that is edited and keeps it."""

    model_config = ConfigDict(frozen=True)

    id: str
    text: str
    label: Label
    revision: str | None = None
    kept: str | None = None

    @property
    def other(self) -> Label:
        """The label that it does not have."""
        return "negative" if self.label == "positive" else "positive"


def load_reviews(
    path: Path, columns: Mapping[str, str] | None = None
) -> tuple[list[Review], list[str]]:
    """Return a file's reviews, and what was found in it besides.

    A row holds a review (``text``, ``label``, perhaps ``revision``), or two rows a pair, joined by
    ``batch_id``: the review and its revision, as Kaushik et al. (2020) publish theirs.

    Raises:
        InputError: If a row has no text, or a label that is neither positive nor negative.
    """
    found: dict[str, Review] = {}
    notes: list[str] = []
    pairs: dict[str, str] = {}
    for line, raw in read_rows(path, columns):
        row: dict[str, Any] = {key.strip().casefold(): value for key, value in raw.items()}
        text = str(row.get("text") or "").strip()
        label: Any = str(row.get("label") or row.get("sentiment") or "").strip().casefold()
        if not text or label not in ("positive", "negative"):
            problem = f"the label '{label}' is not one of the task's" if text else "no text"
            raise InputError(problem, file=path, line=line, hint="use positive or negative")
        batch = str(row.get("batch_id") or "")
        if batch in pairs:
            first = found[pairs.pop(batch)]
            found[first.id] = first.model_copy(update={"revision": text})
            continue
        own = {"revision": row.get("revision") or None, "kept": row.get("kept") or None}
        review = Review(id=content_id(text, prefix="r"), text=text, label=label, **own)
        if review.id in found:
            notes.append(f"line {line} repeats a review and was left out")
            continue
        found[review.id] = review
        if batch:
            pairs[batch] = review.id
    return list(found.values()), notes


@cache
def classifier() -> Any:
    """Return a classifier of labels, trained on the bundled reviews and their revisions."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    reviews, _ = load_reviews(SAMPLES)
    texts = [one.text for one in reviews] + [str(one.revision) for one in reviews]
    labels = [one.label for one in reviews] + [one.other for one in reviews]
    words = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    return make_pipeline(words, LogisticRegression(C=10, max_iter=1_000)).fit(texts, labels)
