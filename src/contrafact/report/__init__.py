"""Reports: tables, figures and one self-contained page, made from runs' items."""
