"""Units of an experiment with a dynamical model: both potential outcomes of all of them as one batch."""

from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.units import Units
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODE
from pushlab.ground.arguments import demand, number, one_of

LEAST = 1e-12  # below which a logarithm is that of this
REACH = 3.0  # deviations from the start beyond which no unit begins
OPTIONS = (
    "config",
    "preset",
    "solver",
    "dt",
    "tolerance",
)  # of the simulator, that an experiment may give


class ODEUnits:
    """What simulates the units of one experiment. ValueError says which field of it does not suit the model."""

    def __init__(self, experiment: Any):
        self.experiment, self.model = (
            experiment,
            (model := load_model(experiment.model)),
        )
        for name in experiment.world:
            one_of("an argument in world", name, OPTIONS)
        self.config = model.config(
            experiment.world.get("config"), experiment.world.get("preset")
        )
        self.logarithms = (
            model.logarithmic
            if experiment.logarithms is None
            else experiment.logarithms
        )
        self.levels = model.state(experiment.start, called="start")[: len(model.levels)]
        self.spread = self._spread()
        self._check_treatment()
        for name in (
            experiment.confounder,
            *(experiment.covariates or ()),
            *(experiment.hidden or ()),
        ):
            one_of(f"a variable of {model.name}", name, model.names)
        for name in (
            ("halfway", "span", "measured") if experiment.outcome == "return" else ()
        ):
            steps = getattr(experiment, name) / model.timestep
            demand(
                abs(steps - round(steps)) < 1e-9,
                f"rewards are added up by whole timesteps of {model.timestep:g}, "
                f"so {name} is some of these; got {getattr(experiment, name)!r}",
            )
        for quantity in (
            experiment.mediator,
            *[experiment.outcome] * (experiment.outcome != "return"),
        ):
            self._parts(quantity)

    def _check_treatment(self):
        treatment, known = (
            self.experiment.treatment,
            [item.name for item in self.model.interventions],
        )
        demand(
            isinstance(treatment, dict) and treatment,
            f"treatment is a dict of interventions of {self.model.name} "
            f"({', '.join(known)}); got {treatment!r}",
        )
        for name, value in treatment.items():
            one_of(f"an intervention of {self.model.name}", name, known)
            number(name, value, *self.model.interventions[known.index(name)].bounds)

    def _spread(self):
        """Of the variables that a state has to give, (levels,)."""
        spread, levels = self.experiment.spread, self.model.levels
        if isinstance(spread, dict):
            for name in spread:
                one_of(f"a variable that {self.model.name} begins with", name, levels)
            spread = [spread.get(name, 0.0) for name in levels]
        values = np.broadcast_to(np.asarray(spread, np.float64), (len(levels),))
        demand(
            np.isfinite(values).all() and (values >= 0).all() and values.any(),
            f"spread is a number above 0, or numbers by variable; got {self.experiment.spread!r}",
        )
        return values

    def _parts(self, quantity):
        """Columns of the state that a quantity such as "log10 A + I / 9" adds up, the divisor, whether it is a log."""
        demand(
            isinstance(quantity, str),
            f"outcome and mediator are named; got {quantity!r}",
        )
        words, _, divisor = quantity.removeprefix("log10 ").partition(" / ")
        names, columns = self.model.names, []
        for name in words.split(" + "):
            begins = name.endswith("*") and name not in names
            found = [
                at
                for at, one in enumerate(names)
                if one == name or begins and one.startswith(name[:-1])
            ]
            demand(
                found,
                f"{self.model.name} has the variables {', '.join(names)}; got {quantity!r}",
            )
            columns += found
        try:
            number = float(divisor or 1)
        except ValueError:
            number = 0.0
        demand(
            number != 0 and np.isfinite(number),
            f"a quantity is divided by a number other than 0; got {quantity!r}",
        )
        return columns, number, quantity.startswith("log10 ")

    def _measure(self, quantity, values):
        columns, divisor, logarithm = self._parts(quantity)
        total = values[:, columns].sum(axis=1) / divisor
        return np.log10(np.maximum(total, LEAST)) if logarithm else total

    def column(self, variable: str) -> str:
        """A variable as the covariates call it."""
        return f"log10 {variable}" if self.logarithms else variable

    @property
    def names(self) -> list[str]:
        """The covariates that are seen."""
        return [
            self.column(name)
            for name in self.experiment.covariates or self.model.levels
        ]

    def begin(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """All variables of `n` units at the moment of the decision, a DataFrame."""
        return self._table(self._decision(n, rng))

    def units(self, n: int, rng: np.random.Generator) -> Units:
        """`n` Units."""
        trial, values = self.experiment, self._decision(n, rng)
        both = np.vstack([values, values])
        doses = {
            name: np.repeat([np.nan, value], n)
            for name, value in trial.treatment.items()
        }
        now, earned = 0.0, np.zeros(2 * n)
        for moment in sorted(
            {trial.halfway, min(trial.span, trial.measured), trial.measured}
        ):
            both, reward = self._flow(
                both, now, moment, doses if now < trial.span else {}
            )
            earned, now = earned + reward, moment
            if moment == trial.halfway:
                mediators = self._measure(trial.mediator, both)
        outcomes = (
            earned if trial.outcome == "return" else self._measure(trial.outcome, both)
        )
        return Units(
            self._table(values), outcomes.reshape(2, n).T, mediators.reshape(2, n).T
        )

    def _table(self, values):
        values = np.log10(np.maximum(values, LEAST)) if self.logarithms else values
        return pd.DataFrame(
            values, columns=[self.column(name) for name in self.model.names]
        )

    def _decision(self, n, rng):
        """States (n, variables) at the moment of the decision."""
        values = self.levels * np.exp(self.spread * _normal(rng, (n, len(self.levels))))
        if self.model.settled is not None:
            values = np.array([self.model.settled(self.config, row) for row in values])
        return (
            self._flow(values, -self.experiment.begin, 0.0, {})[0]
            if self.experiment.begin
            else values
        )

    def _flow(self, values, since, until, doses):
        """States (n, variables) at `until`, of those at `since` (from the decision on), and the rewards added up."""
        world = self._world(since, until)
        dose = np.repeat(world._dose[None], len(values), axis=0)
        for name, given in doses.items():
            at = [item.name for item in self.model.interventions].index(name)
            dose[:, at] = np.where(np.isnan(given), dose[:, at], given)
        earned = np.zeros(len(values))
        for step in range(world.steps):
            values, _, reward = world.flow(values, np.full(len(values), step), dose)
            earned += reward
        return values, earned

    def _world(self, since, until):
        """The simulator from one time to another; its steps matter only where rewards are added up."""
        options = {
            name: value
            for name, value in self.experiment.world.items()
            if name not in ("config", "preset")
        }
        decision = self.config.start_time + self.experiment.begin
        changes = {
            item: getattr(self.config, item)
            for item in self.config.__dataclass_fields__
        }
        changes |= {"start_time": decision + since, "end_time": decision + until}
        timestep = (
            min(self.model.timestep, until - since)
            if self.experiment.outcome == "return"
            else until - since
        )
        return ODE(
            self.model, config=changes, timestep=timestep, actions="box", **options
        )


def _normal(rng, shape):
    """Standard normal numbers between -REACH and REACH: no unit is so far from the others that it is alone."""
    from scipy.special import ndtr, ndtri

    return ndtri(ndtr(-REACH) + rng.random(shape) * (ndtr(REACH) - ndtr(-REACH)))
