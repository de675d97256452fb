"""How sure one may be: intervals, and the off-policy estimators of `pushlab.metrics.offpolicy`."""

from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A mean and the ends of its interval."""

    mean: float
    low: float
    high: float

    def __str__(self):
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


def mean_interval(values, level=0.95):
    """Mean and Student's t interval of independent values, an Interval of floats.

    values  array (runs,), at least two runs; one run says nothing about its own spread
    level   coverage, between 0 and 1

    Source  Student (1908), The probable error of a mean, Biometrika 6(1), 1-25.

    >>> mean_interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484, high=4.484)
    """
    values = np.asarray(values, float)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise ValueError(f"an interval needs at least 2 finite values in one dimension; got {values!r:.60}")
    mean, half = float(values.mean()), float(half_width(values.std(ddof=1), len(values), level))
    return Interval(mean, mean - half, mean + half)


def half_width(deviation, count, level=0.95):
    """Half the width of Student's t interval, for arrays of standard deviations (ddof 1) and numbers of values."""
    from scipy.stats import t

    _demand_level(level)
    return t.ppf((1 + level) / 2, np.maximum(np.asarray(count) - 1, 1)) * deviation / np.sqrt(count)


def _demand_level(level):
    if not 0 < level < 1:
        raise ValueError(f"level lies between 0 and 1; got {level}")


def share_interval(successes, trials, level=0.95):
    """A share and its Wilson interval, an Interval of floats (or of arrays for arrays, which NumPy broadcasts).

    Source  Wilson (1927), Probable inference, the law of succession, J. Am. Stat. Assoc. 22, 209-212.

    >>> share = share_interval(5, 10)
    >>> round(share.mean, 3), round(share.low, 3), round(share.high, 3)
    (0.5, 0.237, 0.763)
    """
    from scipy.stats import norm

    _demand_level(level)
    successes, trials = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    if not ((trials >= 1) & (successes >= 0) & (successes <= trials)).all():
        raise ValueError("a share needs at least one trial, and from 0 to as many successes")
    z, share = norm.ppf((1 + level) / 2), successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    ends = (share, centre - half, centre + half)
    return Interval(*(float(end) for end in ends) if np.ndim(successes) == 0 else ends)


def paired_interval(ours, theirs, level=0.95):
    """Interval of the mean difference of runs paired by seed: the same users, the same contexts, another agent.

    >>> paired_interval([2.0, 3.0, 4.0], [1.0, 2.5, 3.0]).mean.__round__(3)
    0.833
    """
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    if ours.shape != theirs.shape:
        raise ValueError(f"paired runs are as many on both sides; got {ours.shape} and {theirs.shape}")
    return mean_interval(ours - theirs, level)


_OFF_POLICY = ("Estimate", "cross_fitted_values", "direct_method", "doubly_robust", "effective_sample_size",
               "episodes_of", "importance_sampling", "naive", "off_policy", "on_policy_value",
               "per_decision", "self_normalised")


def __getattr__(name):
    """The off-policy estimators, which need the intervals above and are therefore loaded when they are asked for."""
    if name in _OFF_POLICY:
        from pushlab.metrics import offpolicy

        return getattr(offpolicy, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_OFF_POLICY])
