"""The opioid epidemic as the environment of WhyNot 0.12 has it, to compare with.

An action sets by how much the incidence of misuse grows during the year that follows, from where it would stand had
nothing ever been done; what was done before is forgotten, and before 2008 nothing is changed at all. So 0, "do
nothing", stops the fall of 7.47 % a year, and 0.05, "reduce by 5 %", makes misuse rise by 5 %. That of illicit use is
never changed; it only costs. Deaths are counted at the end of a step, as a rate, and those of illicit users from 2016
to 2025 with the rate of a year before.

Doses have two more columns than there are interventions: the year of the decision, and that at the end of the step.
"""

import numpy as np

from pushlab.envs.ode.models import Intervention, Model
from pushlab.envs.ode.models.opioid import MODEL as CHEN
from pushlab.envs.ode.models.opioid import (
    TREND_YEAR,
    grown,
    illicit_overdose_rate,
    illicit_trend,
    oud_overdose_rate,
)
from pushlab.ground.compiled import compiled_numeric, inlined


@compiled_numeric
def incidence_of_misuse(time, growth, decision, p):
    """New nonmedical users a year; after 2008 the growth chosen at the last decision has its way."""
    early = p.misuse_incidence * (1.0 + p.misuse_change_1) ** (
        min(time, 2008.0) - 2002.0
    )
    if time <= 2008.0:
        return early
    until = min(time, decision)
    return (
        early
        * (1.0 + p.misuse_change_2) ** (until - 2008.0)
        * grown(growth, time - until)
    )


@inlined
def derivative(time, y, constants, dose, slope):
    """The equations of `opioid.py` without shares."""
    p = constants[0]
    for i in range(y.shape[1]):
        misuse, oud, illicit, now = y[0, i], y[1, i], y[2, i], time[i]
        turning = p.oud_to_illicit * grown(p.oud_to_illicit_change, now - 2002.0) * oud
        slope[0, i] = (
            incidence_of_misuse(now, dose[0, i], dose[2, i], p)
            - (
                p.misuse_exit
                + p.misuse_overdose
                + p.misuse_to_oud
                + p.misuse_to_illicit
            )
            * misuse
        )
        slope[1, i] = (
            p.misuse_to_oud * misuse
            - turning
            - (
                p.oud_exit * grown(p.oud_exit_change, now - 2002.0)
                + oud_overdose_rate(now, p)
            )
            * oud
        )
        slope[2, i] = (
            illicit_trend(now, p)
            + turning
            + p.misuse_to_illicit * misuse
            - (p.illicit_exit + illicit_overdose_rate(now, p)) * illicit
        )


@inlined
def reward(values, dose, constants, earned):
    """Deaths a year at the end of the step, at 1000 each; growth costs too, a user that there is."""
    p = constants[0]
    for i in range(len(values)):
        misuse, oud, illicit, now = values[i, 0], values[i, 1], values[i, 2], dose[i, 3]
        late = (
            1.0 if TREND_YEAR < now <= p.stable_year and now == np.floor(now) else 0.0
        )
        deaths = (
            p.misuse_overdose * misuse
            + oud_overdose_rate(now, p) * oud
            + illicit_overdose_rate(now - late, p) * illicit
        )
        earned[i] = -1e6 * (
            p.C * deaths + p.C1 * dose[i, 0] * misuse + p.C2 * dose[i, 1] * illicit
        )


def upper(config, start):
    """Everybody who is there or comes along, while misuse grows by 10 % a year or less."""
    span = config.end_time - config.start_time
    coming = (
        config.misuse_incidence * 1.1**span
        + CHEN.upper(config, np.array([0.0, 0, 0, 0, 1, 0]))[5]
    )
    return np.full(3, start.sum() + 2 * span * coming)


MODEL = Model(
    name="opioid_whynot",
    title="The opioid epidemic, as in WhyNot 0.12",
    time_unit="year",
    timestep=1.0,
    Config=CHEN.Config,
    variables=CHEN.variables[:3],
    initial_states=CHEN.initial_states,
    derivative=derivative,
    reward=reward,
    upper=upper,
    interventions=(
        Intervention("misuse_reduction", "misuse", (0.0, 0.05), (-0.1, 0.1)),
        Intervention("illicit_reduction", "illicit use", (0.0, 0.05), (-0.1, 0.1)),
    ),
    source=CHEN.source,
    presets=CHEN.presets,
    signed=CHEN.signed,
)
