"""The facts of a run as a reader sees them."""

from collections.abc import Mapping

from contrafact.report.meta import RunFacts, Setting

__all__ = ["run_facts"]


def run_facts(
    run: RunFacts, *, noun: str, always: frozenset[str] = frozenset()
) -> list[tuple[str, str]]:
    """Return a run's facts as labels and texts, those that are known.

    Args:
        run: The run.
        noun: What its items are called, several of them.
        always: Labels that say "none" where there is nothing to say.
    """
    data = run.data or ""
    if run.data_count is not None:
        data += f", {run.data_count:,} {noun}"
    if run.limit is not None:
        data += f", limited to {run.limit:,}"
    tokens = ""
    if run.input_tokens is not None and run.output_tokens is not None:
        tokens = f"{run.input_tokens:,} in, {run.output_tokens:,} out"
    pack = run.prompt_pack or ""
    if run.prompt_pack_hash:
        pack += f" ({run.prompt_pack_hash[:16]})"
    known = [
        ("Models", ", ".join(run.models)),
        ("Methods", ", ".join(run.methods)),
        ("Few-shot", f"{run.shots} examples, {run.draws} draws" if run.shots else ""),
        ("Judge", ", ".join(run.judges)),
        ("Fluency model", run.fluency_model or ""),
        ("Data", data),
        ("Data hash", run.data_hash or ""),
        ("Prompt pack", pack),
        ("Seed", "" if run.seed is None else str(run.seed)),
        ("Settings", _pairs(run.settings)),
        ("Versions", _pairs(run.versions)),
        ("Calls", "" if run.calls is None else f"{run.calls:,}"),
        ("Tokens", tokens),
        ("Time", " to ".join(part for part in (run.started, run.finished) if part)),
        ("State", "finished" if run.complete else "not every sample is finished"),
    ]
    said = [(label, text or ("none" if label in always else "")) for label, text in known]
    return [(label, text) for label, text in said if text]


def _pairs(values: Mapping[str, Setting]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
