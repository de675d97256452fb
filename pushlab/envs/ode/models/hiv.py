"""HIV within one patient under two drugs, which never cure but may teach the immune system to hold the virus.

Source: Adams, Banks, Kwon & Tran (2004), Dynamic multidrug therapies for HIV: optimal and STI control approaches,
Math. Biosci. Eng. 1(2), 223-241: equations 2.1, parameters of table 1, steady states of table 2. The papers list the
state as (T1, T2, T1*, T2*, V, E); here, as in WhyNot, a cell stands beside its infected kind: T1, T1*, T2, T2*, V, E.
"""

from dataclasses import dataclass

import numpy as np

from pushlab.envs.ode.models import Intervention, Model, Variable, parameter
from pushlab.ground.compiled import inlined


@dataclass(frozen=True)
class HIVConfig:
    """Parameters, named as in the paper; the last block is the reward's and the clock's."""

    lambda_1: float = parameter(
        1e4, "cells/(ml day)", "production of type 1 cells (CD4+)"
    )
    lambda_2: float = parameter(
        31.98, "cells/(ml day)", "production of type 2 cells (macrophages)"
    )
    d_1: float = parameter(0.01, "1/day", "death of type 1 cells")
    d_2: float = parameter(0.01, "1/day", "death of type 2 cells")
    k_1: float = parameter(8e-7, "ml/(copies day)", "infection of type 1 cells")
    k_2: float = parameter(1e-4, "ml/(copies day)", "infection of type 2 cells")
    f: float = parameter(
        0.34, "", "how much of the RT inhibitor's effect reaches type 2 cells"
    )
    delta: float = parameter(0.7, "1/day", "death of infected cells")
    m_1: float = parameter(
        1e-5, "ml/(cells day)", "killing of infected type 1 cells by immune effectors"
    )
    m_2: float = parameter(
        1e-5, "ml/(cells day)", "killing of infected type 2 cells by immune effectors"
    )
    N_T: float = parameter(100.0, "copies/cell", "virus made by an infected cell")
    c: float = parameter(13.0, "1/day", "clearance of free virus")
    rho_1: float = parameter(
        1.0, "copies/cell", "virus lost in infecting a type 1 cell"
    )
    rho_2: float = parameter(
        1.0, "copies/cell", "virus lost in infecting a type 2 cell"
    )
    lambda_E: float = parameter(1.0, "cells/(ml day)", "production of immune effectors")
    b_E: float = parameter(0.3, "1/day", "highest birth rate of effectors")
    K_B: float = parameter(
        100.0, "cells/ml", "infected cells at which half of that rate is reached"
    )
    d_E: float = parameter(
        0.25, "1/day", "highest death rate of effectors from overload"
    )
    K_D: float = parameter(
        500.0, "cells/ml", "infected cells at which half of that rate is reached"
    )
    delta_E: float = parameter(0.1, "1/day", "natural death of effectors")
    epsilon_1: float = parameter(
        0.0, "", "efficacy of the reverse transcriptase inhibitor without an action"
    )
    epsilon_2: float = parameter(
        0.0, "", "efficacy of the protease inhibitor without an action"
    )
    Q: float = parameter(0.1, "ml/copies", "cost of the virus in the reward")
    R1: float = parameter(
        20000.0, "", "cost of the reverse transcriptase inhibitor in the reward"
    )
    R2: float = parameter(
        20000.0,
        "",
        "cost of the protease inhibitor in the reward; 2000 in the literature",
    )
    S: float = parameter(1000.0, "ml/cells", "worth of immune effectors in the reward")
    start_time: float = parameter(0.0, "days", "when an episode begins")
    end_time: float = parameter(400.0, "days", "when an episode ends")


@inlined
def derivative(time, y, constants, dose, slope):
    """The equations 2.1 of Adams et al. (2004), for every copy i."""
    p = constants[0]
    for i in range(y.shape[1]):
        T1, T1_infected, T2, T2_infected, V, E = (
            y[0, i],
            y[1, i],
            y[2, i],
            y[3, i],
            y[4, i],
            y[5, i],
        )
        epsilon_1, epsilon_2 = dose[0, i], dose[1, i]
        infected = T1_infected + T2_infected
        infection_1 = (1 - epsilon_1) * p.k_1 * V * T1
        infection_2 = (1 - p.f * epsilon_1) * p.k_2 * V * T2
        slope[0, i] = p.lambda_1 - p.d_1 * T1 - infection_1
        slope[1, i] = infection_1 - p.delta * T1_infected - p.m_1 * E * T1_infected
        slope[2, i] = p.lambda_2 - p.d_2 * T2 - infection_2
        slope[3, i] = infection_2 - p.delta * T2_infected - p.m_2 * E * T2_infected
        slope[4, i] = (
            (1 - epsilon_2) * p.N_T * p.delta * infected
            - p.c * V
            - p.rho_1 * infection_1
            - p.rho_2 * infection_2
        )
        births, deaths = p.b_E * (infected + p.K_D), p.d_E * (infected + p.K_B)
        crowded = infected / (
            (infected + p.K_B) * (infected + p.K_D)
        )  # both fractions over one denominator
        slope[5, i] = p.lambda_E + ((births - deaths) * crowded - p.delta_E) * E


@inlined
def reward(values, dose, constants, earned):
    """Effectors are worth S each, virus costs Q, the drugs R1 and R2 times their efficacy squared."""
    p = constants[0]
    for i in range(len(values)):
        V, E, epsilon_1, epsilon_2 = values[i, 4], values[i, 5], dose[i, 0], dose[i, 1]
        earned[i] = p.S * E - p.Q * V - p.R1 * epsilon_1**2 - p.R2 * epsilon_2**2


def upper(config, start):
    """What the state cannot pass: cells are at most produced and never die faster than they must, and so on.

    Effectors have no bound of their own; they cannot grow faster than at the number of infected cells that suits them
    best, for as long as the episode lasts.
    """
    p = config
    cells_1 = max(start[0] + start[1], p.lambda_1 / min(p.d_1, p.delta))
    cells_2 = max(start[2] + start[3], p.lambda_2 / min(p.d_2, p.delta))
    virus = max(start[4], p.N_T * p.delta * (cells_1 + cells_2) / p.c)
    infected = np.append(0.0, np.geomspace(1e-3, cells_1 + cells_2, 4000))
    rate = (
        p.b_E * infected / (infected + p.K_B)
        - p.d_E * infected / (infected + p.K_D)
        - p.delta_E
    )
    fastest = max(1.001 * rate.max(), 1e-6)
    effectors = (start[5] + p.lambda_E / fastest) * np.exp(
        min(600.0, fastest * (p.end_time - p.start_time))
    )
    return np.array([cells_1, cells_1, cells_2, cells_2, virus, effectors])


MODEL = Model(
    name="hiv",
    title="HIV under treatment",
    time_unit="day",
    timestep=1.0,
    Config=HIVConfig,
    variables=(
        Variable("T1", "cells/ml", "healthy CD4+ cells", (2e4, 1e5, 3e5, 6e5, 9e5)),
        Variable(
            "T1*", "cells/ml", "infected CD4+ cells", (10.0, 100.0, 1e3, 1e4, 1e5)
        ),
        Variable("T2", "cells/ml", "healthy macrophages", (5.0, 50.0, 300.0, 1e3, 2e3)),
        Variable("T2*", "cells/ml", "infected macrophages", (1.0, 10.0, 50.0, 200.0)),
        Variable("V", "copies/ml", "free virus", (50.0, 500.0, 5e3, 5e4, 5e5)),
        Variable("E", "cells/ml", "immune effectors", (30.0, 300.0, 3e3, 3e4, 3e5)),
    ),
    initial_states={
        "early infection": (1e6, 1e-4, 3198.0, 1e-4, 1.0, 10.0),
        "unhealthy": (163573.0, 11945.0, 5.0, 46.0, 63919.0, 24.0),
        "healthy": (967839.0, 76.0, 621.0, 6.0, 415.0, 353108.0),
    },
    derivative=derivative,
    reward=reward,
    upper=upper,
    interventions=(
        Intervention("epsilon_1", "RT inhibitor", (0.0, 0.7), (0.0, 0.7)),
        Intervention("epsilon_2", "protease inhibitor", (0.0, 0.3), (0.0, 0.3)),
    ),
    source="Adams, Banks, Kwon & Tran (2004), Math. Biosci. Eng. 1(2), 223-241",
    presets={"whynot": {}, "ernst2006": {"R2": 2000.0}},
    logarithmic=True,
    goal={"T1": 967839.0, "V": 415.0, "E": 353108.0},
)
