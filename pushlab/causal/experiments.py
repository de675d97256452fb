"""Experiments in a simulated world: the treatment, its duration, the confounder, and the outcome.

An `Experiment` draws units: copies of the world with different initial states. From the decision on, each unit is
simulated twice, treated and untreated, so its effect is known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.unit_simulators import CreditUnits, ODEUnits, Units
from pushlab.utils.arguments import (
    require,
    validate_choice,
    validate_integer,
    validate_number,
)

REFERENCE_SIZE = 20_000  # units for the mean and spread of the confounder
POPULATION_SIZE = 50_000  # units for the mean effect in the population
POPULATION_SEED = 2020  # of both


@dataclass(frozen=True, eq=False)
class Experiment:
    """An experiment. `experiment(name)` returns that of a simulator; `experiment(name, span=5)` changes a field.

    Times are in the model's own unit. Variables are those of the model's state. With `logarithms`, covariates are their
    base-10 logarithms, named "log10 V" and so on.

    Attributes:
        model: Name of a simulator, or a `pushlab.envs.ode.models.Model`.
        treatment: {intervention: dose} for treated units; untreated ones have the model's default parameters. For
            credit {"published": name of a candidate, or 11 weights}: treated people know the score.
        span: Duration of the treatment.
        outcome: A variable, or a pattern such as "population_*" for the sum of all matching ones. It can be a logarithm
            as in "log10 E", or divided as in "E / 1000". For credit "approved" or "score".
        confounder: The variable that determines treatment in `confounded` and similar functions.
        mediator: A variable, written like `outcome`, through which treatment affects the outcome.
        mediator_time: Time from the decision to the measurement of the mediator.
        start: A named state of the model, or {variable: value}.
        spread: Spread of the initial states: `start` times exp(spread × a standard normal number between -3 and 3). A
            number for all variables, or {variable: number}.
        decision_time: Time from the model's start to the decision, without treatment. Covariates are measured then.
        outcome_time: Time from the decision to the outcome; None takes `span`.
        better: Whether "higher" or "lower" outcomes are better.
        cost: Cost of treating one unit, in the unit of the outcome.
        noise: Standard deviation of the measurement error of an outcome.
        covariates: Names of the observed variables; None takes all.
        strength: Increase of the log-odds of treatment per standard deviation of the confounder.
        hidden: Variables that `unobserved` hides: the confounder, and proxies such as the capital that caused a
            pollution. None takes the confounder alone.
        world_arguments: {argument: value} of the simulator: config, preset; for credit also people.
        logarithms: Whether covariates are logarithms; None takes the model's default.
        description: The treatment and the outcome in words.
    """

    model: Any
    treatment: dict
    span: float
    outcome: str
    confounder: str
    mediator: str
    mediator_time: float
    start: Any = None
    spread: Any = 0.3
    decision_time: float = 0.0
    outcome_time: float | None = None
    better: str = "higher"
    cost: float = 0.0
    noise: float = 0.0
    covariates: tuple | None = None
    strength: float = 1.0
    hidden: tuple | None = None
    world_arguments: dict = field(default_factory=dict)
    logarithms: bool | None = None
    description: str = ""

    def __post_init__(self):
        validate_number("span", self.span, above=0)
        validate_number("outcome_time", self.time_to_outcome, above=0)
        validate_number(
            "mediator_time", self.mediator_time, above=0, below=self.time_to_outcome
        )
        for name in ("decision_time", "noise", "cost"):
            validate_number(name, getattr(self, name), 0)
        validate_choice("better", self.better, ("higher", "lower"))
        validate_number("strength", self.strength)
        _ = self.simulator  # validates the other fields

    @property
    def time_to_outcome(self) -> float:
        """Time from the decision to the outcome."""
        return self.span if self.outcome_time is None else self.outcome_time

    @cached_property
    def simulator(self) -> Any:
        """The simulator of the units, with `column(variable)`, `covariates(n, rng)` and `units(n, rng)`."""
        return CreditUnits(self) if self.model == "credit" else ODEUnits(self)

    @property
    def covariate_columns(self) -> list[str]:
        """Columns of the observed covariates in a data set."""
        names = self.covariates or self.simulator.names
        return [self.simulator.column(name) for name in names]

    @property
    def confounder_column(self) -> str:
        """Column of the confounder in a data set."""
        return self.simulator.column(self.confounder)

    def units(self, n: int, rng: np.random.Generator) -> Units:
        """Return `n` units, each simulated with and without treatment.

        >>> units = experiment("lotka_volterra").units(3, np.random.default_rng(0))
        >>> units.covariates.columns.to_list(), units.outcomes.shape
        (['log10 rabbits', 'log10 foxes'], (3, 2))
        """
        return self.simulator.units(validate_integer("n", n, 1, unit="units"), rng)

    def propensities(self, covariates: pd.DataFrame) -> np.ndarray:
        """Return the probability of treatment (units,) if the confounder determines it.

        Args:
            covariates: DataFrame of all variables at the decision.
        """
        mean, spread = self._confounder_moments
        deviation = covariates[self.confounder_column].to_numpy() - mean
        return 1 / (1 + np.exp(-(self.strength * deviation / spread)))

    @cached_property
    def _confounder_moments(self):
        """Mean and standard deviation of the confounder."""
        rng = np.random.default_rng(POPULATION_SEED)
        covariates = self.simulator.covariates(REFERENCE_SIZE, rng)
        values = covariates[self.confounder_column]
        spread = float(values.std())
        require(
            spread > 1e-9 * (1 + abs(values.mean())),
            f"the confounder {self.confounder!r} is the same in every unit; increase its spread",
        )
        return float(values.mean()), spread

    @cached_property
    def population_effect(self) -> float:
        """Mean effect over 50,000 units, an approximation to that of the population.

        Its standard error is the standard deviation of the effects, divided by the square root of 50,000.
        """
        rng = np.random.default_rng(POPULATION_SEED + 1)
        return float(self.units(POPULATION_SIZE, rng).effects.mean())


@cache
def _default_experiment(model):
    return Experiment(model, **EXPERIMENTS[model])


def experiment(model: Any = "hiv", **changes: Any) -> Experiment:
    """Return the experiment of a simulator, with `changes` to its fields; see `Experiment`.

    Args:
        model: A name, an Experiment, or a Model. A Model needs `changes` with treatment, span, outcome, confounder,
            mediator and mediator_time.

    >>> trial = experiment("hiv", span=5.0, mediator_time=2.0)
    >>> trial.outcome, trial.time_to_outcome
    ('log10 E', 5.0)
    """
    valid_names = [item.name for item in fields(Experiment)]
    for name in changes:
        validate_choice("a field of an experiment", name, valid_names)
    if isinstance(model, str):
        validate_choice("a simulator with an experiment", model, EXPERIMENTS)
        model = _default_experiment(model)
    if not isinstance(model, Experiment):
        return Experiment(model, **changes)
    return replace(model, **changes) if changes else model


# ---------------------------------------------------------------- one for each simulator

# The confounders are variables by which a person in charge would decide. Units in a worse state are treated: the
# weakest patients, the towns with the most infected, the most polluted worlds. So treated units end up worse although
# treatment helps. Rabbits and foxes, and credit, are the opposite in one of these respects.
EXPERIMENTS = {
    "hiv": {
        "treatment": {"epsilon_1": 0.7},
        "span": 25.0,
        "start": "unhealthy",
        "spread": {"T1": 0.3, "T1*": 0.3, "T2": 0.3, "T2*": 0.3, "V": 0.3, "E": 0.8},
        "outcome": "log10 E",
        "noise": 0.02,
        "confounder": "E",
        "strength": -1.0,
        "mediator": "log10 E",
        "mediator_time": 5.0,
        "description": "RT inhibitor for 25 days; outcome: effectors then",
    },
    "lotka_volterra": {
        "treatment": {"fox_growth": 0.4},
        "span": 2.0,
        "outcome_time": 4.0,
        "spread": 0.2,
        "logarithms": True,
        "outcome": "foxes",
        "noise": 1.0,
        "cost": 6.5,
        "confounder": "rabbits",
        "world_arguments": {"preset": "whynot"},
        "strength": 0.8,
        "mediator": "rabbits",
        "mediator_time": 1.0,
        "description": "foxes' growth held at 0.4 for 2; outcome: foxes after 4",
    },
    "opioid": {
        "treatment": {"nonmedical_reduction": 0.113},
        "span": 10.0,
        "start": "2015",
        "spread": {"nonmedical_users": 0.3, "oud_users": 0.3, "illicit_users": 0.6},
        "logarithms": True,
        "outcome": "overdose_deaths / 1000",
        "better": "lower",
        "noise": 10.0,
        "confounder": "illicit_users",
        "mediator": "illicit_users",
        "mediator_time": 5.0,
        "world_arguments": {"config": {"start_time": 2015.0, "end_time": 2030.0}},
        "description": "11.3 % less new misuse a year; outcome: deaths from 2015 to 2025, thousands",
    },
    "zika": {
        "treatment": {"indoor_spray_use": 0.2},
        "span": 20.0,
        "spread": {
            "susceptible_humans": 0.1,
            "asymptomatic_humans": 0.3,
            "symptomatic_humans": 0.3,
            "recovered_humans": 0.3,
            "susceptible_mosquitoes": 0.2,
            "exposed_mosquitoes": 0.4,
            "infectious_mosquitoes": 0.4,
        },
        "logarithms": True,
        "outcome": "symptomatic_humans",
        "better": "lower",
        "noise": 10.0,
        "cost": 30.0,
        "confounder": "asymptomatic_humans",
        "mediator": "infectious_mosquitoes",
        "mediator_time": 2.0,
        "description": "a fifth of the houses sprayed for 20 days; outcome: people ill on day 20",
    },
    "world3": {
        "treatment": {"persistent_pollution_generation_factor": 0.5},
        "decision_time": 75.0,
        "span": 75.0,
        "spread": 0.1,
        "logarithms": True,
        "covariates": (
            "population_15_to_44",
            "industrial_capital",
            "service_capital",
            "arable_land",
            "nonrenewable_resources",
            "persistent_pollution",
        ),
        "outcome": "population_* / 1e9",
        "noise": 0.1,
        "cost": 0.25,
        "confounder": "persistent_pollution",
        "strength": 0.8,
        "hidden": ("persistent_pollution", "industrial_capital", "service_capital"),
        "mediator": "persistent_pollution",
        "mediator_time": 10.0,
        "description": "half the pollution from 1975 on; outcome: people in 2050, billions",
    },
    "credit": {
        "treatment": {"published": "trained on the past"},
        "span": 1.0,
        "outcome": "approved",
        "confounder": "age",
        "hidden": ("age", "RevolvingUtilizationOfUnsecuredLines"),
        "mediator": "RevolvingUtilizationOfUnsecuredLines",
        "mediator_time": 0.5,
        "description": "knows the published score; outcome: approved or not",
    },
}
