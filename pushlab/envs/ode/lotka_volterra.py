"""Rabbits and foxes, the smallest of the models. Actions set the growth of the foxes.

Source: Lotka (1925), Elements of Physical Biology; Volterra (1926), Nature 118, 558-560. The parameters are those of
the simulator in WhyNot 0.12, which has no crowding. Here rabbits crowd each other, like populations in Verhulst (1838),
Correspondance mathématique et physique 10, 113-121, and prey in Murray (2002), Mathematical Biology I, chapter 3. There
are at most 2,000 rabbits, a hundred times as many as in balance with the foxes.
"""

import numpy as np

from pushlab.envs.ode.models import (
    Model,
    config_class,
    read_interventions,
    read_variables,
)
from pushlab.envs.ode.world import ODE
from pushlab.utils.compiled import inlined

LotkaVolterraConfig = config_class(
    __name__,
    "LotkaVolterraConfig",
    """
rabbit_growth  1     1/time          births of rabbits, a rabbit
rabbit_death   0.1   1/(foxes time)  rabbits eaten, a rabbit and fox
fox_death      1.5   1/time          deaths of foxes, a fox
fox_growth     0.75  foxes/rabbits   foxes born for a rabbit eaten
crowding       5e-4  1/rabbits       fraction of the births that each rabbit prevents
cost           10    -               cost in the reward of a change of the foxes' growth by 1
start_time     0     time            beginning of an episode
end_time       100   time            end of an episode
""",
)


@inlined
def derivative(time, y, constants, dose, slope):
    """Fill `slope`: rabbits multiply, less if there are many, and are eaten; foxes multiply by eating, and die."""
    p = constants[0]
    for i in range(y.shape[1]):
        rabbits = y[0, i]
        foxes = y[1, i]
        eaten = p.rabbit_death * rabbits * foxes
        slope[0, i] = p.rabbit_growth * rabbits * (1 - p.crowding * rabbits) - eaten
        slope[1, i] = dose[0, i] * eaten - p.fox_death * foxes


@inlined
def reward(before, values, dose, constants, rewards):
    """Fill `rewards`: the number of the rarer animal, minus the cost of the change."""
    p = constants[0]
    for i in range(len(values)):
        change = dose[i, 0] - p.fox_growth
        rewards[i] = min(values[i, 0], values[i, 1]) - p.cost * change**2


def upper_bounds(p, start, ranges):
    """Return upper bounds: rabbits multiply without foxes, and foxes eat all these rabbits.

    With crowding, there are never more rabbits than at the start or than 1 / crowding. At most a quarter of
    rabbit_growth / crowding are born in a unit of time. With G as the largest growth of foxes, G rabbits + foxes gains
    G times these births, and loses fox_death times the foxes.
    """
    span = p.end_time - p.start_time
    max_growth = 2.0 * max(1.0, p.fox_growth)
    if p.crowding > 0:
        rabbits = max(start[0], 1 / p.crowding)
        born = p.rabbit_growth / (4 * p.crowding) * span / max(1.0, p.fox_death * span)
        return np.array([rabbits, max_growth * (rabbits + born) + start[1]])
    rabbits = start[0] * np.exp(min(300.0, p.rabbit_growth * span))
    return np.array([rabbits, 5.0 * max_growth * rabbits + start[1]])


MODEL = Model(
    name="lotka_volterra",
    title="Rabbits and foxes",
    time_unit="time",
    timestep=0.5,
    Config=LotkaVolterraConfig,
    variables=read_variables(
        """
rabbits  animals  prey
foxes    animals  predators
"""
    ),
    initial_states={"default": (10.0, 5.0), "balance": (20.0, 10.0)},
    derivative=derivative,
    reward=reward,
    upper_bounds=upper_bounds,
    interventions=read_interventions(
        """
fox_growth  foxes' growth  0  2  0.4 0.75
"""
    ),
    presets={"whynot": {"crowding": 0.0}},
)


class LotkaVolterra(ODE):
    """Prevent the near extinction of rabbits and foxes by reducing the growth of the foxes.

    Observation:
        Box(2,), float64: rabbits and foxes, at most 2,002 and 4,682 animals.

    Action:
        Discrete(2): fox_growth 0.4 or 0.75 (undisturbed). With actions="box" Box(1,) from 0 to 2.

    Reward:
        The number of the rarer animal, minus 10 times the squared change of fox_growth.

    Start:
        "default": 10 rabbits and 5 foxes; "balance": 20 and 10, near the undisturbed balance.

    End:
        Truncated at config.end_time, 100, after steps of 0.5.

    Info:
        "time".

    Args:
        reference: "whynot-0.12" has the preset "whynot".
        preset: By default rabbits crowd each other, so there are at most 1 / crowding = 2,000. "whynot": no crowding,
            as in WhyNot's simulator.
        arguments: The arguments of `ODE` except the model.

    Source:
        Lotka (1925); Volterra (1926), Nature 118, 558-560. Parameters of the simulator in WhyNot 0.12, which isn't an
        environment there. Crowding as in Verhulst (1838), and for prey in Murray (2002), Mathematical Biology I,
        chapter 3.

    Without crowding, rabbits multiply without limit when there are no foxes. If an agent sets the foxes' growth to 0 by
    a Box action, there are up to 2e44 rabbits. This is too large for float32, so learners compute NaN. With crowding
    all values fit into float32. The balances are 20 rabbits and 9.9 foxes undisturbed, and 37.5 and 9.81 at a growth of
    0.4. Without actions the cycles persist: the number of rabbits varies by 32 in the first 20 units of time and by 21
    in the last. With a capacity of 200 the cycles would vanish, and no control would be needed. The return of an
    episode is 1,842 without actions, -352 for random actions in the box, and 1,966 for reducing growth when there are
    more than 15 foxes (`pytest tests/test_ode.py -k crowded`).

    >>> import gymnasium as gym, pushlab
    >>> gym.make("pushlab/ODE-LotkaVolterra-v1", timestep=1.0).reset(seed=7)[0]
    array([10.,  5.])
    """

    name = "ODE-LotkaVolterra-v1"
    simulator = "lotka_volterra"
