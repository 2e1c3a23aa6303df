"""The seam between families and engines: what a `Family` is made of, and how families are found.

Light on purpose: the command line imports it to list tasks and commands. What is heavier stands in
modules of its own: `contrafact.family.settings`, ``method``, ``run``, ``task``, ``report``,
``study``, ``exam``, ``training`` and ``data``.
"""

from contrafact.family.family import (
    Command,
    Family,
    Lazy,
    Task,
    families,
    family_named,
    family_of_task,
    task_named,
    tasks,
    training_specs,
)

__all__ = [
    "Command",
    "Family",
    "Lazy",
    "Task",
    "families",
    "family_named",
    "family_of_task",
    "task_named",
    "tasks",
    "training_specs",
]
