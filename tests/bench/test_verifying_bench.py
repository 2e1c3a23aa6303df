"""What the bench of verifiers asks is what exams ask, and every judge is asked the same."""

import pytest

from bench import verifying


@pytest.mark.parametrize(("family", "verifier"), [("cobe", "proof"), ("finforce", "rules")])
def test_verifiers_are_asked_the_exams_questions_and_decide_some(family, verifier):
    from inspect_ai.model import get_model

    examiner, asked = verifying.questions(family, 12)
    assert {item.id for item, _, _ in asked} >= {asked[0][0].id}
    assert len({item.id for item, _, _ in asked}) == 12
    given = verifying._ask(examiner, get_model(f"verifier/{verifier}"), asked)
    assert 0 < given <= len(asked)
    assert verifier != "proof" or given == len(asked)
