"""Four estimators of an average effect, from treatments, outcomes and covariates of units.

An estimator has a `name` and `scores(covariates, treated, outcome, rng)`, which returns a score for each unit: the
estimate plus the unit's influence on it. The mean of the scores is the estimate, and their spread gives its standard
error. `estimate` accepts any object with these two attributes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pushlab.utils.arguments import require, validate_integer, validate_number

CLIP = 0.02  # smallest propensity; the largest is 1 - CLIP


class Scores(NamedTuple):
    """Scores of the units of a data set.

    Attributes:
        values: Scores (units,); their mean is the estimate.
        propensity: Estimated and clipped propensities (units,), or None.
        clipped: Number of units with a clipped propensity.
    """

    values: np.ndarray
    propensity: Any = None
    clipped: int = 0


class DifferenceInMeans:
    """Mean outcome of treated units less the mean of untreated ones; unbiased only if treatment was randomised."""

    name = "difference in means"

    def scores(self, covariates: Any, treated: Any, outcome: Any, rng: Any) -> Scores:
        n = len(treated)
        values = np.empty(n)
        for arm, sign in ((treated, 1.0), (~treated, -1.0)):
            count = arm.sum()
            # Makes the variance within an arm unbiased.
            correction = np.sqrt(count / max(count - 1, 1))
            residual = outcome[arm] - outcome[arm].mean()
            values[arm] = sign * n / count * correction * residual
        treated_mean = outcome[treated].mean()
        other_mean = outcome[~treated].mean()
        return Scores(values + treated_mean - other_mean)


class RegressionAdjustment:
    """Predicts both outcomes of every unit by least squares, with one linear model for each arm.

    It is unbiased if the linear models are correct or if treatment was randomised. The standard error has a correction
    for small samples.

    Source:
        Lin (2013), Agnostic notes on regression adjustments to experimental data, Ann. Appl. Stat. 7(1), 295-318.
    """

    name = "regression"

    def scores(self, covariates: Any, treated: Any, outcome: Any, rng: Any) -> Scores:
        n = len(outcome)
        design = np.column_stack([np.ones(n), standardised(covariates)])
        difference = np.zeros(n)
        influence = np.zeros(n)
        centre = design.mean(axis=0)
        for arm, sign in ((treated, 1.0), (~treated, -1.0)):
            x = design[arm]
            inverse = np.linalg.pinv(x.T @ x)
            weights = inverse @ (x.T @ outcome[arm])
            leverage = np.einsum("ij,jk,ik->i", x, inverse, x)
            # The leave-one-out residual.
            residual = outcome[arm] - x @ weights
            residual /= np.maximum(1 - leverage, 0.05)
            difference += sign * (design @ weights)
            influence[arm] += sign * n * (x @ (inverse @ centre)) * residual
        return Scores(difference + influence - influence.mean())


class InverseWeighting:
    """Weights each unit by the inverse probability of its treatment, so that both groups represent all units.

    It is unbiased if the logistic regression of treatment is correct and no propensity is near 0 or 1. Weights are
    normalised in each group. Propensities are clipped to [`clip`, 1 - `clip`]. More clipping decreases the variance,
    but adds a bias that no interval covers: see `data/causal/clips.csv`. The standard error accounts for the
    estimation of the propensities.

    Args:
        clip: Smallest propensity, below 0.5. With 0, nothing is clipped.

    Source:
        Horvitz & Thompson (1952), JASA 47, 663-685, and Hájek (1971), who divides by the sum of the weights; for
        estimated propensities, Lunceford & Davidian (2004), Statistics in Medicine 23, 2937-2960.
    """

    name = "inverse weighting"

    def __init__(self, clip: float = CLIP):
        self.clip = validate_number("clip", clip, 0, below=0.5)

    def scores(self, covariates: Any, treated: Any, outcome: Any, rng: Any) -> Scores:
        x = standardised(covariates)
        raw = fit_propensities(x, treated)
        e = np.clip(raw, self.clip, 1 - self.clip)
        t = treated.astype(float)
        weights = np.where(treated, 1 / e, 1 / (1 - e))
        means = [
            np.average(outcome[arm], weights=weights[arm])
            for arm in (treated, ~treated)
        ]
        residuals = outcome - np.where(treated, *means)
        mean_weights = np.where(
            treated, (weights * t).mean(), (weights * (1 - t)).mean()
        )
        signs = np.where(treated, 1.0, -1.0)
        influence = signs * weights * residuals / mean_weights
        # Subtract the unit's influence through the logistic regression.
        design = np.column_stack([np.ones(len(t)), x])
        odds = np.where(treated, (1 - e) / e, e / (1 - e))
        slope = (odds * residuals) @ design / len(t)
        variances = e * (1 - e)
        information = (design * variances[:, None]).T @ design / len(t)
        adjustment = np.linalg.pinv(information) @ slope
        influence -= (t - e) * (design @ adjustment)
        values = means[0] - means[1] + influence - influence.mean()
        return Scores(values, e, int((raw != e).sum()))


class DoublyRobust:
    """Predicts both outcomes, and corrects the predictions by weighted errors.

    It is consistent if the outcome model or the propensity model is correct. In small samples the errors of both models
    multiply: with 50 units, a linear outcome model is better than the default, see `data/causal/nuisances.csv`.
    Predictions are cross-fitted: each unit is predicted by models that were fitted to the other folds. Propensities are
    predicted by a logistic regression with scikit-learn's default penalty. So that no outlier dominates the estimate,
    predicted outcomes are limited to twice the range of the observed ones, and propensities to the default limits of
    `InverseWeighting`.

    Args:
        outcome_model: A scikit-learn regressor, fitted to each arm. None takes a ridge regression on the covariates,
            their squares and products.
        folds: Number of folds. With 1, models predict the units that they were fitted to.

    Source:
        Robins, Rotnitzky & Zhao (1994), JASA 89, 846-866; cross-fitting, Chernozhukov et al. (2018), Econometrics
        Journal 21, C1-C68.

    >>> from sklearn.linear_model import LinearRegression
    >>> from pushlab.causal import confounded, estimate
    >>> towns = confounded("zika", 50, seed=7)
    >>> crossed, plain = (estimate(towns, DoublyRobust(LinearRegression(), folds=folds)) for folds in (5, 1))
    >>> crossed.high - crossed.low > plain.high - plain.low    # models that saw the outcomes fit them too well
    True
    """

    name = "doubly robust"

    def __init__(self, outcome_model: Any = None, folds: int = 5):
        self.outcome_model = ridge() if outcome_model is None else outcome_model
        self.folds = validate_integer("folds", folds, 1)

    def scores(self, covariates: Any, treated: Any, outcome: Any, rng: Any) -> Scores:
        from sklearn.base import clone
        from sklearn.model_selection import StratifiedKFold

        smaller = min(treated.sum(), (~treated).sum())
        require(
            smaller >= 2 * self.folds,
            f"{self.folds} folds need at least {2 * self.folds} treated and {2 * self.folds} untreated units; "
            f"the smaller group has {smaller}",
        )
        x = standardised(covariates)
        n = len(treated)
        predicted = np.empty((2, n))
        raw = np.empty(n)
        seed = int(rng.integers(2**31))
        units = np.arange(n)
        splits = [(units, units)]
        if self.folds > 1:
            folds = StratifiedKFold(self.folds, shuffle=True, random_state=seed)
            splits = folds.split(x, treated)
        for train, test in splits:
            for arm in (0, 1):
                rows = train[treated[train] == arm]
                observed = outcome[rows]
                model = clone(self.outcome_model).fit(x[rows], observed)
                margin = np.ptp(observed) / 2
                predicted[arm, test] = np.clip(
                    model.predict(x[test]),
                    observed.min() - margin,
                    observed.max() + margin,
                )
            classifier = logistic(penalty=1.0).fit(x[train], treated[train])
            raw[test] = classifier.predict_proba(x[test])[:, 1]
        e = np.clip(raw, CLIP, 1 - CLIP)
        error = outcome - np.where(treated, predicted[1], predicted[0])
        weights = np.where(treated, 1 / e, -1 / (1 - e))
        values = predicted[1] - predicted[0] + weights * error
        return Scores(values, e, int((raw != e).sum()))


def standard_estimators() -> tuple[Any, ...]:
    """Return the four estimators that `compare` uses by default."""
    return (
        DifferenceInMeans(),
        RegressionAdjustment(),
        InverseWeighting(),
        DoublyRobust(),
    )


# ---------------------------------------------------------------- models


def logistic(penalty: float = 1e-4) -> Any:
    """Return an unfitted logistic regression, by default with a negligible penalty."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1 / penalty, max_iter=1000)


def fit_propensities(
    x: np.ndarray, treated: np.ndarray, clip: float = 0.0
) -> np.ndarray:
    """Return propensities (units,) by logistic regression on standardised covariates, clipped to [clip, 1 - clip]."""
    probabilities = logistic().fit(x, treated).predict_proba(x)[:, 1]
    return np.clip(probabilities, clip, 1 - clip)


def ridge() -> Any:
    """Return an unfitted ridge regression on covariates, squares and products, its penalty chosen by leave-one-out."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    return make_pipeline(
        PolynomialFeatures(2, include_bias=False),
        StandardScaler(),
        RidgeCV(np.logspace(-2, 3, 11)),
    )


def standardised(covariates: ArrayLike) -> np.ndarray:
    """Return covariates (units, features) scaled to mean 0 and standard deviation 1; constant ones become 0."""
    covariates = np.asarray(covariates, np.float64)
    spread = covariates.std(axis=0)
    scale = np.where(spread > 1e-12, spread, 1.0)
    return (covariates - covariates.mean(axis=0)) / scale
