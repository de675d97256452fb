"""Four ways to estimate an average effect from who was treated, what came of it, and what is known of each unit.

An estimator has a `name` and `scores(covariates, treated, outcome, rng)`, which returns a score for each unit. The
mean of the scores is the estimate and their spread its standard error: a score is the estimate plus the unit's
influence on it. Where that is not so, the scores say that they are not exact. Regressors and classifiers are
scikit-learn's; any with `fit` and `predict` (or `predict_proba`) will do.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pushlab.ground.arguments import number, one_of, whole
from pushlab.metrics.offpolicy import linear, quadratic

CLIP = 0.02  # propensities are taken as no nearer to 0 and 1 than this, unless another `clip` is given


class Scores(NamedTuple):
    """What an estimator makes of a data set."""

    values: np.ndarray  # (units,); their mean is the estimate
    propensity: Any = (
        None  # (units,) estimated and clipped, where the estimator has one
    )
    clipped: int = 0  # in how many units that changed the propensity
    exact: bool = True  # False: the spread of the values is not that of the estimate; resample the units


class DifferenceInMeans:
    """Mean outcome of the treated less that of the others: right where a coin decided, and nowhere else."""

    name = "difference in means"

    def scores(self, covariates: Any, treated: Any, outcome: Any, rng: Any) -> Scores:
        t, n = treated, len(treated)
        values = np.empty(n)
        for arm, sign in ((t, 1.0), (~t, -1.0)):
            count = arm.sum()
            small = np.sqrt(
                count / max(count - 1, 1)
            )  # the variance within an arm, without bias
            values[arm] = (
                sign * n / count * small * (outcome[arm] - outcome[arm].mean())
            )
        return Scores(values + outcome[t].mean() - outcome[~t].mean())


class RegressionAdjustment:
    """Predicts both outcomes of every unit, with one regression for the treated and one for the others.

    Right if the regressions are, or if a coin decided. `regressor=None` is least squares on `features` of the
    covariates, whose standard error is known (and allows for few units); that of another regressor is found by fitting
    it anew to resampled units.

    features   "linear" or "quadratic": with all squares and products

    Source  Lin (2013), Agnostic notes on regression adjustments to experimental data, Ann. Appl. Stat. 7(1), 295-318.
    """

    def __init__(self, regressor: Any = None, features: str = "linear"):
        self.regressor, self.features = (
            regressor,
            one_of("features", features, ("linear", "quadratic")),
        )
        kind = features if regressor is None else type(_last_step(regressor)).__name__
        self.name = "regression" if kind == "linear" else f"regression, {kind}"

    def scores(self, covariates: Any, treated: Any, outcome: Any, rng: Any) -> Scores:
        if self.regressor is None:
            return self._least_squares(covariates, treated, outcome)
        predicted = [
            _fitted(self.regressor, covariates[arm], outcome[arm]).predict(covariates)
            for arm in (treated, ~treated)
        ]
        return Scores(predicted[0] - predicted[1], exact=False)

    def _least_squares(self, covariates, treated, outcome):
        made = {"linear": linear, "quadratic": quadratic}[self.features](
            standardised(covariates)
        )
        difference, influence, centre = (
            np.zeros(len(outcome)),
            np.zeros(len(outcome)),
            made.mean(axis=0),
        )
        for arm, sign in ((treated, 1.0), (~treated, -1.0)):
            x = made[arm]
            inverse = np.linalg.pinv(x.T @ x)
            weights = inverse @ (x.T @ outcome[arm])
            leverage = np.einsum("ij,jk,ik->i", x, inverse, x)
            left = (outcome[arm] - x @ weights) / np.maximum(
                1 - leverage, 0.05
            )  # as if it had been left out
            difference += sign * (made @ weights)
            influence[arm] += sign * len(outcome) * (x @ (inverse @ centre)) * left
        return Scores(difference + influence - influence.mean())


class InverseWeighting:
    """Weighs each unit by how unlikely its treatment was, so that both groups look like everyone.

    Right if the propensities are, and none is near 0 or 1. Weights are normalised (divided by their sum in each group)
    and propensities are clipped to lie between `clip` and 1 - `clip`: 0 clips none. Clipping more lowers the variance
    and adds a bias that no interval knows of; `data/causal/clips.csv` has both. The standard error allows for the
    propensities being estimated where they come from the logistic regression that `classifier=None` is.

    Source  Horvitz & Thompson (1952), JASA 47, 663-685, and Hájek (1971), who divides by the sum; with estimated
            propensities, Lunceford & Davidian (2004), Statistics in Medicine 23, 2937-2960.
    """

    name = "inverse weighting"

    def __init__(self, classifier: Any = None, clip: float = CLIP):
        self.classifier, self.clip = classifier, number("clip", clip, 0, below=0.5)

    def scores(self, covariates: Any, treated: Any, outcome: Any, rng: Any) -> Scores:
        x = standardised(covariates)
        raw = _fitted(self.classifier or logistic(), x, treated).predict_proba(x)[:, 1]
        e, t = np.clip(raw, self.clip, 1 - self.clip), treated.astype(float)
        weights = np.where(treated, 1 / e, 1 / (1 - e))
        means = [
            np.average(outcome[arm], weights=weights[arm])
            for arm in (treated, ~treated)
        ]
        left = outcome - np.where(treated, *means)
        shares = np.where(treated, (weights * t).mean(), (weights * (1 - t)).mean())
        influence = np.where(treated, 1.0, -1.0) * weights * left / shares
        if (
            self.classifier is None
        ):  # less what the logistic regression would have learned from the unit
            design = linear(x)
            slope = (
                (np.where(treated, (1 - e) / e, e / (1 - e)) * left) @ design / len(t)
            )
            information = (design * (e * (1 - e))[:, None]).T @ design / len(t)
            influence -= (t - e) * (design @ (np.linalg.pinv(information) @ slope))
        values = means[0] - means[1] + influence - influence.mean()
        return Scores(values, e, int((raw != e).sum()))


class DoublyRobust:
    """Predicts both outcomes and corrects the predictions by weighted surprises: right if either model is.

    Each unit is predicted by models that were fitted to the other `folds`. `regressor=None` is a ridge regression on
    the covariates, their squares and products; `classifier=None` a logistic regression with scikit-learn's usual
    penalty. Predictions are held within twice the range of the outcomes that were seen, and propensities are clipped as
    in `InverseWeighting`: one unit far from all others must not decide the estimate.

    Source  Robins, Rotnitzky & Zhao (1994), JASA 89, 846-866; cross-fitting, Chernozhukov et al. (2018), Econometrics
            Journal 21, C1-C68.
    """

    name = "doubly robust"

    def __init__(
        self,
        regressor: Any = None,
        classifier: Any = None,
        folds: int = 5,
        clip: float = CLIP,
    ):
        self.regressor, self.classifier = regressor, classifier
        self.folds, self.clip = (
            whole("folds", folds, 2),
            number("clip", clip, 0, below=0.5),
        )

    def scores(self, covariates: Any, treated: Any, outcome: Any, rng: Any) -> Scores:
        from sklearn.model_selection import StratifiedKFold

        if min(treated.sum(), (~treated).sum()) < 2 * self.folds:
            raise ValueError(
                f"{self.folds} folds need at least {2 * self.folds} treated units and as many others; "
                f"got {treated.sum()} and {(~treated).sum()}"
            )
        x, n = standardised(covariates), len(treated)
        predicted, raw = np.empty((2, n)), np.empty(n)
        split = StratifiedKFold(
            self.folds, shuffle=True, random_state=int(rng.integers(2**31))
        )
        for train, test in split.split(x, treated):
            for arm in (0, 1):
                rows = train[treated[train] == arm]
                model = _fitted(self.regressor or ridge(), x[rows], outcome[rows])
                low, high = outcome[rows].min(), outcome[rows].max()
                predicted[arm, test] = np.clip(
                    model.predict(x[test]),
                    1.5 * low - 0.5 * high,
                    1.5 * high - 0.5 * low,
                )
            classifier = _fitted(
                self.classifier or logistic(penalised=True), x[train], treated[train]
            )
            raw[test] = classifier.predict_proba(x[test])[:, 1]
        e = np.clip(raw, self.clip, 1 - self.clip)
        surprise = outcome - np.where(treated, predicted[1], predicted[0])
        weights = np.where(treated, 1 / e, -1 / (1 - e))
        return Scores(
            predicted[1] - predicted[0] + weights * surprise, e, int((raw != e).sum())
        )


def standard_estimators() -> tuple[Any, ...]:
    """The four, as they are compared unless others are given."""
    return (
        DifferenceInMeans(),
        RegressionAdjustment(),
        InverseWeighting(),
        DoublyRobust(),
    )


# ---------------------------------------------------------------- models


def logistic(penalised: bool = False) -> Any:
    """A logistic regression; unless penalised, all but without a penalty."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0 if penalised else 1e4, max_iter=1000)


def ridge() -> Any:
    """A ridge regression on covariates, squares and products, its penalty chosen by leaving out one unit at a time."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    return make_pipeline(
        PolynomialFeatures(2, include_bias=False),
        StandardScaler(),
        RidgeCV(np.logspace(-2, 3, 11)),
    )


def standardised(covariates: ArrayLike) -> np.ndarray:
    """Covariates (units, features) with mean 0 and deviation 1; one that never varies becomes 0."""
    covariates = np.asarray(covariates, np.float64)
    spread = covariates.std(axis=0)
    return (covariates - covariates.mean(axis=0)) / np.where(
        spread > 1e-12, spread, 1.0
    )


def _fitted(model, x, y):
    from sklearn.base import clone

    return clone(model).fit(x, y)


def _last_step(model):
    return model.steps[-1][1] if hasattr(model, "steps") else model
