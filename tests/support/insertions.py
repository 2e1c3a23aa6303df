"""Proven answers with a span that the grammar cannot read, and what their verdicts then are.

A span is made of the file's own clauses in a frame of other words. What it makes of the answer is
known by its construction: the answer in plain words with the fact denied, left out, told both ways
or as it was. The proof's own checker gives the verdicts of that.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from contrafact.families.cobe.synth.compose import compose
from contrafact.families.cobe.synth.prove import Facts, judge_text, situation_of
from contrafact.families.cobe.synth.reading import Mention

SPANS: Mapping[str, tuple[str, ...]] = {
    "denied": (
        "It is not true that {x}.",
        "It was not the case that {x}.",
        "By no means was it so that {x}.",
        "In no way {x}.",
        "Not for a moment {x}.",
        "Never once {x}.",
        "{X} no longer.",
        "{X}, or rather the opposite.",
        "{X} nowhere but on paper.",
        "There was no question of anything like {x}.",
        "At no time {x}, not even for an hour.",
        "That {x} would be going much too far.",
        "Far from it that {x}.",
        "{X} just as little as before.",
        "{X} only on Sundays.",
        "Nobody saw to the matter, and so hardly {x}.",
        "{X} almost.",
        "For want of time {x} only half.",
        "It would be an error to write that {x}.",
        "Little was missing and {x}.",
        "{X} anything but well.",
        "Neither then nor afterwards {x}.",
        "Had things gone well, {x}.",
        "No sooner had the day begun than {x} ceased to hold.",
    ),
    "reported": (
        "The mayor said that {x}.",
        "According to the mayor, {x}.",
        "{X}, the neighbours claimed.",
        "A rumour went round that {x}.",
        "The evening paper reported that {x}.",
        "Everyone believed that {x}.",
        "{X}, or so they thought.",
        "Somebody had dreamt that {x}.",
        "The children hoped that {x}.",
        "In the view of the mayor's brother {x}.",
        "{X} in an old song.",
        "It was feared that {x}.",
        "Word spread: {x}.",
        "The innkeeper swore that {x}.",
        "A letter from the capital had it that {x}.",
        "{X} as far as anyone could make out.",
        "To hear the mayor, {x}.",
        "A child drew a picture in which {x}.",
        "Legend has it that {x}.",
        "The council voted that {x}.",
        "{X} on stage.",
        "The neighbours had understood that {x}.",
        "By the innkeeper's count {x}.",
        "{X} in the minds of the elders.",
    ),
    "conditional": (
        "If {x}, things would have gone another way.",
        "If {x}, somebody would have written home about the matter.",
        "Unless {x}, nobody would have minded.",
        "Provided that {x}, the baker would have been glad.",
        "In case {x}, a plan lay ready.",
        "Only if {x} would the bells have rung.",
        "Supposing {x}, a holiday would have been declared.",
        "{X} whenever the moon was full.",
        "{X}, given better weather.",
        "Whether or not {x} makes no difference.",
        "Once {x}, a feast would follow.",
        "Had there been time, {x} as well.",
        "Assuming that {x}, trade would flourish.",
        "As long as {x}, the town is safe.",
        "{X} on condition that the weather holds.",
        "With a bit of luck {x}.",
        "Suppose that {x}.",
        "Should it happen that {x}, ring the bell.",
        "Even if {x}, little would change.",
        "{X} except when the moon is full.",
        "Imagine for a moment that {x}.",
        "Until {x}, the guard will wait.",
        "{X}, weather permitting.",
        "Without help {x}, but help came.",
    ),
    "contradicted later": (
        "Later, however, {x}.",
        "In the end {x} after all.",
        "But on the same evening {x}.",
        "It turned out that {x}.",
        "That changed when {x}.",
        "Soon {x} once more.",
        "In reality {x}.",
        "On closer inspection {x}.",
        "Before the day was out, {x}.",
        "Then, against every forecast, {x}.",
        "To general surprise {x} in the meantime.",
        "An hour afterwards {x}, and for good.",
        "The following morning {x}.",
        "After a while {x}.",
        "Nevertheless, at nightfall, {x}.",
        "Strictly speaking, {x}.",
        "Correction: {x}.",
        "Not for long: {x}.",
        "And yet {x}, as everybody could see.",
        "Still, {x} in the second half of the week.",
        "Only hours afterwards {x}.",
        "Finally {x}.",
        "Yet again {x}, to the joy of the elders.",
        "Towards evening {x}, and the elders shook their heads.",
    ),
    "foreign": (
        "The baker sold out of plum cake.",
        "A dog slept in the sun.",
        "Nobody remembered such a week.",
        "The church clock struck four.",
        "Somewhere a door slammed.",
        "An old woman fed the pigeons.",
        "The radio played a waltz.",
        "People went about their business.",
        "All in all the month was a quiet one.",
        "Two cousins quarrelled over a game of cards.",
    ),
    "framed or taken back": (
        "None of this was so.",
        "Nothing of the kind happened, though.",
        "All of that was a dream.",
        "At least, so much was claimed by the mayor.",
        "The opposite is the case.",
        "So went the rumour.",
        "Then she woke up.",
        "The witnesses made everything up.",
        "A fine tale, invented from start to finish.",
        "Such was the plan.",
        "People who know the river, the mill and the market tell it so.",
        "The duke had the day, the town and the weather described to him wrongly.",
        "The account of {noun} was made up by the innkeeper.",
        "So ran the play about {noun}.",
        "In the painting on the wall, {noun} could be made out.",
        "The mayor dozed off and had visions of {noun}.",
        "{Noun} belonged to a different story.",
        "Of {noun} and the rest the children had read in a book of fables.",
        "Such were the boasts about {noun}.",
        "The bards sang of {noun} in these lines.",
    ),
}
"""By kind, frames with a clause or a noun phrase of the file in them; or sentences of their own."""

_PART = re.compile(r"[^.!?\n]+[.!?\n]*")


@dataclass(frozen=True)
class Inserted:
    """An answer with a span in it.

    Attributes:
        verdicts: What each criterion comes to; None where nothing is told for certain.
    """

    kind: str
    facts: Facts
    row: Mapping[str, object]
    text: str
    verdicts: Mapping[str, bool | None]


def inserted_answers(stories: int, seed: int) -> Iterator[Inserted]:
    """Yield answers of drawn stories, one of each story and kind that the answer has room for."""
    rng = Random(seed)
    kinds = [*SPANS, "compared"]
    rows = [json.loads(json.dumps(row)) for row in compose(stories, seed)]
    for number, row in enumerate(rows):
        facts = situation_of(row)
        answers = row["Right answers"] + row["Wrong answers"]
        rng.shuffle(answers)
        kind = kinds[number % len(kinds)]
        for answer in answers:
            foreign = _PART.findall(rng.choice(rows)["Representative answer"])[-1].strip()
            made = _with_span(rng, facts, answer["text"], kind, foreign)
            if made is not None:
                text, plain = made
                yield Inserted(kind, facts, row, text, _verdicts(facts, plain))
                break


def _verdicts(facts: Facts, plain: str | None) -> dict[str, bool | None]:
    if plain is None:
        return dict.fromkeys(facts.asked)
    return {name: not problems for name, problems in judge_text(facts, plain).items()}


def _with_span(
    rng: Random, facts: Facts, text: str, kind: str, foreign: str
) -> tuple[str, str | None] | None:
    """Return a text with a span, and the same in plain words (None where nothing is certain).

    ``foreign`` is a sentence of some story, which may stand in place of those here.
    """
    sentences = _PART.findall(text)
    plain = [
        (at, mentions[0])
        for at, sentence in enumerate(sentences)
        for masked, mentions in [facts.reader.masked(sentence.lower())]
        if len(mentions) == 1 and masked.strip() == "\x000\x00." and "{n}" not in sentence
    ]
    if kind == "compared":
        return _compared(rng, facts, sentences, plain)
    span = rng.choice(SPANS[kind])
    if kind == "foreign" and rng.random() < 0.5:
        span = foreign
        if facts.reader.masked(span.lower())[1]:
            return None
    if kind in ("foreign", "framed or taken back"):
        words = [forms[value] for forms in facts.reader.wordings.values() for value in forms]
        noun = rng.choice(
            [n for one in words if isinstance(one, dict) for n in one.get("nouns", ())]
        )
        span = span.replace("{noun}", noun).replace("{Noun}", f"{noun[0].upper()}{noun[1:]}")
        at = rng.randrange(len(sentences) + 1)
        told = [sentence for sentence in sentences if facts.reader.masked(sentence.lower())[1]]
        if len(told) < len(sentences):  # no span inside of "Option 1:" and the like
            return None
        whole = "".join([*sentences[:at], f" {span} ", *sentences[at:]])
        return " ".join(whole.split()), text if kind == "foreign" else None
    events = [(at, one) for at, one in plain if one.name not in facts.text.quantities]
    if not events:
        return None
    at, mention = rng.choice(events)
    forms = facts.reader.wordings[mention.name]
    other = rng.choice(forms["false" if mention.value else "true"]["clauses"])
    if kind == "denied":
        return _put(sentences, at, span, None), _put(sentences, at, "{X}.", other)
    if kind == "contradicted later":
        after = rng.randrange(at, len(sentences))
        return tuple(_put(sentences, after, f"{{}} {s}", other) for s in (span, "{X}."))
    if rng.random() < 0.5:  # the fact itself is but reported, or supposed
        return _put(sentences, at, span, None), _put(sentences, at, "", None)
    after = rng.randrange(at, len(sentences))
    return _put(sentences, after, f"{{}} {span}", other), text


def _put(sentences: list[str], at: int, span: str, clause: str | None) -> str:
    """Return a text with one sentence in a frame: ``{x}`` is a clause, ``{}`` the sentence."""
    was = sentences[at].strip()
    said = clause or was.rstrip(".")
    said = f"{said[0].lower()}{said[1:]}"
    filled = span.replace("{}", was).replace("{x}", said)
    filled = filled.replace("{X}", f"{said[0].upper()}{said[1:]}")
    return " ".join(" ".join([*sentences[:at], filled, *sentences[at + 1 :]]).split())


COMPARED = {
    "down": ("was lower than", "was less than", "fell below", "stood below", "fell short of"),
    "up": ("was higher than", "was more than", "rose above", "stood above", "exceeded"),
}


def _compared(
    rng: Random, facts: Facts, sentences: list[str], plain: list[tuple[int, Mention]]
) -> tuple[str, str] | None:
    """Return a text whose number is compared with the story's, either way, and a number."""
    amounts = [(at, one) for at, one in plain if one.name in facts.text.quantities]
    if not amounts:
        return None
    at, mention = rng.choice(amounts)
    forms, before = facts.reader.wordings[mention.name], facts.proof.facts[mention.name]
    way = rng.choice(sorted(COMPARED))
    number = f"{before:,} {forms['unit']}".rstrip()
    said = f"{forms['entity']} {rng.choice(COMPARED[way])} {number}"
    after = max(0, before - 1) if way == "down" else before + 1
    amount = forms["amounts"][0].replace("{n}", f"{after:,}")
    return _put(sentences, at, "{X}.", said), _put(sentences, at, "{X}.", amount)
