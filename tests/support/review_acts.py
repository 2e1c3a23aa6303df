"""Actions of a review on a state alone, without a database: what tests of the rules do."""

import numpy as np

from contrafact.review.assignment import assign
from contrafact.review.state import Change


def do(state, now, action, *arguments, rng=None, **options):
    """Let an action change a state, and return the events that it made."""
    change = Change(state, now, rng or np.random.default_rng(0))
    action(change, *arguments, **options)
    return change.events


def take_next(state, now, who, rng=None):
    """Give somebody the next item; return the assignment and the events."""
    change = Change(state, now, rng or np.random.default_rng(0))
    return assign(change, who), change.events
