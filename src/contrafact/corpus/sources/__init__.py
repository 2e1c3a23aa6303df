"""News sources, one file each: what they are asked, and how their answers are read."""
