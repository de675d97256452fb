"""A dynamical model under intervention as a world; `ode_worlds.py` has those that are registered."""

from itertools import product

import numpy as np
from gymnasium import spaces

from pushlab.envs.ode.fixed_step import METHODS, stepper
from pushlab.envs.ode.integrate import clock, integrator, of_step
from pushlab.envs.ode.models import Intervention, load_model
from pushlab.envs.ode.trajectories import counterfactual, simulate
from pushlab.envs.shell import Env
from pushlab.envs.world import World, reading

TOLERANCE = 1e-7            # estimated relative error of a step of the integrator; an episode stays within 1e-6
DETECTED = 1e-6             # a smaller value is seen as this one where logarithms are observed
FEW = 12                    # fewer copies than this are advanced one by one, not LANES at a time
ONE = np.array(1)           # adding a plain number to an array of one takes numpy twice as long
NORMAL_REACH = 9.0          # no normal number that Box and Muller's rule makes of two uniforms is larger


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
    exports: tuple[str, ...] = ("config", "time", "timestep", "initial_state", "simulate", "counterfactual")

    def __init__(self, model="hiv", config=None, preset=None, initial_state=None, timestep=None, actions="discrete",
                 interventions=None, observe=None, bins=None, log_observation=False, noise=0.0, solver="compiled",
                 tolerance=TOLERANCE, dt=None):
        self.model = load_model(model)
        self.config = self.model.config(config, preset)
        self.timestep = self.model.timestep if timestep is None else _number("timestep", timestep)
        self._start = self.model.state(initial_state, self.config)
        self.dt = self.timestep / 100 if dt is None else dt
        self._check(actions, solver, noise, tolerance)
        self.solver, self.tolerance, self.noise = solver, tolerance, float(noise)
        self.interventions = tuple(_chosen(self.model, interventions, actions))
        self.told = self.model.told(self.config, [item.name for item in self.interventions])
        self._constants = self.model.constants(self.config)
        self._width = len(self.model.names)
        parts = self.model.derivative, self.model.reward, len(self.model.names)
        if solver in METHODS:
            self._one, self._many = stepper(*parts, solver, lanes=1), stepper(*parts, solver)
        else:
            self._one, self._many = integrator(*parts, lanes=1), integrator(*parts)
        self._set_actions(actions)
        self._set_observations(observe, bins, log_observation)

    def _check(self, actions, solver, noise, tolerance):
        length = self.config.end_time - self.config.start_time
        if not 0 < self.timestep <= length:
            raise ValueError(f"timestep lies above 0 and within the {length:g} of the episode; got {self.timestep!r}")
        if actions not in ("discrete", "box"):
            raise ValueError(f"actions is 'discrete' or 'box'; got {actions!r}")
        if solver not in ("compiled", "scipy", *METHODS):
            raise ValueError(f"solver is 'compiled', 'euler', 'rk4' or 'scipy'; got {solver!r}")
        if not 0 < _number("dt", self.dt) <= self.timestep:
            raise ValueError(f"dt lies above 0 and within the timestep of {self.timestep:g}; got {self.dt!r}")
        if not 0 <= noise <= 5:
            raise ValueError(f"noise is a standard deviation from 0 to 5; got {noise!r}")
        if not 1e-13 <= tolerance <= 1e-2:
            raise ValueError(f"tolerance lies between 1e-13 and 1e-2; got {tolerance!r}")
        self.steps = int(np.ceil(length / self.timestep - 1e-9))
        self._last = np.array(self.steps)

    # ------------------------------------------------------------ spaces

    def _set_actions(self, actions):
        names = [item.name for item in self.interventions]
        # An intervention that is not in the hands of the agent keeps the parameter's own value.
        self._dose = np.array([getattr(self.config, item.name) for item in self.model.interventions], np.float64)
        self._columns = [[item.name for item in self.model.interventions].index(name) for name in names]
        if actions == "box":
            low, high = np.array([item.bounds for item in self.interventions], np.float64).T
            self.action_space, self.action_names, self.doses = spaces.Box(low, high, dtype=np.float64), names, None
            return
        self.doses = np.array(list(product(*(item.options for item in self.interventions))), np.float64)
        self._table = np.repeat(self._dose[None], len(self.doses), axis=0)
        self._table[:, self._columns] = self.doses
        self.action_space = spaces.Discrete(len(self.doses))
        self.action_choices = [("action", [self._in_words(dose) for dose in self.doses])]

    def _in_words(self, dose):
        simple = all(len(item.options) == 2 and item.options[0] == 0 for item in self.interventions)
        if simple:
            return " + ".join(item.words for item, value in zip(self.interventions, dose) if value) or "nothing"
        return ", ".join(f"{item.words} {value:g}" for item, value in zip(self.interventions, dose))

    def _set_observations(self, observe, bins, log_observation):
        observe = self.model.names if observe is None else tuple([observe] if isinstance(observe, str) else observe)
        for name in observe:
            if name not in self.model.names:
                raise ValueError(f"{self.model.name} has no variable {name!r} to observe; it has "
                                 f"{', '.join(self.model.names)}")
        if not observe or len(set(observe)) < len(observe):
            raise ValueError(f"observe names at least one variable, and each once; got {observe!r}")
        self.observation_names = observe
        self._seen = np.array([self.model.names.index(name) for name in observe])
        self._sees_all = self._seen.tolist() == list(range(len(self.model.names)))
        self.log_observation = bool(log_observation)
        self.uniforms = 2 * len(observe) if self.noise else 0
        self.edges = _edges(self.model, observe, bins)
        if self.edges is not None:
            self.observation_space = spaces.MultiDiscrete([len(edges) + 1 for edges in self.edges.values()])
            return
        high = self._bound(self._start)[self._seen]
        low = np.zeros(len(observe))
        if self.log_observation:
            low, high = np.full(len(observe), np.log10(DETECTED)), np.log10(np.maximum(high, 10 * DETECTED))
        self.observation_space = spaces.Box(low, high, dtype=np.float64)

    def _bound(self, start):
        """What no observation passes, from the largest of the named starts and `start`."""
        starts = [self.model.state(name, self.config) for name in self.model.initial_states] + [start]
        high = np.max([self._upper(begin) for begin in starts], axis=0)
        return 1.001 * high * np.exp(NORMAL_REACH * self.noise)

    def _upper(self, start):
        """What no variable passes from a start, whatever is done."""
        return self.model.upper(self.config, start)

    # ------------------------------------------------------------ the world

    def initial(self, draws, options):
        n = len(draws)
        start = self._start
        if "initial_state" in options:
            start = self.model.state(options["initial_state"], self.config)
            if self.edges is None and (self._upper(start) > self._bound(self._start)).any():
                raise ValueError(f"the observation space does not reach as far as from {options['initial_state']!r}; "
                                 f"give that as the argument initial_state of the environment instead")
        return self._with_noise({"values": np.repeat(start[None], n, axis=0), "step": np.zeros(n, np.int64),
                                 "time": np.full(n, float(self.config.start_time))}, draws)

    def _with_noise(self, state, draws):
        if self.noise:
            uniform, turn = draws[:, ::2], draws[:, 1::2]           # Box and Muller: two uniforms make a normal
            normal = np.sqrt(-2 * np.log1p(-uniform)) * np.cos(2 * np.pi * turn)
            state["error"] = np.exp(self.noise * normal)
        return state

    def dose_of(self, action):
        """What an action sets each intervention of the model to: (n,) numbers or (n, interventions) values."""
        if self.doses is not None:
            return self._table.take(action, axis=0)
        dose = np.repeat(self._dose[None], len(action), axis=0)
        dose[:, self._columns] = action
        return dose

    def advance(self, state, action, draws):
        dose = self.dose_of(action)
        values, time, reward = self.flow(state["values"], state["step"], dose)
        outcome = {"before": state["values"], "dose": dose, "reward": reward}
        return self._with_noise({"values": values, "step": state["step"] + ONE, "time": time}, draws), outcome

    def flow(self, values, step, dose):
        """States (n, variables), times and rewards (n,) a timestep after `step` (n,) steps, under doses held constant.

        The compiled loop takes its steps from a copy's error alone, so what becomes of it does not depend on others.
        """
        n = len(values)
        after, time, reward = np.empty((n, self._width)), np.empty(n), np.empty(n)
        if self.solver == "scipy":
            _by_scipy(self, values, step, dose, after, time, reward)
            return after, time, reward
        advance = self._one if n < FEW else self._many
        fixed = self.solver in METHODS
        fineness = self.dt if fixed else self.tolerance
        if advance(values, step, self.timestep, self._constants, dose, fineness, 0.0, after, time, reward):
            how = "in steps of" if fixed else "to a tolerance of"
            raise ArithmeticError(f"{self.model.name} could not be integrated {how} {fineness:g} from one of the "
                                  f"states {values.tolist()[:3]} ...")
        return after, time, reward

    def observe(self, state):
        values = state["values"] if self._sees_all else state["values"].take(self._seen, axis=1)
        if self.noise:
            values = values * state["error"]
        if self.edges is not None:
            return np.stack([np.searchsorted(edges, values[:, at], side="right")
                             for at, edges in enumerate(self.edges.values())], axis=1)
        if self.log_observation:
            return np.log10(np.maximum(values, DETECTED))
        return values.copy()

    def truncated(self, state):
        return state["step"] >= self._last

    def info(self, state, outcome):
        return {"time": state["time"]}

    # ------------------------------------------------------------ what an environment offers

    @property
    def initial_state(self):
        """Where episodes begin, {variable: value}."""
        return dict(zip(self.model.names, self._start.tolist()))

    @reading
    def time(self, env):
        """The time now, in the model's unit; that of the start before the first reset."""
        return float(self.config.start_time if env.state is None else env.state["time"][0])

    def simulate(self, env, actions, initial_state=None):
        """The trajectory from a start to the end, or for as long as there are actions; the episode stays as it is.

        actions        one action for all steps, a list of one for each step, or a function of (values, time)
        initial_state  None is that of the environment
        returns        DataFrame, a row a decision and one for the end: time, the variables, the doses set for the step
                       that follows, the reward of the step that led here, and the model's indicators if it has any;
                       `attrs["model"]` is what pictures are told of the model
        """
        start = self._start if initial_state is None else self.model.state(initial_state, self.config)
        return simulate(self, actions, start)

    def counterfactual(self, env, actions):
        """The episode so far as it would have been under other actions: same start, same steps, no noise.

        actions and the result are as in `simulate`; a list has as many actions as there were steps.
        """
        return counterfactual(self, env.trail, actions)

    # ------------------------------------------------------------ pictures

    def frame(self, state, outcome, at=0):
        step = int(state["step"][at])
        values = dict(zip(self.model.names, state["values"][at].tolist()))
        dose = self._dose if outcome is None else outcome["dose"][at]
        frame = {"env": self.name, "model": self.told, "step": step, "of": self.steps, "time": state["time"][at].item(),
                 "end": self.config.end_time, "state": values, "goal": self._goal_region(),
                 "doses": None if outcome is None else dict(zip(self.told["interventions"], dose.tolist())),
                 "reward": None if outcome is None else float(outcome["reward"][at])}
        if self.model.indicators is not None:
            shown = self.model.indicators(state["values"][at:at + 1], dose[None], self.config)
            frame["indicators"] = {name: value.item() for name, value in shown.items()}
        return frame

    def _goal_region(self):
        """{variable: (low, high)} of what is to be reached, for pictures."""
        spread = 2.0 if self.model.logarithmic else 1.25
        return {name: (value / spread, value * spread) for name, value in self.model.goal.items()}


class ODEEnv(Env):
    """The environment of any model: `ODEEnv("hiv", timestep=5)`; its arguments are those of `ODE`.

    >>> env = ODEEnv("lotka_volterra", config={"end_time": 10})
    >>> env.config.end_time, env.time, env.timestep, env.initial_state
    (10, 0.0, 0.5, {'rabbits': 10.0, 'foxes': 5.0})
    """

    def __init__(self, model="hiv", render_mode=None, **arguments):
        super().__init__(ODE, render_mode, model=model, **arguments)


# ---------------------------------------------------------------- arguments, and the other solver

def _number(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ValueError(f"{name} is a number, in the model's unit of time; got {value!r}")
    return float(value)


def _chosen(model, interventions, actions):
    """The interventions that actions set, with the options or bounds asked for."""
    known = {item.name: item for item in model.interventions}
    if interventions is None:
        return model.interventions
    if not isinstance(interventions, dict):
        raise ValueError(f"interventions is {{name: options or (low, high)}}; got {interventions!r}")
    chosen = []
    for name, values in interventions.items():
        if name not in known:
            raise ValueError(f"{model.name} has the interventions {', '.join(known)}; got {name!r}")
        values = tuple(float(value) for value in values)
        low, high = known[name].bounds
        if not values or not all(low <= value <= high for value in values):
            raise ValueError(f"{name} lies between {low} and {high}; got {values}")
        if actions == "box" and not (len(values) == 2 and values[0] < values[1]):
            raise ValueError(f"actions='box' takes (low, high) for {name}; got {values}")
        chosen.append(Intervention(name, known[name].words, values, values if actions == "box" else known[name].bounds))
    if not chosen:
        raise ValueError(f"at least one of the interventions {', '.join(known)} has to be left to the agent")
    return tuple(chosen)


def _edges(model, observe, bins):
    """{variable: increasing edges}, or None."""
    if bins is None or bins is False:
        return None
    own = {variable.name: variable.edges for variable in model.variables}
    if bins is True:
        bins = {name: own[name] for name in observe}
    if set(bins) != set(observe):
        raise ValueError(f"bins gives edges for each variable observed, {', '.join(observe)}; got {', '.join(bins)}")
    edges = {name: np.asarray(bins[name], np.float64) for name in observe}
    for name, values in edges.items():
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise ValueError(f"the edges of {name} are numbers that increase; got {bins[name]!r}")
    return edges


def _by_scipy(world, values, step, dose, after, time, reward):
    """Fills what `ODE.flow` returns, copy by copy with SciPy's LSODA."""
    from scipy.integrate import solve_ivp

    def slopes(now, y, given):
        slope = np.empty((len(y), 1))
        world.model.derivative(np.array([now]), y[:, None], constants, given, slope)
        return slope[:, 0]

    constants = world._constants
    for row in range(len(values)):
        start = clock(step[row], world.timestep, constants)
        time[row] = clock(step[row] + 1, world.timestep, constants)
        solved = solve_ivp(slopes, (start, time[row]), values[row], "LSODA", args=(dose[row][:, None].copy(),),
                           rtol=1e-10, atol=1e-14)
        if not solved.success:
            raise ArithmeticError(f"SciPy could not integrate {world.model.name}: {solved.message}")
        after[row] = solved.y[:, -1]
    of_step(world.model.reward)(values, after, dose, constants, reward)
