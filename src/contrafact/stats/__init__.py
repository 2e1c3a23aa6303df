"""Functions on numbers, which know of no models or texts.

Arguments of one name mean one thing throughout: ``clusters`` is one label per value (item,
outcome), or None where each stands for itself; ``level`` the confidence level of an interval;
``resamples`` how often clusters are drawn; ``rng`` where randomness comes from, and the order of
rows does not change a seeded result; ``gold`` and ``labels`` are the gold labels and the label
space; ``weights`` one positive number per item, of any scale, None for equal ones.
"""
