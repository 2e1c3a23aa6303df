"""The families that ship: each is a folder and one object, found by its entry point."""
