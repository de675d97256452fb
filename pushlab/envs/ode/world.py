"""ODE: a dynamical model some of whose parameters an agent sets; the module of each simulator has its worlds."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from numpy import ndarray

from pushlab.envs.ode.integrate import LANES, integrator
from pushlab.envs.ode.models import Model, load_model, whynot_preset
from pushlab.envs.shell import reader_of
from pushlab.envs.world import World, reading
from pushlab.ground.arguments import (
    demand,
    flag,
    in_short,
    naming,
    number,
    numbers,
    one_of,
    some_of,
)

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 1e-7  # an episode then has a relative error below 1e-6
DETECTED = 1e-6  # smaller values count as this one in logarithms
FEW = 12  # fewer copies than this are advanced one by one, not LANES at a time
ONE = np.array(1)  # NumPy adds it to an array of one in half the time of a plain 1
LARGEST_NORMAL = 9.0  # the Box-Muller rule gives no larger number


class ODE(World):
    """Advance a simulator from decision to decision, while actions set some of its parameters.

    Observation:
        Box, float64: the variables in `observe`, in the model's order and units. With `log_observation`, their base-10
        logarithms; values below 1e-6 count as 1e-6. With `bins`, MultiDiscrete: the number of edges that a variable
        reaches; `world.edges` has the edges.

    Action:
        "discrete": Discrete, a number for each combination of the interventions' options; the last intervention
        changes fastest. "box": Box, a value for each intervention.

    Reward:
        The model's, of the state after the step and the doses of the step.

    Start:
        `initial_state`, or reset(options={"initial_state": ...}).

    End:
        Never terminated; truncated at `config.end_time`. The last step is shorter if it has to be.

    Info:
        "time", in the model's unit.

    Args:
        model: A name, or a Model.
        config: {parameter: value} to change, or a whole Config. It is never changed in place.
        preset: A named set of parameters of the model. `config` overrides it.
        reference: "whynot-0.12" has the preset "whynot", and WhyNot's rules in worlds that say so.
        initial_state: A name, {variable: value} or numbers; None is the model's first.
        timestep: Time between decisions.
        actions: "discrete" or "box".
        interventions: {name: options or (low, high)} instead of the model's own.
        observe: Names of the variables in observations; None is all.
        bins: True observes the model's bins.
        log_observation: True observes logarithms.
        noise: Standard deviation of the natural logarithm of observed over true values.
        tolerance: Relative error allowed in each step of the adaptive solver.
        dt: Length of the steps of Euler's method, in the model's unit. None is the model's own choice: the adaptive
            solver for all simulators except World3. From 1e-6 to 1: with longer steps variables can fall below zero.

    Attributes:
        config, time, state, timestep, initial_state: Of the environment, as in WhyNot.
        simulate(actions), counterfactual(actions): Trajectories, as DataFrames.

    >>> from pushlab.envs.shell import Env
    >>> env = Env(ODE, model="lotka_volterra", config={"end_time": 10})
    >>> env.config.end_time, env.time, env.timestep, env.initial_state
    (10, 0.0, 0.5, {'rabbits': 10.0, 'foxes': 5.0})
    """

    name, drawing = "ODE-v0", "patient"
    simulator: str | Model = "hiv"
    options: tuple[str, ...] = ("initial_state",)
    trail_of = ("before",)
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
        bins: bool = False,
        log_observation: bool = False,
        noise: float = 0.0,
        tolerance: float = TOLERANCE,
        dt: float | None = None,
    ) -> None:
        demand(
            type(self) is ODE or not isinstance(model, str),
            f"{self.name} has its own model; Env(ODE, model=...) takes any",
        )
        self.model = load_model(model or self.simulator)
        self.reference = reference
        self.config = self.model.config(config, whynot_preset(reference, preset))
        self._start = self.model.state(initial_state, self.config)
        self._constants = self.model.constants(self.config)
        length = self.config.end_time - self.config.start_time
        called = f"timestep ({self.model.time_unit})"
        timestep = self.model.timestep if timestep is None else timestep
        self.timestep = float(number(called, timestep, length / 1e7, length))
        self.steps = self.most_steps = int(np.ceil(length / self.timestep - 1e-9))
        self._last = np.array(self.steps)
        self.dt = self.model.dt if dt is None else float(number("dt", dt, 1e-6, 1))
        self._limit = float(number("tolerance", tolerance, 1e-13, 1e-2))
        if self.dt is not None:
            self._limit = self.dt
        self._compile()
        self.noise = float(number("noise", noise, 0, 5))
        is_box = one_of("actions", actions, ("discrete", "box")) == "box"
        self._set_actions(interventions, is_box)
        self._set_observations(observe, flag("bins", bins), log_observation)

    def _compile(self):
        model = self.model
        parts = (model.derivative, model.reward, len(model.names))
        self._one = integrator(*parts, 1, self.dt is not None)
        self._many = integrator(*parts, LANES, self.dt is not None)

    def __getstate__(self):
        # Pickle finds no name for compiled loops.
        return {**vars(self), "_one": None, "_many": None}

    def __setstate__(self, stored):
        vars(self).update(stored)
        self._compile()

    def _set_actions(self, interventions, is_box):
        known = {item.name: item for item in self.model.interventions}
        ranges = {}
        for name, item in known.items():
            ranges[name] = item.bounds if is_box else item.options or item.bounds
        if interventions is not None:
            ranges = self._chosen(interventions, known, is_box)
        self._ranges = ranges
        self.told = self.model.told(self.config, ranges)
        # An intervention that actions don't set keeps the parameter's own value.
        self._dose = self.model.dose(self.config)
        self._columns = [list(known).index(name) for name in ranges]
        if is_box:
            low, high = np.array(list(ranges.values())).T
            self.action_space = Box(low, high, dtype=np.float64)
            self.action_names = list(ranges)
            self.doses = None
            return
        self.doses = np.array(list(product(*ranges.values())), np.float64)
        self._table = np.repeat(self._dose[None], len(self.doses), axis=0)
        self._table[:, self._columns] = self.doses
        self.action_space = Discrete(len(self.doses))
        words = [known[name].words for name in ranges]
        is_switch = all(len(each) == 2 and each[0] == 0 for each in ranges.values())
        choices = [_in_words(words, dose, is_switch) for dose in self.doses]
        self.action_choices = [("action", choices)]

    def _chosen(self, interventions, known, is_box):
        """Return the options or bounds given, {intervention: numbers}."""
        demand(
            isinstance(interventions, dict) and interventions,
            f"interventions is {{name: options or (low, high)}}; got {in_short(interventions)}",
        )
        chosen = {}
        for name, given in interventions.items():
            one_of(f"interventions: an intervention of {self.model.name}", name, known)
            low, high = known[name].bounds
            values = numbers(f"interventions: {name}", given)
            is_valid = values.ndim == 1 and len(values)
            if is_box:
                is_valid = values.shape == (2,) and values[0] < values[1]
            demand(
                is_valid and ((values >= low) & (values <= high)).all(),
                f"interventions: {name} has a list of options, or (low, high) with actions='box', from {low:g} to "
                f"{high:g}; got {in_short(given)}",
            )
            chosen[name] = tuple(values.tolist())
        return chosen

    def _set_observations(self, observe, bins, log_observation):
        names = self.model.names
        observe = names if observe is None else some_of("observe", observe, names)
        self.observation_names = observe
        self._sees_all = observe == names
        self._seen = np.array([names.index(name) for name in observe])
        self.log_observation = flag("log_observation", log_observation)
        self.uniforms = 2 * len(observe) if self.noise else 0
        self.edges = None
        if bins:
            edges = {item.name: np.array(item.edges) for item in self.model.variables}
            self.edges = {name: edges[name] for name in observe}
            sizes = [len(edges[name]) + 1 for name in observe]
            demand(min(sizes) > 1, f"{self.model.name} has no bins")
            self.observation_space = MultiDiscrete(sizes)
            return
        low = np.zeros(len(observe))
        high = self._bound()[self._seen]
        if self.log_observation:
            low = np.full(len(observe), np.log10(DETECTED))
            high = np.log10(np.maximum(high, 10 * DETECTED))
        self.observation_space = Box(low, high, dtype=np.float64)

    def _bound(self):
        """Upper bounds of observed values, from all named initial states and the environment's own."""
        named = [
            self.model.state(name, self.config) for name in self.model.initial_states
        ]
        high = np.max([self._upper(start) for start in [*named, self._start]], axis=0)
        return 1.001 * high * np.exp(LARGEST_NORMAL * self.noise)

    def _upper(self, start):
        """Upper bounds of the variables from a start, under any actions."""
        return self.model.upper(self.config, start, self._ranges)

    def initial(self, draws, options):
        start = self._start
        if "initial_state" in options:
            given = options["initial_state"]
            start = self.model.state(given, self.config)
            demand(
                self.edges is not None or (self._upper(start) <= self._bound()).all(),
                f"the observation space does not reach as far as from {in_short(given)}; "
                f"give that as the argument initial_state of the environment instead",
            )
        state = {
            "values": np.repeat(start[None], len(draws), axis=0),
            "step": np.zeros(len(draws), np.int64),
            "time": np.full(len(draws), float(self.config.start_time)),
        }
        return self._with_noise(state, draws)

    def _with_noise(self, state, draws):
        if self.noise:  # two uniform numbers make a normal one (Box and Muller)
            radius = np.sqrt(-2 * np.log1p(-draws[:, ::2]))
            normal = radius * np.cos(2 * np.pi * draws[:, 1::2])
            state["error"] = np.exp(self.noise * normal)
        return state

    def dose_of(self, action: ndarray) -> ndarray:
        """Return the dose of each intervention of the model, (n, interventions), under actions (n, ...)."""
        if self.doses is not None:
            return self._table.take(action, axis=0)
        dose = np.repeat(self._dose[None], len(action), axis=0)
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
        """Return states (n, variables), times and rewards (n,) after one more timestep.

        Args:
            values: States before, (n, variables).
            step: Number of timesteps done so far, (n,).
            dose: Doses during the timestep, (n, interventions).

        Raises:
            ArithmeticError: A copy could not be integrated.
        """
        n = len(values)
        after = np.empty(values.shape)
        time = np.empty(n)
        reward = np.empty(n)
        advance = self._one if n < FEW else self._many
        failed = advance(
            values,
            step,
            self.timestep,
            self._constants,
            dose,
            self._limit,
            0.0,
            after,
            time,
            reward,
        )
        if failed >= 0:
            how = "to a tolerance" if self.dt is None else "in steps"
            state = dict(zip(self.model.names, values[failed].tolist()))
            raise ArithmeticError(
                f"{self.model.name} could not be integrated {how} of {self._limit:g} from the state {state} of copy "
                f"{failed}: something changes too fast; timestep: {self.timestep:g}, config: {self.config}"
            )
        return after, time, reward

    def observe(self, state):
        values = state["values"]
        if not self._sees_all:
            values = values.take(self._seen, axis=1)
        if self.noise:
            values = values * state["error"]
        if self.edges is not None:
            columns = zip(self.edges.values(), values.T)
            codes = [np.searchsorted(*column, side="right") for column in columns]
            return np.stack(codes, axis=1)
        if self.log_observation:
            return np.log10(np.maximum(values, DETECTED))
        return values.copy()

    def truncated(self, state):
        return state["step"] >= self._last

    def info(self, state, outcome):
        return {"time": state["time"]}

    @property
    def initial_state(self) -> dict[str, float]:
        """The state at the start of episodes, {variable: value}."""
        return dict(zip(self.model.names, self._start.tolist()))

    @reading
    def time(self, env: Any) -> float:
        """The time now, in the model's unit; before the first reset the start time."""
        start = self.config.start_time
        return float(start if env.state is None else env.state["time"][0])

    def simulate(
        self, env: Any, actions: Any, initial_state: Any = None
    ) -> pd.DataFrame:
        """Return the trajectory from a start to the end of an episode; the environment's episode isn't changed.

        Args:
            actions: One action for all steps, a list of one for each step, or a function of (values, time). A list may
                be shorter than the episode.
            initial_state: None is the environment's.

        Returns:
            DataFrame, a row for each decision and one for the end: time, the variables, the doses of the step that
            follows, the reward of the step before, and the model's indicators. `attrs["model"]` describes the model
            for pictures.
        """
        start = self._start
        if initial_state is not None:
            start = self.model.state(initial_state, self.config)
        return self._trajectory(actions, start, self.steps)

    def counterfactual(self, env: Any, actions: Any) -> pd.DataFrame:
        """Return the episode so far under other actions: the same start and number of steps, without noise.

        Arguments and result are those of `simulate`; a list has as many actions as there were steps.
        """
        steps = len(env.trail)
        demand(
            steps, "counterfactual() repeats the steps since reset(): there are none"
        )
        table = self._trajectory(actions, env.trail[0][0], steps)
        taken = len(table) - 1
        demand(taken == steps, f"actions: {steps} are needed; got {taken}")
        return table

    def _trajectory(self, actions, start, steps):
        import pandas as pd

        is_policy = callable(actions)
        if not is_policy:
            with naming("actions", actions):
                is_one = np.ndim(actions) == len(self.action_space.shape)
                actions = [actions] * steps if is_one else list(actions)
            demand(
                len(actions) <= steps,
                f"actions: there are {steps} steps to the end; got {len(actions)} actions",
            )
            steps = len(actions)
        read = reader_of(self)
        values = start[None].copy()
        time = float(self.config.start_time)
        reward = np.nan
        rows = []
        doses = []
        for step in range(steps):
            action = actions(values[0].copy(), time) if is_policy else actions[step]
            try:
                dose = self.dose_of(read(action, 1))
            except ValueError as error:
                raise ValueError(f"actions, step {step}: {error}") from None
            rows.append((time, *values[0], *dose[0], reward))
            doses.append(dose[0])
            values, (time,), (reward,) = self.flow(values, np.array([step]), dose)
            time = float(time)
        rows.append((time, *values[0], *(np.nan * self._dose), reward))
        names = [item.name for item in self.model.interventions]
        columns = ["time", *self.model.names, *names, "reward"]
        table = pd.DataFrame(rows, columns=columns)
        if self.model.indicators is not None:
            # Each state has the dose that led to it, and the first state that of the first step.
            led = np.array([*doses[:1], *doses] or [self._dose])
            states = table[list(self.model.names)].to_numpy()
            table = table.assign(**self.model.indicators(states, led, self.config))
        table.attrs["model"] = self.told
        return table

    def frame(self, state, outcome, at=0):
        """Return the data that `pushlab.plots.patient` and similar functions draw, a plain dict.

        - `env`, `step`, `of`: Name of the world, steps so far, and the number of steps.
        - `model`: See `told` of the models.
        - `time`, `end`: The time now and at the end of the episode, in the model's unit.

        - `indicators`: {name: value} computed from the state; missing if the model has none.
        - `goal`: {variable: (low, high)} that counts as reached; empty if the model has none.
        - `doses`, `reward`: {intervention: dose} held in the last step, and its reward; None after
          a reset.

        Args:
            state: {variable: value}.
        """
        values = state["values"]
        spread = 2.0 if self.model.logarithmic else 1.25  # of the goal's region
        goal = self.model.goal.items()
        frame = {
            "env": self.name,
            "model": self.told,
            "step": int(state["step"][at]),
            "of": self.steps,
            "time": state["time"][at].item(),
            "end": self.config.end_time,
            "state": dict(zip(self.model.names, values[at].tolist())),
            "goal": {name: (value / spread, value * spread) for name, value in goal},
            "doses": None,
            "reward": None,
        }
        dose = self._dose
        if outcome is not None:
            dose = outcome["dose"][at]
            frame["doses"] = dict(zip(self.told["interventions"], dose.tolist()))
            frame["reward"] = float(outcome["reward"][at])
        if self.model.indicators is not None:
            shown = self.model.indicators(values[at : at + 1], dose[None], self.config)
            frame["indicators"] = {name: value.item() for name, value in shown.items()}
        return frame

    def years(self, step: ndarray) -> list[ndarray]:
        """Return the times (n,) before and after the next timestep."""
        start = self.config.start_time
        times = [start + steps * self.timestep for steps in (step, step + 1)]
        return [np.minimum(time, self.config.end_time) for time in times]


def _in_words(words, dose, is_switch):
    """Return the words of an action, from those of its interventions."""
    pairs = list(zip(words, dose))
    if is_switch:
        return " + ".join(each for each, value in pairs if value) or "nothing"
    return ", ".join(f"{each} {value:g}" for each, value in pairs)


class Epidemic(ODE):
    """An epidemic; its frames also have the state without any action so far."""

    drawing = "epidemic"

    def initial(self, draws, options):
        state = super().initial(draws, options)
        return {**state, "start": state["values"]}

    def frame(self, state, outcome, at=0):
        """Return the frame of `ODE` with "idle", {variable: value} if nothing had been done since the start."""
        values = state["start"][at : at + 1]
        for step in range(int(state["step"][at])):
            values, *_ = self.flow(values, np.array([step]), self._dose[None])
        idle = dict(zip(self.model.names, values[0].tolist()))
        return {**super().frame(state, outcome, at), "idle": idle}
