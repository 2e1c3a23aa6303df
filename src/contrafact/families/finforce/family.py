"""The FIN-FORCE family: its task, commands, study, exam, training and data."""

from contrafact.family import Command, Family, Lazy, Task

__all__ = ["FAMILY"]

_HERE = "contrafact.families.finforce"

FAMILY = Family(
    name="finforce",
    title="FIN-FORCE",
    question="What could happen next, for worse and for better?",
    tasks=(
        Task(
            name="finforce",
            summary="forward counterfactuals from market headlines",
            run=Lazy(f"{_HERE}.task:RUN"),
            report=Lazy(f"{_HERE}.report:SPEC"),
            options=Lazy(f"{_HERE}.settings:FinforceOptions"),
            default_methods=("zero-shot",),
        ),
    ),
    commands={
        "finforce": Command(
            "Forward counterfactuals: screening headlines, releasing a set, studies of the judge.",
            Lazy(f"{_HERE}.commands:app"),
        ),
        "generate": Command(
            "Write a risk and an opportunity scenario for every headline of a file, in order.",
            Lazy(f"{_HERE}.commands.generate:generate"),
        ),
    },
    study={"": Lazy(f"{_HERE}.study:STUDY")},
    exam=Lazy(f"{_HERE}.exam:EXAM"),
    training=Lazy(f"{_HERE}.training:TRAINING"),
    presets=Lazy(f"{_HERE}.settings:PRESETS"),
    data={"finforce": Lazy(f"{_HERE}.data_check:SPEC")},
    rank=1,
    demo=Lazy(f"{_HERE}.settings:DEMO"),
    review_rows=Lazy(f"{_HERE}.data:review_rows"),
)
