"""Self-rewarding training: a model learns from preferences among its own answers.

After Yuan et al. (2024), for any family with a training spec (`contrafact.family.training`).
"""
