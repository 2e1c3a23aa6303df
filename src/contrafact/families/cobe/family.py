"""The CoBe family: its tasks, commands, studies, exam and data."""

from contrafact.family import Command, Family, Lazy, Task

__all__ = ["FAMILY"]

_HERE = "contrafact.families.cobe"

FAMILY = Family(
    name="cobe",
    title="CoBe",
    question="What would have happened instead?",
    tasks=(
        Task(
            name="cobe",
            summary="stories as they would have gone instead",
            run=Lazy(f"{_HERE}.task:RUN"),
            report=Lazy(f"{_HERE}.report:SPEC"),
            options=Lazy(f"{_HERE}.settings:CobeOptions"),
        ),
    ),
    commands={
        "cobe": Command(
            "Counterfactual edits of stories: stories of known answers, variations, studies.",
            Lazy(f"{_HERE}.commands:app"),
        )
    },
    study={
        "rating": Lazy(f"{_HERE}.study:STUDY"),
        "criteria": Lazy(f"{_HERE}.study:CRITERIA"),
        "reading": Lazy(f"{_HERE}.reading_study:READING"),
    },
    exam=Lazy(f"{_HERE}.exam:EXAM"),
    editing=Lazy(f"{_HERE}.editing:EDITING"),
    verifiers={"proof": Lazy(f"{_HERE}.verifier:proof")},
    readers={"proof": Lazy(f"{_HERE}.read.reader:question")},
    data={"cobe": Lazy(f"{_HERE}.statistics:SPEC")},
    rank=3,
    demo=Lazy(f"{_HERE}.settings:DEMO"),
    review_rows=Lazy(f"{_HERE}.data:review_rows"),
)
