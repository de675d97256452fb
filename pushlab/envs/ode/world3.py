"""The registered world of World3, "The Limits to Growth" as an environment."""

from copy import copy

import numpy as np

from pushlab.envs.ode.integrate import clock
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODE, _number

USAGE, GENERATION = "nonrenewable_resource_usage_factor", "persistent_pollution_generation_factor"
REFERENCE = "whynot-0.12"


class World3(ODE):
    """Steer the world of "The Limits to Growth": how much of its resources it uses, and how much it pollutes.

    Observation  Box (12,), float64, the levels of the model in this order:
                     population_0_to_14, _15_to_44, _45_to_64, _65_and_over      persons
                     industrial_capital, service_capital                         dollars (of 1968)
                     arable_land, potentially_arable_land, urban_industrial_land ha
                     land_fertility                                              kg/(ha year)
                     nonrenewable_resources                                      resource units
                     persistent_pollution                                        pollution units
                 The 17 stages of the model's delays belong to the state too, and so does what the resources left are
                 counted from; `observe` takes any of `world.model.names`
    Action       Discrete(9), 3 a + b: resource use 0.8, 1 or 1.2 (a = 0, 1, 2) and pollution made 0.8, 1 or 1.2
                 (b = 0, 1, 2), as multiples of the book's for a year; 4 is the world left alone. With actions="box"
                 Box (2,), both from 0.8 to 1.2. `interventions` takes six other constants of the model as well, and
                 wider bounds, as in {"land_yield_factor": (1.0, 1.5)}
    Reward       2e-8 people + 1e-11 industrial capital - 5e-7 pollution, of the state after the step,
                 - 0.3 (1 - resource use)² - 0.5 (1 - pollution made)²; the weights are WhyNot's, which says that they
                 are made up so that all three count alike in 1900, and are parameters of `config`. Other
                 interventions are free
    Start        1900, delays in equilibrium; `initial_state` gives the 12 levels of another world (or all 30
                 variables), of which the resources count as all there ever were
    End          never terminated; truncated at config.end_time, 2100, after decisions of a year each
    Info         "time", the year
    Arguments    preset  "whynot": a normal life expectancy of 32 years, where the book's is 28; that of ODE-World3-v0
                 solver  "euler" (the default), as the book's model was run, "rk4", or one of those of `ODE`
                 dt      length of a step of the two, in years; 0.5 by default as in WhyNot's environment, at most 1
                 reference  None, or "whynot-0.12", which brings back its preset, and that
                     - each timestep starts the delays anew, in equilibrium with their input, and again after its
                       first step (not so labour, agricultural inputs and perceived food), which may be a dt late;
                     - the resources left are counted from what there was when the timestep began, and so are never
                       scarce;
                     - crowding acts on life expectancy a dt late.
                     `env.simulate` is then WhyNot's plain run: all that once, where it begins. It brings back neither
                     resources below zero, which WhyNot's environment reaches at step 163 if nothing is done, nor
                     what follows from them, nor values that are no number, nor the shared config
                 and those of `ODE` but the model
    Source       Meadows et al. (1974), Dynamics of Growth in a Finite World; as an environment in WhyNot 0.12.
                 `pushlab/envs/ode/models/world3.py` says what was compared with another program, and how near it comes
    Ours         delays are part of the state and go on from year to year; nothing is ever below zero or no number
                 (`pushlab/envs/ode/models/world3.py` says where a rate is held for that)

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-World3-v1")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(4)
    >>> round(reward, 3), info, round(float(observation[:4].sum()) / 1e9, 3)
    (22.179, {'time': 1901.0}, 1.609)
    """

    name, drawing = "ODE-World3-v1", "limits_to_growth"

    def __init__(self, actions="discrete", interventions=None, observe=None, solver="euler", dt=None, timestep=1.0,
                 reference=None, preset=None, **arguments):
        model = load_model("world3")
        if interventions is None:
            interventions = {name: (0.8, 1.2) if actions == "box" else (0.8, 1.0, 1.2) for name in (USAGE, GENERATION)}
        if reference not in (None, REFERENCE):
            raise ValueError(f"reference is None or {REFERENCE!r}; got {reference!r}")
        if reference and solver != "euler":
            raise ValueError(f"reference={reference!r} is by Euler's method, solver='euler'; got {solver!r}")
        timestep, dt = _number("timestep", timestep), None if dt is None else _number("dt", dt)
        if dt is not None and dt > 1:
            raise ValueError(f"dt is at most a year, beyond which levels may fall below zero; got {dt!r}")
        self.reference, self._run = reference, None
        super().__init__("world3", preset=preset or ("whynot" if reference else None), actions=actions,
                         interventions=interventions, solver=solver, timestep=timestep,
                         observe=model.levels if observe is None else observe,
                         dt=min(0.5, timestep) if dt is None else dt, **arguments)

    def _upper(self, start):
        ranges = {item.name: item.bounds if self.doses is None else item.options for item in self.interventions}
        return self.model.upper(self.config, start, ranges)

    def flow(self, values, step, dose):
        if self.reference is None:
            return super().flow(values, step, dose)
        from pushlab.envs.ode.models.world3_whynot import advance_run

        after, reward = values.copy(), np.empty(len(values))
        begin, time = (np.array([clock(at, self.timestep, self._constants) for at in steps])
                       for steps in (step, step + 1))
        parts = int(np.ceil(self.timestep / self.dt - 1e-9))
        goes_on = self._run is not None and step[0] > 0
        crowding = self._run if goes_on else np.zeros((2, len(values)))
        advance_run(after, begin, time - begin, parts, not goes_on, self._constants, dose, crowding)
        if self._run is not None:
            self._run = crowding
        self.model.reward(after, dose, self._constants, reward)
        return after, time, reward

    def simulate(self, env, actions, initial_state=None):
        """As that of `ODE`; with a reference, one run without a break."""
        world = self
        if self.reference:
            world = copy(self)
            world._run = ()
        return ODE.simulate(world, env, actions, initial_state)


class World3V0(World3):
    """The world of `World3` as it was in pushlab 0.1: with the preset "whynot".

    >>> import gymnasium as gym, pushlab
    >>> gym.make("pushlab/ODE-World3-v0").unwrapped.config.normal_life_expectancy
    32.0
    """

    name = "ODE-World3-v0"

    def __init__(self, preset="whynot", **arguments):
        super().__init__(preset=preset, **arguments)
