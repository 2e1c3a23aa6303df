"""The human study: does the label flip, and would an editor print the text?"""

from pathlib import Path

from contrafact.family.study import Question, StudySpec

__all__ = ["STUDY"]

STUDY = StudySpec(
    summary="whether reviews were flipped, and read well",
    noun="reviews",
    task="flip",
    shown={"wanted_label": "wanted", "review": "text"},
    questions=(
        Question("flipped", verdict="judge_flipped", criterion="flipped"),
        Question("fluent", verdict="judge_fluent", criterion="fluent"),
    ),
    guidelines=Path(__file__).with_name("study_guidelines.txt"),
    key=(
        *("item", "system", "model", "method", "judge", "draw", "sample_id"),
        *("judge_flipped", "judge_fluent", "probability", "check"),
    ),
    labels=("judge", "system", "draw", "sample_id"),
)
