from collections import Counter

from contrafact.families.finforce.data import CATEGORIES, bundled_headlines, bundled_shots
from contrafact.families.finforce.error_classes import ErrorClasses, classify
from contrafact.records import SIDES


def test_headlines_cover_every_category_alike() -> None:
    headlines = bundled_headlines()
    assert len(headlines) == 30
    assert Counter(h.category for h in headlines) == dict.fromkeys(CATEGORIES, 3)
    assert all(40 <= len(h.text) <= 160 for h in headlines)


def test_shots_cover_every_category_and_all_have_both_sides() -> None:
    shots = bundled_shots()
    assert len(shots) >= 44
    assert {shot.category for shot in shots} == set(CATEGORIES)
    assert all(shot.reference for shot in shots)


def test_headlines_and_shots_are_all_different() -> None:
    ids = [h.id for h in bundled_headlines() + bundled_shots()]
    assert len(set(ids)) == len(ids)


def shot_classes() -> list[tuple[str, ErrorClasses]]:
    return [
        (shot.reference.side(side), classify(shot.text, shot.reference.side(side)))
        for shot in bundled_shots()
        if shot.reference
        for side in SIDES
    ]


def test_worked_examples_commit_none_of_the_computable_errors() -> None:
    for text, found in shot_classes():
        assert not found.numeric_prediction, text
        assert not found.similar_semantics, text
        assert not found.fantastical_edit, text
        assert not found.entities_lost, text
        assert len(text) <= 140, text


def test_the_two_sides_of_a_worked_example_differ() -> None:
    for shot in bundled_shots():
        assert shot.reference
        assert not classify(shot.reference.risk, shot.reference.opportunity).similar_semantics


def test_the_first_headlines_already_cover_every_category() -> None:
    assert len({headline.category for headline in bundled_headlines()[:10]}) == 10
