"""Training of verifiers: judges that learned verdicts which are known by construction."""
