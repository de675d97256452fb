"""A dynamical model under intervention as a world; `worlds.py` and `whynot_worlds.py` have the registered ones."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from pushlab.envs.ode.integrate import LANES, METHODS, integrator
from pushlab.envs.ode.models import Model, load_model
from pushlab.envs.ode.trajectories import counterfactual, failure, simulate
from pushlab.envs.shell import Env
from pushlab.envs.world import World, reading
from pushlab.ground.arguments import demand, flag, in_short, number, one_of, some_of

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 1e-7  # estimated relative error of a step of the integrator; an episode stays within 1e-6
DETECTED = 1e-6  # a smaller value is seen as this one where logarithms are observed
FEW = 12  # fewer copies than this are advanced one by one, not LANES at a time
ONE = np.array(1)  # adding a plain number to an array of one takes numpy twice as long
MOST_STEPS, MOST_PARTS = (
    10_000_000,
    1_000_000,
)  # timesteps of an episode, and fixed steps of one of them
NORMAL_REACH = (
    9.0  # no normal number that Box and Muller's rule makes of two uniforms is larger
)


class ODE(World):
    """A simulator as an environment: an action sets parameters, the model runs on for a timestep, and so on.

    Observation  Box, float64: the variables named by `observe`, in the model's order and units; their logarithms to
                 base 10 with `log_observation` (below 1e-6 as 1e-6); MultiDiscrete codes with `bins`: how many of a
                 variable's edges its value reaches, edges being `world.edges`
    Action       "discrete": Discrete, a number for each combination of the interventions' options, the last one
                 changing fastest; "box": Box, a value for each intervention between its bounds
    Reward       the model's, of the state after the step and the doses of the step
    Start        `initial_state`, or reset(options={"initial_state": …})
    End          never terminated; truncated at `config.end_time`, to which the last step is cut short
    Info         "time", in the model's unit
    Arguments    model            a name, or a Model of one's own
                 config           {parameter: value} to change, or a whole Config; it is never changed in place
                 preset           a named set of parameters of the model; `config` goes before it
                 initial_state    a name, {variable: value} or numbers; None is the model's first
                 timestep         time between decisions
                 actions          "discrete" or "box"
                 interventions    {name: options or (low, high)} to take in place of the model's own
                 observe          names of the variables that are seen; None means all
                 bins             None, True (the model's edges) or {variable: edges}
                 log_observation  see above
                 noise            standard deviation of the natural logarithm of what is seen over what is
                 solver           "compiled", which chooses its own steps; "euler" or "rk4", which take fixed ones; or
                                  "scipy": LSODA at a relative tolerance of 1e-10, to check against
                 tolerance        of the compiled solver, relative, for each step that it takes
                 dt               length of a fixed step; None is a hundredth of the timestep
    Attributes   of the environment, as in WhyNot: config, time, state, timestep, initial_state; and
                 simulate(actions), counterfactual(actions), which return DataFrames
    """

    name, drawing = "ODE-v0", "patient"
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
        model: str | Model = "hiv",
        config: Any = None,
        preset: str | None = None,
        initial_state: Any = None,
        timestep: float | None = None,
        actions: str = "discrete",
        interventions: dict | None = None,
        observe: Any = None,
        bins: Any = None,
        log_observation: bool = False,
        noise: float = 0.0,
        solver: str = "compiled",
        tolerance: float = TOLERANCE,
        dt: float | None = None,
    ) -> None:
        self.model = load_model(model)
        self.config = self.model.config(config, preset)
        self._start = self.model.state(initial_state, self.config)
        length = self.config.end_time - self.config.start_time
        timestep = self.model.timestep if timestep is None else timestep
        self.timestep = float(
            number(
                f"timestep ({self.model.time_unit})",
                timestep,
                length / MOST_STEPS,
                length,
            )
        )
        dt = self.timestep / 100 if dt is None else dt
        self.dt = float(number("dt", dt, self.timestep / MOST_PARTS, self.timestep))
        self.steps = self.most_steps = int(np.ceil(length / self.timestep - 1e-9))
        self._last = np.array(self.steps)
        self.noise, tolerance = (
            float(number("noise", noise, 0, 5)),
            number("tolerance", tolerance, 1e-13, 1e-2),
        )
        self.solver = one_of("solver", solver, ("compiled", *METHODS, "scipy"))
        self._fineness = self.dt if solver in METHODS else float(tolerance)
        self._set_loops()
        one_of("actions", actions, ("discrete", "box"))
        self.interventions = _chosen(self.model, interventions, actions)
        self.told = self.model.told(
            self.config, [item.name for item in self.interventions]
        )
        self._constants = self.model.constants(self.config)
        self._set_actions(actions)
        self._set_observations(observe, bins, log_observation)

    def _set_loops(self):
        parts = self.model.derivative, self.model.reward, len(self.model.names)
        self._one, self._many = (
            integrator(*parts, lanes, self.solver) for lanes in (1, LANES)
        )

    def __getstate__(self):
        return {
            **vars(self),
            "_one": None,
            "_many": None,
        }  # which are made for a model, and known by no name

    def __setstate__(self, kept):
        vars(self).update(kept)
        self._set_loops()

    # ------------------------------------------------------------ spaces

    def _set_actions(self, actions):
        names, known = (
            [item.name for item in items]
            for items in (self.interventions, self.model.interventions)
        )
        # An intervention that is not in the hands of the agent keeps the parameter's own value.
        self._dose, self._columns = (
            self.model.dose(self.config),
            [known.index(name) for name in names],
        )
        if actions == "box":
            low, high = np.array(
                [item.bounds for item in self.interventions], np.float64
            ).T
            self.action_space, self.action_names, self.doses = (
                spaces.Box(low, high, dtype=np.float64),
                names,
                None,
            )
            return
        self.doses = np.array(
            list(product(*(item.options for item in self.interventions))), np.float64
        )
        self._table = np.repeat(self._dose[None], len(self.doses), axis=0)
        self._table[:, self._columns] = self.doses
        self.action_space = spaces.Discrete(len(self.doses))
        self.action_choices = [
            ("action", [self._in_words(dose) for dose in self.doses])
        ]

    def _in_words(self, dose):
        if all(
            len(item.options) == 2 and item.options[0] == 0
            for item in self.interventions
        ):
            return (
                " + ".join(
                    item.words for item, value in zip(self.interventions, dose) if value
                )
                or "nothing"
            )
        return ", ".join(
            f"{item.words} {value:g}" for item, value in zip(self.interventions, dose)
        )

    def _set_observations(self, observe, bins, log_observation):
        observe = (
            self.model.names
            if observe is None
            else some_of("observe", observe, self.model.names)
        )
        self.observation_names, self._sees_all = observe, observe == self.model.names
        self._seen = np.array([self.model.names.index(name) for name in observe])
        self.log_observation = flag("log_observation", log_observation)
        self.uniforms = 2 * len(observe) if self.noise else 0
        self.edges = self.model.edges(observe, bins)
        if self.edges is not None:
            self.observation_space = spaces.MultiDiscrete(
                [len(edges) + 1 for edges in self.edges.values()]
            )
            return
        low, high = np.zeros(len(observe)), self._bound(self._start)[self._seen]
        if self.log_observation:
            low, high = (
                np.full(len(observe), np.log10(DETECTED)),
                np.log10(np.maximum(high, 10 * DETECTED)),
            )
        self.observation_space = spaces.Box(low, high, dtype=np.float64)

    def _bound(self, start):
        """What no observation passes, from the largest of the named starts and `start`."""
        starts = [
            self.model.state(name, self.config) for name in self.model.initial_states
        ] + [start]
        try:
            high = np.max([self._upper(begin) for begin in starts], axis=0).astype(
                np.float64
            )
        except ArithmeticError:
            high = np.array(np.nan)
        if not np.isfinite(high).all():
            raise ValueError(
                f"config: with these parameters {self.model.name} divides by 0 or has no bounds; got "
                f"{vars(self.config)}"
            )
        return 1.001 * high * np.exp(NORMAL_REACH * self.noise)

    def _upper(self, start):
        """What no variable passes from a start, whatever is done."""
        return self.model.upper(self.config, start)

    # ------------------------------------------------------------ the world

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n, start = len(draws), self._start
        if "initial_state" in options:
            start = self.model.state(options["initial_state"], self.config)
            demand(
                self.edges is not None
                or (self._upper(start) <= self._bound(self._start)).all(),
                f"the observation space does not reach as far as from {in_short(options['initial_state'])}; "
                f"give that as the argument initial_state of the environment instead",
            )
        return self._with_noise(
            {
                "values": np.repeat(start[None], n, axis=0),
                "step": np.zeros(n, np.int64),
                "time": np.full(n, float(self.config.start_time)),
            },
            draws,
        )

    def _with_noise(self, state, draws):
        if self.noise:
            uniform, turn = (
                draws[:, ::2],
                draws[:, 1::2],
            )  # Box and Muller: two uniforms make a normal
            normal = np.sqrt(-2 * np.log1p(-uniform)) * np.cos(2 * np.pi * turn)
            state["error"] = np.exp(self.noise * normal)
        return state

    def dose_of(self, action: np.ndarray) -> np.ndarray:
        """What an action sets each intervention of the model to: (n,) numbers or (n, interventions) values."""
        if self.doses is not None:
            return self._table.take(action, axis=0)
        dose = np.repeat(self._dose[None], len(action), axis=0)
        dose[:, self._columns] = action
        return dose

    def advance(
        self, state: dict, action: np.ndarray, draws: np.ndarray
    ) -> tuple[dict, dict]:
        dose = self.dose_of(action)
        values, time, reward = self.flow(state["values"], state["step"], dose)
        outcome = {"before": state["values"], "dose": dose, "reward": reward}
        return self._with_noise(
            {**state, "values": values, "step": state["step"] + ONE, "time": time},
            draws,
        ), outcome

    def flow(
        self, values: np.ndarray, step: np.ndarray, dose: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States (n, variables), times and rewards (n,) a timestep after `step` (n,) steps, under doses held constant.

        The compiled loop takes its steps from a copy's error alone, so what becomes of it does not depend on others.
        """
        n = len(values)
        after, time, reward = np.empty(values.shape), np.empty(n), np.empty(n)
        advance = self._one if n < FEW else self._many
        if advance(
            values,
            step,
            self.timestep,
            self._constants,
            dose,
            self._fineness,
            0.0,
            after,
            time,
            reward,
        ):
            raise failure(self, values, step, dose)
        return after, time, reward

    def observe(self, state: dict) -> Any:
        values = (
            state["values"]
            if self._sees_all
            else state["values"].take(self._seen, axis=1)
        )
        if self.noise:
            values = values * state["error"]
        if self.edges is not None:
            return np.stack(
                [
                    np.searchsorted(edges, values[:, at], side="right")
                    for at, edges in enumerate(self.edges.values())
                ],
                axis=1,
            )
        if self.log_observation:
            return np.log10(np.maximum(values, DETECTED))
        return values.copy()

    def truncated(self, state: dict) -> np.ndarray:
        return state["step"] >= self._last

    def info(self, state: dict, outcome: dict | None) -> dict:
        return {"time": state["time"]}

    # ------------------------------------------------------------ what an environment offers

    @property
    def initial_state(self) -> dict[str, float]:
        """Where episodes begin, {variable: value}."""
        return dict(zip(self.model.names, self._start.tolist()))

    @reading
    def time(self, env: Env) -> float:
        """The time now, in the model's unit; that of the start before the first reset."""
        return float(
            self.config.start_time if env.state is None else env.state["time"][0]
        )

    def simulate(
        self, env: Env, actions: Any, initial_state: Any = None
    ) -> "pd.DataFrame":
        """The trajectory from a start to the end, or for as long as there are actions; the episode stays as it is.

        actions        one action for all steps, a list of one for each step, or a function of (values, time)
        initial_state  None is that of the environment
        returns        DataFrame, a row a decision and one for the end: time, the variables, the doses set for the step
                       that follows, the reward of the step that led here, and the model's indicators if it has any;
                       `attrs["model"]` is what pictures are told of the model
        """
        start = (
            self._start
            if initial_state is None
            else self.model.state(initial_state, self.config)
        )
        return simulate(self, actions, start)

    def counterfactual(self, env: Env, actions: Any) -> "pd.DataFrame":
        """The episode so far as it would have been under other actions: same start, same steps, no noise.

        actions and the result are as in `simulate`; a list has as many actions as there were steps.
        """
        return counterfactual(self, env.trail, actions)

    # ------------------------------------------------------------ pictures

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return what `pushlab.plots.patient` and its like draw, a plain dict.

        env, step, of     Name of the world, steps so far, and the number of steps.
        model             See `told` of the models.
        time, end         The time now and at the end of the episode, in the model's unit.
        state             {variable: value}.
        indicators        {name: value} computed from the state; missing if the model has none.
        goal              {variable: (low, high)} that counts as reached; empty if the model has none.
        doses, reward     {intervention: dose} held in the last step, and its reward; None after a reset.
        """
        dose = self._dose if outcome is None else outcome["dose"][at]
        spread = (
            2.0 if self.model.logarithmic else 1.25
        )  # of the region that counts as the goal
        frame = {
            "env": self.name,
            "model": self.told,
            "step": int(state["step"][at]),
            "of": self.steps,
            "time": state["time"][at].item(),
            "end": self.config.end_time,
            "state": dict(zip(self.model.names, state["values"][at].tolist())),
            "goal": {
                name: (value / spread, value * spread)
                for name, value in self.model.goal.items()
            },
            "doses": None
            if outcome is None
            else dict(zip(self.told["interventions"], dose.tolist())),
            "reward": None if outcome is None else float(outcome["reward"][at]),
        }
        if self.model.indicators is not None:
            shown = self.model.indicators(
                state["values"][at : at + 1], dose[None], self.config
            )
            frame["indicators"] = {name: value.item() for name, value in shown.items()}
        return frame


class ODEEnv(Env):
    """The environment of any model: `ODEEnv("hiv", timestep=5)`; its arguments are those of `ODE`.

    >>> env = ODEEnv("lotka_volterra", config={"end_time": 10})
    >>> env.config.end_time, env.time, env.timestep, env.initial_state
    (10, 0.0, 0.5, {'rabbits': 10.0, 'foxes': 5.0})
    """

    def __init__(
        self,
        model: str | Model = "hiv",
        render_mode: str | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(ODE, render_mode, model=model, **arguments)


# ---------------------------------------------------------------- arguments


def _chosen(model, interventions, actions):
    """The interventions that actions set, with the options or bounds asked for."""
    if interventions is None:
        return model.interventions
    demand(
        isinstance(interventions, dict) and interventions,
        f"interventions is {{name: options or (low, high)}}, of at least one; got {in_short(interventions)}",
    )
    known, chosen = {item.name: item for item in model.interventions}, []
    for name, values in interventions.items():
        own = known[
            one_of(f"interventions: an intervention of {model.name}", name, known)
        ]
        values = values.tolist() if isinstance(values, np.ndarray) else values
        demand(
            isinstance(values, (list, tuple)) and values,
            f"interventions: {name} has a list of options, or (low, high); got {in_short(values)}",
        )
        values = tuple(
            float(number(f"interventions: {name}", value, *own.bounds))
            for value in values
        )
        demand(
            actions != "box" or len(values) == 2 and values[0] < values[1],
            f"interventions: actions='box' takes (low, high) for {name}; got {values}",
        )
        chosen.append(
            replace(
                own, options=values, bounds=values if actions == "box" else own.bounds
            )
        )
    return tuple(chosen)
