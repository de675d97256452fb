"""Rabbits and foxes: the smallest model with dynamics of its own; actions set the growth of the foxes.

Source: Lotka (1925), Elements of Physical Biology; Volterra (1926), Nature 118, 558-560. The parameters are those of
the simulator in WhyNot 0.12, where nothing crowds the rabbits. Here rabbits crowd each other as populations do in
Verhulst (1838), Correspondance mathématique et physique 10, 113-121, and prey in Murray (2002), Mathematical Biology I,
chapter 3: there are 2,000 rabbits at most, a hundred times as many as in balance with the foxes.
"""

import numpy as np

from pushlab.envs.ode.models import (
    Model,
    config_class,
    read_interventions,
    read_variables,
)
from pushlab.envs.ode.world import ODE
from pushlab.ground.compiled import inlined

LotkaVolterraConfig = config_class(
    __name__,
    "LotkaVolterraConfig",
    """
rabbit_growth  1     1/time          births of rabbits, a rabbit
rabbit_death   0.1   1/(foxes time)  rabbits eaten, a rabbit and fox
fox_death      1.5   1/time          deaths of foxes, a fox
fox_growth     0.75  foxes/rabbits   foxes born for a rabbit eaten
crowding       5e-4  1/rabbits       share of the births that each rabbit keeps from happening
cost           10    -               cost in the reward of a change of the foxes' growth by 1
start_time     0     time            when an episode begins
end_time       100   time            when an episode ends
""",
)


@inlined
def derivative(time, y, constants, dose, slope):
    """Fill `slope`: rabbits grow, less if there are more, and are eaten; foxes grow by eating, and die."""
    p = constants[0]
    for i in range(y.shape[1]):
        rabbits = y[0, i]
        foxes = y[1, i]
        eaten = p.rabbit_death * rabbits * foxes
        slope[0, i] = p.rabbit_growth * rabbits * (1 - p.crowding * rabbits) - eaten
        slope[1, i] = dose[0, i] * eaten - p.fox_death * foxes


@inlined
def reward(before, values, dose, constants, earned):
    """Fill `earned`: the number of the rarer animal, less the cost of the change."""
    p = constants[0]
    for i in range(len(values)):
        change = dose[i, 0] - p.fox_growth
        earned[i] = min(values[i, 0], values[i, 1]) - p.cost * change**2


def upper(p, start, ranges):
    """Return upper bounds: rabbits multiply undisturbed, and foxes eat all these rabbits.

    If rabbits crowd each other, there are never more than 1 / crowding or those of the start, and at most a quarter of
    rabbit_growth / crowding are born in a unit of time. With G the largest growth of foxes, G rabbits + foxes gains G
    times those births, and loses fox_death times the foxes.
    """
    span = p.end_time - p.start_time
    fastest = 2.0 * max(1.0, p.fox_growth)
    if p.crowding > 0:
        rabbits = max(start[0], 1 / p.crowding)
        born = p.rabbit_growth / (4 * p.crowding) * span / max(1.0, p.fox_death * span)
        return np.array([rabbits, fastest * (rabbits + born) + start[1]])
    rabbits = start[0] * np.exp(min(300.0, p.rabbit_growth * span))
    return np.array([rabbits, 5.0 * fastest * rabbits + start[1]])


MODEL = Model(
    name="lotka_volterra",
    title="Rabbits and foxes",
    time_unit="time",
    timestep=0.5,
    Config=LotkaVolterraConfig,
    variables=read_variables(
        """
rabbits  animals  prey       5 10 20 40
foxes    animals  predators  2 5 10 20
"""
    ),
    initial_states={"default": (10.0, 5.0), "balance": (20.0, 10.0)},
    derivative=derivative,
    reward=reward,
    upper=upper,
    interventions=read_interventions(
        """
fox_growth  foxes' growth  0  2  0.4 0.75
"""
    ),
    presets={"whynot": {"crowding": 0.0}},
)


class LotkaVolterra(ODE):
    """Keep rabbits and foxes from coming too close to extinction, by reducing how foxes multiply.

    Observation:
        Box(2,), float64: rabbits and foxes, at most 2,002 and 4,682 animals. Edges of bins=True: rabbits 5, 10, 20,
        40; foxes 2, 5, 10, 20.

    Action:
        Discrete(2): fox_growth 0.4 or 0.75 (undisturbed). With actions="box" Box(1,) from 0 to 2.

    Reward:
        The number of the rarer animal, less 10 times the squared change of fox_growth.

    Start:
        10 rabbits and 5 foxes; or "balance", 20 and 10, near the undisturbed balance.

    End:
        Truncated at config.end_time, 100, after steps of 0.5.

    Info:
        "time".

    Args:
        reference: "whynot-0.12" has the preset "whynot".
        preset: By default rabbits crowd each other, so that there are 2,000 at most, 1 / crowding. "whynot": they
            don't, as in the simulator of WhyNot.
        arguments: Those of `ODE` except the model.

    Source:
        Lotka (1925); Volterra (1926), Nature 118, 558-560. Parameters of the simulator in WhyNot 0.12, which isn't an
        environment there. Crowding as in Verhulst (1838), and for prey in Murray (2002), Mathematical Biology I,
        chapter 3.

    Without crowding, rabbits grow without end once there are no foxes. An agent that sets the foxes' growth to 0 by a
    Box action meets 2e44 rabbits, more than float32 holds, and learners compute NaN. With crowding all values fit into
    float32. The balances with the foxes are 20 rabbits and 9.9 foxes undisturbed, and 37.5 and 9.81 at a growth of 0.4.
    The cycles last: those of the rabbits are 32 wide in the first 20 units of time and 21 in the last, if nothing is
    done. With a capacity of 200 they would vanish, and nothing would be left to do. An episode then brings 1,842, one
    of random numbers in the box -352, and reducing growth at more than 15 foxes 1,966 (`pytest tests/test_ode.py -k
    crowded`).

    >>> import gymnasium as gym, pushlab
    >>> gym.make("pushlab/ODE-LotkaVolterra-v1", timestep=1.0).reset(seed=7)[0]
    array([10.,  5.])
    """

    name, simulator = "ODE-LotkaVolterra-v1", "lotka_volterra"
