"""How long a rewrite may be beside its original: token-length bands (RFC-BENCH, section 2.2.2)."""

from types import MappingProxyType

from contrafact.records import Manipulation

__all__ = ["LENGTH_BANDS"]

LENGTH_BANDS: MappingProxyType[Manipulation, tuple[float, float]] = MappingProxyType(
    {
        "flipping": (0.90, 1.15),
        "numerical": (0.85, 1.25),
        "sentiment": (0.90, 1.30),
        "causal": (0.90, 1.30),
    }
)
"""The lowest and the highest ratio of tokens, rewrite to original, both allowed."""
