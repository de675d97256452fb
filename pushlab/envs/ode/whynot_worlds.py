"""The registered worlds that came as environments with WhyNot: opioids, Zika and "The Limits to Growth"."""

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.envs.ode.models import Model, load_model
from pushlab.envs.ode.models.opioid_whynot import MODEL as OPIOID_WHYNOT
from pushlab.envs.ode.world import ODE
from pushlab.ground.arguments import demand, in_short, number, one_of

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "whynot-0.12"
ZIKA_DISCOUNT = 4 / 365  # 1/day, in WhyNot
USAGE, GENERATION = (
    "nonrenewable_resource_usage_factor",
    "persistent_pollution_generation_factor",
)


class WhyNot(ODE):
    """What all three have in common: `reference` brings back what they were in WhyNot, by default with its preset."""

    def __init__(
        self,
        model: str | Model,
        reference: str | None,
        preset: str | None,
        **arguments: Any,
    ) -> None:
        self.reference = one_of("reference", reference, (None, REFERENCE))
        super().__init__(
            model,
            preset="whynot" if preset is None and reference else preset,
            **arguments,
        )

    def years(self, step: np.ndarray) -> list[np.ndarray]:
        """The times (n,) before and after the steps that follow so many, the last of which may be shorter."""
        return [
            np.minimum(
                self.config.start_time + steps * self.timestep, self.config.end_time
            )
            for steps in (step, step + 1)
        ]


class Epidemic(WhyNot):
    """What both have in common: a frame says too how things would stand had nothing been done."""

    drawing = "epidemic"

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        state = super().initial(draws, options)
        return {**state, "start": state["values"]}

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the frame of `ODE` with "idle", {variable: value} if nothing had been done since the start."""
        values, nothing = state["start"][at : at + 1], self._dose[None]
        for step in range(int(state["step"][at])):
            values, *_ = self.flow(values, np.array([step]), nothing)
        return {
            **super().frame(state, outcome, at),
            "idle": dict(zip(self.model.names, values[0].tolist())),
        }


class Opioid(Epidemic):
    """Keep people from dying of opioids, by holding down how many begin to misuse or to use them.

    Observation  Box (6,), float64, in this order:
                     nonmedical_users  nonmedical users of prescription opioids, without a disorder       people
                     oud_users         people with a prescription opioid use disorder                     people
                     illicit_users     users of illicit opioids, such as heroin and fentanyl              people
                     misuse_share, illicit_share  how many begin to misuse or to use illicit opioids, as a share of
                                       those who would had nothing ever been done
                     overdose_deaths   deaths by overdose since the start                                 people
                 What comes depends on the year too, which is info["time"]
    Action       Discrete(4), for a year: 0 nothing, 1 less illicit use, 2 less misuse, 3 both. "Less" lowers an
                 incidence by 7.5 % within the year, on top of how it changes by itself; and it stays lowered. With
                 actions="box" Box (2,), misuse and illicit use, from 0 to 0.3 for 30 %.
                 interventions={"misuse_reduction": (0, 0.075, 0.113)} are the paper's two and nothing
    Reward       -(deaths of the step + 0.001 r1 nonmedical users + 0.005 r2 illicit users) / 1000, r1 and r2 being by
                 how much misuse and illicit use are lowered: a unit is a thousand deaths. The weights are WhyNot's, a
                 millionth of them; the paper has no costs
    Start        2002; or "2015", with config={"start_time": 2015}, where the paper's interventions begin
    End          never terminated; truncated at config.end_time, 2030, after decisions of a year
    Info         "time", the year
    Arguments    preset     "pessimistic": illicit use and its deaths become stable in 2025; 2020 is our choice;
                            "whynot": that, and misuse goes on falling by 7.47 % a year after 2015
                 reference  None, or "whynot-0.12", which brings back WhyNot's environment: its preset, three numbers
                            seen, its actions and its reward; see `pushlab/envs/ode/models/opioid_whynot.py`
                 and those of `ODE` but the model
    Source       Chen et al. (2019), JAMA Network Open 2(2), e187621; as an environment in WhyNot 0.12.
                 `pushlab/envs/ode/models/opioid.py` says what of the paper was at hand, and how near to it this comes
    Ours         nothing is done by "nothing", misuse falls where it is to fall, and illicit use can be lowered too
                 (in the paper it is not); the deaths of the whole step count. SciPy at 1e-10 agrees to 1e-6 for
                 decisions at the turn of a year, where trends have corners, and to 1e-5 for others

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-Opioid-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(2)
    >>> round(reward, 3), info, round(observation[5]), round(float(observation[3]), 3)
    (-17.178, {'time': 2003.0}, 16426, 0.925)
    """

    name = "ODE-Opioid-v0"

    def __init__(
        self, reference: str | None = None, preset: str | None = None, **arguments: Any
    ) -> None:
        super().__init__(
            "opioid" if reference is None else OPIOID_WHYNOT,
            reference,
            preset,
            **arguments,
        )

    def flow(
        self, values: np.ndarray, step: np.ndarray, dose: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return super().flow(
            values,
            step,
            np.column_stack([dose, *self.years(step)]) if self.reference else dose,
        )


class Zika(Epidemic):
    """Hold down Zika in a small town, with bednets, condoms, treatment and spray, none of which is free.

    Observation  Box (7,), float64, in this order:
                     susceptible_humans, asymptomatic_humans, symptomatic_humans, recovered_humans     people
                     susceptible_mosquitoes, exposed_mosquitoes, infectious_mosquitoes                 mosquitoes
                 `observe` takes the two populations too, human_population and mosquito_population
    Action       Discrete(16), 8 b + 4 c + 2 t + s: bednets, condoms, treatment of people with symptoms and indoor spray
                 used by nobody (0) or everybody (1) for a day; 0 is nothing. With actions="box" Box (4,), the share
                 of each from 0 to 1
    Reward       -(60 asymptomatic + 500 symptomatic, as shares of 1030 people, + 60 mosquitoes, as a share of 10600,
                 + (25 b² + 20 c² + 30 t² + 40 s²) / 2), of the state after the step: the paper's objective, by day
    Start        "outbreak", 1030 people, 260 of them infected, and 10600 mosquitoes, 100 of them infectious; or
                 "first case", one person with symptoms and no infected mosquito
    End          never terminated; truncated at config.end_time, 100 days, after decisions of a day
    Info         "time", days
    Arguments    preset     "whynot": recruitment and costs without a scale, so that all mosquitoes soon die
                 reference  None, or "whynot-0.12", which brings back WhyNot's environment: its preset, Box actions, all
                            nine variables seen, and a reward discounted by exp(-4/365) a day
                 and those of `ODE` but the model
    Source       Momoh & Fügenschuh (2018), Operations Research for Health Care 18, 99-111; as an environment in
                 WhyNot 0.12. `pushlab/envs/ode/models/zika.py` says what of the paper was at hand
    Ours         fractions and counts are told apart: recruitment and costs are those of the town's populations. In the
                 paper bednets, treatment and spray together are the most cost-effective; here treatment and spray are,
                 of all that is done alike every day

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-Zika-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(3)
    >>> round(reward, 3), info, env.unwrapped.world.action_choices[0][1][3]
    (-100.65, {'time': 1.0}, 'treatment + spray')
    """

    name = "ODE-Zika-v0"

    def __init__(
        self,
        reference: str | None = None,
        preset: str | None = None,
        actions: str | None = None,
        observe: Any = None,
        **arguments: Any,
    ) -> None:
        model = load_model("zika")
        if actions is None:
            actions = "discrete" if reference is None else "box"
        if observe is None:
            observe = model.levels if reference is None else model.names
        super().__init__(
            model, reference, preset, actions=actions, observe=observe, **arguments
        )

    def flow(
        self, values: np.ndarray, step: np.ndarray, dose: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        after, time, reward = super().flow(values, step, dose)
        if self.reference:
            reward *= np.exp(-ZIKA_DISCOUNT * time)
        return after, time, reward


class World3(WhyNot):
    """Steer the world of "The Limits to Growth": how much of its resources it uses, and how much it pollutes.

    Observation  Box (12,), float64, the levels of the model in this order:
                     population_0_to_14, _15_to_44, _45_to_64, _65_and_over       persons
                     industrial_capital, service_capital                          dollars (of 1968)
                     arable_land, potentially_arable_land, urban_industrial_land  ha
                     land_fertility                                               kg/(ha year)
                     nonrenewable_resources                                       resource units
                     persistent_pollution                                         pollution units
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

    def __init__(
        self,
        actions: str = "discrete",
        interventions: dict | None = None,
        observe: Any = None,
        solver: str = "euler",
        dt: float | None = None,
        timestep: float = 1.0,
        reference: str | None = None,
        preset: str | None = None,
        **arguments: Any,
    ) -> None:
        model = load_model("world3")
        if interventions is None:
            are_box = one_of("actions", actions, ("discrete", "box")) == "box"
            interventions = {
                name: (0.8, 1.2) if are_box else (0.8, 1.0, 1.2)
                for name in (USAGE, GENERATION)
            }
        demand(
            reference is None or solver == "euler",
            f"reference={in_short(reference)} is by Euler's method, solver='euler'; got {in_short(solver)}",
        )
        # Beyond a year levels may fall below zero.
        dt = number(
            "dt",
            min(0.5, number("timestep", timestep, above=0)) if dt is None else dt,
            most=1,
            of="years",
        )
        self._run: Any = None
        super().__init__(
            model,
            reference,
            preset,
            actions=actions,
            interventions=interventions,
            solver=solver,
            timestep=timestep,
            observe=model.levels if observe is None else observe,
            dt=dt,
            **arguments,
        )

    def _upper(self, start):
        ranges = {
            item.name: item.bounds if self.doses is None else item.options
            for item in self.interventions
        }
        return self.model.upper(self.config, start, ranges)

    def flow(
        self, values: np.ndarray, step: np.ndarray, dose: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.reference is None:
            return super().flow(values, step, dose)
        from pushlab.envs.ode.models.world3_whynot import advance_run

        y, reward, (begin, end) = (
            values.T.copy(),
            np.empty(len(values)),
            self.years(step),
        )
        parts = int(np.ceil(self.timestep / self.dt - 1e-9))
        fresh = self._run is None or step[0] == 0
        crowding = np.zeros((2, len(values))) if fresh else self._run
        advance_run(
            y,
            begin,
            end - begin,
            parts,
            fresh,
            self._constants,
            dose.T.copy(),
            crowding,
        )
        if self._run is not None:
            self._run = crowding
        after = y.T.copy()
        self.model.reward(after, dose, self._constants, reward)
        return after, end, reward

    def simulate(
        self, env: Any, actions: Any, initial_state: Any = None
    ) -> "pd.DataFrame":
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

    def __init__(self, preset: str | None = "whynot", **arguments: Any) -> None:
        super().__init__(preset=preset, **arguments)
