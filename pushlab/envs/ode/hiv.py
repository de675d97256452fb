"""HIV in a patient under two drugs, which can't cure but can train the immune system to control the virus.

Source: Adams, Banks, Kwon & Tran (2004), Dynamic multidrug therapies for HIV: optimal and STI control approaches,
Math. Biosci. Eng. 1(2), 223-241: equations 2.1, parameters of table 1, steady states of table 2. The papers list the
state as (T1, T2, T1*, T2*, V, E). Here, as in WhyNot, infected cells follow healthy ones: T1, T1*, T2, T2*, V, E.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict

from pushlab.envs.ode.models import (
    Model,
    config_class,
    read_interventions,
    read_variables,
)
from pushlab.envs.ode.world import MIN_LOGGED, ODE
from pushlab.utils.arguments import require, short_repr, validate_number
from pushlab.utils.compiled import inlined

LOG10_2 = 0.30103

# Names are the paper's. The last lines are parameters of the reward and of the time.
HIVConfig = config_class(
    __name__,
    "HIVConfig",
    """
lambda_1    10000   cells/(ml day)   production of type 1 cells (CD4+)
lambda_2    31.98   cells/(ml day)   production of type 2 cells (macrophages)
d_1         0.01    1/day            death of type 1 cells
d_2         0.01    1/day            death of type 2 cells
k_1         8e-7    ml/(copies day)  infection of type 1 cells
k_2         1e-4    ml/(copies day)  infection of type 2 cells
f           0.34    -                fraction of the RT inhibitor's effect in type 2 cells
delta       0.7     1/day            death of infected cells
m_1         1e-5    ml/(cells day)   killing of infected type 1 cells by immune effectors
m_2         1e-5    ml/(cells day)   killing of infected type 2 cells by immune effectors
N_T         100     copies/cell      virus made by an infected cell
c           13      1/day            clearance of free virus
rho_1       1       copies/cell      virus lost in infecting a type 1 cell
rho_2       1       copies/cell      virus lost in infecting a type 2 cell
lambda_E    1       cells/(ml day)   production of immune effectors
b_E         0.3     1/day            highest birth rate of effectors
K_B         100     cells/ml         infected cells at which half of that rate is reached
d_E         0.25    1/day            highest death rate of effectors from overload
K_D         500     cells/ml         infected cells at which half of that rate is reached
delta_E     0.1     1/day            natural death of effectors
epsilon_1   0       -                efficacy of the reverse transcriptase inhibitor without an action
epsilon_2   0       -                efficacy of the protease inhibitor without an action
Q           0.1     ml/copies        cost of the virus in the reward
R1          20000   -                cost of the reverse transcriptase inhibitor in the reward
R2          20000   -                cost of the protease inhibitor in the reward; 2000 in the literature
S           1000    ml/cells         worth of immune effectors in the reward
start_time  0       days             beginning of an episode
end_time    400     days             end of an episode
""",
)


@inlined
def derivative(time, y, constants, dose, slope):
    """Fill `slope` by the equations 2.1 of Adams et al. (2004), for every copy i."""
    p = constants[0]
    for i in range(y.shape[1]):
        T1 = y[0, i]
        T1_infected = y[1, i]
        T2 = y[2, i]
        T2_infected = y[3, i]
        V = y[4, i]
        E = y[5, i]
        epsilon_1 = dose[0, i]
        epsilon_2 = dose[1, i]
        infected = T1_infected + T2_infected
        infection_1 = (1 - epsilon_1) * p.k_1 * V * T1
        infection_2 = (1 - p.f * epsilon_1) * p.k_2 * V * T2
        slope[0, i] = p.lambda_1 - p.d_1 * T1 - infection_1
        slope[1, i] = infection_1 - p.delta * T1_infected - p.m_1 * E * T1_infected
        slope[2, i] = p.lambda_2 - p.d_2 * T2 - infection_2
        slope[3, i] = infection_2 - p.delta * T2_infected - p.m_2 * E * T2_infected
        slope[4, i] = (
            (1 - epsilon_2) * p.N_T * p.delta * infected
            - p.c * V
            - p.rho_1 * infection_1
            - p.rho_2 * infection_2
        )
        births = p.b_E * (infected + p.K_D)
        deaths = p.d_E * (infected + p.K_B)
        # The two fractions in the paper with their common denominator.
        factor = infected / ((infected + p.K_B) * (infected + p.K_D))
        slope[5, i] = p.lambda_E + ((births - deaths) * factor - p.delta_E) * E


@inlined
def reward(before, values, dose, constants, rewards):
    """Fill `rewards`: S for each effector, minus Q for each virus, and R1 and R2 times the drugs' squared efficacy."""
    p = constants[0]
    for i in range(len(values)):
        V = values[i, 4]
        E = values[i, 5]
        drugs = p.R1 * dose[i, 0] ** 2
        rewards[i] = p.S * E - p.Q * V - drugs - p.R2 * dose[i, 1] ** 2


def upper_bounds(p, start, ranges):
    """Return upper bounds: each variable has the highest production and the lowest loss.

    The equations don't bound effectors. They grow at most at the rate for the most favourable number of infected
    cells, during the entire episode.
    """
    cells_1 = max(start[0] + start[1], p.lambda_1 / min(p.d_1, p.delta))
    cells_2 = max(start[2] + start[3], p.lambda_2 / min(p.d_2, p.delta))
    virus = max(start[4], p.N_T * p.delta * (cells_1 + cells_2) / p.c)
    infected = np.append(0.0, np.geomspace(1e-3, cells_1 + cells_2, 4000))
    rate = (
        p.b_E * infected / (infected + p.K_B)
        - p.d_E * infected / (infected + p.K_D)
        - p.delta_E
    )
    fastest = max(1.001 * rate.max(), 1e-6)
    growth = min(600.0, fastest * (p.end_time - p.start_time))
    effectors = (start[5] + p.lambda_E / fastest) * np.exp(growth)
    return np.array([cells_1, cells_1, cells_2, cells_2, virus, effectors])


MODEL = Model(
    name="hiv",
    title="HIV under treatment",
    time_unit="day",
    timestep=1.0,
    Config=HIVConfig,
    variables=read_variables(
        """
T1   cells/ml   healthy CD4+ cells
T1*  cells/ml   infected CD4+ cells
T2   cells/ml   healthy macrophages
T2*  cells/ml   infected macrophages
V    copies/ml  free virus
E    cells/ml   immune effectors
"""
    ),
    initial_states={
        "early infection": (1e6, 1e-4, 3198.0, 1e-4, 1.0, 10.0),
        "unhealthy": (163573.0, 11945.0, 5.0, 46.0, 63919.0, 24.0),
        "healthy": (967839.0, 76.0, 621.0, 6.0, 415.0, 353108.0),
    },
    derivative=derivative,
    reward=reward,
    upper_bounds=upper_bounds,
    interventions=read_interventions(
        """
epsilon_1  RT inhibitor        0  0.7  -
epsilon_2  protease inhibitor  0  0.3  -
"""
    ),
    presets={"whynot": {}, "ernst2006": {"R2": 2000.0}},
    logarithmic=True,
    goal={"T1": 967839.0, "V": 415.0, "E": 353108.0},
)


class HIV(ODE):
    """Treat an HIV infection with two drugs, which can't cure but can train the immune system to control the virus.

    Observation:
        Box(6,), float64, in this order (T2 is second in the papers):

        - T1, T1*: healthy and infected CD4+ cells, cells/ml
        - T2, T2*: healthy and infected macrophages, cells/ml
        - V: free virus, copies/ml
        - E: immune effectors, cells/ml

        `observe`, `log_observation` and `noise` change the observation.

    Action:
        Discrete(4): 0 nothing, 1 protease inhibitor (epsilon_2 0.3), 2 reverse transcriptase inhibitor (epsilon_1
        0.7), 3 both. With actions="box" Box(2,): epsilon_1 in [0, 0.7], epsilon_2 in [0, 0.3].

    Reward:
        S E - Q V - R1 epsilon_1² - R2 epsilon_2² for the state after the step. S is 1000, Q 0.1, R1 and R2 20000, as in
        WhyNot. preset="ernst2006" has R2 = 2000, as in public versions of that experiment.

    Start:
        "early infection", "unhealthy" (the steady state without treatment) or "healthy" (the steady state in which the
        immune system controls the virus without drugs).

    End:
        Truncated at config.end_time, 400 days. Decisions are daily, or every 5 days with timestep=5.

    Info:
        "time", days.

    Args:
        The arguments of `ODE` except the model.

    Source:
        Adams, Banks, Kwon & Tran (2004), Math. Biosci. Eng. 1(2), 223-241. An environment in WhyNot 0.12, in which all
        environments share one config. Ernst, Stan, Gonçalves & Wehenkel (2006), Proc. 45th IEEE CDC, 667-672, decide
        every 5 days.

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


class HIVGoal(HIV):
    """Treat the same patient to reach a goal; for agents that learn from goals, also by hindsight.

    Observation:
        Dict: "observation" as in `ODE-HIV-v0`, with log_observation=True by default; "achieved_goal" and
        "desired_goal", Box(3,), the base-10 logarithms of T1, V and E. `observe` and `noise` don't change goals.

    Reward:
        0 if no component of the achieved goal differs from the desired goal by more than `goal_tolerance`, otherwise
        -1. env.compute_reward(achieved, desired, info) returns it for one or more goals (..., 3).

    Start:
        As in `ODE-HIV-v0`, from "unhealthy".

    End:
        After 1,000 days, with a decision every 5 days. Reaching the goal doesn't end the episode: the patient must stay
        there.

    Info:
        "time", days; "is_success", bool.

    Args:
        goal: {"T1": ..., "V": ..., "E": ...}; None is the healthy steady state. reset(options={"goal": ...}) sets the
            goal of an episode.
        goal_tolerance: Largest difference from the goal that counts as reached, in base-10 logarithms; by default
            log10(2), a factor of 2.
        arguments: The arguments of `ODE` except the model.

    Source:
        As for `ODE-HIV-v0`; goals as in Andrychowicz et al. (2017), Hindsight Experience Replay, NeurIPS.

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
        goal_tolerance: float = LOG10_2,
        config: Any = None,
        **arguments: Any,
    ) -> None:
        if config is None or isinstance(config, Mapping):
            config = {"end_time": 1000.0, **(config or {})}
        defaults = {
            "initial_state": "unhealthy",
            "timestep": 5.0,
            "log_observation": True,
        }
        super().__init__(config=config, **{**defaults, **arguments})
        self.goal_tolerance = float(
            validate_number("goal_tolerance", goal_tolerance, above=0, maximum=20)
        )
        self._goal_columns = [self.model.names.index(name) for name in self.model.goal]
        self._goal_bounds = self._observation_bounds()[self._goal_columns]
        self._goal = self._validate_goal(self.model.goal if goal is None else goal)
        goals = Box(np.log10(MIN_LOGGED), np.log10(self._goal_bounds), dtype=np.float64)
        self.observation_space = Dict(
            observation=self.observation_space, achieved_goal=goals, desired_goal=goals
        )
        self.observation_names = None

    def _validate_goal(self, goal):
        """Return the base-10 logarithms of a goal {variable: value}, (3,)."""
        names = self.model.goal
        require(
            isinstance(goal, dict) and set(goal) == set(names),
            f"a goal needs a value for each of {', '.join(names)}; got {short_repr(goal)}",
        )
        values = [
            validate_number(
                f"goal: {name}", goal[name], above=MIN_LOGGED, maximum=bound
            )
            for name, bound in zip(names, self._goal_bounds.tolist())
        ]
        return np.log10(values)

    def initial(self, draws, options):
        goal = self._goal
        if "goal" in options:
            goal = self._validate_goal(options["goal"])
        state = super().initial(draws, options)
        return {**state, "goal": np.repeat(goal[None], len(draws), axis=0)}

    def advance(self, state, action, draws):
        state, outcome = super().advance(state, action, draws)
        achieved = self._achieved(state)
        outcome["reward"] = self.compute_reward(None, achieved, state["goal"], None)
        return state, outcome

    def _achieved(self, state):
        """Return the base-10 logarithms of the goal's variables, (n, 3)."""
        values = state["values"][:, self._goal_columns]
        return np.log10(np.maximum(values, MIN_LOGGED))

    def observe(self, state):
        return {
            "observation": super().observe(state),
            "achieved_goal": self._achieved(state),
            "desired_goal": state["goal"].copy(),
        }

    def compute_reward(
        self, env: Any, achieved_goal: Any, desired_goal: Any, info: Any
    ) -> Any:
        """Return 0.0 if a goal is achieved, otherwise -1.0, for goals (..., 3); a float for a single goal."""
        distances = np.abs(np.asarray(achieved_goal) - np.asarray(desired_goal))
        reward = np.where(distances.max(axis=-1) <= self.goal_tolerance, 0.0, -1.0)
        return reward if reward.ndim else float(reward)

    def info(self, state, outcome):
        achieved = self._achieved(state)
        reward = self.compute_reward(None, achieved, state["goal"], None)
        return {**super().info(state, outcome), "is_success": reward == 0}

    def frame(self, state, outcome, at=0):
        region = {
            name: (
                10 ** (value - self.goal_tolerance),
                10 ** (value + self.goal_tolerance),
            )
            for name, value in zip(self.model.goal, state["goal"][at].tolist())
        }
        return {**super().frame(state, outcome, at), "goal": region}
