"""Metrics of chosen notifications, after the EvalUMAP challenges.

Notifications are arrays (rows, features) of codes or words, or a DataFrame of features.

Source: the EvalUMAP 2019 challenge, which scores the outcome of the chosen notification against the outcome of the
notification that was really sent; the EvalUMAP 2020 challenge (gym-push 0.0.21), which added diversity and enticement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pushlab.utils.arguments import require, validate_choice

# POINTS[actual][chosen]: outcomes of the actual and the chosen notification, 0 dismissed and 1 opened.
POINTS = np.array([[0.0, 2.0], [-1.0, 1.0]])


def points(actual: ArrayLike, opened: ArrayLike) -> np.ndarray:
    """Points of each chosen notification, float64 (rows,): +1, 0, +2 or -1.

    Args:
        actual: Whether the user opened the notification that was really sent, bool (rows,).
        opened: Whether the user opened the chosen notification, bool (rows,).

    >>> points([True, False, False, True], [True, False, True, False]).tolist()
    [1.0, 0.0, 2.0, -1.0]
    """
    actual = _as_bool(actual, "actual")
    opened = _as_bool(opened, "opened")
    require(
        actual.shape == opened.shape,
        f"actual and opened must have the same length; got {actual.shape} and {opened.shape}",
    )
    return POINTS[actual.astype(int), opened.astype(int)]


def performance(actual: ArrayLike, opened: ArrayLike) -> float:
    """Sum of the points over all notifications.

    >>> performance([True, False, False, True], [True, False, True, False])
    2.0
    """
    return float(points(actual, opened).sum())


def best_performance(actual: ArrayLike, probability: ArrayLike | None = None) -> float:
    """Performance of the best notifications, an expected value if they are opened with a probability.

    Args:
        actual: Whether the user opened the notification that was really sent, bool (rows,).
        probability: Probability that the best notification is opened in each context, (rows,). None: always opened.

    >>> best_performance([True, False])
    3.0
    >>> best_performance([True, False], probability=[0.5, 0.5])     # 0.5·1 - 0.5·1, and 0.5·2 + 0.5·0
    1.0
    """
    if probability is None:
        probability = np.ones(np.shape(actual))
    return float(expected_points(actual, probability).sum())


def expected_points(actual: ArrayLike, probability: ArrayLike) -> np.ndarray:
    """Expected points of notifications that are opened with these probabilities, float64 (rows,).

    >>> expected_points([True, False], [1.0, 0.25]).tolist()
    [1.0, 0.5]
    """
    actual = _as_bool(actual, "actual").astype(int)
    probability = _probabilities(probability, actual.shape)
    if_dismissed, if_opened = POINTS[actual].T
    return if_dismissed + probability * (if_opened - if_dismissed)


def regret(best: ArrayLike, probability: ArrayLike) -> float:
    """Mean loss in the probability of an open against the best notification.

    >>> regret([0.9, 0.8], [0.4, 0.8])
    0.25
    """
    best = _probabilities(best, np.shape(best))
    probability = _probabilities(probability, best.shape)
    return float((best - probability).mean())


def click_through_rate(opened: ArrayLike) -> float:
    """Fraction of notifications that were opened.

    >>> click_through_rate([True, False, False, True])
    0.5
    """
    opened = _as_bool(opened, "opened")
    require(len(opened), "click_through_rate needs at least one notification")
    return float(opened.mean())


# ---------------------------------------------------------------- diversity and plausibility


def coverage(
    accepted: Any,
    history: Any,
    reference: str | None = None,
) -> float:
    """Fraction of the history's distinct values that occur in the accepted notifications, from 0 to 1.

    Values are counted for each feature, and the counts are summed, as in the EvalUMAP 2020 challenge.

    Args:
        accepted: Notifications that were opened, (rows, features). Without any, the coverage is 0.
        history: Notifications of the history, (rows, features).
        reference: "gym-push-0.0.21" also counts values that are not in the history, so the result can exceed 1.
            gym-push counts all notifications that were sent, opened or not: pass all of them to reproduce it.

    Source:
        gym-push 0.0.21, `diversity_score`, there in per cent.

    >>> history = [["chat", "low"], ["mail", "low"], ["news", "high"]]      # 3 + 2 distinct values
    >>> coverage([["chat", "low"], ["mail", "low"]], history)               # 2 + 1
    0.6
    """
    accepted, history = _matching_rows(accepted, history, "accepted", "the history")
    validate_choice("reference", reference, (None, "gym-push-0.0.21"))
    n_covered = 0
    n_values = 0
    for column, history_column in _column_pairs(accepted, history):
        values = set(column)
        history_values = set(history_column)
        if reference is None:
            values &= history_values
        n_covered += len(values)
        n_values += len(history_values)
    return n_covered / n_values


def evenness(accepted: Any, history: Any) -> float:
    """Normalised entropy of the opened notifications over the values of each feature, from 0 to 1.

    For each feature: the Shannon entropy of its values among the accepted notifications, divided by the logarithm of
    the number of values in the history (or among the accepted, if that is larger). The result is the mean over
    features. Features that never vary are left out.

    Args:
        accepted, history: See `coverage`. The evenness of no notification, or of one repeated, is 0.

    Source:
        Shannon (1948), A mathematical theory of communication; Pielou (1966), whose evenness this is for each feature.

    >>> history = [["chat", "low"], ["mail", "low"], ["news", "low"], ["shop", "low"]]
    >>> evenness([["chat", "low"], ["mail", "low"]], history)               # log 2 over log 4
    0.5
    """
    from scipy.special import entr

    accepted, history = _matching_rows(accepted, history, "accepted", "the history")
    ratios = []
    for column, history_column in _column_pairs(accepted, history):
        n_values = max(len(set(column)), len(set(history_column)))
        if n_values > 1:
            shares = np.array([*Counter(column).values()]) / len(column)
            ratios.append(entr(shares).sum() / np.log(n_values))
    require(ratios, "evenness needs a history in which at least one feature varies")
    return float(np.mean(ratios)) if len(accepted) else 0.0


def plausibility(notifications: Any, combinations: Any) -> float:
    """Fraction of notifications whose combination of values exists.

    Args:
        notifications: The values of each notification, (rows, features), such as app, category and subject.
        combinations: The combinations that exist in a history or catalogue, (combinations, features).

    >>> existing = [["chat", "msg"], ["mail", "email"]]
    >>> plausibility([["chat", "msg"], ["chat", "email"]], existing)
    0.5
    """
    notifications, combinations = _matching_rows(
        notifications, combinations, "notifications", "combinations"
    )
    require(len(notifications), "plausibility needs at least one notification")
    existing = set(map(tuple, combinations.tolist()))
    exists = [tuple(row) in existing for row in notifications.tolist()]
    return float(np.mean(exists))


ENTICEMENT = {"low": 0.0, "moderate": 0.5, "high": 1.0}


def enticement(levels: Iterable[str]) -> float:
    """Mean enticement of the notifications, from 0 (all low) to 1 (all high).

    The EvalUMAP 2020 challenge sums 1, 2 or 3 points for each notification, and scales the sum between its smallest and
    its largest possible value. The result is the same.

    Args:
        levels: "low", "moderate" or "high" for each notification (rows,).

    Source:
        gym-push 0.0.21, `enticement_score`, there in per cent.

    >>> enticement(["low", "moderate", "high", "high"])                     # (9 - 4) / (12 - 4)
    0.625
    """
    values = []
    for level in levels:
        validate_choice("enticement", level, ENTICEMENT)
        values.append(ENTICEMENT[level])
    require(values, "enticement needs at least one notification")
    return float(np.mean(values))


# ---------------------------------------------------------------- time


class ResponseTime(NamedTuple):
    """Median and 95th percentile of the seconds that an agent took for a notification."""

    median: float
    p95: float


def response_time(seconds: ArrayLike) -> ResponseTime:
    """Return the median and 95th percentile of the seconds that an agent took for each notification.

    The percentile is one of the times: the smallest that at least 95 % of them do not exceed.

    >>> response_time([0.1, 0.3, 0.2, 4.0])
    ResponseTime(median=0.25, p95=4.0)
    """
    seconds = np.asarray(seconds, float)
    is_time = np.isfinite(seconds) & (seconds >= 0)
    if seconds.ndim != 1 or not len(seconds) or not is_time.all():
        raise ValueError(
            "seconds must be a list of finite numbers from 0, one for each notification; "
            f"got {seconds!r:.60}"
        )
    median = np.median(seconds)
    p95 = np.quantile(seconds, 0.95, method="inverted_cdf")
    return ResponseTime(float(median), float(p95))


class LearningRate(NamedTuple):
    """Improvement of an agent: `slope` per step, and `settling_step`, from which its scores stay at their level."""

    slope: float
    settling_step: int


def learning_rate(scores: ArrayLike, window: int = 100) -> LearningRate:
    """Slope of the smoothed scores and the step at which they settle, a LearningRate (float, int).

    - `slope`: least-squares slope of the smoothed curve over all its steps, in units of the score per step
    - `settling_step`: the first step from which the curve stays close to the mean of its last quarter. Close is within
      twice the largest distance of the last quarter from its own mean (twice, since chance moves a longer stretch
      farther). Scores that rise steadily settle at five eighths of the way. Constant scores settle at the first step.

    Args:
        scores: Performance in each step, such as points or opens (steps,).
        window: Steps in the rolling mean. The smoothed value at step k is the mean of the `window` scores up to k, so
            the first one belongs to step window - 1 (steps count from 0).

    >>> learning_rate(range(8), window=1)       # last quarter 6 and 7: mean 6.5, distance 0.5; from 5.5 on
    LearningRate(slope=1.0, settling_step=6)
    >>> learning_rate([0, 0, 1, 1, 1, 1], window=2)     # smoothed from step 1 on: 0, 0.5, 1, 1, 1
    LearningRate(slope=0.25, settling_step=3)
    """
    scores = np.asarray(scores, float)
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise ValueError(
            f"scores must be one finite number for each step; got {scores!r:.60}"
        )
    if not 1 <= window < len(scores):
        raise ValueError(
            f"window must be from 1 to {len(scores) - 1}, fewer than the scores; got {window!r}"
        )
    windows = np.lib.stride_tricks.sliding_window_view(scores, window)
    smoothed = windows.mean(axis=1)
    n_last = max(1, len(smoothed) // 4)
    last_quarter = smoothed[-n_last:]
    level = last_quarter.mean()
    spread = np.abs(last_quarter - level).max()
    size = np.abs(smoothed).max()
    # Differences by rounding don't count.
    tolerance = 2 * spread + 1e-9 * max(1.0, size)
    distances = np.abs(smoothed - level)
    outside = np.flatnonzero(distances > tolerance)
    settling_step = window - 1
    if len(outside):
        settling_step = window + outside[-1]
    slope, _ = np.polyfit(np.arange(len(smoothed)), smoothed, 1)
    return LearningRate(float(slope), int(settling_step))


# ---------------------------------------------------------------- validation


def _matching_rows(rows, reference, name, reference_name):
    """Return two arrays (rows, features) with the same features and no missing value; only the first can be empty."""
    reference = _rows(reference, reference_name)
    require(
        reference.size,
        f"{reference_name} is empty; at least one notification is needed for comparison",
    )
    if not len(rows):
        return reference[:0], reference
    rows = _rows(rows, name)
    require(
        rows.shape[1] == reference.shape[1],
        f"{name} and {reference_name} must have the same features; "
        f"got {rows.shape[1]} and {reference.shape[1]}",
    )
    return rows, reference


def _rows(values, name):
    """Return values as an array (rows, features) without missing values."""
    import pandas as pd

    if not isinstance(values, np.ndarray):
        values = np.asarray(values, object)
    require(
        values.ndim == 2,
        f"{name} must be an array (rows, features); got shape {values.shape}",
    )
    require(not pd.isna(values).any(), f"{name} has a missing value (NaN or None)")
    return values


def _column_pairs(rows, reference):
    """Return pairs of lists: each column of one array with the same column of the other."""
    return zip(rows.T.tolist(), reference.T.tolist())


def _probabilities(values, shape) -> np.ndarray:
    """Return one probability for each notification."""
    values = np.asarray(values, float)
    require(
        values.shape == shape and values.size,
        f"one probability is needed for each notification; got shapes {values.shape} and {shape}",
    )
    is_probability = (values >= 0) & (values <= 1)
    invalid = values[~is_probability]
    if len(invalid):
        raise ValueError(f"a probability must be from 0 to 1; got {invalid[0]:g}")
    return values


def _as_bool(values: Any, name: str) -> np.ndarray:
    """Return one True or False for each notification."""
    values = np.asarray(values)
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise ValueError(
            f"{name} must be True or False for each notification; got {values!r:.60}"
        )
    return values.astype(bool)
