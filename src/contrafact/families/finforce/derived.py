"""The arithmetic between the columns of FIN-FORCE's tables (sections 3.5, 4 and B.4).

One definition each, on numbers, columns and arrays of bootstrap replicates alike: the report's
tables and the check of the published rows call the same four functions.
"""

from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["average", "change", "delta_perplexity", "overall"]

Figure = TypeVar("Figure", float, "pd.Series[float]", NDArray[np.float64])


def delta_perplexity(perplexity: Figure, headline_perplexity: Figure) -> Figure:
    """Return Δ perplexity: the mean over counterfactuals minus the mean over headlines.

    Negative is better: the counterfactuals read more fluently than the news (section 3.5).
    """
    return perplexity - headline_perplexity


def average(forward_compatibility: Figure, directionality: Figure) -> Figure:
    """Return FwdCompat-Dir Avg., the mean of the two judged scores (section 5)."""
    return (forward_compatibility + directionality) / 2


def overall(risk: Figure, opportunity: Figure) -> Figure:
    """Return the overall figure, the mean of the two sides' figures (appendix B.4)."""
    return (risk + opportunity) / 2


def change(figure: Figure, reference: Figure) -> Figure:
    """Return ``figure`` minus ``reference``, as few-shot minus zero-shot in figure 3."""
    return figure - reference
