"""graph-first: the model writes the scenario's causal graph, and the edit has to respect it.

The graph is JSON (`families.cobe.causal_graph`). What is downstream of the intervention is
computed from it here, not asked of the model, and named in the second prompt: this may change, that
stays. A graph that cannot be used is asked for once more, with the reason; if the second cannot be
used either, the response is invalid. Graph and reasons are kept in the log.
"""

from collections.abc import Sequence

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser

from contrafact.families.cobe.causal_graph import StoryGraph, graph_schema, read_graph
from contrafact.families.cobe.data import StoryQuery
from contrafact.families.cobe.methods.few_shot import EDIT_TOKENS
from contrafact.family.method import MethodContext
from contrafact.family.task import read_text
from contrafact.judges.replies import NO_ANSWER, answer_text
from contrafact.models.asking import UNREADABLE, Ask, PlannedCall, cause_of, no_answer
from contrafact.records import Output
from contrafact.text.delimit import delimit

__all__ = ["method"]

_GRAPH_TOKENS = 220


class GraphFirst:
    """Two calls, three where the first graph cannot be used."""

    name = "graph-first"
    shots = 0

    def __init__(self, context: MethodContext):
        pack = context.pack
        self._draw = pack.template("cobe/graph-first-graph", required={"story", "query"})
        self._again = pack.template("cobe/graph-first-again", required={"reason"})
        self._write = pack.template(
            "cobe/graph-first-write",
            required={"story", "query", "intervened", "downstream", "kept"},
        )

    def _prompt(self, question: StoryQuery) -> str:
        return self._draw.render(story=delimit(question.story.text), query=delimit(question.query))

    async def __call__(self, question: StoryQuery, ask: Ask, *, draw: int = 1) -> Output:
        """See `contrafact.family.method.Method`."""
        messages: list[ChatMessage] = [ChatMessageUser(content=self._prompt(question))]
        refused: list[dict[str, str]] = []
        graph: StoryGraph | None = None
        for _ in range(2):
            output = await ask(list(messages), graph_schema())
            stopped = no_answer(output)
            graph, reason = (None, stopped) if stopped else read_graph(output.completion)
            if graph is not None:
                break
            refused.append({"reply": output.completion, "reason": str(reason)})
            messages += [
                ChatMessageAssistant(content=answer_text(output.completion).text or NO_ANSWER),
                ChatMessageUser(content=self._again.render(reason=delimit(str(reason)))),
            ]
        trace = {"graph": graph.as_json() if graph else None, "refused_graphs": refused}
        if graph is None:
            last = refused[-1]
            known = cause_of(last["reason"]) != UNREADABLE
            reason = last["reason"] if known else f"no usable graph: {last['reason']}"
            return Output(text=None, invalid=reason, reply=last["reply"], trace=trace)
        return read_text(await ask(self._second(question, graph)), trace=trace)

    def _second(self, question: StoryQuery, graph: StoryGraph) -> str:
        def shown(names: Sequence[str]) -> list[str]:
            return [delimit(graph.events[name] or name) for name in names]

        return self._write.render(
            story=delimit(question.story.text),
            query=delimit(question.query),
            intervened=shown(graph.intervened),
            downstream=shown(graph.downstream),
            kept=shown(graph.kept),
        )

    def plan(self, question: StoryQuery) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        events = {str(place): question.story.text[:60] for place in range(4)}
        typical = StoryGraph(events, (("0", "1"), ("1", "2"), ("3", "2")), ("1",))
        return [
            PlannedCall(self._prompt(question), _GRAPH_TOKENS),
            PlannedCall(self._second(question, typical), EDIT_TOKENS),
        ]


def method(context: MethodContext) -> GraphFirst:
    """Return the method."""
    return GraphFirst(context)
