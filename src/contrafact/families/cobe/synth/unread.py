"""Sentences that the grammar cannot read: whether the rest of a response still counts beside them.

What such a sentence may be about stays open: the facts whose wordings it has words of. The rest is
read as it stands, unless the sentence could take back or frame what other sentences say. It could
where it has words for telling, thinking, doubting or the text itself, where it points elsewhere
("this", "another"), and where most of its words, or its first, belong to no fact.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contrafact.families.cobe.synth.reading import Mention, mentioning, worded_values

__all__ = ["frames_others", "may_be_about", "words_of_facts"]

_POINTING = frozenset(
    """
    another awoke either else everything here hope hoped hopes hoping i it its itself liar lie
    lied lies lying may me might my news nope note noted notes nothing other others otherwise
    our picture plan planned plans play plays read reads right same sang sing state stated
    states such sung that these this those us view views wake we what woke word words wrong yes
    you your
    """.split()  # noqa: SIM905
)
_REPORTING = tuple(
    """
    accord account actual admit alleg alternativ announc answer apparent appear argu ask assert
    assum belie book certain chronicl claim contra correct could declar deni deny descri doubt
    draft dream edit error exact expect explain fabl fact fals fanta fear feign fiction film
    forecast genuin gossip guess hearsay hypothe idea imagin impossib impression incorrect
    insist invent jok kidd legend letter likel mention mirag mistak myth narrat novel opinion
    oppos opposit option origin paragraph passage perform perhaps poem possib predict pretend
    probab promis proverb question real recall reckon refus refut reject rememb repl report
    respons retract revers rewr rumor rumour said say scenario seem sentenc should song speculat
    stories story suggest summar suppos suspect swear swore tale talk tell text theor think
    thought threat told true truth uncertain unlikel untru version vision vow want warn wish
    wonder writ wrote
    """.split()  # noqa: SIM905
)
"""Beginnings of words."""
_OF_GRAMMAR = frozenset(
    """
    a an the and or but so of to in on at by for from with without into over under up down out
    off as if than then too very was were is are be been being had has have did do does not no
    nobody every each some any there their his her its they them which who when while until
    after before would will ,
    """.split()  # noqa: SIM905
)


def words_of_facts(wordings: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return, by the stem of a word, the variables in whose wordings it stands."""
    names: dict[str, set[str]] = {}
    texts = [(mention.name, text) for text, mention in mentioning(wordings)]
    texts += [
        (name, text)
        for name, _, words in worded_values(wordings)
        for text in words.get("supposed", ())
    ]
    for name, text in texts:
        for word in text.lower().split():
            names.setdefault(_stem(word), set()).add(name)
    return {stem: frozenset(about) for stem, about in names.items() if stem not in _OF_GRAMMAR}


def may_be_about(
    sentence: Sequence[str | Mention], facts: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    """Return the variables that a sentence may be about; none where it may be about anything.

    Args:
        sentence: Its words, and what could be read between them.
        facts: By stem, the variables whose wordings have the word. One of several facts counts for
            all of them, unless the sentence is about one of them by another word.
    """
    parts: list[frozenset[str] | None] = []
    for part in sentence:
        if isinstance(part, Mention):
            parts.append(frozenset((part.name,)))
        elif (stem := _stem(part)) not in _OF_GRAMMAR:
            parts.append(facts.get(stem))
    clause = any(isinstance(part, Mention) and not part.noun for part in sentence)
    known = [names for names in parts if names is not None]
    if not clause and (2 * len(known) < len(parts) or parts[:1] in ([], [None])):
        return frozenset()
    certain = frozenset[str]().union(*(names for names in known if len(names) == 1))
    return certain.union(*(names for names in known if certain.isdisjoint(names)))


def frames_others(words: Iterable[str]) -> bool:
    """Return whether a sentence with these words could frame or take back other sentences."""
    return any(
        word in _POINTING or word.startswith(_REPORTING) or not re.fullmatch(r"[\w'-]+", word)
        for word in words
        if word != ","
    )


def _stem(word: str) -> str:
    """Return a word without its regular endings, for comparison alone."""
    word = word.strip(".,;!").removesuffix("'s").removesuffix("'")
    for end in ("ing", "ed", "es", "s", "e"):
        if word.endswith(end) and len(word) - len(end) > 2:
            word = word.removesuffix(end)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
