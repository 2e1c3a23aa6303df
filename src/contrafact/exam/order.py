"""The same question in the other order: the texts to judge before what is asked of them."""

from collections.abc import Sequence

__all__ = ["other_order"]


def other_order(prompt: str, shown: Sequence[str]) -> str | None:
    """Return a prompt with the paragraph that holds the texts moved to its other end.

    Prompts here end with the texts, so that in the other order they come first; a line that asks
    for the answer after them stays last. It works on the rendered prompt, and so for any prompt
    pack.

    Args:
        prompt: The prompt.
        shown: The texts to judge, as they stand in it.

    Returns:
        The other prompt; none where the texts are not found, or nothing stands apart from them.
    """
    places = [(prompt.rfind(text), len(text)) for text in shown]
    if not places or any(start < 0 or not length for start, length in places):
        return None
    first = min(start for start, _ in places)
    last = max(start + length for start, length in places)
    start = prompt.rfind("\n\n", 0, first) + 2 if "\n\n" in prompt[:first] else 0
    end = prompt.find("\n", last)
    end = len(prompt) if end < 0 else end
    texts, before, after = prompt[start:end].strip(), prompt[:start].strip(), prompt[end:].strip()
    if before:
        return "\n\n".join(part for part in (texts, before, after) if part)
    return f"{after}\n\n{texts}" if after else None
