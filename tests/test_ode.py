"""Dynamical models: solvers against SciPy, arguments, HIV, rabbits and foxes."""

from dataclasses import FrozenInstanceError, dataclass
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pushlab.envs.env import Env
from pushlab.envs.ode.models import Intervention, Model, Variable, load_model
from pushlab.envs.ode.world import ODE
from pushlab.utils.compiled import inlined

HIV_ID = "pushlab/ODE-HIV-v0"
RABBITS_ID = "pushlab/ODE-LotkaVolterra-v1"
CELLS = ["T1", "T1*", "T2", "T2*", "V", "E"]


def flow(model, values, action, step=0, **arguments):
    """State after one timestep under an action, by the world's own solver."""
    world = ODE(model, **arguments)
    dose = world.dose_of(np.array([action]))
    return world.flow(np.array([values], float), np.array([step]), dose)[0][0]


# ------------------------------------------------------------ a model of one's own


@dataclass(frozen=True)
class TankConfig:
    leak: float = 0.5
    inflow: float = 0.0
    start_time: float = 1.0
    end_time: float = 3.0


@inlined
def filling(time, y, constants, dose, slope):
    for i in range(y.shape[1]):
        slope[0, i] = dose[0, i] - constants[0].leak * y[0, i]


@inlined
def water_gained(before, values, dose, constants, rewards):
    for i in range(len(values)):
        rewards[i] = values[i, 0] - before[i, 0]


TANK = Model(
    name="tank",
    title="A leaking tank",
    time_unit="hour",
    timestep=0.25,
    Config=TankConfig,
    variables=(Variable("water", "m3", "in the tank"),),
    initial_states={"full": (4.0,)},
    derivative=filling,
    reward=water_gained,
    upper_bounds=lambda config, start, ranges: np.array([9.0]),
    interventions=(Intervention("inflow", "inflow", (0.0, 1.0), (0.0, 1.0)),),
)


def test_own_model_follows_its_exact_path():
    env = Env(ODE, model=TANK, config={"leak": 0.2})
    path = env.simulate(1)
    hours = np.arange(9) / 4
    water = path["water"].to_numpy()
    assert path["time"].tolist() == (1 + hours).tolist()
    assert water == pytest.approx(5 - np.exp(-0.2 * hours))
    assert path["reward"][1:].to_numpy() == pytest.approx(np.diff(water))


def test_a_path_below_zero_is_an_error_and_leaves_the_state():
    starts = {"initial_state": "unhealthy"}
    envs = gym.make_vec(HIV_ID, num_envs=2, dt=1.0, **starts)
    envs.reset(seed=0)
    message = "hiv could not be integrated in steps of 1 from the state {'T1': .*copy 1"
    with pytest.raises(ArithmeticError, match=message):
        for _ in range(50):
            before = envs.state
            envs.step([0, 3])
    assert envs.state is before
    assert (before["values"] >= 0).all()


# ------------------------------------------------------------ solvers


def adams(time, y, epsilon_1, epsilon_2, p):
    """The HIV equations of Adams et al. (2004), written a second time for SciPy."""
    T1, T1s, T2, T2s, V, E = y
    infected = T1s + T2s
    new_1 = (1 - epsilon_1) * p.k_1 * V * T1
    new_2 = (1 - p.f * epsilon_1) * p.k_2 * V * T2
    births = p.b_E * infected / (infected + p.K_B)
    deaths = p.d_E * infected / (infected + p.K_D)
    return [
        p.lambda_1 - p.d_1 * T1 - new_1,
        new_1 - p.delta * T1s - p.m_1 * E * T1s,
        p.lambda_2 - p.d_2 * T2 - new_2,
        new_2 - p.delta * T2s - p.m_2 * E * T2s,
        (1 - epsilon_2) * p.N_T * p.delta * infected
        - p.c * V
        - p.rho_1 * new_1
        - p.rho_2 * new_2,
        p.lambda_E + (births - deaths - p.delta_E) * E,
    ]


@pytest.mark.parametrize(
    "changes, actions",
    [
        ({}, [0] * 8 + [3] * 8 + [2, 1] * 12),  # through the viral peak
        ({"rho_1": 2.0, "rho_2": 3.0, "m_2": 0.1}, [0, 1]),
    ],
)
def test_hiv_agrees_with_scipys_solve_ivp(changes, actions):
    env = gym.make(HIV_ID, config=changes)
    world = env.unwrapped.world
    y = env.reset(seed=0)[0]
    for action in actions:
        arguments = (*world.doses[action], world.config)
        solved = solve_ivp(
            adams, (0, 1), y, "LSODA", args=arguments, rtol=1e-11, atol=1e-14
        )
        y = solved.y[:, -1]
        assert env.step(action)[0] == pytest.approx(y, rel=1e-6)


@pytest.mark.parametrize("name", ["lotka_volterra", "opioid", "zika"])
def test_adaptive_solver_agrees_with_scipys(name):
    world = ODE(name)
    dose = world.dose_of(np.array([1]))

    def slopes(time, y):
        slope = np.empty((len(y), 1))
        arguments = (world.model.constants(world.config), dose.T.copy(), slope)
        world.model.derivative(np.array([time]), y[:, None], *arguments)
        return slope[:, 0]

    start = world.model.state()
    times = np.array([0, world.timestep]) + world.config.start_time
    solved = solve_ivp(slopes, times, start, "LSODA", rtol=1e-10, atol=1e-14)
    ours = world.flow(start[None], np.zeros(1, int), dose)[0][0]
    assert ours == pytest.approx(solved.y[:, -1], rel=1e-6)


def test_eulers_steps_by_hand_and_their_order():
    uncrowded = {"config": {"crowding": 0.0}}
    one = flow("lotka_volterra", [10, 5], 1, dt=0.5, **uncrowded)
    assert one.tolist() == [10 + 0.5 * (10 - 5), 5 + 0.5 * (0.75 * 5 - 7.5)]
    # 0.2 does not divide the timestep of 0.5, which takes three equal parts
    three = flow("lotka_volterra", [10, 5], 1, dt=0.2)
    assert np.array_equal(three, flow("lotka_volterra", [10, 5], 1, dt=0.5 / 3))
    exact = flow("lotka_volterra", [10, 5], 1, tolerance=1e-13)
    errors = []
    for parts in (16, 32, 64):
        found = flow("lotka_volterra", [10, 5], 1, dt=0.5 / parts)
        errors.append(np.abs(found - exact).max())
    assert -np.diff(np.log2(errors)) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("dt", [None, 0.01])
def test_environments_of_a_large_batch_are_integrated_apart(dt):
    """Bit for bit, whether they need many steps or few."""
    rng = np.random.default_rng(0)
    world = ODE("lotka_volterra", dt=dt)
    start = rng.uniform(1, 100, (130, 2))
    step = rng.integers(0, world.max_steps, 130)
    dose = world.dose_of(rng.integers(0, 2, 130))
    together = world.flow(start, step, dose)
    for at in range(130):
        row = slice(at, at + 1)
        alone = world.flow(start[row], step[row], dose[row])
        for part in range(3):
            assert np.array_equal(together[part][row], alone[part])


# ------------------------------------------------------------ arguments


def test_a_config_goes_before_its_preset_and_never_changes():
    env = Env(ODE, model="hiv", config={"R1": 5.0}, preset="ernst2006")
    assert (env.config.R1, env.config.R2) == (5, 2000)
    with pytest.raises(FrozenInstanceError):
        env.config.R2 = 1.0
    assert load_model("hiv").parameters().loc["R1", "value"] == 20_000


@pytest.mark.parametrize(
    "end, timestep, times",
    [(4, 1.0, [1, 2, 3, 4]), (10, 3.0, [3, 6, 9, 10]), (0.3, 0.1, [0.1, 0.2, 0.3])],
)
def test_the_last_step_is_cut_at_the_terminal_time(end, timestep, times):
    env = Env(ODE, model="lotka_volterra", config={"end_time": end}, timestep=timestep)
    env.reset(seed=0)
    for time in times:
        *_, truncated, info = env.step(1)
        assert info["time"] == pytest.approx(time) == pytest.approx(env.time)
        assert truncated == (time == times[-1])


def test_actions_are_combinations_of_options_or_the_doses_themselves():
    options = {"epsilon_1": [0.0, 0.35, 0.7], "epsilon_2": [0.0, 0.3]}
    world = ODE("hiv", interventions=options)
    combinations = product((0, 0.35, 0.7), (0, 0.3))
    assert world.doses.tolist() == [list(pair) for pair in combinations]
    assert world.action_choices[0][1][3] == "RT inhibitor 0.35, protease inhibitor 0.3"
    one = ODE("hiv", interventions={"epsilon_2": [0, 0.3]}, config={"epsilon_1": 0.5})
    assert one.dose_of(np.array([1])).tolist() == [[0.5, 0.3]]
    box = Env(ODE, model="hiv", actions="box").simulate(np.array([0.7, 0.3]))
    assert box.equals(Env(ODE, model="hiv").simulate(3))


def test_observations_are_chosen_and_logged():
    def first(**arguments):
        env = gym.make(HIV_ID, initial_state="unhealthy", **arguments)
        return env.reset(seed=0)[0].tolist()

    assert first(observe=("V", "T1")) == [63919, 163573]
    logs = first(observe=("V", "E"), log_observation=True)
    assert np.array(logs) == pytest.approx(np.log10([63919, 24]))


def test_noise_changes_only_what_is_seen():
    start = {"initial_state": "unhealthy", "observe": ("V",)}
    envs = gym.make_vec(HIV_ID, num_envs=4000, noise=0.5, **start)
    error = np.log(envs.reset(seed=1)[0][:, 0] / 63919)
    assert abs(error.mean()) < 4 * 0.5 / np.sqrt(4000)
    assert error.std() == pytest.approx(0.5, rel=0.05)
    envs.step(np.zeros(4000, int))
    assert np.ptp(envs.state["values"][:, 4]) == 0


def test_simulate_gives_the_steps_of_an_episode():
    env = Env(ODE, model="hiv", timestep=5.0)
    env.reset(seed=0)
    steps = [env.step(action) for action in range(4)]
    table = env.simulate(range(4))
    assert table[CELLS][1:].to_numpy().tolist() == [step[0].tolist() for step in steps]
    assert table["reward"].tolist()[1:] == [step[1] for step in steps]
    assert table["time"].tolist() == [0, 5, 10, 15, 20]
    assert table["epsilon_1"].tolist()[:-1] == [0, 0, 0.7, 0.7]
    policy = env.simulate(lambda values, time: 3 if values[4] > 1000 else 0)[:-1]
    assert (policy["epsilon_2"] == 0.3 * (policy["V"] > 1000)).all()
    with pytest.raises(ValueError, match="actions, step 1: action is 7"):
        env.simulate([0, 7])


def test_counterfactual_replays_the_episode_under_other_actions():
    env = Env(ODE, model="hiv", noise=0.5)
    env.reset(seed=3, options={"initial_state": "unhealthy"})
    for action in (0, 3, 3):
        env.step(action)
    again = env.counterfactual([0, 3, 3])
    assert again["V"].iloc[-1] == env.state["values"][0, 4]
    idle = env.simulate([0] * 3, initial_state="unhealthy")
    assert env.counterfactual(0).equals(idle)


# ------------------------------------------------------------ HIV


# Adams et al. (2004), table 2: steady states of the untreated.
UNHEALTHY = [163573, 11945, 5, 46, 63919, 24]
HEALTHY = [967839, 76, 621, 6, 415, 353108]


@pytest.mark.parametrize(
    "start, steady, rel",
    [
        ("early infection", UNHEALTHY, 0),
        ("unhealthy", UNHEALTHY, 0),
        ("healthy", HEALTHY, 2e-3),
    ],
)
def test_untreated_patients_reach_the_published_steady_states(start, steady, rel):
    env = Env(
        ODE, model="hiv", initial_state=start, timestep=5, config={"end_time": 3000}
    )
    last = env.simulate(0).iloc[-1][CELLS].to_numpy()
    assert last.round() == pytest.approx(steady, rel=rel)


def test_first_days_are_those_of_whynot():
    """WhyNot 0.12.0, HIV-v0, actions 0 1 2 3, at its default tolerance."""
    rewards = Env(ODE, model="hiv").simulate([0, 1, 2, 3])["reward"][1:].tolist()
    expected = [10012.1278, 8416.2817, 1209.3459, 681.6537]
    assert rewards == pytest.approx(expected, rel=1e-5)


def test_goals_are_reached_within_a_factor_of_two():
    env = gym.make("pushlab/ODE-HIV-Goal-v0")
    observation, info = env.reset(seed=0)
    aims = observation["desired_goal"]
    assert aims == pytest.approx(np.log10([967839, 415, 353108]))
    achieved = np.log10([163573, 63919, 24])
    assert observation["achieved_goal"] == pytest.approx(achieved)
    assert not info["is_success"]
    assert env.step(0)[1] == -1
    for virus, reached in ((1.9 * 415, True), (2.1 * 415, False)):
        goal = {"T1": 967839 / 1.9, "V": virus, "E": 353108.0}
        options = {"initial_state": "healthy", "goal": goal}
        assert env.reset(options=options)[1]["is_success"] == reached
        assert env.step(0)[1] == reached - 1
    compute = env.unwrapped.compute_reward
    assert compute(aims + [[0.3], [0.302]], aims, {}).tolist() == [0, -1]
    assert compute(aims, aims, {}) == 0.0


# ------------------------------------------------------------ rabbits and foxes


def test_uncrowded_rabbits_and_foxes_keep_their_invariant():
    env = Env(ODE, model="lotka_volterra", preset="whynot")
    path = env.simulate(1)[["rabbits", "foxes"]].to_numpy()
    p = env.config
    constant = p.fox_growth * p.rabbit_death * path[:, 0]
    constant -= p.fox_death * np.log(path[:, 0])
    constant += p.rabbit_death * path[:, 1] - p.rabbit_growth * np.log(path[:, 1])
    assert constant == pytest.approx(constant[0], rel=1e-6)
    still = env.simulate([1] * 50, initial_state="balance").iloc[-1]
    assert (still["rabbits"], still["foxes"]) == pytest.approx((20, 10))


def season(policy, **arguments):
    """Observations and return of an episode under policy(observation)."""
    env = gym.make(RABBITS_ID, **arguments)
    seen = [env.reset(seed=0)[0]]
    total = 0.0
    truncated = False
    while not truncated:
        observation, reward, _, truncated, _ = env.step(policy(seen[-1]))
        seen.append(observation)
        total += reward
    return np.array(seen), total


def test_crowded_rabbits_and_foxes_do_as_documented():
    """The numbers in the docstring of LotkaVolterra."""
    seen, free = season(lambda seen: 1)
    assert round(free) == 1842
    assert [round(np.ptp(part[:, 0])) for part in (seen[:41], seen[-41:])] == [32, 21]
    assert round(season(lambda seen: int(seen[1] <= 15))[1]) == 1966
    rng = np.random.default_rng(0)
    envs = gym.make_vec(RABBITS_ID, num_envs=50, actions="box")
    envs.reset(seed=0)
    random = sum(envs.step(rng.uniform(0, 2, (50, 1)))[1] for _ in range(200))
    assert round(random.mean()) == -352
    crowded, _ = season(lambda seen: 1, config={"crowding": 1 / 200})
    assert np.ptp(crowded[-40:, 0]) < 1
    balance = [37.5, 9.8125]
    still, _ = season(lambda seen: 0, initial_state=balance)
    assert still[-1] == pytest.approx(balance, rel=1e-5)
