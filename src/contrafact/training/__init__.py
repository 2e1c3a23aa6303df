"""Self-rewarding training: a model learns from preferences among its own answers.

After Yuan et al. (2024), for any family that says what training needs of it
(`contrafact.family.training`).
"""
