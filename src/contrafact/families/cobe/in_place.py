"""Editing a story in place, in its own sentences with as few changes as possible.

The intervention is stated in the query's words, facts that change are negated in the story's words,
the number is changed, and everything else stays. A connector stays if the facts that it joins stay;
otherwise it is removed. Only an edit that is proven right is returned.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contrafact.families.cobe.data import criteria_of, read_story, subject_of
from contrafact.families.cobe.synth.narrative import sentence
from contrafact.families.cobe.synth.negation import negations
from contrafact.families.cobe.synth.prove import Facts, situation_of
from contrafact.families.cobe.synth.reading import CUES, Mention
from contrafact.families.cobe.verifier import decisions

_PART = re.compile(r"[^.!?\n]+[.!?\n]*")
_LINKS = tuple(cue for cue, (place, _) in CUES.items() if place == "link")
"""Words with which a sentence refers to the one before it."""
_MARKED = re.compile(r"\x00(\d+)\x00")


def in_place(row: Mapping[str, Any]) -> str | None:
    """Return the edit of a drawn story in its own sentences; None if no edit is proven right."""
    facts = situation_of(row)
    text = row["Variation text"]
    for setting in facts.settings:
        text = text.replace(setting, "")
    story = read_story(dict(row))
    sentences = [part.strip() for part in _PART.findall(text) if part.strip()]
    for edited in _edits(facts, sentences):
        decided = decisions(subject_of(story, edited))
        if all(decided[name].passed for name in criteria_of(story)):
            return edited
    return None


def _edits(facts: Facts, sentences: Sequence[str]) -> Iterator[str]:
    """Yield edits, first with the connectors between unchanged facts, then without any."""
    for connectors in (True, False):
        parts, before = [], True  # whether the sentence before stays as it is
        for text in sentences:
            masked, mentions = facts.reader.masked(text.lower())
            stays = all(facts.proof.of(mention.name).kind == "stays" for mention in mentions)
            kept = connectors and (before or not masked.startswith(_LINKS))
            if stays and (kept or not _joins(masked)):
                parts.append(text)
            else:
                parts.append(_edited(facts, masked, mentions))
            before = stays
        yield " ".join(part for part in parts if part)


def _edited(facts: Facts, masked: str, mentions: Sequence[Mention]) -> str:
    """Return the clauses of a sentence as they are after the edit, without connectors."""
    clauses = [_clause_after(facts, mention.name) for mention in mentions]
    if all(clauses) and not _joins(masked):
        whole = _MARKED.sub(lambda mark: clauses[int(mark[1])], masked)
        return f"{whole[0].upper()}{whole[1:]}"
    told = zip(mentions, clauses, strict=True)
    return " ".join(sentence(clause) for mention, clause in told if clause and not mention.noun)


def _joins(masked: str) -> bool:
    """Return whether a sentence has words besides its clauses, not counting "and"."""
    return bool(set(re.findall(r"\w+", _MARKED.sub("", masked))) - {"and"})


def _clause_after(facts: Facts, name: str) -> str:
    """Return the clause that states a variable after the edit; empty if its value is open."""
    consequence = facts.proof.of(name)
    words = facts.reader.wordings[name]
    if "amounts" in words:
        return str(words["amounts"][0]).replace("{n}", f"{consequence.after:,}")
    if consequence.kind == "undetermined" or consequence.after is None:
        return ""
    now, before = ("true", "false") if consequence.after else ("false", "true")
    if consequence.kind == "changes":
        was = words[before]
        denied = next(negations(was["clauses"][0], was["supposed"][0]), None)
        if denied is not None:
            return denied
    return str(words[now]["clauses"][0])
