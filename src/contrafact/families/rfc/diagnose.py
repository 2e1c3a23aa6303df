"""The Inspect task ``rfc-diagnose``: original beside manipulated, which of the four manipulations?

RFC-BENCH, section 2.1, task 2. Usable as ``inspect eval contrafact/rfc-diagnose --model …`` and by
``contrafact run rfc-diagnose``.
"""

from inspect_ai import Task, task

from contrafact.families.rfc.tasks import label_task

__all__ = ["rfc_diagnose"]


@task(name="rfc-diagnose")
def rfc_diagnose(
    data: str | None = None,
    method: str = "plain",
    background: str | None = None,
    rationale: bool = False,
    logprobs: bool = False,
    seed: int = 0,
    prompts: str | None = None,
    limit: int | None = None,
    cache_scope: str | None = None,
    fingerprint: str | None = None,
) -> Task:
    """Comparative diagnosis: numerical, flipping, sentiment or causal?

    Args:
        data: File of pairs, with originals; the bundled pairs where none is given.
        method: ``plain``, ``stepwise``, ``reflect``, ``memory``, a baseline (``majority``,
            ``surface``; give the model ``none``), or an import path.
        background: File of news for ``memory`` to search, instead of the pairs' originals.
        rationale: Whether to ask for reasons, with the label on the last line.
        logprobs: Whether to ask for log-probabilities, which AUROC needs.
        seed: Seed of the baselines' folds.
        prompts: Folder of a prompt pack; the default pack where none is given.
        limit: Take the first so many pairs.
        cache_scope: Keep every call's answer for a rerun under this name.
        fingerprint: Hash of what the other arguments cannot tell apart (file contents).
    """
    return label_task(
        "rfc-diagnose",
        data=data,
        method=method,
        background=background,
        rationale=rationale,
        logprobs=logprobs,
        seed=seed,
        prompts=prompts,
        limit=limit,
        cache_scope=cache_scope,
        fingerprint=fingerprint,
    )
