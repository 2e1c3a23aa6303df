"""A criterion, a verdict, a panel of judges."""
