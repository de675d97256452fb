"""Data sets of which the truth is known: randomised, confounded, with a hidden confounder, with a mediator."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.estimators import logistic, standardised
from pushlab.causal.experiments import Experiment, experiment
from pushlab.ground.arguments import demand, number, one_of, whole

OUTCOME, TREATED, EFFECT, PROPENSITY = "outcome", "treated", "effect", "propensity"


@dataclass(frozen=True, eq=False)
class CausalData:
    """Who was treated, and what came of it; from a simulator also what would have come of it otherwise.

    covariates   DataFrame, a row a unit: what is known of it, at the decision (but for the mediator)
    treated      array (units,) bool
    outcome      array (units,): what was measured
    effects      array (units,): outcome treated less outcome untreated, without error of measurement; None if unknown
    propensity   array (units,): how likely each was to be treated; None if unknown
    mediator     name of the covariate that was measured after treatment began; None without one
    description  a sentence
    source       the Experiment it was drawn from; None for data from elsewhere
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
        treated = np.asarray(self.treated)
        demand(
            np.isin(treated, (0, 1)).all(),
            "treated is True or False, or 1 or 0, for each unit",
        )
        object.__setattr__(self, "treated", treated.astype(bool))
        demand(
            len(self.covariates) == len(treated),
            f"there are covariates of {len(self.covariates)} units, and "
            f"{len(treated)} that are treated or not",
        )
        for name in (
            "outcome",
            *(
                name
                for name in ("effects", "propensity")
                if getattr(self, name) is not None
            ),
        ):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
            shape = getattr(self, name).shape
            demand(
                shape == treated.shape,
                f"{name} has a value for each of {len(treated)} units; got {shape}",
            )
        for name, values in self.frame().items():
            finite = np.isfinite(values.to_numpy(np.float64))
            what = f"covariate {name}" if name in self.covariates else name
            demand(
                finite.all(), f"{what}, unit {np.argmin(finite)}: not a finite number"
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
        """How likely each unit was to be treated, an array (units,): `propensity`, or where that is unknown an estimate
        by logistic regression on the covariates.
        """
        if self.propensity is not None:
            return self.propensity
        x = standardised(self.covariates)
        return logistic().fit(x, self.treated).predict_proba(x)[:, 1]

    def frame(self) -> pd.DataFrame:
        """All of it as one DataFrame: covariates, treated, outcome, and propensity and effect where known."""
        known = {
            TREATED: self.treated,
            OUTCOME: self.outcome,
            PROPENSITY: self.propensity,
            EFFECT: self.effects,
        }
        return self.covariates.assign(
            **{name: values for name, values in known.items() if values is not None}
        )


def randomised(
    model: Any = "hiv", n: int = 1000, seed: int = 0, share: float = 0.5, **changes: Any
) -> CausalData:
    """A data set in which a coin decided who was treated.

    model    a simulator's name, an Experiment or a Model, see `experiment`
    n        units
    seed     the same seed gives the same units to every kind of data set
    share    how likely each unit is to be treated
    changes  to the experiment's fields

    >>> data = randomised("lotka_volterra", 200, seed=7)
    >>> len(data), data.propensity[0].item(), data.covariates.columns.to_list()
    (200, 0.5, ['log10 rabbits', 'log10 foxes'])
    """
    number("share", share, above=0, below=1)
    trial = experiment(model, **changes)
    return _draw(
        trial,
        n,
        seed,
        lambda covariates: np.full(len(covariates), share),
        trial.seen,
        f"{trial.words}; {100 * share:g} % treated by lot",
    )


def confounded(
    model: Any = "hiv", n: int = 1000, seed: int = 0, **changes: Any
) -> CausalData:
    """A data set in which a covariate that matters for the outcome also decided, with some chance, who was treated.

    Arguments as of `randomised`; the experiment's `confounder` and `strength` say how.

    >>> data = confounded("lotka_volterra", 500, seed=7)
    >>> bool(data.propensity.std() > 0.1)
    True
    """
    trial = _that_shows_its_confounder(model, changes)
    return _draw(
        trial,
        n,
        seed,
        trial.propensities,
        trial.seen,
        f"{trial.words}; treated by {_spoken(trial.confounder)}, which is seen",
    )


def unobserved(
    model: Any = "hiv", n: int = 1000, seed: int = 0, **changes: Any
) -> CausalData:
    """As `confounded`, but the confounder is not among the covariates (nor what else the experiment's `hidden` names).

    >>> unobserved("lotka_volterra", 100, seed=7).covariates.columns.to_list()
    ['log10 foxes']
    """
    trial = experiment(model, **changes)
    demand(
        trial.hidden is None or trial.confounder in trial.hidden,
        f"hidden names the confounder, {trial.confounder}, before others; got {trial.hidden!r}",
    )
    hidden = {trial.bench.column(name) for name in trial.hidden or (trial.confounder,)}
    seen = [name for name in trial.seen if name not in hidden]
    demand(
        seen,
        "nothing is left to be seen; let the experiment have more covariates, or hide fewer",
    )
    return _draw(
        trial,
        n,
        seed,
        trial.propensities,
        seen,
        f"{trial.words}; treated by {_spoken(trial.confounder)}, which is not seen",
    )


def mediated(
    model: Any = "hiv", n: int = 1000, seed: int = 0, **changes: Any
) -> CausalData:
    """As `confounded`, but one more covariate was measured after treatment began, on its way to the outcome.

    >>> data = mediated("lotka_volterra", 100, seed=7)
    >>> data.mediator, data.covariates.columns.to_list()
    ('rabbits at 1', ['log10 rabbits', 'log10 foxes', 'rabbits at 1'])
    """
    trial = _that_shows_its_confounder(model, changes)
    return _draw(
        trial,
        n,
        seed,
        trial.propensities,
        trial.seen,
        f"{trial.words}; treated by {_spoken(trial.confounder)}, which is seen, as is "
        f"{_spoken(trial.mediator)} later on",
        mediator=f"{trial.mediator} at {trial.halfway:g}",
    )


def _that_shows_its_confounder(model, changes):
    trial = experiment(model, **changes)
    demand(
        trial.confounder_column in trial.seen,
        f"the confounder {trial.confounder!r} is to be seen, but covariates "
        f"leave it out; unobserved() is for that",
    )
    return trial


def _spoken(name):
    return name.replace("_", " ")


def _draw(trial, n, seed, propensities, seen, description, mediator=None):
    whole("n", n, 4, of="units")
    begins, lots, errors = (
        np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(3)
    )
    units = trial.units(n, begins)
    propensity = propensities(units.covariates)
    treated = lots.random(n) < propensity
    demand(
        0 < treated.sum() < n,
        f"of {n} units all or none are treated; take more units or another seed",
    )
    arm, rows = treated.astype(int), np.arange(n)
    covariates = units.covariates[seen]
    if mediator is not None:
        covariates = covariates.assign(**{mediator: units.mediators[rows, arm]})
    outcome = units.outcomes[rows, arm] + trial.noise * errors.normal(size=n)
    return CausalData(
        covariates,
        treated,
        outcome,
        units.effects,
        propensity,
        mediator,
        description,
        trial,
    )


# How treatment can come about, each with the function that draws such data.
KINDS = {
    "randomised": randomised,
    "confounded": confounded,
    "unobserved": unobserved,
    "mediated": mediated,
}
