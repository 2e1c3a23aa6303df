"""Sampling from a language model with the noise as an argument: draw it, infer it, generate.

After Ravfogel et al. (2024), as FIN-FORCE (section 4 and B.2) uses it: a text is what a model
makes of noise, so that under another prompt, or another model, the same noise gives the text
that would have been written instead.
"""

from contrafact.models.whitebox.noise.decoding import (
    Continuation,
    CounterfactualText,
    continuation_text,
    conversation_tokens,
    counterfactual_texts,
    end_tokens,
    generate,
    infer,
    prompt_tokens,
    text_tokens,
)
from contrafact.models.whitebox.noise.gumbel import (
    CLOSE,
    DrawnNoise,
    HindsightNoise,
    Noise,
    Sampling,
    check_finite,
    choose,
    device_noise,
    draw,
)
from contrafact.models.whitebox.noise.writing import ContextExceeded, Writer, Written, shared_writer

__all__ = [
    "CLOSE",
    "ContextExceeded",
    "Continuation",
    "CounterfactualText",
    "DrawnNoise",
    "HindsightNoise",
    "Noise",
    "Sampling",
    "Writer",
    "Written",
    "check_finite",
    "choose",
    "continuation_text",
    "conversation_tokens",
    "counterfactual_texts",
    "device_noise",
    "draw",
    "end_tokens",
    "generate",
    "infer",
    "prompt_tokens",
    "shared_writer",
    "text_tokens",
]
