"""in-place: an edit in the text's own clauses, which the grammar of `proof` reads without a reader.

Every sentence keeps its place and its words; what is no longer so is denied by its verb, and an
amount is one figure. So right edits, and wrong ones, are decided without asking any model.
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
