"""Compare results of environments."""

import numpy as np


def is_equal(one, other):
    """Return whether two nested results are equal. Lists, tuples and arrays count as the same, and so does NaN."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            is_equal(one[key], other[key]) for key in one
        )
    is_array_of_objects = isinstance(one, np.ndarray) and one.dtype == object
    if isinstance(one, tuple | list) or is_array_of_objects:
        return len(one) == len(other) and all(map(is_equal, one, other))
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")
