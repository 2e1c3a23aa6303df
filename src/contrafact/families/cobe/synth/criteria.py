"""The criteria of a story as texts (CoBe, section 3.2), and its failure modes (appendix B.1)."""

from collections.abc import Mapping

from contrafact.families.cobe.synth.answers import Setting
from contrafact.families.cobe.synth.cases import Case
from contrafact.families.cobe.synth.telling import Tie, sentence, ties_told
from contrafact.families.cobe.synth.template import Asserted

__all__ = ["changed", "failure_modes", "latent", "numerical", "unchanged"]


def unchanged(setting: Setting) -> str:
    """Return E1: what is told and must stay. A latent fact is never among it."""
    return _quoted(setting, setting.case.unchanged)


def changed(setting: Setting) -> str:
    """Return E2: the fact that is set, and what must change with it."""
    return _quoted(setting, setting.case.changed)


def numerical(setting: Setting) -> str | None:
    """Return E4: which way quantities move; none if none does."""
    said = []
    for name, way in setting.case.moved.items():
        what = (setting.template.told[name].what or "").format_map(setting.words)
        said.append(sentence(f"{what} is {'higher' if way == 'up' else 'lower'} than it was"))
    return " ".join(said) or None


def latent(setting: Setting) -> str | None:
    """Return E5: what the story implies and never says; none if there is nothing."""
    latents = setting.template.latents
    said = [
        sentence(latents[name].clauses[value].said(setting.words))
        for name, value in setting.case.latents.items()
    ]
    return " ".join(said) or None


def failure_modes(
    case: Case, before: Mapping[str, Asserted], after: Mapping[str, Asserted]
) -> tuple[int, ...]:
    """Return the failure modes of appendix B.1 that a story probes.

    1: the edit goes against a cause that stays, or something downstream stays nevertheless.
    2: something only goes along with what is set. 3: something changes downstream. 4: a law of
    nature stands behind it. 5: something untold is implied. 6: a connector has to change. 7: an
    effect has two causes, of which one is touched.
    """
    template, ties = case.template, case.template.ties
    was, now = ties_told(template, before), ties_told(template, after)
    below = ties.descendants([case.variable])
    siblings = {n for g in template.confounded if case.variable in g for n in g}
    siblings |= {n for cause in ties.parents[case.variable] for n in ties.children[cause]}
    touched = {*case.changed, *case.moved}
    modes = {
        1: any(not now[tie] for tie in now if tie[1] == case.variable)
        or any(name in below for name in case.unchanged),
        2: bool((siblings - {case.variable}) & set(case.unchanged)),
        3: len(touched) > 1,
        4: template.science,
        5: bool(case.latents),
        6: _flips(was, now),
        7: any(
            len(ties.parents[name]) > 1 and 0 < len(touched & set(ties.parents[name])) < 2
            for name in below
        ),
    }
    return tuple(mode for mode, holds in modes.items() if holds)


def _flips(was: Mapping[Tie, bool], now: Mapping[Tie, bool]) -> bool:
    return any(was[tie] != now[tie] for tie in now)


def _quoted(setting: Setting, names: tuple[str, ...]) -> str:
    order = [name for name in setting.manner.order if name in names]
    return " ".join(sentence(setting.clause(name)) for name in order)
