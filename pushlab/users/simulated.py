"""Simulated users, who open or dismiss a notification in a context.

Most of them compute the probability from tables of weights. The log-odds of opening are a sum of one weight for each
code of the context, one for each code of the notification, and one for each pair of them:

    log-odds = intercept + Σᵢ context[cᵢ] + Σⱼ notification[nⱼ] + Σᵢ Σⱼ pairs[cᵢ, nⱼ]

Here cᵢ and nⱼ are the columns of the i-th context component and the j-th notification component in a one-hot encoding.
The true users of the shipped data have this form. After training, so do a logistic regression, a naive Bayes classifier
and boosted stumps. A decision tree doesn't, and uses its branches.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pushlab.datasets.periods import User
from pushlab.datasets.schema import Features, Schema
from pushlab.utils.compiled import compiled, compiled_helper_in_place, compiled_in_place


@compiled_helper_in_place
def open_probability(weights, starts, action):
    """Return the probability of opening an action (features,), from the weights of its codes in a context (codes,)."""
    log_odds = 0.0
    for feature in range(len(starts)):
        log_odds += weights[starts[feature] + action[feature]]
    return 1 / (1 + np.exp(-log_odds))


@compiled_in_place
def fill_open_probabilities(weights, starts, row, action, probability):
    """Fill probability (n,) of opening each action (n, features), from row (n,) of weights (contexts, codes)."""
    for i in range(len(row)):
        probability[i] = open_probability(weights[row[i]], starts, action[i])


@compiled
def fill_tree_probability(
    contexts, component, code, yes, no, share, row, action, probability
):
    """Fill probability (n,) of opening each action (n, features) in row (n,) of contexts, by a tree's leaves."""
    width = contexts.shape[1]
    for i in range(len(row)):
        node = 0
        while yes[node] >= 0:
            k = component[node]
            value = contexts[row[i], k] if k < width else action[i, k - width]
            node = yes[node] if value == code[node] else no[node]
        probability[i] = share[node]


def validate_codes(codes: Any, features: Features, name: str) -> np.ndarray:
    """Return codes (rows, components) as a contiguous int64 array.

    Compiled loops don't check their indices, so invalid codes must not reach them.

    Raises:
        ValueError: The array doesn't have the features' shape or has other codes than theirs.
    """
    codes = np.asarray(codes)
    if (
        codes.ndim != 2
        or codes.shape[1] != len(features.sizes)
        or codes.dtype.kind not in "iu"
    ):
        raise ValueError(
            f"{name} must be integers of shape (rows, {len(features.sizes)}); "
            f"got {codes.dtype} of shape {codes.shape}"
        )
    is_invalid = (codes < 0) | (codes >= features.sizes)
    is_wrong = is_invalid.any(axis=1)
    if is_wrong.any():
        row = is_wrong.argmax()
        raise ValueError(
            f"{name} must be codes from 0 to {(features.sizes - 1).tolist()}; row {row} is {codes[row].tolist()}"
        )
    return np.ascontiguousarray(codes, np.int64)


class Judge:
    """A model of a user, which gives the probability that a notification is opened in a context.

    Attributes:
        schema: Schema of contexts and notifications.
        name: Name of the model.
    """

    schema: Schema
    name: str

    def probability_function(self, contexts: np.ndarray) -> Callable[..., None]:
        """Return a fast function that fills probabilities of opening in these contexts.

        Args:
            contexts: Codes, (rows, components).

        Returns:
            A function f(row (n,), action (n, components), probability (n,)) that fills the last array.
        """
        raise NotImplementedError

    def probability(
        self, contexts: np.ndarray, notifications: np.ndarray
    ) -> np.ndarray:
        """Return the probability of opening, (rows,), for codes of contexts and notifications, a row each."""
        contexts = validate_codes(contexts, self.schema.context, "contexts")
        notifications = validate_codes(
            notifications, self.schema.notification, "notifications"
        )
        if len(contexts) != len(notifications):
            raise ValueError(
                f"contexts and notifications must have equal lengths; got {len(contexts)} and {len(notifications)}"
            )
        probability = np.empty(len(contexts))
        self.probability_function(contexts)(
            np.arange(len(contexts)), notifications, probability
        )
        return probability


@dataclass(frozen=True)
class SimulatedUser(Judge):
    """A user whose log-odds of opening are a sum of weights.

    Attributes:
        schema: Schema, fitted.
        intercept: float.
        context: Weights, float64 (context codes,).
        notification: Weights, float64 (notification codes,).
        pairs: Weights, float64 (context codes, notification codes).
        name: Origin of the weights: "truth", or the model that was fitted.

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
        """Return the user from whom a synthetic history was generated.

        Values of open features that the schema was not fitted to can't be sent, so their weights are left out.

        Raises:
            ValueError: The truth has a feature or a value that the schema lacks.
        """
        truth = user.truth
        schema = user.schema
        context = _one_hot_weights(schema.context, truth["context"])
        notification = _one_hot_weights(schema.notification, truth["notification"])
        pairs = np.zeros((len(context), len(notification)))
        for feature, value, other_feature, other_value, weight in truth["pairs"]:
            row = _one_hot_column(schema.context, feature, value)
            column = _one_hot_column(schema.notification, other_feature, other_value)
            if None not in (row, column):
                pairs[row, column] += weight
        return cls(
            schema, float(truth["intercept"]), context, notification, pairs, "truth"
        )

    def context_log_odds(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of notifications in given contexts, as two arrays.

        Returns:
            The log-odds that depend on the context alone, (rows,); and the weight of each notification code, (rows,
            codes). The log-odds of opening are the first plus the weights of the notification's codes.
        """
        active = one_hot(self.schema.context, contexts)
        base = self.intercept + active @ self.context
        weights = self.notification + active @ self.pairs
        return base, weights

    def probability_function(self, contexts: np.ndarray) -> Callable[..., None]:
        base, weights = self.context_log_odds(contexts)
        features = self.schema.notification
        # Exactly one code of the first feature is active, so its weights can include the base.
        weights[:, : features.sizes[0]] += base[:, None]
        return partial(fill_open_probabilities, weights, features.starts)

    def best_probability(
        self, contexts: np.ndarray, combinations: np.ndarray
    ) -> np.ndarray:
        """Return the highest probability of opening that a notification reaches in each context, (rows,).

        The log-odds are a sum over notification features, so free features are maximised one by one.

        Args:
            combinations: Codes of the notifications that exist, (rows, notification components); -1 in the columns of
                free features.
        """
        from scipy.special import expit

        base, weights = self.context_log_odds(contexts)
        features = self.schema.notification
        best = base.copy()
        is_fixed = (combinations >= 0).all(axis=0)
        if is_fixed.any():
            distinct = np.unique(combinations[:, is_fixed], axis=0)
            columns = distinct + features.starts[is_fixed]
            sums = [weights[:, row].sum(axis=1) for row in columns]
            best += np.max(sums, axis=0)
        is_free = ~is_fixed
        for start, size in zip(features.starts[is_free], features.sizes[is_free]):
            best += weights[:, start : start + size].max(axis=1)
        return expit(best)


@dataclass(frozen=True)
class TreeUser(Judge):
    """A user whose probability of opening is read from a leaf of a decision tree.

    Each node compares one component with one code.

    Attributes:
        component: Component that a node compares, int64 (nodes,). Context components come first, then the
            notification's.
        code: Code with which it is compared, int64 (nodes,).
        yes, no: Next node if they are equal, and if not, int64 (nodes,); -1 at a leaf.
        share: Fraction of the training data at each node that was opened, float64 (nodes,).
    """

    schema: Schema
    component: np.ndarray
    code: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    share: np.ndarray
    name: str = "tree"

    def probability_function(self, contexts: np.ndarray) -> Callable[..., None]:
        return partial(
            fill_tree_probability,
            np.ascontiguousarray(contexts),
            self.component,
            self.code,
            self.yes,
            self.no,
            self.share,
        )


def one_hot(features: Features, codes: np.ndarray) -> np.ndarray:
    """Return codes (rows, components) as a 0/1 array with a column for each code of each component."""
    n_columns = int(features.sizes.sum())
    active = np.zeros((len(codes), n_columns))
    columns = np.asarray(codes) + features.starts
    np.put_along_axis(active, columns, 1.0, axis=1)
    return active


def _one_hot_column(features, name, value):
    """Return the one-hot column of a feature's value, or None if the schema wasn't fitted to the value."""
    if name not in features.names:
        raise ValueError(
            f"the truth has a feature {name!r} that is not in the schema: {', '.join(features.names)}"
        )
    feature = features[name]
    if value in feature.words:
        if feature.kind == "set":
            return features.starts[features.components.index(f"{name}.{value}")] + 1
        start = features.starts[features.components.index(name)]
        return start + feature.words.index(value)
    if feature.kind != "open":
        raise ValueError(
            f"the truth has {value!r}, which is not a value of {name}: {', '.join(feature.words)}"
        )
    return None


def _one_hot_weights(features, by_feature):
    """Return the weights of {feature: {value: weight}} in the one-hot columns, (codes,)."""
    weights = np.zeros(int(features.sizes.sum()))
    for name, by_value in by_feature.items():
        for value, weight in by_value.items():
            column = _one_hot_column(features, name, value)
            if column is not None:
                weights[column] = weight
    return weights
