"""Opioids and Zika: published numbers, WhyNot's, actions and rewards by hand."""

import gymnasium as gym
import numpy as np
import pytest

from pushlab.envs.env import Env
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.opioid import illicit_trend, misuse_trend
from pushlab.envs.ode.world import ODE

USERS = ["nonmedical_users", "oud_users", "illicit_users"]
ZIKA = list(load_model("zika").names)
# an action is the sum of the controls that are used
SPRAY = 1
TREATMENT = 2
BEDNETS = 8


def opioid(action=0, **arguments):
    return Env(ODE, model="opioid", **arguments).simulate(action).set_index("time")


def zika(action=0, **arguments):
    return Env(ODE, model="zika", **arguments).simulate(action).set_index("time")


# ------------------------------------------------------------ WhyNot 0.12.0


def test_plain_runs_are_those_of_whynot():
    """opioid.simulate and zika.simulate, without and with an intervention."""

    def nets_and_spray(values, day):
        return np.array([0.5, 0.0, 0.0, 0.3]) * (day >= 10)

    idle = opioid(preset="whynot")
    assert idle[USERS].loc[2030].tolist() == pytest.approx(
        [2787437.5918, 517324.3554, 1743541.68], rel=1e-3
    )
    slower = opioid(preset="whynot", config={"nonmedical_change_3": -0.071})
    assert slower[USERS].loc[2030].tolist() == pytest.approx(
        [2895248.7205, 531745.9242, 1750536.1909], rel=1e-3
    )
    assert zika(preset="whynot").loc[100, ZIKA].tolist() == pytest.approx(
        [
            *[954.32999025, 3.26792506, 28.35213761, 6.73484651, 7.01879357],
            *[0.06604987, 2.28760611, 992.68489942, 9.37244956],
        ],
        rel=1e-4,
    )
    both = zika(nets_and_spray, preset="whynot", actions="box").loc[100, ZIKA[:5]]
    assert both.tolist() == pytest.approx(
        [981.23571271, 1.341952, 12.71776001, 5.35610102, 0.23937447], rel=1e-4
    )


# Users in some years of opioid-v0 under an action a year from 2002 on, and the reward.
ACTIONS = [3, 2, 2, 1, 1, 0, 0, 0, 0, 3, 2, 3, 2, 2, 3, 2, 2, 2, 2, 3, 1, 3, 2, 0]
STEPS = {
    2003: [10111341.4, 1435164.6, 354723.6, -17768641.5],
    2015: [8423898.5, 1515090.1, 960914.8, -42588356.5],
    2025: [4308646.2, 832865.2, 1759402.8, -155679461.7],
}


def test_reference_brings_back_the_environments_of_whynot():
    env = gym.make("pushlab/ODE-Opioid-v0", reference="whynot-0.12").unwrapped
    env.reset(seed=0)
    for year, action in enumerate(ACTIONS, 2003):
        observation, reward, *_ = env.step(action)
        if year in STEPS:
            assert [*observation, reward] == pytest.approx(STEPS[year], rel=1e-3)
    nothing = env.simulate(0)
    illicit = env.simulate(1)  # which only costs there
    assert np.array_equal(nothing[USERS], illicit[USERS])
    assert (nothing["reward"] > illicit["reward"])[1:].all()
    town = gym.make("pushlab/ODE-Zika-v0", reference="whynot-0.12")
    town.reset(seed=0)
    observation, reward, *_ = town.step(np.array([0.75, 0.5, 0.25, 0.6]))
    assert observation[:5].tolist() == pytest.approx(
        [750.115977, 207.399633, 52.671918, 19.667698, 5935.608508], rel=1e-5
    )
    assert reward == pytest.approx(-411838.147214, rel=1e-5)


# ------------------------------------------------------------ opioids


def deaths_until_2025(**arguments):
    deaths = opioid(**arguments)["overdose_deaths"]
    return deaths[2026] - deaths[2016]


def test_opioid_deaths_lie_within_the_published_intervals():
    """Chen et al. (2019), abstract: 95 % intervals under the status quo."""
    table = opioid()
    deaths = table["overdose_deaths"].diff()
    assert 63_600 < deaths[2026] < 101_700
    assert 0.83e6 < table["illicit_users"][2015] < 1.03e6
    assert 0.98e6 < table["illicit_users"][2025] < 2.22e6
    worse = opioid(preset="pessimistic")["overdose_deaths"].diff()
    assert worse[2026] == pytest.approx(166_000, rel=0.01)
    idle = deaths_until_2025()
    assert 590_200 < idle < 817_100
    for fall, saved in ((0.075, 0.043), (0.113, 0.060)):
        options = {"nonmedical_reduction": (0.0, fall)}
        lowered = deaths_until_2025(
            action=lambda values, year: int(year >= 2016), interventions=options
        )
        assert 1 - lowered / idle == pytest.approx(saved, abs=1e-3)


def test_opioid_trends_by_hand():
    """0.16 % more misuse a year until 2008, then 7.47 % less until 2015."""
    model = load_model("opioid")
    p = model.constants(model.Config())[0]
    assert misuse_trend(2008.0, p) == pytest.approx(2496835 * 1.0016**6)
    after = 2496835 * 1.0016**6 * 0.9253**7
    assert misuse_trend(2015.0, p) == misuse_trend(2030.0, p) == pytest.approx(after)
    assert illicit_trend(2015.0, p) == pytest.approx(13489 * 1.235**13)
    # growth of 23.5 % fades by a fifth each year
    faded = 13489 * 1.235**13 * 1.188 * 1.141 * 1.094 * 1.047
    assert illicit_trend(2020.0, p) == illicit_trend(2026.0, p) == pytest.approx(faded)


def test_lowered_incidence_stays_lowered_and_is_paid_by_effort():
    """A unit of reward is a thousand deaths."""
    table = opioid(lambda values, year: 3 if year < 2004 else 0)
    for share in ("nonmedical_share", "illicit_share"):
        shares = table[share][[2003, 2004, 2030]]
        assert shares.tolist() == pytest.approx([0.925, 0.925**2, 0.925**2])
    both = opioid(3)
    effort = 0.001 * both["nonmedical_users"] + 0.005 * both["illicit_users"]
    expected = -(both["overdose_deaths"].diff() + 0.075 * effort) / 1000
    assert both["reward"][1:].tolist() == pytest.approx(expected[1:].tolist())


def test_people_are_conserved():
    names = ["nonmedical_incidence", "illicit_incidence"]
    names += ["nonmedical_exit", "oud_exit", "illicit_exit"]
    closed = dict.fromkeys(names, 0.0)
    everybody = opioid(config=closed)[[*USERS, "overdose_deaths"]].sum(axis=1)
    assert everybody.to_numpy() == pytest.approx(everybody[2002], rel=1e-6)
    rates = dict.fromkeys(["lambda_h", "mu_h", "delta_h", "lambda_v", "mu_v"], 0.0)
    town = zika(BEDNETS, config=rates)
    assert town[ZIKA[:4]].sum(axis=1).to_numpy() == pytest.approx(1030)
    assert town[ZIKA[4:7]].sum(axis=1).to_numpy() == pytest.approx(10600)


# ------------------------------------------------------------ Zika


def test_zika_reward_by_hand():
    """The paper's objective for shares, on day 1, condoms at full and treatment at half."""
    after = zika(np.array([0.0, 1.0, 0.5, 0.0]), actions="box").loc[1.0]
    infected = 60 * after["asymptomatic_humans"] + 500 * after["symptomatic_humans"]
    mosquitoes = 60 * after["mosquito_population"] / 10600
    controls = (20 * 1.0**2 + 30 * 0.5**2) / 2
    assert after["reward"] == pytest.approx(-(infected / 1030 + mosquitoes + controls))


def test_treatment_and_spray_cost_least_of_constant_policies():
    returns = [zika(action)["reward"].sum() for action in range(16)]
    order = np.argsort(returns).tolist()
    # three together are the paper's best
    assert order[-4] == BEDNETS + TREATMENT + SPRAY
    assert (order[-1], order[0]) == (TREATMENT + SPRAY, 0)
    # births balance natural deaths and spray
    sprayed = zika(SPRAY)["mosquito_population"][100]
    assert sprayed == pytest.approx(0.071 * 10600 / (1 / 14 + 0.75))
