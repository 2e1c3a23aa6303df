"""How the family is run: its options, and its part of the demo."""

from typing import Annotated

from pydantic import AfterValidator, Field

from contrafact.errors import InputError
from contrafact.families.cobe.phrasing import PLAIN, framing_named
from contrafact.family import DemoExample, DemoPart, Lazy
from contrafact.family.settings import Names, ReaderOptions, ShotOptions, StructuredOptions


def _in_full(names: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(map(framing_named, names)))
    except InputError as error:  # a config file's error has the line
        raise ValueError(f"{error.problem}; {error.hint}") from None


Framings = Annotated[Names, AfterValidator(_in_full)]
"""Names of framings, in full, each once."""


class CobeOptions(ShotOptions, StructuredOptions, ReaderOptions):
    judge_context: bool = Field(
        default=False, description="Show the judge the scenario and the query too."
    )
    framing: Framings = Field(
        default=(),
        description="How the request is put: plain, as in the paper, or stated (stated:1 to "
        "stated:3), with the convention behind it; several make a grid. By default plain, stated "
        "where stories tell rules.",
        json_schema_extra={"metavar": "NAME", "generation": True, "condition": PLAIN},
    )


DEMO = (
    DemoExample(
        title="A written story: a right edit and a wrong one, decided by proof",
        show=Lazy("contrafact.families.cobe.write.shown:written_example"),
    ),
    DemoPart(
        task="cobe",
        noun="stories",
        count=4,
        most=40,
        text="CoBe: {count} drawn stories, each asked in three phrasings what would have happened "
        "instead. {model} edits them, and so does the same model taught on other graphs, scenes "
        "and rules. The verifier 'proof' judges the edits; what it cannot read is open.",
        methods=("plain",),
        models=("embedded/smollm2-135m-cobe",),
        judges=("proof",),
        data=Lazy("contrafact.families.cobe.editing:write_held_out"),
        generation={"temperature": 0.0, "max_tokens": 256},  # most of what the base model says
    ),
)
