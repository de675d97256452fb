"""Simulated users: given a context and a notification, they open it or dismiss it.

Most of them answer from tables. The log-odds of opening are a sum of look-ups, one weight for each code of the
context, one for each code of the notification and one for each pair of both:

    log-odds = intercept + Σᵢ context[cᵢ] + Σⱼ notification[nⱼ] + Σᵢ Σⱼ pairs[cᵢ, nⱼ]

where cᵢ and nⱼ are the places of the i-th context and j-th notification component when all codes stand side by side
(one-hot). The true users of the shipped data have this form, and so have, after training, a logistic regression, a
naive Bayes classifier and boosted stumps; a decision tree has not, and answers from its branches.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pushlab.datasets.periods import User
from pushlab.datasets.schema import Features, Schema
from pushlab.ground.compiled import compiled


@compiled
def add_up(sheet, starts, row, action, probability):
    """Probability of each action (n, features) in its context: row (n,) of the sheet (contexts, codes)."""
    for i in range(len(row)):
        log_odds = 0.0
        for feature in range(len(starts)):
            log_odds += sheet[row[i], starts[feature] + action[i, feature]]
        probability[i] = 1 / (1 + np.exp(-log_odds))


@compiled
def climb(contexts, component, code, yes, no, share, row, action, probability):
    """Probability of each action (n, features) at the leaf it comes to; contexts (rows, components)."""
    wide = contexts.shape[1]
    for i in range(len(row)):
        node = 0
        while yes[node] >= 0:
            at = component[node]
            found = contexts[row[i], at] if at < wide else action[i, at - wide]
            node = yes[node] if found == code[node] else no[node]
        probability[i] = share[node]


def checked_codes(codes: Any, half: Features, name: str) -> np.ndarray:
    """Codes (rows, components) as int64; ValueError if they are none of this half, before a compiled loop reads on."""
    codes = np.asarray(codes)
    if (
        codes.ndim != 2
        or codes.shape[1] != len(half.sizes)
        or codes.dtype.kind not in "iu"
    ):
        raise ValueError(
            f"{name} are whole numbers of shape (rows, {len(half.sizes)}); "
            f"got {codes.dtype} {codes.shape}"
        )
    wrong = ((codes < 0) | (codes >= half.sizes)).any(axis=1)
    if wrong.any():
        row = wrong.argmax()
        raise ValueError(
            f"{name} hold codes from 0 to {(half.sizes - 1).tolist()}; row {row} is {codes[row].tolist()}"
        )
    return np.ascontiguousarray(codes, np.int64)


class Judge:
    """Whoever opens or dismisses: `schema`, `name`, and a probability for any context and notification."""

    schema: Schema
    name: str

    def chances(self, contexts: np.ndarray) -> Callable[..., None]:
        """A fast answerer for these contexts (rows, components): f(row (n,), action (n, …), probability (n,))."""
        raise NotImplementedError(
            f"{type(self).__name__} has to say how likely an open is"
        )

    def probability(
        self, contexts: np.ndarray, notifications: np.ndarray
    ) -> np.ndarray:
        """Probability of opening (rows,) for codes of contexts (rows, …) and notifications (rows, …)."""
        contexts = checked_codes(contexts, self.schema.context, "contexts")
        notifications = checked_codes(
            notifications, self.schema.notification, "notifications"
        )
        if len(contexts) != len(notifications):
            raise ValueError(
                f"as many contexts as notifications; got {len(contexts)} and {len(notifications)}"
            )
        probability = np.empty(len(contexts))
        self.chances(contexts)(np.arange(len(contexts)), notifications, probability)
        return probability


@dataclass(frozen=True)
class SimulatedUser(Judge):
    """A user who opens with a probability read from tables.

    Attributes:
        schema: Schema, fitted.
        intercept: float.
        context: float64 (context codes,).
        notification: float64 (notification codes,).
        pairs: float64 (context codes, notification codes).
        name: Where the tables come from: "truth", or the model that was fitted.

    >>> from pushlab.datasets.reading import load_user
    >>> mira = load_user("mira")
    >>> user = SimulatedUser.from_truth(mira)
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
    def from_truth(cls, user: User) -> "SimulatedUser":
        """Return the user that a synthetic history was generated from.

        Values of open features that the schema was not fitted to can never be sent; their weights are left out.

        Raises:
            ValueError: The schema has no place for a weight.
        """
        truth, schema = user.truth or {}, user.schema
        context = _weights(schema.context, truth["context"])
        notification = _weights(schema.notification, truth["notification"])
        pairs = np.zeros((len(context), len(notification)))
        for feature, value, other_feature, other_value, weight in truth["pairs"]:
            row = _place(schema.context, feature, value)
            column = _place(schema.notification, other_feature, other_value)
            if None not in (row, column):
                pairs[row, column] += weight
        return cls(
            schema, float(truth["intercept"]), context, notification, pairs, "truth"
        )

    def sheet(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is left to add once the context is known: base (rows,) and a column for each code (rows, codes)."""
        active = one_hot(self.schema.context, contexts)
        return (
            self.intercept + active @ self.context,
            self.notification + active @ self.pairs,
        )

    def log_odds(self, contexts: np.ndarray, notifications: np.ndarray) -> np.ndarray:
        """Log-odds of opening (rows,) for codes of contexts and notifications, a row each."""
        base, sheet = self.sheet(contexts)
        places = np.asarray(notifications) + self.schema.notification.starts
        return base + np.take_along_axis(sheet, places, axis=1).sum(axis=1)

    def chances(self, contexts: np.ndarray) -> Callable[..., None]:
        base, sheet = self.sheet(contexts)
        half = self.schema.notification
        sheet[:, : half.sizes[0]] += base[
            :, None
        ]  # every notification has a first feature
        return partial(add_up, sheet, half.starts)

    def best_probability(
        self, contexts: np.ndarray, combinations: np.ndarray
    ) -> np.ndarray:
        """The highest probability (rows,) that any notification reaches in each context.

        The log-odds are a sum over notification features, so free features are maximised one by one.

        Args:
            combinations: Codes (rows, notification components) of the notifications that exist. Columns of -1 are free.
        """
        from scipy.special import expit

        base, sheet = self.sheet(contexts)
        half = self.schema.notification
        best = base.copy()
        fixed = (combinations >= 0).all(axis=0)
        if fixed.any():
            places = np.unique(combinations[:, fixed], axis=0) + half.starts[fixed]
            best += np.max([sheet[:, row].sum(axis=1) for row in places], axis=0)
        for start, size in zip(half.starts[~fixed], half.sizes[~fixed]):
            best += sheet[:, start : start + size].max(axis=1)
        return expit(best)


@dataclass(frozen=True)
class TreeUser(Judge):
    """A user who opens as often as the histories did that came to the same leaf of a decision
    tree.

    Attributes:
        component: int64 (nodes,) which component a node asks about: context components first, then
            the notification's.
        code: int64 (nodes,) and which of its codes; yes, no (nodes,) are the next nodes, -1 at a
            leaf.
        share: float64 (nodes,) share opened in the training data.
    """

    schema: Schema
    component: np.ndarray
    code: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    share: np.ndarray
    name: str = "tree"

    def chances(self, contexts: np.ndarray) -> Callable[..., None]:
        return partial(
            climb,
            np.ascontiguousarray(contexts),
            self.component,
            self.code,
            self.yes,
            self.no,
            self.share,
        )


def one_hot(half: Features, codes: np.ndarray) -> np.ndarray:
    """Codes (rows, components) as a 0/1 array (rows, codes), all codes of all components side by side."""
    active = np.zeros((len(codes), int(half.sizes.sum())))
    np.put_along_axis(active, np.asarray(codes) + half.starts, 1.0, axis=1)
    return active


def _place(half, name, value):
    """Return the column of a value's weight when all codes stand side by side, or None if the value has no code."""
    if name not in half.names:
        raise ValueError(
            f"the truth names a feature {name!r} that the schema does not have"
        )
    feature = half[name]
    if value in feature.words:
        if feature.kind == "set":
            return half.starts[half.components.index(f"{name}.{value}")] + 1
        column = half.starts[half.components.index(name)]
        return column + feature.words.index(value)
    if feature.kind != "open":
        raise ValueError(f"the truth names {value!r}, which is no value of {name}")
    return None


def _weights(half, by_feature):
    """Return the weights {feature: {value: weight}} of all codes side by side."""
    weights = np.zeros(int(half.sizes.sum()))
    for name, by_value in by_feature.items():
        for value, weight in by_value.items():
            place = _place(half, name, value)
            if place is not None:
                weights[place] = weight
    return weights
