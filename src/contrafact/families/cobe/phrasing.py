"""The phrasings and framings of a query: one change, asked in three ways (CoBe, section 3.1).

The syntax of the three phrasings is the paper's format: A and C have the inverted conditional
("had the brakes failed"), B the plain one ("if the brakes had failed"). A framing says how the
request is put: ``plain``, as in the paper; or ``stated``, followed by a sentence that the change
comes from outside, in one of three wordings.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from contrafact.errors import InputError
from contrafact.families.cobe.records import Story

if TYPE_CHECKING:
    from contrafact.prompts import PromptPack

PLAIN, STATED = "plain", "stated:1"
FRAMINGS = (PLAIN, STATED, "stated:2", "stated:3")

_A = "Rewrite the original text, based on what would have happened instead had {}."
_B = "Based on the preceding text, rewrite the scenario to reflect what happens if {}."
_C = "Rewrite the above passage to illustrate what would have occurred had {}."

_FORMS = tuple(
    re.compile(re.escape(form).replace(re.escape("{}"), "(?P<rest>.+)").replace(r"\.", r"\.?"))
    for form in (_A, _B, _C)
)
_NEGATED = re.compile(r"\bhad(?:n['’]t| not)\b", re.IGNORECASE)
_HAD = re.compile(r"\bhad\b(?: had\b)?", re.IGNORECASE)
# Words that may begin a clause and are not names: they lose their capital after "if" or "had".
_PLAIN_STARTS = frozenset(
    (
        *("the", "a", "an", "there", "it", "he", "she", "they", "we", "you", "this", "that"),
        *("these", "those", "his", "her", "their", "its", "our", "my", "your", "no", "all"),
        *("some", "every", "each", "both", "many", "few", "more", "less", "most", "nobody"),
        *("nothing", "someone", "somebody", "one", "everyone", "everybody", "neither"),
        *("either", "another", "any", "only"),
    )
)


def queries(intervention: str | Sequence[str]) -> tuple[str, str, str]:
    """Return phrasings A, B and C of the query about an intervention.

    Args:
        intervention: A clause in the past perfect, as in "the brakes had failed", "there had been
            no storm" or "the brakes hadn't failed". Several clauses, as a list or joined by "and",
            set several things at once.

    Raises:
        InputError: A clause has no "had", or several, or nothing before or after it.
    """
    clauses = [intervention] if isinstance(intervention, str) else list(intervention)
    parts = [part for clause in clauses for part in _parts(_plain(clause))]
    if not parts:
        raise InputError("there is no intervention", hint=_HINT)
    # "had the brakes failed and the road been dry": one "had" serves them all.
    condition = _joined([f"{subject} {rest}" for subject, rest in parts])
    plain = _joined([f"{subject} had {rest}" for subject, rest in parts])
    return _A.format(condition), _B.format(plain), _C.format(condition)


def framing_named(name: str) -> str:
    """Return a framing by its full name; ``stated`` is ``stated:1``.

    Raises:
        InputError: There is no such framing.
    """
    name = STATED if name == "stated" else name
    if name not in FRAMINGS:
        raise InputError(f"there is no framing '{name}'", hint=f"use {', '.join(FRAMINGS)}")
    return name


def usual_framing(stories: Iterable[Story]) -> str:
    """Return ``stated:1`` where a story tells the rules of its proof as laws, else ``plain``.

    A law leaves no room for a change from outside unless the request does.
    """

    def tells_rules(story: Story) -> bool:
        relations = None if story.proof is None else story.proof.get("relations")
        rules = relations if isinstance(relations, list) else ()
        return any(isinstance(one, Mapping) and str(one.get("says")) in story.text for one in rules)

    return STATED if any(map(tells_rules, stories)) else PLAIN


def request_of(pack: "PromptPack", framing: str) -> Callable[[str], str]:
    """Return the function that puts a query in a framing, by ``cobe/framing`` unless plain."""
    framing = framing_named(framing)
    if framing == PLAIN:
        return lambda query: query
    template = pack.template("cobe/framing", required={"query", "wording"})
    wording = int(framing.partition(":")[2])
    return lambda query: template.render(query=query, wording=wording)


def condition_of(query: str) -> str | None:
    """Return the words of a query that state the intervention; None for a query in free form.

    They are what follows "had" in phrasings A and C, and what follows "if" in B.
    """
    for form in _FORMS:
        if match := form.fullmatch(" ".join(query.split())):
            return match["rest"].removesuffix(".")
    return None


def free_forms(three: Sequence[str]) -> list[int]:
    """Return the indices of the queries that do not have the form of their phrasing."""
    return [
        index
        for index, (form, query) in enumerate(zip(_FORMS, three, strict=True))
        if not form.fullmatch(" ".join(query.split()))
    ]


_HINT = 'write clauses like "the brakes had failed" or "there had been no storm", one by one'


def _plain(clause: str) -> str:
    """Return a clause for the middle of a sentence: no full stop, a capital only on a name."""
    text = " ".join(clause.split()).rstrip(" .!?;,")
    text = re.sub(r"^if\s+", "", text, flags=re.IGNORECASE)
    text = _NEGATED.sub("had not", text)
    first, space, rest = text.partition(" ")
    if first.casefold() in _PLAIN_STARTS:
        first = first.casefold()
    return first + space + rest


def _parts(clause: str) -> list[tuple[str, str]]:
    several = clause.split(" and ")
    if len(several) > 1 and all(len(_HAD.findall(single)) == 1 for single in several):
        return [part for single in several for part in _parts(single)]
    matches = list(_HAD.finditer(clause))
    if len(matches) != 1:
        problem = f"has 'had' {len(matches)} times" if matches else "has no 'had'"
        raise InputError(f"the intervention '{clause[:60]}' {problem}", hint=_HINT)
    had = matches[0]
    # "they had had a map": the first "had" is the auxiliary.
    start, end = had.start(), had.end() - (len(" had") if " " in had[0] else 0)
    subject, rest = clause[:start].strip(), clause[end:].strip()
    if not subject or not rest:
        raise InputError(
            f"there is nothing {'after' if subject else 'before'} 'had' in '{clause[:60]}'",
            hint=_HINT,
        )
    return [(subject, rest)]


def _joined(clauses: Sequence[str]) -> str:
    if len(clauses) < 3:
        return " and ".join(clauses)
    return ", ".join(clauses[:-1]) + " and " + clauses[-1]
