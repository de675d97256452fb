"""Zika among people and mosquitoes, controlled by bednets, condoms, treatment and indoor spraying.

Source: Momoh & Fügenschuh (2018), Optimal control of intervention strategies and cost effectiveness analysis for a Zika
virus model, Operations Research for Health Care 18, 99-111. Only the first page of the paper was available. Equations,
parameters, weights and the start are taken from WhyNot 0.12, which has them from the paper. Names are the paper's.

WhyNot mixes fractions and counts; it is unknown whether the paper does. In WhyNot, a recruitment of 0.071 mosquitoes a
day balances a death rate of 1/14 in a population of size one. The recruitment of people is similar. But the state has
10,600 mosquitoes, so they die out within weeks under any actions. The costs have the same problem. A cost of 60 for all
mosquitoes is comparable with 12.5 for bednets for all people. A cost of 60 for each of 10,600 mosquitoes makes the
other costs negligible. This model therefore interprets recruitment and costs as values for populations of size one;
`human_scale` and `mosquito_scale` convert them into counts. This interpretation is not from the paper. With both scales
at 1, preset="whynot", the figures are WhyNot's. According to the paper's first page, bednets, treatment and spray
together are the most cost-effective. Here these three, used every day, are the fourth best of the sixteen combinations,
after treatment and spray, these two with condoms, and spray with condoms.
"""

from typing import Any

import numpy as np

from pushlab.envs.ode.models import (
    Model,
    config_class,
    read_interventions,
    read_variables,
)
from pushlab.envs.ode.world import Epidemic
from pushlab.utils.compiled import inlined

WHYNOT_DISCOUNT = 4 / 365  # 1/day

# Names are the paper's. After the rates come the four controls without an action, the reward's costs, and the time.
ZikaConfig = config_class(
    __name__,
    "ZikaConfig",
    """
human_scale            1030        people      number of people to which recruitment and costs refer
mosquito_scale         10600       mosquitoes  number of mosquitoes to which recruitment and costs refer
lambda_h               1.1e-5      1/day       people born, a fraction of human_scale
mu_h                   4.6296296296296294e-05  1/day       natural death of people, 1 / (360 * 60)
varphi_h               0.02        1/day       loss of immunity
phi                    0.05        1/day       recovery by itself
nu                     0.023       -           fraction of recovered people that are immune for a time
alpha_h                0.2         1/day       from asymptomatic to symptomatic
delta_h                0.003       1/day       death of Zika
c                      0.05        1/day       sexual contacts of an asymptomatic person
kappa                  0.05        1/day       sexual contacts of a symptomatic person
beta_a                 0.6         -           infection in a sexual contact with an asymptomatic person
beta_s                 0.3         -           infection in a sexual contact with a symptomatic person
beta_1                 0.4         -           infection of a person in a contact with an infectious mosquito
beta_2                 0.5         -           infection of a mosquito in a contact with an infected person
epsilon                0.5         1/day       bites of a mosquito
rho                    0.1         -           contacts of a mosquito with people, a bite
lambda_v               0.071       1/day       mosquitoes hatched, a fraction of mosquito_scale
mu_v                   0.07142857142857142  1/day       natural death of mosquitoes, 1 / 14
alpha_v                0.1         1/day       from exposed to infectious, of a mosquito
theta                  0.75        1/day       death of mosquitoes by full use of spray
tau                    0.15        1/day       additional recovery by full treatment
treated_bednet_use     0           -           fraction of bites prevented without an action
condom_use             0           -           fraction of sexual contacts made safe without an action
treatment_of_infected  0           -           fraction of symptomatic people treated without an action
indoor_spray_use       0           -           fraction of mosquitoes reached by spray without an action
A1                     60          -           cost if all people were asymptomatic
A2                     500         -           cost if all people were symptomatic
A3                     60          -           cost of mosquito_scale mosquitoes
C1                     25          -           twice the cost of full use of bednets
C2                     20          -           twice the cost of full use of condoms
C3                     30          -           twice the cost of full treatment
C4                     40          -           twice the cost of full use of spray
start_time             0           days        beginning of an episode
end_time               100         days        end of an episode
""",
)


@inlined
def derivative(time, y, constants, dose, slope):
    """Fill `slope`: mosquitoes and people infect people, and people with symptoms infect mosquitoes."""
    p = constants[0]
    for i in range(y.shape[1]):
        S_h = y[0, i]
        A_h = y[1, i]
        I_h = y[2, i]
        R_h = y[3, i]
        S_v = y[4, i]
        E_v = y[5, i]
        I_v = y[6, i]
        N_h = y[7, i]
        N_v = y[8, i]
        bednets = dose[0, i]
        condoms = dose[1, i]
        treatment = dose[2, i]
        spray = dose[3, i]
        bites = (1 - bednets) * p.epsilon * p.rho
        sexual = (1 - condoms) * (p.beta_a * p.c * A_h + p.beta_s * p.kappa * I_h)
        per_person = 1 / N_h
        infected_people = (p.beta_1 * bites * I_v + sexual) * S_h * per_person
        infected_mosquitoes = p.beta_2 * bites * S_v * I_h * per_person
        recovery = (p.phi + p.tau * treatment) * I_h
        born = p.lambda_h * p.human_scale
        hatched = p.lambda_v * p.mosquito_scale
        dying = p.mu_v + p.theta * spray
        slope[0, i] = (
            born
            + (1 - p.nu) * recovery
            + p.varphi_h * R_h
            - infected_people
            - p.mu_h * S_h
        )
        slope[1, i] = infected_people - (p.alpha_h + p.mu_h) * A_h
        slope[2, i] = p.alpha_h * A_h - recovery - (p.mu_h + p.delta_h) * I_h
        slope[3, i] = p.nu * recovery - (p.varphi_h + p.mu_h) * R_h
        slope[4, i] = hatched - infected_mosquitoes - dying * S_v
        slope[5, i] = infected_mosquitoes - (p.alpha_v + dying) * E_v
        slope[6, i] = p.alpha_v * E_v - dying * I_v
        slope[7, i] = born - p.delta_h * I_h - p.mu_h * N_h
        slope[8, i] = hatched - dying * N_v


@inlined
def reward(before, values, dose, constants, rewards):
    """Fill `rewards` with the paper's objective: minus the costs of infections, mosquitoes and squared controls."""
    p = constants[0]
    for i in range(len(values)):
        infected = (p.A1 * values[i, 1] + p.A2 * values[i, 2]) / p.human_scale
        mosquitoes = p.A3 * values[i, 8] / p.mosquito_scale
        controls = (
            p.C1 * dose[i, 0] ** 2
            + p.C2 * dose[i, 1] ** 2
            + p.C3 * dose[i, 2] ** 2
            + p.C4 * dose[i, 3] ** 2
        ) / 2
        rewards[i] = -(infected + mosquitoes + controls)


def complete_state(config, levels):
    """Return the complete state: the two populations are the sums of their groups."""
    return np.array([*levels, sum(levels[:4]), sum(levels[4:])])


def upper_bounds(p, start, ranges):
    """Return upper bounds: no group exceeds its population, which grows by recruitment until deaths balance it."""
    born = p.lambda_h * p.human_scale
    hatched = p.lambda_v * p.mosquito_scale
    span = p.end_time - p.start_time
    people = _max_population(start[7], sum(start[:4]), born, p.mu_h, span)
    mosquitoes = _max_population(start[8], sum(start[4:7]), hatched, p.mu_v, span)
    return np.array([people] * 4 + [mosquitoes] * 3 + [people, mosquitoes])


def _max_population(start, groups, recruitment, death_rate, span):
    """Return the largest size of a population, given its size and the sum of its groups at the start."""
    balance = recruitment / max(death_rate, 1e-12)
    return max(start, groups, min(balance, groups + recruitment * span))


MODEL = Model(
    name="zika",
    title="Zika among people and mosquitoes",
    time_unit="day",
    timestep=1.0,
    Config=ZikaConfig,
    variables=read_variables(
        """
susceptible_humans      people      people who can be infected
asymptomatic_humans     people      infected people without symptoms
symptomatic_humans      people      infected people with symptoms
recovered_humans        people      people immune for a time
susceptible_mosquitoes  mosquitoes  mosquitoes that can be infected
exposed_mosquitoes      mosquitoes  infected mosquitoes, not infectious yet
infectious_mosquitoes   mosquitoes  mosquitoes that infect
human_population        people      all people
mosquito_population     mosquitoes  all mosquitoes
"""
    ),
    initial_states={
        "outbreak": (750.0, 250.0, 10.0, 20.0, 10000.0, 500.0, 100.0),
        "first case": (1029.0, 0.0, 1.0, 0.0, 10600.0, 0.0, 0.0),
    },
    derivative=derivative,
    reward=reward,
    upper_bounds=upper_bounds,
    complete_state=complete_state,
    interventions=read_interventions(
        """
treated_bednet_use     bednets    0  1  -
condom_use             condoms    0  1  -
treatment_of_infected  treatment  0  1  -
indoor_spray_use       spray      0  1  -
"""
    ),
    presets={"whynot": {"human_scale": 1.0, "mosquito_scale": 1.0}},
)


class Zika(Epidemic):
    """Contain Zika in a small town with bednets, condoms, treatment and spray, none of which is free.

    Observation:
        Box(7,), float64, in this order:

        - susceptible_humans, asymptomatic_humans, symptomatic_humans, recovered_humans: people
        - susceptible_mosquitoes, exposed_mosquitoes, infectious_mosquitoes: mosquitoes

        `observe` can also name the two populations, human_population and mosquito_population.

    Action:
        Discrete(16), 8 b + 4 c + 2 t + s: bednets, condoms, treatment of people with symptoms and indoor spray, each
        not used (0) or fully used (1) for a day. With actions="box" Box(4,), the use of each from 0 to 1.

    Reward:
        -(60 asymptomatic + 500 symptomatic, as fractions of 1030 people, + 60 mosquitoes, as a fraction of 10600,
        + (25 b² + 20 c² + 30 t² + 40 s²) / 2), for the state after the step: the paper's objective for a day.

    Start:
        "outbreak", 1030 people, 260 of them infected, and 10600 mosquitoes, 100 of them infectious; or "first case",
        one person with symptoms and no infected mosquito.

    End:
        Never terminated; truncated at config.end_time, 100 days, after decisions of a day.

    Info:
        "time", days.

    Args:
        reference: "whynot-0.12" has WhyNot's environment: its preset, Box actions, all nine variables observed, and a
            reward discounted by exp(-4/365) a day.
        preset: "whynot": recruitment and costs without a scale, so all mosquitoes soon die.
        actions, observe: As in `ODE`; the defaults depend on the reference.
        arguments: The arguments of `ODE` except the model.

    Source:
        Momoh & Fügenschuh (2018), Operations Research for Health Care 18, 99-111. An environment in WhyNot 0.12, which
        mixes fractions and counts; see `pushlab/envs/ode/zika.py`. In the paper, bednets, treatment and spray together
        are the most cost-effective. Here treatment and spray are the best constant policy.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/ODE-Zika-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(3)
    >>> round(reward, 3), info, env.unwrapped.world.action_choices[0][1][3]
    (-100.65, {'time': 1.0}, 'treatment + spray')
    """

    name = "ODE-Zika-v0"

    def __init__(
        self,
        reference: str | None = None,
        actions: str | None = None,
        observe: Any = None,
        **arguments: Any,
    ) -> None:
        if actions is None:
            actions = "box" if reference else "discrete"
        if observe is None and not reference:
            observe = MODEL.levels
        super().__init__(
            MODEL, reference=reference, actions=actions, observe=observe, **arguments
        )

    def flow(self, values, step, dose):
        next_values, time, reward = super().flow(values, step, dose)
        if self.reference:
            reward *= np.exp(-WHYNOT_DISCOUNT * time)
        return next_values, time, reward
