"""The table of rules in ``docs/contracts.md``, made from the rules themselves.

``python -m contrafact.families.rfc.contracts.table docs/contracts.md`` writes it anew between its
two markers; a test holds that it is current.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from contrafact.errors import InputError
from contrafact.families.rfc.contracts.check import CONTRACTS
from contrafact.families.rfc.contracts.rules import InCause, Rule
from contrafact.files.atomic import write_text
from contrafact.records import MANIPULATIONS, Manipulation

__all__ = ["main", "rules_table", "with_table"]

BEGIN = (
    "<!-- rules: begin (python -m contrafact.families.rfc.contracts.table docs/contracts.md) -->"
)
END = "<!-- rules: end -->"

_TITLES: Mapping[Manipulation, str] = {
    "numerical": "Numerical perturbation",
    "flipping": "Directional flipping",
    "sentiment": "Sentiment amplification",
    "causal": "Causal distortion",
}
_IN_CAUSE: Mapping[InCause, str] = {
    "counts": "",
    "lost-to-review": "what is only lost with the replaced cause",
    "ignored": "not looked at within the replaced cause",
}


def rules_table() -> str:
    """Return the rules in Markdown: those of every manipulation first, then each one's own."""
    shared = [rule for rule in CONTRACTS["causal"] if rule.manipulations == MANIPULATIONS]
    parts = [_section("For every manipulation", shared, "in causal distortion, ")]
    for name, title in _TITLES.items():
        own = [rule for rule in CONTRACTS[name] if rule not in shared]
        parts.append(_section(title, own, "" if name == "causal" else None))
    return "\n\n".join(parts)


def with_table(page: str) -> str:
    """Return a page with the table as it is now between the markers.

    Raises:
        InputError: The page lacks one of the markers.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"the page lacks '{BEGIN if not begin else END}'")
    return f"{before}{BEGIN}\n\n{rules_table()}\n\n{END}{after}"


def main(arguments: Iterable[str]) -> None:
    """Write the table into the pages that are named."""
    for name in arguments:
        write_text(Path(name), with_table(Path(name).read_text(encoding="utf-8")))


def _section(title: str, rules: Iterable[Rule], causal: str | None) -> str:
    """Return a heading and its table; ``causal`` begins notes on the replaced cause, if any."""
    lines = [
        f"## {title}",
        "",
        "| rule | what it says | RFC-BENCH | thresholds | to review instead |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rule in rules:
        in_cause = _IN_CAUSE[rule.in_cause] if causal is not None else ""
        cells = (
            ", ".join(f"`{name}`" for name in rule.ids),
            rule.statement.replace("``", "`"),
            rule.paper,
            "; ".join(f"`{t.name}` {_value(t.value)} ({t.origin})" for t in rule.thresholds),
            "; ".join(filter(None, (rule.to_review, in_cause and f"{causal}{in_cause}"))),
        )
        lines.append("| " + " | ".join(cell.replace("|", r"\|") or "–" for cell in cells) + " |")
    return "\n".join(lines)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value(inner)}" for name, inner in value.items())
    if isinstance(value, tuple):
        return "–".join(map(_value, value))
    return f"{value:g}" if isinstance(value, float | int) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
