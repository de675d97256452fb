"""How well notifications were chosen for a user, after the EvalUMAP challenges.

Source: the EvalUMAP 2019 challenge, whose performance table compares what the actual notification met with what the
chosen one met, and the EvalUMAP 2020 challenge (gym-push 0.0.21), which added diversity and enticement.

Notifications come as arrays (rows, features) of codes or of words, or as a DataFrame of features.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pushlab.ground.arguments import demand, one_of

# POINTS[actual][chosen], 0 dismissed and 1 opened: what the actual notification met, what the chosen one met.
POINTS = np.array([[0.0, 2.0], [-1.0, 1.0]])


def points(actual: ArrayLike, opened: ArrayLike) -> np.ndarray:
    """Points of each chosen notification, float64 like the inputs: +1, 0, +2 or -1.

    Args:
        actual: Whether the notification that the user really got was opened, bool (rows,).
        opened: Whether the chosen one was, bool (rows,).

    >>> points([True, False, False, True], [True, False, True, False]).tolist()
    [1.0, 0.0, 2.0, -1.0]
    """
    actual = _as_bool(actual, "actual")
    opened = _as_bool(opened, "opened")
    demand(
        actual.shape == opened.shape,
        f"actual and opened are of the same length; got {actual.shape} and {opened.shape}",
    )
    return POINTS[actual.astype(int), opened.astype(int)]


def performance(actual: ArrayLike, opened: ArrayLike) -> float:
    """Sum of the points over all notifications, float.

    >>> performance([True, False, False, True], [True, False, True, False])
    2.0
    """
    return float(points(actual, opened).sum())


def best_performance(actual: ArrayLike, probability: ArrayLike | None = None) -> float:
    """Return the performance of the best notifications, in expectation if the best can only be opened with a chance.

    Args:
        actual: Whether the notification that the user really got was opened, bool (rows,).
        probability: Of opening the best notification in each context (rows,); None: it is always opened.

    >>> best_performance([True, False])
    3.0
    >>> best_performance([True, False], probability=[0.5, 0.5])     # 0.5·1 - 0.5·1, and 0.5·2 + 0.5·0
    1.0
    """
    if probability is None:
        probability = np.ones(np.shape(actual))
    return float(expected_points(actual, probability).sum())


def expected_points(actual: ArrayLike, probability: ArrayLike) -> np.ndarray:
    """Points to be expected of notifications opened with these probabilities, float64 (rows,).

    >>> expected_points([True, False], [1.0, 0.25]).tolist()
    [1.0, 0.5]
    """
    actual = _as_bool(actual, "actual").astype(int)
    probability = _probabilities(probability, actual.shape)
    dismissed, opened = POINTS[actual].T
    return dismissed + probability * (opened - dismissed)


def regret(best: ArrayLike, probability: ArrayLike) -> float:
    """Mean probability of an open given away by not sending the best notification, float.

    >>> regret([0.9, 0.8], [0.4, 0.8])
    0.25
    """
    best = _probabilities(best, np.shape(best))
    probability = _probabilities(probability, best.shape)
    return float((best - probability).mean())


def click_through_rate(opened: ArrayLike) -> float:
    """Share of notifications opened, float.

    >>> click_through_rate([True, False, False, True])
    0.5
    """
    opened = _as_bool(opened, "opened")
    demand(len(opened), "no notification was sent, so there is no click-through rate")
    return float(opened.mean())


# ---------------------------------------------------------------- diversity and plausibility


def coverage(accepted: Any, history: Any, reference: str | None = None) -> float:
    """Diversity: the share of the history's distinct values that occur among the accepted
    notifications, float, 0 to 1.

    Values are counted feature by feature and the counts summed, as in the EvalUMAP 2020 challenge.

    Args:
        accepted: Notifications that were opened (rows, features); none at all cover nothing.
        history: Notifications of the history (rows, features).
        reference: "gym-push-0.0.21": values that the history never had count as well, so that it
            may exceed 1. (That environment also counted all that was sent, opened or not: give it
            all.)

    Source:
        gym-push 0.0.21, `diversity_score`, there in per cent.

    >>> history = [["chat", "low"], ["mail", "low"], ["news", "high"]]      # 3 + 2 distinct values
    >>> coverage([["chat", "low"], ["mail", "low"]], history)               # 2 + 1
    0.6
    """
    accepted, history = _rows_of_both(accepted, history, "accepted", "the history")
    one_of("reference", reference, (None, "gym-push-0.0.21"))
    covered = 0
    known = 0
    for ours, theirs in zip(accepted.T.tolist(), history.T.tolist()):
        found = set(ours) if reference else set(ours) & set(theirs)
        covered += len(found)
        known += len(set(theirs))
    return covered / known


def evenness(accepted: Any, history: Any) -> float:
    """Normalised entropy: how evenly the opened notifications spread over the values of each
    feature, float, 0 to 1.

    For each feature the Shannon entropy of its values among the accepted, over the logarithm of how
    many values the history (or the accepted, if more) has; then the mean over features. A feature
    that never varies is left out.

    Args:
        accepted, history: As in `coverage`; none accepted, or always the same one, give 0.

    Source:
        Shannon (1948), A mathematical theory of communication; Pielou (1966), whose evenness it is
        feature by feature.

    >>> history = [["chat", "low"], ["mail", "low"], ["news", "low"], ["shop", "low"]]
    >>> evenness([["chat", "low"], ["mail", "low"]], history)               # log 2 over log 4
    0.5
    """
    accepted, history = _rows_of_both(accepted, history, "accepted", "the history")
    spread = []
    for ours, theirs in zip(accepted.T.tolist(), history.T.tolist()):
        values = max(len(set(ours)), len(set(theirs)))
        if values > 1:
            spread.append(_entropy(ours) / np.log(values))
    demand(
        spread,
        "no feature of the history varies, so nothing can be spread over its values",
    )
    return float(np.mean(spread)) if len(accepted) else 0.0


def plausibility(notifications: Any, known: Any) -> float:
    """Share of notifications whose combination of values is known, float: nonsense is no
    combination anyone sends.

    Args:
        notifications: The combination of each (rows, features): app, category and subject, say.
        known: The combinations that exist, in history or catalogue (combinations, the same
            features).

    >>> plausibility([["chat", "msg"], ["chat", "email"]], known=[["chat", "msg"], ["mail", "email"]])
    0.5
    """
    notifications, known = _rows_of_both(notifications, known, "notifications", "known")
    demand(len(notifications), "no notification was sent, so there is no plausibility")
    combinations = set(map(tuple, known.tolist()))
    found = [tuple(row) in combinations for row in notifications.tolist()]
    return float(np.mean(found))


ENTICEMENT = {"low": 0.0, "moderate": 0.5, "high": 1.0}


def enticement(levels: Iterable[str]) -> float:
    """Mean enticement of the notifications as the EvalUMAP 2020 challenge scores it, float: all
    low is 0, all high 1.

    The challenge counts 1, 2 and 3 points, sums them, and puts the sum between its least and its
    greatest value.

    Args:
        levels: "low", "moderate" or "high" for each notification (rows,).

    Source:
        gym-push 0.0.21, `enticement_score`, there in per cent.

    >>> enticement(["low", "moderate", "high", "high"])                     # (9 - 4) / (12 - 4)
    0.625
    """
    worth = [ENTICEMENT[one_of("enticement", level, ENTICEMENT)] for level in levels]
    demand(worth, "no notification was sent, so there is no enticement")
    return float(np.mean(worth))


# ---------------------------------------------------------------- time


class ResponseTime(NamedTuple):
    """Seconds that an agent took for a notification."""

    median: float
    p95: float


def response_time(seconds: ArrayLike) -> ResponseTime:
    """Return the median and 95th percentile of the seconds an agent took for each notification.

    The percentile is the least of the times that at least 95 % do not exceed, so it is one that really occurred.

    >>> response_time([0.1, 0.3, 0.2, 4.0])
    ResponseTime(median=0.25, p95=4.0)
    """
    seconds = np.asarray(seconds, float)
    is_time = np.isfinite(seconds) & (seconds >= 0)
    if seconds.ndim != 1 or not len(seconds) or not is_time.all():
        raise ValueError(
            "a response time is a finite number of seconds, 0 or more, for each of at least one "
            f"notification; got {seconds!r:.60}"
        )
    p95 = np.quantile(seconds, 0.95, method="inverted_cdf")
    return ResponseTime(float(np.median(seconds)), float(p95))


class LearningRate(NamedTuple):
    """How fast an agent became better: `slope` a step, and `settled`, the step from which it stayed where it ended."""

    slope: float
    settled: int


def learning_rate(scores: ArrayLike, window: int = 100) -> LearningRate:
    """Slope of the smoothed scores and the step at which they settle, a LearningRate (float, int).

    - `slope`: least-squares slope of the smoothed curve over all its steps, in units of the score a
      step
    - `settled`: the curve's last quarter has a mean, and lies within some distance of it: the first
      step from which the curve never again is more than twice that distance away (twice, since
      chance moves the longer rest farther). Scores that rise steadily to the very end settle at
      five eighths of the way; scores that never change settle at once, with a slope near 0.

    Args:
        scores: Per-step performance, such as points or opens (steps,).
        window: Steps in the rolling mean; the smoothed value at step k is the mean of the `window`
            scores that end there, so the first one stands at step window - 1 (steps count from 0).

    >>> learning_rate(range(8), window=1)       # last quarter 6 and 7: mean 6.5, distance 0.5; from 5.5 on
    LearningRate(slope=1.0, settled=6)
    >>> learning_rate([0, 0, 1, 1, 1, 1], window=2)     # smoothed from step 1 on: 0, 0.5, 1, 1, 1
    LearningRate(slope=0.25, settled=3)
    """
    scores = np.asarray(scores, float)
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise ValueError(f"scores are one finite number a step; got {scores!r:.60}")
    if not 1 <= window < len(scores):
        raise ValueError(
            f"the window has from 1 step to one less than there are scores, {len(scores)}; got {window}"
        )
    smooth = np.lib.stride_tricks.sliding_window_view(scores, window).mean(axis=1)
    last = smooth[-max(1, len(smooth) // 4) :]
    level = last.mean()
    # Rounding is no departure.
    rounding = 1e-9 * max(1.0, np.abs(smooth).max())
    width = 2 * np.abs(last - level).max() + rounding
    away = np.flatnonzero(np.abs(smooth - level) > width)
    settled = window + away[-1] if len(away) else window - 1
    slope = np.polyfit(np.arange(len(smooth)), smooth, 1)[0]
    return LearningRate(float(slope), int(settled))


# ---------------------------------------------------------------- arrays as they should be


def _rows_of_both(some, others, name, other_name):
    """Return two arrays (rows, features) with the same features and no value missing; the first can have no rows."""
    others = _rows(others, other_name)
    demand(others.size, f"{other_name} is empty, so there is nothing to compare with")
    if not len(some):
        return others[:0], others
    some = _rows(some, name)
    demand(
        some.shape[1] == others.shape[1],
        f"{name} and {other_name} have the same features; got {some.shape[1]} and {others.shape[1]}",
    )
    return some, others


def _rows(values, name):
    """Return values as an array (rows, features) without missing values."""
    import pandas as pd

    rows = values if isinstance(values, np.ndarray) else np.asarray(values, object)
    demand(
        rows.ndim == 2,
        f"{name} is an array (rows, features); got one of shape {rows.shape}",
    )
    demand(not pd.isna(rows).any(), f"{name} has a value missing (NaN or None)")
    return rows


def _entropy(column):
    """Return the Shannon entropy of the values of a column, in nats."""
    import pandas as pd

    shares = pd.Series(column).value_counts(normalize=True, sort=False).to_numpy()
    return float(-(shares * np.log(shares)).sum())


def _probabilities(values, shape) -> np.ndarray:
    """Return one probability for each notification."""
    values = np.asarray(values, float)
    demand(
        values.shape == shape and values.size,
        f"one probability is needed for each notification; got shapes {values.shape} and {shape}",
    )
    wrong = values[~((values >= 0) & (values <= 1))]
    if len(wrong):
        raise ValueError(f"a probability is a number from 0 to 1; got {wrong[0]:g}")
    return values


def _as_bool(values: Any, name: str) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise ValueError(
            f"{name} is one True or False for each notification; got {values!r:.60}"
        )
    return values.astype(bool)
