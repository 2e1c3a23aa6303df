"""What ``signals.toml`` holds, read once: how directional terms assert a direction."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["SignalData", "signal_data"]


@dataclass(frozen=True)
class SignalData:
    """Words and patterns that decide what a directional term asserts; see ``signals.toml``."""

    ignored: frozenset[str]
    soft: frozenset[str]
    firm: frozenset[str]
    states: frozenset[str]
    burdens: frozenset[str]
    state_signs: dict[str, int]
    scalers: dict[str, int]
    negators: frozenset[str]
    negations: re.Pattern[str]
    senses: re.Pattern[str]
    verdicts: tuple[tuple[int, re.Pattern[str]], ...]


@cache
def signal_data() -> SignalData:
    """Return the words and patterns, read once."""
    source = files("contrafact.families.rfc.contracts") / "signals.toml"
    raw: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
    scalers = dict.fromkeys(raw["scalers"]["more"].split(), 1)
    scalers |= dict.fromkeys(raw["scalers"]["less"].split(), -1)
    return SignalData(
        ignored=_terms(raw["ignored"]),
        soft=_terms(raw["soft"]),
        firm=_terms(raw["firm"]),
        states=frozenset(raw["states"].split()),
        burdens=frozenset(raw["burdens"].split()),
        state_signs=raw["state_signs"],
        scalers=scalers,
        negators=frozenset(raw["negators"]["words"].split()),
        negations=re.compile(rf"\b(?:{'|'.join(raw['negators']['phrases'])})\b", re.IGNORECASE),
        senses=re.compile(rf"\b(?:{'|'.join(raw['senses']['phrases'])})", re.IGNORECASE),
        verdicts=tuple(
            (sign, re.compile(rf"\b(?:{'|'.join(raw['verdicts'][name])})\b", re.IGNORECASE))
            for name, sign in (("good", 1), ("bad", -1))
        ),
    )


def _terms(words: str) -> frozenset[str]:
    """Return terms written with a low line for each space."""
    return frozenset(word.replace("_", " ") for word in words.split())
