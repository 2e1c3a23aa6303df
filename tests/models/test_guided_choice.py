"""Replies that the embedded model is held to."""

import pytest

from contrafact.errors import InputError


@pytest.mark.parametrize("settings", [{"temperature": 0.0}, {"temperature": 1.5, "seed": 3}])
def test_the_embedded_model_writes_one_of_the_replies_it_is_held_to(ask, settings):
    choice = ["numerical", "flipping", "sentiment", "causal"]
    shown = ask("Tell me a story.", max_tokens=32, extra_body={"guided_choice": choice}, **settings)
    assert shown.completion in choice
    assert shown.stop_reason == "stop"


@pytest.mark.parametrize("choice", ["true", [], [""], [1]])
def test_a_choice_that_is_no_list_of_replies_is_refused(ask, choice):
    with pytest.raises(InputError, match="list of replies"):
        ask("Well?", extra_body={"guided_choice": choice})
