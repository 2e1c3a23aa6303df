"""Editing a story in place: its own sentences, with no more put in other words than has to be.

What is set is told in the query's words, what changes with it is denied in the story's, the number
moves, and the rest stands as it stood. A connector stays where what it says still holds; elsewhere
its sentence is told without it. What comes out is proven, or not handed out.
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
"""With these a sentence looks back to the one before it."""
_MARKED = re.compile(r"\x00(\d+)\x00")


def in_place(row: Mapping[str, Any]) -> str | None:
    """Return a drawn story's edit in its own sentences; None where none is proven right."""
    facts = situation_of(row)
    text = row["Variation text"]
    for one in facts.settings:
        text = text.replace(one, "")
    story = read_story(dict(row))
    for edited in _tries(facts, [one.strip() for one in _PART.findall(text) if one.strip()]):
        found = decisions(subject_of(story, edited))
        if all(found[name].passed for name in criteria_of(story)):
            return edited
    return None


def _tries(facts: Facts, sentences: Sequence[str]) -> Iterator[str]:
    """Yield edits: connectors kept where nothing that they join changes, then nowhere."""
    for connectors in (True, False):
        parts, before = [], True  # whether the sentence before stays as it is
        for text in sentences:
            masked, mentions = facts.reader.masked(text.lower())
            stays = all(_kind(facts, one) == "stays" for one in mentions)
            kept = connectors and (before or not masked.startswith(_LINKS))
            if stays and (kept or not _joins(masked)):
                parts.append(text)
            else:
                parts.append(_edited(facts, masked, mentions))
            before = stays
        yield " ".join(part for part in parts if part)


def _edited(facts: Facts, masked: str, mentions: Sequence[Mention]) -> str:
    """Return a sentence without what joins its clauses, these as they are after the edit."""
    told = [_told(facts, one) for one in mentions]
    if all(told) and not _joins(masked):
        whole = _MARKED.sub(lambda place: told[int(place[1])], masked)
        return f"{whole[0].upper()}{whole[1:]}"
    clauses = zip(mentions, told, strict=True)
    return " ".join(sentence(clause) for one, clause in clauses if clause and not one.noun)


def _joins(masked: str) -> bool:
    """Return whether a sentence has words besides its clauses, "and" apart."""
    return bool(set(re.findall(r"\w+", _MARKED.sub("", masked))) - {"and"})


def _kind(facts: Facts, mention: Mention) -> str:
    return next(one.kind for one in facts.proof.consequences if one.variable == mention.name)


def _told(facts: Facts, mention: Mention) -> str:
    """Return the clause that states a variable after the edit, as the file has it; none if open."""
    name = mention.name
    found = next(one for one in facts.proof.consequences if one.variable == name)
    words = facts.reader.wordings[name]
    if "amounts" in words:
        return str(words["amounts"][0]).replace("{n}", f"{found.after:,}")
    if found.kind == "undetermined" or found.after is None:
        return ""
    now, before = ("true", "false") if found.after else ("false", "true")
    if found.kind == "changes":
        was = words[before]
        denied = next(negations(was["clauses"][0], was["supposed"][0]), None)
        if denied is not None:
            return denied
    return str(words[now]["clauses"][0])
