"""The records of FIN-FORCE: a headline, its two sides, and the criteria for counterfactuals."""

from typing import Literal, Self

from pydantic import Field

from contrafact.records import Record, content_id

Side = Literal["risk", "opportunity"]
SIDES: tuple[Side, Side] = ("risk", "opportunity")
CRITERIA: tuple[str, str] = ("forward_compatibility", "directionality")


class Headline(Record):
    """A market headline, as an analyst or a dataset gives it."""

    id: str = Field(description="Content hash of the text; the same headline has one id anywhere.")
    text: str = Field(description="The headline as it was given, delimiters and all.")
    category: str | None = Field(
        default=None, description="One of the ten market categories, in the benchmark's spelling."
    )
    description: str | None = Field(
        default=None, description="The lead paragraph that came with the headline, if any."
    )
    date: str | None = Field(
        default=None, description="When it was published, as it was given: a day or a moment."
    )
    reference: "ForwardPair | None" = Field(
        default=None, description="Counterfactuals published with the headline, if any."
    )

    @classmethod
    def of(
        cls,
        text: str,
        *,
        category: str | None = None,
        description: str | None = None,
        date: str | None = None,
        reference: "ForwardPair | None" = None,
    ) -> Self:
        """Return the headline, with a hash of its text as its id."""
        return cls(
            id=content_id(text, prefix="h"),
            text=text,
            category=category,
            description=description,
            date=date,
            reference=reference,
        )


class ForwardPair(Record):
    """What could happen next: one adverse and one favourable continuation of a headline."""

    risk: str = Field(description="The counterfactual in which market conditions get worse.")
    opportunity: str = Field(description="The counterfactual in which they get better.")

    def side(self, side: Side) -> str:
        """Return the counterfactual of one side."""
        return self.risk if side == "risk" else self.opportunity
