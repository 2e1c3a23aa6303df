"""Stories that a language model writes to drawn structures, and that others read back."""
