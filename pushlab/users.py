"""Simulated users: given a context and a notification, they open it or dismiss it.

The log-odds of opening are a sum of table look-ups, one weight for each code of the context, one for each code of
the notification and one for each pair of both:

    log-odds = intercept + Σᵢ context[cᵢ] + Σⱼ notification[nⱼ] + Σᵢ Σⱼ pairs[cᵢ, nⱼ]

which is a logistic regression over one-hot features with interactions; cᵢ and nⱼ are the places of the i-th context
and j-th notification component when all codes stand side by side.
"""

from dataclasses import dataclass, field

import numpy as np

from pushlab.schema import Schema


def logistic(log_odds):
    """The probability for log-odds.

    >>> float(logistic(0.0))
    0.5
    """
    return 1 / (1 + np.exp(-np.asarray(log_odds, float)))


@dataclass(frozen=True)
class SimulatedUser:
    """A user who opens with a probability read from tables.

    schema        Schema, fitted
    intercept     float
    context       float64 (context codes,)
    notification  float64 (notification codes,)
    pairs         float64 (context codes, notification codes)
    name          where the tables come from: "truth" or "logistic"

    >>> from pushlab.datasets import load_user
    >>> mira = load_user("mira")
    >>> user = SimulatedUser.of(mira)
    >>> p = user.probability(mira.test.context_codes, mira.test.notification_codes)
    >>> p.shape == mira.test.opened.shape, user.name
    (True, 'truth')
    """

    schema: Schema
    intercept: float
    context: np.ndarray
    notification: np.ndarray
    pairs: np.ndarray = field(repr=False)
    name: str = "tables"

    @classmethod
    def of(cls, user):
        """The simulated user to put in a user's place: the true one if it is known, else one fitted to the history."""
        return cls.from_truth(user) if user.truth is not None else cls.fit(user.history)

    @classmethod
    def from_truth(cls, user):
        """The user that a synthetic history was generated from.

        Raises ValueError for a weight that the schema has no place for; values of open features that the schema was
        not fitted to can never be sent, and their weights are left out.
        """
        truth, schema = user.truth, user.schema
        context = _weights(schema.context, truth["context"])
        notification = _weights(schema.notification, truth["notification"])
        pairs = np.zeros((len(context), len(notification)))
        for feature, value, other_feature, other_value, weight in truth["pairs"]:
            row = _place(schema.context, feature, value)
            column = _place(schema.notification, other_feature, other_value)
            if row is not None and column is not None:
                pairs[row, column] += weight
        return cls(schema, float(truth["intercept"]), context, notification, pairs, "truth")

    @classmethod
    def fit(cls, period, strength=1.0):
        """Logistic regression over the one-hot context and notification of a Period, without interactions.

        strength  inverse of the L2 penalty (scikit-learn's C)

        Raises ValueError if everything was opened or everything dismissed: there is nothing to learn from.
        """
        from sklearn.linear_model import LogisticRegression

        if period.opened.all() or not period.opened.any():
            did = "opened" if period.opened.all() else "dismissed"
            raise ValueError(f"all {len(period):,} notifications were {did}; a user who never does otherwise cannot "
                             "be fitted")
        model = LogisticRegression(C=strength, max_iter=2000).fit(one_hot(period), period.opened)
        weights, wide = model.coef_[0], int(period.schema.context.sizes.sum())
        context, notification = weights[:wide], weights[wide:]
        return cls(period.schema, float(model.intercept_[0]), context, notification,
                   np.zeros((len(context), len(notification))), "logistic")

    def sheet(self, contexts):
        """What is left to add once the context is known: base (rows,) and a column for each code (rows, codes)."""
        active = _one_hot(self.schema.context, contexts)
        return self.intercept + active @ self.context, self.notification + active @ self.pairs

    def log_odds(self, contexts, notifications):
        """Log-odds of opening (rows,) for codes of contexts and notifications, a row each."""
        base, sheet = self.sheet(contexts)
        places = np.asarray(notifications) + self.schema.notification.starts
        return base + np.take_along_axis(sheet, places, axis=1).sum(axis=1)

    def probability(self, contexts, notifications):
        """Probability of opening (rows,) for codes of contexts (rows, …) and notifications (rows, …)."""
        return logistic(self.log_odds(contexts, notifications))

    def best_probability(self, contexts, combinations=None):
        """The highest probability (rows,) that any notification reaches in each context.

        combinations  codes (rows, notification components) of the notifications that exist, of which the columns
                      given as -1 are free; None leaves every feature free

        The log-odds are a sum over notification features, so free features are maximised one by one.
        """
        base, sheet = self.sheet(contexts)
        half = self.schema.notification
        combinations = np.full((1, len(half.sizes)), -1) if combinations is None else np.asarray(combinations)
        best = base.copy()
        fixed = (combinations >= 0).all(axis=0)
        if fixed.any():
            places = np.unique(combinations[:, fixed], axis=0) + half.starts[fixed]
            best += np.max([sheet[:, row].sum(axis=1) for row in places], axis=0)
        for start, size in zip(half.starts[~fixed], half.sizes[~fixed]):
            best += sheet[:, start:start + size].max(axis=1)
        return logistic(best)


def one_hot(period):
    """Context and notification of a Period as a 0/1 array (rows, context codes + notification codes)."""
    return np.hstack([_one_hot(period.schema.context, period.context_codes),
                      _one_hot(period.schema.notification, period.notification_codes)])


def _one_hot(half, codes):
    active = np.zeros((len(codes), int(half.sizes.sum())))
    np.put_along_axis(active, np.asarray(codes) + half.starts, 1.0, axis=1)
    return active


def _place(half, name, value):
    """Where the weight of a value stands when all codes stand side by side; None for a value that is not coded."""
    if name not in half.names:
        raise ValueError(f"the truth names a feature {name!r} that the schema does not have")
    feature = half[name]
    if value not in feature.words:
        if feature.kind == "open":
            return None
        raise ValueError(f"the truth names {value!r}, which is no value of {name}")
    if feature.kind == "set":
        return half.starts[half.components.index(f"{name}.{value}")] + 1
    return half.starts[half.components.index(name)] + feature.words.index(value)


def _weights(half, named):
    weights = np.zeros(int(half.sizes.sum()))
    for name, values in named.items():
        for value, weight in values.items():
            place = _place(half, name, value)
            if place is not None:
                weights[place] = weight
    return weights
