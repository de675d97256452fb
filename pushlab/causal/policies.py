"""Whom to treat, learned from a log: a small tree, grown on a score for each unit.

The score ought to be, on average over units that look alike, what treating them changes. It may be the difference of
two predictions, or that corrected by weighted surprises. Either needs every confounder among the covariates.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pushlab.causal.compare import _adjusted, without_mediator
from pushlab.causal.draws import CausalData
from pushlab.causal.estimators import DoublyRobust, RegressionAdjustment
from pushlab.causal.experiments import experiment
from pushlab.ground.arguments import demand, one_of

LEARNERS = (
    "regression",
    "curved regression",
    "doubly robust",
)  # the scores that have a name
FRESH = 20_000  # units on which policies are judged
BESIDE = (
    "nobody",
    "everybody",
    "chance",
    "as logged",
    "best",
)  # that every table of values has


class TreatmentPolicy(NamedTuple):
    """Whom to treat: those of whom the tree says that it changes the outcome for the better, by more than the cost."""

    name: str
    tree: Any  # a fitted regressor of the score
    features: tuple  # names of covariates
    sign: float  # 1: higher is better
    cost: float

    def treats(self, covariates: pd.DataFrame) -> np.ndarray:
        """(units,) bool for a DataFrame of covariates."""
        return (
            self.sign
            * self.tree.predict(covariates[list(self.features)].to_numpy(np.float64))
            > self.cost
        )

    def __str__(self) -> str:
        from sklearn.tree import export_text

        return export_text(
            self.tree, feature_names=list(self.features), decimals=2
        ).rstrip()


def learn_policy(
    data: CausalData,
    scores: Any = "doubly robust",
    features: Any = None,
    better: Any = None,
    cost: Any = None,
    depth: int = 3,
    fewest: Any = None,
    seed: int = 0,
) -> TreatmentPolicy:
    """A TreatmentPolicy learned from a CausalData: a tree that predicts the scores, and the cost it has to pass.

    scores    "regression": two straight lines, for the treated and for the others, and the difference of what they
              predict; "curved regression", with squares and products; "doubly robust"; or an estimator whose scores
              are to be used
    features  covariates that the policy may look at; None is all that were known at the decision
    better    "higher" or "lower" outcomes; None is what the data's experiment says, or else higher
    cost      of treating, in the unit of the outcome; None likewise, or else 0
    depth     of the tree
    fewest    units in a leaf; None is a twentieth of all
    seed      of the folds

    The effect is learned and then compared with the cost. The tree is not chosen for what its policy gains, as in Athey
    & Wager (2021), Econometrica 89(1), 133-161.

    Source  with regressions the T-learner of Künzel, Sekhon, Bickel & Yu (2019), PNAS 116(10), 4156-4165; with doubly
            robust scores the DR-learner of Kennedy (2023), Electronic Journal of Statistics 17(2), 3008-3049, of which
            the second regression is the tree
    """
    from sklearn.tree import DecisionTreeRegressor

    one_of("better", better, (None, "higher", "lower"))
    estimator = _scorer(scores) if isinstance(scores, str) else scores
    known = without_mediator(data)
    features = (
        known
        if features is None
        else [features]
        if isinstance(features, str)
        else list(features)
    )
    for name in features:
        one_of("what a policy looks at, known at the decision,", name, known)
    covariates, _ = _adjusted(data, known)
    values = estimator.scores(
        covariates, data.treated, data.outcome, np.random.default_rng(seed)
    ).values
    tree = DecisionTreeRegressor(
        max_depth=depth, min_samples_leaf=fewest or max(5, len(data) // 20)
    )
    tree.fit(data.covariates[features].to_numpy(np.float64), values)
    better = better or (data.source.better if data.source else "higher")
    cost = (data.source.cost if data.source else 0.0) if cost is None else cost
    name = scores if isinstance(scores, str) else scores.name
    return TreatmentPolicy(
        name, tree, tuple(features), 1.0 if better == "higher" else -1.0, float(cost)
    )


def _scorer(name):
    """The estimator whose scores have this name."""
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    if one_of("scores, unless it is an estimator,", name, LEARNERS) == "doubly robust":
        return DoublyRobust()
    line = LinearRegression()
    return RegressionAdjustment(
        line if name == "regression" else make_pipeline(PolynomialFeatures(2), line)
    )


def policy_values(
    model: Any, policies: Any = (), n: int = FRESH, seed: int = 1_000_003
) -> pd.DataFrame:
    """What policies are truly worth, found by simulating each unit both ways, a DataFrame with a row a policy.

    model     a simulator's name or an Experiment
    policies  TreatmentPolicies, whose names differ, or {name: function of a DataFrame of covariates → bool (units,)}
    n, seed   fresh units, which no log has seen
    returns   policy, treats (share of units), value (mean outcome, so that higher is better: less the cost of
              treating, and with its sign turned where lower is better), gain (over treating nobody), reached (of the
              gain that the best reaches over chance; below 0 is worse than chance)

    Beside the policies given stand nobody, everybody, "chance" (each with probability a half), "as logged" (the one
    that wrote the confounded log) and "best", which knows the effect on each unit.

    >>> table = policy_values("lotka_volterra", n=500).set_index("policy")
    >>> table["value"].idxmax(), table.loc["best", "reached"].item()
    ('best', 1.0)
    """
    trial = experiment(model)
    units = trial.units(n, np.random.default_rng(seed))
    gains = trial.sign * units.effects - trial.cost
    policies = _by_name(policies)
    chances = {
        "nobody": 0.0,
        "everybody": 1.0,
        "chance": 0.5,
        "as logged": trial.propensities(units.covariates),
        **{
            name: _shares(name, treats(units.covariates), n)
            for name, treats in policies.items()
        },
        "best": gains > 0,
    }
    chances = {
        name: np.broadcast_to(np.asarray(share, np.float64), (n,))
        for name, share in chances.items()
    }
    base = float(trial.sign * units.outcomes[:, 0].mean())
    rows = [
        {
            "policy": name,
            "treats": share.mean(),
            "value": base + (share * gains).mean(),
            "gain": (share * gains).mean(),
        }
        for name, share in chances.items()
    ]
    table = pd.DataFrame(rows)
    by_chance, best = table["gain"][2], table["gain"].iloc[-1]
    table["reached"] = (table["gain"] - by_chance) / (best - by_chance)
    return table


def _by_name(policies):
    """{name: function} of TreatmentPolicies (one, or several) or of such a dict, whose names differ."""
    if not isinstance(policies, dict):
        policies = (
            [policies] if isinstance(policies, TreatmentPolicy) else list(policies)
        )
        names = [one.name for one in policies]
        demand(
            len(set(names)) == len(names),
            f"policies have names that differ; got {', '.join(names)}; give "
            f"{{name: policy.treats}} instead",
        )
        policies = {one.name: one.treats for one in policies}
    for name in BESIDE:
        demand(
            name not in policies,
            f"{name!r} is in the table anyway; give the policy another name",
        )
    return policies


def _shares(name, treated, n):
    shares = np.asarray(treated, np.float64)
    demand(
        shares.shape == (n,) and ((shares >= 0) & (shares <= 1)).all(),
        f"policy {name!r} says for each of {n} units whether it is treated; got an array {shares.shape}",
    )
    return shares
