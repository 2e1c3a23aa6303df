"""Generation methods, one file each (FIN-FORCE, section 4, B.2).

How to add one: `contrafact.family.method`.
"""

from contrafact.family.method import Methods

METHODS = Methods("finforce", __name__)
