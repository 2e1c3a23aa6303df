"""GGUF files of models that are no larger than a test needs; their tokens are bytes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np

__all__ = ["save_chance_model", "save_llama"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_USUAL = """You are given the headline of a piece of news. Write what could come next: one headline
in which things turn out worse, and one in which they turn out better. Both are short, can be true
after the one that is given, and say which way the market would go. Answer with an object, no more:
{"risk_counterfactual": "...", "opportunity_counterfactual": "..."} <news>Shares of a maker of ships
rise after its quarter</news>"""


def save_chance_model(path: Path, *, context: int = 8192) -> Path:
    """Write a model that writes short words by chance, each letter after the one before it.

    It is asked as the embedded model is, runs in llama.cpp, and costs a hundredth of it. What it
    writes has spaces and comes to an end, and another prompt makes it write something else; held to
    a schema, it fills it. Its embedding has a place for each token, and its output says what
    follows a token. Its only layer looks at all tokens alike, adds in other places how their shares
    differ from those of usual prompts, and the output takes that for a preference among letters.
    """
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    alphabet = bytes_to_unicode()
    tokens = ["<|start|>", "<|end|>", *alphabet.values()]
    number = {byte: 2 + place for place, byte in enumerate(alphabet)}
    width, heads, inner = 320, 5, 64
    spare = width - len(tokens)
    follows = np.full((len(tokens), len(tokens)), -6.0, np.float32)  # rows: now; columns: next
    letters = [number[ord(letter)] for letter in _LETTERS]
    space, quote, end = number[ord(" ")], number[ord('"')], 1
    follows[:, [number[byte] for byte in b'"{:,}[]']] = [-3, -2, -3, -3, -3, -3, -2]  # of objects
    follows[:, letters] = 0.0
    for before, after in zip(letters, letters[1:] + letters[:1], strict=True):
        follows[before, after] = 2.5
    follows[letters, space] = 2.0
    follows[letters, quote] = follows[letters, end] = 1.0
    follows[letters[-1], [quote, end]] = 9.0
    scale = np.sqrt(width)  # of a token's only place, after the norm

    rng = np.random.default_rng(7)
    shares = np.zeros(len(tokens))
    for byte in _USUAL.encode():
        shares[number[byte]] += 1 / len(_USUAL)
    summary = rng.normal(0, 1, (spare, len(tokens)))
    summary -= (summary @ shares)[:, None]
    preferences = np.zeros((len(tokens), spare))
    preferences[letters] = rng.normal(0, 1.5, (len(letters), spare))
    value, moved = np.zeros((2, width, width))
    value[:spare, : len(tokens)] = summary / scale
    moved[len(tokens) :, :spare] = np.eye(spare)

    made = {"token_embd": np.eye(len(tokens), width), "output_norm": np.ones(width)}
    made["output"] = np.hstack([follows.T, preferences]) / scale
    made |= {f"blk.0.{part}": np.zeros((width, width)) for part in ("attn_q", "attn_k")}
    made |= {"blk.0.attn_v": value, "blk.0.attn_output": moved}
    made |= {f"blk.0.{part}": np.ones(width) for part in ("attn_norm", "ffn_norm")}
    made |= {f"blk.0.{part}": np.zeros((inner, width)) for part in ("ffn_gate", "ffn_up")}
    made["blk.0.ffn_down"] = np.zeros((width, inner))
    return save_llama(path, tokens, made, context=context, heads=heads)


def save_llama(
    path: Path, tokens: Sequence[str], tensors: Mapping[str, Any], *, context: int, heads: int
) -> Path:
    """Write a Llama of some tokens, the first two those of start and end, and of these tensors."""
    width, layers = len(tensors["output_norm"]), sum("attn_q" in name for name in tensors)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(len(tensors["blk.0.ffn_up"]))
    writer.add_block_count(layers)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_rope_dimension_count(width // heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, *[1] * (len(tokens) - 2)])
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    for name, values in tensors.items():
        writer.add_tensor(f"{name}.weight", np.ascontiguousarray(values, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
