"""What a published classifier costs, and where retraining leads: losses, fits, stable points, the theorem's bound."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.datasets.borrowers import FEATURES, Borrowers
from pushlab.envs.credit.people import CreditConfig, best_response, credit_config
from pushlab.ground.compiled import compiled_sums, inlined

if TYPE_CHECKING:
    import pandas as pd

BLOCK = (
    256  # people whose scores are worked on at once: they stay in the fastest memory
)
FAR = 40.0  # beyond it exp(-a) adds nothing to 1
HALVINGS = 128.0  # 2**7, see `falling`


# ---------------------------------------------------------------- the loss of many classifiers


@inlined
def falling(a):
    """exp(-a) for a from 0 up, to 2e-14 relatively: a series for a small part of a, squared seven times.

    Written out so that several are worked out at a time; a library's exp would be called one by one.
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
    """What each classifier costs: fills loss (m,), accuracy (m,) and refused (m, 2) in one pass over the people.

    columns (10, n) and labels (n,) of the people; sums (10,) the features of those who fell behind; theta (m, 11);
    shift (m, k), by which everybody has moved in the features `places` (k,); penalties (11,); score (m + BLOCK,) is
    scratch. The loss of a person with the score z and the label y is log(1 + exp(z)) - y z, and

        log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)),

    where the sum of logarithms is that of a product: one logarithm for a whole block of people.
    """
    features, people = columns.shape
    copies, offset, behind = len(loss), score[BLOCK:], 0.0
    for i in range(people):
        behind += labels[i]
    for c in range(copies):
        loss[c] = refused[c, 0] = refused[c, 1] = 0.0
        offset[c] = theta[c, features]
        for k in range(len(places)):
            offset[c] += theta[c, places[k]] * shift[c, k]
    for start in range(0, people, BLOCK):
        many = min(BLOCK, people - start)
        fell, z = labels[start : start + many], score[:many]
        for c in range(copies):
            z[:] = offset[c]
            for feature in range(features):
                weight, x = theta[c, feature], columns[feature, start : start + many]
                for i in range(many):
                    z[i] += weight * x[i]
            product, above, no, no_and_fell = 1.0, 0.0, 0.0, 0.0
            for i in range(many):
                product *= 1.0 + falling(abs(z[i]))
                above += max(z[i], 0.0)
                refuse = 1.0 if z[i] > 0.0 else 0.0
                no += refuse
                no_and_fell += refuse * fell[i]
            loss[c] += above + np.log(product)
            refused[c, 0] += no - no_and_fell
            refused[c, 1] += no_and_fell
    for c in range(copies):
        told = offset[c] * behind  # the sum of y z
        penalty = penalties[features] * theta[c, features] ** 2
        for feature in range(features):
            told += theta[c, feature] * sums[feature]
            penalty += penalties[feature] * theta[c, feature] ** 2
        loss[c] = (loss[c] - told) / people + penalty / 2
        accuracy[c] = (people - behind - refused[c, 0] + refused[c, 1]) / people
        refused[c, 0] /= people - behind
        refused[c, 1] /= behind


def published_risk(
    people: Borrowers, theta: np.ndarray, shift: np.ndarray, config: CreditConfig
) -> dict:
    """What classifiers cost on people who have moved: a dict of arrays.

    people    Borrowers
    theta     (m, 11) weights
    shift     (m, k) how far everybody's changeable features are from where they were
    returns   loss (m,) mean logistic loss and penalty; accuracy (m,); refused (m, 2) the share of those who pay back
              and of those who do not whose score is above 0
    """
    theta, shift = (
        np.ascontiguousarray(theta, np.float64),
        np.ascontiguousarray(shift, np.float64),
    )
    loss, accuracy, refused = (
        np.empty(len(theta)),
        np.empty(len(theta)),
        np.empty((len(theta), 2)),
    )
    risk_each(
        people.columns,
        people.labels,
        people.sums,
        theta,
        shift,
        config.places,
        config.penalties,
        np.empty(BLOCK + len(theta)),
        loss,
        accuracy,
        refused,
    )
    return {"loss": loss, "accuracy": accuracy, "refused": refused}


SCORES = np.linspace(
    -6, 6, 49
)  # edges of the bins in which scores are counted for pictures


def share_by_score(score: np.ndarray) -> list[float]:
    """The share of people in each bin of SCORES, those beyond the ends in the outermost bins."""
    counts = np.histogram(np.clip(score, SCORES[0], SCORES[-1]), SCORES)[0]
    return (counts / len(score)).tolist()


# ---------------------------------------------------------------- training


def probability(score: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-score)), without overflow."""
    fall = np.exp(-np.abs(score))
    return np.where(score >= 0, 1.0, fall) / (1.0 + fall)


def logistic_loss(
    table: np.ndarray, labels: np.ndarray, theta: np.ndarray, config: CreditConfig
) -> tuple:
    """Mean logistic loss and penalty of one classifier theta (p,) on a table (n, p) as it stands, and its gradient."""
    score = table @ theta
    penalties = config.penalties[-len(theta) :]
    error = probability(score) - labels
    loss = (
        np.mean(np.logaddexp(0.0, score) - labels * score) + 0.5 * penalties @ theta**2
    )
    return loss, table.T @ error / len(labels) + penalties * theta


def fit(
    table: np.ndarray,
    labels: np.ndarray,
    config: CreditConfig,
    start: Any = None,
    tolerance: float = 1e-12,
) -> np.ndarray:
    """The weights (p,) with the smallest `logistic_loss`, by Newton's method with halved steps.

    table      (n, p), a column of ones at the end
    start      where to begin; zeros by default
    tolerance  of the decrease of the loss that another step promises
    """
    theta = np.zeros(table.shape[1]) if start is None else np.array(start, np.float64)
    penalties = config.penalties[-len(theta) :]
    loss, gradient = logistic_loss(table, labels, theta, config)
    for _ in range(100):
        likely = probability(table @ theta)
        curvature = (table * (likely * (1 - likely))[:, None]).T @ table / len(
            labels
        ) + np.diag(penalties)
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        promised, share = gradient @ step, 1.0
        if not promised > tolerance:
            return theta - step
        while share > 1e-6:
            ahead, slope = logistic_loss(table, labels, theta - share * step, config)
            if ahead <= loss - 1e-4 * share * promised:
                break
            share /= 2
        else:
            return theta
        theta, loss, gradient = theta - share * step, ahead, slope
    return theta


def moved(people: Borrowers, shift: Any, config: CreditConfig) -> np.ndarray:
    """The table (n, 11) of people who have moved by shift (k,), new in memory."""
    table = people.table.copy()
    table[:, config.places] += shift
    return table


def retrain(people: Borrowers, theta: np.ndarray, config: CreditConfig) -> np.ndarray:
    """The weights that are best on the people whom the published weights theta have moved: the paper's map G(theta)."""
    return fit(
        moved(people, best_response(theta, config), config),
        people.labels,
        config,
        start=theta,
    )


def promise_table(
    people: Borrowers, epsilon: float = 1.0, config: dict | None = None
) -> pd.DataFrame:
    """What a score promises and what it costs, against how much it trusts what people can change.

    The weights are those that the people as they began would teach. Those of the features that can be changed are
    taken times `strength`: 0 leaves them out, 1 takes them as learned.

    people    Borrowers
    epsilon   how far people move for a weight of 1, in standard units
    config    other parameters, as the environment takes them
    returns   DataFrame: strength from 0 to 2, promised and paid, the loss before and after people have moved; its
              attrs["source"] says of whom
    """
    import pandas as pd

    rules = credit_config({**(config or {}), "epsilon": float(epsilon)})
    strength = np.linspace(0.0, 2.0, 81)
    theta = np.repeat(
        fit(people.table, people.labels, rules)[None], len(strength), axis=0
    )
    theta[:, rules.places] *= strength[:, None]
    move = best_response(theta, rules)
    promised, paid = (
        published_risk(people, theta, shift, rules)["loss"]
        for shift in (0 * move, move)
    )
    table = pd.DataFrame({"strength": strength, "promised": promised, "paid": paid})
    table.attrs["source"] = (
        f"{len(people):,} people, {people.source}, epsilon {epsilon:g}"
    )
    return table


# ---------------------------------------------------------------- where it leads, without memory


def stable_point(
    people: Borrowers, config: CreditConfig, start: Any = None
) -> np.ndarray:
    """Weights that are best on the very people whom they move: retraining leaves them as they are.

    Found as a root of the gradient, so also where repeated retraining runs in circles. Raises ArithmeticError if the
    search, begun at `start` (by default what the unmoved people teach), does not end.
    """
    from scipy.optimize import root

    def gradient(theta):
        return logistic_loss(
            moved(people, best_response(theta, config), config),
            people.labels,
            theta,
            config,
        )[1]

    found = root(
        gradient,
        fit(people.table, people.labels, config) if start is None else start,
        tol=1e-11,
    )
    if np.abs(gradient(found.x)).max() > 1e-8:
        raise ArithmeticError(
            f"no stable point was found for epsilon = {config.epsilon:g} ({found.message})"
        )
    return found.x


def optimum(people: Borrowers, config: CreditConfig) -> np.ndarray:
    """Weights of the smallest loss after people have answered them, as a lender who foresees the answer would publish.

    The loss need not have one minimum only; the best of the descents from the unmoved people's weights, with and
    without those of what can be changed, is returned.
    """
    from scipy.optimize import minimize

    def performative(theta):
        loss, gradient = logistic_loss(
            moved(people, best_response(theta, config), config),
            people.labels,
            theta,
            config,
        )
        # Moving a weight also moves everybody. The mean error, which times the weight is how that is felt, is the
        # gradient of the bias without its penalty.
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


def theorem_rate(people: Borrowers, config: CreditConfig) -> float:
    """Theorem 3.5's bound epsilon · beta / gamma on how much closer retraining brings two classifiers; below 1 it must
    converge.

    gamma, the strong convexity, is the l2 penalty (0 if the bias is not penalised: the theorem then says nothing, and
    the rate is infinite). beta is how fast the gradient of the loss changes as a person moves, on the mean over people,
    who all move alike: at most 1 + |theta| |x| / 4, with |theta| no longer than sqrt(2 log 2 / gamma), since weights
    that retraining gives are no worse than none.
    """
    gamma = config.penalties.min()
    if gamma == 0:
        return np.inf if config.epsilon else 0.0
    longest = np.sqrt(2 * np.log(2) / gamma)
    reach = np.mean(np.linalg.norm(people.table, axis=1)) + config.epsilon * longest
    return float(config.epsilon * (1 + longest * reach / 4) / gamma)


@lru_cache(maxsize=16)
def candidate_classifiers(people: Borrowers, config: CreditConfig) -> tuple:
    """Five classifiers that one might publish: (name, weights) pairs, worked out from the people once."""
    past = fit(people.table, people.labels, config)
    fixed = np.array([at for at in range(len(FEATURES) + 1) if at not in config.places])
    unmoved = np.zeros(len(past))
    unmoved[fixed] = fit(people.table[:, fixed], people.labels, config)
    return (
        ("know nothing", np.zeros(len(past))),
        ("trained on the past", past),
        ("half as strong", past / 2),
        ("only what cannot change", unmoved),
        ("trained once more", retrain(people, past, config)),
    )
