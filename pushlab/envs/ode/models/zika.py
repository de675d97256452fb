"""Zika among people and mosquitoes, held down by bednets, condoms, treatment and indoor spraying.

Source: Momoh & Fügenschuh (2018), Optimal control of intervention strategies and cost effectiveness analysis for a Zika
virus model, Operations Research for Health Care 18, 99-111. Of the paper the first page was at hand; equations,
parameters, weights and the start are as in WhyNot 0.12, which took them from there, with names as in the paper.

WhyNot mixes fractions and counts; whether the paper does could not be seen. Its recruitment of 0.071 mosquitoes a day
balances a death rate of 1/14 in a population of one, and so, nearly, does that of people; but the state counts 10,600
mosquitoes, which therefore die out within weeks, whatever is done. And while a cost of 60 for all mosquitoes is of one
size with 12.5 for bednets for all, a cost of 60 for each of 10,600 hides the price of everything else. So both are read
here as those of populations of size one: `human_scale` and `mosquito_scale` turn them into counts. That is our reading
and not the paper's word. With both at 1, preset="whynot", the figures stand as they do there. The paper's first page
calls bednets, treatment and spray together the most cost-effective; here these three, every day, are the fourth best of
sixteen, behind treatment and spray, those two with condoms, and spray with condoms.
"""

from dataclasses import dataclass

import numpy as np

from pushlab.envs.ode.models import Intervention, Model, Variable, parameter
from pushlab.ground.compiled import inlined


@dataclass(frozen=True)
class ZikaConfig:
    """Parameters, named as in the paper; then the four controls without an action, the reward's and the clock's."""

    human_scale: float = parameter(
        1030.0, "people", "people that recruitment and costs are for"
    )
    mosquito_scale: float = parameter(
        10600.0, "mosquitoes", "mosquitoes that recruitment and costs are for"
    )
    lambda_h: float = parameter(
        0.000011, "1/day", "people born, a share of human_scale"
    )
    mu_h: float = parameter(1 / (360 * 60), "1/day", "natural death of people")
    varphi_h: float = parameter(0.02, "1/day", "loss of immunity")
    phi: float = parameter(0.05, "1/day", "recovery by itself")
    nu: float = parameter(
        0.023, "", "share of those who recover that are immune for a time"
    )
    alpha_h: float = parameter(0.2, "1/day", "from asymptomatic to symptomatic")
    delta_h: float = parameter(0.003, "1/day", "death of Zika")
    c: float = parameter(
        0.05, "1/day", "contacts between people, of an asymptomatic one"
    )
    kappa: float = parameter(
        0.05, "1/day", "contacts between people, of a symptomatic one"
    )
    beta_a: float = parameter(
        0.6, "", "infection in such a contact by an asymptomatic one"
    )
    beta_s: float = parameter(
        0.3, "", "infection in such a contact by a symptomatic one"
    )
    beta_1: float = parameter(
        0.4, "", "infection of a person in a contact with an infectious mosquito"
    )
    beta_2: float = parameter(
        0.5, "", "infection of a mosquito in a contact with an infected person"
    )
    epsilon: float = parameter(0.5, "1/day", "bites of a mosquito")
    rho: float = parameter(0.1, "", "contacts of a mosquito with people, a bite")
    lambda_v: float = parameter(
        0.071, "1/day", "mosquitoes hatched, a share of mosquito_scale"
    )
    mu_v: float = parameter(1 / 14, "1/day", "natural death of mosquitoes")
    alpha_v: float = parameter(
        0.1, "1/day", "from exposed to infectious, of a mosquito"
    )
    theta: float = parameter(
        0.75, "1/day", "death of mosquitoes where everything is sprayed"
    )
    tau: float = parameter(0.15, "1/day", "recovery added where everybody is treated")
    treated_bednet_use: float = parameter(
        0.0, "", "share of contacts with mosquitoes kept off, without an action"
    )
    condom_use: float = parameter(
        0.0, "", "share of contacts between people made safe, without an action"
    )
    treatment_of_infected: float = parameter(
        0.0, "", "share of symptomatic people treated, without an action"
    )
    indoor_spray_use: float = parameter(
        0.0, "", "share of mosquitoes reached by spray, without an action"
    )
    A1: float = parameter(60.0, "", "cost of asymptomatic people, were all people so")
    A2: float = parameter(500.0, "", "cost of symptomatic people, were all people so")
    A3: float = parameter(60.0, "", "cost of mosquitoes, at mosquito_scale")
    C1: float = parameter(25.0, "", "twice the cost of full use of bednets")
    C2: float = parameter(20.0, "", "twice the cost of full use of condoms")
    C3: float = parameter(30.0, "", "twice the cost of full treatment")
    C4: float = parameter(40.0, "", "twice the cost of full use of spray")
    start_time: float = parameter(0.0, "days", "when an episode begins")
    end_time: float = parameter(100.0, "days", "when an episode ends")


@inlined
def derivative(time, y, constants, dose, slope):
    """People are infected by mosquitoes and by each other, mosquitoes by people with symptoms."""
    p = constants[0]
    for i in range(y.shape[1]):
        S_h, A_h, I_h, R_h, S_v, E_v, I_v, N_h, N_v = (
            y[0, i],
            y[1, i],
            y[2, i],
            y[3, i],
            y[4, i],
            y[5, i],
            y[6, i],
            y[7, i],
            y[8, i],
        )
        bednets, condoms, treatment, spray = (
            dose[0, i],
            dose[1, i],
            dose[2, i],
            dose[3, i],
        )
        bites = (1 - bednets) * p.epsilon * p.rho
        sexual = (1 - condoms) * (p.beta_a * p.c * A_h + p.beta_s * p.kappa * I_h)
        infected_people = (p.beta_1 * bites * I_v + sexual) * S_h / N_h
        infected_mosquitoes = p.beta_2 * bites * S_v * I_h / N_h
        recovery = (p.phi + p.tau * treatment) * I_h
        born, hatched = p.lambda_h * p.human_scale, p.lambda_v * p.mosquito_scale
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
def reward(values, dose, constants, earned):
    """The paper's objective: the infected and the mosquitoes cost in proportion, the controls by their square."""
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
        earned[i] = -(infected + mosquitoes + controls)


def settled(config, levels):
    """A whole state: the two populations are the sums of their parts."""
    return np.array([*levels, sum(levels[:4]), sum(levels[4:])])


def upper(config, start):
    """No group is larger than its population, which gains by recruitment alone, up to where that meets death."""
    p, span = config, config.end_time - config.start_time
    born, hatched = p.lambda_h * p.human_scale, p.lambda_v * p.mosquito_scale
    people = max(
        start[7],
        sum(start[:4]),
        min(born / max(p.mu_h, 1e-12), sum(start[:4]) + born * span),
    )
    mosquitoes = max(
        start[8],
        sum(start[4:7]),
        min(hatched / max(p.mu_v, 1e-12), sum(start[4:7]) + hatched * span),
    )
    return np.array([people] * 4 + [mosquitoes] * 3 + [people, mosquitoes])


MODEL = Model(
    name="zika",
    title="Zika among people and mosquitoes",
    time_unit="day",
    timestep=1.0,
    Config=ZikaConfig,
    variables=(
        Variable(
            "susceptible_humans",
            "people",
            "people who can be infected",
            (250.0, 500.0, 750.0),
        ),
        Variable(
            "asymptomatic_humans",
            "people",
            "infected people without symptoms",
            (10.0, 50.0, 100.0, 200.0),
        ),
        Variable(
            "symptomatic_humans",
            "people",
            "infected people with symptoms",
            (10.0, 50.0, 100.0, 200.0, 400.0),
        ),
        Variable(
            "recovered_humans", "people", "people immune for a time", (5.0, 10.0, 20.0)
        ),
        Variable(
            "susceptible_mosquitoes",
            "mosquitoes",
            "mosquitoes that can be infected",
            (1e3, 3e3, 6e3, 9e3),
        ),
        Variable(
            "exposed_mosquitoes",
            "mosquitoes",
            "infected mosquitoes, not infectious yet",
            (10.0, 100.0, 500.0),
        ),
        Variable(
            "infectious_mosquitoes",
            "mosquitoes",
            "mosquitoes that infect",
            (10.0, 100.0, 500.0, 1e3),
        ),
        Variable("human_population", "people", "all people", (900.0, 1000.0)),
        Variable(
            "mosquito_population", "mosquitoes", "all mosquitoes", (1e3, 3e3, 6e3, 9e3)
        ),
    ),
    initial_states={
        "outbreak": (750.0, 250.0, 10.0, 20.0, 10000.0, 500.0, 100.0),
        "first case": (1029.0, 0.0, 1.0, 0.0, 10600.0, 0.0, 0.0),
    },
    derivative=derivative,
    reward=reward,
    upper=upper,
    settled=settled,
    interventions=(
        Intervention("treated_bednet_use", "bednets", (0.0, 1.0), (0.0, 1.0)),
        Intervention("condom_use", "condoms", (0.0, 1.0), (0.0, 1.0)),
        Intervention("treatment_of_infected", "treatment", (0.0, 1.0), (0.0, 1.0)),
        Intervention("indoor_spray_use", "spray", (0.0, 1.0), (0.0, 1.0)),
    ),
    source="Momoh & Fügenschuh (2018), Operations Research for Health Care 18, 99-111",
    presets={"whynot": {"human_scale": 1.0, "mosquito_scale": 1.0}},
)
