"""Studies with people: a sheet out, figures in; and how far raters agree."""
