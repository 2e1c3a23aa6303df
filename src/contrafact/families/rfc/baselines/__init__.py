"""Baselines that need no language model (RFC-BENCH, section 3.4), one module each."""
