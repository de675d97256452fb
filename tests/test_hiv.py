"""ODE-HIV-v0 against what is published, the stiff peak of early infection, and the goal-based patient."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import pushlab  # noqa: F401
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODEEnv
from pushlab.envs.ode.worlds import HIV

# Adams et al. (2004), table 2: untreated steady states with the virus winning, and with the immune system holding it.
UNHEALTHY = dict(zip(("T1", "T1*", "T2", "T2*", "V", "E"), (163573, 11945, 5, 46, 63919, 24)))
HEALTHY = dict(zip(("T1", "T1*", "T2", "T2*", "V", "E"), (967839, 76, 621, 6, 415, 353108)))


def adams(time, y, epsilon_1, epsilon_2, p):
    """The equations of the paper written a second time, for SciPy."""
    T1, T1s, T2, T2s, V, E = y
    I = T1s + T2s       # noqa: E741
    return [p.lambda_1 - p.d_1 * T1 - (1 - epsilon_1) * p.k_1 * V * T1,
            (1 - epsilon_1) * p.k_1 * V * T1 - p.delta * T1s - p.m_1 * E * T1s,
            p.lambda_2 - p.d_2 * T2 - (1 - p.f * epsilon_1) * p.k_2 * V * T2,
            (1 - p.f * epsilon_1) * p.k_2 * V * T2 - p.delta * T2s - p.m_2 * E * T2s,
            (1 - epsilon_2) * p.N_T * p.delta * I - p.c * V
            - ((1 - epsilon_1) * p.rho_1 * p.k_1 * T1 + (1 - p.f * epsilon_1) * p.rho_2 * p.k_2 * T2) * V,
            p.lambda_E + p.b_E * I / (I + p.K_B) * E - p.d_E * I / (I + p.K_D) * E - p.delta_E * E]


def by_scipy(actions, start="early infection"):
    model = load_model("hiv")
    config, states = model.Config(), [model.state(start)]
    for action in actions:
        dose = (0.7 * (action // 2), 0.3 * (action % 2))
        states.append(solve_ivp(adams, (0, 1), states[-1], "LSODA", args=(*dose, config), rtol=1e-10,
                                atol=1e-14).y[:, -1])
    return np.array(states)


def episode(actions, **arguments):
    env = gym.make("pushlab/ODE-HIV-v0", **arguments)
    states, rewards = [env.reset(seed=0)[0]], []
    for action in actions:
        observation, reward, *_ = env.step(action)
        states.append(observation)
        rewards.append(reward)
    return np.array(states), np.array(rewards)


# ---------------------------------------------------------------- published figures

@pytest.mark.parametrize("start", ["early infection", "unhealthy"])
def test_the_untreated_patient_ends_where_the_paper_says(start):
    table = ODEEnv("hiv", initial_state=start, timestep=5.0, config={"end_time": 3000.0}).simulate(0)
    assert table.iloc[-1][list(UNHEALTHY)].round().to_dict() == UNHEALTHY


def test_the_healthy_steady_state_stays():
    table = ODEEnv("hiv", initial_state="healthy", timestep=5.0, config={"end_time": 3000.0}).simulate(0)
    assert table.iloc[-1][list(HEALTHY)].round().to_dict() == pytest.approx(HEALTHY, rel=2e-3)


def test_first_days_as_whynot_has_them():
    """WhyNot 0.12.0, HIV-v0, actions 0 1 2 3, at its default tolerance: virus, then rewards."""
    states, rewards = episode([0, 1, 2, 3])
    assert states[1:3, 4] == pytest.approx([8.03, 83.82], rel=1e-3)
    assert rewards == pytest.approx([10012.1278, 8416.2817, 1209.3459, 681.6537], rel=1e-5)


@pytest.mark.parametrize("actions", [[0] * 40, [3] * 40, [0, 1, 2, 3] * 10, [0] * 8 + [3] * 8 + [2] * 24])
def test_agrees_with_scipy_through_the_viral_peak(actions):
    ours, theirs = episode(actions)[0], by_scipy(actions)
    assert ours == pytest.approx(theirs, rel=1e-6, abs=0)
    if actions[0] == actions[7] == 0:
        assert ours[:, 4].max() > 1e6           # the peak at which equations are stiffest


def test_a_looser_tolerance_errs_more_and_a_tighter_one_less():
    theirs = by_scipy([0] * 12)
    errors = [np.abs(episode([0] * 12, tolerance=tolerance)[0] / theirs - 1).max() for tolerance in (1e-4, 1e-6, 1e-9)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_drugs_act_where_the_paper_has_them():
    unhealthy = gym.make("pushlab/ODE-HIV-v0", initial_state="unhealthy")
    virus = []
    for action in range(4):
        unhealthy.reset(seed=0)
        for _ in range(5):
            observation, *_ = unhealthy.step(action)
        virus.append(observation[4])
    assert virus[0] == pytest.approx(63919, rel=1e-3)
    assert virus[0] > virus[1] > virus[2] > virus[3]


# ---------------------------------------------------------------- reward, presets

@pytest.mark.parametrize("arguments, costs", [
    ({}, (0, 1800, 9800, 11600)), ({"preset": "ernst2006"}, (0, 180, 9800, 9980)),
    ({"config": {"R1": 0.0, "R2": 0.0}}, (0, 0, 0, 0))])
def test_the_reward_weighs_effectors_against_virus_and_drugs(arguments, costs):
    for action, cost in enumerate(costs):
        states, rewards = episode([action], **arguments)
        assert rewards[0] == pytest.approx(1000 * states[1, 5] - 0.1 * states[1, 4] - cost)


def test_a_config_goes_before_its_preset():
    assert ODEEnv("hiv", preset="ernst2006", config={"R2": 7.0}).config.R2 == 7.0


def test_parameters_have_units():
    table = load_model("hiv").parameters()
    assert table.loc["c"].tolist()[:2] == [13.0, "1/day"] and (table["meaning"] != "").all()


# ---------------------------------------------------------------- no negative states

@settings(max_examples=40, deadline=None)
@given(start=st.sampled_from(["early infection", "unhealthy", "healthy"]), days=st.sampled_from([1.0, 5.0, 40.0]),
       doses=st.lists(st.tuples(st.floats(0, 0.7), st.floats(0, 0.3)), min_size=1, max_size=25))
def test_no_state_is_negative_or_leaves_its_space_under_any_doses(start, days, doses):
    env = gym.make("pushlab/ODE-HIV-v0", initial_state=start, timestep=days, actions="box",
                   config={"end_time": 1000.0})
    env.reset(seed=0)
    for dose in doses:
        observation, reward, *_ = env.step(np.array(dose))
        assert (observation > 0).all() and observation in env.observation_space and np.isfinite(reward)


@settings(max_examples=15, deadline=None)
@given(values=st.tuples(*[st.floats(0, high) for high in (2e6, 1e6, 4e3, 3e3, 5e6, 1e6)]), action=st.integers(0, 3))
def test_any_state_whatever_can_be_begun_from(values, action):
    env = ODEEnv("hiv", initial_state=values, config={"end_time": 20.0})
    assert (env.simulate(action)[list(UNHEALTHY)].to_numpy() >= 0).all()


def test_a_start_that_the_observation_space_does_not_hold_is_refused_at_reset():
    env = gym.make("pushlab/ODE-HIV-v0")
    assert env.reset(options={"initial_state": "unhealthy"})[0].tolist() == list(UNHEALTHY.values())
    with pytest.raises(ValueError, match="give that as the argument initial_state"):
        env.reset(options={"initial_state": [1e9, 0, 0, 0, 0, 0]})


# ---------------------------------------------------------------- goals

def test_the_goal_is_reached_in_the_healthy_state_and_nowhere_near_the_start():
    env = gym.make("pushlab/ODE-HIV-Goal-v0", initial_state="healthy")
    _, info = env.reset(seed=0)
    assert info["is_success"] and env.step(0)[1] == 0.0
    sick = gym.make("pushlab/ODE-HIV-Goal-v0")
    _, info = sick.reset(seed=0)
    assert not info["is_success"] and sick.step(0)[1] == -1.0


def test_compute_reward_works_on_batches_as_hindsight_needs_it():
    envs = gym.make_vec("pushlab/ODE-HIV-Goal-v0", num_envs=5)
    envs.reset(seed=0)
    seen = [envs.step(envs.action_space.sample()) for _ in range(20)]
    achieved = np.array([observation["achieved_goal"] for observation, *_ in seen])
    desired = np.array([observation["desired_goal"] for observation, *_ in seen])
    compute = gym.make("pushlab/ODE-HIV-Goal-v0").unwrapped.compute_reward
    assert np.array_equal(compute(achieved, desired, {}), [reward for _, reward, *_ in seen])
    assert (compute(achieved, achieved, {}) == 0).all()             # in hindsight every goal was reached
    assert compute(achieved[0, 0], desired[0, 0], {}) == -1.0


def test_another_goal_can_be_set():
    env = gym.make("pushlab/ODE-HIV-Goal-v0")
    observation, info = env.reset(seed=0, options={"goal": {"T1": 163573.0, "V": 63919.0, "E": 24.0}})
    assert info["is_success"] and observation["desired_goal"] == pytest.approx(observation["achieved_goal"])
    with pytest.raises(ValueError, match="a goal gives a value to each of T1, V, E"):
        env.reset(options={"goal": {"V": 1.0}})
    with pytest.raises(ValueError, match="goal: V is a number above 1e-06, at most .*; got 0.0"):
        gym.make("pushlab/ODE-HIV-Goal-v0", goal={"T1": 1.0, "V": 0.0, "E": 1.0})


def test_the_world_of_an_episode_ends_after_the_days_registered():
    assert HIV().steps == 400 and gym.make("pushlab/ODE-HIV-Goal-v0").unwrapped.world.steps == 200
