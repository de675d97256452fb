"""The registered worlds of dynamical models: HIV in one patient, with and without a goal, and rabbits and foxes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from pushlab.envs.ode.world import DETECTED, ODE
from pushlab.ground.arguments import demand, in_short, number

FACTOR_2 = 0.30103  # in powers of ten


class HIV(ODE):
    """Treat an HIV infection with two drugs that never cure, but may teach the immune system to hold the virus.

    Observation  Box (6,), float64, in this order (the papers list T2 second):
                     T1, T1*  healthy and infected CD4+ cells       cells/ml
                     T2, T2*  healthy and infected macrophages      cells/ml
                     V        free virus                            copies/ml
                     E        immune effectors                      cells/ml
                 `observe`, `log_observation`, `bins` and `noise` change what is seen. The edges of bins=True:
                     T1 2e4, 1e5, 3e5, 6e5, 9e5; T1* 10, 100, 1e3, 1e4, 1e5; T2 5, 50, 300, 1e3, 2e3;
                     T2* 1, 10, 50, 200; V 50, 500, 5e3, 5e4, 5e5; E 30, 300, 3e3, 3e4, 3e5
    Action       Discrete(4): 0 nothing, 1 protease inhibitor (epsilon_2 0.3), 2 reverse transcriptase inhibitor
                 (epsilon_1 0.7), 3 both; or with actions="box" Box (2,): epsilon_1 in [0, 0.7], epsilon_2 in [0, 0.3]
    Reward       S E - Q V - R1 epsilon_1² - R2 epsilon_2², of the state after the step; S 1000, Q 0.1, R1 and R2
                 20000 as in WhyNot. preset="ernst2006" takes R2 = 2000, as public versions of that experiment do
    Start        "early infection", "unhealthy" (the steady state of the untreated) or "healthy" (the one in which the
                 immune system holds the virus by itself)
    End          truncated at config.end_time, 400 days; a decision a day, or every 5 days with timestep=5
    Info         "time", days
    Arguments    those of `ODE` but the model
    Source       Adams, Banks, Kwon & Tran (2004), Math. Biosci. Eng. 1(2), 223-241; as an environment in WhyNot 0.12;
                 Ernst, Stan, Gonçalves & Wehenkel (2006), Proc. 45th IEEE CDC, 667-672, decide every 5 days
    Ours         the config of one environment is no other's and never changes

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-HIV-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(3)
    >>> round(reward, 3), info
    (-1598.866, {'time': 1.0})
    >>> env.unwrapped.simulate([3, 3])[["time", "V", "epsilon_1", "epsilon_2"]].round(3).values.tolist()
    [[0.0, 1.0, 0.7, 0.3], [1.0, 0.264, 0.7, 0.3], [2.0, 0.678, nan, nan]]
    """

    name = "ODE-HIV-v0"

    def __init__(self, **arguments: Any) -> None:
        super().__init__("hiv", **arguments)


class LotkaVolterra(ODE):
    """Keep rabbits and foxes from coming too close to dying out, by holding back how foxes multiply.

    Observation  Box (2,), float64: rabbits and foxes, animals, at most 2,002 and 4,682. Edges of bins=True: rabbits 5,
                 10, 20, 40; foxes 2, 5, 10, 20
    Action       Discrete(2): fox_growth 0.4 or 0.75 (undisturbed); or with actions="box" Box (1,) from 0 to 2
    Reward       the number of the rarer animal, less 10 times the squared change of fox_growth
    Start        10 rabbits and 5 foxes; or "balance", 20 and 10, near where the undisturbed numbers stay
    End          truncated at config.end_time, 100, after steps of 0.5
    Info         "time"
    Arguments    preset  "crowded": rabbits crowd each other, so that there are 2,000 at most, 1 / crowding; None: they
                         do not, as in ODE-LotkaVolterra-v0
                 and those of `ODE` but the model
    Source       Lotka (1925); Volterra (1926), Nature 118, 558-560; parameters of the simulator in WhyNot 0.12, where
                 it is no environment. Crowding as in Verhulst (1838), and for prey in Murray (2002), Mathematical
                 Biology I, chapter 3

    Without crowding, rabbits grow without end once there are no foxes: an agent that holds these back by a Box action
    of 0 meets 2e44 rabbits, more than float32 holds, and learners get no number. With it every policy stays within
    bounds that float32 can hold. The balances with the foxes are 20 rabbits and 9.9 foxes undisturbed, and 37.5 and
    9.81 at a growth of 0.4, and the cycles last: those of the rabbits are 32 wide in the first 20 units of time and 21
    in the last, if nothing is done. With a capacity of 200 they would be gone, and nothing would be left to do. An
    episode then brings 1,842, one of random numbers in the box -352, and holding back at more than 15 foxes 1,966
    (`pytest tests/test_ode.py -k crowded`).

    >>> import gymnasium as gym, pushlab
    >>> gym.make("pushlab/ODE-LotkaVolterra-v1", timestep=1.0).reset(seed=7)[0]
    array([10.,  5.])
    """

    name = "ODE-LotkaVolterra-v1"

    def __init__(self, preset: str | None = "crowded", **arguments: Any) -> None:
        super().__init__("lotka_volterra", preset=preset, **arguments)


class LotkaVolterraV0(LotkaVolterra):
    """The rabbits and foxes of `LotkaVolterra` as they were up to pushlab 0.3: nothing crowds the rabbits.

    >>> import gymnasium as gym, pushlab
    >>> gym.make("pushlab/ODE-LotkaVolterra-v0").unwrapped.config.crowding
    0.0
    """

    name = "ODE-LotkaVolterra-v0"

    def __init__(self, preset: str | None = None, **arguments: Any) -> None:
        super().__init__(preset=preset, **arguments)


class HIVGoal(HIV):
    """The same patient, with a goal to be reached: for agents that learn from goals, also by hindsight.

    Observation  Dict: "observation" as in ODE-HIV-v0, of which `log_observation` is True here unless said otherwise;
                 "achieved_goal" and "desired_goal", Box (3,), the base-10 logarithms of T1, V and E: as they are,
                 whatever `observe`, `bins` and `noise` leave of them in "observation"
    Reward       0 where the achieved goal is within `within` of the desired one in every component, and -1 elsewhere;
                 env.compute_reward(achieved, desired, info) says so for goals (…, 3), one or many
    Start, End   as in ODE-HIV-v0, from the "unhealthy" state for 1,000 days, a decision every 5 days; reaching the
                 goal ends nothing, since the patient has to stay there
    Info         "time", days; "is_success", bool
    Arguments    goal    {"T1": …, "V": …, "E": …}; None is the healthy steady state. reset(options={"goal": …}) too
                 within  in powers of ten; log10(2), a factor of 2, by default
                 and those of `ODE` but the model
    Source       as ODE-HIV-v0; goals as in Andrychowicz et al. (2017), Hindsight Experience Replay, NeurIPS

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-HIV-Goal-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation["achieved_goal"].round(2), observation["desired_goal"].round(2)
    (array([5.21, 4.81, 1.38]), array([5.99, 2.62, 5.55]))
    >>> env.unwrapped.compute_reward(observation["desired_goal"], observation["desired_goal"], {})
    0.0
    """

    name = "ODE-HIV-Goal-v0"
    options = ("initial_state", "goal")
    exports = (*ODE.exports, "compute_reward")

    def __init__(
        self,
        goal: dict[str, float] | None = None,
        within: float = FACTOR_2,
        initial_state: Any = "unhealthy",
        timestep: float = 5.0,
        log_observation: bool = True,
        config: Any = None,
        **arguments: Any,
    ) -> None:
        if config is None or isinstance(config, Mapping):
            config = {"end_time": 1000.0, **(config or {})}
        super().__init__(
            config=config,
            initial_state=initial_state,
            timestep=timestep,
            log_observation=log_observation,
            **arguments,
        )
        self.within = float(
            number("within", within, above=0, most=20, of="powers of ten")
        )
        self._aims = [self.model.names.index(name) for name in self.model.goal]
        self._reach = self._bound(self._start)[self._aims]
        self._goal = self._as_goal(self.model.goal if goal is None else goal)
        aims = spaces.Box(np.log10(DETECTED), np.log10(self._reach), dtype=np.float64)
        self.observation_space = spaces.Dict(
            observation=self.observation_space, achieved_goal=aims, desired_goal=aims
        )
        self.observation_names = None

    def _as_goal(self, goal):
        names = tuple(self.model.goal)
        demand(
            isinstance(goal, dict) and set(goal) == set(names),
            f"a goal gives a value to each of {', '.join(names)}; got {in_short(goal)}",
        )
        return np.log10(
            [
                number(f"goal: {name}", goal[name], above=DETECTED, most=most)
                for name, most in zip(names, self._reach.tolist())
            ]
        )

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        goal = self._as_goal(options["goal"]) if "goal" in options else self._goal
        return {
            **super().initial(draws, options),
            "goal": np.repeat(goal[None], len(draws), axis=0),
        }

    def advance(
        self, state: dict, action: np.ndarray, draws: np.ndarray
    ) -> tuple[dict, dict]:
        after, outcome = super().advance(state, action, draws)
        outcome["reward"] = self.compute_reward(
            None, self._achieved(after), state["goal"], None
        )
        return after, outcome

    def _achieved(self, state):
        return np.log10(np.maximum(state["values"][:, self._aims], DETECTED))

    def observe(self, state: dict) -> dict[str, np.ndarray]:
        return {
            "observation": super().observe(state),
            "achieved_goal": self._achieved(state),
            "desired_goal": state["goal"].copy(),
        }

    def compute_reward(
        self, env: Any, achieved_goal: Any, desired_goal: Any, info: Any
    ) -> Any:
        """0.0 where the goal is achieved and -1.0 elsewhere, for goals (…, 3); a float for a single one."""
        apart = np.abs(np.asarray(achieved_goal) - np.asarray(desired_goal)).max(
            axis=-1
        )
        reward = np.where(apart <= self.within, 0.0, -1.0)
        return reward if reward.ndim else float(reward)

    def info(self, state: dict, outcome: dict | None) -> dict:
        achieved = (
            self.compute_reward(None, self._achieved(state), state["goal"], None) == 0
        )
        return {**super().info(state, outcome), "is_success": achieved}

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        region = {
            name: (10 ** (value - self.within), 10 ** (value + self.within))
            for name, value in zip(self.model.goal, state["goal"][at].tolist())
        }
        return {**super().frame(state, outcome, at), "goal": region}
