"""The RFC-BENCH family: its tasks, commands, studies, exam and data."""

from contrafact.family import Command, Family, Lazy, Task

__all__ = ["FAMILY"]

_HERE = "contrafact.families.rfc"

FAMILY = Family(
    name="rfc",
    title="RFC-BENCH",
    question="Was this tampered with?",
    tasks=(
        Task(
            name="rfc-detect",
            summary="published (true) or manipulated (false)?",
            run=Lazy(f"{_HERE}.tasks:DETECT"),
            report=Lazy(f"{_HERE}.report:DETECT"),
            options=Lazy(f"{_HERE}.settings:DetectOptions"),
        ),
        Task(
            name="rfc-diagnose",
            summary="which of the four manipulations?",
            run=Lazy(f"{_HERE}.tasks:DIAGNOSE"),
            report=Lazy(f"{_HERE}.report:DIAGNOSE"),
            options=Lazy(f"{_HERE}.settings:DiagnoseOptions"),
        ),
    ),
    commands={
        "rfc": Command(
            "Build a benchmark of minimal financial misinformation, stage by stage.",
            Lazy(f"{_HERE}.commands:app"),
        )
    },
    study={
        kind: Lazy(f"{_HERE}.study:{kind.upper()}") for kind in ("agreement", "detect", "diagnose")
    },
    exam=Lazy(f"{_HERE}.exam:EXAM"),
    data={"rfc": Lazy(f"{_HERE}.data_report:SPEC")},
    presets=Lazy(f"{_HERE}.settings:PRESETS"),
    rank=2,
    demo=Lazy(f"{_HERE}.settings:DEMO"),
    review_rows=Lazy(f"{_HERE}.data:review_rows"),
    draft_checks={"contract": Lazy(f"{_HERE}.contracts.pair_check:check_draft")},
)
