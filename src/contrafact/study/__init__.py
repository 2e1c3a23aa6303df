"""Studies with people: drawing sheets, scoring them, and measuring agreement of raters."""
