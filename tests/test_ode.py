"""The general environment of dynamical models: solver, spaces, what is seen, clock, simulate and counterfactual."""

import json
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pushlab  # noqa: F401
from pushlab import plots
from pushlab.envs.batch import VectorEnv
from pushlab.envs.ode.integrate import integrator
from pushlab.envs.ode.models import Intervention, Model, Variable, load_model
from pushlab.envs.ode.models.lotka_volterra import invariant
from pushlab.envs.ode.world import ODE, ODEEnv
from pushlab.envs.ode.worlds import HIV, LotkaVolterra, LotkaVolterraV0
from pushlab.ground.compiled import inlined
from pushlab.ground.content import of_function
from pushlab.plots.widgets import you_are_the_agent

NO_DRAWS = np.empty((1, 0))


def run(world, actions):
    """States (steps + 1, variables) under single actions."""
    state = world.initial(NO_DRAWS, {})
    states = [state["values"][0]]
    for action in actions:
        state, _ = world.advance(state, np.array([action]), NO_DRAWS)
        states.append(state["values"][0])
    return np.array(states)


# ---------------------------------------------------------------- Lotka and Volterra

def test_rabbits_and_foxes_keep_their_invariant_over_fifty_units_of_time():
    world = LotkaVolterraV0(timestep=0.5)
    kept = invariant(run(world, [1] * 100), world.config)
    assert np.abs(kept / kept[0] - 1).max() < 1e-6


def test_rabbits_and_foxes_stay_where_they_are_in_balance():
    assert run(LotkaVolterraV0(initial_state="balance"), [1] * 50) == pytest.approx(np.tile([20.0, 10.0], (51, 1)))


def test_fewer_foxes_grow_when_their_growth_is_held_back():
    held, free = run(LotkaVolterra(), [0] * 3), run(LotkaVolterra(), [1] * 3)
    assert (held[1:, 1] < free[1:, 1]).all() and (held[1:, 0] > free[1:, 0]).all()


def test_without_crowding_they_live_as_before_to_the_last_digit():
    """What pushlab 0.3 gave."""
    env = gym.make("pushlab/ODE-LotkaVolterra-v0", actions="box").unwrapped
    env.reset(seed=0)
    for step in range(200):
        observation, reward, *_ = env.step([(0.4, 1.3, 0.75, 0.6)[step // 5 % 4]])
    assert (*observation.tolist(), reward) == (0.0108096870602187, 0.01848316228183247, -0.21419031293978136)


def seasons(policy, copies=1, **arguments):
    """Observations (201, copies, 2) and returns (copies,) of an episode under policy(observations, step)."""
    envs = gym.make_vec("pushlab/ODE-LotkaVolterra-v1", num_envs=copies, **arguments)
    seen, earned = [envs.reset(seed=0)[0]], 0.0
    for step in range(200):
        observation, reward, _, truncated, _ = envs.step(policy(seen[-1], step))
        seen.append(observation)
        earned = earned + reward
    assert truncated.all()
    return np.array(seen), earned


def test_where_rabbits_crowd_each_other_there_is_still_something_to_do():
    """The numbers in the docstring of LotkaVolterra."""
    seen, free = seasons(lambda seen, step: [1])
    wide = [np.ptp(seen[part, 0, 0]) for part in (slice(0, 41), slice(-41, None))]
    assert free.round() == 1842 and np.round(wide) == pytest.approx([32, 21])
    assert seasons(lambda seen, step: np.where(seen[:, 1] > 15, 0, 1))[1].round() == 1966
    rng = np.random.default_rng(0)
    assert seasons(lambda seen, step: rng.uniform(0, 2, (50, 1)), 50, actions="box")[1].mean().round() == -352
    wide = np.ptp(seasons(lambda seen, step: [1], config={"crowding": 1 / 200})[0][-40:, 0, 0])
    assert wide < 1


@pytest.mark.parametrize("growth, balance", [(0.75, [20.0, 9.9]), (0.4, [37.5, 9.8125])])
def test_crowded_rabbits_and_their_foxes_have_a_balance_inside_the_space(growth, balance):
    seen, _ = seasons(lambda seen, step: [[growth]], actions="box", initial_state=balance)
    assert seen[-1, 0] == pytest.approx(balance, rel=1e-5)


@given(doses=st.lists(st.floats(0, 2), min_size=1, max_size=8),
       start=st.tuples(st.floats(0.1, 5000), st.floats(0, 500)),
       capacity=st.floats(5, 10_000), growth=st.floats(0, 3), death=st.floats(0, 3), own=st.floats(0, 4))
def test_no_box_policy_leaves_the_bounds_of_crowded_rabbits(doses, start, capacity, growth, death, own):
    world = ODE("lotka_volterra", actions="box", initial_state=start, timestep=2.0, config={
        "crowding": 1 / capacity, "rabbit_growth": growth, "fox_death": death, "fox_growth": own})
    state = world.initial(NO_DRAWS, {})
    for step in range(world.steps):
        state, outcome = world.advance(state, np.array([[doses[step * len(doses) // world.steps]]]), NO_DRAWS)
        assert world.observe(state)[0] in world.observation_space and np.isfinite(outcome["reward"]).all()


@pytest.mark.parametrize("doses", [[0.0], [2.0], [0.0, 2.0]])
def test_crowded_rabbits_and_foxes_are_numbers_in_float32(doses):
    seen, earned = seasons(lambda seen, step: [[doses[step // 50 % len(doses)]]], actions="box")
    space = gym.make("pushlab/ODE-LotkaVolterra-v1").observation_space
    assert all(one[0] in space for one in seen) and np.isfinite(earned.astype(np.float32)).all()
    assert np.isfinite(space.high.astype(np.float32)).all() and (space.high < 5000).all()


# ---------------------------------------------------------------- solver

@dataclass(frozen=True)
class CircleConfig:
    speed: float = 1.0
    push: float = 0.0
    start_time: float = 0.0
    end_time: float = 10.0


@inlined
def circling(time, y, constants, dose, slope):
    """Around (1, 1), so that the exact path is cosine and sine; the push moves the centre to the right."""
    p = constants[0]
    for i in range(y.shape[1]):
        slope[0, i] = -p.speed * (y[1, i] - 1)
        slope[1, i] = p.speed * (y[0, i] - 1 - dose[0, i])


@inlined
def nothing_earned(values, dose, constants, earned):
    for i in range(len(values)):
        earned[i] = 0.0


CIRCLE = Model(
    name="circle", title="A circle", time_unit="time", timestep=0.25, Config=CircleConfig,
    variables=(Variable("x", "m", "east"), Variable("y", "m", "north")),
    initial_states={"near": (1.5, 1.0), "far": (2.5, 1.0)}, derivative=circling, reward=nothing_earned,
    upper=lambda config, start: np.array([4.0, 4.0]),
    interventions=(Intervention("push", "push", (0.0, 0.5), (0.0, 0.5)),), source="geometry")


def test_a_model_of_ones_own_is_one_description():
    env = ODEEnv(CIRCLE)
    path = env.simulate(0)
    time = path["time"].to_numpy()
    assert len(path) == 41 and time[-1] == 10
    assert path["x"].to_numpy() == pytest.approx(1 + 0.5 * np.cos(time), abs=1e-6)
    assert path["y"].to_numpy() == pytest.approx(1 + 0.5 * np.sin(time), abs=1e-6)
    assert env.simulate(1)["x"].to_numpy() == pytest.approx(1.5)        # the centre was moved to where it stood
    env.reset(seed=0)
    env.step(1)
    assert plots.patient([env.frame()]).get_size_inches().tolist() == [9, 4.8]


def test_a_path_that_would_pass_below_zero_is_an_error_and_is_not_clipped():
    env = ODEEnv(CIRCLE)
    env.reset(seed=0, options={"initial_state": "far"})
    with pytest.raises(ArithmeticError, match="circle could not be integrated"):
        for _ in range(20):
            env.step(0)
    assert (env.state["values"] >= 0).all()


def test_what_cannot_go_on_is_named_and_a_batch_stands_where_it_stood():
    envs = VectorEnv(ODE(CIRCLE), 2)
    envs.reset(seed=0, options={"initial_state": "far"})
    with pytest.raises(ArithmeticError, match=r"from the state {'x': .*} of copy 1: .*; config: {}, timestep: 0.25"):
        for _ in range(20):
            before = envs.state
            envs.step([1, 0])
    assert envs.state is before


def test_what_becomes_of_a_copy_does_not_depend_on_the_others():
    """Copies that need many steps and copies that need few, in any number, bit for bit."""
    rng = np.random.default_rng(0)
    world = HIV(timestep=1.0)
    for copies in (2, 11, 12, 63, 64, 65, 200):
        states = np.array([world.model.state(name) for name in world.model.initial_states])[rng.integers(0, 3, copies)]
        states = states * np.exp(rng.normal(0, 0.5, states.shape))
        dose = world.dose_of(rng.integers(0, 4, copies))
        step = rng.integers(0, 400, copies)
        together = world.flow(states, step, dose)
        alone = [world.flow(states[i:i + 1], step[i:i + 1], dose[i:i + 1]) for i in range(copies)]
        for part in range(3):
            assert np.array_equal(together[part], np.concatenate([one[part] for one in alone]))


def test_compiled_and_scipy_solvers_agree():
    for world in (LotkaVolterra, HIV):
        ours, theirs = run(world(), [0, 1] * 10), run(world(solver="scipy"), [0, 1] * 10)
        assert ours == pytest.approx(theirs, rel=1e-6)


def test_without_numba_the_same_functions_run_as_plain_python():
    code = ("from pushlab.envs.ode.world import ODEEnv; env = ODEEnv('hiv'); env.reset(seed=0); "
            "print([env.step(action)[0].tolist() for action in (0, 3)])")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900,
                          env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    assert json.loads(told.stdout) == run(HIV(), [0, 3])[1:].tolist()


def test_two_models_never_share_a_compiled_loop():
    """Loops are kept on disk by their content, which differs wherever the models do."""
    hiv, foxes = load_model("hiv"), load_model("lotka_volterra")
    loops = [integrator(derivative, reward, 2, 1) for derivative in (foxes.derivative, circling)
             for reward in (foxes.reward, nothing_earned)] + [integrator(hiv.derivative, hiv.reward, 6, lanes)
                                                              for lanes in (1, 64)]
    assert len({of_function(loop) for loop in loops}) == 6
    assert integrator(foxes.derivative, foxes.reward, 2, 1) is loops[0]


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_copy_that_diverges_takes_no_other_along(lanes):
    """Whatever is left of it in its lane, the copies that come after it end as they do without it."""
    model = load_model("lotka_volterra")
    advance = integrator(model.derivative, model.reward, 2, lanes)
    dose = np.array([[getattr(model.config(), item.name) for item in model.interventions]] * 9, float)

    def ends(start):
        n = len(start)
        end, time, earned = np.empty((n, 2)), np.empty(n), np.empty(n)
        failed = advance(start, np.zeros(n, np.int64), model.timestep, model.constants(model.config()), dose[:n], 1e-7,
                         0.0, end, time, earned)
        return failed, end

    start = np.repeat(model.state()[None], 9, axis=0) * np.linspace(1, 1.3, 9)[:, None]
    _, sound = ends(start)
    bad = start.copy()
    bad[[0, 3]] = [[1e308, 1e308], [np.nan, 1.0]]
    failed, end = ends(bad)
    others = [1, 2, 4, 5, 6, 7, 8]
    assert failed == 2 and (end[others] == sound[others]).all()


# ---------------------------------------------------------------- attributes, config, clock

def test_the_documented_attributes():
    env = gym.make("pushlab/ODE-HIV-v0").unwrapped
    assert env.time == 0 and env.timestep == 1 and env.config.end_time == 400
    assert list(env.initial_state) == ["T1", "T1*", "T2", "T2*", "V", "E"]
    env.reset(seed=1)
    env.step(0)
    assert env.time == 1.0 and env.state["values"].shape == (1, 6)
    with pytest.raises(AttributeError, match="'colour'"):
        _ = env.colour


def test_a_config_is_an_environments_own_and_never_changes():
    one, two = ODEEnv("hiv", config={"R2": 5.0}), ODEEnv("hiv")
    before = one.config
    one.reset(seed=0)
    for action in (3, 0, 1):
        one.step(action)
    assert one.config is before and one.config.epsilon_1 == 0 and one.config.R2 == 5.0 and two.config.R2 == 20000.0
    with pytest.raises(FrozenInstanceError):
        one.config.R2 = 1.0
    assert ODEEnv("hiv", config=one.config).config.R2 == 5.0


@pytest.mark.parametrize("end, timestep, steps, times", [
    (10, 1.0, 10, [1.0, 2.0]), (10, 3.0, 4, [3.0, 6.0, 9.0, 10.0]), (0.3, 0.1, 3, [0.1, 0.2, 0.3])])
def test_the_terminal_time_truncates_and_cuts_the_last_step_short(end, timestep, steps, times):
    env = ODEEnv("lotka_volterra", config={"end_time": end}, timestep=timestep)
    env.reset(seed=0)
    seen, over = [], False
    while not over:
        *_, terminated, over, info = env.step(1)
        assert not terminated
        seen.append(info["time"])
    assert len(seen) == steps and seen[:len(times)] == pytest.approx(times) and seen[-1] == pytest.approx(end)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(1)


def test_a_batch_is_truncated_at_the_terminal_time_too():
    envs = gym.make_vec("pushlab/ODE-LotkaVolterra-v1", num_envs=3, config={"end_time": 2.0})
    envs.reset(seed=0)
    ends = [envs.step(envs.action_space.sample())[3].all() for _ in range(9)]
    assert ends == [False, False, False, True, False, False, False, False, True]     # a step to begin anew


# ---------------------------------------------------------------- actions

def test_actions_are_every_combination_of_options():
    world = ODE("hiv", interventions={"epsilon_1": [0.0, 0.35, 0.7], "epsilon_2": [0.0, 0.3]})
    assert world.action_space.n == 6
    assert world.doses.tolist() == [[0, 0], [0, 0.3], [0.35, 0], [0.35, 0.3], [0.7, 0], [0.7, 0.3]]
    one = ODE("hiv", interventions={"epsilon_2": [0.0, 0.3]}, config={"epsilon_1": 0.5})
    assert one.dose_of(np.array([1])).tolist() == [[0.5, 0.3]]


def test_box_actions_are_the_doses_themselves():
    box = ODEEnv("hiv", actions="box", timestep=5.0)
    assert box.action_space.low.tolist() == [0, 0] and box.action_space.high.tolist() == [0.7, 0.3]
    step = ODEEnv("hiv", timestep=5.0)
    box.reset(seed=0), step.reset(seed=0)
    for action, dose in ((0, (0, 0)), (1, (0, 0.3)), (2, (0.7, 0)), (3, (0.7, 0.3))):
        assert np.array_equal(box.step(np.array(dose))[0], step.step(action)[0])


@pytest.mark.parametrize("action", [[0.8, 0.1], [-0.1, 0.1], [np.nan, 0.1], [0.1, np.inf]])
def test_a_box_action_outside_its_bounds_is_refused(action):
    env = ODEEnv("hiv", actions="box")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="component .* must be a number from 0.0 to 0"):
        env.step(np.array(action))
    with pytest.raises(ValueError, match="action"):
        env.simulate([action])


@pytest.mark.parametrize("action", [4, -1, 1.5, np.nan])
def test_a_discrete_action_outside_the_options_is_refused(action):
    env = ODEEnv("hiv")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(action)


@pytest.mark.parametrize("arguments, message", [
    ({"config": {"lambda_9": 1.0}}, "a parameter of hiv is one of lambda_1, .*; got 'lambda_9'"),
    ({"config": {"c": "13"}}, "parameter c is a number from 0 to 1.*; got '13'"),
    ({"config": {"c": np.nan}}, "parameter c is a number from"),
    ({"config": {"end_time": 0.0}}, "end_time comes after start_time"),
    ({"preset": "zen"}, "preset of hiv is one of None, whynot, ernst2006; got 'zen'"),
    ({"initial_state": "fine"}, "initial_state of hiv is one of early infection, unhealthy, healthy; got 'fine'"),
    ({"initial_state": {"T1": 1.0}}, r"has the variables T1, T1\*"),
    ({"initial_state": [1, 2, 3]}, "6 numbers from 0 to"),
    ({"initial_state": [1, 2, 3, 4, 5, -6]}, "6 numbers from 0 to"),
    ({"timestep": 0}, r"timestep \(day\) is a number from 4e-05"),
    ({"timestep": "day"}, r"timestep \(day\) is a number from 4e-05 to 400.0; got 'day'"),
    ({"interventions": ["epsilon_1"]}, "interventions is {name: options or"),
    ({"timestep": 500}, "to 400.0; got 500"),
    ({"actions": "any"}, "actions is one of discrete, box; got 'any'"),
    ({"solver": "heun"}, "solver is one of compiled, euler, rk4, scipy; got 'heun'"),
    ({"solver": "euler", "dt": "fine"}, "dt is a number from 1e-06 to 1.0; got 'fine'"),
    ({"solver": "euler", "dt": 2.0}, "dt is a number from 1e-06 to 1.0; got 2.0"),
    ({"interventions": {"c": [1, 2]}}, "interventions: an intervention of hiv is one of epsilon_1, epsilon_2; got 'c'"),
    ({"interventions": {"epsilon_1": [0, 2]}}, "epsilon_1 is a number from 0.0 to 0.7; got 2"),
    ({"interventions": {"epsilon_1": [0, 0.1, 0.2]}, "actions": "box"}, r"takes \(low, high\) for epsilon_1"),
    ({"interventions": {}}, "of at least one; got {}"),
    ({"observe": ["W"]}, "observe names one or more of T1, .*, each once; got \\['W'\\]"),
    ({"observe": []}, "observe names one or more of"),
    ({"observe": ["V", "V"]}, "each once"),
    ({"observe": ["V"], "bins": {"E": [1]}}, "edges for each variable observed, V; got \\['E'\\]"),
    ({"observe": ["V"], "bins": {"V": [2, 1]}}, "the edges of V are numbers that increase"),
    ({"noise": -1}, "noise is a number from 0 to 5; got -1"),
    ({"tolerance": 0}, "tolerance is a number from 1e-13 to 0.01; got 0"),
])
def test_a_wrong_argument_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        ODEEnv("hiv", **arguments)


def test_an_unknown_model_is_named():
    with pytest.raises(ValueError, match="model is one of hiv, lotka_volterra, .*; got 'hav'"):
        ODEEnv("hav")


# ---------------------------------------------------------------- what is seen

def test_named_variables_are_seen_in_the_order_asked_for():
    env = gym.make("pushlab/ODE-HIV-v0", observe=("V", "T1"))
    assert env.reset(seed=0)[0].tolist() == [1.0, 1e6]
    assert env.unwrapped.world.observation_names == ("V", "T1")


def test_logarithms_and_bins():
    logs = gym.make("pushlab/ODE-HIV-v0", initial_state="unhealthy", log_observation=True, observe=("V", "E"))
    assert logs.reset(seed=0)[0] == pytest.approx(np.log10([63919.0, 24.0]))
    bins = gym.make("pushlab/ODE-HIV-v0", initial_state="unhealthy", observe=("V", "E"), bins=True)
    assert bins.observation_space.nvec.tolist() == [6, 6] and bins.reset(seed=0)[0].tolist() == [4, 0]
    own = gym.make("pushlab/ODE-HIV-v0", initial_state="unhealthy", observe=("V",), bins={"V": [10.0, 63919.0]})
    assert own.reset(seed=0)[0].tolist() == [2]     # a value on an edge lies above it


def test_noise_blurs_what_is_seen_and_nothing_else():
    kwargs = {"initial_state": "unhealthy", "observe": ("V",)}
    noisy = gym.make_vec("pushlab/ODE-HIV-v0", num_envs=4000, noise=0.5, **kwargs)
    first, _ = noisy.reset(seed=1)
    error = np.log(first[:, 0] / 63919.0)
    assert abs(error.mean()) < 4 * 0.5 / np.sqrt(4000) and error.std() == pytest.approx(0.5, rel=0.06)
    second, *_ = noisy.step(np.zeros(4000, int))
    assert abs(np.corrcoef(error, np.log(second[:, 0]))[0, 1]) < 0.07
    assert np.ptp(noisy.state["values"][:, 4]) == 0
    assert first in noisy.observation_space and second in noisy.observation_space


def test_the_generator_decides_the_noise():
    env = gym.make("pushlab/ODE-HIV-v0", noise=0.3)
    assert np.array_equal(env.reset(seed=4)[0], env.reset(seed=4)[0])
    assert not np.array_equal(env.reset(seed=4)[0], env.reset(seed=5)[0])


# ---------------------------------------------------------------- simulate and counterfactual

def test_simulate_is_what_the_episode_does():
    env = ODEEnv("hiv", timestep=5.0)
    env.reset(seed=0)
    actions = [0, 1, 2, 3, 3, 0]
    lived = [env.step(action) for action in actions]
    table = env.simulate(actions)
    assert table[list(env.initial_state)].to_numpy()[1:].tolist() == [step[0].tolist() for step in lived]
    assert table["reward"].tolist()[1:] == [step[1] for step in lived]
    assert table["time"].tolist() == [0, 5, 10, 15, 20, 25, 30]
    assert table["epsilon_1"].tolist()[:-1] == [0, 0, 0.7, 0.7, 0.7, 0] and np.isnan(table["epsilon_2"].iloc[-1])
    assert env.time == 30.0                                     # the episode stands where it stood


def test_simulate_takes_one_action_a_list_or_a_policy():
    env = ODEEnv("hiv", config={"end_time": 20.0})
    assert len(env.simulate(3)) == 21 and len(env.simulate([3] * 5)) == 6
    treat_when_high = env.simulate(lambda values, time: 3 if values[4] > 1000 else 0)
    assert set(treat_when_high["epsilon_1"].dropna()) == {0.0, 0.7}
    assert env.simulate([0], initial_state="healthy")["E"].iloc[0] == 353108.0
    with pytest.raises(ValueError, match="20 steps to the end; got 21 actions"):
        env.simulate([0] * 21)
    with pytest.raises(ValueError, match="actions, step 1: action is 7; it must be from 0 to 3"):
        env.simulate([0, 7])


def test_the_counterfactual_replays_the_episode_and_changes_only_what_was_done():
    env = ODEEnv("hiv", noise=0.5)
    env.reset(seed=3, options={"initial_state": "unhealthy"})
    done = [0, 3, 3, 1, 0, 2]
    for action in done:
        env.step(action)
    again, other = env.counterfactual(done), env.counterfactual(0)
    assert again["V"].iloc[-1] == env.state["values"][0, 4]
    assert again.iloc[0, :7].tolist() == other.iloc[0, :7].tolist() and other["V"].iloc[-1] > 2 * again["V"].iloc[-1]
    assert other["time"].tolist() == again["time"].tolist()
    with pytest.raises(ValueError, match="had 6 steps; got 2 actions"):
        env.counterfactual([0, 0])
    env.reset(seed=3)
    with pytest.raises(ValueError, match="nothing has happened yet"):
        env.counterfactual(0)


# ---------------------------------------------------------------- pictures

@settings(max_examples=10, deadline=None)
@given(actions=st.lists(st.integers(0, 1), min_size=0, max_size=12), name=st.sampled_from(["hiv", "lotka_volterra"]))
def test_pictures_of_any_episode_say_the_day(actions, name):
    env = ODEEnv(name)
    env.reset(seed=0)
    frames = [env.frame()]
    for action in actions:
        env.step(action)
        frames.append(env.frame())
    words = [text.get_text() for ax in plots.patient(frames).axes for text in ax.texts]
    assert any(f"{frames[-1]['time']:g} of" in line for line in words)


def test_a_table_is_drawn_as_frames_are():
    env = ODEEnv("hiv", config={"end_time": 30.0})
    env.reset(seed=0)
    frames = [env.frame()]
    for _ in range(30):
        env.step(3)
        frames.append(env.frame())
    curves = [[line.get_ydata().tolist() for line in plots.patient(days).axes[1].lines]
              for days in (frames, env.simulate(3))]
    assert curves[0] == curves[1]


@pytest.mark.parametrize("name", ["hiv", "lotka_volterra"])
def test_a_person_can_take_the_agents_place(name):
    seat = you_are_the_agent(ODEEnv(name))
    first = seat.image.value
    seat.act(1)
    assert "reward" in seat.words.value and seat.image.value != first


@pytest.mark.parametrize("model", ["hiv", "", 1, {"a": 1}])
def test_a_picture_of_a_table_asks_for_the_model_as_it_is_told(model):
    with pytest.raises(ValueError, match="load_model"):
        plots.patient(ODEEnv("hiv").simulate(0), model=model)
    with pytest.raises(ValueError, match="frames, or a table"):
        plots.epidemic(5)


def test_a_short_path_is_large_and_its_beginning_is_seen_under_its_end():
    env = ODEEnv("hiv", initial_state="unhealthy", timestep=5, config={"end_time": 200})
    days = env.simulate(0)                                          # a steady state: the path is one point
    panel = plots.patient(days, goal={"V": (200, 800)}).axes[-1]
    assert np.ptp(panel.get_xlim()) == pytest.approx(3) and np.ptp(panel.get_ylim()) == pytest.approx(1)
    ring, dot = panel.lines[-2:]
    assert ring.get_markersize() > dot.get_markersize() + 4 and ring.get_markerfacecolor() == "none"
    shades = panel.collections[0].get_colors()
    assert shades[0][2] - shades[0][0] > 0.1 and shades[-1][:3].max() < 0.3       # from blue to nearly black


def test_goal_is_written_beside_its_panel():
    days = ODEEnv("hiv", initial_state="unhealthy", timestep=5, config={"end_time": 200}).simulate(3)
    figure = plots.patient(days, goal={"V": (200, 800)})
    beside = [text for ax in figure.axes[1:4] for text in ax.texts if text.get_text() == "goal"]
    assert [text.xy[0] for text in beside] == [200]
