"""Sampling from a language model with the noise as an argument: draw it, infer it, generate.

After Ravfogel et al. (2024), as FIN-FORCE (section 4 and B.2) uses it: a text is what a model
makes of noise, so that under another prompt, or another model, the same noise gives the text
that would have been written instead.
"""

from contrafact.models.whitebox.noise.counterfactual import CounterfactualText, counterfactual_texts
from contrafact.models.whitebox.noise.decoding import Continuation, generate, infer
from contrafact.models.whitebox.noise.gumbel import DrawnNoise, Noise, draw
from contrafact.models.whitebox.noise.hindsight import HindsightNoise
from contrafact.models.whitebox.noise.sampling import CLOSE, Sampling
from contrafact.models.whitebox.noise.tokens import (
    continuation_text,
    end_tokens,
    prompt_tokens,
    text_tokens,
)
from contrafact.models.whitebox.noise.writing import PromptTooLong, Writer, Written, shared_writer

__all__ = [
    "CLOSE",
    "Continuation",
    "CounterfactualText",
    "DrawnNoise",
    "HindsightNoise",
    "Noise",
    "PromptTooLong",
    "Sampling",
    "Writer",
    "Written",
    "continuation_text",
    "counterfactual_texts",
    "draw",
    "end_tokens",
    "generate",
    "infer",
    "prompt_tokens",
    "shared_writer",
    "text_tokens",
]
