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

from collections.abc import Mapping
from typing import Any

import numpy as np

from pushlab.users.synthesis.arrivals import CATALOGUE, CATALOGUE_COLUMNS

PLAIN = {
    "numberOfUpdates": "none",
    "priority": "default",
    "ongoing": "False",
    "visibility": "private",
}


def holds(table: Any, feature: str, value: str) -> np.ndarray:
    """For each row whether the feature has this value, or this tag of a place: array of 0.0 and 1.0."""
    return np.array(
        [
            value in text.split() if feature == "place" else value == text
            for text in table[feature]
        ],
        float,
    )


def log_odds(
    taste: Mapping[str, Any], contexts: Any, notifications: Any, grid: bool = False
) -> np.ndarray:
    """Log-odds of opening, array (rows,): row i of `notifications` arriving in row i of `contexts`.

    contexts, notifications   DataFrames or dicts of columns
    grid   every notification in every context instead, array (contexts, notifications)
    """
    each = (
        (slice(None), None) if grid else slice(None)
    )  # contexts go down, notifications across
    total = (
        taste["intercept"]
        + main_effects(taste["context"], contexts)[each]
        + main_effects(taste["notification"], notifications)
    )
    for feature, value, name, word, weight in taste["pairs"]:
        total = total + weight * holds(contexts, feature, value)[each] * holds(
            notifications, name, word
        )
    return np.round(total, 3)  # weights have three decimals, and so has their sum


def main_effects(weights: Mapping[str, Mapping[str, float]], table: Any) -> np.ndarray:
    """Sum (rows,) of the weights {feature: {value: weight}} that count in each row of a table."""
    total = np.zeros(len(table[next(iter(table))]))
    for feature, by_value in weights.items():
        for value, weight in by_value.items():
            total = total + weight * holds(table, feature, value)
    return total


def open_probability(log_odds: Any) -> np.ndarray:
    """1 / (1 + exp(-log-odds)) with six decimals, so that no machine's `exp` shows in what is drawn from it."""
    return np.round(1 / (1 + np.exp(-np.asarray(log_odds, dtype=float))), 6)


def fit_intercept(
    taste: Mapping[str, Any], contexts: Any, notifications: Any, open_rate: float
) -> float:
    """The intercept, three decimals, at which the mean probability of these rows meets `open_rate`; by bisection.

    >>> taste = {"context": {}, "notification": {}, "pairs": []}
    >>> fit_intercept(taste, {"day": ["0"]}, {"category": ["msg"]}, 0.5)
    0.0
    """
    others = log_odds({**taste, "intercept": 0.0}, contexts, notifications)
    low, high = (
        -15_000,
        15_000,
    )  # thousandths; whole numbers, so that every machine halves alike
    while low < high:
        middle = (low + high) // 2
        millionths = np.rint(1e6 * open_probability(others + middle / 1000)).astype(
            np.int64
        )
        if millionths.sum() < open_rate * 1e6 * len(others):
            low = middle + 1
        else:
            high = middle
    return low / 1000


def headroom(truth: Mapping[str, Any], engagements: Any) -> dict[str, float]:
    """How much there is to gain with a user, from choosing well once and from choosing well each time.

    Mean probabilities of opening over the contexts of a table of engagements, a dict:

    arrived   what arrived, as it arrived
    any_row   a row of the catalogue drawn blindly, every other feature at its most common value
    best_row  the one row of the catalogue that is best if it is shown always
    best_each the row that is best in each context: no agent can do better
    """
    columns = dict(zip(CATALOGUE_COLUMNS, zip(*CATALOGUE)))
    columns |= {name: (value,) * len(CATALOGUE) for name, value in PLAIN.items()}
    grid = open_probability(log_odds(truth, engagements, columns, grid=True))
    arrived = open_probability(log_odds(truth, engagements, engagements))
    means = {
        "arrived": arrived,
        "any_row": grid,
        "best_row": grid.mean(axis=0).max(),
        "best_each": grid.max(axis=1),
    }
    return {
        name: round(float(np.asarray(value).mean()), 3) for name, value in means.items()
    }
