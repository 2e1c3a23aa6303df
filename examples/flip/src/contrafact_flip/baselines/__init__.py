"""Systems that ask no model."""
