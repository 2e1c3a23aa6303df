"""Running a stage on a whole input: divided, distributed, and resumed after an interruption."""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from contrafact import __version__
from contrafact.console import Progress
from contrafact.errors import InputError
from contrafact.files.journal import hash_of
from contrafact.files.lock import locked
from contrafact.judges.verifier import is_verifier
from contrafact.stages.run import Executor
from contrafact.stages.stage import (
    FAILURES,
    KEPT,
    REJECTS,
    Asked,
    Count,
    Stage,
    StageResult,
)
from contrafact_ray.cluster import Cluster, check_address, cluster, mapped
from contrafact_ray.fragments import fragments_of
from contrafact_ray.partitions import OutputFolder, Partition
from contrafact_ray.places import Place, input_files
from contrafact_ray.repeats import write_notes
from contrafact_ray.work import Asker, work_on

_AT_ONCE = 3
"""Partitions that one actor works on at once, so that the end of one overlaps with the next."""

_PER_ACTOR = 16
"""How many connections justify another actor, with a process of its own."""

_COUNTED = ("calls", "calls kept before", "tokens read", "tokens written", "dollars")

_SERVERS = ("vllm", "sglang")
"""Providers that start a server on the cluster's GPUs if no server is named."""


@dataclass
class Summary:
    """The result of the run so far.

    Attributes:
        result: The stage's result, completed at the end.
        output: The folder that is written to.
        calls: Counts of model calls, their tokens and their cost.
        unpriced: The models whose price is unknown.
        retry: How many rows failed for a reason that may pass.
        manifests: The manifests of the finished partitions, by name.
    """

    result: StageResult
    output: OutputFolder
    calls: Counter[str] = field(default_factory=Counter)
    unpriced: set[str] = field(default_factory=set)
    retry: int = 0
    manifests: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, name: str, manifest: dict[str, Any]) -> None:
        self.manifests[name] = manifest
        self.result.rows.update(manifest["rows"])
        self.result.counts.update(counts_in(manifest["counts"]))
        self.retry += manifest["retry"]
        for name in _COUNTED:
            self.calls[name] += manifest.get(name, 0)
        self.unpriced |= set(manifest.get("price unknown", ()))

    def end(self, partitions: int, before: int) -> StageResult:
        """Return the result, with lines on the rows; the exit code is 1 if some rows failed."""
        result, calls = self.result, self.calls
        kept, rejects, failed = (result.rows[name] for name in (KEPT, REJECTS, FAILURES))
        lines = [
            f"{result.given:,} rows in {partitions:,} partitions: {kept:,} kept, {rejects:,} "
            f"rejected, {failed:,} failed; written to {result.out}"
        ]
        if before:
            lines.append(f"{before:,} of the partitions were finished before")
        if calls["calls"] or calls["calls kept before"]:
            cost = f"${calls['dollars']:.2f}"
            if self.unpriced:
                cost += f", and the unknown price of {', '.join(sorted(self.unpriced))}"
            lines.append(
                f"{calls['calls']:,} calls ({calls['calls kept before']:,} answers were "
                f"kept before): {calls['tokens read']:,} tokens sent, "
                f"{calls['tokens written']:,} received; {cost}"
            )
        if failed:
            lines.append(f"failures, with reasons: {Place(result.out).child('_failures').given}")
        if self.retry:
            lines.append(f"{self.retry:,} of them may pass: run the same command to try again")
        result.lines, result.code = lines, int(failed > 0)
        return result


def counts_in(written: Any) -> Counter[Count]:
    """Return the counts of a manifest; earlier versions joined the names of a key by bars."""
    if isinstance(written, dict):
        written = [(key.split("|") if "|" in key else key, n) for key, n in written.items()]
    return Counter({key if isinstance(key, str) else tuple(key): n for key, n in written})


class Ray:
    """The engine ``ray``: called, it runs a stage; ``score`` judges outputs.

    `contrafact.stages.run.executor` finds it as an entry point.
    """

    def __call__(
        self, stage: Stage, given: str, out: str, settings: Mapping[str, Any]
    ) -> StageResult:
        """Run a stage as `run` does."""
        return run(stage, given, out, settings)

    def score(self, task: str, values: Mapping[str, Any], executor: Executor) -> None:
        """Judge outputs as ``contrafact score TASK FILE`` does, but without a run or report."""
        from contrafact_ray.score import score

        score(task, values, executor)


run_on_ray = Ray()


def run(stage: Stage, given: str, out: str, settings: Mapping[str, Any]) -> StageResult:
    """Run a stage on an input, partition by partition, and return the result.

    Finished partitions of an earlier run are kept.

    Args:
        given: The input: a file, folder, glob or URI.
        out: The folder or URI of the output.
        settings: `contrafact.options.BulkOptions.settings`, which do not change the result.
    """
    if given == "-" or out == "-":
        raise InputError("--engine ray cannot use a pipe", hint="name files, or leave --engine out")
    address = settings.get("address")
    output = OutputFolder(Place(out).whole())
    if output.place.is_local and Path(output.place.path).is_file():
        raise InputError("is a file", file=out, hint="with --engine ray, name a folder")
    size = settings.get("partition_rows") or stage.partition_rows
    files = input_files(given)
    job = output.place.child("_manifest/job.json")
    if address is not None and job.read_json() is None:
        check_address(address)  # before anything is written
    with ExitStack() as held:
        if output.place.is_local:
            held.enter_context(locked(Path(output.place.path)))
        begun = job.read_json()
        ray = None
        if begun is None and len(files) > 1:
            ray = held.enter_context(cluster(address))
        partitions = _partitions(given, files, size, ray, stage.noun)
        facts = _facts(stage, size, partitions)
        rows = int(facts["rows"])
        output.begin(facts, stage.name)
        summary = Summary(StageResult(out, rows), output)
        done = output.finished()
        for partition in partitions:
            if partition.name in done:
                summary.add(partition.name, output.manifest(partition.name) or {})
        left = [partition for partition in partitions if partition.name not in done]
        if left:
            ray = ray or held.enter_context(cluster(address))
            before = rows - sum(partition.rows for partition in left)
            with Progress(stage.noun, rows, before) as shown:
                if ray.dashboard:
                    shown.say(f"Ray's dashboard: {ray.dashboard}")
                write_notes(stage, partitions, output)
                rates = [settings.get(f"{what}_per_minute") for what in ("requests", "tokens")]
                _work(stage, left, rates, ray, summary, facts, shown)
        output.unify(summary.manifests)
    return summary.end(len(partitions), len(partitions) - len(left))


def _facts(stage: Stage, size: int, partitions: Sequence[Partition]) -> dict[str, Any]:
    return {
        "what": stage.name,
        "version": __version__,
        "partition-rows": size,
        "rows": sum(partition.rows for partition in partitions),
        "input": hash_of(
            list(dict.fromkeys(partition.fragment.digest for partition in partitions))
        ),
        **stage.facts(),
    }


def _partitions(
    given: str, files: Sequence[Place], size: int, ray: Cluster | None, noun: str
) -> list[Partition]:
    if ray is None:
        divided = [fragments_of(file, size) for file in files]
    else:
        # The cluster counts lines and reads footers.
        from ray import get, remote
        from ray.exceptions import RayTaskError

        divide = remote(num_cpus=1)(fragments_of)
        try:
            divided = get([divide.remote(file, size) for file in files])
        except RayTaskError as error:
            if isinstance(error.cause, InputError):
                raise error.cause from None
            raise
    partitions: list[Partition] = []
    offset = 0
    for fragment in chain.from_iterable(divided):
        partitions.append(Partition(len(partitions), offset, fragment))
        offset += fragment.rows
    if not partitions:
        raise InputError(f"holds no {noun}", file=given, hint="give at least one row")
    return partitions


def _work(
    stage: Stage,
    left: Sequence[Partition],
    rates: Sequence[int | None],
    ray: Cluster,
    summary: Summary,
    facts: dict[str, Any],
    progress: Progress,
) -> None:
    settings: dict[str, Any] = {}
    work: Any = Asker
    output = summary.output
    if (asked := stage.asked) is None:
        work = partial(work_on, stage, output)
    else:
        settings = _askers(stage, asked, output, rates, ray, len(left), facts)
    began, before = time.perf_counter(), progress.done
    for manifest in mapped(left, work, **settings):
        summary.add(f"part-{manifest['partition']:05}", manifest)
        done = progress.done + manifest["input"]["rows"]
        speed = (done - before) / (time.perf_counter() - began)
        note = _note(summary, (summary.result.given - done) / speed if speed else 0.0)
        progress.step(manifest["input"]["rows"], note=note)


def _askers(
    stage: Stage,
    asked: Asked,
    output: OutputFolder,
    rates: Sequence[int | None],
    ray: Cluster,
    partitions: int,
    facts: dict[str, Any],
) -> dict[str, Any]:
    from ray import remote
    from ray.data import ActorPoolStrategy

    from contrafact_ray.calls import Limits

    limits = remote(num_cpus=0)(Limits).remote(*rates)
    bounded = any(rate is not None for rate in rates)
    actors, own = shared_out(asked, ray, partitions)
    each = -(-asked.max_connections // actors)
    return {
        "arguments": (stage, output, limits, bounded, each, facts),
        "compute": ActorPoolStrategy(
            size=actors,
            max_tasks_in_flight_per_actor=_AT_ONCE,
            max_concurrent_calls_per_actor=_AT_ONCE,
            enable_true_multi_threading=True,  # each waits for its partition in one loop
        ),
        **own,
    }


def shared_out(asked: Asked, ray: Cluster, partitions: int) -> tuple[int, dict[str, Any]]:
    """Return the number of actors that ask models, and the cluster's resources that each holds."""
    from contrafact.models.opening import IN_PROCESS, NO_MODEL

    # If any model or judge runs in the process, every actor needs its weights.
    every = (asked.model, *asked.judges)
    name = next((model for model in every if model.startswith(IN_PROCESS)), asked.model)
    if is_verifier(name) or name == NO_MODEL:  # no model is asked: the actor does the work itself
        return max(1, min(ray.cpus, partitions)), {"num_cpus": 1}
    if name.startswith(IN_PROCESS):
        # Each node needs its own weights and threads: one actor per node, on all its processors.
        held = {"num_cpus": ray.cpus_of_node, "scheduling_strategy": "SPREAD"}
        return min(ray.nodes, partitions), held
    provider = name.partition("/")[0]
    if provider in _SERVERS and f"{provider.upper()}_BASE_URL" not in os.environ:
        gpus = int(asked.model_args.get("tensor_parallel_size", 1))
        if ray.gpus < gpus:
            raise InputError(
                f"'{name}' starts a server on {gpus} of the cluster's GPUs, and it has {ray.gpus}",
                hint=f"add GPUs, or name a server that runs in {provider.upper()}_BASE_URL",
            )
        return min(ray.gpus // gpus, partitions), {"num_gpus": gpus}
    return max(1, min(ray.cpus, partitions, -(-asked.max_connections // _PER_ACTOR))), {}


def _note(summary: Summary, left: float) -> str:
    """Return the note beside the progress of rows; ``left`` is the estimate of seconds left."""
    notes = [f"about {left / 60:.0f} min left"] if left >= 60 else []
    if failed := summary.result.rows[FAILURES]:
        notes.append(f"{failed:,} failed")
    if summary.calls["calls"]:
        tokens = summary.calls["tokens read"] + summary.calls["tokens written"]
        notes += [f"{tokens:,} tokens", f"${summary.calls['dollars']:.2f}"]
    return ", ".join(notes)
