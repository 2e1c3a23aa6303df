"""The Inspect task ``cobe``: a story in each of its three phrasings, edited and judged.

Usable as ``inspect eval contrafact/cobe --model … --model-role grader=…`` and by ``contrafact run
cobe``, which adds tables and the report.
"""

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from contrafact.errors import InputError
from contrafact.families.cobe.judging import Judging
from contrafact.families.cobe.methods import METHODS
from contrafact.families.cobe.questions import Question, question_of, questions_of
from contrafact.families.cobe.run import RUN
from contrafact.families.cobe.scoring import judged_edit
from contrafact.family.method import MethodContext
from contrafact.family.run import load_once
from contrafact.family.task import method_solver
from contrafact.models.asking import cache_policy
from contrafact.prompts import open_pack
from contrafact.records import Output

__all__ = ["cobe"]


@task
def cobe(
    data: str | None = None,
    method: str = "plain",
    shots: int = 0,
    draws: int = 1,
    shots_from: str | None = None,
    seed: int = 0,
    prompts: str | None = None,
    structured: bool = True,
    judged: bool = True,
    judge_context: bool = False,
    judge_logprobs: bool = True,
    limit: int | None = None,
    cache_scope: str | None = None,
    fingerprint: str | None = None,
) -> Task:
    """Counterfactual edits of short stories, judged by causal criteria (CoBe).

    Args:
        data: File of stories; the bundled stories where none is given.
        method: ``plain``, ``few-shot``, ``abduct-act-predict``, ``graph-first``, or an import path.
        shots: Few-shot examples per prompt, for methods that show any.
        draws: Random draws of examples; each is an epoch.
        shots_from: File with the pool of examples; a pool of our own writing by default.
        seed: Seed of the draws.
        prompts: Folder of a prompt pack; the default pack where none is given.
        structured: Whether to ask providers for schema-constrained JSON, where JSON is asked.
        judged: Whether the judge bound to the role ``grader`` scores the edits.
        judge_context: Whether the judge sees scenario and query besides criterion and response.
        judge_logprobs: Whether to ask the judge's provider for the probabilities of T and F.
        limit: Take the first so many stories; each is asked in three phrasings.
        cache_scope: Keep every call's answer for a rerun under this name.
        fingerprint: Hash of what the other arguments cannot tell apart (file contents).
    """
    stories, _ = load_once(RUN.load, data or RUN.bundled)
    pack = open_pack(prompts)
    pool = load_once(RUN.load_shots, shots_from or RUN.bundled_shots)
    context = MethodContext(
        pack=pack, task="cobe", items=stories, shots=shots, pool=pool, seed=seed
    )
    chosen = METHODS.make(method, context)
    if not chosen.shots and (shots or draws > 1):
        raise InputError(f"{chosen.name} shows no examples", hint="leave shots and draws out")
    cache = cache_policy(cache_scope)
    judging = Judging(pack, judge_context, judge_logprobs, cache) if judged else None
    samples = [_sample(question) for question in questions_of(stories[:limit])]
    return Task(
        dataset=MemoryDataset(samples, name="stories"),
        solver=method_solver(
            chosen,
            item_of=lambda state: question_of(state.metadata),
            unanswered=lambda reason: Output(text=None, invalid=reason),
            shown=lambda output: output.text or output.reply or "",
            structured=structured,
            cache=cache,
            judged=judged,
        ),
        scorer=judged_edit(judging),
        epochs=Epochs(draws, "mean"),
        version=RUN.version,
        name=f"cobe-{method.rsplit('.', 1)[-1]}",
        metadata={"method": chosen.name, "shots": chosen.shots, "fingerprint": fingerprint},
    )


def _sample(question: Question) -> Sample:
    return Sample(
        id=question.id,
        input=f"{question.story.text}\n\n{question.query}",
        target=question.story.answer,
        metadata={
            "phrasing": question.phrasing,
            "query": question.query,
            "story": question.story.model_dump(mode="json"),
        },
    )
