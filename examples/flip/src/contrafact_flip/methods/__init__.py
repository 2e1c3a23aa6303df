"""Ways of flipping a review's label, one module each."""

from contrafact.family.method import Methods

__all__ = ["METHODS"]

METHODS = Methods("flip", __name__, baselines="contrafact_flip.baselines")
