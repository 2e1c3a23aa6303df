"""Methods that ask no model, one module each (RFC-BENCH, section 3.4)."""
