"""News sources, one file each: their requests, and the reading of their answers."""
