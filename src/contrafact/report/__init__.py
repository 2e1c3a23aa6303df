"""From items to tables, figures and one self-contained page."""
