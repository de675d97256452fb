"""What a user opens: a sum of weights, the log-odds, turned into a probability.

    log-odds = intercept + weights of the context + weights of the notification + weights of pairs of the two

A taste is the plain dict of a `truth.json`: `intercept`; `context` and `notification`, both {feature: {value: weight}};
and `pairs`, a list of [context feature, value, notification feature, value, weight]. A weight of the feature `place`
belongs to one tag and counts whenever the tag is in the set. A value without a weight adds 0.

>>> taste = {"intercept": -1.0, "context": {"place": {"TYPE_BAR": -0.5}}, "notification": {"category": {"msg": 1.0}},
...          "pairs": [["place", "TYPE_BAR", "category", "msg", 2.0]]}
>>> bar = {"place": ["TYPE_BAR TYPE_ATM", "unknown"]}
>>> log_odds(taste, bar, {"category": ["msg", "msg"]})
array([1.5, 0. ])
>>> open_probability(_)
array([0.817574, 0.5     ])
"""

import numpy as np

SET_FEATURES = ("place",)


def holds(table, feature, value):
    """For each row whether the feature has this value, or this tag if it is a set: array of 0.0 and 1.0."""
    if feature in SET_FEATURES:
        return np.array([value in text.split() for text in table[feature]], dtype=float)
    return np.array([text == value for text in table[feature]], dtype=float)


def main_effects(weights, table):
    """Sum of the weights {feature: {value: weight}} that count in each row of a table (or dict of columns)."""
    total = 0.0
    for feature, by_value in weights.items():
        for value, weight in by_value.items():
            total = total + weight * holds(table, feature, value)
    return total


def log_odds(taste, contexts, notifications):
    """Log-odds of opening, array (rows,): row i of `notifications` arriving in row i of `contexts`."""
    total = taste["intercept"] + main_effects(taste["context"], contexts) + main_effects(
        taste["notification"], notifications)
    for feature, value, name, word, weight in taste["pairs"]:
        total = total + weight * holds(contexts, feature, value) * holds(notifications, name, word)
    return np.round(total, 3)           # weights have three decimals, and so has their sum


def log_odds_grid(taste, contexts, notifications):
    """Log-odds of every notification in every context, array (contexts, notifications)."""
    total = taste["intercept"] + np.add.outer(
        np.zeros(len(contexts["day"])) + main_effects(taste["context"], contexts),
        np.zeros(len(notifications["category"])) + main_effects(taste["notification"], notifications))
    for feature, value, name, word, weight in taste["pairs"]:
        total += weight * np.outer(holds(contexts, feature, value), holds(notifications, name, word))
    return np.round(total, 3)


def open_probability(log_odds):
    """1 / (1 + exp(-log-odds)) with six decimals, so that no machine's `exp` shows in what is drawn from it."""
    return np.round(1 / (1 + np.exp(-np.asarray(log_odds, dtype=float))), 6)


def fit_intercept(taste, contexts, notifications, open_rate):
    """The intercept, three decimals, at which the mean probability of these rows meets `open_rate`; by bisection.

    >>> taste = {"intercept": 0.0, "context": {}, "notification": {}, "pairs": []}
    >>> fit_intercept(taste, {"day": ["0"]}, {"category": ["msg"]}, 0.5)
    0.0
    """
    others = np.zeros(len(contexts["day"])) + log_odds(taste | {"intercept": 0.0}, contexts, notifications)
    low, high = -15_000, 15_000         # thousandths; whole numbers, so that every machine halves alike
    while low < high:
        middle = (low + high) // 2
        millionths = np.rint(1e6 * open_probability(others + middle / 1000)).astype(np.int64)
        if millionths.sum() < open_rate * 1e6 * len(others):
            low = middle + 1
        else:
            high = middle
    return low / 1000
