"""The judges: simulated users trained on a history, and how far to trust each.

logistic   logistic regression with context × notification interactions; the default
plain      logistic regression without interactions
adaboost, tree, bayes   the panel of the original challenge: boosted stumps, a tree of depth 5, Gaussian naive Bayes

All of them see one-hot features and are fitted by scikit-learn; what is kept are tables (or the branches of the
tree) that give the same probabilities in well under a microsecond. Fitted tables are cached as JSON, keyed by a
checksum of the data, in a folder that is the user's own; `no_cache` does without.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.datasets.periods import Period, User
from pushlab.ground.arguments import demand, one_of
from pushlab.ground.fingerprint import fingerprint
from pushlab.ground.store import cached
from pushlab.users.simulated import Judge, SimulatedUser, TreeUser, one_hot

if TYPE_CHECKING:
    import pandas as pd

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


def fit_judge(period: Period, model: str = "logistic", seed: int = 0) -> Judge:
    """A judge trained on a Period; nothing is cached.

    model  one of MODELS
    seed   for what scikit-learn leaves to chance (ties in the tree's and the stumps' splits)

    Raises ValueError for another model, or if everything was opened or everything dismissed.
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
    return {
        "logistic": _fit_logistic,
        "plain": _fit_plain,
        "adaboost": _fit_adaboost,
        "tree": _fit_tree,
        "bayes": _fit_bayes,
    }[model](period, seed)


def judge_for(user: User, model: str | None = None) -> Judge:
    """The judge of a User, from the cache if it was fitted before.

    model  "truth" (only where it is known), one of MODELS, or None: the truth if it is known, else "logistic"
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
    """The probability from which on a notification is opened, or NaN where opening is drawn.

    opening  "sampled": a uniform number below the probability opens it (NaN)
             "threshold": 0.5, the original's rule
             "matched": where the share of the period's notifications that the judge opens comes nearest to the
             user's (a judge that gives many of them the same probability opens all of these or none)
    """
    if one_of("opening", opening, OPENINGS) != "matched":
        return float("nan") if opening == "sampled" else 0.5
    p = np.sort(judge.probability(period.context_codes, period.notification_codes))
    levels, first = np.unique(p, return_index=True)
    levels = np.append(levels, np.nextafter(p[-1], 2))
    opens = np.append(len(p) - first, 0)  # how many are opened from each level on
    return float(levels[np.abs(opens - period.opened.sum()).argmin()])


def judge_report(
    user: User, period: str = "test", judges: Mapping[str, Judge] | None = None
) -> "pd.DataFrame":
    """How well each judge foretells a period it was not trained on, a DataFrame with a row a judge.

    accuracy      share foretold rightly at a threshold of 0.5, and that of always saying the commoner answer (`base`)
    auc           probability that an opened notification is rated above a dismissed one; 0.5 is chance
    log_loss      mean negative log-likelihood in nats; smaller is better
    calibration   mean distance between probability and share opened over ten equal groups; 0 is perfect
    """
    import pandas as pd
    from sklearn.metrics import log_loss, roc_auc_score

    shown = user.periods[period]
    opened, rows = shown.opened, []
    demand(
        opened.any() and not opened.all(),
        "judges are compared on a period in which some notifications were opened and some dismissed",
    )
    for name, judge in (panel_of(user) if judges is None else judges).items():
        p = judge.probability(shown.context_codes, shown.notification_codes)
        groups = np.array_split(np.argsort(p, kind="stable"), 10)
        rows.append(
            {
                "judge": name,
                "accuracy": float(((p >= 0.5) == opened).mean()),
                "base": float(max(opened.mean(), 1 - opened.mean())),
                "auc": float(roc_auc_score(opened, p)),
                "log_loss": float(
                    log_loss(opened, np.clip(p, 1e-15, 1 - 1e-15), labels=[False, True])
                ),
                "calibration": float(
                    np.mean(
                        [abs(p[g].mean() - opened[g].mean()) for g in groups if len(g)]
                    )
                ),
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


def _tables(period, intercept, weights, name, pairs=None):
    wide = int(period.schema.context.sizes.sum())
    context, notification = (
        np.array(weights[:wide], float),
        np.array(weights[wide:], float),
    )
    shape = (len(context), len(notification))
    return SimulatedUser(
        period.schema,
        float(intercept),
        context,
        notification,
        np.zeros(shape) if pairs is None else pairs.reshape(shape),
        name,
    )


def _logistic_regression(strength=1.0, **more):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=2000, **more)


def _fit_plain(period, seed=0):
    model = _logistic_regression().fit(design(period), period.opened)
    return _tables(period, model.intercept_[0], model.coef_[0], "plain")


def _fit_logistic(period, seed=0):
    """Chooses penalty and scale by forward validation within the history, then fits all of it."""
    from scipy.sparse import csr_matrix, hstack

    singles, pairs = csr_matrix(design(period)), pair_design(period)
    common = np.flatnonzero(np.asarray(pairs.sum(axis=0)).ravel() >= RARE)
    pairs = pairs[:, common]
    designs = {
        scale: hstack([singles, pairs * scale], format="csr") for scale in SCALES
    }
    _, scale, strength = min(
        (loss, scale, strength)
        for scale in SCALES
        for strength, loss in _forward_losses(designs[scale], period.opened).items()
    )
    model = _logistic_regression(strength).fit(designs[scale], period.opened)
    weights, singles_wide = model.coef_[0], singles.shape[1]
    sizes = [
        int(half.sizes.sum())
        for half in (period.schema.context, period.schema.notification)
    ]
    table = np.zeros(sizes[0] * sizes[1])
    table[common] = weights[singles_wide:] * scale
    return _tables(
        period, model.intercept_[0], weights[:singles_wide], "logistic", table
    )


def _forward_losses(features, opened):
    """Mean log-loss, {strength: nats}, on later stretches of the history of models fitted to what came before.

    From the strongest penalty to weaker ones, each fit begun where the last ended, until a weaker one foretells worse.
    """
    from sklearn.metrics import log_loss
    from sklearn.model_selection import TimeSeriesSplit

    stretches = [
        (past, future, _logistic_regression(warm_start=True))
        for past, future in TimeSeriesSplit(FOLDS).split(opened)
        if 0 < opened[past].sum() < len(past)
    ]
    losses = {}
    for strength in STRENGTHS:
        found = [
            log_loss(
                opened[future],
                model.set_params(C=strength)
                .fit(features[past], opened[past])
                .predict_proba(features[future])[:, 1],
                labels=[False, True],
            )
            for past, future, model in stretches
        ]
        losses[strength] = np.mean(found) if found else 0.0
        if losses[strength] > min(losses.values()):
            break
    return losses


def _fit_adaboost(period, seed=0):
    """Boosted stumps: each asks about one code, so their votes add up code by code."""
    from sklearn.ensemble import AdaBoostClassifier

    model = AdaBoostClassifier(random_state=seed).fit(design(period), period.opened)
    votes = (
        np.asarray(model.estimator_weights_[: len(model.estimators_)])
        / model.estimator_weights_.sum()
    )
    intercept, weights = 0.0, np.zeros(model.n_features_in_)
    for stump, vote in zip(model.estimators_, votes):
        tree = stump.tree_
        answers = 2 * vote * np.where(tree.value[:, 0].argmax(axis=1) == 1, 1, -1)
        # A stump that asks nothing is one leaf, whose ways lead to -1: both answers are its only one, the last.
        without, with_code = (
            answers[tree.children_left[0]],
            answers[tree.children_right[0]],
        )
        intercept += without
        weights[tree.feature[0]] += with_code - without
    return _tables(period, intercept, weights, "adaboost")


def _fit_bayes(period, seed=0):
    """Gaussian naive Bayes: on a 0/1 feature each Gaussian takes two values, so log-odds add up code by code."""
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB().fit(design(period), period.opened)

    def log_density(x):
        return -0.5 * (
            np.log(2 * np.pi * model.var_) + (x - model.theta_) ** 2 / model.var_
        )

    off, on = (np.diff(log_density(x), axis=0)[0] for x in (0.0, 1.0))
    intercept = np.log(model.class_prior_[1] / model.class_prior_[0]) + off.sum()
    return _tables(period, intercept, on - off, "bayes")


def _fit_tree(period, seed=0):
    from sklearn.tree import DecisionTreeClassifier

    tree = (
        DecisionTreeClassifier(max_depth=5, random_state=seed)
        .fit(design(period), period.opened)
        .tree_
    )
    sizes = np.concatenate(
        [period.schema.context.sizes, period.schema.notification.sizes]
    )
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    component = np.searchsorted(starts, np.maximum(tree.feature, 0), side="right") - 1
    code = np.maximum(tree.feature, 0) - starts[component]
    share = tree.value[:, 0, 1] / tree.value[:, 0].sum(axis=1)
    return TreeUser(
        period.schema,
        component.astype(np.int64),
        code.astype(np.int64),
        tree.children_right.astype(np.int64),
        tree.children_left.astype(np.int64),
        share,
    )


# ---------------------------------------------------------------- the cache


def _cached(period, model):
    """Return the judge, from the user's cache if it was fitted before."""
    key = fingerprint(
        model,
        [
            [feature.name, *feature.words]
            for half in (period.schema.context, period.schema.notification)
            for feature in half
        ],
        period.context_codes,
        period.notification_codes,
        period.opened,
    )
    tables = cached(
        f"judge {model}", key, lambda: _named_tables(fit_judge(period, model))
    )
    return _read_judge(tables, period.schema)


def _named_tables(judge):
    """Return a judge's tables by name."""
    return {
        entry.name: np.asarray(getattr(judge, entry.name))
        for entry in fields(judge)
        if entry.name != "schema"
    }


def _read_judge(told, schema):
    """Return the judge of these tables."""
    if told["name"] == "tree":
        return _read_tree(told, schema)
    sizes = [int(half.sizes.sum()) for half in (schema.context, schema.notification)]
    context, notification, pairs = (
        np.array(told[key], float) for key in ("context", "notification", "pairs")
    )
    return SimulatedUser(
        schema,
        float(told["intercept"]),
        context.reshape(sizes[0]),
        notification.reshape(sizes[1]),
        pairs.reshape(sizes),
        told["name"],
    )


def _read_tree(told, schema):
    component, code, *ways = np.array(
        [told[key] for key in ("component", "code", "yes", "no")], np.int64
    )
    return TreeUser(schema, component, code, *ways, np.array(told["share"], float))
