"""What the bench of verifiers asks is what exams ask, and every judge is asked the same."""

from inspect_ai.model import get_model

from bench import verifying


def test_proof_is_asked_the_exams_questions_and_decides_them():
    examiner, asked = verifying.questions("cobe", 12)
    assert len({item.id for item, _, _ in asked}) == 12
    given = verifying._ask(examiner, get_model("verifier/proof"), asked)
    assert given == len(asked)
