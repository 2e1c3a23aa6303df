"""Judge, guideline and studio ask about a criterion in the same words."""

import tomllib
from importlib.resources import files

import pytest

from contrafact.families.finforce.records import CRITERIA, SIDES
from contrafact.prompts import default_templates
from contrafact.review.project import load_project

FAMILY = files("contrafact.families.finforce")
DATA = tomllib.loads(FAMILY.joinpath("criteria.toml").read_text(encoding="utf-8"))


def sentences(criterion, who):
    return [text.format(**DATA["words"][who]) for text in DATA[criterion].values()]


def one_line(text):
    return " ".join(text.split())


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_judge_is_asked_in_these_words_and_no_others(criterion, side):
    name = f"finforce/judge-{criterion.replace('_', '-')}"
    name += f"-{side}" if criterion == "directionality" else ""
    text = default_templates()[name].read_text(encoding="utf-8")
    asked = [line[2:] for line in text.splitlines() if line.startswith("- ")]
    assert asked == sentences(criterion, side)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_people_are_asked_what_the_judge_is_asked(criterion):
    guideline = one_line(FAMILY.joinpath("study_guidelines.txt").read_text(encoding="utf-8"))
    studio = one_line(load_project("judge-agreement").guidelines)
    for sentence in sentences(criterion, "both"):
        assert sentence in guideline, sentence
        assert sentence in studio, sentence
    assert "later change of course" not in guideline
