"""ODE: the world of a dynamical model whose interventions an agent sets. Each simulator's module has its worlds."""

from __future__ import annotations

from copy import copy
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy import ndarray

from pushlab.envs.env import action_validator
from pushlab.envs.ode.integrate import LANES, integrator
from pushlab.envs.ode.models import Model, load_model, whynot_preset
from pushlab.envs.world import World, exported_property
from pushlab.utils.arguments import (
    error_context,
    require,
    short_repr,
    validate_array,
    validate_bool,
    validate_choice,
    validate_choices,
    validate_number,
)

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 1e-7  # keeps the relative error of an episode below 1e-6
MIN_LOGGED = 1e-6  # replaces smaller values before logarithms are taken
MIN_BATCH = 12  # fewer copies are advanced one by one, not LANES at a time
ONE = np.array(1)  # NumPy adds it to a small array in half the time of a plain 1
PARTS = 8  # of a step, for a smooth curve between decisions
MAX_NORMAL = 9.0  # the Box-Muller method gives no larger number


class ODE(World):
    """A simulator that is advanced from decision to decision, while actions set some of its parameters.

    Observation:
        Box, float64: the variables in `observe`, in their units. With `log_observation`, their base-10 logarithms, for
        which 1e-6 replaces smaller values.

    Action:
        "discrete": Discrete, a number for each combination of the interventions' options; the last intervention
        changes fastest. "box": Box, a value for each intervention.

    Reward:
        The model's reward for the state after the step and the doses of the step.

    Start:
        `initial_state`, or reset(options={"initial_state": ...}).

    End:
        Never terminated; truncated at `config.end_time`. The last step is shorter if necessary.

    Info:
        "time", in the model's unit.

    Args:
        model: A name, or a Model.
        config: {parameter: value} to change, or a complete Config. It is never changed in place.
        preset: Name of a set of parameters of the model. `config` overrides it.
        reference: "whynot-0.12" has the preset "whynot" and, in some worlds, WhyNot's rules.
        initial_state: A name, {variable: value} or numbers; None is the model's first named state.
        timestep: Time between decisions; None is the model's default.
        actions: "discrete" or "box".
        interventions: {name: options or (low, high)} instead of the model's own.
        observe: Names of the variables in observations; None is all.
        log_observation: Whether to observe logarithms.
        noise: Standard deviation of the natural logarithm of observed over true values.
        tolerance: Relative error allowed in each step of the adaptive solver.
        dt: Length of the steps of Euler's method, in the model's unit, from 1e-6 to 1. With longer steps variables can
            fall below zero. None is the model's default: the adaptive solver for all simulators except World3.

    Attributes:
        config, time, state, timestep, initial_state: As in WhyNot's environments.
        simulate(actions), counterfactual(actions): Trajectories, as DataFrames.

    >>> from pushlab.envs.env import Env
    >>> env = Env(ODE, model="lotka_volterra", config={"end_time": 10})
    >>> env.config.end_time, env.time, env.timestep, env.initial_state
    (10, 0.0, 0.5, {'rabbits': 10.0, 'foxes': 5.0})
    """

    name = "ODE-v0"
    drawing = "patient"
    simulator: str | Model = "hiv"
    options: tuple[str, ...] = ("initial_state",)
    trail_keys = ("before",)
    exports: tuple[str, ...] = (
        "config",
        "time",
        "timestep",
        "initial_state",
        "simulate",
        "counterfactual",
    )

    def __init__(
        self,
        model: str | Model | None = None,
        config: Any = None,
        preset: str | None = None,
        reference: str | None = None,
        initial_state: Any = None,
        timestep: float | None = None,
        actions: str = "discrete",
        interventions: dict | None = None,
        observe: Any = None,
        log_observation: bool = False,
        noise: float = 0.0,
        tolerance: float = TOLERANCE,
        dt: float | None = None,
    ) -> None:
        require(
            type(self) is ODE or not isinstance(model, str),
            f"{self.name} has its own model; for another one use Env(ODE, model=...)",
        )
        self.model = load_model(model or self.simulator)
        self.reference = reference
        self.config = self.model.config(config, whynot_preset(reference, preset))
        self._start = self.model.state(initial_state, self.config)
        self._constants = self.model.constants(self.config)
        length = self.config.end_time - self.config.start_time
        argument = f"timestep ({self.model.time_unit})"
        timestep = self.model.timestep if timestep is None else timestep
        self.timestep = float(validate_number(argument, timestep, length / 1e7, length))
        self.max_steps = int(np.ceil(length / self.timestep - 1e-9))
        self._n_steps = np.array(self.max_steps)
        self.dt = self.model.dt
        if dt is not None:
            self.dt = float(validate_number("dt", dt, 1e-6, 1))
        self._solver_limit = float(validate_number("tolerance", tolerance, 1e-13, 1e-2))
        if self.dt is not None:
            self._solver_limit = self.dt
        self._compile()
        self.noise = float(validate_number("noise", noise, 0, 5))
        is_box = validate_choice("actions", actions, ("discrete", "box")) == "box"
        self._set_actions(interventions, is_box)
        self._set_observations(observe, log_observation)

    def _compile(self):
        model = self.model
        arguments = (model.derivative, model.reward, len(model.names))
        self._advance_one = integrator(*arguments, 1, self.dt is not None)
        self._advance_lanes = integrator(*arguments, LANES, self.dt is not None)

    def __getstate__(self):
        # Compiled loops can't be pickled.
        return {**vars(self), "_advance_one": None, "_advance_lanes": None}

    def __setstate__(self, stored):
        vars(self).update(stored)
        self._compile()

    def _set_actions(self, interventions, is_box):
        items = {item.name: item for item in self.model.interventions}
        ranges = {}
        for name, item in items.items():
            ranges[name] = item.bounds if is_box else item.options or item.bounds
        if interventions is not None:
            ranges = self._validate_interventions(interventions, items, is_box)
        self._ranges = ranges
        self.model_description = self.model.plot_metadata(self.config, ranges)
        # Interventions that actions don't set have the parameters' values.
        self._default_dose = self.model.dose(self.config)
        self._columns = [list(items).index(name) for name in ranges]
        if is_box:
            low, high = np.array(list(ranges.values())).T
            self.action_space = Box(low, high, dtype=np.float64)
            self.action_names = list(ranges)
            self.doses = None
            return
        self.doses = np.array(list(product(*ranges.values())), np.float64)
        self._dose_table = np.repeat(self._default_dose[None], len(self.doses), axis=0)
        self._dose_table[:, self._columns] = self.doses
        self.action_space = Discrete(len(self.doses))
        labels = [items[name].label for name in ranges]
        is_switch = all(len(doses) == 2 and doses[0] == 0 for doses in ranges.values())
        choices = [_action_label(labels, dose, is_switch) for dose in self.doses]
        self.action_choices = [("action", choices)]

    def _validate_interventions(self, interventions, items, is_box):
        """Return the argument `interventions` as {intervention: options or (low, high)}."""
        require(
            isinstance(interventions, dict) and interventions,
            f"interventions must be {{name: options or (low, high)}}; got {short_repr(interventions)}",
        )
        ranges = {}
        for name, value in interventions.items():
            validate_choice(
                f"interventions: an intervention of {self.model.name}", name, items
            )
            low, high = items[name].bounds
            doses = validate_array(f"interventions: {name}", value)
            is_valid = doses.ndim == 1 and len(doses)
            if is_box:
                is_valid = doses.shape == (2,) and doses[0] < doses[1]
            require(
                is_valid and ((doses >= low) & (doses <= high)).all(),
                f"interventions: {name} must be {'(low, high)' if is_box else 'a list of options'} from {low:g} to "
                f"{high:g}; got {short_repr(value)}",
            )
            ranges[name] = tuple(doses.tolist())
        return ranges

    def _set_observations(self, observe, log_observation):
        names = self.model.names
        observe = (
            names if observe is None else validate_choices("observe", observe, names)
        )
        self.observation_names = observe
        self._observes_all = observe == names
        self._observed = np.array([names.index(name) for name in observe])
        self.log_observation = validate_bool("log_observation", log_observation)
        self.uniforms = 2 * len(observe) if self.noise else 0
        low = np.zeros(len(observe))
        high = self._observation_bounds()[self._observed]
        if self.log_observation:
            low = np.full(len(observe), np.log10(MIN_LOGGED))
            high = np.log10(np.maximum(high, 10 * MIN_LOGGED))
        self.observation_space = Box(low, high, dtype=np.float64)

    def _observation_bounds(self):
        """Return upper bounds of all variables when observed, from any named state or the environment's own."""
        model = self.model
        starts = [model.state(name, self.config) for name in model.initial_states]
        starts.append(self._start)
        high = np.max([self._upper_bounds(start) for start in starts], axis=0)
        return 1.001 * high * np.exp(MAX_NORMAL * self.noise)

    def _upper_bounds(self, start):
        """Return upper bounds of the variables from a start, under any actions."""
        return self.model.upper_bounds(self.config, start, self._ranges)

    def initial(self, draws, options):
        start = self._start
        if "initial_state" in options:
            requested = options["initial_state"]
            start = self.model.state(requested, self.config)
            is_within = self._upper_bounds(start) <= self._observation_bounds()
            require(
                is_within.all(),
                f"initial_state {short_repr(requested)} can leave the observation space; "
                f"give it as the argument initial_state of the environment instead",
            )
        state = {
            "values": np.repeat(start[None], len(draws), axis=0),
            "step": np.zeros(len(draws), np.int64),
            "time": np.full(len(draws), float(self.config.start_time)),
        }
        return self._with_noise(state, draws)

    def _with_noise(self, state, draws):
        if self.noise:  # the Box-Muller method
            radius = np.sqrt(-2 * np.log1p(-draws[:, ::2]))
            normal = radius * np.cos(2 * np.pi * draws[:, 1::2])
            state["error"] = np.exp(self.noise * normal)
        return state

    def dose_of(self, action: ndarray) -> ndarray:
        """Return the doses of the model's interventions, (n, interventions), for actions (n, ...)."""
        if self.doses is not None:
            return self._dose_table.take(action, axis=0)
        dose = np.repeat(self._default_dose[None], len(action), axis=0)
        dose[:, self._columns] = action
        return dose

    def advance(self, state, action, draws):
        dose = self.dose_of(action)
        values, time, reward = self.flow(state["values"], state["step"], dose)
        outcome = {"before": state["values"], "dose": dose, "reward": reward}
        state = {**state, "values": values, "step": state["step"] + ONE, "time": time}
        return self._with_noise(state, draws), outcome

    def flow(
        self, values: ndarray, step: ndarray, dose: ndarray
    ) -> tuple[ndarray, ndarray, ndarray]:
        """Return states (n, variables), times (n,) and rewards (n,) after one more timestep.

        Args:
            values: States before, (n, variables).
            step: Number of timesteps so far, (n,).
            dose: Doses during the timestep, (n, interventions).

        Raises:
            ArithmeticError: A copy could not be integrated.
        """
        n = len(values)
        next_values = np.empty(values.shape)
        time = np.empty(n)
        reward = np.empty(n)
        advance = self._advance_one if n < MIN_BATCH else self._advance_lanes
        failed = advance(
            values,
            step,
            self.timestep,
            self._constants,
            dose,
            self._solver_limit,
            0.0,
            next_values,
            time,
            reward,
        )
        if failed >= 0:
            method = "to a tolerance" if self.dt is None else "in steps"
            state = dict(zip(self.model.names, values[failed].tolist()))
            remedy = "" if self.dt is None else "; choose a smaller dt"
            raise ArithmeticError(
                f"{self.model.name} could not be integrated {method} of {self._solver_limit:g} from the state {state} "
                f"of copy {failed}. A variable changes too fast{remedy}. timestep: {self.timestep:g}, "
                f"config: {self.config}"
            )
        return next_values, time, reward

    def observe(self, state):
        values = state["values"]
        if not self._observes_all:
            values = values.take(self._observed, axis=1)
        if self.noise:
            values = values * state["error"]
        if self.log_observation:
            return np.log10(np.maximum(values, MIN_LOGGED))
        return values.copy()

    def truncated(self, state):
        return state["step"] >= self._n_steps

    def info(self, state, outcome):
        return {"time": state["time"]}

    @property
    def initial_state(self) -> dict[str, float]:
        """The initial state of episodes, {variable: value}."""
        return dict(zip(self.model.names, self._start.tolist()))

    @exported_property
    def time(self, env: Any) -> float:
        """The current time in the model's unit, or the start time before the first reset."""
        start = self.config.start_time
        return float(start if env.state is None else env.state["time"][0])

    def simulate(
        self, env: Any, actions: Any, initial_state: Any = None
    ) -> pd.DataFrame:
        """Return the trajectory of an episode; the environment's own episode isn't changed.

        Args:
            actions: An action for all steps, a list with an action for each step, or a function of (values, time). A
                list can be shorter than the episode.
            initial_state: Initial state; None is the environment's.

        Returns:
            DataFrame with a row for each decision and one for the end. The columns are the time, the variables, the
            doses of the next step, the reward of the previous step, and the model's indicators. `attrs["model"]`
            describes the model for pictures.
        """
        start = self._start
        if initial_state is not None:
            start = self.model.state(initial_state, self.config)
        return self._trajectory(actions, start, self.max_steps)

    def counterfactual(self, env: Any, actions: Any) -> pd.DataFrame:
        """Return the trajectory of the current episode under other actions.

        It has the same start and number of steps, without noise. Arguments and result are as in `simulate`. A list
        needs an action for each step.
        """
        steps = len(env.trail)
        require(
            steps,
            "counterfactual() needs an episode with at least one step since reset()",
        )
        table = self._trajectory(actions, env.trail[0][0], steps)
        n_actions = len(table) - 1
        require(n_actions == steps, f"actions: {steps} are needed; got {n_actions}")
        return table

    def _trajectory(self, actions, start, steps):
        import pandas as pd

        is_policy = callable(actions)
        if not is_policy:
            with error_context("actions", actions):
                is_single = np.ndim(actions) == len(self.action_space.shape)
                actions = [actions] * steps if is_single else list(actions)
            require(
                len(actions) <= steps,
                f"actions: at most {steps} are possible; got {len(actions)}",
            )
            steps = len(actions)
        validate = action_validator(self)
        values = start[None].copy()
        time = float(self.config.start_time)
        reward = np.nan
        rows = []
        doses = []
        for step in range(steps):
            action = actions(values[0].copy(), time) if is_policy else actions[step]
            try:
                dose = self.dose_of(validate(action, 1))
            except ValueError as error:
                raise ValueError(f"actions, step {step}: {error}") from None
            rows.append((time, *values[0], *dose[0], reward))
            doses.append(dose[0])
            values, (time,), (reward,) = self.flow(values, np.array([step]), dose)
            time = float(time)
        rows.append((time, *values[0], *(np.nan * self._default_dose), reward))
        names = [item.name for item in self.model.interventions]
        columns = ["time", *self.model.names, *names, "reward"]
        table = pd.DataFrame(rows, columns=columns)
        if self.model.indicators is not None:
            # Each state is shown with the dose of the previous step, the first state with the first dose.
            previous = np.array([*doses[:1], *doses] or [self._default_dose])
            states = table[list(self.model.names)].to_numpy()
            indicators = self.model.indicators(states, previous, self.config)
            table = table.assign(**indicators)
        table.attrs["model"] = self.model_description
        return table

    def frame(self, state, outcome, at=0):
        """Return the data that `pushlab.plots.patient` and similar functions draw, a plain dict.

        - `env`, `step`, `episode_length`: Name of the world, steps so far, and number of steps.
        - `model`: The description of the model, see `Model.plot_metadata`.
        - `time`, `end`: Current time, and time at the end of the episode, in the model's unit.
        - `state`: {variable: value}.
        - `indicators`: {name: value} computed from the state; missing if the model has none.
        - `goal`: {variable: (low, high)} of the goal's region; empty if the model has none.
        - `doses`, `reward`: {intervention: dose} of the last step, and its reward; None after a
          reset.
        - `path`: For `patient`, the states during the last step: [{"time": time, variable: value}, ...].
        """
        values = state["values"]
        factor = 2.0 if self.model.logarithmic else 1.25  # of the goal's region
        goal = self.model.goal.items()
        frame = {
            "env": self.name,
            "model": self.model_description,
            "step": int(state["step"][at]),
            "episode_length": self.max_steps,
            "time": state["time"][at].item(),
            "end": self.config.end_time,
            "state": dict(zip(self.model.names, values[at].tolist())),
            "goal": {name: (value / factor, value * factor) for name, value in goal},
            "doses": None,
            "reward": None,
        }
        dose = self._default_dose
        if outcome is not None:
            dose = outcome["dose"][at]
            names = self.model_description["interventions"]
            frame["doses"] = dict(zip(names, dose.tolist()))
            frame["reward"] = float(outcome["reward"][at])
            if self.drawing == "patient" and self.dt is None:
                before = outcome["before"][at : at + 1]
                frame["path"] = self._path(before, frame["step"] - 1, dose[None])
        if self.model.indicators is not None:
            row = values[at : at + 1]
            indicators = self.model.indicators(row, dose[None], self.config)
            frame["indicators"] = {
                name: value.item() for name, value in indicators.items()
            }
        return frame

    def _path(self, values, step, dose):
        """Return the states between two decisions, [{"time": time, variable: value}, ...]."""
        fine = copy(self)
        fine.timestep /= PARTS
        names = ("time", *self.model.names)
        path = []
        for part in range(step * PARTS, (step + 1) * PARTS - 1):
            values, time, _ = fine.flow(values, np.array([part]), dose)
            path.append(dict(zip(names, [*time.tolist(), *values[0].tolist()])))
        return path

    def step_times(self, step: ndarray) -> list[ndarray]:
        """Return the times (n,) before and after the next timestep."""
        start = self.config.start_time
        end = self.config.end_time
        return [np.minimum(start + n * self.timestep, end) for n in (step, step + 1)]


def _action_label(labels, dose, is_switch):
    """Return the label of an action.

    Args:
        labels: Labels of the interventions.
        dose: Doses of the interventions.
        is_switch: Whether each intervention is either used or not, so that doses need not be shown.
    """
    pairs = list(zip(labels, dose))
    if is_switch:
        return " + ".join(label for label, value in pairs if value) or "nothing"
    return ", ".join(f"{label} {value:g}" for label, value in pairs)


class Epidemic(ODE):
    """An epidemic, whose frames also have the state as it would be without any action."""

    drawing = "epidemic"

    def initial(self, draws, options):
        state = super().initial(draws, options)
        return {**state, "start": state["values"]}

    def frame(self, state, outcome, at=0):
        """Return the frame of `ODE` with `no_action_state`, {variable: value}: the state without any action so far."""
        values = state["start"][at : at + 1]
        for step in range(int(state["step"][at])):
            values, *_ = self.flow(values, np.array([step]), self._default_dose[None])
        no_action_state = dict(zip(self.model.names, values[0].tolist()))
        return {**super().frame(state, outcome, at), "no_action_state": no_action_state}
