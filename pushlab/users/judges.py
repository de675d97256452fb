"""The judges: simulated users trained on a history, and how far to trust each.

- `logistic`: logistic regression with context × notification interactions; the default
- `plain`: logistic regression without interactions
- `adaboost`, `tree`, `bayes`: the panel of the original challenge: boosted stumps, a tree of depth
  5, Gaussian naive Bayes

All of them see one-hot features and are fitted by scikit-learn; what is kept are tables (or the
branches of the tree) that give the same probabilities in well under a microsecond. Fitted tables
are cached as JSON, keyed by a checksum of the data, in a folder that is the user's own; `no_cache`
does without.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from pushlab.datasets.periods import Period, User
from pushlab.ground.arguments import demand, one_of
from pushlab.ground.store import cached, fingerprint
from pushlab.users.simulated import Judge, SimulatedUser, TreeUser, one_hot

PANEL = ("adaboost", "tree", "bayes")
MODELS = ("logistic", "plain", *PANEL)
OPENINGS = ("sampled", "threshold", "matched")

STRENGTHS = (0.1, 0.3, 1.0, 3.0)  # inverse L2 penalties tried for the default judge
SCALES = (
    0.15,
    0.3,
    0.6,
)  # and how large an interaction's feature is beside a main effect's
FOLDS = 3  # later stretches of the history that each is tried on
RARE = 3  # a pair seen less often in the history gets no weight


def fit_judge(period: Period, model: str = "logistic") -> Judge:
    """Train a judge on a Period; nothing is cached.

    Args:
        model: One of MODELS.

    Raises:
        ValueError: There is no such model, or everything was opened or everything dismissed.
    """
    one_of("a judge", model, MODELS)
    if period.opened.all() or not period.opened.any():
        did = "opened" if period.opened.all() else "dismissed"
        raise ValueError(
            f"all {len(period):,} notifications were {did}; a user who never does otherwise cannot be "
            "fitted"
        )
    demand(
        len(period) > FOLDS,
        f"{len(period)} notifications are too few to fit a judge to; it needs {FOLDS + 1}",
    )
    return FITS[model](period)


def judge_for(user: User, model: str | None = None) -> Judge:
    """Return the judge of a user, from the cache if it was fitted before.

    Args:
        user: A User.
        model: "truth" (only if it is known), one of MODELS, or None: the truth if it is known,
            else "logistic".

    Raises:
        ValueError: The truth is not known, or there is no such model.
    """
    if model is None:
        model = "truth" if user.truth is not None else "logistic"
    if model != "truth":
        return _cached(user.history, model)
    demand(
        user.truth is not None,
        f"nobody knows the true probabilities of user {user.name}; "
        f"take one of {', '.join(MODELS)}",
    )
    return SimulatedUser.from_truth(user)


def panel_of(user: User) -> dict[str, Judge]:
    """All judges that a submission is shown to, by name: the truth if known, the default, and the original's panel."""
    names = (*(("truth",) if user.truth is not None else ()), "logistic", *PANEL)
    return {name: judge_for(user, name) for name in names}


def cutoff(judge: Judge, period: Period, opening: str) -> float:
    """Return the probability from which on a notification is opened, or NaN if opening is drawn.

    Args:
        opening: The rule.

            - "sampled": a uniform number below the probability opens the notification (NaN)
            - "threshold": 0.5, the original's rule
            - "matched": the threshold at which the share of the period's notifications that the
              judge opens comes nearest to the user's (a judge that gives many of them the same
              probability opens all of these or none)
    """
    if one_of("opening", opening, OPENINGS) != "matched":
        return float("nan") if opening == "sampled" else 0.5
    p = np.sort(judge.probability(period.context_codes, period.notification_codes))
    levels, first = np.unique(p, return_index=True)
    levels = np.append(levels, np.nextafter(p[-1], 2))
    opens = np.append(len(p) - first, 0)  # how many are opened from each level on
    return float(levels[np.abs(opens - period.opened.sum()).argmin()])


def judge_report(user: User, judges: Mapping[str, Judge] | None = None) -> pd.DataFrame:
    """Compare judges on the test period, which they were not trained on.

    Args:
        judges: Judges by name; None takes `panel_of(user)`.

    Returns:
        DataFrame with a row for each judge and these columns:

        - accuracy: share predicted correctly at a threshold of 0.5
        - base: the accuracy of always predicting the commoner answer
        - auc: probability that an opened notification is rated above a dismissed one; 0.5 is chance
        - log_loss: mean negative log-likelihood in nats; smaller is better
        - calibration: mean distance between probability and share opened over ten equal groups; 0 is perfect
    """
    from sklearn.metrics import log_loss, roc_auc_score

    test = user.test
    opened = test.opened
    demand(
        opened.any() and not opened.all(),
        "judges are compared on a period in which some notifications were opened and some dismissed",
    )
    rows = []
    for name, judge in (panel_of(user) if judges is None else judges).items():
        p = judge.probability(test.context_codes, test.notification_codes)
        groups = np.array_split(np.argsort(p, kind="stable"), 10)
        gaps = [abs(p[g].mean() - opened[g].mean()) for g in groups if len(g)]
        chances = np.clip(p, 1e-15, 1 - 1e-15)
        rows.append(
            {
                "judge": name,
                "accuracy": float(((p >= 0.5) == opened).mean()),
                "base": float(max(opened.mean(), 1 - opened.mean())),
                "auc": float(roc_auc_score(opened, p)),
                "log_loss": float(log_loss(opened, chances, labels=[False, True])),
                "calibration": float(np.mean(gaps)),
            }
        )
    return pd.DataFrame(rows)


# ---------------------------------------------------------------- what the models see


def design(period: Period) -> np.ndarray:
    """Context and notification of a Period as a 0/1 array (rows, context codes + notification codes)."""
    return np.hstack(
        [
            one_hot(period.schema.context, period.context_codes),
            one_hot(period.schema.notification, period.notification_codes),
        ]
    )


def pair_design(period: Period) -> Any:
    """Which pairs of a context code and a notification code occur, sparse 0/1 (rows, codes × codes)."""
    from scipy.sparse import csr_matrix

    contexts = period.context_codes + period.schema.context.starts
    notifications = period.notification_codes + period.schema.notification.starts
    wide = int(period.schema.notification.sizes.sum())
    columns = (contexts[:, :, None] * wide + notifications[:, None, :]).reshape(
        len(period), -1
    )
    rows = np.repeat(np.arange(len(period)), columns.shape[1])
    shape = (len(period), int(period.schema.context.sizes.sum()) * wide)
    return csr_matrix((np.ones(columns.size), (rows, columns.ravel())), shape=shape)


# ---------------------------------------------------------------- the models


def _tables(period, name, intercept, weights, pairs=None):
    """Return the SimulatedUser of weights of all codes, those of the context first, and of pairs of codes."""
    wide = int(period.schema.context.sizes.sum())
    weights = np.array(weights, float)
    shape = (wide, len(weights) - wide)
    pairs = np.zeros(shape) if pairs is None else pairs.reshape(shape)
    return SimulatedUser(
        period.schema, float(intercept), weights[:wide], weights[wide:], pairs, name
    )


def _fit_plain(period):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=2000).fit(design(period), period.opened)
    return _tables(period, "plain", model.intercept_[0], model.coef_[0])


def _fit_logistic(period):
    """Choose penalty and scale by forward validation within the history, then fit all of it."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.linear_model import LogisticRegression

    singles = csr_matrix(design(period))
    pairs = pair_design(period)
    table = np.zeros(pairs.shape[1])
    common = np.flatnonzero(np.asarray(pairs.sum(axis=0)).ravel() >= RARE)
    pairs = pairs[:, common]
    designs = {}
    losses = []
    for scale in SCALES:
        designs[scale] = hstack([singles, pairs * scale], format="csr")
        for strength, loss in _forward_losses(designs[scale], period.opened).items():
            losses.append((loss, scale, strength))
    _, scale, strength = min(losses)
    model = LogisticRegression(C=strength, max_iter=2000)
    model.fit(designs[scale], period.opened)
    weights, table[common] = np.split(model.coef_[0], [singles.shape[1]])
    table *= scale
    return _tables(period, "logistic", model.intercept_[0], weights, table)


def _forward_losses(features, opened):
    """Mean log-loss, {strength: nats}, on later stretches of the history of models fitted to the earlier ones.

    From the strongest penalty to weaker ones, each fit started where the last ended, until a weaker one is worse.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.model_selection import TimeSeriesSplit

    stretches = [
        (past, future, LogisticRegression(max_iter=2000, warm_start=True))
        for past, future in TimeSeriesSplit(FOLDS).split(opened)
        if 0 < opened[past].sum() < len(past)
    ]
    losses = {}
    for strength in STRENGTHS:
        found = []
        for past, future, model in stretches:
            model.set_params(C=strength).fit(features[past], opened[past])
            chances = model.predict_proba(features[future])[:, 1]
            found.append(log_loss(opened[future], chances, labels=[False, True]))
        losses[strength] = np.mean(found) if found else 0.0
        if losses[strength] > min(losses.values()):
            break
    return losses


def _fit_adaboost(period):
    """Boosted stumps: each asks about one code, so their votes add up code by code."""
    from sklearn.ensemble import AdaBoostClassifier

    model = AdaBoostClassifier(random_state=0).fit(design(period), period.opened)
    votes = model.estimator_weights_ / model.estimator_weights_.sum()
    intercept = 0.0
    weights = np.zeros(model.n_features_in_)
    for stump, vote in zip(model.estimators_, votes):
        tree = stump.tree_
        answers = 2 * vote * np.where(tree.value[:, 0].argmax(axis=1) == 1, 1, -1)
        # A stump without a question is one leaf, whose children are -1: its only answer, the last, counts twice.
        without = answers[tree.children_left[0]]
        intercept += without
        weights[tree.feature[0]] += answers[tree.children_right[0]] - without
    return _tables(period, "adaboost", intercept, weights)


def _fit_bayes(period):
    """Gaussian naive Bayes: on a 0/1 feature each Gaussian takes two values, so log-odds add up code by code."""
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB().fit(design(period), period.opened)
    variance = model.var_
    odds = []
    for x in (0.0, 1.0):
        squares = (x - model.theta_) ** 2 / variance
        densities = -0.5 * (np.log(2 * np.pi * variance) + squares)
        odds.append(densities[1] - densities[0])
    off, on = odds
    intercept = np.log(model.class_prior_[1] / model.class_prior_[0]) + off.sum()
    return _tables(period, "bayes", intercept, on - off)


def _fit_tree(period):
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=5, random_state=0)
    tree = model.fit(design(period), period.opened).tree_
    schema = period.schema
    sizes = np.concatenate([schema.context.sizes, schema.notification.sizes])
    starts = np.cumsum(sizes) - sizes
    feature = np.maximum(tree.feature, 0)  # a leaf has -2
    component = np.searchsorted(starts, feature, side="right") - 1
    return TreeUser(
        schema,
        component.astype(np.int64),
        (feature - starts[component]).astype(np.int64),
        tree.children_right.astype(np.int64),
        tree.children_left.astype(np.int64),
        tree.value[:, 0, 1] / tree.value[:, 0].sum(axis=1),
    )


FITS = {
    "logistic": _fit_logistic,
    "plain": _fit_plain,
    "adaboost": _fit_adaboost,
    "tree": _fit_tree,
    "bayes": _fit_bayes,
}


# ---------------------------------------------------------------- the cache


def _cached(period, model):
    """Return the judge, from the user's cache if it was fitted before."""
    schema = period.schema
    features = (*schema.context, *schema.notification)
    key = fingerprint(
        model,
        [[feature.name, *feature.words] for feature in features],
        period.context_codes,
        period.notification_codes,
        period.opened,
    )
    tables = cached(f"judge {model}", key, lambda: _fields(fit_judge(period, model)))
    kind = TreeUser if model == "tree" else SimulatedUser
    arrays = {
        name: np.array(value) if isinstance(value, list) else value
        for name, value in tables.items()
    }
    return kind(schema, **arrays)


def _fields(judge):
    """Return a judge's tables by name."""
    names = [entry.name for entry in fields(judge) if entry.name != "schema"]
    return {name: getattr(judge, name) for name in names}
