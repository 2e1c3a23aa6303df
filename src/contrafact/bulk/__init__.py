"""The same commands past one machine: partitions of Parquet or JSON Lines, mapped by Ray Data."""

from collections.abc import Mapping
from typing import Any

from contrafact.stages.run import Executor
from contrafact.stages.stage import Stage, StageResult

__all__ = ["executor"]


def executor(settings: Mapping[str, Any] | None) -> Executor | None:
    """Return who works on rows by `contrafact.options.BulkOptions.settings`; None without any."""
    if settings is None:
        return None

    def on_ray(stage: Stage, source: str, out: str) -> StageResult:
        from contrafact.bulk.run import bulk_command

        return bulk_command(stage, source, out, settings)

    return on_ray
