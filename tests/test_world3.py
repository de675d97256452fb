"""World3: against the published program, in its limits, under any action, and what each intervention does."""

import json
import os
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pushlab  # noqa: F401
from pushlab import plots
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.models import world3_tables as tables
from pushlab.envs.ode.models.world3 import indicators
from pushlab.envs.ode.whynot_worlds import GENERATION, USAGE, World3
from pushlab.envs.ode.world import ODE

MODEL = load_model("world3")
LEVELS = list(MODEL.levels)
BOUNDS = {item.name: item.bounds for item in MODEL.interventions}
LEFT_ALONE = 4


def simulate(actions, **arguments):
    """The table of a run from 1900."""
    return World3(**arguments).simulate(None, actions)


# ---------------------------------------------------------------- the published program

# The 12 levels in some years of plain runs of WhyNot 0.12.0 (py_mini_racer 0.4.0), steps of a year: of the standard
# run, and with both factors halved from 1975 on.
STANDARD = {
    1950: (1107994e3, 1198725e3, 433392.6e3, 190396.5e3, 1113822e6, 518498.7e6, 1202874e3, 1976944e3, 16704.09e3,
           587.5224, 964029.7e6, 64505.87e3),
    2000: (2190337e3, 2689414e3, 1078529e3, 591769.9e3, 5158384e6, 2362424e6, 1941237e3, 1167997e3, 50800.57e3,
           549.9379, 770994.7e6, 366540.7e3),
    2050: (2051702e3, 3714123e3, 1801871e3, 1119039e3, 7619808e6, 2625674e6, 2559341e3, 438169.6e3, 93673.04e3,
           291.0994, 241698.3e6, 1557907e3),
    2100: (1565052e3, 2202068e3, 900415.8e3, 425449.5e3, 1072373e6, 388307.2e6, 2545945e3, 427266.7e3, 93673.04e3,
           505.5938, 163994.1e6, 161363.8e3)}
HALVED = {
    2000: (2196823e3, 2692862e3, 1080093e3, 593309.7e3, 5189367e6, 2370205e6, 1935907e3, 1172677e3, 50910.22e3,
           567.8625, 838678.6e6, 211825.2e3),
    2100: (2177999e3, 3581646e3, 1727340e3, 1006517e3, 4684664e6, 1427471e6, 2545317e3, 254454.9e3, 142821e3,
           441.3562, 196697.7e6, 417395.9e3)}
# The levels after so many steps of its environment, its simulator run anew each year by its own rules in Node: left
# alone until 1975, then the actions 0, 8, 2, 6, 4 over and over.
ENVIRONMENT = {
    1: (648265e3, 707770.5e3, 197143.1e3, 62855.37e3, 218798.2e6, 144186.7e6, 903635.1e3, 2296115e3, 8280.814e3,
        598.9464, 999714.4e6, 24421.53e3),
    75: (851625.2e3, 1219609e3, 525212.5e3, 289171.4e3, 2215075e6, 1011302e6, 1389838e3, 1767763e3, 22315.8e3,
         565.029, 908600.3e6, 289560e3),
    125: (888509.8e3, 1484543e3, 748431.5e3, 565144.5e3, 5407674e6, 2735632e6, 1935646e3, 1111892e3, 55882.16e3,
          472.3021, 550632.7e6, 1196712e3)}


@pytest.mark.parametrize("actions, published", [(3, STANDARD), ([3] * 75 + [0] * 125, HALVED)])
def test_plain_runs_of_whynot_are_met(actions, published):
    halves = {USAGE: (0.5, 1.0), GENERATION: (0.5, 1.0)}
    run = simulate(actions, dt=1.0, reference="whynot-0.12", interventions=halves).set_index("time")[LEVELS]
    for year, levels in published.items():
        assert run.loc[year].to_numpy() == pytest.approx(levels, rel=1e-6)


def test_episodes_of_whynots_environment_are_met():
    env = gym.make("pushlab/ODE-World3-v1", reference="whynot-0.12")
    env.reset(seed=0)
    for step, action in enumerate([LEFT_ALONE] * 75 + [0, 8, 2, 6, 4] * 10, 1):
        observation, *_ = env.step(action)
        if step in ENVIRONMENT:
            assert observation == pytest.approx(ENVIRONMENT[step], rel=1e-6)


def test_the_standard_run_is_as_near_whynots_as_its_late_start_allows():
    """Without the reference: delays begin on time and crowding acts at once, which is a step's difference."""
    run = simulate(LEFT_ALONE, dt=1.0, preset="whynot").set_index("time")[LEVELS]
    for year, levels in STANDARD.items():
        assert run.loc[year].to_numpy() == pytest.approx(levels, rel=0.025)
    assert np.abs(run.loc[2050].to_numpy() / STANDARD[2050] - 1).max() > 1e-3


# ---------------------------------------------------------------- another program

# Of pyworld3 1.1 in half years: all of the state in the middle of 1900, and the 12 levels in later years; left alone,
# and with twice the resources and, from 1975 on, these doses.
MIDDLE_OF_1900 = (
    646777682.055233, 702707504.7098943, 192995462.88480473, 61137882.2377662, 214219564885.14505, 144010094715.85245,
    901781371.8579351, 2298095543.0828934, 8239875.0, 599.4485294117648, 999858687500.0, 19831556.547619045, 1e12, 7.2,
    41.5625, 1.3361797752808988, 6210132349.328245, 1.1709782608695651, *[28.043669859971757] * 3, *[41.5625] * 3,
    *[0.0886878967029157] * 3, 2234221.875, 1567875.0, 1567875.0)
LEFT_ALONE_BY_PYWORLD3 = {
    2000: (1812823.8e3, 2334874.2e3, 958927.56e3, 536850e3, 6268714.7e6, 2911972.7e6, 2015578.1e3, 1081296.2e3,
           59106.849e3, 551.73061, 688022.09e6, 480093.37e3),
    2050: (1422786.5e3, 2633758.9e3, 1332294.1e3, 848763.37e3, 5744331.5e6, 1655858.9e6, 2440619e3, 562166.28e3,
           89460.219e3, 374.87528, 196045.44e6, 1032518.3e3),
    2100: (1211380e3, 1714791.3e3, 709743.26e3, 340943.1e3, 686043.95e6, 250795.33e6, 2420811.8e3, 559527.38e3,
           89460.219e3, 557.2106, 152023.59e6, 81853.647e3)}
DOSES = (4.0, 18.0, 0.38, 25.0, 1.5, 2.0, 0.5, 0.25)
CHANGED_BY_PYWORLD3 = {
    2000: (1929208.4e3, 2368313.7e3, 964682.6e3, 544047.31e3, 8538500.4e6, 3706477.4e6, 1557799.3e3, 1427967.1e3,
           56498.75e3, 587.10389, 1804114.7e6, 142553.29e3),
    2100: (1833251e3, 3557096.8e3, 2006087.6e3, 1625658.2e3, 18832014e6, 4957541.6e6, 569238.37e3, 173300.18e3,
           398607.76e3, 438.36196, 322520.13e6, 498634.87e3)}


@pytest.mark.parametrize("times, doses, found", [(1.0, None, LEFT_ALONE_BY_PYWORLD3),
                                                 (2.0, DOSES, CHANGED_BY_PYWORLD3)])
def test_every_equation_is_that_of_another_program(times, doses, found):
    """From its own state in the middle of 1900; its medicine of 1940 comes half a year later than ours would."""
    start, config = np.array(MIDDLE_OF_1900), {"start_time": 1900.5, "health_policy_year": 1940.25}
    start[10], start[12] = start[10] + (times - 1) * 1e12, times * 1e12
    world = World3(config=config, timestep=0.5, initial_state=start, actions="box", interventions=BOUNDS)
    own = [getattr(world.config, name) for name in BOUNDS]
    run = world.simulate(None, lambda levels, year: doses if doses and year >= 1975 else own).set_index("time")[LEVELS]
    for year, levels in found.items():
        assert run.loc[year].to_numpy() == pytest.approx(levels, rel=1e-7)      # they have eight digits


def test_the_standard_run_is_as_near_that_programs_as_its_first_years_allow():
    """Its delays do not begin in equilibrium, most of all that of pollution; and its medicine comes a step later."""
    run = simulate(LEFT_ALONE).set_index("time")
    for year, levels in LEFT_ALONE_BY_PYWORLD3.items():
        assert run.loc[year, LEVELS].to_numpy() == pytest.approx(levels, rel=0.001)
    assert np.abs(run.loc[2000, LEVELS].to_numpy(float) / LEFT_ALONE_BY_PYWORLD3[2000] - 1).max() > 1e-4
    shown = plots.limits_to_growth_table(run.reset_index())
    assert shown["population"].idxmax() == 2027
    assert shown["population"].max() == pytest.approx(7.0620, rel=1e-3)
    assert shown.loc[2100, "population"] == pytest.approx(3.9769, rel=1e-3)


def test_the_older_version_has_people_live_as_long_as_whynots():
    with pytest.warns(DeprecationWarning, match="out of date"):
        old = gym.make("pushlab/ODE-World3-v0").unwrapped
    new = gym.make("pushlab/ODE-World3-v1").unwrapped
    assert (old.config.normal_life_expectancy, new.config.normal_life_expectancy) == (32.0, 28.0)
    assert World3(reference="whynot-0.12").config.normal_life_expectancy == 32.0
    people = old.simulate(LEFT_ALONE).set_index("time").filter(like="population_").sum(axis=1)
    assert people.idxmax() == 2036 and people.max() == pytest.approx(9.2593e9, rel=1e-4)


def test_the_book_tells_of_overshoot_and_collapse():
    run = simulate(LEFT_ALONE)
    shown = plots.limits_to_growth_table(run)
    assert shown["population"].iloc[-1] < 0.6 * shown["population"].max()
    assert 2010 <= shown["output"].idxmax() <= 2030 and shown["pollution"].idxmax() > shown["output"].idxmax()
    assert shown.loc[1970, "population"] == pytest.approx(4.0, rel=0.1)
    assert shown.loc[1970, "pollution"] == pytest.approx(1.0, rel=0.1)      # it is measured by that of 1970


def test_the_tables_are_joined_by_straight_lines():
    rng = np.random.default_rng(0)
    for name, points in vars(tables).items():
        if name.isupper():
            first, step, values = points[0], points[1], points[2:]
            places = first + step * np.arange(len(values))
            for at in [*places, *rng.uniform(2 * places[0] - places[-1], 2 * places[-1] - places[0], 50)]:
                assert tables.lookup(points, at) == pytest.approx(np.interp(at, places, values), rel=1e-9, abs=1e-12)


# ---------------------------------------------------------------- the solver

def last_levels(**arguments):
    return simulate(LEFT_ALONE, **arguments)[LEVELS].to_numpy()


def test_eulers_error_halves_with_dt():
    exact = last_levels(solver="compiled")
    errors = [np.abs(last_levels(solver="euler", dt=dt) / exact - 1).max() for dt in (1.0, 0.5, 0.25, 0.125)]
    assert np.divide(errors[:-1], errors[1:]) == pytest.approx(2.0, abs=0.15) and errors[-1] < 0.02


def test_all_solvers_go_the_same_way():
    """Runge and Kutta's method errs like dt here, since the medicine of 1940 begins in the last slope of a step."""
    exact = last_levels(solver="compiled")
    assert last_levels(solver="rk4", dt=0.5) == pytest.approx(exact, rel=2e-3)
    assert last_levels(solver="scipy") == pytest.approx(exact, rel=2e-5)


# ---------------------------------------------------------------- limits

@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), solver=st.sampled_from(["euler", "rk4"]), dt=st.sampled_from([0.25, 0.5, 1.0]),
       kind=st.sampled_from(["anything", "corners", "one corner for ever", "one corner for decades"]),
       reference=st.booleans())
def test_three_centuries_of_any_actions_stay_finite_and_above_zero_and_below_the_bounds(seed, solver, dt, kind,
                                                                                        reference):
    """All eight interventions in the agent's hands."""
    rng, copies = np.random.default_rng(seed), 16
    world = World3(actions="box", interventions=BOUNDS, config={"end_time": 2200.0}, dt=dt, observe=MODEL.names,
                   solver="euler" if reference else solver, reference="whynot-0.12" if reference else None)
    low, high = world.action_space.low, world.action_space.high
    assert world.steps == 300
    state, stay = world.initial(np.empty((copies, 0)), {}), {"one corner for ever": 300, "one corner for decades": 30}
    for year in range(300):
        if kind == "anything":
            action = rng.uniform(low, high, (copies, 8))
        elif year % stay.get(kind, 1) == 0:
            action = np.where(rng.random((copies, 8)) < 0.5, low, high)
        state, outcome = world.advance(state, action, np.empty((copies, 0)))
        assert np.isfinite(outcome["reward"]).all()
        assert all(values in world.observation_space for values in state["values"])


@settings(max_examples=25, deadline=None)
@given(actions=st.lists(st.integers(0, 8), min_size=12, max_size=12))
def test_the_observation_space_of_the_registered_environment_holds_too(actions):
    world = World3(config={"end_time": 2200.0})
    assert np.isfinite(world.observation_space.high).all()
    path = world.simulate(None, np.repeat(actions, 25).tolist())
    assert all(values in world.observation_space for values in path[LEVELS].to_numpy())


@settings(max_examples=25, deadline=None)
@given(levels=st.lists(st.sampled_from([0.0, 1e-3, 0.3, 1.0, 3.0, 100.0]), min_size=12, max_size=12))
def test_other_worlds_stay_within_limits_too(levels):
    """Empty ones, without land or without industry, or crowded ones."""
    start = np.array(MODEL.initial_states["1900"]) * levels
    world = World3(initial_state=start, observe=MODEL.names)
    path = world.simulate(None, LEFT_ALONE)[list(MODEL.names)].to_numpy()
    assert all(values in world.observation_space for values in path)


def test_land_and_resources_are_only_passed_on():
    path = simulate(LEFT_ALONE)
    land = path[["arable_land", "potentially_arable_land", "urban_industrial_land"]].sum(axis=1).to_numpy()
    assert (np.diff(land) < 0).all() and np.diff(path["nonrenewable_resources"]).max() < 0    # erosion, and use
    assert (np.diff(path["urban_industrial_land"]) >= 0).all()


# ---------------------------------------------------------------- the state

def slopes(values, config):
    slope = np.empty((len(values), 1))
    dose = np.array([[getattr(config, item.name)] for item in MODEL.interventions])
    MODEL.derivative(np.array([1900.0]), values[:, None].copy(), MODEL.constants(config), dose, slope)
    return slope[:, 0]


@pytest.mark.parametrize("changes", [{}, {GENERATION: 0.5, "lifetime_perception_delay": 5.0}])
def test_delays_start_in_equilibrium_with_their_input(changes):
    config = MODEL.config(changes)
    start = MODEL.state(config=config)
    assert np.abs(slopes(start, config)[12:]) == pytest.approx(0.0, abs=1e-9 * start[12:].max())
    assert (np.abs(slopes(start, config)[13:]) <= 1e-9 * start[13:]).all()
    assert start[18] == start[19] == start[20] and start[12] == start[10] == 1e12


def test_delays_delay():
    """Life expectancy leaps with the medicine of 1940; each stage of its perception follows later."""
    path = simulate(LEFT_ALONE)
    at = [int((path[f"perceived_life_expectancy_{stage}"].diff()).idxmax()) for stage in (1, 2, 3)]
    assert at[0] < at[1] < at[2] and path["time"][at[0]] >= 1940


@pytest.mark.parametrize(("arguments", "words"), [({"dt": "short"}, "dt is a number"),
                                                  ({"timestep": "year"}, "timestep is a number"),
                                                  ({"dt": 1.5, "timestep": 2.0}, "dt is a number of years of at most")])
def test_wrong_steps_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        gym.make("pushlab/ODE-World3-v1", **arguments)


def test_a_state_is_its_levels_or_all_of_it():
    levels = dict(zip(LEVELS, np.array(MODEL.initial_states["1900"]) / 2))
    env = gym.make("pushlab/ODE-World3-v1", initial_state=levels).unwrapped
    assert env.initial_state["nonrenewable_resources_initial"] == 5e11
    later = env.simulate([LEFT_ALONE] * 5).iloc[-1][list(MODEL.names)].to_dict()
    assert gym.make("pushlab/ODE-World3-v1", initial_state=later).unwrapped.initial_state == later
    with pytest.raises(ValueError, match="12 numbers from 0 to 1e\\+15, in the order population_0_to_14"):
        gym.make("pushlab/ODE-World3-v1", initial_state=[1.0] * 13)
    with pytest.raises(ValueError, match="has the variables population_0_to_14"):
        gym.make("pushlab/ODE-World3-v1", initial_state={"arable_land": 1.0})


def test_levels_are_seen_and_delays_by_name():
    env = gym.make("pushlab/ODE-World3-v1")
    assert env.reset(seed=0)[0].tolist() == list(MODEL.initial_states["1900"])
    seen = gym.make("pushlab/ODE-World3-v1", observe=("perceived_life_expectancy_3", "arable_land"))
    assert seen.reset(seed=0)[0] == pytest.approx([28.24645894, 0.9e9])
    codes = gym.make("pushlab/ODE-World3-v1", bins=True, observe=MODEL.names).reset(seed=0)[0]
    assert codes.shape == (30,) and codes[:3].tolist() == [1, 0, 0]


# ---------------------------------------------------------------- actions

def test_actions_are_multiples_of_what_is_used_and_made():
    world = World3()
    assert world.doses.tolist() == [[use, made] for use in (0.8, 1.0, 1.2) for made in (0.8, 1.0, 1.2)]
    box = World3(actions="box")
    assert box.action_space.low.tolist() == [0.8, 0.8] and box.action_space.high.tolist() == [1.2, 1.2]
    for action, dose in enumerate(world.doses):
        assert np.array_equal(world.dose_of(np.array([action])), box.dose_of(dose[None]))
    assert world.dose_of(np.array([LEFT_ALONE]))[0].tolist() == [getattr(world.config, name) for name in BOUNDS]


def test_each_intervention_does_what_its_name_says():
    def at_2000(name, values):
        world = World3(interventions={name: values})
        return [world.simulate(None, action).set_index("time").loc[2000] for action in range(len(values))]

    less, more = at_2000(USAGE, (0.5, 1.5))
    assert less["nonrenewable_resources"] > more["nonrenewable_resources"]
    less, more = at_2000(GENERATION, (0.5, 1.5))
    assert less["persistent_pollution"] < more["persistent_pollution"]
    less, more = at_2000("land_yield_factor", (0.8, 1.2))
    assert less["perceived_food_ratio"] < more["perceived_food_ratio"]
    name = "fraction_of_industrial_output_allocated_to_consumption_constant"
    less, more = at_2000(name, (0.4, 0.46))
    assert less["industrial_capital"] > more["industrial_capital"]
    for name in ("average_lifetime_of_industrial_capital", "average_lifetime_of_service_capital"):
        less, more = at_2000(name, (0.9 * getattr(MODEL.Config(), name), 1.1 * getattr(MODEL.Config(), name)))
        assert less["industrial_capital"] + less["service_capital"] < more["industrial_capital"] + (
            more["service_capital"])
    less, more = at_2000("industrial_capital_output_ratio", (2.8, 3.2))
    assert less["industrial_capital"] > more["industrial_capital"]
    less, more = at_2000("service_capital_output_ratio", (0.8, 1.2))
    assert less["effective_health_services_per_capita"] > more["effective_health_services_per_capita"]


def test_the_reward_is_people_and_capital_less_pollution_and_the_costs_of_acting():
    env = gym.make("pushlab/ODE-World3-v1")
    env.reset(seed=0)
    observation, reward, *_ = env.step(0)
    assert reward == pytest.approx(2e-8 * observation[:4].sum() + 1e-11 * observation[4] - 5e-7 * observation[11]
                                   - 0.3 * 0.04 - 0.5 * 0.04)


# ---------------------------------------------------------------- the reference

def test_with_the_reference_resources_never_grow_scarce_and_without_it_they_do():
    final = {}
    for reference in (None, "whynot-0.12"):
        env = gym.make("pushlab/ODE-World3-v1", reference=reference)
        env.reset(seed=0)
        for _ in range(150):
            observation, *_ = env.step(LEFT_ALONE)
        final[reference] = indicators(env.unwrapped.state["values"])["output"][0]
    assert final["whynot-0.12"] > 3 * final[None]


def test_with_the_reference_a_batch_is_its_copies():
    world, rng = World3(reference="whynot-0.12"), np.random.default_rng(0)
    values = np.array(MODEL.state())[None] * rng.uniform(0.5, 1.5, (20, 30))
    step, dose = rng.integers(0, 200, 20), world.dose_of(rng.integers(0, 9, 20))
    after, time, reward = world.flow(values, step, dose)
    for i in range(20):
        alone = world.flow(values[i:i + 1], step[i:i + 1], dose[i:i + 1])
        assert after[i] == pytest.approx(alone[0][0], rel=1e-12) and time[i] == alone[1][0]


def test_with_the_reference_simulate_is_one_run_and_counterfactual_the_episode():
    env = gym.make("pushlab/ODE-World3-v1", reference="whynot-0.12").unwrapped
    env.reset(seed=0)
    for _ in range(30):
        env.step(LEFT_ALONE)
    lived = env.state["values"][0]
    assert env.counterfactual(LEFT_ALONE).iloc[-1][list(MODEL.names)].tolist() == lived.tolist()
    assert abs(env.simulate([LEFT_ALONE] * 30)["persistent_pollution"].iloc[-1] / lived[11] - 1) > 0.01


@pytest.mark.parametrize("arguments, message", [
    ({"reference": "whynot"}, "reference is one of None, whynot-0.12; got 'whynot'"),
    ({"reference": "whynot-0.12", "solver": "rk4"}, "is by Euler's method, solver='euler'; got 'rk4'"),
    ({"dt": 2.0, "timestep": 5.0}, "dt is a number of years of at most 1; got 2.0"),
    ({"interventions": {"land_yield_factor": (0.0, 1.0)}}, "land_yield_factor is a number from 0.5 to 2.0; got 0.0")])
def test_a_wrong_argument_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        World3(**arguments)


# ---------------------------------------------------------------- compiled or not

def test_without_numba_the_same_functions_run_as_plain_python():
    code = ("from pushlab.envs.shell import Env; from pushlab.envs.ode.whynot_worlds import World3\n"
            "for reference in (None, 'whynot-0.12'):\n"
            "    env = Env(World3, reference=reference); env.reset(seed=0)\n"
            "    print([env.step(action)[0].tolist() for action in (0, 5)])")
    told = subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", code], capture_output=True, text=True,
                          check=True, timeout=900, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    for line, reference in zip(told.stdout.splitlines(), (None, "whynot-0.12")):
        env = gym.make("pushlab/ODE-World3-v1", reference=reference)
        env.reset(seed=0)
        assert np.array(json.loads(line)) == pytest.approx(np.array([env.step(a)[0] for a in (0, 5)]), rel=1e-12)


# ---------------------------------------------------------------- pictures

@pytest.fixture(scope="module")
def episode():
    env = gym.make("pushlab/ODE-World3-v1", config={"end_time": 2200.0}).unwrapped
    env.reset(seed=0)
    frames = [env.frame()]
    for action in [LEFT_ALONE] * 75 + [0] * 75 + [8] * 150:
        env.step(action)
        frames.append(env.frame())
    return env, frames


def words_of(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts]


@pytest.mark.parametrize("until, title", [(1, "1900: before the first decision"), (2, "1901: left alone"),
                                          (100, "1999: resource use 0.8 and pollution made 0.8"),
                                          (301, "2200: resource use 1.2 and pollution made 1.2")])
def test_the_picture_says_the_year_and_what_was_done(episode, until, title):
    env, frames = episode
    figure = env.world.picture(frames[:until], agent="you")
    words = words_of(figure)
    assert words[0] == title and any(word.endswith("you") for word in words[:2])
    assert len(figure.axes[1].lines) >= 5 and len(plots.png(figure)) < 150_000
    assert sum("billion people" in word or "pollution" in word for word in words) >= 3


def test_words_stay_on_the_sheet(episode):
    env, frames = episode
    for until in (1, 60, 301):
        figure = env.world.picture(frames[:until])
        renderer = figure.canvas.get_renderer()
        width, height = figure.canvas.get_width_height()
        for ax in figure.axes:
            for text in ax.texts:
                box = text.get_window_extent(renderer)
                assert 0 <= box.x0 and box.x1 <= width and 0 <= box.y0 and box.y1 <= height, text.get_text()


def test_a_table_is_drawn_as_frames_are(episode):
    env, frames = episode
    days = env.simulate([LEFT_ALONE] * 75 + [0] * 75 + [8] * 150)
    drawn, framed = (plots.limits_to_growth_table(days_or_frames) for days_or_frames in (days, frames))
    assert drawn.iloc[1:].to_numpy() == pytest.approx(framed.iloc[1:].to_numpy(), rel=1e-9)
    assert framed.loc[1900].round(2).tolist() == [1.6, 100.0, 277.93, 41.56, 0.18]
    curves = plots.limits_to_growth(days).axes[1].lines
    assert curves[0].get_ydata() == pytest.approx(framed["population"].to_numpy() / 16)


def test_lanes_show_every_intervention_that_was_used():
    env = gym.make("pushlab/ODE-World3-v1", actions="box", interventions=BOUNDS).unwrapped
    env.reset(seed=0)
    frames = [env.frame()]
    for _ in range(3):
        env.step(env.action_space.low)
        frames.append(env.frame())
    words = words_of(env.world.picture(frames))
    assert words[0] == "1903: capital per output 2, lifetime of industry 7 and 6 more"
    assert {"land yield 0.5", "resource use 0", "pollution made 0"} <= set(words)


def test_a_person_can_play_and_watch(episode):
    from pushlab.plots.widgets import player, you_are_the_agent

    env, frames = episode
    assert player(frames[:5], env.world.picture).image.value[1:4] == b"PNG"
    seat = you_are_the_agent(gym.make("pushlab/ODE-World3-v1"))
    assert len(seat.buttons) == 9 and seat.frames[-1]["time"] == 1900.0
    seat.buttons[0].click()
    assert seat.frames[-1]["time"] == 1901.0 and seat.log[-1]["action"].startswith("resource use 0.8")


def test_the_generic_environment_knows_the_model_too():
    world = ODE("world3", solver="euler", dt=0.5)
    assert world.action_space.n == 9 and len(world.observation_names) == 30
