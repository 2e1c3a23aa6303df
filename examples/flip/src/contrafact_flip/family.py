"""The family as one object."""

from contrafact.family import Family, Lazy, Task

__all__ = ["FAMILY"]

FAMILY = Family(
    name="flip",
    title="Flip",
    question="What would it take for this review to say the opposite?",
    tasks=(
        Task(
            name="flip",
            summary="reviews edited until their label flips",
            run=Lazy("contrafact_flip.run:RUN"),
            report=Lazy("contrafact_flip.report:SPEC"),
            options=Lazy("contrafact_flip.run:FlipOptions"),
        ),
    ),
    study={"": Lazy("contrafact_flip.study:STUDY")},
    exam=Lazy("contrafact_flip.exam:EXAM"),
)
