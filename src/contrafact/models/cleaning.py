"""What text must lose before a model can read it: NUL bytes and lone surrogates."""

from typing import Any

__all__ = ["clean_text", "clean_value"]


def clean_text(text: str) -> str:
    """Return the text without NUL characters, its lone surrogates replaced by U+FFFD.

    Neither is text to a tokenizer: C libraries may end a string at NUL, and a lone surrogate
    has no UTF-8 form. Two surrogates that make a pair become the character they stand for.
    Everything else stays, byte for byte.
    """
    text = text.replace("\x00", "")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_value(value: Any) -> Any:
    """Return a JSON-like value with every string in it cleaned, keys included."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_value(key): clean_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    return value
