"""GGUF files of models that are no larger than a test needs; their tokens are bytes."""

from pathlib import Path

import gguf
import numpy as np

__all__ = ["save_chance_model"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def save_chance_model(path: Path, *, context: int = 8192) -> Path:
    """Write a model that writes short words by chance, each letter after the one before it.

    It is asked as the embedded model is, runs in llama.cpp, and costs a thousandth of it. What it
    writes has a space after some three letters and ends after some twenty; held to a schema, it
    fills it. At temperature 0 it writes one word. It never looks back further than a token: its
    embedding is one position for each token, its only layer adds nothing, and its output has for
    each token what may follow it.
    """
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    alphabet = bytes_to_unicode()
    tokens = ["<|start|>", "<|end|>", *alphabet.values()]
    number = {byte: 2 + place for place, byte in enumerate(alphabet)}
    width, heads, inner = 320, 5, 64
    follows = np.full((len(tokens), len(tokens)), -6.0, np.float32)  # rows: now; columns: next
    letters = [number[ord(letter)] for letter in _LETTERS]
    space, quote, end = number[ord(" ")], number[ord('"')], 1
    follows[:, letters] = 0.0
    for before, after in zip(letters, letters[1:] + letters[:1], strict=True):
        follows[before, after] = 0.5
        follows[before, space] = 2.3
    follows[letters, quote] = follows[letters, end] = 0.3
    follows[letters[-1], [quote, end]] = 9.0
    scale = np.sqrt(width)  # of a token's only position, after the norm

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_block_count(1)
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
    writer.add_eos_token_id(end)

    def add(name: str, values: np.ndarray) -> None:
        writer.add_tensor(f"{name}.weight", np.ascontiguousarray(values, np.float32))

    eye = np.eye(len(tokens), width)
    add("token_embd", eye)
    add("output_norm", np.ones(width))
    add("output", follows.T @ eye / scale)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(f"blk.0.{part}", np.zeros((width, width)))
    for part in ("attn_norm", "ffn_norm"):
        add(f"blk.0.{part}", np.ones(width))
    add("blk.0.ffn_gate", np.zeros((inner, width)))
    add("blk.0.ffn_up", np.zeros((inner, width)))
    add("blk.0.ffn_down", np.zeros((width, inner)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
