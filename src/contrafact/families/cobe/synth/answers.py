"""Right and wrong answers: edits that assert what the proof says, or differ from it in one way."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from contrafact.families.cobe.synth.cases import Case
from contrafact.families.cobe.synth.story import Answer
from contrafact.families.cobe.synth.telling import (
    Manner,
    Tie,
    draw_manner,
    sentence,
    tell,
    ties_told,
)
from contrafact.families.cobe.synth.template import Asserted, Template, Words

__all__ = ["Setting", "draw_setting", "right_answers", "wrong_answers"]

_OPENINGS = (
    "Here is the passage, rewritten for the change you describe:",
    "Sure! This is how it would have gone:",
    "Let me work through what the change touches, and what it leaves alone. The new version reads:",
    "**Rewritten passage**",
)
_CLOSINGS = (
    "The rest of the passage is as you gave it.",
    "I have kept whatever does not depend on the change.",
    "Tell me if you would like a longer version!",
)
_TRIES = 8


@dataclass(frozen=True)
class Setting:
    """One story of a case: its words, its numbers and its way of telling.

    Attributes:
        case: The case.
        words: What fills the template's slots.
        before: What the story asserts.
        after: What is so after the intervention, where that is determined.
        manner: The way of telling.
    """

    case: Case
    words: Words
    before: Mapping[str, Asserted]
    after: Mapping[str, Asserted]
    manner: Manner

    @property
    def template(self) -> Template:
        """The template."""
        return self.case.template

    def clause(self, name: str) -> str:
        """Return the clause that tells a variable as it was."""
        return self.template.told[name].said(self.before[name], self.words)


def draw_setting(case: Case, rng: np.random.Generator) -> Setting:
    """Return a random story of a case."""
    template = case.template
    words = {
        slot: choice[int(rng.integers(len(choice)))] for slot, choice in template.slots.items()
    }
    before = {name: _fact(template, name, case.facts[name], rng) for name in template.told}
    after = {
        name: before[name] if value == case.facts[name] else _fact(template, name, value, rng)
        for name, value in case.after.items()
    }
    return Setting(case, words, before, after, draw_manner(template, rng))


def right_answers(setting: Setting, rng: np.random.Generator) -> tuple[Answer, ...]:
    """Return right answers: the representative one, and some that look odd."""
    case, template = setting.case, setting.template
    first = tell(template, setting.words, setting.after, setting.manner)
    other = _retold(setting, first, rng)
    found = [Answer(first, "The story, edited and otherwise told as it was.")]
    if other != first:
        found.append(Answer(other, "The same, told in another order or with other connectors."))
    opening, closing = _one_of(_OPENINGS, rng), _one_of(_CLOSINGS, rng)
    body = first
    why = "Text that nobody asked for stands around the edit."
    if case.latents:
        name, value = list(case.latents.items())[int(rng.integers(len(case.latents)))]
        body = f"{sentence(_latent(setting, name, value))} {first}"
        why = "Text that nobody asked for stands around the edit, and what was implied is told."
    found.append(Answer(f"{opening}\n\n{body}\n\n{closing}", why))
    found.append(_options(setting, rng))
    return tuple(found)


def wrong_answers(setting: Setting, rng: np.random.Generator) -> tuple[Answer, ...]:
    """Return wrong answers, at least one for each criterion of the story, failing that alone."""
    found = _associational(setting, rng)
    found.append(_forgetful(setting, rng))
    found.append(_misjoined(setting, rng))
    if setting.case.moved:
        found.append(_wrong_way(setting, rng))
    if setting.case.latents:
        found.append(_disturbed(setting, rng))
    return tuple(found)


def _associational(setting: Setting, rng: np.random.Generator) -> list[Answer]:
    """Return edits that change what is not downstream: a cause, to fit; then something else."""
    case, template = setting.case, setting.template
    above = template.ties.ancestors([case.variable])
    confounded = {n for group in template.confounded if case.variable in group for n in group}
    shuffled = [case.unchanged[i] for i in rng.permutation(len(case.unchanged))]
    ranked = sorted(shuffled, key=lambda n: (n not in above, n not in confounded))
    found = []
    for name in ranked[:2]:
        changed = _fact(template, name, _other(template, name, case.facts[name]), rng)
        text = tell(template, setting.words, {**setting.after, name: changed}, setting.manner)
        what = (
            "a cause of what was edited, to fit the edit"
            if name in above
            else "what only goes along with what was edited"
            if name in confounded
            else "a fact that the edit does not touch"
        )
        found.append(Answer(text, f"It changes {what}: {setting.clause(name)}.", "E1"))
    return found


def _forgetful(setting: Setting, rng: np.random.Generator) -> Answer:
    """Return an edit that leaves an effect of the change as it was, or makes no change at all."""
    case = setting.case
    effects = [name for name in case.changed if name != case.variable]
    name = effects[int(rng.integers(len(effects)))] if effects else case.variable
    assertions = {**setting.after, name: setting.before[name]}
    text = tell(setting.template, setting.words, assertions, setting.manner)
    what = "an effect of the edit" if effects else "the very fact that was to be edited"
    return Answer(text, f"It leaves {what} as it was: {setting.clause(name)}.", "E2")


def _misjoined(setting: Setting, rng: np.random.Generator) -> Answer:
    """Return an edit with one wrong connector: the one of the story, where that had to change."""
    template = setting.template
    was, now = (ties_told(template, a) for a in (setting.before, setting.after))
    kept = [tie for tie in now if now[tie] != was[tie]]
    touched = [tie for tie in now if not set(tie).isdisjoint(setting.case.changed)]
    ties = kept or touched or list(now)
    tie = ties[int(rng.integers(len(ties)))]
    text = tell(template, setting.words, setting.after, setting.manner, joined={tie: not now[tie]})
    why = (
        "It leaves a connector as it was, which no longer tells the relation"
        if kept
        else "It joins a cause and an effect by a connector that tells the opposite relation"
    )
    return Answer(text, f"{why}: {_tie(setting, tie)}.", "E3")


def _wrong_way(setting: Setting, rng: np.random.Generator) -> Answer:
    """Return an edit in which a quantity moves the wrong way."""
    case, template = setting.case, setting.template
    names = list(case.moved)
    name = names[int(rng.integers(len(names)))]
    before, told = setting.before[name], template.told[name]
    moved = Asserted(before.value, beyond=True)
    if before.number is not None:
        range_, step = told.numbers[before.value], told.numbers[before.value].step
        low, high = (
            (before.number + step, range_.most)
            if case.moved[name] == "down"
            else (range_.least, before.number - step)
        )
        moved = Asserted(before.value, _step(low, high, step, rng))
    assertions = {**setting.after, name: moved}
    text = tell(template, setting.words, assertions, setting.manner)
    what = (told.what or "").format_map(setting.words)
    went = "up, not down" if case.moved[name] == "down" else "down, not up"
    return Answer(text, f"In it, {what} goes {went}.", "E4")


def _disturbed(setting: Setting, rng: np.random.Generator) -> Answer:
    """Return an edit that adds the contrary of a fact which the story implies."""
    latents = setting.case.latents
    name = list(latents)[int(rng.integers(len(latents)))]
    contrary = _latent(setting, name, "no" if latents[name] == "yes" else "yes")
    text = tell(setting.template, setting.words, setting.after, setting.manner)
    said = sentence(contrary)
    text = f"{said} {text}" if rng.integers(2) else f"{text} {said}"
    implied = _latent(setting, name, latents[name])
    return Answer(text, f"It contradicts what the story implies: {implied}.", "E5")


def _options(setting: Setting, rng: np.random.Generator) -> Answer:
    """Return two edits in one answer; where something is left open, they differ in it."""
    case, template = setting.case, setting.template
    texts = []
    for value in (0, 1):
        assertions = dict(setting.after)
        for name in case.open:
            levels = template.told[name].values
            assertions[name] = _fact(template, name, levels[value], rng)
        for name in case.moved:
            assertions[name] = _fact(template, name, case.after[name], rng)
        manner = setting.manner if value == 0 else draw_manner(template, rng)
        texts.append(tell(template, setting.words, assertions, manner))
    why = "It offers two versions, and both hold."
    if case.open:
        why = "It offers two versions, which differ in what the story leaves open."
    return Answer(f"Option 1: {texts[0]}\n\nOption 2: {texts[1]}", why)


def _retold(setting: Setting, first: str, rng: np.random.Generator) -> str:
    text = first
    for _ in range(_TRIES):
        if text != first:
            break
        text = tell(
            setting.template, setting.words, setting.after, draw_manner(setting.template, rng)
        )
    return text


def _tie(setting: Setting, tie: Tie) -> str:
    cause, effect = (
        setting.template.told[name].said(setting.after[name], setting.words) for name in tie
    )
    return f"{cause} / {effect}"


def _fact(template: Template, name: str, value: str, rng: np.random.Generator) -> Asserted:
    """Return a value as a story asserts it: with a number, where it is told in numbers.

    A number leaves room for one further out in its level: a wrong answer may need it.
    """
    numbers = template.told[name].numbers.get(value)
    if numbers is None:
        return Asserted(value)
    low, high = numbers.least, numbers.most
    if value == "high":
        high -= numbers.step
    else:
        low += numbers.step
    return Asserted(value, _step(low, high, numbers.step, rng))


def _step(low: int, high: int, step: int, rng: np.random.Generator) -> int:
    return low + step * int(rng.integers((high - low) // step + 1))


def _other(template: Template, name: str, value: str) -> str:
    return next(v for v in template.told[name].values if v != value)


def _latent(setting: Setting, name: str, value: str) -> str:
    return setting.template.latents[name].clauses[value].said(setting.words)


def _one_of(texts: tuple[str, ...], rng: np.random.Generator) -> str:
    return texts[int(rng.integers(len(texts)))]
