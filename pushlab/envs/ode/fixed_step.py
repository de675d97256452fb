"""Steps of one fixed length as one compiled loop, for any model: Euler's method, and that of Runge and Kutta.

For models whose equations have corners, where an adaptive method gains little, and for those that were published as
what a fixed step makes of them. Copies are advanced `LANES` at a time, as in `integrate.py`; none knows of another.

Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, sections I.7 and II.1.
"""

import functools

import numpy as np

from pushlab.envs.ode.integrate import clock, derivative, name_of, of_step, reward
from pushlab.ground.compiled import compiled_for

LANES = 64                          # copies advanced together; `stepper` may choose another number
VARIABLES = 1                       # of a model; these four are set for each loop that is compiled
WEIGHTS = np.array([1.0])           # of the slopes that make up a step
REACH = np.array([0.0])             # how far along each slope, in steps, the next one is taken

METHODS = {
    "euler": (np.array([1.0]), np.array([0.0])),
    "rk4": (np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]), np.array([0.5, 0.5, 1.0, 0.0])),
}


def advance_in_steps(start, step_number, timestep, constants, dose, dt, lowest, end, time, earned):
    """Moves every copy on by one timestep; returns the number of copies that could not be.

    The arguments are those of `integrate.advance_batch`, but dt in the place of a tolerance: a timestep is cut into as
    few equal parts as are no longer than that. A copy has failed that ends below `lowest` or as no number.
    """
    copies = len(start)
    shape = (VARIABLES, LANES)
    y, point, slope, total = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(shape)
    given, clocks = np.empty((dose.shape[1], LANES)), np.empty((3, LANES))
    now, moment, length = clocks[0], clocks[1], clocks[2]
    parts = max(1, int(np.ceil(timestep / dt - 1e-9)))
    failed = 0
    for first in range(0, copies, LANES):
        for i in range(LANES):
            copy = min(first + i, copies - 1)               # a lane without a copy of its own carries the last along
            now[i] = clock(step_number[copy], timestep, constants)
            time[copy] = clock(step_number[copy] + 1, timestep, constants)
            length[i] = (time[copy] - now[i]) / parts
            for v in range(VARIABLES):
                y[v, i] = start[copy, v]
            for v in range(dose.shape[1]):
                given[v, i] = dose[copy, v]
        for part in range(parts):
            for v in range(VARIABLES):
                for i in range(LANES):
                    point[v, i], total[v, i] = y[v, i], 0.0
            for i in range(LANES):
                moment[i] = now[i] + part * length[i]
            for stage in range(len(WEIGHTS)):
                derivative(moment, point, constants, given, slope)
                for v in range(VARIABLES):
                    for i in range(LANES):
                        total[v, i] += WEIGHTS[stage] * slope[v, i]
                        point[v, i] = y[v, i] + REACH[stage] * length[i] * slope[v, i]
                for i in range(LANES):
                    moment[i] = now[i] + (part + REACH[stage]) * length[i]
            for v in range(VARIABLES):
                for i in range(LANES):
                    y[v, i] += length[i] * total[v, i]
        for i in range(min(LANES, copies - first)):
            fine = True
            for v in range(VARIABLES):
                end[first + i, v] = y[v, i]
                fine = fine and lowest <= y[v, i] < np.inf
            failed += not fine
    reward(start, end, dose, constants, earned)
    return failed


@functools.lru_cache(maxsize=64)        # every run of a cell that defines a model brings functions of its own
def stepper(derivative, reward, variables, method, lanes=LANES):
    """`advance_in_steps` for a model's derivative, reward and number of variables, and a method of METHODS."""
    weights, reach = METHODS[method]
    return compiled_for(advance_in_steps, f"{name_of(derivative)}_{method}_{lanes}", derivative=derivative,
                        reward=of_step(reward), VARIABLES=variables, LANES=lanes, WEIGHTS=weights, REACH=reach)

