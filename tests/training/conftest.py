"""A small world: a model of a few thousand sentences, prompts of one line, and its config."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from tests.support.small_models import word_model

NAMES = ["Tern & Vale", "Osk Mills", "Brant Air", "Dunmar", "Velmora", "Pell Foods", "Lorne Steel"]
NAMES += ["Ashby Rail", "Corvin", "Marl Oil", "Kestrel Bank", "Quay Docks"]
VERBS = ["raises", "cuts", "halts", "opens", "sells", "delays", "doubles", "reviews"]
THINGS = ["its dividend", "grain exports", "a new plant", "bond sales", "ferry fares"]
THINGS += ["copper output", "its loan book", "hiring plans", "a pipeline"]
BAD = [
    "as shares plunge",
    "and losses mount",
    "as demand slumps",
    "as costs surge and profit falls",
]
GOOD = ["as shares rally", "and profit jumps", "as demand grows", "as sales rise and costs ease"]
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
PACK = {
    "finforce/generate": "Pair {% for shot in shots %}{% endfor %}: {{ headline }}",
    "finforce/lm-counterfactuals-base": "New: {{ headline }};",
    "finforce/training/headline": "New:{% for example in examples %} {{ example }};{% endfor %}",
    "finforce/training/judge-pair": "Rate {{ headline }} | {{ risk }} | {{ opportunity }}",
}


def headlines(count: int, seed: int = 0) -> list[str]:
    every = [" ".join(words) for words in itertools.product(NAMES, VERBS, THINGS)]
    return [every[int(place)] for place in np.random.default_rng(seed).permutation(len(every))][
        :count
    ]


def pair(headline: str, rng: np.random.Generator) -> dict[str, str]:
    return {
        "headline": headline,
        "risk_counterfactual": f"{headline} {BAD[rng.integers(len(BAD))]}",
        "opportunity_counterfactual": f"{headline} {GOOD[rng.integers(len(GOOD))]}",
    }


def rows(count: int, seed: int = 0) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    return [pair(headline, rng) for headline in headlines(count, seed)]


def write_rows(path: Path, made: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return path


def _conversations(seed: int) -> list[tuple[str, str]]:
    """What the small model has read: pairs, headlines and ratings, some of them bad."""
    rng = np.random.default_rng(seed)
    read = []
    for row in rows(700, seed=seed):
        answer = {"original_headline": row["headline"], **row}
        del answer["headline"]
        if rng.random() < 0.3:  # the sides are mixed up
            answer["risk_counterfactual"] = row["opportunity_counterfactual"]
        text = json.dumps(answer)
        if rng.random() < 0.15:
            text = text[:-2]
        read.append((f"Pair : {row['headline']}", text))
        read.append((f"New: {row['headline']};", headlines(1, int(rng.integers(10**6)))[0]))
        read.append((f"Rate {row['headline']} |", f"score: {rng.integers(2, 9)}"))
    return read


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pack")
    for name, text in PACK.items():
        path = folder / f"{name}.jinja"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder: two layers, taught for some seconds to answer in the form asked for."""
    import torch

    folder = tmp_path_factory.mktemp("small") / "model"
    read = _conversations(0)
    model, tokenizer = word_model(
        [*map(" ".join, read)], TEMPLATE, words=800, width=64, context=256
    )
    model.train()
    texts = [f"<|user|>{ask}<|assistant|>{answer}<|end|>" for ask, answer in read]
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    rng = np.random.default_rng(0)
    for _ in range(100):
        batch = [ids[int(place)] for place in rng.integers(len(ids), size=16)]
        width = max(map(len, batch))
        fed = torch.zeros((len(batch), width), dtype=torch.long)
        labels = torch.full((len(batch), width), -100)
        for row, own in enumerate(batch):
            fed[row, : len(own)] = labels[row, : len(own)] = torch.tensor(own)
        model(input_ids=fed, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def write_config(small_model: Path, pack: Path) -> Callable[..., Path]:
    """Write a config of a training that takes seconds; keys of its parts may be changed."""

    def write(folder: Path, **changes: Any) -> Path:
        made: dict[str, Any] = {
            "model": str(small_model),
            "data": str(write_rows(folder / "pairs.jsonl", rows(60, seed=5))),
            "prompts": str(pack),
            "held_out": 8,
            "iterations": 1,
            "fluency_model": None,
            "lora": {"r": 4},
            "warm_up": {
                "batch": 8,
                "effective_batch": 8,
                "learning_rate": 1e-3,
                "evaluate_every": 2,
            },
            "headlines": {"count": 10, "seed_examples": 2, "own_examples": 1, "max_tokens": 24},
            "candidates": {"per_headline": 4, "max_tokens": 80, "temperature": 1.0},
            "judge": {"by": "checks"},
            "preferences": {"min_pairs": 4},
            "dpo": {
                "batch": 2,
                "effective_batch": 2,
                "learning_rate": 3e-3,
                "evaluate_every": 2,
                "epochs": 2,
                "patience": 9,
            },
        }
        for key, value in changes.items():
            made[key] = {**made[key], **value} if isinstance(value, dict) else value
        path = folder / "small.yaml"
        path.write_text(yaml.safe_dump(made), encoding="utf-8")
        return path

    return write
