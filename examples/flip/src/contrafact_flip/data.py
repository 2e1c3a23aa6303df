"""Reviews in: a text, the label that it has, and, where there is one, its human revision."""

from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from contrafact.errors import InputError
from contrafact.files.tables import read_rows, source_name
from contrafact.records import content_id

__all__ = ["SAMPLES", "Review", "classifier", "load_reviews"]

SAMPLES = Path(__file__).parent / "samples" / "reviews.jsonl"
Label = Literal["positive", "negative"]


class Review(BaseModel):
    """A review with its label."""

    model_config = ConfigDict(frozen=True)

    id: str
    text: str
    label: Label
    revision: str | None = None
    """A text of the other label that a person made of it."""
    kept: str | None = None
    """A text of the same label, edited as much."""

    @property
    def other(self) -> Label:
        """The label that it does not have."""
        return "negative" if self.label == "positive" else "positive"


def load_reviews(path: Path) -> tuple[list[Review], list[str]]:
    """Return a file's reviews, and what was found in it besides.

    A file has a row for each review (``text``, ``label``, perhaps ``revision``), or two rows for
    each pair, joined by ``batch_id``, of which the first is the review and the second its revision,
    as in the counterfactually augmented data of Kaushik et al. (2020).

    Raises:
        InputError: If a row has no text, or a label that is neither positive nor negative.
    """
    found: dict[str, Review] = {}
    notes: list[str] = []
    pairs: dict[str, str] = {}
    for line, raw in read_rows(path):
        row = {key.strip().casefold(): value for key, value in raw.items()}
        text = str(row.get("text") or "").strip()
        label: Any = str(row.get("label") or row.get("sentiment") or "").strip().casefold()
        if not text or label not in ("positive", "negative"):
            problem = "no text" if not text else f"the label '{label}' is not one of the task's"
            hint = "give text and label, positive or negative"
            raise InputError(problem, file=source_name(path), line=line, hint=hint)
        batch = str(row.get("batch_id") or "")
        if batch in pairs:
            first = found[pairs.pop(batch)]
            found[first.id] = first.model_copy(update={"revision": text})
            continue
        review = Review(
            id=content_id(text, prefix="r"),
            text=text,
            label=label,
            revision=row.get("revision") or None,
            kept=row.get("kept") or None,
        )
        if review.id in found:
            notes.append(f"line {line} repeats a review and was left out")
            continue
        found[review.id] = review
        if batch:
            pairs[batch] = review.id
    if not found:
        raise InputError("there are no reviews", file=source_name(path))
    return list(found.values()), notes


@cache
def classifier() -> Any:
    """Return a classifier of labels, trained on the bundled reviews and their revisions."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    reviews, _ = load_reviews(SAMPLES)
    labelled = [(one.text, one.label) for one in reviews]
    labelled += [(one.revision, one.other) for one in reviews if one.revision]
    texts, labels = zip(*labelled, strict=True)
    words = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    return make_pipeline(words, LogisticRegression(C=10, max_iter=1_000)).fit(texts, labels)
