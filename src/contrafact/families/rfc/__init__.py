"""RFC-BENCH: minimal financial misinformation, built, proven, detected and diagnosed."""
