"""Experiments in a simulated world: who is treated with what, for how long, and what is measured afterwards.

An `Experiment` can be asked for units: copies of the world that differ in how they begin. Each is simulated twice from
the moment of the decision on, once treated and once not, so the effect on it is known and not estimated.
"""

from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.defaults import EXPERIMENTS
from pushlab.causal.units import Units
from pushlab.ground.arguments import demand, number, one_of, whole

REFERENCE = 20_000  # units from which the spread of the confounder is taken
POPULATION = 50_000  # units of which the mean effect is called that of the population
OWN_SEED = 2020  # of both


@dataclass(frozen=True, eq=False)
class Experiment:
    """An experiment; `experiment(name)` has one for each simulator, and `experiment(name, span=5)` changes it.

    Times are in the model's own unit. Variables are those of the model's state; `covariates` counts them in powers of
    ten where `logarithms` is true, and they are then called "log10 V" and so on.

    model       name of a simulator, or a `pushlab.envs.ode.models.Model`
    treatment   {intervention: value} while treated; without, the parameters' own values
    start       a named state of the model, or {variable: value}
    spread      units begin at `start` times exp(spread × a standard normal number between -3 and 3): a number for all
                variables, or {variable: number}
    begin       time from the model's start to the decision, without treatment; covariates are seen at its end
    span        how long the treatment lasts
    after       time from the decision to the outcome; None is `span`
    outcome     a variable; a sum such as "I + A", or "population_*" of all that begin so; either after "log10 ", or
                divided as in "E / 1000"; or "return", the rewards added up
    better      "higher" or "lower" outcomes
    cost        of treating one unit, in the unit of the outcome
    noise       standard deviation of the error with which an outcome is measured, the same treated and not
    covariates  names of the variables that are seen; None is all
    confounder  the variable on which the decision to treat depends, in `confounded` and the like
    strength    by how much the log odds of being treated rise with each standard deviation of it
    hidden      variables that `unobserved` leaves out: the confounder, and what else would stand in for it, as capital
                does for the pollution it made; None is the confounder alone
    mediator    a variable (or sum …) that treatment moves on its way to the outcome
    halfway     time from the decision to where the mediator is measured
    world       {argument: value} for the simulator: config, preset, solver, dt, tolerance; for credit people, config,
                preset
    logarithms  see above; None is what the model itself says
    words       the treatment in words
    """

    model: Any
    treatment: dict
    span: float
    outcome: str
    confounder: str
    mediator: str
    halfway: float
    start: Any = None
    spread: Any = 0.3
    begin: float = 0.0
    after: float | None = None
    better: str = "higher"
    cost: float = 0.0
    noise: float = 0.0
    covariates: tuple | None = None
    strength: float = 1.0
    hidden: tuple | None = None
    world: dict = field(default_factory=dict)
    logarithms: bool | None = None
    words: str = ""

    def __post_init__(self):
        for name in ("span", "halfway", *["after"] * (self.after is not None)):
            number(name, getattr(self, name), above=0)
        for name in ("begin", "noise", "cost"):
            number(name, getattr(self, name), 0)
        demand(
            self.halfway < self.measured,
            f"halfway, {self.halfway!r}, lies between the decision and the outcome, {self.measured!r} later",
        )
        one_of("better", self.better, ("higher", "lower"))
        number("strength", self.strength)
        _ = self.bench  # which has checks of its own

    @property
    def measured(self) -> float:
        """Time from the decision to the outcome."""
        return self.span if self.after is None else self.after

    @cached_property
    def bench(self) -> Any:
        """What simulates the units: has `names`, `column(variable)`, `begin(n, rng)`, `units(n, rng)`."""
        from pushlab.causal.credit_units import CreditUnits
        from pushlab.causal.ode_units import ODEUnits

        return CreditUnits(self) if self.model == "credit" else ODEUnits(self)

    @property
    def name(self) -> str:
        """The simulator's name."""
        return self.model if isinstance(self.model, str) else self.model.name

    @property
    def seen(self) -> list[str]:
        """Names of the covariates, as columns of a data set."""
        return self.bench.names

    @property
    def sign(self) -> float:
        """1 where a higher outcome is better, -1 where a lower one is."""
        return 1.0 if self.better == "higher" else -1.0

    def units(self, n: int, rng: np.random.Generator) -> Units:
        """`n` units, each simulated with and without treatment: Units.

        rng   a NumPy Generator, the source of how they begin

        >>> units = experiment("lotka_volterra").units(3, np.random.default_rng(0))
        >>> units.covariates.columns.to_list(), units.outcomes.shape
        (['log10 rabbits', 'log10 foxes'], (3, 2))
        """
        return self.bench.units(whole("n", n, 1, of="units"), rng)

    def log_odds(self, covariates: pd.DataFrame) -> np.ndarray:
        """Log odds of being treated, (units,), by a DataFrame of all variables at the decision."""
        centre, scale = self._confounder
        return (
            self.strength
            * (covariates[self.confounder_column].to_numpy() - centre)
            / scale
        )

    def propensities(self, covariates: pd.DataFrame) -> np.ndarray:
        """How likely each unit is to be treated where the confounder decides, (units,)."""
        return 1 / (1 + np.exp(-self.log_odds(covariates)))

    @property
    def confounder_column(self) -> str:
        """The confounder as the covariates call it."""
        return self.bench.column(self.confounder)

    @cached_property
    def _confounder(self):
        values = self.bench.begin(REFERENCE, np.random.default_rng(OWN_SEED))[
            self.confounder_column
        ]
        scale = float(values.std())
        demand(
            scale > 1e-9 * (1 + abs(values.mean())),
            f"the confounder {self.confounder!r} is the same in every unit; give it some spread",
        )
        return float(values.mean()), scale

    @cached_property
    def population_effect(self) -> float:
        """The mean effect over 50,000 units, nearly what a larger and larger data set would tend to, a float.

        Its own standard error is the deviation of the effects over the root of 50,000.
        """
        return float(
            self.units(POPULATION, np.random.default_rng(OWN_SEED + 1)).effects.mean()
        )


# ---------------------------------------------------------------- one for each simulator


@cache
def _default(model):
    return Experiment(model, **EXPERIMENTS[model])


def experiment(model: Any = "hiv", **changes: Any) -> Experiment:
    """The experiment for a simulator, with `changes` to its fields; see `Experiment`.

    model   a name, a Model of one's own (`changes` then gives treatment, span, outcome, confounder, mediator and
            halfway), or an Experiment

    >>> trial = experiment("hiv", span=5.0, halfway=2.0)
    >>> trial.outcome, trial.measured
    ('log10 E', 5.0)
    """
    for name in changes:
        one_of(
            "a field of an experiment", name, (item.name for item in fields(Experiment))
        )
    if isinstance(model, str):
        model = _default(one_of("a simulator with an experiment", model, EXPERIMENTS))
    if not isinstance(model, Experiment):
        needed = ("treatment", "span", "outcome", "confounder", "mediator", "halfway")
        missing = [name for name in needed if name not in changes]
        demand(
            not missing,
            f"an experiment with a model of one's own needs {', '.join(missing)}",
        )
        return Experiment(model, **changes)
    return replace(model, **changes) if changes else model


def experiment_table() -> pd.DataFrame:
    """The experiments of all simulators, a DataFrame with a row each.

    >>> experiment_table().loc["hiv", ["outcome", "confounder"]].to_list()
    ['log10 E', 'E']
    """
    columns = ("words", "outcome", "better", "confounder", "mediator", "cost")
    rows = {
        name: {column: getattr(experiment(name), column) for column in columns}
        for name in EXPERIMENTS
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("simulator")
