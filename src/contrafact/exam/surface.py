"""What scores of likeness to the representative answer would have said (CoBe, section 4.2).

BLEU by sacreBLEU (sentence level, its default smoothing), ROUGE-L by Google's `rouge-score`
(F-measure, no stemming), and character edits (one less Levenshtein's distance over the longer
length). A right edit need not look like the representative one, and a wrong one may differ from it
in a single word.
"""

from collections.abc import Sequence

from contrafact.text.diff import normalised_edit_distance

__all__ = ["SCORES", "surface_scores"]

SCORES: tuple[str, ...] = ("bleu", "rouge_l", "edit_similarity")


def surface_scores(texts: Sequence[str], references: Sequence[str]) -> dict[str, list[float]]:
    """Return each text's likeness to its reference by score; 0 to 1, higher is more alike.

    Raises:
        ValueError: If there is not one reference per text.
    """
    # Heavy, and needed here alone.
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    rouge = RougeScorer(["rougeL"])
    scores: dict[str, list[float]] = {name: [] for name in SCORES}
    for text, reference in zip(texts, references, strict=True):
        scores["bleu"].append(sacrebleu.sentence_bleu(text, [reference]).score / 100.0)
        scores["rouge_l"].append(float(rouge.score(reference, text)["rougeL"].fmeasure))
        scores["edit_similarity"].append(1.0 - normalised_edit_distance(text, reference))
    return scores
