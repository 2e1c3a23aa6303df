"""What works through rows: a stage is described once, and run by one runner."""
