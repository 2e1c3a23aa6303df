"""contrafact: generate, build, detect and judge counterfactual text, and say how well."""

__all__ = ["__version__"]

__version__ = "0.1.0"
