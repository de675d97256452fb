"""Judges: models of a user trained on a history, and measures of their accuracy.

- `logistic`: logistic regression with context × notification interactions; the default
- `plain`: logistic regression without interactions
- `adaboost`, `tree`, `bayes`: the panel of the original challenge: boosted stumps, a tree of depth 5, and Gaussian
  naive Bayes

All of them are fitted to one-hot features by scikit-learn. The fitted model is reduced to tables of weights, or to the
branches of the tree, which give the same probabilities in well under a microsecond. These are cached as JSON in the
user's own folder, with a checksum of the data as the key. `no_cache` disables the cache.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pushlab.datasets.periods import Period, User
from pushlab.users import MODELS, OPENINGS, PANEL
from pushlab.users.simulated import Judge, SimulatedUser, TreeUser, one_hot
from pushlab.utils.arguments import require, validate_choice
from pushlab.utils.cache import fingerprint, load_or_compute

# The default judge is chosen among these by validation on later parts of the history.
INVERSE_PENALTIES = (0.1, 0.3, 1.0, 3.0)  # of the L2 penalty
PAIR_SCALES = (0.15, 0.3, 0.6)  # size of a pair's feature; a single feature has size 1
N_FOLDS = 3
MIN_PAIR_COUNT = 3  # pairs that occur less often in the history have no weight


def fit_judge(period: Period, model: str = "logistic") -> Judge:
    """Train a judge on a Period, without using the cache.

    Args:
        model: One of MODELS.

    Raises:
        ValueError: The model is unknown, the period is too short, or all its notifications have the same action.
    """
    validate_choice("a judge", model, MODELS)
    if period.opened.all() or not period.opened.any():
        action = "opened" if period.opened.all() else "dismissed"
        raise ValueError(
            f"a judge needs opened and dismissed notifications; all {len(period):,} were {action}"
        )
    require(
        len(period) > N_FOLDS,
        f"a judge needs at least {N_FOLDS + 1} notifications; got {len(period)}",
    )
    return FIT_FUNCTIONS[model](period)


def judge_for(user: User, model: str | None = None) -> Judge:
    """Return a judge of a user, fitted to the history and cached.

    Args:
        user: A User.
        model: "truth", one of MODELS, or None. "truth" is the generator of a synthetic user. None takes the truth if
            the user has one, otherwise "logistic".

    Raises:
        ValueError: The user has no truth, or the model is unknown.
    """
    if model is None:
        model = "truth" if user.truth is not None else "logistic"
    validate_choice("a judge", model, ("truth", *MODELS))
    if model != "truth":
        return _cached_judge(user.history, model)
    require(
        user.truth is not None,
        f"the true probabilities of user {user.name} are unknown; take one of {', '.join(MODELS)}",
    )
    return SimulatedUser.from_truth(user)


def judge_panel(user: User) -> dict[str, Judge]:
    """Return all judges that score a submission, by name.

    These are the truth, if the user has one, the default judge, and the original's panel.
    """
    names = ["logistic", *PANEL]
    if user.truth is not None:
        names.insert(0, "truth")
    return {name: judge_for(user, name) for name in names}


def opening_threshold(judge: Judge, period: Period, opening: str) -> float:
    """Return the smallest probability at which a judge opens a notification, or NaN if actions are random.

    Args:
        opening: The rule.

            - "sampled": a notification is opened with its probability (NaN)
            - "threshold": 0.5, the original's rule
            - "matched": the threshold at which the judge opens nearly as many of the period's notifications as the
              user did. Notifications with the same probability are all opened or all dismissed.
    """
    if validate_choice("opening", opening, OPENINGS) != "matched":
        return float("nan") if opening == "sampled" else 0.5
    p = np.sort(judge.probability(period.context_codes, period.notification_codes))
    thresholds, first = np.unique(p, return_index=True)
    thresholds = np.append(thresholds, np.nextafter(p[-1], 2))
    n_opened = np.append(len(p) - first, 0)  # at each threshold
    difference = np.abs(n_opened - period.opened.sum())
    return float(thresholds[difference.argmin()])


def judge_report(user: User, judges: Mapping[str, Judge] | None = None) -> pd.DataFrame:
    """Compare judges on the test period, to which they were not fitted.

    Args:
        judges: Judges by name; None takes `judge_panel(user)`.

    Returns:
        DataFrame with a row for each judge and these columns:

        - accuracy: fraction of correct predictions at a threshold of 0.5
        - base: accuracy of always predicting the more common action
        - auc: probability that an opened notification is rated above a dismissed one; 0.5 is chance
        - log_loss: mean negative log-likelihood in nats; smaller is better
        - calibration: mean difference between probability and fraction opened over ten equal groups; 0 is perfect
    """
    from sklearn.metrics import log_loss, roc_auc_score

    test = user.test
    opened = test.opened
    require(
        opened.any() and not opened.all(),
        "judges are compared on a test period with opened and dismissed notifications",
    )
    rows = []
    for name, judge in (judge_panel(user) if judges is None else judges).items():
        p = judge.probability(test.context_codes, test.notification_codes)
        groups = np.array_split(np.argsort(p, kind="stable"), 10)
        errors = []
        for group in groups:
            if len(group):
                errors.append(abs(p[group].mean() - opened[group].mean()))
        clipped = np.clip(p, 1e-15, 1 - 1e-15)
        rows.append(
            {
                "judge": name,
                "accuracy": float(((p >= 0.5) == opened).mean()),
                "base": float(max(opened.mean(), 1 - opened.mean())),
                "auc": float(roc_auc_score(opened, p)),
                "log_loss": float(log_loss(opened, clipped, labels=[False, True])),
                "calibration": float(np.mean(errors)),
            }
        )
    return pd.DataFrame(rows)


# ---------------------------------------------------------------- design matrices


def design_matrix(period: Period) -> np.ndarray:
    """Return one-hot contexts and notifications, a 0/1 array (rows, context codes + notification codes)."""
    return np.hstack(
        [
            one_hot(period.schema.context, period.context_codes),
            one_hot(period.schema.notification, period.notification_codes),
        ]
    )


def pair_matrix(period: Period) -> Any:
    """Return a sparse 0/1 matrix of the pairs of a context code and a notification code, (rows, codes × codes)."""
    from scipy.sparse import csr_matrix

    contexts = period.context_codes + period.schema.context.starts
    notifications = period.notification_codes + period.schema.notification.starts
    width = int(period.schema.notification.sizes.sum())
    pairs = contexts[:, :, None] * width + notifications[:, None, :]
    columns = pairs.reshape(len(period), -1)
    rows = np.repeat(np.arange(len(period)), columns.shape[1])
    n_context_codes = int(period.schema.context.sizes.sum())
    shape = (len(period), n_context_codes * width)
    ones = np.ones(columns.size)
    return csr_matrix((ones, (rows, columns.ravel())), shape=shape)


# ---------------------------------------------------------------- the models


def _simulated_user(period, name, intercept, weights, pairs=None):
    """Return a SimulatedUser of the weights of all codes, first of the context's, and of pairs of codes."""
    width = int(period.schema.context.sizes.sum())
    weights = np.array(weights, float)
    shape = (width, len(weights) - width)
    pairs = np.zeros(shape) if pairs is None else pairs.reshape(shape)
    return SimulatedUser(
        schema=period.schema,
        intercept=float(intercept),
        context=weights[:width],
        notification=weights[width:],
        pairs=pairs,
        name=name,
    )


def _fit_plain(period):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=2000).fit(design_matrix(period), period.opened)
    return _simulated_user(period, "plain", model.intercept_[0], model.coef_[0])


def _fit_logistic(period):
    """Choose the penalty and the scale by forward validation, then fit the entire history."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.linear_model import LogisticRegression

    singles = csr_matrix(design_matrix(period))
    pairs = pair_matrix(period)
    pair_weights = np.zeros(pairs.shape[1])
    counts = np.asarray(pairs.sum(axis=0)).ravel()
    is_common = counts >= MIN_PAIR_COUNT
    pairs = pairs[:, np.flatnonzero(is_common)]
    designs = {}
    losses = []
    for scale in PAIR_SCALES:
        designs[scale] = hstack([singles, pairs * scale], format="csr")
        for penalty, loss in _forward_losses(designs[scale], period.opened).items():
            losses.append((loss, scale, penalty))
    _, scale, penalty = min(losses)
    model = LogisticRegression(C=penalty, max_iter=2000)
    model.fit(designs[scale], period.opened)
    weights, common_weights = np.split(model.coef_[0], [singles.shape[1]])
    pair_weights[is_common] = common_weights
    pair_weights *= scale
    return _simulated_user(
        period, "logistic", model.intercept_[0], weights, pair_weights
    )


def _forward_losses(features, opened):
    """Return the mean log-loss of models fitted to earlier parts of a history on later parts.

    Penalties become weaker until the loss rises. Each fit starts from the previous one.

    Returns:
        {inverse penalty: nats}.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.model_selection import TimeSeriesSplit

    folds = [
        (past, future, LogisticRegression(max_iter=2000, warm_start=True))
        for past, future in TimeSeriesSplit(N_FOLDS).split(opened)
        if 0 < opened[past].sum() < len(past)
    ]
    losses = {}
    for penalty in INVERSE_PENALTIES:
        fold_losses = []
        for past, future, model in folds:
            model.set_params(C=penalty).fit(features[past], opened[past])
            predicted = model.predict_proba(features[future])[:, 1]
            loss = log_loss(opened[future], predicted, labels=[False, True])
            fold_losses.append(loss)
        losses[penalty] = np.mean(fold_losses) if fold_losses else 0.0
        if losses[penalty] > min(losses.values()):
            break
    return losses


def _fit_adaboost(period):
    """Fit boosted stumps. A stump depends on one code, so the votes are a sum over codes."""
    from sklearn.ensemble import AdaBoostClassifier

    model = AdaBoostClassifier(random_state=0).fit(design_matrix(period), period.opened)
    votes = model.estimator_weights_ / model.estimator_weights_.sum()
    intercept = 0.0
    weights = np.zeros(model.n_features_in_)
    for stump, vote in zip(model.estimators_, votes):
        tree = stump.tree_
        is_open = tree.value[:, 0].argmax(axis=1) == 1
        predictions = np.where(is_open, 1, -1)
        log_odds = 2 * vote * predictions
        # The children of a single leaf are -1, so both are this leaf, the last node.
        inactive = log_odds[tree.children_left[0]]
        intercept += inactive
        weights[tree.feature[0]] += log_odds[tree.children_right[0]] - inactive
    return _simulated_user(period, "adaboost", intercept, weights)


def _fit_bayes(period):
    """Fit Gaussian naive Bayes. Features are 0 or 1, so the log-odds are a sum over codes."""
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB().fit(design_matrix(period), period.opened)
    variance = model.var_
    log_odds = []
    for x in (0.0, 1.0):
        squares = (x - model.theta_) ** 2 / variance
        log_densities = -0.5 * (np.log(2 * np.pi * variance) + squares)
        log_odds.append(log_densities[1] - log_densities[0])
    inactive, active = log_odds
    dismissed, opened = model.class_prior_
    intercept = np.log(opened / dismissed) + inactive.sum()
    return _simulated_user(period, "bayes", intercept, active - inactive)


def _fit_tree(period):
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=5, random_state=0)
    tree = model.fit(design_matrix(period), period.opened).tree_
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


FIT_FUNCTIONS = {
    "logistic": _fit_logistic,
    "plain": _fit_plain,
    "adaboost": _fit_adaboost,
    "tree": _fit_tree,
    "bayes": _fit_bayes,
}


# ---------------------------------------------------------------- the cache


def _cached_judge(period, model):
    """Return the judge fitted to a period, from the user's cache if possible."""
    schema = period.schema
    features = (*schema.context, *schema.notification)
    key = fingerprint(
        model,
        [[feature.name, *feature.words] for feature in features],
        period.context_codes,
        period.notification_codes,
        period.opened,
    )
    stored = load_or_compute(
        f"judge {model}", key, lambda: _stored_fields(fit_judge(period, model))
    )
    judge_class = TreeUser if model == "tree" else SimulatedUser
    arguments = {
        name: np.array(value) if isinstance(value, list) else value
        for name, value in stored.items()
    }
    return judge_class(schema, **arguments)


def _stored_fields(judge):
    """Return a judge's fields by name, without the schema."""
    return {name: value for name, value in vars(judge).items() if name != "schema"}
