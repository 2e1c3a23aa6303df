"""Judges: their prompts, the reading of their replies, panels and verifiers."""
