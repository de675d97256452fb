"""Experiments in a simulated world: who is treated with what, for how long, and what is measured afterwards.

An `Experiment` draws units: copies of the world with different starts. Each is simulated twice from the moment of the
decision on, treated and untreated, so its effect is known and not estimated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.simulators import CreditUnits, ODEUnits, Units
from pushlab.ground.arguments import demand, number, one_of, whole

REFERENCE = 20_000  # units for the spread of the confounder
POPULATION = 50_000  # units for the mean effect in the population
OWN_SEED = 2020  # of both


@dataclass(frozen=True, eq=False)
class Experiment:
    """An experiment; `experiment(name)` returns that of a simulator, and `experiment(name, span=5)` changes it.

    Times are in the model's own unit. Variables are those of the model's state. With `logarithms`, covariates are their
    base-10 logarithms, called "log10 V" and so on.

    Attributes:
        model: Name of a simulator, or a `pushlab.envs.ode.models.Model`.
        treatment: {intervention: dose} of the treated; the others have the parameters' own values. For credit
            {"published": name of a candidate, or 11 weights}: the treated know the score.
        span: Duration of the treatment.
        outcome: A variable, or "population_*" for the sum of all whose names begin so; also after "log10 ", or divided
            as in "E / 1000". For credit "approved" or "score".
        confounder: The variable that decides about treatment in `confounded` and similar functions.
        mediator: A variable (as `outcome`) that treatment changes on its way to the outcome.
        halfway: Time from the decision to the measurement of the mediator.
        start: A named state of the model, or {variable: value}.
        spread: Units begin at `start` times exp(spread × a standard normal number between -3 and 3): a number for all
            variables, or {variable: number}.
        begin: Time from the model's start to the decision, without treatment. Covariates are measured at its end.
        after: Time from the decision to the outcome; None is `span`.
        better: Whether "higher" or "lower" outcomes are better.
        cost: Of treating one unit, in the unit of the outcome.
        noise: Standard deviation of the error with which an outcome is measured.
        covariates: Names of the variables that are seen; None is all.
        strength: Increase of the log odds of treatment with each standard deviation of the confounder.
        hidden: Variables that `unobserved` leaves out: the confounder, and others that could replace it, as capital can
            replace the pollution that it made; None is the confounder alone.
        world: {argument: value} of the simulator: config, preset; for credit also people.
        logarithms: See above; None is the model's own choice.
        words: The treatment in words.
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
        number("span", self.span, above=0)
        number("after", self.measured, above=0)
        number("halfway", self.halfway, above=0, below=self.measured)
        for name in ("begin", "noise", "cost"):
            number(name, getattr(self, name), 0)
        one_of("better", self.better, ("higher", "lower"))
        number("strength", self.strength)
        _ = self.bench  # checks the other fields

    @property
    def measured(self) -> float:
        """Time from the decision to the outcome."""
        return self.span if self.after is None else self.after

    @cached_property
    def bench(self) -> Any:
        """The object that simulates the units: `column(variable)`, `begin(n, rng)`, `units(n, rng)`."""
        return CreditUnits(self) if self.model == "credit" else ODEUnits(self)

    @property
    def seen(self) -> list[str]:
        """Names of the covariates that are seen, as columns of a data set."""
        names = self.covariates or self.bench.names
        return [self.bench.column(name) for name in names]

    @property
    def confounder_column(self) -> str:
        """The confounder's column of a data set."""
        return self.bench.column(self.confounder)

    def units(self, n: int, rng: np.random.Generator) -> Units:
        """Return `n` units, each simulated with and without treatment.

        >>> units = experiment("lotka_volterra").units(3, np.random.default_rng(0))
        >>> units.covariates.columns.to_list(), units.outcomes.shape
        (['log10 rabbits', 'log10 foxes'], (3, 2))
        """
        return self.bench.units(whole("n", n, 1, of="units"), rng)

    def propensities(self, covariates: pd.DataFrame) -> np.ndarray:
        """Return the probability of treatment if the confounder decides, (units,).

        Args:
            covariates: DataFrame of all variables at the decision.
        """
        centre, scale = self._confounder
        distance = covariates[self.confounder_column].to_numpy() - centre
        return 1 / (1 + np.exp(-(self.strength * distance / scale)))

    @cached_property
    def _confounder(self):
        rng = np.random.default_rng(OWN_SEED)
        values = self.bench.begin(REFERENCE, rng)[self.confounder_column]
        scale = float(values.std())
        demand(
            scale > 1e-9 * (1 + abs(values.mean())),
            f"the confounder {self.confounder!r} is the same in every unit; give it some spread",
        )
        return float(values.mean()), scale

    @cached_property
    def population_effect(self) -> float:
        """The mean effect over 50,000 units, nearly that of an infinite data set.

        Its standard error is the deviation of the effects over the root of 50,000.
        """
        rng = np.random.default_rng(OWN_SEED + 1)
        return float(self.units(POPULATION, rng).effects.mean())


@cache
def _default(model):
    return Experiment(model, **EXPERIMENTS[model])


def experiment(model: Any = "hiv", **changes: Any) -> Experiment:
    """Return the experiment of a simulator, with `changes` to its fields; see `Experiment`.

    Args:
        model: A name, a Model (`changes` then gives treatment, span, outcome, confounder, mediator and halfway), or an
            Experiment.

    >>> trial = experiment("hiv", span=5.0, halfway=2.0)
    >>> trial.outcome, trial.measured
    ('log10 E', 5.0)
    """
    known = [item.name for item in fields(Experiment)]
    for name in changes:
        one_of("a field of an experiment", name, known)
    if isinstance(model, str):
        model = _default(one_of("a simulator with an experiment", model, EXPERIMENTS))
    if not isinstance(model, Experiment):
        return Experiment(model, **changes)
    return replace(model, **changes) if changes else model


def experiment_table() -> pd.DataFrame:
    """Return the experiments of all simulators, a DataFrame with a row each.

    >>> experiment_table().loc["hiv", ["outcome", "confounder"]].to_list()
    ['log10 E', 'E']
    """
    columns = ["words", "outcome", "better", "confounder", "mediator", "cost"]
    trials = pd.DataFrame([vars(experiment(name)) for name in EXPERIMENTS])
    return trials.set_index("model")[columns].rename_axis("simulator")


# ---------------------------------------------------------------- one for each simulator

# Confounders are what a person in charge would look at. The worse off are treated: the weakest patients, the towns with
# the most infected, the most polluted worlds. So the treated end up worse although treatment helps. Among rabbits and
# foxes and for credit it is the other way round in one respect or the other.
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
        "halfway": 5.0,
        "words": "RT inhibitor for 25 days; outcome: effectors then",
    },
    "lotka_volterra": {
        "treatment": {"fox_growth": 0.4},
        "span": 2.0,
        "after": 4.0,
        "spread": 0.2,
        "logarithms": True,
        "outcome": "foxes",
        "noise": 1.0,
        "cost": 6.5,
        "confounder": "rabbits",
        "world": {"preset": "whynot"},
        "strength": 0.8,
        "mediator": "rabbits",
        "halfway": 1.0,
        "words": "foxes' growth held at 0.4 for 2; outcome: foxes after 4",
    },
    "opioid": {
        "treatment": {"misuse_reduction": 0.113},
        "span": 10.0,
        "start": "2015",
        "spread": {"nonmedical_users": 0.3, "oud_users": 0.3, "illicit_users": 0.6},
        "logarithms": True,
        "outcome": "overdose_deaths / 1000",
        "better": "lower",
        "noise": 10.0,
        "confounder": "illicit_users",
        "mediator": "illicit_users",
        "halfway": 5.0,
        "world": {"config": {"start_time": 2015.0, "end_time": 2030.0}},
        "words": "11.3 % less new misuse a year; outcome: deaths from 2015 to 2025, thousands",
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
        "halfway": 2.0,
        "words": "a fifth of the houses sprayed for 20 days; outcome: people ill on day 20",
    },
    "world3": {
        "treatment": {"persistent_pollution_generation_factor": 0.5},
        "begin": 75.0,
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
        "halfway": 10.0,
        "words": "half the pollution from 1975 on; outcome: people in 2050, billions",
    },
    "credit": {
        "treatment": {"published": "trained on the past"},
        "span": 1.0,
        "outcome": "approved",
        "confounder": "age",
        "hidden": ("age", "RevolvingUtilizationOfUnsecuredLines"),
        "mediator": "RevolvingUtilizationOfUnsecuredLines",
        "halfway": 0.5,
        "words": "knows the published score; outcome: approved or not",
    },
}
