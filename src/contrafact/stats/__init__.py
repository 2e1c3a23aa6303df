"""Statistics on numbers, without models or texts.

Arguments of the same name have the same meaning throughout: ``clusters`` is one label per value
(item, outcome), or None if each is its own cluster; ``level`` the confidence level of an interval;
``resamples`` the number of resamples; ``rng`` the random generator, under which the order of rows
does not change a seeded result; ``gold`` and ``labels`` are the gold labels and the label space;
``weights`` one positive number per item, on any scale, None for equal weights.
"""
