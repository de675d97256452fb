"""Data sets with known effects: randomised, confounded, with a hidden confounder, or with a mediator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.estimators import fit_propensities, standardised
from pushlab.causal.experiments import experiment
from pushlab.utils.arguments import (
    float_array,
    require,
    require_columns,
    validate_choice,
    validate_integer,
    validate_number,
)


@dataclass(frozen=True, eq=False)
class CausalData:
    """Treatments and outcomes of units, and the effects if the data are simulated.

    Attributes:
        covariates: Covariates of each unit at the decision, a DataFrame. A mediator is measured later.
        treated: Whether each unit is treated, bool (units,).
        outcome: Outcome of each unit, (units,).
        effects: Outcome with treatment less outcome without, not including measurement errors, (units,); None if
            unknown.
        propensity: Probability of treatment, (units,); None if unknown.
        mediator: Name of the covariate that was measured after the start of treatment, or None.
    """

    covariates: pd.DataFrame
    treated: np.ndarray
    outcome: np.ndarray
    effects: np.ndarray | None = None
    propensity: np.ndarray | None = None
    mediator: str | None = None

    def __post_init__(self):
        require_columns(self.covariates, table_name="covariates")
        n = len(self.covariates)
        for name in ("treated", "outcome", "effects", "propensity"):
            values = getattr(self, name)
            if values is not None:
                values = float_array(name, values)
                require(
                    values.shape == (n,),
                    f"{name} must have a value for each of {n} units; got shape {values.shape}",
                )
                object.__setattr__(self, name, values)
        require(
            np.isin(self.treated, (0, 1)).all(),
            "treated must be True or False, or 1 or 0, for each unit",
        )
        object.__setattr__(self, "treated", self.treated.astype(bool))
        for name, values in self.frame().items():
            is_finite = np.isfinite(values.to_numpy(np.float64))
            require(
                is_finite.all(),
                f"{name}, unit {np.argmin(is_finite)}: not a finite number",
            )
        if self.mediator is not None:
            validate_choice(
                "mediator, a covariate,", self.mediator, self.covariates.columns
            )

    def __len__(self) -> int:
        return len(self.treated)

    @property
    def average_effect(self) -> float:
        """Mean effect on these units; NaN if the effects are unknown."""
        return float("nan") if self.effects is None else float(self.effects.mean())

    def treatment_probabilities(self) -> np.ndarray:
        """Return the probability of treatment (units,): `propensity`, or an estimate by logistic regression."""
        if self.propensity is not None:
            return self.propensity
        return fit_propensities(standardised(self.covariates), self.treated)

    def frame(self) -> pd.DataFrame:
        """Return all columns as one DataFrame: covariates, treated, outcome; propensity and effect if known."""
        columns = {
            "treated": self.treated,
            "outcome": self.outcome,
            "propensity": self.propensity,
            "effect": self.effects,
        }
        known = {name: v for name, v in columns.items() if v is not None}
        return self.covariates.assign(**known)


def randomised(
    model: Any = "hiv",
    n: int = 1000,
    seed: int = 0,
    share: float = 0.5,
    **changes: Any,
) -> CausalData:
    """Draw a data set with randomised treatment.

    Args:
        model: A simulator's name, an Experiment or a Model; see `experiment`.
        n: Number of units.
        seed: Random seed. The same seed gives the same units in every kind of data set.
        share: Probability of treatment.
        changes: Changes to the experiment's fields.

    >>> data = randomised("lotka_volterra", 200, seed=7)
    >>> len(data), data.propensity[0].item(), data.covariates.columns.to_list()
    (200, 0.5, ['log10 rabbits', 'log10 foxes'])
    """
    validate_number("share", share, above=0, below=1)
    trial = experiment(model, **changes)
    return _draw(trial, n, seed, trial.covariate_columns, share)


def confounded(
    model: Any = "hiv", n: int = 1000, seed: int = 0, **changes: Any
) -> CausalData:
    """Draw a data set in which one covariate affects both treatment and outcome.

    The experiment's `confounder` and `strength` determine the treatment. Arguments as in `randomised`.

    >>> data = confounded("lotka_volterra", 500, seed=7)
    >>> bool(data.propensity.std() > 0.1)
    True
    """
    trial = _observed_confounder_experiment(model, changes)
    return _draw(trial, n, seed, trial.covariate_columns)


def unobserved(
    model: Any = "hiv", n: int = 1000, seed: int = 0, **changes: Any
) -> CausalData:
    """Draw a data set like `confounded`, but without the confounder and the experiment's `hidden` covariates.

    >>> unobserved("lotka_volterra", 100, seed=7).covariates.columns.to_list()
    ['log10 foxes']
    """
    trial = experiment(model, **changes)
    names = {trial.confounder, *trial.hidden}
    hidden = {trial.simulator.column(name) for name in names}
    columns = [name for name in trial.covariate_columns if name not in hidden]
    require(columns, "all covariates are hidden; add covariates, or hide fewer")
    return _draw(trial, n, seed, columns)


def mediated(
    model: Any = "hiv", n: int = 1000, seed: int = 0, **changes: Any
) -> CausalData:
    """Draw a data set like `confounded`, with a mediator as one more covariate, measured after the start of treatment.

    >>> data = mediated("lotka_volterra", 100, seed=7)
    >>> data.mediator, data.covariates.columns.to_list()
    ('rabbits at 1', ['log10 rabbits', 'log10 foxes', 'rabbits at 1'])
    """
    trial = _observed_confounder_experiment(model, changes)
    mediator = f"{trial.mediator} at {trial.mediator_time:g}"
    return _draw(trial, n, seed, trial.covariate_columns, mediator=mediator)


def _observed_confounder_experiment(model, changes):
    """Return the experiment; raise ValueError if its confounder isn't among the covariates."""
    trial = experiment(model, **changes)
    require(
        trial.confounder_column in trial.covariate_columns,
        f"covariates must include the confounder {trial.confounder!r}; "
        f"use unobserved() to hide it",
    )
    return trial


def _draw(trial, n, seed, columns, share=None, mediator=None):
    """Draw a data set. If `share`, the probability of treatment, is None, the confounder determines treatment."""
    validate_integer("n", n, 4, unit="units")
    seeds = np.random.SeedSequence(seed).spawn(3)
    unit_rng, treatment_rng, error_rng = map(np.random.default_rng, seeds)
    units = trial.units(n, unit_rng)
    propensity = np.full(n, share)
    if share is None:
        propensity = trial.propensities(units.covariates)
    treated = treatment_rng.random(n) < propensity
    require(
        0 < treated.sum() < n,
        f"all or none of {n} units are treated; take more units or another seed",
    )
    index = np.arange(n), treated.astype(int)
    covariates = units.covariates[columns]
    if mediator is not None:
        covariates = covariates.assign(**{mediator: units.mediators[index]})
    return CausalData(
        covariates,
        treated,
        units.outcomes[index] + trial.noise * error_rng.normal(size=n),
        units.effects,
        propensity,
        mediator,
    )


# The functions that draw data, by kind of treatment assignment.
KINDS = {
    "randomised": randomised,
    "confounded": confounded,
    "unobserved": unobserved,
    "mediated": mediated,
}
