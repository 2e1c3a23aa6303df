"""Where reviews are kept: a database of events, and the present state that follows from them."""
