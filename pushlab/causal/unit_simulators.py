"""Simulators of an experiment's units: dynamical models, and people with a credit score."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pushlab.datasets.borrowers import FEATURE_LABELS, FEATURES, load_borrowers
from pushlab.envs.credit.rules import (
    WEIGHTS,
    best_response,
    candidate_classifiers,
    credit_config,
)
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODE
from pushlab.utils.arguments import (
    require,
    validate_array,
    validate_choice,
    validate_number,
)

MIN_VALUE = 1e-12  # lower bound of the arguments of logarithms
MAX_DEVIATION = 3.0  # of initial states, in standard deviations


class Units(NamedTuple):
    """Units of an experiment, one per row.

    Attributes:
        covariates: All variables at the decision.
        outcomes: Outcomes without and with treatment, (units, 2).
        mediators: Mediators without and with treatment, (units, 2).
    """

    covariates: pd.DataFrame
    outcomes: np.ndarray
    mediators: np.ndarray

    @property
    def effects(self) -> np.ndarray:
        """Effect of treatment on each unit, (units,)."""
        return self.outcomes[:, 1] - self.outcomes[:, 0]


class ODEUnits:
    """Draws units of a dynamical model. Both potential outcomes of all units are simulated in one batch."""

    def __init__(self, experiment: Any):
        self.experiment = experiment
        self.model = model = load_model(experiment.model)
        self.names = model.levels
        self.config = model.config(**experiment.world_arguments)
        self.logarithms = experiment.logarithms
        if self.logarithms is None:
            self.logarithms = model.logarithmic
        self.levels = model.state(experiment.start)[: len(self.names)]
        spread = experiment.spread
        if not isinstance(spread, dict):
            spread = dict.fromkeys(self.names, spread)
        for name in spread:
            validate_choice(
                f"a variable that {model.name} begins with", name, self.names
            )
        self.spread = np.array(
            [validate_number("spread", spread.get(name, 0.0), 0) for name in self.names]
        )
        bounds = {item.name: item.bounds for item in model.interventions}
        for name, dose in experiment.treatment.items():
            validate_choice(f"an intervention of {model.name}", name, bounds)
            validate_number(name, dose, *bounds[name])
        observed = (experiment.confounder, *experiment.covariates)
        for name in (*observed, *experiment.hidden):
            validate_choice(f"a variable of {model.name}", name, model.names)
        zeros = np.zeros((1, len(model.names)))
        for quantity in (experiment.outcome, experiment.mediator):
            self._measure(quantity, zeros)

    def column(self, variable: str) -> str:
        """Return the column of a variable in a data set."""
        return f"log10 {variable}" if self.logarithms else variable

    def covariates(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw `n` units and return all their variables at the decision."""
        return self._table(self._states_at_decision(n, rng))

    def units(self, n: int, rng: np.random.Generator) -> Units:
        """Draw `n` units and simulate them with and without treatment."""
        trial = self.experiment
        values = self._states_at_decision(n, rng)
        default_dose = self._default_dose(2 * n)
        dose = default_dose.copy()
        for column, item in enumerate(self.model.interventions):
            if item.name in trial.treatment:
                dose[n:, column] = trial.treatment[item.name]
        states = np.vstack([values, values])  # untreated, then treated
        outcome_time = trial.time_to_outcome
        times = {trial.mediator_time, min(trial.span, outcome_time), outcome_time}
        now = 0.0
        for time in sorted(times):
            current_dose = dose if now < trial.span else default_dose
            states = self._flow(states, now, time, current_dose)
            now = time
            if time == trial.mediator_time:
                mediators = self._measure(trial.mediator, states)
        outcomes = self._measure(trial.outcome, states)
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
        require(
            any(columns),
            f"{quantity!r} matches no variable of {self.model.name}: {', '.join(names)}",
        )
        total = values[:, columns].sum(axis=1)
        total /= float(divisor or 1)
        if quantity.startswith("log10 "):
            return np.log10(np.maximum(total, MIN_VALUE))
        return total

    def _table(self, values):
        if self.logarithms:
            values = np.log10(np.maximum(values, MIN_VALUE))
        return pd.DataFrame(values, columns=map(self.column, self.model.names))

    def _states_at_decision(self, n, rng):
        """Draw states (n, variables) at the decision."""
        from scipy.special import ndtr, ndtri

        # Truncated normal numbers, so that there are no outliers.
        uniforms = rng.random((n, len(self.levels)))
        low = ndtr(-MAX_DEVIATION)
        high = ndtr(MAX_DEVIATION)
        normal = ndtri(low + uniforms * (high - low))
        values = self.levels * np.exp(self.spread * normal)
        if self.model.complete_state is not None:
            rows = [self.model.complete_state(self.config, row) for row in values]
            values = np.array(rows)
        decision_time = self.experiment.decision_time
        if decision_time:
            dose = self._default_dose(n)
            return self._flow(values, -decision_time, 0.0, dose)
        return values

    def _default_dose(self, n):
        return np.tile(self.model.dose(self.config), (n, 1))

    def _flow(self, values, start, end, dose):
        """Return states (n, variables) at `end`, from those at `start`; times are relative to the decision."""
        decision = self.config.start_time + self.experiment.decision_time
        times = {"start_time": decision + start, "end_time": decision + end}
        config = replace(self.config, **times)
        world = ODE(self.model, config, timestep=end - start, actions="box")
        no_action = np.zeros(len(values), np.int64)
        states, _, _ = world.flow(values, no_action, dose)
        return states


class CreditUnits:
    """Draws people. Treated ones know the credit score and respond optimally; the others don't change.

    People are drawn with replacement from the table of borrowers. `start`, `spread`, `decision_time`, `span` and
    `mediator_time` have no effect. Features are in standard units.
    """

    names = FEATURES

    def __init__(self, experiment: Any):
        self.experiment = experiment
        arguments = dict(experiment.world_arguments)
        self.people = load_borrowers(arguments.pop("people", None))
        self.config = credit_config(**arguments)
        published = experiment.treatment.get("published")
        if isinstance(published, str):
            candidates = candidate_classifiers(self.people, self.config)
            validate_choice("treatment: published", published, candidates)
            published = candidates[published]
        self.theta = validate_array("treatment: published", published, (len(WEIGHTS),))
        validate_choice("outcome", experiment.outcome, ("approved", "score"))
        observed = (experiment.confounder, *experiment.covariates)
        for name in (*observed, *experiment.hidden):
            validate_choice("a feature of people", name, FEATURES)
        validate_choice(
            "mediator", experiment.mediator, self.config.changeable_features
        )

    def column(self, variable: str) -> str:
        """Return the column of a feature in a data set."""
        return FEATURE_LABELS[FEATURES.index(variable)]

    def covariates(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw `n` people and return all their features."""
        rows = rng.integers(len(self.people), size=n)
        return pd.DataFrame(self.people.features[rows], columns=FEATURE_LABELS)

    def units(self, n: int, rng: np.random.Generator) -> Units:
        """Draw `n` people and compute their outcomes with and without treatment."""
        config = self.config
        mediator = self.experiment.mediator
        covariates = self.covariates(n, rng)
        response = best_response(self.theta, config)
        weights = self.theta[:-1]
        score = covariates.to_numpy() @ weights + self.theta[-1]
        new_score = score + self.theta[config.changeable_indices] @ response
        outcomes = np.stack([score, new_score], axis=1)
        if self.experiment.outcome == "approved":
            outcomes = (outcomes <= 0).astype(np.float64)
        untreated = covariates[self.column(mediator)].to_numpy()
        treated = untreated + response[config.changeable_features.index(mediator)]
        mediators = np.stack([untreated, treated], axis=1)
        return Units(covariates, outcomes, mediators)
