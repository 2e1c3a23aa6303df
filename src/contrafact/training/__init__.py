"""Self-rewarding training: a model learns from preferences among its own counterfactuals.

FIN-FORCE, sections 4 and 5.3 and appendix B.2, after Yuan et al. (2024).
"""
