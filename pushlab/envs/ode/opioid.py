"""The opioid epidemic of the United States: who misuses which opioids, and how many die of an overdose.

Three groups of people, in the terms of the source: nonmedical users of prescription opioids without a disorder; people
with a prescription opioid use disorder (OUD); and users of illicit opioids such as heroin and fentanyl.

Source: Chen, Larochelle, Weaver et al. (2019), Prevention of prescription opioid misuse and projected overdose deaths
in the United States, JAMA Network Open 2(2), e187621. Of the paper the abstract was at hand, and not the supplement
with the equations and their parameters (eTable 4). Those are as in WhyNot 0.12, which took them from there and says
that it lowered one, `oud_overdose`. One number, `stable_year`, is of neither: it was tuned here.

What the abstract says goes before WhyNot. The status quo is an incidence of misuse that stays constant after 2015, and
the interventions are falls by 7.5 % a year, as before 2015, or by 11.3 %; WhyNot lets the fall go on untreated. Of the
year in which illicit use stops getting worse the abstract does not speak. WhyNot's 2025 is, in its own words, the
paper's pessimistic case; it leads to 166,000 deaths in 2025, twice the paper's status quo. The 2020 here is no figure
of the paper's: it was chosen because it meets the paper's results, which therefore confirm nothing. Of 2018 to 2023,
which were tried, 2020 and 2021 alone bring all of these within its 95 % intervals (with 2020, with 2021; the paper):
deaths in 2025 72,600, 84,600 (81,700; 63,600-101,700); from 2016 to 2025 667,000, 749,000 (700,400; 590,200-817,100);
illicit users in 2025 1.45, 1.52 million (1.50; 0.98-2.22). Those of 2015 do not depend on it: 0.95 million (0.93;
0.83-1.03). Not met are the deaths of 2015, 44,200 here and 33,100 in the paper, where fewer die of prescription
opioids; and so the two interventions, from 2016 on, save 4.3 and 6.0 % of the deaths of 2016 to 2025 here, and 3.0 to
5.3 % there.


WhyNot's environment has other rules, which `reference="whynot-0.12"` brings back. There an action sets by how much the
incidence of misuse grows during the year that follows, from where it would be if nothing had ever been done; earlier
actions are forgotten, and before 2008 nothing changes at all. So 0, "do nothing", stops the fall of 7.47 % a year, and
0.05, "reduce by 5 %", makes misuse rise by 5 %. The incidence of illicit use never changes; lowering it only costs.
Deaths are counted at the end of a step, as a rate, and those of illicit users from 2016 to 2025 with the rate of a year
before.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pushlab.envs.ode.models import (
    Model,
    config_class,
    read_interventions,
    read_variables,
)
from pushlab.envs.ode.world import Epidemic
from pushlab.ground.compiled import compiled_numeric, inlined

TREND_YEAR = 2015.0  # the last of the data; later changes are a scenario

# Rates are per year. A change of 0.01 is 1 % a year, and a rate that changes is given for 2002.
OpioidConfig = config_class(
    __name__,
    "OpioidConfig",
    """
misuse_incidence           2496835  people/year  new nonmedical users of prescription opioids
misuse_change_1            0.0016   1/year       its change until 2008
misuse_change_2            -0.0747  1/year       its change from 2008 to 2015
misuse_change_3            0        1/year       its change from 2015 on: none is the paper's status quo
illicit_incidence          13489    people/year  new illicit users, but those from the other groups
illicit_change             0.235    1/year       its change until 2015; afterwards it fades
misuse_exit                0.177    1/year       nonmedical users who stop, or die of something else
misuse_to_oud              0.06     1/year       nonmedical users who develop a disorder
misuse_to_illicit          0.002    1/year       nonmedical users who turn to illicit opioids
misuse_overdose            0.001    1/year       nonmedical users who die of an overdose
oud_exit                   0.311    1/year       people with a disorder who stop, or die of something else
oud_exit_change            -0.021   1/year       its change
oud_to_illicit             0.071    1/year       people with a disorder who turn to illicit opioids
oud_to_illicit_change      0.042    1/year       its change
oud_overdose               0.003    1/year       people with a disorder who die of an overdose
oud_overdose_change_1      0.224    1/year       its change until 2007
oud_overdose_change_2      0.03     1/year       its change from 2007 on
illicit_exit               0.319    1/year       illicit users who stop, or die of something else
illicit_overdose           0.005    1/year       illicit users who die of an overdose
illicit_overdose_change_1  0.011    1/year       its change until 2011
illicit_overdose_change_2  0.356    1/year       its change from 2011 to 2015; afterwards it fades
stable_year                2020     year         when changes of illicit use have faded; chosen to meet the paper
misuse_reduction           0        1/year       how much an incidence of misuse is lowered without an action
illicit_reduction          0        1/year       how much that of illicit use is lowered without an action
C                          0.001    1/people     cost of a death in the reward
C1                         1e-6     year/people  cost of lowering the incidence of misuse, a nonmedical user
C2                         5e-6     year/people  cost of lowering that of illicit use, an illicit user
start_time                 2002     year         when an episode begins
end_time                   2030     year         when an episode ends
""",
)


@compiled_numeric
def grown(change, years):
    """Return the factor of a yearly change over so many years; 1 for fewer than 0."""
    return (1.0 + change) ** years if years > 0.0 else 1.0


@compiled_numeric
def faded(change, time, p):
    """Return the factor of a change since 2015 that fades, in equal steps a year, to none in `stable_year`."""
    span = max(1.0, p.stable_year - TREND_YEAR)
    past = min(max(0.0, time - TREND_YEAR), span)
    growth = 1.0
    year = 1.0
    while past > 1.0:
        growth *= 1.0 + change * (1.0 - year / span)
        past -= 1.0
        year += 1.0
    return growth * grown(change * max(0.0, 1.0 - year / span), past)


@compiled_numeric
def misuse_trend(time, p):
    """Return the number of new nonmedical users a year if nothing is done."""
    return (
        p.misuse_incidence
        * grown(p.misuse_change_1, min(time, 2008.0) - 2002.0)
        * grown(p.misuse_change_2, min(time, TREND_YEAR) - 2008.0)
        * grown(p.misuse_change_3, time - TREND_YEAR)
    )


@compiled_numeric
def illicit_trend(time, p):
    """Return the number of new illicit users a year if nothing is done, except those from the other groups."""
    growth = grown(p.illicit_change, min(time, TREND_YEAR) - 2002.0)
    return p.illicit_incidence * growth * faded(p.illicit_change, time, p)


@compiled_numeric
def oud_overdose_rate(time, p):
    """Return overdose deaths a year and person with a disorder."""
    return (
        p.oud_overdose
        * grown(p.oud_overdose_change_1, min(time, 2007.0) - 2002.0)
        * grown(p.oud_overdose_change_2, time - 2007.0)
    )


@compiled_numeric
def illicit_overdose_rate(time, p):
    """Return overdose deaths a year and illicit user."""
    early = grown(p.illicit_overdose_change_1, min(time, 2011.0) - 2002.0)
    late = grown(p.illicit_overdose_change_2, min(time, TREND_YEAR) - 2011.0)
    fading = faded(p.illicit_overdose_change_2, time, p)
    return p.illicit_overdose * (early * late) * fading


@inlined
def derivative(time, y, constants, dose, slope):
    """Fill `slope`: people enter, move from group to group, stop, and die. A lowered incidence stays lowered.

    The shares are what is left of the two incidences after all actions so far.
    """
    p = constants[0]
    for i in range(y.shape[1]):
        misuse = y[0, i]
        oud = y[1, i]
        illicit = y[2, i]
        if i == 0 or time[i] != time[i - 1]:  # neighbours often share their rates
            new_misuse = misuse_trend(time[i], p)
            new_illicit = illicit_trend(time[i], p)
            oud_overdose = oud_overdose_rate(time[i], p)
            illicit_overdose = illicit_overdose_rate(time[i], p)
            years = time[i] - 2002.0
            oud_to_illicit = p.oud_to_illicit * grown(p.oud_to_illicit_change, years)
            oud_exit = p.oud_exit * grown(p.oud_exit_change, years)
        misuse_deaths = p.misuse_overdose * misuse
        oud_deaths = oud_overdose * oud
        illicit_deaths = illicit_overdose * illicit
        slope[0, i] = (
            new_misuse * y[3, i]
            - misuse_deaths
            - (p.misuse_exit + p.misuse_to_oud + p.misuse_to_illicit) * misuse
        )
        slope[1, i] = (
            p.misuse_to_oud * misuse - oud_deaths - (oud_to_illicit + oud_exit) * oud
        )
        slope[2, i] = (
            new_illicit * y[4, i]
            + oud_to_illicit * oud
            + p.misuse_to_illicit * misuse
            - illicit_deaths
            - p.illicit_exit * illicit
        )
        slope[3, i] = np.log1p(-dose[0, i]) * y[3, i]
        slope[4, i] = np.log1p(-dose[1, i]) * y[4, i]
        slope[5, i] = misuse_deaths + oud_deaths + illicit_deaths


@inlined
def reward(before, values, dose, constants, earned):
    """Fill `earned`: the cost of the deaths of the step, and of lowering an incidence, for each user."""
    p = constants[0]
    for i in range(len(values)):
        deaths = values[i, 5] - before[i, 5]
        effort = p.C1 * dose[i, 0] * values[i, 0]
        earned[i] = -p.C * deaths - effort - p.C2 * dose[i, 1] * values[i, 2]


def settled(config, levels):
    """Return the whole state: nothing has been done so far, and nobody has died."""
    return np.array([*levels, 1.0, 1.0, 0.0])


def upper(p, start, ranges):
    """Return upper bounds: each group balances where as many come as ever can and as few leave."""
    span = p.end_time - p.start_time
    since_2002 = max(0.0, p.end_time - 2002.0)
    since_trend = max(0.0, p.end_time - TREND_YEAR)
    fading = max(0.0, p.stable_year - TREND_YEAR)
    misuse = (
        p.misuse_incidence
        * _most(p.misuse_change_1, 6.0)
        * _most(p.misuse_change_2, 7.0)
        * _most(p.misuse_change_3, since_trend)
    )
    illicit = p.illicit_incidence * _most(
        p.illicit_change, TREND_YEAR - 2002.0 + fading
    )
    turning = p.oud_to_illicit * _most(p.oud_to_illicit_change, since_2002)
    stopping = p.oud_exit * (1 + min(0.0, p.oud_exit_change)) ** since_2002
    most_misuse = _balance(start[0], misuse * start[3], p.misuse_exit, span)
    most_oud = _balance(start[1], p.misuse_to_oud * most_misuse, stopping, span)
    coming = illicit * start[4] + turning * most_oud + p.misuse_to_illicit * most_misuse
    most_illicit = _balance(start[2], coming, p.illicit_exit, span)
    everybody = start[:3].sum() + span * (misuse * start[3] + illicit * start[4])
    most = [
        most_misuse,
        most_oud,
        most_illicit,
        start[3],
        start[4],
        start[5] + everybody,
    ]
    return np.array(most)


def _most(change, years):
    """Return the largest factor of a yearly change within so many years."""
    return (1 + max(0.0, change)) ** years


def _balance(start, coming, leaving, span):
    """Return an upper bound of a group that begins at `start` and of which the share `leaving` goes each year."""
    return max(start, min(coming / max(leaving, 1e-9), start + coming * span))


MODEL = Model(
    name="opioid",
    title="The opioid epidemic",
    time_unit="year",
    timestep=1.0,
    Config=OpioidConfig,
    variables=read_variables(
        """
nonmedical_users  people  nonmedical users of prescription opioids
oud_users         people  people with a prescription opioid use disorder
illicit_users     people  users of illicit opioids
misuse_share      -       incidence of misuse, a share of that with nothing done
illicit_share     -       incidence of illicit use, a share of that with nothing done
overdose_deaths   people  deaths by overdose since the start
"""
    ),
    initial_states={
        "2002": (10029859.0, 1369218.0, 328371.0),
        "2015": (8054200.0, 1473602.0, 951344.0),
    },
    derivative=derivative,
    reward=reward,
    upper=upper,
    settled=settled,
    interventions=read_interventions(
        """
misuse_reduction   less misuse       0  0.3  0 0.075
illicit_reduction  less illicit use  0  0.3  0 0.075
"""
    ),
    presets={
        "whynot": {"misuse_change_3": -0.0747, "stable_year": 2025.0},
        "pessimistic": {"stable_year": 2025.0},
    },
    signed=tuple(name for name in vars(OpioidConfig()) if "change" in name),
)


# ---------------------------------------------------------------- WhyNot's environment


@compiled_numeric
def whynot_misuse_trend(time, growth, decision, p):
    """Return the number of new nonmedical users a year; since the last decision they grow as chosen."""
    years = min(time, 2008.0) - 2002.0
    early = p.misuse_incidence * (1.0 + p.misuse_change_1) ** years
    if time <= 2008.0:
        return early
    until = min(time, decision)
    fallen = early * (1.0 + p.misuse_change_2) ** (until - 2008.0)
    return fallen * grown(growth, time - until)


@inlined
def whynot_derivative(time, y, constants, dose, slope):
    """Fill `slope` without shares. Row 2 of `dose` is the year of the decision, row 3 that of the end of the step."""
    p = constants[0]
    for i in range(y.shape[1]):
        misuse = y[0, i]
        oud = y[1, i]
        now = time[i]
        years = now - 2002.0
        leaving = (
            p.misuse_exit + p.misuse_overdose + p.misuse_to_oud + p.misuse_to_illicit
        )
        turning = p.oud_to_illicit * grown(p.oud_to_illicit_change, years) * oud
        oud_exit = p.oud_exit * grown(p.oud_exit_change, years)
        new_misuse = whynot_misuse_trend(now, dose[0, i], dose[2, i], p)
        slope[0, i] = new_misuse - leaving * misuse
        slope[1, i] = (
            p.misuse_to_oud * misuse
            - turning
            - (oud_exit + oud_overdose_rate(now, p)) * oud
        )
        slope[2, i] = (
            illicit_trend(now, p)
            + turning
            + p.misuse_to_illicit * misuse
            - (p.illicit_exit + illicit_overdose_rate(now, p)) * y[2, i]
        )


@inlined
def whynot_reward(before, values, dose, constants, earned):
    """Fill `earned`: deaths a year at the end of the step, at 1000 each, and the cost of growth for each user."""
    p = constants[0]
    for i in range(len(values)):
        misuse = values[i, 0]
        illicit = values[i, 2]
        now = dose[i, 3]
        is_late = TREND_YEAR < now <= p.stable_year and now == np.floor(now)
        deaths = (
            p.misuse_overdose * misuse
            + oud_overdose_rate(now, p) * values[i, 1]
            + illicit_overdose_rate(now - (1.0 if is_late else 0.0), p) * illicit
        )
        growth = p.C1 * dose[i, 0] * misuse
        earned[i] = -1e6 * (p.C * deaths + growth + p.C2 * dose[i, 1] * illicit)


def whynot_upper(p, start, ranges):
    """Return upper bounds: all who are there or come, if misuse grows by 10 % a year at most."""
    span = p.end_time - p.start_time
    others = upper(p, np.array([0.0, 0, 0, 0, 1, 0]), ranges)[5]
    coming = p.misuse_incidence * 1.1**span + others
    return np.full(3, start.sum() + 2 * span * coming)


WHYNOT = replace(
    MODEL,
    name="opioid_whynot",
    title="The opioid epidemic, as in WhyNot 0.12",
    variables=MODEL.variables[:3],
    derivative=whynot_derivative,
    reward=whynot_reward,
    upper=whynot_upper,
    interventions=read_interventions(
        """
misuse_reduction   misuse       -0.1  0.1  0 0.05
illicit_reduction  illicit use  -0.1  0.1  0 0.05
"""
    ),
)


# ---------------------------------------------------------------- the world


class Opioid(Epidemic):
    """Prevent deaths by opioids, by reducing how many people begin to misuse or to use them.

    Observation:
        Box(6,), float64, in this order:

        - nonmedical_users: nonmedical users of prescription opioids without a disorder, people
        - oud_users: people with a prescription opioid use disorder
        - illicit_users: users of illicit opioids, such as heroin and fentanyl, people
        - misuse_share, illicit_share: how many begin to misuse or to use illicit opioids, as a share of those who
          would if nothing had ever been done
        - overdose_deaths: deaths by overdose since the start, people

        The next state depends on the year too, which is info["time"].

    Action:
        Discrete(4), for a year: 0 nothing, 1 less illicit use, 2 less misuse, 3 both. "Less" lowers an incidence by
        7.5 % within the year, on top of its own changes, and it stays lowered. With actions="box" Box(2,), misuse and
        illicit use, from 0 to 0.3 for 30 %. interventions={"misuse_reduction": (0, 0.075, 0.113)} are the paper's two
        and nothing.

    Reward:
        -(deaths of the step + 0.001 r1 nonmedical users + 0.005 r2 illicit users) / 1000, where misuse and illicit use
        are lowered by r1 and r2: a unit is a thousand deaths. The weights are a millionth of WhyNot's; the paper has no
        costs.

    Start:
        2002; or "2015", with config={"start_time": 2015}, when the paper's interventions begin.

    End:
        Never terminated; truncated at config.end_time, 2030, after decisions of a year.

    Info:
        "time", the year.

    Args:
        reference: "whynot-0.12" has WhyNot's environment: its preset, three observed variables, its actions and its
            reward; see `pushlab/envs/ode/opioid.py`.
        preset: "pessimistic": illicit use and its deaths become stable in 2025; the default 2020 is our choice.
            "whynot": the same, and misuse continues to fall by 7.47 % a year after 2015.
        arguments: Those of `ODE` except the model.

    Source:
        Chen et al. (2019), JAMA Network Open 2(2), e187621. As an environment in WhyNot 0.12.
        `pushlab/envs/ode/opioid.py` describes how near to the paper this comes. SciPy at 1e-10 agrees to 1e-6 for
        decisions at the turn of a year, where trends have corners, and to 1e-5 for others.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-Opioid-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(2)
    >>> round(reward, 3), info, round(observation[5]), round(float(observation[3]), 3)
    (-17.178, {'time': 2003.0}, 16426, 0.925)
    """

    name = "ODE-Opioid-v0"

    def __init__(self, reference: str | None = None, **arguments: Any) -> None:
        model = WHYNOT if reference else MODEL
        super().__init__(model, reference=reference, **arguments)

    def flow(self, values, step, dose):
        if self.reference:
            dose = np.column_stack([dose, *self.years(step)])
        return super().flow(values, step, dose)
