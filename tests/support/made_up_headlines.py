"""A made-up study: three systems, one of them few-shot with five draws, and hostile text."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from contrafact.family.run_facts import ReportMeta, RunFacts

HOSTILE = (
    "Brackwater Mills <script>alert('news')</script> cuts its outlook </style></title>",
    "Halden \u202etekram eht sesir\u202c Foods {{ 7*7 }} {% raise %} &amp; <img src=x onerror=x()>",
    "Zero\u200bwidth\u2060 joiners\u00ad hide in Tarn Valley Rail's\x00 notes\x1b[31m",
    "50% of $profit_margin #1 & ~rest^ {of} \\textbf{Corvane Shipping} `code` | pipe *bold*",
    "شركة ميرا للشحن ترفع توقعاتها بعد ربع قوي",
)
CATEGORIES = (
    "Macroeconomic indicators",
    "Corporate strategy & operations",
    "Supply chain & logistics",
    "Banking & financial stability",
)
FIRMS = ("Halden Foods", "Corvane Shipping", "Tarn Valley Rail", "Brackwater Mills", "Ostrel Bank")
EVENTS = (
    "raises its full-year forecast after a strong quarter",
    "delays the opening of its second plant by a year",
    "agrees to sell its freight arm to a rival",
    "reports slower orders as customers run down stocks",
    "names a new finance chief amid a strategy review",
)
TAILS = {
    "risk": (
        ", and lenders tighten terms across the sector",
        ", prompting suppliers to cut output and shed staff",
        " while rivals warn that demand is falling further",
    ),
    "opportunity": (
        ", and lenders ease terms across the sector",
        ", prompting suppliers to add shifts and hire",
        " while rivals report that demand is picking up",
    ),
}
SYSTEMS = (
    ("northwind/large-2 · zero-shot", "northwind/large-2", "zero-shot", 0, 1, 0.62, 0.55, 0.02),
    ("northwind/large-2 · few-shot (4)", "northwind/large-2", "few-shot", 4, 5, 0.80, 0.45, 0.01),
    (
        "embedded/smollm2-135m · zero-shot",
        "embedded/smollm2-135m",
        "zero-shot",
        0,
        1,
        0.35,
        0.3,
        0.18,
    ),
)
JUDGE = "lakeside/judge-1"
REASONS = ("no opportunity was written", "not JSON: <b>{oops}</b>", "longer than 2,000 characters")


def _text(headline: str, side: str, rng: np.random.Generator) -> str:
    words = headline.split(" ")
    if rng.random() < 0.4 and len(words) > 4:
        words[3] = "unexpectedly " + words[3]
    return " ".join(words) + TAILS[side][rng.integers(3)]


def make_items(
    seed: int = 7,
    *,
    headlines: int = 64,
    judged: bool = True,
    scored: bool = True,
    systems: tuple[tuple[str, str, str, int, int, float, float, float], ...] = SYSTEMS,
) -> pd.DataFrame:
    """Return an items frame with invalid rows, unread verdicts, gaps and hostile text."""
    rng = np.random.default_rng(seed)
    news = [
        HOSTILE[i] if i < len(HOSTILE) else f"{FIRMS[i % 5]} {EVENTS[(i // 5) % 5]} ({i})"
        for i in range(headlines)
    ]
    ease = rng.normal(0, 0.12, headlines)
    surprise = np.exp(rng.normal(5.1, 0.5, headlines))
    rows: list[dict[str, object]] = []
    for label, model, method, shots, draws, compatible, direction, bad in systems:
        for draw in range(1, draws + 1):
            for i, headline in enumerate(news):
                for side in ("risk", "opportunity"):
                    lean = 0.1 if side == "risk" else -0.1
                    invalid = REASONS[rng.integers(3)] if rng.random() < bad else None
                    verdicts: dict[str, object] = {}
                    for name, rate in (
                        ("forward_compatibility", compatible - lean),
                        ("directionality", direction + lean),
                    ):
                        passed = float(rng.random() < np.clip(rate + ease[i], 0.02, 0.98))
                        unread = "tie" if rng.random() < 0.02 else None
                        shown = judged and invalid is None
                        verdicts[name] = passed if shown and unread is None else np.nan
                        verdicts[f"{name}_invalid"] = unread if shown else None
                    ok = invalid is None
                    rows.append(
                        {
                            "system": label,
                            "model": model,
                            "method": method,
                            "shots": shots,
                            "judge": JUDGE if judged else None,
                            "draw": draw,
                            "sample_id": f"h{i:04d}",
                            "side": side,
                            "headline": headline,
                            "category": CATEGORIES[min(3, i % 7)] if i % 11 else None,
                            "text": _text(headline, side, rng) if ok else None,
                            "invalid_reason": invalid,
                            "repairs": int(rng.random() < 0.1),
                            **verdicts,
                            "perplexity": surprise[i] * np.exp(rng.normal(0.2 - shots / 10, 0.3))
                            if ok and scored and rng.random() > 0.01
                            else np.nan,
                            "headline_perplexity": surprise[i] if scored else np.nan,
                            "edit_distance": rng.random() if ok else np.nan,
                            "similar_semantics": bool(rng.random() < 0.1) if ok else None,
                            "fantastical_edit": bool(rng.random() < 0.2) if ok else None,
                            "fluency_lapse": bool(rng.random() < 0.05) if ok else None,
                            "numeric_prediction": None,
                        }
                    )
    return pd.DataFrame(rows)


def make_panel(items: pd.DataFrame, seed: int = 3) -> pd.DataFrame:
    """Return the verdicts of three judges who mostly agree."""
    rng = np.random.default_rng(seed)
    parts: list[pd.DataFrame] = []
    for criterion in ("forward_compatibility", "directionality"):
        held = items[items[criterion].notna()]
        base = held[["system", "draw", "sample_id", "side"]].assign(criterion=criterion)
        for judge in ("lakeside/judge-1", "lakeside/judge-2", "moor/judge"):
            flips = rng.random(len(held)) < 0.12
            passed = np.where(flips, 1 - held[criterion], held[criterion])
            passed = np.where(rng.random(len(held)) < 0.01, np.nan, passed)
            parts.append(base.assign(judge=judge, passed=passed, invalid=None))
    return pd.concat(parts, ignore_index=True)


def make_meta(**changes: object) -> ReportMeta:
    """Return facts of one made-up run."""
    run: dict[str, object] = {
        "name": "2026-11-20-northwind",
        "systems": tuple(label for label, *_ in SYSTEMS),
        "models": ("northwind/large-2", "embedded/smollm2-135m"),
        "methods": ("zero-shot", "few-shot"),
        "shots": 4,
        "draws": 5,
        "judges": (JUDGE,),
        "fluency_model": "embedded/smollm2-135m",
        "settings": {"temperature": 0.0, "max_tokens": 256, "top_p": None},
        "prompt_pack": "default",
        "prompt_pack_hash": "9f2c" * 16,
        "templates": {"finforce/generate": "41b8a0c3" * 8},
        "data": "samples",
        "data_hash": "a1b2" * 16,
        "data_count": 64,
        "versions": {"contrafact": "0.1.0", "inspect-ai": "0.3.285"},
        "seed": 11,
        "started": "2026-11-20T10:00:00Z",
        "finished": "2026-11-20T10:09:30Z",
        "calls": 2048,
        "input_tokens": 812_345,
        "output_tokens": 45_678,
        "notes": ("The headlines are about companies that do not exist.",),
    }
    report = {
        name: changes.pop(name) for name in list(changes) if name not in RunFacts.model_fields
    }
    run |= changes
    report.setdefault("created", "2026-11-20T10:10:00Z")
    return ReportMeta(runs=(RunFacts(**run),), **report)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Study:
    """What the tests build reports from."""

    make_items = staticmethod(make_items)
    make_panel = staticmethod(make_panel)
    make_meta = staticmethod(make_meta)
    systems = SYSTEMS
    hostile = HOSTILE
    judge = JUDGE


@pytest.fixture(scope="session")
def study() -> Study:
    return Study()
