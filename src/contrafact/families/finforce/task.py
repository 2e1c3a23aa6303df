"""The Inspect task ``finforce``: one headline's generation and all its judgements, one sample.

Usable as ``inspect eval contrafact/finforce --model … --model-role grader=…`` and by
``contrafact run finforce``, which adds fluency, tables and the report.
"""

import json
import re

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from contrafact.families.finforce.generation import Generation
from contrafact.families.finforce.judging import Judging
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.run import RUN
from contrafact.families.finforce.scoring import counterfactuals
from contrafact.family.method import MethodContext
from contrafact.family.run import load_once
from contrafact.family.task import method_solver
from contrafact.models.asking import cache_policy
from contrafact.prompts import open_pack
from contrafact.records import Headline

__all__ = ["finforce"]


@task
def finforce(
    data: str | None = None,
    method: str | list[str] = "zero-shot",
    shots: int = 0,
    draws: int = 1,
    shots_from: str | None = None,
    seed: int = 0,
    prompts: str | None = None,
    structured: bool = True,
    judged: bool = True,
    judge_faults: bool = False,
    limit: int | None = None,
    cache_scope: str | None = None,
    fingerprint: str | None = None,
) -> Task:
    """Forward counterfactuals of market headlines (FIN-FORCE).

    Args:
        data: File of headlines; the bundled samples where none is given.
        method: A generation method, by name or import path, with its options
            (``NAME:OPTION=VALUE,OPTION=VALUE``); a list is joined, since Inspect parts
            arguments at commas.
        shots: Few-shot examples per prompt, for methods that show any.
        draws: Random draws of examples; each is an epoch.
        shots_from: File with the pool of examples; a pool of our own writing by default.
        seed: Seed of the draws.
        prompts: Folder of a prompt pack; the default pack where none is given.
        structured: Whether to ask providers for schema-constrained JSON.
        judged: Whether the judge bound to the role ``grader`` scores the counterfactuals.
        judge_faults: Whether it also looks for the two faults that need judgement.
        limit: Take the first so many headlines.
        cache_scope: Keep every call's answer for a rerun under this name.
        fingerprint: Hash of what the other arguments cannot tell apart (file contents).
    """
    headlines, _ = load_once(RUN.load, data or RUN.bundled)
    pack = open_pack(prompts)
    pool = load_once(RUN.load_shots, shots_from or RUN.bundled_shots)
    context = MethodContext(
        pack=pack, task="finforce", items=headlines, shots=shots, pool=pool, seed=seed
    )
    spec = method if isinstance(method, str) else ",".join(map(str, method))
    chosen = METHODS.make(spec, context)
    cache = cache_policy(cache_scope)
    judging = Judging(pack, judge_faults, structured, cache) if judged else None
    return Task(
        dataset=MemoryDataset(
            [_sample(headline) for headline in headlines[:limit]], name="headlines"
        ),
        solver=method_solver(
            chosen,
            item_of=lambda state: Headline.of(state.input_text),
            unanswered=Generation.none,
            shown=lambda made: json.dumps(dict(made.texts), ensure_ascii=False, indent=1),
            key="generation",
            structured=structured,
            cache=cache,
            judged=judged,
        ),
        scorer=counterfactuals(judging),
        epochs=Epochs(draws, "mean"),
        version=RUN.version,
        name=f"finforce-{_short(spec)}",
        metadata={"method": chosen.name, "shots": chosen.shots, "fingerprint": fingerprint},
    )


def _short(spec: str) -> str:
    """Return a method's name as part of a task's: without packages, options after hyphens."""
    name, _, options = spec.partition(":")
    return "-".join([name.rsplit(".", 1)[-1], *re.findall(r"[\w.]+", options)])


def _sample(headline: Headline) -> Sample:
    metadata = {"category": headline.category, "description": headline.description}
    return Sample(id=headline.id, input=headline.text, metadata=metadata)
