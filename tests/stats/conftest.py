"""Hypothesis without deadlines here: a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
