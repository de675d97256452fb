"""Strategic classification: people change what a credit score looks at, as far as the better score
is worth it.

A lender publishes the weights theta of a score, theta · x, which are the log-odds of falling
behind: lower is better. A person with features x gains -theta · x' from showing x' instead, and
pays |x' - x|² / (2 epsilon) for it. Some features can be changed, others can't. The best response
is

- x' = x - epsilon theta: in the features that can be changed, x' = x in the others:

everybody moves by the same step against the weights. Whether they fall behind doesn't change: it is
gaming.

Source: Perdomo, Zrnic, Mendler-Dünner & Hardt (2020), Performative Prediction, ICML, section 5;
after Hardt, Megiddo, Papadimitriou & Wootters (2016), Strategic Classification, ITCS. Written from
the simulator in WhyNot 0.12 and the authors' published code, not from the paper's page: the
response and the features that can be changed are theirs, and so is the preset "whynot". The other
values are ours, chosen so that the response is visible. Both leave the bias out of the penalty.
`penalise_bias` counts it, since the loss is strongly convex only then, as the paper's theorem 3.5
demands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from pushlab.datasets.borrowers import BIAS, FEATURES, Borrowers
from pushlab.envs.ode.models import changed
from pushlab.ground.arguments import (
    flag,
    number,
    some_of,
    whole,
)
from pushlab.ground.compiled import compiled_sums, inlined

if TYPE_CHECKING:
    import pandas as pd

# The weights of a classifier, in the order of every array; the last has no feature.
WEIGHTS = (*FEATURES, BIAS)
MOST = 1e6  # of epsilon and the penalty
PRESETS = {"whynot": {"epsilon": 0.1, "l2_penalty": 0.0, "end_time": 5}}


@dataclass(frozen=True)
class CreditConfig:
    """What people and lender are like. Features and steps are in standard units, times in rounds.

    Attributes:
        epsilon: How far people move for a weight of 1.
        changeable: Names of the features that can be changed.
        l2_penalty: Half of it times the squared length of the weights is added to the loss.
        penalise_bias: Whether the bias counts as one of those weights.
        memory: Whether people move on from where they are, or each round from where they began.
        start_time, end_time: When an episode begins and ends.
    """

    epsilon: float = 1.0
    changeable: tuple = (FEATURES[0], FEATURES[5], FEATURES[7])
    l2_penalty: float = 0.01
    penalise_bias: bool = True
    memory: bool = False
    start_time: int = 0
    end_time: int = 25

    @cached_property
    def places(self) -> ndarray:
        """Positions of the features that can be changed, int64 (k,)."""
        return np.array([FEATURES.index(name) for name in self.changeable], np.int64)

    @cached_property
    def penalties(self) -> ndarray:
        """The l2 penalty of each weight, (11,)."""
        penalties = np.full(len(WEIGHTS), self.l2_penalty, np.float64)
        penalties[-1] *= self.penalise_bias
        return penalties


def credit_config(changes: Any = None, preset: str | None = None) -> CreditConfig:
    """Return the parameters, changed by a preset and then by `changes`, a dict or a CreditConfig.

    Raises:
        ValueError: A parameter is unknown or its value is wrong.

    >>> credit_config({"epsilon": 3.0, "changeable": ["age"]}).changeable
    ('age',)
    """
    config = changed("credit", CreditConfig(), PRESETS, changes, preset)
    for name in ("epsilon", "l2_penalty"):
        number(f"config: {name}", getattr(config, name), 0, MOST)
    for name in ("penalise_bias", "memory"):
        flag(f"config: {name}", getattr(config, name))
    start = whole("config: start_time", config.start_time)
    whole("config: end_time", config.end_time, start + 1)
    names = some_of("config: changeable", config.changeable, FEATURES)
    return replace(config, changeable=names)


def best_response(theta: Any, config: CreditConfig) -> ndarray:
    """Return how far people move the features in config.changeable, (..., 11) → (..., k)."""
    return -config.epsilon * np.asarray(theta)[..., config.places]


def cost(move: Any, config: CreditConfig) -> ndarray:
    """Return the cost of a move (..., k) for a person, in the unit of the score; infinite if epsilon is 0."""
    squares = np.sum(np.square(move), axis=-1)
    if config.epsilon == 0:
        return np.where(squares > 0, np.inf, 0.0)
    return squares / (2 * config.epsilon)


# ---------------------------------------------------------------- the loss of many classifiers

BLOCK = 256  # people whose scores are computed at once: they stay in the fastest memory
FAR = 40.0  # beyond it exp(-a) adds nothing to 1
HALVINGS = 128.0  # 2**7, see `exp_minus`


@inlined
def exp_minus(a):
    """Return exp(-a) for a from 0 up, to a relative 2e-14: a series for a small part of a, squared seven times.

    Written out so that several are computed at a time; exp of a library would be called one by one.
    """
    t = -min(a, FAR) / HALVINGS
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


@compiled_sums
def risk_each(
    columns,
    labels,
    sums,
    theta,
    shift,
    places,
    penalties,
    score,
    loss,
    accuracy,
    refused,
):
    """Fill loss (m,), accuracy (m,) and refused (m, 2) of classifiers in one pass over the people.

    The loss of a person with the score z and the label y is log(1 + exp(z)) - y z, and

        log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)).

    The sum of logarithms is that of a product: one logarithm for a whole block of people.

    Args:
        columns, labels: Features (10, n) and labels (n,) of the people.
        sums: Sums of the features of those who fell behind, (10,).
        theta: Weights, (m, 11).
        shift: How far everybody has moved in the features `places` (k,), (m, k).
        penalties: Of each weight, (11,).
        score: Scratch, (m + BLOCK,).
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
        for k in range(len(places)):
            offset[c] += theta[c, places[k]] * shift[c, k]
    for start in range(0, people, BLOCK):
        many = min(BLOCK, people - start)
        fell = labels[start : start + many]
        z = score[:many]
        for c in range(copies):
            z[:] = offset[c]
            for feature in range(features):
                weight = theta[c, feature]
                x = columns[feature, start : start + many]
                for i in range(many):
                    z[i] += weight * x[i]
            product = 1.0
            above = 0.0
            no = 0.0
            no_and_fell = 0.0
            for i in range(many):
                product *= 1.0 + exp_minus(abs(z[i]))
                above += max(z[i], 0.0)
                refuse = 1.0 if z[i] > 0.0 else 0.0
                no += refuse
                no_and_fell += refuse * fell[i]
            loss[c] += above + np.log(product)
            refused[c, 0] += no - no_and_fell
            refused[c, 1] += no_and_fell
    for c in range(copies):
        labelled = offset[c] * behind  # the sum of y z
        penalty = penalties[features] * theta[c, features] ** 2
        for feature in range(features):
            labelled += theta[c, feature] * sums[feature]
            penalty += penalties[feature] * theta[c, feature] ** 2
        loss[c] = (loss[c] - labelled) / people + penalty / 2
        accuracy[c] = (people - behind - refused[c, 0] + refused[c, 1]) / people
        refused[c, 0] /= people - behind
        refused[c, 1] /= behind


def published_risk(
    people: Borrowers, theta: ndarray, shift: ndarray, config: CreditConfig
) -> dict:
    """Return losses, accuracies and refusals of classifiers on people who have moved, a dict of arrays.

    Args:
        people: Borrowers.
        theta: Weights, (m, 11).
        shift: How far everybody's changeable features have moved, (m, k).

    Returns:
        loss (m,), mean logistic loss and penalty; accuracy (m,); refused (m, 2), the share of those who pay back and of
        those who don't whose score is above 0.
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
        config.places,
        config.penalties,
        np.empty(BLOCK + len(theta)),
        *risk.values(),
    )
    return risk


# Edges of the bins in which scores are counted for pictures.
SCORES = np.linspace(-6, 6, 49)


def share_by_score(score: ndarray) -> list[float]:
    """Return the share of people in each bin of SCORES; those beyond the ends are in the outermost bins."""
    counts = np.histogram(np.clip(score, SCORES[0], SCORES[-1]), SCORES)[0]
    return (counts / len(score)).tolist()


# ---------------------------------------------------------------- training


def probability(score: ndarray) -> ndarray:
    """Return 1 / (1 + exp(-score)), without overflow."""
    fall = np.exp(-np.abs(score))
    return np.where(score >= 0, 1.0, fall) / (1.0 + fall)


def logistic_loss(
    table: ndarray, labels: ndarray, theta: ndarray, config: CreditConfig
) -> tuple:
    """Return the mean logistic loss and penalty of a classifier theta (p,) on a table (n, p), and its gradient."""
    score = table @ theta
    penalties = config.penalties[-len(theta) :]
    error = probability(score) - labels
    loss = (
        np.mean(np.logaddexp(0.0, score) - labels * score) + 0.5 * penalties @ theta**2
    )
    return loss, table.T @ error / len(labels) + penalties * theta


def fit(
    table: ndarray, labels: ndarray, config: CreditConfig, start: Any = None
) -> ndarray:
    """Return the weights (p,) with the smallest `logistic_loss`, by Newton's method with halved steps.

    Args:
        table: (n, p), a column of ones at the end.
        labels: (n,).
        config: For the penalty.
        start: First weights; zeros by default.
    """
    theta = np.zeros(table.shape[1]) if start is None else np.array(start, np.float64)
    penalties = config.penalties[-len(theta) :]
    loss, gradient = logistic_loss(table, labels, theta, config)
    for _ in range(100):
        chance = probability(table @ theta)
        weighted = table * (chance * (1 - chance))[:, None]
        curvature = weighted.T @ table / len(labels) + np.diag(penalties)
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        promised = gradient @ step  # decrease of the loss
        if not promised > 1e-12:
            return theta - step
        share = 1.0
        while share > 1e-6:
            ahead, slope = logistic_loss(table, labels, theta - share * step, config)
            if ahead <= loss - 1e-4 * share * promised:
                break
            share /= 2
        else:
            return theta
        theta = theta - share * step
        loss = ahead
        gradient = slope
    return theta


def moved(people: Borrowers, shift: Any, config: CreditConfig) -> ndarray:
    """Return a new table (n, 11) of people who have moved by shift (k,)."""
    table = people.table.copy()
    table[:, config.places] += shift
    return table


def answered(people: Borrowers, theta: ndarray, config: CreditConfig) -> ndarray:
    """Return a new table (n, 11) of people who have moved in response to weights (11,)."""
    return moved(people, best_response(theta, config), config)


def retrain(people: Borrowers, theta: ndarray, config: CreditConfig) -> ndarray:
    """Return the weights that are best on the people whom weights (11,) have moved: the paper's map G(theta)."""
    return fit(answered(people, theta, config), people.labels, config, start=theta)


def promise_table(people: Borrowers, epsilon: float = 1.0) -> pd.DataFrame:
    """Compute what a score promises and what it costs, against how much it trusts what people can change.

    The weights are the best for people as they began. Those of the features that can be changed are multiplied by
    `strength`: 0 leaves them out, 1 takes them as learned.

    Args:
        people: Borrowers.
        epsilon: How far people move for a weight of 1, in standard units.

    Returns:
        DataFrame: strength from 0 to 2, promised and paid, the loss before and after people have moved.
        attrs["source"] describes the people.
    """
    import pandas as pd

    config = credit_config({"epsilon": float(epsilon)})
    strength = np.linspace(0.0, 2.0, 81)
    past = fit(people.table, people.labels, config)
    theta = np.repeat(past[None], len(strength), axis=0)
    theta[:, config.places] *= strength[:, None]
    move = best_response(theta, config)
    promised = published_risk(people, theta, 0 * move, config)["loss"]
    paid = published_risk(people, theta, move, config)["loss"]
    table = pd.DataFrame({"strength": strength, "promised": promised, "paid": paid})
    source = f"{len(people):,} people, {people.source}, epsilon {epsilon:g}"
    table.attrs["source"] = source
    return table


# ---------------------------------------------------------------- without memory


def stable_point(people: Borrowers, config: CreditConfig) -> ndarray:
    """Return weights that are best on the very people whom they move: retraining leaves them as they are.

    They are a root of the gradient, so they are found even if repeated retraining runs in circles. Raises
    ArithmeticError if the search doesn't converge.
    """
    from scipy.optimize import root

    def gradient(theta):
        table = answered(people, theta, config)
        return logistic_loss(table, people.labels, theta, config)[1]

    past = fit(people.table, people.labels, config)
    found = root(gradient, past, tol=1e-11)
    if np.abs(gradient(found.x)).max() > 1e-8:
        raise ArithmeticError(
            f"no stable point was found for epsilon = {config.epsilon:g} ({found.message})"
        )
    return found.x


def optimum(people: Borrowers, config: CreditConfig) -> ndarray:
    """Return the weights with the smallest loss after people have responded, as a lender with foresight publishes.

    The loss can have several minima. The better of two descents is returned: from the weights that are best on unmoved
    people, with and without those of what can be changed.
    """
    from scipy.optimize import minimize

    def performative(theta):
        table = answered(people, theta, config)
        loss, gradient = logistic_loss(table, people.labels, theta, config)
        # A change of a weight also moves everybody. Its effect is the mean error times the weight. The mean error is
        # the gradient of the bias without its penalty.
        error = gradient[-1] - config.penalties[-1] * theta[-1]
        gradient[config.places] -= config.epsilon * error * theta[config.places]
        return loss, gradient

    first = fit(people.table, people.labels, config)
    second = first.copy()
    second[config.places] = 0.0
    ends = [
        minimize(performative, start, jac=True, method="BFGS", options={"gtol": 1e-9})
        for start in (first, second)
    ]
    return min(ends, key=lambda end: end.fun).x


@lru_cache(maxsize=16)
def candidate_classifiers(people: Borrowers, config: CreditConfig) -> dict:
    """Return five classifiers that a lender might publish, {name: weights}."""
    past = fit(people.table, people.labels, config)
    fixed = np.delete(np.arange(len(WEIGHTS)), config.places)
    unmoved = np.zeros(len(past))
    unmoved[fixed] = fit(people.table[:, fixed], people.labels, config)
    return {
        "know nothing": np.zeros(len(past)),
        "trained on the past": past,
        "half as strong": past / 2,
        "only what cannot change": unmoved,
        "trained once more": retrain(people, past, config),
    }
