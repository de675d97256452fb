"""The judges: simulated users trained on a history, and how far to trust each.

logistic   logistic regression with context × notification interactions; the default
plain      logistic regression without interactions
adaboost, tree, bayes   the panel of the original challenge: boosted stumps, a tree of depth 5, Gaussian naive Bayes

All of them see one-hot features and are fitted by scikit-learn; what is kept are tables (or the branches of the
tree) that give the same probabilities in well under a microsecond. Fitted tables are cached as JSON, keyed by a
checksum of the data.
"""

import hashlib
import json
from contextlib import suppress
from dataclasses import fields

import numpy as np

from pushlab.ground.content import of_modules
from pushlab.ground.files import cache_dir, write_text
from pushlab.users.simulated import SimulatedUser, TreeUser, one_hot

PANEL = ("adaboost", "tree", "bayes")
MODELS = ("logistic", "plain", *PANEL)
OPENINGS = ("sampled", "threshold", "matched")

STRENGTHS = (0.1, 0.3, 1.0, 3.0)        # inverse L2 penalties tried for the default judge
SCALES = (0.15, 0.3, 0.6)               # and how large an interaction's feature is beside a main effect's
FOLDS = 3                               # later stretches of the history that each is tried on
RARE = 3                                # a pair seen less often in the history gets no weight


def fit_judge(period, model="logistic", seed=0):
    """A judge trained on a Period; nothing is cached.

    model  one of MODELS
    seed   for what scikit-learn leaves to chance (ties in the tree's and the stumps' splits)

    Raises ValueError for another model, or if everything was opened or everything dismissed.
    """
    if model not in MODELS:
        raise ValueError(f"a judge is one of {', '.join(MODELS)}; got {model!r}")
    if period.opened.all() or not period.opened.any():
        did = "opened" if period.opened.all() else "dismissed"
        raise ValueError(f"all {len(period):,} notifications were {did}; a user who never does otherwise cannot be "
                         "fitted")
    if len(period) <= FOLDS:
        raise ValueError(f"{len(period)} notifications are too few to fit a judge to; it needs {FOLDS + 1}")
    return {"logistic": _fit_logistic, "plain": _fit_plain, "adaboost": _fit_adaboost, "tree": _fit_tree,
            "bayes": _fit_bayes}[model](period, seed)


def judge_for(user, model=None):
    """The judge of a User, from the cache if it was fitted before.

    model  "truth" (only where it is known), one of MODELS, or None: the truth if it is known, else "logistic"
    """
    if model is None:
        model = "truth" if user.truth is not None else "logistic"
    if model == "truth":
        if user.truth is None:
            raise ValueError(f"nobody knows the true probabilities of user {user.name}; "
                             f"take one of {', '.join(MODELS)}")
        return SimulatedUser.from_truth(user)
    return _cached(user.history, model)


def panel_of(user):
    """All judges that a submission is shown to, by name: the truth if known, the default, and the original's panel."""
    names = (*(("truth",) if user.truth is not None else ()), "logistic", *PANEL)
    return {name: judge_for(user, name) for name in names}


def cutoff(judge, period, opening):
    """The probability from which on a notification is opened, or NaN where opening is drawn.

    opening  "sampled": a uniform number below the probability opens it (NaN)
             "threshold": 0.5, the original's rule
             "matched": where the share of the period's notifications that the judge opens comes nearest to the
             user's (a judge that gives many of them the same probability opens all of these or none)
    """
    if opening not in OPENINGS:
        raise ValueError(f"opening is one of {', '.join(OPENINGS)}; got {opening!r}")
    if opening == "sampled":
        return float("nan")
    if opening == "threshold":
        return 0.5
    p = np.sort(judge.probability(period.context_codes, period.notification_codes))
    levels, first = np.unique(p, return_index=True)
    levels = np.append(levels, np.nextafter(p[-1], 2))
    opens = np.append(len(p) - first, 0)            # how many are opened from each level on
    return float(levels[np.abs(opens - period.opened.sum()).argmin()])


def judge_report(user, period="test", judges=None):
    """How well each judge foretells a period it was not trained on, a DataFrame with a row a judge.

    accuracy      share foretold rightly at a threshold of 0.5, and that of always saying the commoner answer (`base`)
    auc           probability that an opened notification is rated above a dismissed one; 0.5 is chance
    log_loss      mean negative log-likelihood in nats; smaller is better
    calibration   mean distance between probability and share opened over ten equal groups; 0 is perfect
    """
    import pandas as pd
    from sklearn.metrics import log_loss, roc_auc_score

    period = user.periods[period]
    if period.opened.all() or not period.opened.any():
        raise ValueError("judges are compared on a period in which some notifications were opened and some dismissed")
    rows = []
    for name, judge in (panel_of(user) if judges is None else judges).items():
        p, opened = judge.probability(period.context_codes, period.notification_codes), period.opened
        groups = np.array_split(np.argsort(p, kind="stable"), 10)
        rows.append({"judge": name, "accuracy": float(((p >= 0.5) == opened).mean()),
                     "base": float(max(opened.mean(), 1 - opened.mean())), "auc": float(roc_auc_score(opened, p)),
                     "log_loss": float(log_loss(opened, np.clip(p, 1e-15, 1 - 1e-15), labels=[False, True])),
                     "calibration": float(np.mean([abs(p[g].mean() - opened[g].mean()) for g in groups if len(g)]))})
    return pd.DataFrame(rows)


# ---------------------------------------------------------------- what the models see

def design(period):
    """Context and notification of a Period as a 0/1 array (rows, context codes + notification codes)."""
    return np.hstack([one_hot(period.schema.context, period.context_codes),
                      one_hot(period.schema.notification, period.notification_codes)])


def pair_design(period):
    """Which pairs of a context code and a notification code occur, sparse 0/1 (rows, codes × codes)."""
    from scipy.sparse import csr_matrix

    contexts = period.context_codes + period.schema.context.starts
    notifications = period.notification_codes + period.schema.notification.starts
    wide = int(period.schema.notification.sizes.sum())
    columns = (contexts[:, :, None] * wide + notifications[:, None, :]).reshape(len(period), -1)
    rows = np.repeat(np.arange(len(period)), columns.shape[1])
    shape = (len(period), int(period.schema.context.sizes.sum()) * wide)
    return csr_matrix((np.ones(columns.size), (rows, columns.ravel())), shape=shape)


# ---------------------------------------------------------------- the models

def _tables(period, intercept, weights, name, pairs=None):
    wide = int(period.schema.context.sizes.sum())
    context, notification = np.array(weights[:wide], float), np.array(weights[wide:], float)
    shape = (len(context), len(notification))
    return SimulatedUser(period.schema, float(intercept), context, notification,
                         np.zeros(shape) if pairs is None else pairs.reshape(shape), name)


def _fit_plain(period, seed=0):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=2000).fit(design(period), period.opened)
    return _tables(period, model.intercept_[0], model.coef_[0], "plain")


def _fit_logistic(period, seed=0):
    """Chooses penalty and scale by forward validation within the history, then fits all of it."""
    from scipy.sparse import csr_matrix, hstack

    singles, pairs = csr_matrix(design(period)), pair_design(period)
    common = np.flatnonzero(np.asarray(pairs.sum(axis=0)).ravel() >= RARE)
    pairs = pairs[:, common]
    designs = {scale: hstack([singles, pairs * scale], format="csr") for scale in SCALES}
    _, scale, strength = min((loss, scale, strength) for scale in SCALES
                             for strength, loss in _forward_losses(designs[scale], period.opened).items())
    model = _logistic_regression(strength).fit(designs[scale], period.opened)
    weights, singles_wide = model.coef_[0], singles.shape[1]
    sizes = [int(half.sizes.sum()) for half in (period.schema.context, period.schema.notification)]
    table = np.zeros(sizes[0] * sizes[1])
    table[common] = weights[singles_wide:] * scale
    return _tables(period, model.intercept_[0], weights[:singles_wide], "logistic", table)


def _logistic_regression(strength=1.0, **more):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=1000, tol=1e-4, **more)


def _forward_losses(features, opened):
    """Mean log-loss, {strength: nats}, on later stretches of the history of models fitted to what came before.

    From the strongest penalty to weaker ones, each fit begun where the last ended, until a weaker one foretells worse.
    """
    from sklearn.metrics import log_loss
    from sklearn.model_selection import TimeSeriesSplit

    stretches = [(past, future, _logistic_regression(warm_start=True))
                 for past, future in TimeSeriesSplit(FOLDS).split(opened) if 0 < opened[past].sum() < len(past)]
    losses, least = {}, np.inf
    for strength in STRENGTHS:
        found = [log_loss(opened[future], model.set_params(C=strength).fit(features[past], opened[past])
                          .predict_proba(features[future])[:, 1], labels=[False, True])
                 for past, future, model in stretches]
        losses[strength] = np.mean(found) if found else 0.0
        if losses[strength] > least:
            break
        least = losses[strength]
    return losses


def _fit_adaboost(period, seed=0):
    """Boosted stumps: each asks about one code, so their votes add up code by code."""
    from sklearn.ensemble import AdaBoostClassifier

    model = AdaBoostClassifier(random_state=seed).fit(design(period), period.opened)
    votes = np.asarray(model.estimator_weights_[:len(model.estimators_)]) / model.estimator_weights_.sum()
    intercept, weights = 0.0, np.zeros(model.n_features_in_)
    for stump, vote in zip(model.estimators_, votes):
        tree = stump.tree_
        answers = [2 * vote * (1 if tree.value[node, 0].argmax() == 1 else -1) for node in range(tree.node_count)]
        if tree.node_count == 1:
            intercept += answers[0]
        else:
            without, with_code = answers[tree.children_left[0]], answers[tree.children_right[0]]
            intercept += without
            weights[tree.feature[0]] += with_code - without
    return _tables(period, intercept, weights, "adaboost")


def _fit_bayes(period, seed=0):
    """Gaussian naive Bayes: on a 0/1 feature each Gaussian takes two values, so log-odds add up code by code."""
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB().fit(design(period), period.opened)

    def log_density(x):
        return -0.5 * (np.log(2 * np.pi * model.var_) + (x - model.theta_) ** 2 / model.var_)

    off, on = (np.diff(log_density(x), axis=0)[0] for x in (0.0, 1.0))
    intercept = np.log(model.class_prior_[1] / model.class_prior_[0]) + off.sum()
    return _tables(period, intercept, on - off, "bayes")


def _fit_tree(period, seed=0):
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=5, random_state=seed).fit(design(period), period.opened).tree_
    sizes = np.concatenate([period.schema.context.sizes, period.schema.notification.sizes])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    component = np.searchsorted(starts, np.maximum(tree.feature, 0), side="right") - 1
    code = np.maximum(tree.feature, 0) - starts[component]
    share = tree.value[:, 0, 1] / tree.value[:, 0].sum(axis=1)
    return TreeUser(period.schema, component.astype(np.int64), code.astype(np.int64),
                    tree.children_right.astype(np.int64), tree.children_left.astype(np.int64), share)


# ---------------------------------------------------------------- the cache

def checksum(period, model):
    """A name for a fitted judge: it changes with data, schema, model, and the code that fits it."""
    words = [[feature.name, *feature.words] for half in (period.schema.context, period.schema.notification)
             for feature in half]
    settings = [of_modules(__name__), model]
    digest = hashlib.sha256(json.dumps([settings, words]).encode())
    for array in (period.context_codes, period.notification_codes, period.opened):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]


def _cached(period, model):
    path = cache_dir() / "judges" / f"{model}-{checksum(period, model)}.json"
    judge = _read_judge(path, period.schema)
    if judge is None:
        judge = fit_judge(period, model)
        _write_judge(path, judge)
    return judge


def _write_judge(path, judge):
    """Writes a judge's tables, whole or not at all; a cache that cannot be written to is left alone."""
    kept = {entry.name: _listed(getattr(judge, entry.name)) for entry in fields(judge) if entry.name != "schema"}
    with suppress(OSError):
        write_text(path, json.dumps(kept))


def _listed(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def _read_judge(path, schema):
    """The judge in a cache file, or None if there is none or it is damaged."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["name"] == "tree":
            arrays = {key: np.array(kept[key], float if key == "share" else np.int64)
                      for key in ("component", "code", "yes", "no", "share")}
            return _sound_tree(TreeUser(schema, **arrays))
        sizes = [int(half.sizes.sum()) for half in (schema.context, schema.notification)]
        return SimulatedUser(schema, float(kept["intercept"]), np.array(kept["context"], float).reshape(sizes[0]),
                             np.array(kept["notification"], float).reshape(sizes[1]),
                             np.array(kept["pairs"], float).reshape(sizes), kept["name"])
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def _sound_tree(judge):
    """The tree; ValueError if its nodes do not lead from the first one down to leaves."""
    nodes = np.arange(len(judge.share))
    inner = judge.yes >= 0
    sizes = [size for half in (judge.schema.context, judge.schema.notification) for size in half.sizes]
    if not (len(judge.component) == len(judge.code) == len(judge.yes) == len(judge.no) == len(nodes) > 0
            and ((judge.no >= 0) == inner).all() and (judge.component >= 0).all()
            and (judge.component < len(sizes)).all()
            and all((children[inner] > nodes[inner]).all() and (children[inner] < len(nodes)).all()
                    for children in (judge.yes, judge.no))):
        raise ValueError("not a tree")
    return judge
