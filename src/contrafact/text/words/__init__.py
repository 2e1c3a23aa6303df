"""The word lists of financial news."""
