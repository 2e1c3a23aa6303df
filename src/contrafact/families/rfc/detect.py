"""The Inspect task ``rfc-detect``: one paragraph, true or false (RFC-BENCH, section 2.1, task 1).

Usable as ``inspect eval contrafact/rfc-detect --model …`` and by ``contrafact run rfc-detect``.
"""

from inspect_ai import Task, task

from contrafact.families.rfc.tasks import label_task

__all__ = ["rfc_detect"]


@task(name="rfc-detect")
def rfc_detect(
    data: str | None = None,
    method: str = "plain",
    shots: int = 0,
    shots_from: str | None = None,
    background: str | None = None,
    rationale: bool = False,
    judged: bool = False,
    logprobs: bool = False,
    seed: int = 0,
    prompts: str | None = None,
    limit: int | None = None,
    cache_scope: str | None = None,
    fingerprint: str | None = None,
) -> Task:
    """Reference-free detection: is a paragraph as published (true) or manipulated (false)?

    Both members of every pair are shown, each as a sample of its own.

    Args:
        data: File of pairs; the bundled pairs where none is given.
        method: ``plain``, ``stepwise``, ``reflect``, ``memory``, a baseline (``majority``,
            ``surface``, ``coherence``; give the model ``none``), or an import path.
        shots: Worked examples: 0, 2 (of the item's category) or 8 (all four categories).
        shots_from: File of pairs to take them from; a pool of our own writing by default.
        background: File of news for ``memory`` to search, instead of the pairs' originals.
        rationale: Whether to ask for reasons, with the label on the last line.
        judged: Whether the judge bound to the role ``grader`` sorts answers by their reasons.
        logprobs: Whether to ask for log-probabilities, which AUROC needs.
        seed: Seed of the choice of examples, and of the baselines' folds.
        prompts: Folder of a prompt pack; the default pack where none is given.
        limit: Take the first so many pairs.
        cache_scope: Keep every call's answer for a rerun under this name.
        fingerprint: Hash of what the other arguments cannot tell apart (file contents).
    """
    return label_task(
        "rfc-detect",
        data=data,
        method=method,
        shots=shots,
        shots_from=shots_from,
        background=background,
        rationale=rationale,
        judged=judged,
        logprobs=logprobs,
        seed=seed,
        prompts=prompts,
        limit=limit,
        cache_scope=cache_scope,
        fingerprint=fingerprint,
    )
