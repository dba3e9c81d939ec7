"""Count how often something happened out of how often it could have, with a confidence interval.

The interval is Wilson's score interval (E. B. Wilson, "Probable inference, the law of succession, and statistical
inference", Journal of the American Statistical Association 22, 1927). It stays within 0 and 1, and is meaningful even
for a share of 0 or 1. Its level is 95 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

LEVEL = 0.95


@dataclass
class Rate:
    """`count` out of `of`. Both are 0 if nothing could be counted."""

    count: int = 0
    of: int = 0

    def add(self, happened: bool | None) -> None:
        """Count one more. None means that it could not have happened, so it does not count."""
        if happened is not None:
            self.of += 1
            self.count += happened

    @property
    def share(self) -> float | None:
        """The share between 0 and 1, or None if nothing could be counted."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval, or None if nothing could be counted."""
        return wilson(self.count, self.of) if self.of else None

    def to_dict(self) -> dict[str, Any]:
        interval = None if self.interval is None else list(self.interval)
        return {"count": self.count, "of": self.of, "share": self.share, "interval": interval}


def wilson(count: int, of: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the bounds of Wilson's score interval without continuity correction. `of` must be at least 1."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, square = count / of, z * z / of
    middle = share + square / 2
    half = z * math.sqrt(share * (1 - share) / of + square / (4 * of))
    low, high = ((middle + side) / (1 + square) for side in (-half, half))
    return (0.0 if count == 0 else low), (1.0 if count == of else high)
