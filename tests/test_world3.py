"""World3: runs of WhyNot and pyworld3, published peaks, delays, bounds, reward."""

import gymnasium as gym
import numpy as np
import pytest

from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world3 import GENERATION, USAGE, World3

MODEL = load_model("world3")
LEVELS = list(MODEL.levels)
NAMES = list(MODEL.names)
OWN_DOSES = MODEL.dose(MODEL.Config()).tolist()
BOUNDS = {item.name: item.bounds for item in MODEL.interventions}
LEFT_ALONE = 4
ID = "pushlab/ODE-World3-v1"


def simulate(actions=LEFT_ALONE, **arguments):
    """Table of a run from 1900, a row a year."""
    return World3(**arguments).simulate(None, actions).set_index("time")


# ------------------------------------------------------------ other programs

# The 12 levels of plain runs of WhyNot 0.12.0 in steps of a year: the standard run, and
# with both factors halved from 1975 on.
STANDARD = {
    2000: [2190337e3, 2689414e3, 1078529e3, 591769.9e3, 5158384e6, 2362424e6]
    + [1941237e3, 1167997e3, 50800.57e3, 549.9379, 770994.7e6, 366540.7e3],
    2100: [1565052e3, 2202068e3, 900415.8e3, 425449.5e3, 1072373e6, 388307.2e6]
    + [2545945e3, 427266.7e3, 93673.04e3, 505.5938, 163994.1e6, 161363.8e3],
}
HALVED = {
    2100: [2177999e3, 3581646e3, 1727340e3, 1006517e3, 4684664e6, 1427471e6]
    + [2545317e3, 254454.9e3, 142821e3, 441.3562, 196697.7e6, 417395.9e3],
}
# The levels after so many steps of its environment: left alone until 1975, then the
# actions 0, 8, 2, 6, 4 over and over.
ENVIRONMENT = {
    1: [648265e3, 707770.5e3, 197143.1e3, 62855.37e3, 218798.2e6, 144186.7e6]
    + [903635.1e3, 2296115e3, 8280.814e3, 598.9464, 999714.4e6, 24421.53e3],
    125: [888509.8e3, 1484543e3, 748431.5e3, 565144.5e3, 5407674e6, 2735632e6]
    + [1935646e3, 1111892e3, 55882.16e3, 472.3021, 550632.7e6, 1196712e3],
}


@pytest.mark.parametrize(
    "actions, levels", [(3, STANDARD), ([3] * 75 + [0] * 125, HALVED)]
)
def test_reference_gives_the_plain_runs_of_whynot(actions, levels):
    halves = {USAGE: (0.5, 1.0), GENERATION: (0.5, 1.0)}
    run = simulate(actions, dt=1.0, reference="whynot-0.12", interventions=halves)
    for year, expected in levels.items():
        assert run.loc[year, LEVELS].tolist() == pytest.approx(expected, rel=1e-6)


def test_reference_gives_the_episodes_of_whynots_environment():
    env = gym.make(ID, reference="whynot-0.12").unwrapped
    env.reset(seed=0)
    actions = [LEFT_ALONE] * 75 + [0, 8, 2, 6, 4] * 10
    for step, action in enumerate(actions, 1):
        observation, *_ = env.step(action)
        if step in ENVIRONMENT:
            assert observation == pytest.approx(ENVIRONMENT[step], rel=1e-6)
    values = env.state["values"][0]
    again = env.counterfactual(actions)[NAMES].iloc[-1]
    assert again.tolist() == values.tolist()
    # a plain run does not begin its delays anew each year
    assert abs(env.simulate(actions)[LEVELS[11]].iloc[-1] / values[11] - 1) > 0.01


# pyworld3 1.1 in half years: its whole state in the middle of 1900, and the 12 levels in
# later years, left alone and, from twice the resources, under these doses from 1975 on.
MIDDLE_OF_1900 = [
    *[646777682.055233, 702707504.7098943, 192995462.88480473, 61137882.2377662],
    *[214219564885.14505, 144010094715.85245, 901781371.8579351, 2298095543.0828934],
    *[8239875.0, 599.4485294117648, 999858687500.0, 19831556.547619045, 1e12],
    *[7.2, 41.5625, 1.3361797752808988, 6210132349.328245, 1.1709782608695651],
    *[28.043669859971757] * 3,
    *[41.5625] * 3,
    *[0.0886878967029157] * 3,
    *[2234221.875, 1567875.0, 1567875.0],
]
PYWORLD3 = {
    2000: [1812823.8e3, 2334874.2e3, 958927.56e3, 536850e3, 6268714.7e6, 2911972.7e6]
    + [2015578.1e3, 1081296.2e3, 59106.849e3, 551.73061, 688022.09e6, 480093.37e3],
    2100: [1211380e3, 1714791.3e3, 709743.26e3, 340943.1e3, 686043.95e6, 250795.33e6]
    + [2420811.8e3, 559527.38e3, 89460.219e3, 557.2106, 152023.59e6, 81853.647e3],
}
DOSES = (4.0, 18.0, 0.38, 25.0, 1.5, 2.0, 0.5, 0.25)
CHANGED = {
    2100: [1833251e3, 3557096.8e3, 2006087.6e3, 1625658.2e3, 18832014e6, 4957541.6e6]
    + [569238.37e3, 173300.18e3, 398607.76e3, 438.36196, 322520.13e6, 498634.87e3],
}


@pytest.mark.parametrize(
    "times, doses, levels", [(1, None, PYWORLD3), (2, DOSES, CHANGED)]
)
def test_from_its_own_start_the_run_is_that_of_pyworld3(times, doses, levels):
    start = np.array(MIDDLE_OF_1900)
    start[10] += (times - 1) * 1e12
    start[12] *= times
    # its medicine of 1940 acts a step later
    config = {"start_time": 1900.5, "health_policy_year": 1940.25}
    world = World3(
        config=config,
        timestep=0.5,
        initial_state=start,
        actions="box",
        interventions=BOUNDS,
    )
    table = world.simulate(
        None, lambda values, year: doses if doses and year >= 1975 else OWN_DOSES
    )
    run = table.set_index("time")
    for year, expected in levels.items():
        assert run.loc[year, LEVELS].tolist() == pytest.approx(expected, rel=1e-7)


def test_standard_run_overshoots_and_collapses_as_published():
    run = simulate()
    for year, expected in PYWORLD3.items():
        assert run.loc[year, LEVELS].tolist() == pytest.approx(expected, rel=1e-3)
    population = run["population"]
    assert population.idxmax() == 2027
    expected = [7.062e9, 3.977e9]
    assert population[[2027, 2100]].tolist() == pytest.approx(expected, rel=1e-3)
    assert 2010 <= run["output"].idxmax() <= 2030 < run["pollution"].idxmax()
    people = simulate(preset="whynot").filter(like="population_").sum(axis=1)
    assert people.idxmax() == 2036
    assert people.max() == pytest.approx(9.2593e9, rel=1e-4)


# ------------------------------------------------------------ parts of the model


def test_delays_start_in_equilibrium_with_their_input():
    config = MODEL.config({GENERATION: 0.5, "lifetime_perception_delay": 5.0})
    start = MODEL.state(config=config)
    slope = np.empty((30, 1))
    dose = MODEL.dose(config)[:, None]
    time = np.array([1900.0])
    MODEL.derivative(time, start[:, None], MODEL.constants(config), dose, slope)
    assert (np.abs(slope[12:, 0]) <= 1e-9 * start[12:]).all()
    assert start[18] == start[19] == start[20]
    assert start[12] == start[10] == 1e12


def test_nothing_leaves_its_bounds_under_any_actions():
    """From three starts, with all eight interventions in the agent's hands."""
    rng = np.random.default_rng(0)
    levels = np.array(MODEL.initial_states["1900"])
    for factor in (1.0, 0.0, 30.0):
        envs = gym.make_vec(
            ID,
            num_envs=32,
            actions="box",
            interventions=BOUNDS,
            observe=MODEL.names,
            initial_state=levels * factor,
        )
        envs.reset(seed=0)
        for year in range(200):
            if year % 20 == 0:
                corners = rng.random((32, 8)) < 0.5
            space = envs.action_space
            action = np.where(corners, space.low, space.high)
            observation, reward, *_ = envs.step(action)
            assert observation in envs.observation_space
            assert np.isfinite(reward).all()


def test_a_start_is_the_levels_or_the_whole_state():
    env = gym.make(ID, initial_state=[1e6] * 12, observe=NAMES[10:13]).unwrapped
    assert env.reset(seed=0)[0].tolist() == [1e6] * 3  # all resources there ever were
    later = env.simulate([LEFT_ALONE] * 5).iloc[-1][NAMES].to_dict()
    assert gym.make(ID, initial_state=later).unwrapped.initial_state == later


# ------------------------------------------------------------ actions and reward


def test_reward_by_hand():
    """Action 2 uses 0.8 times the resources and makes 1.2 times the pollution."""
    env = gym.make(ID)
    env.reset(seed=0)
    observation, reward, *_ = env.step(2)
    worth = 2e-8 * observation[:4].sum() + 1e-11 * observation[4]
    costs = 5e-7 * observation[11] + (0.3 + 0.5) * 0.2**2
    assert reward == pytest.approx(worth - costs)
    world = env.unwrapped.world
    assert world.doses[2].tolist() == [0.8, 1.2]
    assert world.dose_of(np.array([LEFT_ALONE]))[0].tolist() == OWN_DOSES
