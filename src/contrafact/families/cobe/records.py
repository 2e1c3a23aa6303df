"""The records of CoBe: a story, the type of its causal graph, and its domain."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, SkipValidation

from contrafact.records import Record

__all__ = ["DOMAINS", "GRAPHS", "Story"]

GRAPHS: tuple[str, ...] = ("chain", "collider", "correlated", "diamond", "fork", "hybrid")
DOMAINS: tuple[str, ...] = (
    "Health and Medicine",
    "Engineering",
    "History and Geography",
    "Economics and Finance",
    "Arts and Entertainment",
    "Science and Technology",
    "Human Activities and Behavior",
)

_PLAIN = PlainSerializer(lambda one: dict(one.items()), return_type=dict[str, Any])


class Story(Record):
    """A scenario, a hypothetical change of it asked in three ways, and how edits are judged."""

    id: str = Field(description="Core set and variation, as in '307v8'.")
    core_set_id: int = Field(ge=0, description="The story that this one varies.")
    variation_id: int = Field(ge=0, description="Which variation of it this is.")
    domain: str = Field(description="What it is about, in the file's spelling.")
    text: str = Field(description="The scenario as it happened.")
    queries: tuple[str, str, str] = Field(description="The same change, asked in three phrasings.")
    answer: str = Field(default="", description="One valid edit; many are possible.")
    unchanged: str = Field(default="", description="E1: the facts, not downstream, that stay.")
    changed: str = Field(default="", description="E2: the facts that are downstream and change.")
    numerical: str | None = Field(default=None, description="E4: how quantities move.")
    latent: str | None = Field(default=None, description="E5: the unstated facts that stay.")
    other_criteria: tuple[str, ...] = Field(
        default=(), description="Criteria of no known kind; kept, and not asked."
    )
    graph: str | None = Field(default=None, description="The type of its causal graph, if stated.")
    failure_modes: tuple[int, ...] = Field(
        default=(), description="The failure modes of appendix B.1, 1 to 7, that it probes."
    )
    proof: Annotated[SkipValidation[Mapping[str, Any]], _PLAIN] | None = Field(
        default=None, repr=False, description="The proof behind its criteria, if any."
    )
