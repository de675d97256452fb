"""How well notifications were chosen for a user, after the EvalUMAP challenges.

Source: the EvalUMAP 2019 challenge, whose performance table compares what the actual notification met with what the
chosen one met.
"""

import numpy as np

# POINTS[actual][chosen], 0 dismissed and 1 opened: what the actual notification met, what the chosen one met.
POINTS = np.array([[0.0, 2.0],
                   [-1.0, 1.0]])


def points(actual, opened):
    """Points of each chosen notification, float64 like the inputs: +1, 0, +2 or -1.

    actual  whether the notification that the user really got was opened, bool (rows,)
    opened  whether the chosen one was, bool (rows,)

    >>> points([True, False, False, True], [True, False, True, False]).tolist()
    [1.0, 0.0, 2.0, -1.0]
    """
    actual, opened = (_as_bool(values, name) for values, name in ((actual, "actual"), (opened, "opened")))
    if actual.shape != opened.shape:
        raise ValueError(f"actual and opened are of the same length; got {actual.shape} and {opened.shape}")
    return POINTS[actual.astype(int), opened.astype(int)]


def performance(actual, opened):
    """Sum of the points over all notifications, float.

    >>> performance([True, False, False, True], [True, False, True, False])
    2.0
    """
    return float(points(actual, opened).sum())


def best_performance(actual, probability=None):
    """The performance of the best notifications, float: in expectation where the best can only be opened with a chance.

    probability  of opening the best notification in each context (rows,); None means that it is always opened

    >>> best_performance([True, False])
    3.0
    >>> best_performance([True, False], probability=[0.5, 0.5])     # 0.5·1 - 0.5·1, and 0.5·2 + 0.5·0
    1.0
    """
    return float(expected_points(actual, np.ones(np.shape(actual)) if probability is None else probability).sum())


def expected_points(actual, probability):
    """Points to be expected of notifications opened with these probabilities, float64 (rows,).

    >>> expected_points([True, False], [1.0, 0.25]).tolist()
    [1.0, 0.5]
    """
    actual, probability = _as_bool(actual, "actual").astype(int), np.asarray(probability, float)
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("a probability is a number from 0 to 1")
    return POINTS[actual, 0] + probability * (POINTS[actual, 1] - POINTS[actual, 0])


def performance_share(actual, opened, best=None):
    """Performance as a share of the best possible, float; 1 is the best, below 0 is worse than dismissing nothing new.

    best  probability of opening the best notification in each context (rows,), or None: always opened

    Raises ValueError where the best possible is not above 0, so that a share would say nothing.

    >>> performance_share([True, False, False, True], [True, False, True, False])    # 2 of 1 + 2 + 2 + 1
    0.3333333333333333
    """
    top = best_performance(actual, best)
    if top <= 0:
        raise ValueError(f"the best possible performance is {top:g}; a share needs it above 0")
    return performance(actual, opened) / top


def regret(best, probability):
    """Mean probability of an open given away by not sending the best notification, float.

    >>> regret([0.9, 0.8], [0.4, 0.8])
    0.25
    """
    best, probability = np.asarray(best, float), np.asarray(probability, float)
    if best.shape != probability.shape or not len(best):
        raise ValueError("best and probability are of the same length, at least 1; "
                         f"got {best.shape} and {probability.shape}")
    return float((best - probability).mean())


def click_through_rate(opened):
    """Share of notifications opened, float.

    >>> click_through_rate([True, False, False, True])
    0.5
    """
    opened = _as_bool(opened, "opened")
    if not len(opened):
        raise ValueError("no notification was sent, so there is no click-through rate")
    return float(opened.mean())


def _as_bool(values, name):
    values = np.asarray(values)
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise ValueError(f"{name} is one True or False for each notification; got {values!r:.60}")
    return values.astype(bool)
