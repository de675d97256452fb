"""Data sets with known effects: randomised, confounded, with a hidden confounder, with a mediator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.estimators import logistic, standardised
from pushlab.causal.experiments import Experiment, experiment
from pushlab.ground.arguments import demand, floats, has_columns, number, one_of, whole


@dataclass(frozen=True, eq=False)
class CausalData:
    """Treatments and outcomes of units; from a simulator also the effects.

    Attributes:
        covariates: DataFrame, a row a unit: what is known of it, at the decision (except for the mediator).
        treated: Array (units,) bool.
        outcome: Array (units,).
        effects: Array (units,): outcome treated less outcome untreated, without error of measurement; None if unknown.
        propensity: Array (units,): probability of treatment; None if unknown.
        mediator: Name of the covariate that was measured after treatment began; None without one.
        description: A sentence.
        source: The Experiment that it was drawn from; None for other data.
    """

    covariates: pd.DataFrame
    treated: np.ndarray
    outcome: np.ndarray
    effects: np.ndarray | None = None
    propensity: np.ndarray | None = None
    mediator: str | None = None
    description: str = ""
    source: Experiment | None = None

    def __post_init__(self):
        has_columns(self.covariates, what="covariates")
        n = len(self.covariates)
        for name in ("treated", "outcome", "effects", "propensity"):
            values = getattr(self, name)
            if values is not None:
                values = floats(name, values)
                demand(
                    values.shape == (n,),
                    f"{name} has a value for each of {n} units; got {values.shape}",
                )
                object.__setattr__(self, name, values)
        demand(
            np.isin(self.treated, (0, 1)).all(),
            "treated is True or False, or 1 or 0, for each unit",
        )
        object.__setattr__(self, "treated", self.treated.astype(bool))
        for name, values in self.frame().items():
            finite = np.isfinite(values.to_numpy(np.float64))
            demand(
                finite.all(), f"{name}, unit {np.argmin(finite)}: not a finite number"
            )
        if self.mediator is not None:
            one_of("mediator, a covariate,", self.mediator, self.covariates.columns)

    def __len__(self) -> int:
        return len(self.treated)

    @property
    def average_effect(self) -> float:
        """The mean of the effects on these units, a float; NaN if they are unknown."""
        return float("nan") if self.effects is None else float(self.effects.mean())

    def treatment_chances(self) -> np.ndarray:
        """Return the probability of treatment, (units,): `propensity`, or an estimate if that is unknown.

        The estimate is a logistic regression on the covariates.
        """
        if self.propensity is not None:
            return self.propensity
        x = standardised(self.covariates)
        return logistic().fit(x, self.treated).predict_proba(x)[:, 1]

    def frame(self) -> pd.DataFrame:
        """Return one DataFrame: covariates, treated, outcome, and propensity and effect if they are known."""
        columns = {
            "treated": self.treated,
            "outcome": self.outcome,
            "propensity": self.propensity,
            "effect": self.effects,
        }
        known = {name: values for name, values in columns.items() if values is not None}
        return self.covariates.assign(**known)


def randomised(
    model: Any = "hiv", n: int = 1000, seed: int = 0, share: float = 0.5, **changes: Any
) -> CausalData:
    """Draw a data set in which a coin decided about treatment.

    Args:
        model: A simulator's name, an Experiment or a Model, see `experiment`.
        n: Number of units.
        seed: The same seed gives the same units to every kind of data set.
        share: Probability of treatment.
        changes: To the experiment's fields.

    >>> data = randomised("lotka_volterra", 200, seed=7)
    >>> len(data), data.propensity[0].item(), data.covariates.columns.to_list()
    (200, 0.5, ['log10 rabbits', 'log10 foxes'])
    """
    number("share", share, above=0, below=1)
    trial = experiment(model, **changes)
    return _draw(trial, n, seed, trial.seen, f"{100 * share:g} % treated by lot", share)


def confounded(
    model: Any = "hiv", n: int = 1000, seed: int = 0, **changes: Any
) -> CausalData:
    """Draw a data set in which a covariate that affects the outcome also affected treatment.

    The experiment's `confounder` and `strength` say how. Arguments as in `randomised`.

    >>> data = confounded("lotka_volterra", 500, seed=7)
    >>> bool(data.propensity.std() > 0.1)
    True
    """
    trial = _with_seen_confounder(model, changes)
    return _draw(trial, n, seed, trial.seen, _words(trial, "is seen"))


def unobserved(
    model: Any = "hiv", n: int = 1000, seed: int = 0, **changes: Any
) -> CausalData:
    """Draw a data set as `confounded`, without the confounder (and the experiment's `hidden`) among the covariates.

    >>> unobserved("lotka_volterra", 100, seed=7).covariates.columns.to_list()
    ['log10 foxes']
    """
    trial = experiment(model, **changes)
    names = {trial.confounder, *(trial.hidden or ())}
    hidden = {trial.bench.column(name) for name in names}
    seen = [name for name in trial.seen if name not in hidden]
    demand(seen, "no covariate is left; let the experiment have more, or hide fewer")
    return _draw(trial, n, seed, seen, _words(trial, "is not seen"))


def mediated(
    model: Any = "hiv", n: int = 1000, seed: int = 0, **changes: Any
) -> CausalData:
    """Draw a data set as `confounded`, with a covariate measured after treatment began, on its way to the outcome.

    >>> data = mediated("lotka_volterra", 100, seed=7)
    >>> data.mediator, data.covariates.columns.to_list()
    ('rabbits at 1', ['log10 rabbits', 'log10 foxes', 'rabbits at 1'])
    """
    trial = _with_seen_confounder(model, changes)
    later = trial.mediator.replace("_", " ")
    words = _words(trial, f"is seen, as is {later} later on")
    mediator = f"{trial.mediator} at {trial.halfway:g}"
    return _draw(trial, n, seed, trial.seen, words, mediator=mediator)


def _with_seen_confounder(model, changes):
    trial = experiment(model, **changes)
    demand(
        trial.confounder_column in trial.seen,
        f"the confounder {trial.confounder!r} is to be seen, but covariates "
        f"leave it out; unobserved() is for that",
    )
    return trial


def _words(trial, which):
    return f"treated by {trial.confounder.replace('_', ' ')}, which {which}"


def _draw(trial, n, seed, seen, words, share=None, mediator=None):
    """Draw a data set. `share` is the probability of treatment; by default the confounder decides."""
    whole("n", n, 4, of="units")
    seeds = np.random.SeedSequence(seed).spawn(3)
    starts, lots, errors = map(np.random.default_rng, seeds)
    units = trial.units(n, starts)
    propensity = np.full(n, share)
    if share is None:
        propensity = trial.propensities(units.covariates)
    treated = lots.random(n) < propensity
    demand(
        0 < treated.sum() < n,
        f"of {n} units all or none are treated; take more units or another seed",
    )
    rows = np.arange(n), treated.astype(int)
    covariates = units.covariates[seen]
    if mediator is not None:
        covariates = covariates.assign(**{mediator: units.mediators[rows]})
    return CausalData(
        covariates,
        treated,
        units.outcomes[rows] + trial.noise * errors.normal(size=n),
        units.effects,
        propensity,
        mediator,
        f"{trial.words}; {words}",
        trial,
    )


# How treatment can come about, each with the function that draws such data.
KINDS = {
    "randomised": randomised,
    "confounded": confounded,
    "unobserved": unobserved,
    "mediated": mediated,
}
