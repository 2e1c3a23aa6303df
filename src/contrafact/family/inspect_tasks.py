"""Make every family's Inspect tasks from the arguments of its ``@task`` function.

A task can be made without a run (``inspect eval contrafact/cobe -T method=plain``), so its
arguments are plain values: the settings of a run of one method, flattened.
"""

import inspect
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from inspect_ai import Epochs, Task, task_with
from inspect_ai.dataset import MemoryDataset
from inspect_ai.scorer import Scorer
from inspect_ai.solver import Solver
from pydantic import ValidationError

from contrafact.errors import InputError, value_problem
from contrafact.family import task_named
from contrafact.family.run import Prepared, TaskRun, open_inputs
from contrafact.family.settings import SHOTS, UNDER, RunSettings, TaskOptions, conditions
from contrafact.family.task import method_solver
from contrafact.judges.judge import judges_of_role
from contrafact.models.asking import cache_policy
from contrafact.options import absolute
from contrafact.prompts import pack_source

__all__ = ["make_task", "run_task", "solver_and_scorer"]


def run_task(prepared: Prepared, method: str) -> Task:
    """Return the Inspect task of one method of a run, with the method's own weights loaded."""
    asking: Any = prepared.methods.get(method)
    if hasattr(asking, "open"):  # it runs models itself
        for model in prepared.settings.models:
            asking.open(model, prepared.settings.model_args)
    task = prepared.run.task(**_task_arguments(prepared, method))
    if prepared.recorded is None:
        return task
    asked = prepared.recorded.asked
    if len(task.dataset) > len(asked):
        task.dataset = task.dataset.filter(lambda sample: str(sample.id) in asked)
    system = prepared.recorded.systems[prepared.baselines[method].name]
    return task_with(
        task,
        name="-".join([prepared.settings.task, *re.findall(r"[\w.]+", system.name)])[:100],
        metadata={**(task.metadata or {}), **system.columns},
    )


def solver_and_scorer(prepared: Prepared, method: str) -> tuple[Solver, Scorer]:
    """Return the solver and the scorer for one method of a run, without loading the data.

    They equal those of `run_task`, for callers that have the samples and need no evaluation.
    """
    task = _make_task(prepared.run, _task_arguments(prepared, method), without_data=True)
    scorers = task.scorer or []
    return task.solver, scorers[0]


def _task_arguments(prepared: Prepared, method: str) -> dict[str, Any]:
    """Return the arguments with which the family's ``@task`` function runs one method of a run."""
    settings, taken = prepared.settings, inspect.signature(prepared.run.task).parameters
    shows = prepared.methods[method].shots if method in prepared.methods else 0
    values: dict[str, Any] = {
        **{
            name: absolute(value) if isinstance(value, Path) else value
            for name, value in settings.options
            # They stand in the names of the judge and of the method.
            if name != "reader" and name not in conditions(type(settings.options))
        },
        "data": absolute(settings.data),
        "seed": settings.seed,
        "prompts": pack_source(settings.prompts),
        "limit": settings.limit,
        "cache_scope": "shared" if settings.shared_cache else prepared.identity,
        "fingerprint": prepared.identity,
        "method": method.removesuffix(f"{UNDER}{shows}{SHOTS}"),
        "shots": prepared.shots(method),
        "draws": prepared.draws(method),
        "shots_from": absolute(settings.option("shots_from")) if shows else None,
        "judged": prepared.judging is not None,
        **({"columns": dict(settings.columns)} if settings.columns else {}),
    }
    if not any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        values = {name: value for name, value in values.items() if name in taken}
    return values


_ARGUMENTS = (
    *("data", "method", "seed", "prompts", "limit", "columns", "judged"),
    *("shots", "shots_from", "draws", "structured", "judge_logprobs"),
)
"""The arguments that any task takes besides its own options."""
_OF_A_RUN = ("cache_scope", "fingerprint")
"""The further arguments that `contrafact run` passes to a task, by which its logs are found."""


def make_task(run: TaskRun[Any, Any], arguments: Mapping[str, Any]) -> Task:
    """Return the Inspect task of one method.

    Args:
        run: How the task is run.
        arguments: The task's own options and the following, each optional:

            - ``data``: the file of items; the bundled items by default;
            - ``method``: a method by name or import path, with its options
              (``NAME:OPTION=VALUE,OPTION=VALUE``);
            - ``draws``: the number of random draws of examples, each an epoch;
            - ``seed``: the seed of the draws; ``limit``: how many of the first items to take;
            - ``prompts``: the folder of a prompt pack; ``structured``: ask for JSON by schema;
            - ``judged``: whether the judge bound to the role ``grader`` is asked;
              ``judge_logprobs``: whether for the probabilities of T and F, if supported;
            - ``cache_scope``: keep every call's answer for a rerun under this name;
            - ``fingerprint``: a hash of what else distinguishes tasks (contents of files);
            - ``columns``: the data file's column for each field.

    Raises:
        InputError: For the first wrong argument; Inspect's command line also shows it as one line.
    """
    try:
        return _make_task(run, arguments)
    except (InputError, ValidationError) as error:
        raise _TaskError(error) from None


class _TaskError(InputError, click.ClickException):
    """An error in a task's arguments; Inspect's command line shows it as one line."""

    exit_code = 2

    def __init__(self, error: InputError | ValidationError) -> None:
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"])) or "an argument"
            error = InputError(f"{name} = {str(first['input'])[:40]!r}: {value_problem(first)}")
        super().__init__(error.problem, file=error.file, line=error.line, hint=error.hint)


def _check_grader() -> None:
    """Refuse a judged task before it begins if the evaluation has no judge.

    A task made by a program is bound to its roles only when it is evaluated, so it is not checked:
    the roles bound now may belong to an earlier evaluation.
    """
    if (
        click.get_current_context(silent=True) is not None
        and "INSPECT_EVAL_MODEL" not in os.environ
    ):
        judges_of_role()


def _make_task(
    run: TaskRun[Any, Any], arguments: Mapping[str, Any], *, without_data: bool = False
) -> Task:
    name, draws = arguments["method"], arguments.get("draws")
    given = {key: value for key, value in arguments.items() if value is not None}
    # Inspect splits arguments at commas, which separate a method's options.
    spec = name if isinstance(name, str) else ",".join(map(str, name))
    settings = _settings(run, spec, given)
    judged = given.get("judged", False)
    if given.keys().isdisjoint(_OF_A_RUN):
        settings, _ = run.settled(settings)
        if judged:
            _check_grader()
    inputs = open_inputs(run, settings)
    if len(inputs.methods) > 1:
        raise InputError(f"{' and '.join(inputs.methods)} make two tasks", hint="give one value")
    ((spec, method),) = inputs.methods.items()
    given = dict(settings.options) | given
    dataset = None
    if not without_data:
        dataset = MemoryDataset(run.samples(inputs.items, settings.limit), name=run.noun)
    return Task(
        dataset=dataset,
        solver=method_solver(
            method,
            run.solving(inputs, method, given),
            structured=given.get("structured", True),
            cache=cache_policy(given.get("cache_scope")),
            judged=judged,
        ),
        scorer=run.scorer(given),
        epochs=None if draws is None else Epochs(draws, "mean"),
        version=run.version,
        name=_name(run.name, spec, given.get("shots", 0) if draws is None else 0),
        metadata={
            "method": method.name,
            "shots": method.shots,
            "fingerprint": given.get("fingerprint"),
        },
    )


def _settings(run: TaskRun[Any, Any], spec: str, given: Mapping[str, Any]) -> RunSettings:
    """Return the settings of a run of one method; `InputError` for an unknown argument."""
    options = task_named(run.name).options
    model = options.load() if options else TaskOptions
    names = dict.fromkeys((*_ARGUMENTS, *model.model_fields))
    if unknown := next((name for name in given if name not in (*names, *_OF_A_RUN)), None):
        raise InputError(f"{run.name} has no argument '{unknown}'", hint=f"use {', '.join(names)}")
    return RunSettings(
        task=run.name,
        methods=(spec,),
        data=Path(given["data"]) if "data" in given else None,
        prompts=Path(given["prompts"]) if "prompts" in given else None,
        limit=given.get("limit"),
        seed=given.get("seed", 0),
        columns=given.get("columns", {}),
        options=model(**{name: given[name] for name in model.model_fields if name in given}),
    )


def _name(task: str, spec: str, shots: int) -> str:
    """Return the names of a task and its method, without packages; options follow hyphens."""
    method, _, options = spec.partition(":")
    words = [task, *re.findall(r"[\w.]+", f"{method.rsplit('.', 1)[-1]} {options}")]
    return "-".join(words) + (f"-{shots}" if shots else "")
