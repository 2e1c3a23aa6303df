"""in-place: asks for an edit in the text's own clauses, which `proof` reads by its grammar alone.

Every sentence keeps its place and its words; a fact that no longer holds is negated at its verb,
and an amount is one figure. So the verifier decides on such edits without asking any model.
"""

from contrafact.families.cobe.data import StoryQuery
from contrafact.families.cobe.methods.few_shot import EDIT_TOKENS
from contrafact.family.method import MethodContext
from contrafact.family.task import Turn, Turns, read_text
from contrafact.records import Output
from contrafact.text.delimit import delimit


def method(context: MethodContext) -> Turns[StoryQuery, Output]:
    template = context.pack.template("cobe/in-place", required={"query", "story"})

    def prompt(question: StoryQuery) -> str:
        story, query = delimit(question.story.text), delimit(question.query)
        return template.render(story=story, query=query)

    steps = [Turn("edit", prompt, EDIT_TOKENS)]
    return Turns("in-place", steps, lambda output, _: read_text(output))
