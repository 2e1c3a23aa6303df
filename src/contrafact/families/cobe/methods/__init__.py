"""Ways of asking for a counterfactual edit, one module each (CoBe, section 4.2)."""

from contrafact.family.method import Methods

__all__ = ["METHODS"]

METHODS = Methods("cobe", __name__)
