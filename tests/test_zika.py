"""ODE-Zika-v0 against what WhyNot computes and SciPy, what is conserved, and that each control does what it should."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pushlab  # noqa: F401
from pushlab import plots
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.whynot_worlds import Zika
from pushlab.envs.ode.world import ODEEnv
from pushlab.plots.widgets import player, you_are_the_agent

NAMES = list(load_model("zika").names)
NO_DRAWS = np.empty((1, 0))
SPRAY, TREATMENT, CONDOMS, BEDNETS = 1, 2, 4, 8         # an action is the sum of what is used

# WhyNot 0.12.0, Zika-v0: an action from the start, and what it leads to.
REFERENCE_ACTION = [0.75, 0.5, 0.25, 0.6]
REFERENCE_STATE = [750.115977, 207.399633, 52.671918, 19.667698, 5935.608508, 269.710001, 87.659107, 1029.855227,
                   6292.977616]
REFERENCE_REWARD = -411838.147214


def by_day(action=0, **arguments):
    """The trajectory under one action or a policy, a row a day."""
    return ODEEnv("zika", **arguments).simulate(action).set_index("time")


# ---------------------------------------------------------------- published figures

def test_runs_as_whynot_has_them():
    """WhyNot 0.12.0, zika.simulate: day 100 untreated, and with bednets at 0.5 and spray at 0.3 from day 10 on."""
    assert by_day(preset="whynot")[NAMES].loc[100].tolist() == pytest.approx(
        [954.32999025, 3.26792506, 28.35213761, 6.73484651, 7.01879357, 0.06604987, 2.28760611, 992.68489942,
         9.37244956], rel=1e-4)
    both = by_day(lambda values, day: np.array([0.5, 0.0, 0.0, 0.3]) * (day >= 10), preset="whynot", actions="box")
    assert both[NAMES].loc[100].tolist() == pytest.approx(
        [981.23571271, 1.341952, 12.71776001, 5.35610102, 0.23937447, 0.00010432, 3.94669e-05, 1000.65152595,
         0.23951826], rel=1e-4, abs=1e-6)                        # the original's own absolute tolerance


def test_the_environment_of_whynot_is_kept_under_its_name():
    """WhyNot 0.12.0, Zika-v0, its first step under the four controls below: all nine variables, and the reward."""
    env = gym.make("pushlab/ODE-Zika-v0", reference="whynot-0.12")
    env.reset(seed=0)
    observation, reward, *_ = env.step(np.array(REFERENCE_ACTION))
    assert observation.tolist() == pytest.approx(REFERENCE_STATE, rel=1e-5)
    assert reward == pytest.approx(REFERENCE_REWARD, rel=1e-5)


def test_mosquitoes_die_out_in_the_original_and_stay_here():
    assert by_day(preset="whynot")["mosquito_population"][100] < 10
    assert by_day()["mosquito_population"][100] == pytest.approx(10600, rel=0.01)


# ---------------------------------------------------------------- solver

@pytest.mark.parametrize("action", [0, 15, TREATMENT + SPRAY])
@pytest.mark.parametrize("start", ["outbreak", "first case"])
def test_agrees_with_scipy(action, start):
    ours, theirs = (by_day(action, solver=solver, initial_state=start, config={"end_time": 30.0})[NAMES].to_numpy()
                    for solver in ("compiled", "scipy"))
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-12)


# ---------------------------------------------------------------- actions and reward

def test_nothing_does_nothing_and_actions_are_named():
    words = gym.make("pushlab/ODE-Zika-v0").unwrapped.world.action_choices[0][1]
    assert words[0] == "nothing" and words[TREATMENT + SPRAY] == "treatment + spray"
    assert (words[SPRAY], words[BEDNETS + CONDOMS]) == ("spray", "bednets + condoms")
    zeros = by_day(np.zeros(4), actions="box")
    assert np.array_equal(by_day(0)[NAMES], zeros[NAMES])


@pytest.mark.parametrize("action, group", [
    (BEDNETS, "asymptomatic_humans"), (BEDNETS, "infectious_mosquitoes"), (CONDOMS, "asymptomatic_humans"),
    (TREATMENT, "symptomatic_humans"), (SPRAY, "mosquito_population"), (SPRAY, "asymptomatic_humans")])
def test_each_control_lowers_what_it_is_against(action, group):
    used, idle = by_day(action)[group], by_day(0)[group]
    assert (used <= idle * (1 + 1e-6)).all() and used[100] < 0.7 * idle[100]


@settings(max_examples=30, deadline=None)
@given(controls=st.lists(st.floats(0, 0.8), min_size=4, max_size=4), which=st.integers(0, 3), day=st.integers(3, 60))
def test_more_of_a_control_never_means_more_infected(controls, which, day):
    more = list(controls)
    more[which] += 0.2
    config = {"end_time": float(day)}
    infected = [by_day(np.array(given), actions="box", config=config)[["asymptomatic_humans", "symptomatic_humans"]]
                .iloc[-1].sum() for given in (controls, more)]
    assert infected[1] <= infected[0] * (1 + 1e-6)


def test_the_reward_is_the_papers_objective_for_shares():
    """By hand on day 1 of the outbreak, with condoms and treatment at full and at half use."""
    table = by_day(np.array([0.0, 1.0, 0.5, 0.0]), actions="box")
    A, I, N = table.loc[1.0, ["asymptomatic_humans", "symptomatic_humans", "mosquito_population"]]  # noqa: E741
    controls = (20 * 1.0 ** 2 + 30 * 0.5 ** 2) / 2
    assert table["reward"][1] == pytest.approx(-(60 * A / 1030 + 500 * I / 1030 + 60 * N / 10600 + controls))


def test_of_constant_policies_treatment_and_spray_cost_least():
    costs = [-by_day(action)["reward"].sum() for action in range(16)]
    assert np.argmin(costs) == TREATMENT + SPRAY and np.argmax(costs) == 0
    assert costs[15] > costs[BEDNETS + TREATMENT + SPRAY] > costs[TREATMENT + SPRAY]    # everything is not the best
    assert np.argsort(costs).tolist().index(BEDNETS + TREATMENT + SPRAY) == 3           # which are the paper's best


# ---------------------------------------------------------------- what always holds

@settings(max_examples=25, deadline=None)
@given(actions=st.lists(st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=4, max_size=4), min_size=1, max_size=40),
       start=st.sampled_from(["outbreak", "first case"]))
def test_populations_are_the_sums_of_their_groups_and_never_below_zero(actions, start):
    world = Zika(actions="box", initial_state=start)
    p, state = world.config, world.initial(NO_DRAWS, {})
    for action in actions:
        before = state["values"][0]
        state, _ = world.advance(state, np.array([action]), NO_DRAWS)
        S_h, A_h, I_h, R_h, S_v, E_v, I_v, N_h, N_v = values = state["values"][0]
        assert (values >= 0).all() and world.observe(state)[0] in world.observation_space
        assert S_h + A_h + I_h + R_h == pytest.approx(N_h, rel=1e-9)
        assert S_v + E_v + I_v == pytest.approx(N_v, rel=1e-6)
        born = p.lambda_h * p.human_scale
        deaths = before[7] + born - N_h                      # of Zika at most delta_h, of the rest mu_h of a population
        assert 0 <= deaths <= (p.mu_h + p.delta_h) * 1031


def test_nobody_is_lost_without_births_and_deaths():
    closed = {"lambda_h": 0.0, "mu_h": 0.0, "delta_h": 0.0, "lambda_v": 0.0, "mu_v": 0.0}
    table = by_day(BEDNETS, config=closed)
    assert table["human_population"].to_numpy() == pytest.approx(np.full(101, 1030.0))
    assert table[NAMES[:4]].sum(axis=1).to_numpy() == pytest.approx(np.full(101, 1030.0))
    assert table[NAMES[4:7]].sum(axis=1).to_numpy() == pytest.approx(np.full(101, 10600.0))


def test_without_infection_there_is_none():
    healthy = dict(zip(NAMES[:7], (1030.0, 0.0, 0.0, 0.0, 10600.0, 0.0, 0.0)))
    assert (by_day(0, initial_state=healthy)[["asymptomatic_humans", "infectious_mosquitoes"]] == 0).all(axis=None)


def test_what_is_seen():
    env = gym.make("pushlab/ODE-Zika-v0")
    assert env.reset(seed=0)[0].tolist() == [750, 250, 10, 20, 10000, 500, 100]
    both = gym.make("pushlab/ODE-Zika-v0", observe=("human_population", "mosquito_population"))
    assert both.reset(seed=0)[0].tolist() == [1030, 10600]
    binned = gym.make("pushlab/ODE-Zika-v0", bins=True)
    assert binned.reset(seed=0)[0].tolist() == [3, 4, 1, 3, 4, 3, 2]


def test_a_batch_is_what_each_copy_is_alone():
    many, alone = gym.make_vec("pushlab/ODE-Zika-v0", num_envs=20), gym.make("pushlab/ODE-Zika-v0")
    many.reset(seed=0), alone.reset(seed=0)
    actions = np.arange(20) % 16
    for _ in range(5):
        together = many.step(actions)
        one = alone.step(int(actions[7]))
    assert np.array_equal(together[0][7], one[0]) and together[1][7] == one[1]


# ---------------------------------------------------------------- pictures

@settings(max_examples=10, deadline=None)
@given(actions=st.lists(st.integers(0, 15), min_size=0, max_size=12))
def test_pictures_of_any_episode_say_the_day_and_what_nothing_would_have_led_to(actions):
    env = a_town()
    env.reset(seed=0)
    frames = [env.frame()]
    for action in actions:
        env.step(action)
        frames.append(env.frame())
    words = [text.get_text() for ax in plots.epidemic(frames).axes for text in ax.texts]
    assert any(f"day {len(actions)} of 100" in line for line in words)
    idle = by_day()["symptomatic_humans"][len(actions)]
    assert frames[-1]["idle"]["symptomatic_humans"] == idle and f"nothing done {idle:,.0f}" in words


def a_town():
    return gym.make("pushlab/ODE-Zika-v0").unwrapped


def test_the_picture_plays_and_can_be_played():
    env = gym.make("pushlab/ODE-Zika-v0")
    seat = you_are_the_agent(env, seed=1)
    seat.act(TREATMENT)
    assert "reward" in seat.words.value and seat.log[0]["action"] == "treatment" and len(seat.buttons) == 16
    show = player(seat.frames, env.unwrapped.world.picture)
    first = show.image.value
    show.slider.value = 1
    assert show.image.value != first and not show.words.value
