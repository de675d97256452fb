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
"""

from dataclasses import dataclass

import numpy as np

from pushlab.envs.ode.models import Intervention, Model, Variable, parameter
from pushlab.ground.compiled import compiled_numeric, inlined

TREND_YEAR = 2015.0  # the last of the data; what changes afterwards is a scenario


@dataclass(frozen=True)
class OpioidConfig:
    """Rates by year; a change of 0.01 is one by 1 % a year, and a rate that has one is that of 2002."""

    misuse_incidence: float = parameter(
        2496835.0, "people/year", "new nonmedical users of prescription opioids"
    )
    misuse_change_1: float = parameter(0.0016, "1/year", "its change until 2008")
    misuse_change_2: float = parameter(
        -0.0747, "1/year", "its change from 2008 to 2015"
    )
    misuse_change_3: float = parameter(
        0.0, "1/year", "its change from 2015 on: none is the paper's status quo"
    )
    illicit_incidence: float = parameter(
        13489.0, "people/year", "new illicit users, but those from the other groups"
    )
    illicit_change: float = parameter(
        0.235, "1/year", "its change until 2015; afterwards it fades"
    )
    misuse_exit: float = parameter(
        0.177, "1/year", "nonmedical users who stop, or die of something else"
    )
    misuse_to_oud: float = parameter(
        0.06, "1/year", "nonmedical users who develop a disorder"
    )
    misuse_to_illicit: float = parameter(
        0.002, "1/year", "nonmedical users who turn to illicit opioids"
    )
    misuse_overdose: float = parameter(
        0.001, "1/year", "nonmedical users who die of an overdose"
    )
    oud_exit: float = parameter(
        0.311, "1/year", "people with a disorder who stop, or die of something else"
    )
    oud_exit_change: float = parameter(-0.021, "1/year", "its change")
    oud_to_illicit: float = parameter(
        0.071, "1/year", "people with a disorder who turn to illicit opioids"
    )
    oud_to_illicit_change: float = parameter(0.042, "1/year", "its change")
    oud_overdose: float = parameter(
        0.003, "1/year", "people with a disorder who die of an overdose"
    )
    oud_overdose_change_1: float = parameter(0.224, "1/year", "its change until 2007")
    oud_overdose_change_2: float = parameter(0.03, "1/year", "its change from 2007 on")
    illicit_exit: float = parameter(
        0.319, "1/year", "illicit users who stop, or die of something else"
    )
    illicit_overdose: float = parameter(
        0.005, "1/year", "illicit users who die of an overdose"
    )
    illicit_overdose_change_1: float = parameter(
        0.011, "1/year", "its change until 2011"
    )
    illicit_overdose_change_2: float = parameter(
        0.356, "1/year", "its change from 2011 to 2015; afterwards it fades"
    )
    stable_year: float = parameter(
        2020.0,
        "year",
        "when changes of illicit use have faded; chosen to meet the paper",
    )
    misuse_reduction: float = parameter(
        0.0, "1/year", "how much an incidence of misuse is lowered without an action"
    )
    illicit_reduction: float = parameter(
        0.0, "1/year", "how much that of illicit use is lowered without an action"
    )
    C: float = parameter(1e-3, "1/people", "cost of a death in the reward")
    C1: float = parameter(
        1e-6,
        "year/people",
        "cost of lowering the incidence of misuse, a nonmedical user",
    )
    C2: float = parameter(
        5e-6, "year/people", "cost of lowering that of illicit use, an illicit user"
    )
    start_time: float = parameter(2002.0, "year", "when an episode begins")
    end_time: float = parameter(2030.0, "year", "when an episode ends")


@compiled_numeric
def grown(change, years):
    """By what a number has grown that changes by the same share every year, after so many years, 0 if below 0."""
    return (1.0 + change) ** years if years > 0.0 else 1.0


@compiled_numeric
def faded(change, time, p):
    """By what a number has grown since 2015 whose yearly change fades, in equal steps, to none in `stable_year`."""
    whole, growth = max(1.0, p.stable_year - TREND_YEAR), 1.0
    past = min(max(0.0, time - TREND_YEAR), whole)
    year = 1.0
    while past > 1.0:
        growth *= 1.0 + change * (1.0 - year / whole)
        past -= 1.0
        year += 1.0
    return growth * grown(change * max(0.0, 1.0 - year / whole), past)


@compiled_numeric
def misuse_trend(time, p):
    """New nonmedical users a year where nothing is done."""
    return (
        p.misuse_incidence
        * grown(p.misuse_change_1, min(time, 2008.0) - 2002.0)
        * grown(p.misuse_change_2, min(time, TREND_YEAR) - 2008.0)
        * grown(p.misuse_change_3, time - TREND_YEAR)
    )


@compiled_numeric
def illicit_trend(time, p):
    """New illicit users a year where nothing is done, without those who turn from prescription opioids."""
    growth = grown(p.illicit_change, min(time, TREND_YEAR) - 2002.0)
    return p.illicit_incidence * growth * faded(p.illicit_change, time, p)


@compiled_numeric
def oud_overdose_rate(time, p):
    """Overdose deaths a year and person with a disorder."""
    return (
        p.oud_overdose
        * grown(p.oud_overdose_change_1, min(time, 2007.0) - 2002.0)
        * grown(p.oud_overdose_change_2, time - 2007.0)
    )


@compiled_numeric
def illicit_overdose_rate(time, p):
    """Overdose deaths a year and illicit user."""
    growth = grown(p.illicit_overdose_change_1, min(time, 2011.0) - 2002.0) * grown(
        p.illicit_overdose_change_2, min(time, TREND_YEAR) - 2011.0
    )
    return p.illicit_overdose * growth * faded(p.illicit_overdose_change_2, time, p)


@inlined
def derivative(time, y, constants, dose, slope):
    """People enter, move on from group to group, stop, and die; what is lowered stays lowered.

    The shares are what is left of the two incidences after all that was done so far. Copies side by side are often at
    the same time, for which rates are worked out once.
    """
    p = constants[0]
    for i in range(y.shape[1]):
        misuse, oud, illicit, misuse_share, illicit_share = (
            y[0, i],
            y[1, i],
            y[2, i],
            y[3, i],
            y[4, i],
        )
        if i == 0 or time[i] != time[i - 1]:
            misuse_coming, illicit_coming = (
                misuse_trend(time[i], p),
                illicit_trend(time[i], p),
            )
            oud_overdose, illicit_overdose = (
                oud_overdose_rate(time[i], p),
                illicit_overdose_rate(time[i], p),
            )
            oud_to_illicit = p.oud_to_illicit * grown(
                p.oud_to_illicit_change, time[i] - 2002.0
            )
            oud_exit = p.oud_exit * grown(p.oud_exit_change, time[i] - 2002.0)
        misuse_deaths, oud_deaths = p.misuse_overdose * misuse, oud_overdose * oud
        illicit_deaths = illicit_overdose * illicit
        slope[0, i] = (
            misuse_coming * misuse_share
            - misuse_deaths
            - (p.misuse_exit + p.misuse_to_oud + p.misuse_to_illicit) * misuse
        )
        slope[1, i] = (
            p.misuse_to_oud * misuse - oud_deaths - (oud_to_illicit + oud_exit) * oud
        )
        slope[2, i] = (
            illicit_coming * illicit_share
            + oud_to_illicit * oud
            + p.misuse_to_illicit * misuse
            - illicit_deaths
            - p.illicit_exit * illicit
        )
        slope[3, i] = np.log1p(-dose[0, i]) * misuse_share
        slope[4, i] = np.log1p(-dose[1, i]) * illicit_share
        slope[5, i] = misuse_deaths + oud_deaths + illicit_deaths


@inlined
def reward(before, values, dose, constants, earned):
    """What the deaths of the step cost, and the effort of lowering an incidence, a user that there is."""
    p = constants[0]
    for i in range(len(values)):
        deaths = values[i, 5] - before[i, 5]
        earned[i] = (
            -p.C * deaths
            - p.C1 * dose[i, 0] * values[i, 0]
            - p.C2 * dose[i, 1] * values[i, 2]
        )


def settled(config, levels):
    """A whole state: nothing has been done so far, and nobody has died."""
    return np.array([*levels, 1.0, 1.0, 0.0])


def upper(config, start):
    """Each group where as many come as ever can and as few leave: there it balances, if it has not begun above."""
    p, span = config, config.end_time - config.start_time
    years = max(0.0, p.stable_year - TREND_YEAR)
    misuse = (
        p.misuse_incidence
        * _most(p.misuse_change_1, 6.0)
        * _most(p.misuse_change_2, 7.0)
        * _most(p.misuse_change_3, max(0.0, p.end_time - TREND_YEAR))
    )
    illicit = p.illicit_incidence * _most(p.illicit_change, TREND_YEAR - 2002.0 + years)
    turning = p.oud_to_illicit * _most(
        p.oud_to_illicit_change, max(0.0, p.end_time - 2002.0)
    )
    stopping = p.oud_exit * (1 + min(0.0, p.oud_exit_change)) ** max(
        0.0, p.end_time - 2002.0
    )
    most_misuse = _balance(start[0], misuse * start[3], p.misuse_exit, span)
    most_oud = _balance(start[1], p.misuse_to_oud * most_misuse, stopping, span)
    coming = illicit * start[4] + turning * most_oud + p.misuse_to_illicit * most_misuse
    most_illicit = _balance(start[2], coming, p.illicit_exit, span)
    everybody = start[:3].sum() + span * (misuse * start[3] + illicit * start[4])
    return np.array(
        [most_misuse, most_oud, most_illicit, start[3], start[4], start[5] + everybody]
    )


def _most(change, years):
    return (1 + max(0.0, change)) ** years


def _balance(start, coming, leaving, span):
    """What a group cannot pass that begins at `start` and of which the share `leaving` goes each year."""
    return max(start, min(coming / max(leaving, 1e-9), start + coming * span))


MODEL = Model(
    name="opioid",
    title="The opioid epidemic",
    time_unit="year",
    timestep=1.0,
    Config=OpioidConfig,
    variables=(
        Variable(
            "nonmedical_users",
            "people",
            "nonmedical users of prescription opioids",
            (4e6, 6e6, 8e6, 1e7),
        ),
        Variable(
            "oud_users",
            "people",
            "people with a prescription opioid use disorder",
            (5e5, 1e6, 1.5e6),
        ),
        Variable(
            "illicit_users",
            "people",
            "users of illicit opioids",
            (4e5, 8e5, 1.2e6, 1.6e6),
        ),
        Variable(
            "misuse_share",
            "",
            "incidence of misuse, a share of that with nothing done",
            (0.25, 0.5, 0.75, 1.0),
        ),
        Variable(
            "illicit_share",
            "",
            "incidence of illicit use, a share of that with nothing done",
            (0.25, 0.5, 0.75, 1.0),
        ),
        Variable(
            "overdose_deaths",
            "people",
            "deaths by overdose since the start",
            (1e5, 3e5, 6e5, 1e6),
        ),
    ),
    initial_states={
        "2002": (10029859.0, 1369218.0, 328371.0),
        "2015": (8054200.0, 1473602.0, 951344.0),
    },
    derivative=derivative,
    reward=reward,
    upper=upper,
    settled=settled,
    interventions=(
        Intervention("misuse_reduction", "less misuse", (0.0, 0.075), (0.0, 0.3)),
        Intervention("illicit_reduction", "less illicit use", (0.0, 0.075), (0.0, 0.3)),
    ),
    source="Chen et al. (2019), JAMA Network Open 2(2), e187621",
    presets={
        "whynot": {"misuse_change_3": -0.0747, "stable_year": 2025.0},
        "pessimistic": {"stable_year": 2025.0},
    },
    signed=tuple(name for name in vars(OpioidConfig()) if "change" in name),
)
