"""Prompt packs: loading, checking, rendering."""

from contrafact.prompts.pack import (
    PromptPack,
    PromptTemplate,
    default_templates,
    export_default_pack,
    open_pack,
)

__all__ = [
    "PromptPack",
    "PromptTemplate",
    "default_templates",
    "export_default_pack",
    "open_pack",
]
