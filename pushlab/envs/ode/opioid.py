"""The opioid epidemic in the United States: users of opioids, and deaths by overdose.

There are three groups of people, in the terms of the source: nonmedical users of prescription opioids without a
disorder; people with a prescription opioid use disorder (OUD); and users of illicit opioids such as heroin and
fentanyl.

Source: Chen, Larochelle, Weaver et al. (2019), Prevention of prescription opioid misuse and projected overdose deaths
in the United States, JAMA Network Open 2(2), e187621. Only the paper's abstract was available, not the supplement with
the equations and their parameters (eTable 4). These are taken from WhyNot 0.12, which has them from the supplement and
states that it lowered one, `oud_overdose`. One parameter, `stable_year`, is from neither source: it was tuned here.

If the abstract and WhyNot differ, this model follows the abstract. In the abstract, the status quo is an incidence of
misuse that stays constant after 2015. The interventions lower it by 7.5 % a year, as before 2015, or by 11.3 %. In
WhyNot the incidence falls without any intervention. The abstract doesn't have the year in which illicit use becomes
stable. WhyNot's 2025 is, as it states, the paper's pessimistic case. It leads to 166,000 deaths in 2025, twice the
paper's status quo. The year 2020 was chosen here because the results then agree with the paper's, so they don't
confirm the model. Of the years 2018 to 2023, only 2020 and 2021 bring all of the following results within the paper's
95 % intervals:

- deaths in 2025: 72,600 with 2020 and 84,600 with 2021 (paper: 81,700; 63,600-101,700)
- deaths from 2016 to 2025: 667,000 and 749,000 (700,400; 590,200-817,100)
- illicit users in 2025, in millions: 1.45 and 1.52 (1.50; 0.98-2.22)

The number of illicit users in 2015 doesn't depend on this year: 0.95 million (0.93; 0.83-1.03). The deaths of 2015
don't agree: 44,200 here and 33,100 in the paper, which has fewer deaths by prescription opioids. Therefore the two
interventions, from 2016 on, prevent 4.3 and 6.0 % of the deaths of 2016 to 2025 here, and 3.0 to 5.3 % in the paper.

WhyNot's environment has other rules, which `reference="whynot-0.12"` restores. An action sets the growth of the
incidence of misuse during the next year. The growth starts from the incidence without any action, so earlier actions
have no effect, and before 2008 no action has any. Therefore 0, "do nothing", stops the fall of 7.47 % a year, and 0.05,
"reduce by 5 %", increases misuse by 5 %. The incidence of illicit use never changes, and lowering it only has a cost.
Deaths are counted as a rate at the end of a step. For illicit users from 2016 to 2025 this is the rate of the previous
year.
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
from pushlab.utils.compiled import compiled_numeric, inlined

TREND_YEAR = 2015.0  # the last year of the data; later changes are a scenario

# Rates are per year. A change of 0.01 is 1 % a year. A rate that changes has its value in 2002.
OpioidConfig = config_class(
    __name__,
    "OpioidConfig",
    """
nonmedical_incidence       2496835  people/year  new nonmedical users of prescription opioids
nonmedical_change_1        0.0016   1/year       its change until 2008
nonmedical_change_2        -0.0747  1/year       its change from 2008 to 2015
nonmedical_change_3        0        1/year       its change from 2015 on; 0 is the paper's status quo
illicit_incidence          13489    people/year  new illicit users, except those from the other groups
illicit_change             0.235    1/year       its change until 2015; afterwards it fades
nonmedical_exit            0.177    1/year       nonmedical users who stop, or die of something else
nonmedical_to_oud          0.06     1/year       nonmedical users who develop a disorder
nonmedical_to_illicit      0.002    1/year       nonmedical users who turn to illicit opioids
nonmedical_overdose        0.001    1/year       nonmedical users who die of an overdose
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
stable_year                2020     year         year in which changes of illicit use have faded; tuned to the paper
nonmedical_reduction       0        1/year       reduction of the incidence of misuse without an action
illicit_reduction          0        1/year       reduction of the incidence of illicit use without an action
C                          0.001    1/people     cost of a death in the reward
C1                         1e-6     year/people  cost of lowering the incidence of misuse, a nonmedical user
C2                         5e-6     year/people  cost of lowering the incidence of illicit use, an illicit user
start_time                 2002     year         beginning of an episode
end_time                   2030     year         end of an episode
""",
)


@compiled_numeric
def growth_factor(change, years):
    """Return the growth factor of a yearly change over a number of years; 1 if the number is negative."""
    return (1.0 + change) ** years if years > 0.0 else 1.0


@compiled_numeric
def log_growth(log_change, years):
    """Return the logarithm of the growth factor over a number of years; 0 if the number is negative."""
    return log_change * years if years > 0.0 else 0.0


@compiled_numeric
def fading_growth_factor(change, time, p):
    """Return the growth factor since 2015 of a change that falls to 0 in `stable_year`, in equal yearly steps."""
    span = max(1.0, p.stable_year - TREND_YEAR)
    remaining = min(max(0.0, time - TREND_YEAR), span)
    growth = 1.0
    year = 1.0
    while remaining > 1.0:
        growth *= 1.0 + change * (1.0 - year / span)
        remaining -= 1.0
        year += 1.0
    return growth * growth_factor(change * max(0.0, 1.0 - year / span), remaining)


@compiled_numeric
def misuse_trend(time, p):
    """Return the number of new nonmedical users a year without any action."""
    return p.nonmedical_incidence * np.exp(
        log_growth(p.log_nonmedical_change_1, min(time, 2008.0) - 2002.0)
        + log_growth(p.log_nonmedical_change_2, min(time, TREND_YEAR) - 2008.0)
        + log_growth(p.log_nonmedical_change_3, time - TREND_YEAR)
    )


@compiled_numeric
def illicit_trend(time, p):
    """Return the number of new illicit users a year without any action, except those from the other groups."""
    growth = log_growth(p.log_illicit_change, min(time, TREND_YEAR) - 2002.0)
    fading = fading_growth_factor(p.illicit_change, time, p)
    return p.illicit_incidence * np.exp(growth) * fading


@compiled_numeric
def oud_overdose_rate(time, p):
    """Return the overdose deaths a year for each person with a disorder."""
    return p.oud_overdose * np.exp(
        log_growth(p.log_oud_overdose_change_1, min(time, 2007.0) - 2002.0)
        + log_growth(p.log_oud_overdose_change_2, time - 2007.0)
    )


@compiled_numeric
def illicit_overdose_rate(time, p):
    """Return the overdose deaths a year for each illicit user."""
    growth = log_growth(
        p.log_illicit_overdose_change_1, min(time, 2011.0) - 2002.0
    ) + log_growth(p.log_illicit_overdose_change_2, min(time, TREND_YEAR) - 2011.0)
    fading = fading_growth_factor(p.illicit_overdose_change_2, time, p)
    return p.illicit_overdose * np.exp(growth) * fading


@inlined
def derivative(time, y, constants, dose, slope):
    """Fill `slope`: people enter, move from group to group, stop, and die.

    The shares are the fractions of the two incidences that remain after all actions so far. They never rise.
    """
    p = constants[0]
    for i in range(y.shape[1]):
        misuse = y[0, i]
        oud = y[1, i]
        illicit = y[2, i]
        if (
            i == 0 or time[i] != time[i - 1]
        ):  # neighbouring copies often have the same rates
            new_misuse = misuse_trend(time[i], p)
            new_illicit = illicit_trend(time[i], p)
            oud_overdose = oud_overdose_rate(time[i], p)
            illicit_overdose = illicit_overdose_rate(time[i], p)
            years = time[i] - 2002.0
            oud_to_illicit = p.oud_to_illicit * np.exp(
                log_growth(p.log_oud_to_illicit_change, years)
            )
            oud_exit = p.oud_exit * np.exp(log_growth(p.log_oud_exit_change, years))
        misuse_deaths = p.nonmedical_overdose * misuse
        oud_deaths = oud_overdose * oud
        illicit_deaths = illicit_overdose * illicit
        slope[0, i] = (
            new_misuse * y[3, i]
            - misuse_deaths
            - (p.nonmedical_exit + p.nonmedical_to_oud + p.nonmedical_to_illicit)
            * misuse
        )
        slope[1, i] = (
            p.nonmedical_to_oud * misuse
            - oud_deaths
            - (oud_to_illicit + oud_exit) * oud
        )
        slope[2, i] = (
            new_illicit * y[4, i]
            + oud_to_illicit * oud
            + p.nonmedical_to_illicit * misuse
            - illicit_deaths
            - p.illicit_exit * illicit
        )
        slope[3, i] = np.log1p(-dose[0, i]) * y[3, i]
        slope[4, i] = np.log1p(-dose[1, i]) * y[4, i]
        slope[5, i] = misuse_deaths + oud_deaths + illicit_deaths


@inlined
def reward(before, values, dose, constants, rewards):
    """Fill `rewards`: minus the cost of the deaths in the step and of lowering the incidences."""
    p = constants[0]
    for i in range(len(values)):
        deaths = values[i, 5] - before[i, 5]
        misuse_cost = p.C1 * dose[i, 0] * values[i, 0]
        rewards[i] = -p.C * deaths - misuse_cost - p.C2 * dose[i, 1] * values[i, 2]


def complete_state(config, levels):
    """Return the complete state, before any action and any death."""
    return np.array([*levels, 1.0, 1.0, 0.0])


def upper_bounds(p, start, ranges):
    """Return upper bounds: each group has the highest inflow and the lowest outflow."""
    span = p.end_time - p.start_time
    since_2002 = max(0.0, p.end_time - 2002.0)
    since_trend = max(0.0, p.end_time - TREND_YEAR)
    fading = max(0.0, p.stable_year - TREND_YEAR)
    new_misuse = (
        p.nonmedical_incidence
        * _max_growth_factor(p.nonmedical_change_1, 6.0)
        * _max_growth_factor(p.nonmedical_change_2, 7.0)
        * _max_growth_factor(p.nonmedical_change_3, since_trend)
    )
    new_illicit = p.illicit_incidence * _max_growth_factor(
        p.illicit_change, TREND_YEAR - 2002.0 + fading
    )
    oud_to_illicit = p.oud_to_illicit * _max_growth_factor(
        p.oud_to_illicit_change, since_2002
    )
    oud_exit = p.oud_exit * (1 + min(0.0, p.oud_exit_change)) ** since_2002
    misuse = _max_group(start[0], new_misuse * start[3], p.nonmedical_exit, span)
    oud = _max_group(start[1], p.nonmedical_to_oud * misuse, oud_exit, span)
    inflow = new_illicit * start[4] + oud_to_illicit * oud
    inflow += p.nonmedical_to_illicit * misuse
    illicit = _max_group(start[2], inflow, p.illicit_exit, span)
    new_users = new_misuse * start[3] + new_illicit * start[4]
    deaths = start[5] + (start[:3].sum() + span * new_users)
    return np.array([misuse, oud, illicit, start[3], start[4], deaths])


def _max_growth_factor(change, years):
    """Return the largest growth factor of a yearly change within a number of years."""
    return (1 + max(0.0, change)) ** years


def _max_group(start, inflow, exit_rate, span):
    """Return an upper bound of a group with the size `start`, a yearly inflow, and a yearly rate of exits."""
    return max(start, min(inflow / max(exit_rate, 1e-9), start + inflow * span))


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
nonmedical_share  -       incidence of misuse, a share of the incidence without actions
illicit_share     -       incidence of illicit use, a share of the incidence without actions
overdose_deaths   people  deaths by overdose since the start
"""
    ),
    initial_states={
        "2002": (10029859.0, 1369218.0, 328371.0),
        "2015": (8054200.0, 1473602.0, 951344.0),
    },
    derivative=derivative,
    reward=reward,
    upper_bounds=upper_bounds,
    complete_state=complete_state,
    interventions=read_interventions(
        """
nonmedical_reduction  less misuse       0  0.3  0 0.075
illicit_reduction     less illicit use  0  0.3  0 0.075
"""
    ),
    presets={
        "whynot": {"nonmedical_change_3": -0.0747, "stable_year": 2025.0},
        "pessimistic": {"stable_year": 2025.0},
    },
    signed=tuple(name for name in vars(OpioidConfig()) if "change" in name),
)


# ---------------------------------------------------------------- WhyNot's environment


@compiled_numeric
def whynot_misuse_trend(time, growth, decision, p):
    """Return the number of new nonmedical users a year, with the chosen growth since the last decision."""
    years = min(time, 2008.0) - 2002.0
    incidence = p.nonmedical_incidence * (1.0 + p.nonmedical_change_1) ** years
    if time <= 2008.0:
        return incidence
    trend_end = min(time, decision)
    incidence = incidence * (1.0 + p.nonmedical_change_2) ** (trend_end - 2008.0)
    return incidence * growth_factor(growth, time - trend_end)


@inlined
def whynot_derivative(time, y, constants, dose, slope):
    """Fill `slope`, which has no shares.

    Row 2 of `dose` is the year of the decision, and row 3 the year at the end of the step.
    """
    p = constants[0]
    for i in range(y.shape[1]):
        misuse = y[0, i]
        oud = y[1, i]
        now = time[i]
        years = now - 2002.0
        outflow_rate = (
            p.nonmedical_exit
            + p.nonmedical_overdose
            + p.nonmedical_to_oud
            + p.nonmedical_to_illicit
        )
        oud_to_illicit = (
            p.oud_to_illicit * growth_factor(p.oud_to_illicit_change, years) * oud
        )
        oud_exit = p.oud_exit * growth_factor(p.oud_exit_change, years)
        new_misuse = whynot_misuse_trend(now, dose[0, i], dose[2, i], p)
        slope[0, i] = new_misuse - outflow_rate * misuse
        slope[1, i] = (
            p.nonmedical_to_oud * misuse
            - oud_to_illicit
            - (oud_exit + oud_overdose_rate(now, p)) * oud
        )
        slope[2, i] = (
            illicit_trend(now, p)
            + oud_to_illicit
            + p.nonmedical_to_illicit * misuse
            - (p.illicit_exit + illicit_overdose_rate(now, p)) * y[2, i]
        )


@inlined
def whynot_reward(before, values, dose, constants, rewards):
    """Fill `rewards`: minus 1000 for each yearly death at the end of the step, and the cost of growth for each user."""
    p = constants[0]
    for i in range(len(values)):
        misuse = values[i, 0]
        illicit = values[i, 2]
        now = dose[i, 3]
        is_late = TREND_YEAR < now <= p.stable_year and now == np.floor(now)
        deaths = (
            p.nonmedical_overdose * misuse
            + oud_overdose_rate(now, p) * values[i, 1]
            + illicit_overdose_rate(now - (1.0 if is_late else 0.0), p) * illicit
        )
        growth = p.C1 * dose[i, 0] * misuse
        rewards[i] = -1e6 * (p.C * deaths + growth + p.C2 * dose[i, 1] * illicit)


def whynot_upper_bounds(p, start, ranges):
    """Return upper bounds: all users at the start and all new ones, if misuse grows by at most 10 % a year."""
    span = p.end_time - p.start_time
    illicit_users = upper_bounds(p, np.array([0.0, 0, 0, 0, 1, 0]), ranges)[5]
    inflow = p.nonmedical_incidence * 1.1**span + illicit_users
    return np.full(3, start.sum() + 2 * span * inflow)


WHYNOT = replace(
    MODEL,
    name="opioid_whynot",
    title="The opioid epidemic, as in WhyNot 0.12",
    variables=MODEL.variables[:3],
    derivative=whynot_derivative,
    reward=whynot_reward,
    upper_bounds=whynot_upper_bounds,
    interventions=read_interventions(
        """
nonmedical_reduction  misuse       -0.1  0.1  0 0.05
illicit_reduction     illicit use  -0.1  0.1  0 0.05
"""
    ),
)


# ---------------------------------------------------------------- the world


class Opioid(Epidemic):
    """Prevent deaths by opioids by reducing the number of new users.

    Observation:
        Box(6,), float64, in this order:

        - nonmedical_users: nonmedical users of prescription opioids without a disorder, people
        - oud_users: people with a prescription opioid use disorder
        - illicit_users: users of illicit opioids, such as heroin and fentanyl, people
        - nonmedical_share, illicit_share: numbers of new nonmedical and of new illicit users, as a fraction of the
          numbers without any action
        - overdose_deaths: deaths by overdose since the start, people

        The next state depends on the year too, which is info["time"].

    Action:
        Discrete(4), for a year: 0 nothing, 1 less illicit use, 2 less misuse, 3 both. "Less" lowers an incidence by
        7.5 % within the year, in addition to its own changes. It doesn't rise again. With actions="box" Box(2,), misuse
        and illicit use, from 0 to 0.3 for 30 %. interventions={"nonmedical_reduction": (0, 0.075, 0.113)} has no action
        and the paper's two interventions.

    Reward:
        -(deaths in the step + 0.001 r1 nonmedical users + 0.005 r2 illicit users) / 1000, where misuse and illicit use
        are lowered by r1 and r2. A unit is a thousand deaths. The weights are a millionth of WhyNot's; the paper has no
        costs.

    Start:
        "2002"; or "2015", with config={"start_time": 2015}, the beginning of the paper's interventions.

    End:
        Never terminated; truncated at config.end_time, 2030, after decisions of a year.

    Info:
        "time", the year.

    Args:
        reference: "whynot-0.12" has WhyNot's environment: its preset, three observed variables, its actions and its
            reward; see `pushlab/envs/ode/opioid.py`.
        preset: "pessimistic": illicit use and its deaths become stable in 2025, not in 2020 as by default. "whynot":
            the same, and misuse continues to fall by 7.47 % a year after 2015.
        arguments: The arguments of `ODE` except the model.

    Source:
        Chen et al. (2019), JAMA Network Open 2(2), e187621. An environment in WhyNot 0.12.
        `pushlab/envs/ode/opioid.py` compares results with the paper. SciPy with a tolerance of 1e-10 agrees to 1e-6 if
        decisions are at the turn of a year, where trends have corners, and otherwise to 1e-5.

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
            dose = np.column_stack([dose, *self.step_times(step)])
        return super().flow(values, step, dose)
