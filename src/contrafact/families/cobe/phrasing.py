"""One hypothetical change, asked in three ways (CoBe, section 3.1).

The syntax of the three phrasings is the paper's format: A and C have the inverted conditional
("had the brakes failed"), B the plain one ("if the brakes had failed").
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from contrafact.errors import InputError
from contrafact.text.parsing import parsed

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

__all__ = ["condition_of", "free_forms", "queries"]

_A = "Rewrite the original text, based on what would have happened instead had {}."
_B = "Based on the preceding text, rewrite the scenario to reflect what happens if {}."
_C = "Rewrite the above passage to illustrate what would have occurred had {}."

_FORMS = tuple(
    re.compile(re.escape(form).replace(re.escape("{}"), "(?P<rest>.+)").replace(r"\.", r"\.?"))
    for form in (_A, _B, _C)
)
_NEGATED = re.compile(r"\bhad(?:n['’]t| not)\b", re.IGNORECASE)
_CONTRACTED = re.compile(r"(?<=\w)['’]d\b")
_HAD = re.compile(r"\bhad\b", re.IGNORECASE)
# Words that begin a clause and are no names, so that they lose a capital after "if" or "had".
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
            no storm" or "the brakes hadn't failed"; the inverted "had the brakes failed" is read
            as well. Several clauses, as a list or joined by "and", set several things at once.

    Raises:
        InputError: A clause has no "had", or its subject cannot be determined.
    """
    clauses = [intervention] if isinstance(intervention, str) else list(intervention)
    parts = [part for clause in clauses for part in _parts(_plain(clause))]
    if not parts:
        raise InputError("there is no intervention", hint=_HINT)
    # "had the brakes failed and the road been dry": one "had" serves them all.
    condition = _joined([f"{subject} {rest}" for subject, rest in parts])
    plain = _joined([f"{subject} had {rest}" for subject, rest in parts])
    return _A.format(condition), _B.format(plain), _C.format(condition)


def condition_of(query: str) -> str | None:
    """Return the words that stand for the intervention in a query; None in free form.

    They are what follows "had" in phrasings A and C, and what follows "if" in B.
    """
    for form in _FORMS:
        if found := form.fullmatch(" ".join(query.split())):
            return found["rest"].removesuffix(".")
    return None


def free_forms(three: Sequence[str]) -> list[int]:
    """Return the places, from 0, of those queries that do not have the form of their phrasing."""
    return [
        place
        for place, (form, query) in enumerate(zip(_FORMS, three, strict=True))
        if not form.fullmatch(" ".join(query.split()))
    ]


_HINT = 'write a clause like "the brakes had failed" or "there had been no storm"'


_BEEN = re.compile(
    r"\Ahad (?P<subject>(?:(?! and |,).)+?) "
    r"(?P<rest>(?:(?:not|never|always|already|only) )?been .+)"
)


def _plain(clause: str) -> str:
    """Return the clause in the middle of a sentence: no full stop, no capital that is no name's."""
    text = " ".join(clause.split()).rstrip(" .!?;,")
    text = re.sub(r"^if\s+", "", text, flags=re.IGNORECASE)
    text = _NEGATED.sub("had not", text)
    first, space, rest = text.partition(" ")
    if first.casefold() in _PLAIN_STARTS or first.casefold() == "had":
        first = first.casefold()
    return first + space + rest


def _parts(clause: str) -> list[tuple[str, str]]:
    count = len(_HAD.findall(clause))
    if count == 0:
        contracted = list(_CONTRACTED.finditer(clause))
        if len(contracted) == 1:  # "they'd left"
            at = contracted[0]
            return [(clause[: at.start()], clause[at.end() :].strip())]
        raise InputError(f"the intervention '{clause[:60]}' has no 'had'", hint=_HINT)
    if clause.startswith("had "):
        return _uninverted(clause)
    if count == 1:
        subject, rest = (part.strip() for part in _HAD.split(clause, maxsplit=1))
        return [_checked(subject, rest, clause)]
    return _parsed(clause)


def _checked(subject: str, rest: str, clause: str) -> tuple[str, str]:
    if not subject or not rest:
        raise InputError(
            f"nothing stands {'after' if subject else 'before'} 'had' in '{clause[:60]}'",
            hint=_HINT,
        )
    return subject, rest


def _uninverted(clause: str) -> list[tuple[str, str]]:
    """Take "had the brakes failed" apart: where a second "had" makes a sentence of it."""
    # "had he been mixing the dough": "been" shows where the subject ends.
    if (been := _BEEN.fullmatch(clause)) and len(_HAD.findall(clause)) == 1:
        return [(been["subject"], been["rest"])]
    words = clause.split()[1:]
    for end in range(1, len(words)):
        subject, rest = " ".join(words[:end]), " ".join(words[end:])
        (doc,) = parsed([f"{subject} had {rest}."])
        had = doc.char_span(len(subject) + 1, len(subject) + 4)
        if had is None:
            continue
        token = had[0]
        verb = token.head
        subjects = [t for t in verb.children if t.dep_ in ("nsubj", "nsubjpass", "expl")]
        if (
            token.dep_ in ("aux", "auxpass")
            and verb.dep_ == "ROOT"
            and verb.tag_ in ("VBN", "VBD")
            and any(_spans(t, 0, token.i) for t in subjects)
        ):
            return [(subject, rest)]
    raise InputError(f"the subject of '{clause[:60]}' cannot be determined", hint=_HINT)


def _spans(token: "Token", start: int, end: int) -> bool:
    places = [t.i for t in token.subtree]
    return bool(min(places) == start and max(places) == end - 1)


def _parsed(clause: str) -> list[tuple[str, str]]:
    (doc,) = parsed([clause])
    heads = [t for t in doc if t.dep_ == "ROOT"]
    for head in heads:
        heads += [
            t for t in head.children if t.dep_ == "conj" and _own(t, "nsubj", "nsubjpass", "expl")
        ]
    found = [(head, _auxiliary(head)) for head in sorted(heads, key=lambda t: t.i)]
    if not found or any(had is None for _, had in found):
        raise InputError(
            f"which 'had' of '{clause[:60]}' is the main one cannot be determined",
            hint="give the clauses one by one",
        )
    parts = []
    for place, (head, had) in enumerate(found):
        assert had is not None
        start = _start(doc, head, place)
        end = _start(doc, found[place + 1][0], place + 1) if place + 1 < len(found) else len(doc)
        while end - 1 > had.i and (doc[end - 1].dep_ == "cc" or doc[end - 1].is_punct):
            end -= 1
        parts.append(_checked(doc[start : had.i].text, doc[had.i + 1 : end].text, clause))
    return parts


def _start(doc: "Doc", head: "Token", place: int) -> int:
    if place == 0:
        return 0
    subject = _own(head, "nsubj", "nsubjpass", "expl")
    assert subject is not None
    first: int = min(t.i for t in subject.subtree)
    return first


def _own(token: "Token", *kinds: str) -> "Token | None":
    return next((child for child in token.children if child.dep_ in kinds), None)


def _auxiliary(head: "Token") -> "Token | None":
    if head.lower_ == "had":  # "they had a map"
        auxiliary = _own(head, "aux")
        return auxiliary if auxiliary is not None and auxiliary.lower_ == "had" else head
    return next((t for t in head.children if t.dep_ == "aux" and t.lower_ == "had"), None)


def _joined(clauses: Sequence[str]) -> str:
    if len(clauses) < 3:
        return " and ".join(clauses)
    return ", ".join(clauses[:-1]) + " and " + clauses[-1]
