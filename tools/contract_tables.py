"""The tables in the docs: the rules, what they find on labelled pairs, notations of figures.

``python tools/contract_tables.py PAGE…`` writes them anew into the pages named,
between their markers: ``docs/contracts.md`` and ``docs/contract-errors.md``. A test holds that they
are current.
"""

import inspect
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from contrafact.errors import InputError
from contrafact.families.rfc.contracts.pair_check import CONTRACTS, check_pairs
from contrafact.families.rfc.contracts.rules import Rule
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.files.atomic import write_text
from contrafact.text.quantities import quantities

BEGIN = "<!-- rules: begin (python tools/contract_tables.py docs/contracts.md) -->"


def _sample(name: str) -> list[dict[str, Any]]:
    source = files("contrafact.families.rfc") / "samples" / f"{name}.jsonl"
    return [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]


def facts_table() -> str:
    """Return what facts find in the labelled pairs, in Markdown: a row for each manipulation."""
    pairs = [row for half in ("held_out", "tuning") for row in _sample(f"contract_pairs_{half}")]
    found = list(zip(pairs, check_pairs(pairs), strict=True))
    lines = [
        "| manipulation | sound | failed | with something for a person | faulty | failed "
        "| rules that failed most of them |",
        "| --- | --: | --: | --: | --: | --: | --- |",
    ]
    for name in MANIPULATIONS:
        sound = [c for p, c in found if p["manipulation"] == name and p["sound"]]
        faulty = [c for p, c in found if p["manipulation"] == name and not p["sound"]]
        most = Counter(rule for c in faulty for rule in {one.rule for one in c.violations})
        figures = (
            len(sound),
            _share(sum(c.passed is False for c in sound), len(sound)),
            _share(sum(bool(c.review) for c in sound), len(sound)),
            len(faulty),
            _share(sum(c.passed is False for c in faulty), len(faulty)),
            ", ".join(f"`{rule}` {n}" for rule, n in sorted(most.items(), key=_order)[:5]),
        )
        lines.append(f"| {name} | {' | '.join(map(str, figures))} |")
    return "\n".join(lines)


def _order(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f}%)" if whole else "–"


def notations() -> str:
    """Return how figures may be written, each with what it is read as."""
    found = []
    for row in _sample("notations"):
        (quantity,) = quantities(f"It counted on {row['written']}, it said.")
        unit = quantity.unit if quantity.unit not in (None, "bps", "pp", "%", "x") else ""
        kind = {"money": "", "number": ""}.get(quantity.kind, f" {quantity.kind}")
        worth = " ".join(filter(None, (f"{quantity.value:,.12g}{kind}", unit)))
        found.append(f"{row['written']} ({worth})")
    return textwrap.fill("; ".join(found) + ".", 118, break_on_hyphens=False)


_TITLES: Mapping[Manipulation, str] = {
    "numerical": "Numerical perturbation",
    "flipping": "Directional flipping",
    "sentiment": "Sentiment amplification",
    "causal": "Causal distortion",
}


def rules_table() -> str:
    """Return the rules in Markdown, each once: a table for each set of manipulations."""
    groups: dict[tuple[Manipulation, ...], list[Rule]] = {}
    for rule in dict.fromkeys(rule for name in MANIPULATIONS for rule in CONTRACTS[name]):
        groups.setdefault(rule.manipulations, []).append(rule)
    ordered = sorted(groups, key=lambda names: -len(names))
    return "\n\n".join(_section(_title(names), groups[names]) for names in ordered)


def _title(names: tuple[Manipulation, ...]) -> str:
    if len(names) == 1:
        return _TITLES[names[0]]
    return "For every manipulation" if names == MANIPULATIONS else ", ".join(names).capitalize()


def with_table(page: str) -> str:
    """Return a page with the tables as they are now between the markers that it has.

    Raises:
        InputError: The page has no pair of markers, or half a pair.
    """
    made = (
        (BEGIN, "<!-- rules: end -->", rules_table),
        ("<!-- facts: begin -->", "<!-- facts: end -->", facts_table),
        ("<!-- notations: begin -->", "<!-- notations: end -->", notations),
    )
    here = [one for one in made if one[0] in page or one[1] in page]
    if not here:
        raise InputError(f"the page lacks '{BEGIN}'", hint="name a page with a table of contracts")
    for first, last, table in here:
        before, begin, rest = page.partition(first)
        _, end, after = rest.partition(last)
        if not begin or not end:
            raise InputError(f"the page lacks '{first if not begin else last}'")
        page = f"{before}{first}\n\n{table()}\n\n{last}{after}"
    return page


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
            "; ".join(
                f"`{name}` {_value(value)} ({origin})" for name, value, origin in thresholds(rule)
            ),
            rule.to_review,
        )
        lines.append("| " + " | ".join(cell.replace("|", r"\|") or "–" for cell in cells) + " |")
    return "\n".join(lines)


def thresholds(rule: Rule) -> list[tuple[str, object, str]]:
    """Return the named values that decide in a rule, each with its origin."""
    hints = get_type_hints(rule.function, include_extras=True)
    found = []
    for parameter in inspect.signature(rule.function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            hint = hints.get(parameter.name)
            origin = get_args(hint)[1] if get_origin(hint) is Annotated else ""
            found.append((parameter.name, parameter.default, origin))
    return found


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value(inner)}" for name, inner in value.items())
    if isinstance(value, tuple):
        return "–".join(map(_value, value))
    return f"{value:g}" if isinstance(value, float | int) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
