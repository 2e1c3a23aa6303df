"""The label spaces, and what published files call the manipulations."""

from contrafact.families.rfc.labels import labels_of, manipulation_named
from contrafact.families.rfc.records import MANIPULATIONS


def test_the_label_spaces_are_the_papers():
    assert labels_of("rfc-detect") == ("true", "false")
    assert labels_of("rfc-diagnose") == MANIPULATIONS


def test_published_names_of_the_manipulations_are_known_and_others_are_not():
    assert manipulation_named("Directional Flipping") == "flipping"
    assert manipulation_named("SENTIMENT_AMPLIFICATION") == "sentiment"
    assert manipulation_named("Corporate strategy & operations") is None
    assert manipulation_named(None) is None
