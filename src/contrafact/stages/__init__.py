"""Stages: commands that work through rows, and the runner that runs them."""
