"""Strategic classification: people change the features in a credit score if the better score is worth the cost.

A lender publishes the weights theta of a score, theta · x. The score is the log-odds of falling behind, so lower is
better. A person with features x gains -theta · x' by showing x' instead, and pays |x' - x|² / (2 epsilon). Only some
features can be changed. The best response is

- x' = x - epsilon theta in the features that can be changed
- x' = x in the others

All people therefore move by the same step against the weights. Their labels, whether they fall behind, don't change:
this is gaming.

Source: Perdomo, Zrnic, Mendler-Dünner & Hardt (2020), Performative Prediction, ICML, section 5; after Hardt, Megiddo,
Papadimitriou & Wootters (2016), Strategic Classification, ITCS. Written from the simulator in WhyNot 0.12 and the
authors' published code, not from the paper. The response, the features that can be changed and the preset "whynot" are
theirs. The other values were chosen here so that the response is visible. WhyNot and the authors leave the bias out of
the penalty. `penalise_bias` includes it, because the loss is strongly convex only then, as theorem 3.5 of the paper
requires.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from pushlab.datasets.borrowers import BIAS, FEATURES, Borrowers
from pushlab.envs.ode.models import updated_config
from pushlab.utils.arguments import (
    validate_bool,
    validate_choices,
    validate_integer,
    validate_number,
)
from pushlab.utils.compiled import compiled_fastmath, inlined

WEIGHTS = (*FEATURES, BIAS)  # names of a classifier's weights, in the order of arrays
MAX_PARAMETER = 1e6  # of epsilon and the penalty
PRESETS = {"whynot": {"epsilon": 0.1, "l2_penalty": 0.0, "end_time": 5}}


@dataclass(frozen=True)
class CreditConfig:
    """Parameters of the people and the lender. Features and steps are in standard units, times in rounds.

    Attributes:
        epsilon: Distance that people move for a weight of 1.
        changeable_features: Names of the features that can be changed.
        l2_penalty: Factor of the penalty: half of it times the squared length of the weights is added to the loss.
        penalise_bias: Whether the penalty includes the bias.
        memory: Whether people move from their current features, or in each round from their original ones.
        start_time, end_time: Times of the beginning and the end of an episode.
    """

    epsilon: float = 1.0
    changeable_features: tuple = (FEATURES[0], FEATURES[5], FEATURES[7])
    l2_penalty: float = 0.01
    penalise_bias: bool = True
    memory: bool = False
    start_time: int = 0
    end_time: int = 25

    @cached_property
    def changeable_indices(self) -> ndarray:
        """Indices of the features that can be changed, int64 (k,)."""
        indices = [FEATURES.index(name) for name in self.changeable_features]
        return np.array(indices, np.int64)

    @cached_property
    def penalties(self) -> ndarray:
        """The l2 penalty of each weight, (11,)."""
        penalties = np.full(len(WEIGHTS), self.l2_penalty, np.float64)
        penalties[-1] *= self.penalise_bias
        return penalties


def credit_config(changes: Any = None, preset: str | None = None) -> CreditConfig:
    """Return the parameters, updated by a preset and then by `changes`, a dict or a CreditConfig.

    Raises:
        ValueError: A parameter is unknown or has an invalid value.

    >>> credit_config({"epsilon": 3.0, "changeable_features": ["age"]}).changeable_features
    ('age',)
    """
    config = updated_config("credit", CreditConfig(), PRESETS, changes, preset)
    for name in ("epsilon", "l2_penalty"):
        validate_number(f"config: {name}", getattr(config, name), 0, MAX_PARAMETER)
    for name in ("penalise_bias", "memory"):
        validate_bool(f"config: {name}", getattr(config, name))
    start = validate_integer("config: start_time", config.start_time)
    validate_integer("config: end_time", config.end_time, start + 1)
    names = validate_choices(
        "config: changeable_features", config.changeable_features, FEATURES
    )
    return replace(config, changeable_features=names)


def best_response(theta: Any, config: CreditConfig) -> ndarray:
    """Return the moves of people in the features config.changeable_features, (..., k), for weights (..., 11)."""
    return -config.epsilon * np.asarray(theta)[..., config.changeable_indices]


def cost(move: Any, config: CreditConfig) -> ndarray:
    """Return a person's cost of a move (..., k), in units of the score; infinite if epsilon is 0."""
    squares = np.sum(np.square(move), axis=-1)
    if config.epsilon == 0:
        return np.where(squares > 0, np.inf, 0.0)
    return squares / (2 * config.epsilon)


# ---------------------------------------------------------------- the loss of many classifiers

BLOCK = 256  # people whose scores are computed at once, which then fit into the cache
MAX_EXPONENT = 40.0  # exp(-40) adds nothing to 1
DIVISOR = 128.0  # 2**7; `exp_minus` squares the result seven times


@inlined
def exp_minus(a):
    """Return exp(-a) for a >= 0, with a relative error below 2e-14.

    It is the series of exp(-a / 128), squared seven times. Unlike calls of a library's exp, it can be vectorised.
    """
    t = -min(a, MAX_EXPONENT) / DIVISOR
    e = 1.0 + t * (1.0 / 11 + t * (1.0 / 132))
    e = 1.0 + t * (1.0 / 9 + t * (1.0 / 90) * e)
    e = 1.0 + t * (1.0 / 7 + t * (1.0 / 56) * e)
    e = 1.0 + t * (1.0 / 5 + t * (1.0 / 30) * e)
    e = 1.0 + t * (1.0 / 3 + t * (1.0 / 12) * e)
    e = 1.0 + t * (1.0 + t * (1.0 / 2) * e)
    e = e * e
    e = e * e
    e = e * e
    e = e * e
    e = e * e
    e = e * e
    return e * e


@compiled_fastmath
def risk_each(
    columns,
    labels,
    sums,
    theta,
    shift,
    changeable,
    penalties,
    score,
    loss,
    accuracy,
    refused,
):
    """Fill loss (m,), accuracy (m,) and refused (m, 2) of m classifiers in one pass over the people.

    The loss of a person with the score z and the label y is log(1 + exp(z)) - y z, and

        log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)).

    The sum of logarithms is the logarithm of a product, so a block of people needs only one.

    Args:
        columns, labels: Features (10, n) and labels (n,) of the people.
        sums: Sums of the features of the people who fell behind, (10,).
        theta: Weights, (m, 11).
        shift: Distance that people have moved in each feature `changeable`, (m, k).
        changeable: Indices of features, (k,).
        penalties: Penalty of each weight, (11,).
        score: Scratch array, (m + BLOCK,).
    """
    features, people = columns.shape
    copies = len(loss)
    offset = score[BLOCK:]
    behind = 0.0
    for i in range(people):
        behind += labels[i]
    for c in range(copies):
        loss[c] = 0.0
        refused[c, 0] = 0.0
        refused[c, 1] = 0.0
        offset[c] = theta[c, features]
        for k in range(len(changeable)):
            offset[c] += theta[c, changeable[k]] * shift[c, k]
    for start in range(0, people, BLOCK):
        size = min(BLOCK, people - start)
        y = labels[start : start + size]
        z = score[:size]
        for c in range(copies):
            z[:] = offset[c]
            for feature in range(features):
                weight = theta[c, feature]
                x = columns[feature, start : start + size]
                for i in range(size):
                    z[i] += weight * x[i]
            product = 1.0
            positive_sum = 0.0
            n_refused = 0.0
            n_refused_behind = 0.0
            for i in range(size):
                product *= 1.0 + exp_minus(abs(z[i]))
                positive_sum += max(z[i], 0.0)
                is_refused = 1.0 if z[i] > 0.0 else 0.0
                n_refused += is_refused
                n_refused_behind += is_refused * y[i]
            loss[c] += positive_sum + np.log(product)
            refused[c, 0] += n_refused - n_refused_behind
            refused[c, 1] += n_refused_behind
    for c in range(copies):
        sum_yz = offset[c] * behind
        penalty = penalties[features] * theta[c, features] ** 2
        for feature in range(features):
            sum_yz += theta[c, feature] * sums[feature]
            penalty += penalties[feature] * theta[c, feature] ** 2
        loss[c] = (loss[c] - sum_yz) / people + penalty / 2
        accuracy[c] = (people - behind - refused[c, 0] + refused[c, 1]) / people
        refused[c, 0] /= people - behind
        refused[c, 1] /= behind


def published_risk(
    people: Borrowers, theta: ndarray, shift: ndarray, config: CreditConfig
) -> dict:
    """Return the losses and decisions of classifiers for people who have moved.

    Args:
        people: Borrowers.
        theta: Weights of m classifiers, (m, 11).
        shift: Distance that people have moved in each changeable feature, (m, k).

    Returns:
        A dict of arrays:

        - loss: mean logistic loss plus the penalty, (m,)
        - accuracy: fraction of correct decisions, (m,)
        - refused: fractions refused, of the people who pay back and of the people who fall behind, (m, 2)
    """
    risk = {
        "loss": np.empty(len(theta)),
        "accuracy": np.empty(len(theta)),
        "refused": np.empty((len(theta), 2)),
    }
    risk_each(
        people.columns,
        people.labels,
        people.sums,
        np.ascontiguousarray(theta, np.float64),
        np.ascontiguousarray(shift, np.float64),
        config.changeable_indices,
        config.penalties,
        np.empty(BLOCK + len(theta)),
        *risk.values(),
    )
    return risk


SCORE_EDGES = np.linspace(-6, 6, 49)  # edges of the bins in pictures


def score_histogram(score: ndarray) -> list[float]:
    """Return the fraction of people in each bin of SCORE_EDGES; the outermost bins include all scores beyond."""
    clipped = np.clip(score, SCORE_EDGES[0], SCORE_EDGES[-1])
    counts = np.histogram(clipped, SCORE_EDGES)[0]
    return (counts / len(score)).tolist()


# ---------------------------------------------------------------- training


def probability(score: ndarray) -> ndarray:
    """Return 1 / (1 + exp(-score)), without overflow."""
    decay = np.exp(-np.abs(score))
    return np.where(score >= 0, 1.0, decay) / (1.0 + decay)


def logistic_loss(
    table: ndarray, labels: ndarray, theta: ndarray, config: CreditConfig
) -> tuple:
    """Return the mean logistic loss plus the penalty, and its gradient (p,).

    Args:
        table: Features, (n, p).
        labels: Labels, (n,).
        theta: Weights, (p,).
        config: The penalty is taken from here.
    """
    score = table @ theta
    penalties = config.penalties[-len(theta) :]
    error = probability(score) - labels
    losses = np.logaddexp(0.0, score) - labels * score
    loss = np.mean(losses) + 0.5 * penalties @ theta**2
    gradient = table.T @ error / len(labels) + penalties * theta
    return loss, gradient


def fit(
    table: ndarray, labels: ndarray, config: CreditConfig, start: Any = None
) -> ndarray:
    """Return the weights (p,) with the smallest `logistic_loss`.

    Args:
        table: Features and a last column of ones, (n, p).
        labels: Labels, (n,).
        config: The penalty is taken from here.
        start: Initial weights; zeros by default.
    """
    from scipy.optimize import minimize

    def loss(theta):
        return logistic_loss(table, labels, theta, config)

    def hessian(theta):
        p = probability(table @ theta)
        weighted = table * (p * (1 - p))[:, None]
        return weighted.T @ table / len(labels) + np.diag(
            config.penalties[-len(theta) :]
        )

    if start is None:
        start = np.zeros(table.shape[1])
    return minimize(
        loss, start, jac=True, hess=hessian, method="trust-exact", tol=1e-12
    ).x


def shifted_table(people: Borrowers, shift: Any, config: CreditConfig) -> ndarray:
    """Return a new table (n, 11) of people who have moved by `shift` (k,)."""
    table = people.table.copy()
    table[:, config.changeable_indices] += shift
    return table


def response_table(people: Borrowers, theta: ndarray, config: CreditConfig) -> ndarray:
    """Return a new table (n, 11) of people who have moved in response to weights (11,)."""
    return shifted_table(people, best_response(theta, config), config)


def retrain(people: Borrowers, theta: ndarray, config: CreditConfig) -> ndarray:
    """Return the best weights for people who have moved in response to `theta` (11,): the paper's map G(theta)."""
    table = response_table(people, theta, config)
    return fit(table, people.labels, config, start=theta)


# ---------------------------------------------------------------- without memory


def stable_point(people: Borrowers, config: CreditConfig) -> ndarray:
    """Return the stable weights, which are the best ones for people who have responded to them.

    Retraining doesn't change stable weights. They are computed as a root of the gradient, so they are found even if
    repeated retraining runs in circles.

    Raises:
        ArithmeticError: The search doesn't converge.
    """
    from scipy.optimize import root

    def gradient(theta):
        table = response_table(people, theta, config)
        return logistic_loss(table, people.labels, theta, config)[1]

    past = fit(people.table, people.labels, config)
    result = root(gradient, past, tol=1e-11)
    if np.abs(gradient(result.x)).max() > 1e-8:
        raise ArithmeticError(
            f"no stable point was found for epsilon = {config.epsilon:g} ({result.message})"
        )
    return result.x


def optimum(people: Borrowers, config: CreditConfig) -> ndarray:
    """Return the weights with the smallest loss after people have responded to them.

    The loss can have several minima. Two descents are made, and the better result is returned. The first starts from
    the best weights for people who haven't moved, the second from these without the weights of changeable features.
    """
    from scipy.optimize import minimize

    def performative(theta):
        table = response_table(people, theta, config)
        loss, gradient = logistic_loss(table, people.labels, theta, config)
        # A change of a weight also moves all people. Its effect is the mean error times the weight. The mean error is
        # the gradient of the bias without its penalty.
        error = gradient[-1] - config.penalties[-1] * theta[-1]
        changeable = config.changeable_indices
        gradient[changeable] -= config.epsilon * error * theta[changeable]
        return loss, gradient

    first = fit(people.table, people.labels, config)
    second = first.copy()
    second[config.changeable_indices] = 0.0
    results = [
        minimize(performative, start, jac=True, method="BFGS", options={"gtol": 1e-9})
        for start in (first, second)
    ]
    return min(results, key=lambda result: result.fun).x


@lru_cache(maxsize=16)
def candidate_classifiers(people: Borrowers, config: CreditConfig) -> dict:
    """Return five classifiers that a lender might publish, {name: weights}."""
    past = fit(people.table, people.labels, config)
    fixed = np.delete(np.arange(len(WEIGHTS)), config.changeable_indices)
    fixed_only = np.zeros(len(past))
    fixed_only[fixed] = fit(people.table[:, fixed], people.labels, config)
    return {
        "know nothing": np.zeros(len(past)),
        "trained on the past": past,
        "half as strong": past / 2,
        "only what cannot change": fixed_only,
        "trained once more": retrain(people, past, config),
    }
