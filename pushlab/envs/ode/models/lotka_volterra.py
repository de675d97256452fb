"""Rabbits and foxes: the smallest model with a life of its own, here with the foxes' growth in our hands.

Source: Lotka (1925), Elements of Physical Biology; Volterra (1926), Nature 118, 558-560; the parameters are those of
the simulator in WhyNot 0.12. The preset "crowded" lets rabbits crowd each other, as Verhulst (1838), Correspondance
mathématique et physique 10, 113-121, has populations grow, and Murray (2002), Mathematical Biology I, chapter 3, prey:
2,000 rabbits at most, a hundred times as many as there are in balance with the foxes.
"""

from dataclasses import dataclass

import numpy as np

from pushlab.envs.ode.models import Intervention, Model, Variable, parameter
from pushlab.ground.compiled import inlined


@dataclass(frozen=True)
class LotkaVolterraConfig:
    """Rates, by unit of time; `cost` is the reward's."""

    rabbit_growth: float = parameter(1.0, "1/time", "births of rabbits, a rabbit")
    rabbit_death: float = parameter(
        0.1, "1/(foxes time)", "rabbits eaten, a rabbit and fox"
    )
    fox_death: float = parameter(1.5, "1/time", "deaths of foxes, a fox")
    fox_growth: float = parameter(
        0.75, "foxes/rabbits", "foxes born for a rabbit eaten"
    )
    crowding: float = parameter(
        0.0, "1/rabbits", "share of the births that each rabbit keeps from happening"
    )
    cost: float = parameter(
        10.0, "", "cost in the reward of a change of the foxes' growth by 1"
    )
    start_time: float = parameter(0.0, "time", "when an episode begins")
    end_time: float = parameter(100.0, "time", "when an episode ends")


@inlined
def derivative(time, y, constants, dose, slope):
    """Rabbits grow, the less the more there are, and are eaten; foxes grow by eating and die."""
    p = constants[0]
    for i in range(y.shape[1]):
        rabbits, foxes, fox_growth = y[0, i], y[1, i], dose[0, i]
        eaten = p.rabbit_death * rabbits * foxes
        slope[0, i] = p.rabbit_growth * rabbits * (1 - p.crowding * rabbits) - eaten
        slope[1, i] = fox_growth * eaten - p.fox_death * foxes


def invariant(values, config):
    """What stays the same along every untouched path, if nothing is crowded: values (…, 2) → (…)."""
    rabbits, foxes = values[..., 0], values[..., 1]
    return (
        config.fox_growth * config.rabbit_death * rabbits
        - config.fox_death * np.log(rabbits)
        + config.rabbit_death * foxes
        - config.rabbit_growth * np.log(foxes)
    )


@inlined
def reward(values, dose, constants, earned):
    """The rarer of the two animals counts, less what was changed."""
    p = constants[0]
    for i in range(len(values)):
        change = dose[i, 0] - p.fox_growth
        earned[i] = min(values[i, 0], values[i, 1]) - p.cost * change**2


def upper(config, start):
    """Rabbits at most multiply undisturbed, and foxes as if they had all those rabbits to eat.

    Where rabbits crowd each other, there are never more than 1 / crowding or those of the start, and a quarter of
    rabbit_growth / crowding are born in a unit of time at most. With G the largest growth of foxes, G rabbits + foxes
    gains G times those births, and loses fox_death times the foxes.
    """
    span, fastest = (
        config.end_time - config.start_time,
        2.0 * max(1.0, config.fox_growth),
    )
    if config.crowding > 0:
        rabbits = max(start[0], 1 / config.crowding)
        born = (
            config.rabbit_growth
            / (4 * config.crowding)
            * span
            / max(1.0, config.fox_death * span)
        )
        return np.array([rabbits, fastest * (rabbits + born) + start[1]])
    rabbits = start[0] * np.exp(min(300.0, config.rabbit_growth * span))
    # growth * rabbits + foxes falls by eating and gains by births of rabbits alone
    return np.array([rabbits, 5.0 * fastest * rabbits + start[1]])


MODEL = Model(
    name="lotka_volterra",
    title="Rabbits and foxes",
    time_unit="time",
    timestep=0.5,
    Config=LotkaVolterraConfig,
    variables=(
        Variable("rabbits", "animals", "prey", (5.0, 10.0, 20.0, 40.0)),
        Variable("foxes", "animals", "predators", (2.0, 5.0, 10.0, 20.0)),
    ),
    initial_states={"default": (10.0, 5.0), "balance": (20.0, 10.0)},
    derivative=derivative,
    reward=reward,
    upper=upper,
    presets={"crowded": {"crowding": 1 / 2000}},
    interventions=(
        Intervention("fox_growth", "foxes' growth", (0.4, 0.75), (0.0, 2.0)),
    ),
    source="Lotka (1925); Volterra (1926), Nature 118, 558-560",
)
