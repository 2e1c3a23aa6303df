"""CoBe in a report: its figures, tables, drawings and examples."""
