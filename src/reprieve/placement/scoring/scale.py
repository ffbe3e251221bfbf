"""Scales raw scores to the range 0 to 100."""

import numpy as np

from reprieve.model.columns import Ints, Mask

HIGHEST = 100


def to_highest(raw: Ints, feasible: Mask, *, reverse: bool = False) -> Ints:
    """In proportion to the largest feasible score; with ``reverse``, less is better."""
    largest = int(raw[feasible].max(initial=0))
    if largest == 0:
        return np.full(len(raw), HIGHEST if reverse else 0, np.int64)
    scaled = raw * HIGHEST // largest
    return HIGHEST - scaled if reverse else scaled
