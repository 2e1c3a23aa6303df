"""The tables in the docs: the rules, and how often they are wrong on labelled pairs.

``python -m contrafact.families.rfc.contracts.table PAGE…`` writes them anew into the pages named,
between their markers: ``docs/contracts.md`` and ``docs/contract-errors.md``. A test holds that they
are current.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from contrafact.errors import InputError
from contrafact.families.rfc.contracts.check import CONTRACTS, check_pairs
from contrafact.families.rfc.contracts.rules import Check, Rule
from contrafact.files.atomic import write_text
from contrafact.records import MANIPULATIONS, Manipulation

__all__ = ["LabelledPair", "labelled_pairs", "main", "rates_table", "rules_table", "with_table"]

BEGIN = (
    "<!-- rules: begin (python -m contrafact.families.rfc.contracts.table docs/contracts.md) -->"
)
END = "<!-- rules: end -->"
RATES_BEGIN, RATES_END = "<!-- rates: begin -->", "<!-- rates: end -->"

HALVES: Mapping[str, str] = {"held_out": "written last", "tuning": "tuned on"}
"""The halves of the labelled pairs, by the ends of their files' names."""


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A pair with what a reader of the paper's rules makes of it.

    Attributes:
        id: Its id.
        half: Whether the rules were tuned on it: ``held_out`` or ``tuning``.
        manipulation: Whose contract it is to keep.
        original: The paragraph.
        rewritten: Its rewrite.
        sound: Whether it keeps the contract.
        fault: What is wrong with it, in a word or two; none if it is sound.
    """

    id: str
    half: str
    manipulation: Manipulation
    original: str
    rewritten: str
    sound: bool
    fault: str | None


@cache
def labelled_pairs() -> tuple[LabelledPair, ...]:
    """Return the bundled pairs on which the rates are measured, those held out first."""
    found = []
    for half in HALVES:
        source = files("contrafact.families.rfc") / "samples" / f"contract_pairs_{half}.jsonl"
        for line in source.read_text(encoding="utf-8").splitlines():
            found.append(LabelledPair(half=half, **json.loads(line)))
    return tuple(found)


def rates_table() -> str:
    """Return how often the contracts are wrong on the labelled pairs, in Markdown.

    First by manipulation and half, then by rule.
    """
    pairs = labelled_pairs()
    rows = [
        {"manipulation": p.manipulation, "original": p.original, "rewritten": p.rewritten}
        for p in pairs
    ]
    found = list(zip(pairs, check_pairs(rows), strict=True))
    lines = [
        "| manipulation | half | sound | rejected | with review | faulty | accepted "
        "| accepted without review |",
        "| --- | --- | --: | --: | --: | --: | --: | --: |",
    ]
    for name in MANIPULATIONS:
        for half, title in HALVES.items():
            here = [(p, c) for p, c in found if p.manipulation == name and p.half == half]
            sound = [c for p, c in here if p.sound]
            faulty = [c for p, c in here if not p.sound]
            figures = (
                len(sound),
                _share(sum(not c.passed for c in sound), len(sound)),
                _share(sum(bool(c.review) for c in sound), len(sound)),
                len(faulty),
                _share(sum(c.passed for c in faulty), len(faulty)),
                _share(sum(c.passed and not c.review for c in faulty), len(faulty)),
            )
            lines.append(f"| {name} | {title} | {' | '.join(map(str, figures))} |")
    caught, wronged, reviewed = (_by_rule(found, kind) for kind in ("caught", "wronged", "review"))
    lines += [
        "",
        "| rule | faulty pairs that it fails | sound pairs that it fails | sound pairs that it "
        "sends to review |",
        "| --- | --: | --: | --: |",
    ]
    for rule in sorted({*caught, *wronged, *reviewed}):
        lines.append(f"| `{rule}` | {caught[rule]} | {wronged[rule]} | {reviewed[rule]} |")
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f}%)" if whole else "–"


def _by_rule(found: Iterable[tuple[LabelledPair, Check]], kind: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for pair, check in found:
        if pair.sound == (kind == "caught"):
            continue
        findings = check.review if kind == "review" else check.violations
        counts.update({finding.rule for finding in findings})
    return counts


_TITLES: Mapping[Manipulation, str] = {
    "numerical": "Numerical perturbation",
    "flipping": "Directional flipping",
    "sentiment": "Sentiment amplification",
    "causal": "Causal distortion",
}


def rules_table() -> str:
    """Return the rules in Markdown: those of every manipulation first, then each one's own."""
    shared = [rule for rule in CONTRACTS["causal"] if rule.manipulations == MANIPULATIONS]
    parts = [_section("For every manipulation", shared)]
    for name, title in _TITLES.items():
        own = [rule for rule in CONTRACTS[name] if rule not in shared]
        parts.append(_section(title, own))
    return "\n\n".join(parts)


def with_table(page: str) -> str:
    """Return a page with the tables as they are now between the markers that it has.

    Raises:
        InputError: The page has neither pair of markers, or half a pair.
    """
    made = ((BEGIN, END, rules_table), (RATES_BEGIN, RATES_END, rates_table))
    here = [one for one in made if one[0] in page or one[1] in page]
    if not here:
        raise InputError(f"the page lacks '{BEGIN}'", hint="name a page with a table of contracts")
    for first, last, table in here:
        page = _between(page, first, last, table())
    return page


def _between(page: str, first: str, last: str, table: str) -> str:
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise InputError(f"the page lacks '{first if not begin else last}'")
    return f"{before}{first}\n\n{table}\n\n{last}{after}"


def main(arguments: Iterable[str]) -> None:
    """Write the tables into the pages that are named."""
    for name in arguments:
        write_text(Path(name), with_table(Path(name).read_text(encoding="utf-8")))


def _section(title: str, rules: Iterable[Rule]) -> str:
    """Return a heading and its table."""
    lines = [
        f"## {title}",
        "",
        "| rule | what it says | RFC-BENCH | thresholds | to review instead |",
        "| --- | --- | --- | --- | --- |",
    ]
    for rule in rules:
        cells = (
            ", ".join(f"`{name}`" for name in rule.ids),
            rule.statement.replace("``", "`"),
            rule.paper,
            "; ".join(f"`{t.name}` {_value(t.value)} ({t.origin})" for t in rule.thresholds),
            rule.to_review,
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
