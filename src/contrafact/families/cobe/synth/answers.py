"""A story's criteria and its answers: edits that assert what the proof says, or differ in one way.

CoBe, sections 3.1 and 3.2, and the failure modes of appendix B.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from contrafact.causal.counterfactual import Proof
from contrafact.families.cobe.data import KnownAnswer, KnownStory, answers_object, story_object
from contrafact.families.cobe.synth.cases import Case
from contrafact.families.cobe.synth.realization import (
    Style,
    draw_style,
    realize,
    sentence,
    stated_edges,
)
from contrafact.families.cobe.synth.template import Asserted, Template, Words

__all__ = [
    "Setting",
    "criterion_texts",
    "draw_setting",
    "probed_modes",
    "proof_record",
    "right_answers",
    "story_record",
    "wrong_answers",
]


def proof_record(template: str, words: Mapping[str, str], proof: Proof) -> dict[str, Any]:
    """Return a proof in the form of a file."""
    return {
        "template": template,
        "words": dict(words),
        "assignment": {c.variable: c.before for c in proof.consequences if c.before is not None},
        "facts": dict(proof.facts),
        "intervention": dict(proof.intervention),
        "consequences": {
            c.variable: {
                "kind": c.kind,
                "before": c.before,
                "after": c.after,
                "direction": c.direction,
                "path": list(c.path),
            }
            for c in proof.consequences
        },
        "noise_settings": len(proof.posterior.settings),
    }


def story_record(drawn: KnownStory) -> dict[str, Any]:
    """Return a story in the paper's schema (appendix A.2), with our additions."""
    return story_object(drawn.story, answers_object(drawn))


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
    """One story of a case: its words, its numbers and its style.

    Attributes:
        case: The case.
        words: What fills the template's slots.
        before: What the story asserts.
        after: What is so after the intervention, where that is determined.
        style: How it is written.
    """

    case: Case
    words: Words
    before: Mapping[str, Asserted]
    after: Mapping[str, Asserted]
    style: Style

    @property
    def template(self) -> Template:
        """The template."""
        return self.case.template

    @property
    def cut(self) -> frozenset[str]:
        """What the intervention sets, and so cuts off from its causes."""
        return frozenset([self.case.variable])

    def clause(self, name: str) -> str:
        """Return the clause that states a variable as it was."""
        return self.template.stated[name].realized(self.before[name], self.words)


def draw_setting(case: Case, rng: np.random.Generator) -> Setting:
    """Return a random story of a case."""
    template = case.template
    words = {
        slot: choice[int(rng.integers(len(choice)))] for slot, choice in template.slots.items()
    }
    before = {name: _fact(template, name, case.facts[name], rng) for name in template.stated}
    after = {
        name: before[name] if value == case.facts[name] else _fact(template, name, value, rng)
        for name, value in case.after.items()
    }
    return Setting(case, words, before, after, draw_style(template, rng))


def right_answers(setting: Setting, rng: np.random.Generator) -> tuple[KnownAnswer, ...]:
    """Return right answers: the representative one, and some that look odd."""
    case, template, cut = setting.case, setting.template, setting.cut
    first = realize(template, setting.words, setting.after, setting.style, cut=cut)
    other = first
    for _ in range(_TRIES):
        if other == first:
            style = draw_style(template, rng)
            other = realize(template, setting.words, setting.after, style, cut=cut)
    found = [KnownAnswer(text=first, why="The story, edited and otherwise told as it was.")]
    if other != first:
        found.append(
            KnownAnswer(text=other, why="The same, told in another order or with other connectors.")
        )
    opening, closing = _one_of(_OPENINGS, rng), _one_of(_CLOSINGS, rng)
    body = first
    why = "Text that nobody asked for stands around the edit."
    if case.latents:
        name, value = list(case.latents.items())[int(rng.integers(len(case.latents)))]
        body = f"{sentence(_latent(setting, name, value))} {first}"
        why = "Text that nobody asked for stands around the edit, and what was implied is told."
    found.append(KnownAnswer(text=f"{opening}\n\n{body}\n\n{closing}", why=why))
    found.append(_options(setting, rng))
    return tuple(found)


def wrong_answers(setting: Setting, rng: np.random.Generator) -> tuple[KnownAnswer, ...]:
    """Return wrong answers, at least one for each criterion of the story, failing that alone."""
    found = _changes_what_stays(setting, rng)
    found.append(_leaves_what_changes(setting, rng))
    found.append(_wrong_connector(setting, rng))
    if setting.case.moved:
        found.append(_wrong_direction(setting, rng))
    if setting.case.latents:
        found.append(_contradicts_latent(setting, rng))
    return tuple(found)


def criterion_texts(setting: Setting) -> dict[str, str | None]:
    """Return the criteria of a story, by the fields of `Story` (CoBe, section 3.2).

    ``unchanged`` (E1) is what is stated and must stay, never a latent fact; ``changed`` (E2) the
    fact that is set and what must change with it; ``numerical`` (E4) which way quantities move;
    ``latent`` (E5) what the story implies and never states. The last two are None where there is
    nothing of the kind.
    """
    case, template = setting.case, setting.template

    def quoted(names: tuple[str, ...]) -> str:
        order = [name for name in setting.style.order if name in names]
        return " ".join(sentence(setting.clause(name)) for name in order)

    moved = []
    for name, way in case.moved.items():
        what = (template.stated[name].what or "").format_map(setting.words)
        moved.append(sentence(f"{what} is {'higher' if way == 'up' else 'lower'} than it was"))
    implied = [sentence(_latent(setting, name, value)) for name, value in case.latents.items()]
    return {
        "unchanged": quoted(case.unchanged),
        "changed": quoted(case.changed),
        "numerical": " ".join(moved) or None,
        "latent": " ".join(implied) or None,
    }


def probed_modes(
    case: Case, before: Mapping[str, Asserted], after: Mapping[str, Asserted]
) -> tuple[int, ...]:
    """Return the failure modes of appendix B.1 that a story probes.

    1: the edit goes against a cause that stays, or something downstream stays nevertheless.
    2: something only goes along with what is set. 3: something changes downstream. 4: a law of
    nature stands behind it. 5: something that is not stated is implied. 6: a connector has to
    change. 7: an effect has two causes, of which one is touched.
    """
    template, graph = case.template, case.template.stated_graph
    was, now = stated_edges(template, before), stated_edges(template, after)
    below = graph.descendants([case.variable])
    siblings = {n for g in template.confounded if case.variable in g for n in g}
    siblings |= {n for cause in graph.parents[case.variable] for n in graph.children[cause]}
    touched = {*case.changed, *case.moved}
    modes = {
        1: any(not now[edge] for edge in now if edge[1] == case.variable)
        or any(name in below for name in case.unchanged),
        2: bool((siblings - {case.variable}) & set(case.unchanged)),
        3: len(touched) > 1,
        4: template.science,
        5: bool(case.latents),
        6: any(was[edge] != now[edge] for edge in now),
        7: any(
            len(graph.parents[name]) > 1 and 0 < len(touched & set(graph.parents[name])) < 2
            for name in below
        ),
    }
    return tuple(mode for mode, holds in modes.items() if holds)


def _changes_what_stays(setting: Setting, rng: np.random.Generator) -> list[KnownAnswer]:
    """Return edits that change what is not downstream: a cause, to fit; then something else."""
    case, template = setting.case, setting.template
    above = template.stated_graph.ancestors([case.variable])
    confounded = {n for group in template.confounded if case.variable in group for n in group}
    shuffled = [case.unchanged[i] for i in rng.permutation(len(case.unchanged))]
    ranked = sorted(shuffled, key=lambda n: (n not in above, n not in confounded))
    found = []
    for name in ranked[:2]:
        other = next(v for v in template.stated[name].values if v != case.facts[name])
        changed = _fact(template, name, other, rng)
        text = realize(
            template,
            setting.words,
            {**setting.after, name: changed},
            setting.style,
            cut=setting.cut,
        )
        what = (
            "a cause of what was edited, to fit the edit"
            if name in above
            else "what only goes along with what was edited"
            if name in confounded
            else "a fact that the edit does not touch"
        )
        found.append(
            KnownAnswer(text=text, why=f"It changes {what}: {setting.clause(name)}.", fails="E1")
        )
    return found


def _leaves_what_changes(setting: Setting, rng: np.random.Generator) -> KnownAnswer:
    """Return an edit that leaves an effect of the change as it was, or makes no change at all."""
    case = setting.case
    effects = [name for name in case.changed if name != case.variable]
    name = effects[int(rng.integers(len(effects)))] if effects else case.variable
    assertions = {**setting.after, name: setting.before[name]}
    text = realize(setting.template, setting.words, assertions, setting.style, cut=setting.cut)
    what = "an effect of the edit" if effects else "the very fact that was to be edited"
    return KnownAnswer(
        text=text, why=f"It leaves {what} as it was: {setting.clause(name)}.", fails="E2"
    )


def _wrong_connector(setting: Setting, rng: np.random.Generator) -> KnownAnswer:
    """Return an edit with one wrong connector: the one of the story, where that had to change."""
    template = setting.template
    was, now = (
        {edge: so for edge, so in stated_edges(template, a).items() if edge[1] not in setting.cut}
        for a in (setting.before, setting.after)
    )
    kept = [edge for edge in now if now[edge] != was[edge]]
    touched = [edge for edge in now if not set(edge).isdisjoint(setting.case.changed)]
    edges = kept or touched or list(now)
    edge = edges[int(rng.integers(len(edges)))]
    text = realize(
        template,
        setting.words,
        setting.after,
        setting.style,
        joined={edge: not now[edge]},
        cut=setting.cut,
    )
    why = (
        "It leaves a connector as it was, which no longer tells the relation"
        if kept
        else "It joins a cause and an effect by a connector that tells the opposite relation"
    )
    cause, effect = (
        template.stated[name].realized(setting.after[name], setting.words) for name in edge
    )
    return KnownAnswer(text=text, why=f"{why}: {cause} / {effect}.", fails="E3")


def _wrong_direction(setting: Setting, rng: np.random.Generator) -> KnownAnswer:
    """Return an edit in which a quantity moves the wrong way."""
    case, template = setting.case, setting.template
    names = list(case.moved)
    name = names[int(rng.integers(len(names)))]
    before, variable = setting.before[name], template.stated[name]
    moved = Asserted(before.value, beyond=True)
    if before.number is not None:
        range_, step = variable.numbers[before.value], variable.numbers[before.value].step
        low, high = (
            (before.number + step, range_.most)
            if case.moved[name] == "down"
            else (range_.least, before.number - step)
        )
        moved = Asserted(before.value, _step(low, high, step, rng))
    assertions = {**setting.after, name: moved}
    text = realize(template, setting.words, assertions, setting.style, cut=setting.cut)
    what = (variable.what or "").format_map(setting.words)
    went = "up, not down" if case.moved[name] == "down" else "down, not up"
    return KnownAnswer(text=text, why=f"In it, {what} goes {went}.", fails="E4")


def _contradicts_latent(setting: Setting, rng: np.random.Generator) -> KnownAnswer:
    """Return an edit that adds the contrary of a fact which the story implies."""
    latents = setting.case.latents
    name = list(latents)[int(rng.integers(len(latents)))]
    contrary = _latent(setting, name, "no" if latents[name] == "yes" else "yes")
    text = realize(setting.template, setting.words, setting.after, setting.style, cut=setting.cut)
    added = sentence(contrary)
    text = f"{added} {text}" if rng.integers(2) else f"{text} {added}"
    implied = _latent(setting, name, latents[name])
    return KnownAnswer(
        text=text, why=f"It contradicts what the story implies: {implied}.", fails="E5"
    )


def _options(setting: Setting, rng: np.random.Generator) -> KnownAnswer:
    """Return two edits in one answer; where something is left open, they differ in it."""
    case, template = setting.case, setting.template
    texts = []
    for value in (0, 1):
        assertions = dict(setting.after)
        for name in case.open:
            levels = template.stated[name].values
            assertions[name] = _fact(template, name, levels[value], rng)
        for name in case.moved:
            assertions[name] = _fact(template, name, case.after[name], rng)
        style = setting.style if value == 0 else draw_style(template, rng)
        texts.append(realize(template, setting.words, assertions, style, cut=setting.cut))
    why = "It offers two versions, and both hold."
    if case.open:
        why = "It offers two versions, which differ in what the story leaves open."
    return KnownAnswer(text=f"Option 1: {texts[0]}\n\nOption 2: {texts[1]}", why=why)


def _fact(template: Template, name: str, value: str, rng: np.random.Generator) -> Asserted:
    """Return a value as a story asserts it: with a number, where it is stated in numbers.

    A number leaves room for one further out in its level: a wrong answer may need it.
    """
    numbers = template.stated[name].numbers.get(value)
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


def _latent(setting: Setting, name: str, value: str) -> str:
    return setting.template.latents[name].clauses[value].realized(setting.words)


def _one_of(texts: tuple[str, ...], rng: np.random.Generator) -> str:
    return texts[int(rng.integers(len(texts)))]
