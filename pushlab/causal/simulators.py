"""What draws the units of an experiment: a dynamical model, or people with a credit score."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pushlab.datasets.borrowers import FEATURES, WORDS, load_borrowers
from pushlab.envs.credit.rules import (
    WEIGHTS,
    best_response,
    candidate_classifiers,
    credit_config,
)
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODE
from pushlab.ground.arguments import demand, number, numbers, one_of

LEAST = 1e-12  # smaller values count as this one in logarithms
REACH = 3.0  # deviations from the start beyond which no unit begins


class Units(NamedTuple):
    """Units of an experiment, a row each. The second axis of `outcomes` and `mediators` is untreated, treated."""

    covariates: pd.DataFrame  # every variable at the decision
    outcomes: np.ndarray  # (units, 2)
    mediators: np.ndarray  # (units, 2), on the way from the treatment to the outcome

    @property
    def effects(self) -> np.ndarray:
        """The effect of treatment on each unit, (units,)."""
        return self.outcomes[:, 1] - self.outcomes[:, 0]


class ODEUnits:
    """Draws units of a dynamical model; both potential outcomes of all units are one batch."""

    def __init__(self, experiment: Any):
        self.experiment = experiment
        self.model = model = load_model(experiment.model)
        self.names = model.levels
        world = experiment.world
        for name in world:
            one_of("an argument in world", name, ("config", "preset"))
        self.config = model.config(world.get("config"), world.get("preset"))
        self.logarithms = experiment.logarithms
        if self.logarithms is None:
            self.logarithms = model.logarithmic
        self.levels = model.state(experiment.start)[: len(self.names)]
        spread = experiment.spread
        if not isinstance(spread, dict):
            spread = dict.fromkeys(self.names, spread)
        for name in spread:
            one_of(f"a variable that {model.name} begins with", name, self.names)
        scales = [number("spread", spread.get(name, 0.0), 0) for name in self.names]
        self.spread = np.array(scales, np.float64)
        known = {item.name: item.bounds for item in model.interventions}
        for name, dose in experiment.treatment.items():
            one_of(f"an intervention of {model.name}", name, known)
            number(name, dose, *known[name])
        variables = [*(experiment.covariates or ()), *(experiment.hidden or ())]
        for name in (experiment.confounder, *variables):
            one_of(f"a variable of {model.name}", name, model.names)
        for quantity in (experiment.outcome, experiment.mediator):
            self._measure(quantity, np.zeros((1, len(model.names))))

    def column(self, variable: str) -> str:
        """Return a variable's column of a data set."""
        return f"log10 {variable}" if self.logarithms else variable

    def begin(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Return all variables of `n` units at the decision."""
        return self._table(self._decision(n, rng))

    def units(self, n: int, rng: np.random.Generator) -> Units:
        """Return `n` units."""
        trial = self.experiment
        values = self._decision(n, rng)
        untreated = np.tile(self.model.dose(self.config), (2 * n, 1))
        dose = untreated.copy()
        for at, item in enumerate(self.model.interventions):
            dose[n:, at] = trial.treatment.get(item.name, dose[n:, at])
        both = np.vstack([values, values])
        now = 0.0
        ends = {trial.halfway, min(trial.span, trial.measured), trial.measured}
        for moment in sorted(ends):
            held = dose if now < trial.span else untreated
            both = self._flow(both, now, moment, held)
            now = moment
            if moment == trial.halfway:
                mediators = self._measure(trial.mediator, both)
        outcomes = self._measure(trial.outcome, both)
        return Units(
            covariates=self._table(values),
            outcomes=outcomes.reshape(2, n).T,
            mediators=mediators.reshape(2, n).T,
        )

    def _measure(self, quantity, values):
        """Return a quantity such as "log10 E", "E / 1000" or "population_*" of states (n, variables)."""
        variable, _, divisor = quantity.removeprefix("log10 ").partition(" / ")
        names = self.model.names
        columns = [name == variable for name in names]
        if not any(columns):
            columns = [fnmatchcase(name, variable) for name in names]
        demand(
            any(columns),
            f"{self.model.name} has the variables {', '.join(names)}; got {quantity!r}",
        )
        total = values[:, columns].sum(axis=1) / float(divisor or 1)
        if quantity.startswith("log10 "):
            return np.log10(np.maximum(total, LEAST))
        return total

    def _table(self, values):
        if self.logarithms:
            values = np.log10(np.maximum(values, LEAST))
        return pd.DataFrame(values, columns=map(self.column, self.model.names))

    def _decision(self, n, rng):
        """Return states (n, variables) at the decision."""
        from scipy.special import ndtr, ndtri

        # Standard normal numbers between -REACH and REACH: no unit is far from all others.
        shares = rng.random((n, len(self.levels)))
        normal = ndtri(ndtr(-REACH) + shares * (ndtr(REACH) - ndtr(-REACH)))
        values = self.levels * np.exp(self.spread * normal)
        if self.model.settled is not None:
            values = np.array([self.model.settled(self.config, row) for row in values])
        if self.experiment.begin:
            dose = np.tile(self.model.dose(self.config), (n, 1))
            return self._flow(values, -self.experiment.begin, 0.0, dose)
        return values

    def _flow(self, values, since, until, dose):
        """Return states (n, variables) at `until`, from those at `since`; times count from the decision."""
        decision = self.config.start_time + self.experiment.begin
        span = {"start_time": decision + since, "end_time": decision + until}
        config = replace(self.config, **span)
        world = ODE(self.model, config, timestep=until - since, actions="box")
        return world.flow(values, np.zeros(len(values), np.int64), dose)[0]


class CreditUnits:
    """Draws people: the treated know how the score is made and answer it in the best way, the others stay as they are.

    People are drawn, with replacement, from the table of borrowers. `start`, `spread`, `begin`, `span` and `halfway`
    have no meaning here. Features are in standard units.
    """

    names = FEATURES

    def __init__(self, experiment: Any):
        self.experiment = experiment
        world = experiment.world
        for name in world:
            one_of("an argument in world", name, ("people", "config", "preset"))
        self.people = load_borrowers(world.get("people"))
        self.config = credit_config(world.get("config"), world.get("preset"))
        published = experiment.treatment.get("published")
        if isinstance(published, str):
            known = candidate_classifiers(self.people, self.config)
            published = known[one_of("treatment: published", published, known)]
        self.theta = numbers("treatment: published", published, (len(WEIGHTS),))
        one_of("outcome", experiment.outcome, ("approved", "score"))
        variables = [*(experiment.covariates or ()), *(experiment.hidden or ())]
        for name in (experiment.confounder, *variables):
            one_of("a feature of people", name, FEATURES)
        one_of("mediator", experiment.mediator, self.config.changeable)

    def column(self, variable: str) -> str:
        """Return a feature's column of a data set."""
        return WORDS[FEATURES.index(variable)]

    def begin(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Return all features of `n` people."""
        rows = rng.integers(len(self.people), size=n)
        return pd.DataFrame(self.people.features[rows], columns=WORDS)

    def units(self, n: int, rng: np.random.Generator) -> Units:
        """Return `n` units."""
        config = self.config
        mediator = self.experiment.mediator
        covariates = self.begin(n, rng)
        move = best_response(self.theta, config)
        score = covariates.to_numpy() @ self.theta[:-1] + self.theta[-1]
        answered = score + self.theta[config.changeable_indices] @ move
        outcomes = np.stack([score, answered], axis=1)
        if self.experiment.outcome == "approved":
            outcomes = (outcomes <= 0).astype(np.float64)
        before = covariates[self.column(mediator)].to_numpy()
        after = before + move[config.changeable.index(mediator)]
        return Units(covariates, outcomes, np.stack([before, after], axis=1))
