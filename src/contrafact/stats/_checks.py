"""What the statistics refuse, in one place."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["check_settings", "finite_values"]


def check_settings(level: float, resamples: int) -> None:
    """Raise ValueError unless ``level`` lies between 0 and 1 and ``resamples`` is at least 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, not {resamples}")


def finite_values(values: ArrayLike, name: str = "values") -> NDArray[np.float64]:
    """Return ``values`` as a float array; ValueError unless one-dimensional and all finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} hold NaN or infinity: drop or mend them first, and count them")
    return array
