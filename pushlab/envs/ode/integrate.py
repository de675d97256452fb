"""Numerical solvers as compiled loops, for any model: an adaptive Runge-Kutta method, and Euler's method.

The adaptive method is Dormand and Prince's pair of orders 5 and 4. Each copy chooses its steps from its own error
estimate alone, so a copy in a batch takes the same steps as one alone. Copies are advanced `LANES` at a time: a row is
a variable and a column is a copy, so that one machine instruction advances neighbouring copies.

Euler's method suits models whose equations have corners, where an adaptive method gains little, and models that were
published with it.

Source: Dormand & Prince (1980), J. Comput. Appl. Math. 6(1), 19-26. Step control: Hairer, Nørsett & Wanner, Solving
Ordinary Differential Equations I, section II.4. Euler's method: section I.7 there.
"""

import functools
from collections.abc import Callable

import numpy as np

from pushlab.ground.compiled import compiled_numeric, inlined, inner, specialised

LANES = 64  # copies advanced together; `integrator` can choose another number
# `integrator` puts the numbers and functions of a model in the place of these.
VARIABLES = 1
derivative: Callable = None  # fills the slopes
reward: Callable = None
MOST_TRIES = 100_000  # steps tried by a copy before it counts as diverged
REJECTED = 1e10  # error of a step that leads below the lowest value or to no number
STAGES = 7
EMPTY = -1  # a lane without a copy

# One row per stage: the weights of the earlier slopes in the point of the next slope.
WEIGHTS = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
# The time of each stage, as a share of the step.
TIMES = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
# The weights of the slopes in the difference between orders 5 and 4.
ERRORS = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


@inlined
def fill_point(weights, y, step, slopes, point):
    """Fill `point` (variables, copies), where the slope of this stage is computed."""
    for v in range(y.shape[0]):
        for i in range(y.shape[1]):
            point[v, i] = y[v, i] + step[i] * (
                weights[0] * slopes[0, v, i]
                + weights[1] * slopes[1, v, i]
                + weights[2] * slopes[2, v, i]
                + weights[3] * slopes[3, v, i]
                + weights[4] * slopes[4, v, i]
                + weights[5] * slopes[5, v, i]
            )


@inlined
def fill_worst(y, point, step, slopes, tolerance, lowest, worst):
    """Fill `worst` (copies,): the largest error of a variable, as a multiple of the error allowed."""
    a, b, c, d, e, f, g = ERRORS
    for i in range(len(worst)):
        worst[i] = 1e-10
    for v in range(y.shape[0]):
        for i in range(y.shape[1]):
            error = (
                a * slopes[0, v, i]
                + b * slopes[1, v, i]
                + c * slopes[2, v, i]
                + d * slopes[3, v, i]
                + e * slopes[4, v, i]
                + f * slopes[5, v, i]
                + g * slopes[6, v, i]
            )
            share = abs(step[i] * error) / (
                tolerance * max(abs(y[v, i]), abs(point[v, i])) + 1e-30
            )
            share = share if point[v, i] >= lowest and share < REJECTED else REJECTED
            worst[i] = max(worst[i], share)


@inner
def set_first_steps(y, slope, left, tries, step):
    """Set the first step of each copy so that no variable moves by more than about 10 %."""
    for i in range(y.shape[1]):
        if tries[i] == 0:
            rate = 1e-30
            for v in range(y.shape[0]):
                rate = max(rate, abs(slope[v, i]) / (abs(y[v, i]) + 1e-12))
            step[i] = min(left[i], max(0.1 / rate, 1e-9 * left[i]))


@inlined
def set_next_steps(worst, now, left, tries, step):
    """Advance the clocks of copies whose step was accepted, and set the next step of all.

    The exponent -3/16 stands for -1/5: square roots are rounded alike on all machines, powers aren't.
    """
    for i in range(len(worst)):
        done = step[i] if worst[i] <= 1.0 else 0.0
        now[i] += done
        left[i] -= done
        tries[i] += 1
        root = np.sqrt(np.sqrt(np.sqrt(np.sqrt(worst[i]))))
        growth = 0.9 / (root * root * root)
        step[i] = min(left[i], step[i] * min(5.0, max(0.1, growth)))


@compiled_numeric
def time_after(steps, timestep, constants):
    """Return the time after so many timesteps, the last of which may be shorter."""
    p = constants[0]
    return min(p.start_time + steps * timestep, p.end_time)


def advance_adaptively(
    start, step_number, timestep, constants, dose, tolerance, lowest, end, time, earned
):
    """Advance every copy by one timestep; return the index of a copy that failed, or -1.

    Args:
        start: States before, (n, variables).
        step_number: Number of timesteps done so far, (n,).
        timestep: Time to advance.
        constants: The parameters by name, a record array (1,).
        dose: Doses during the timestep, (n, interventions).
        tolerance: Largest estimated error of a step, relative to each variable.
        lowest: A step below this value in any variable is tried again, shorter. It is always 0; with the number itself
            in its place the loops are a tenth slower.
        end, time, earned: Filled with states (n, variables), times (n,) and rewards (n,) after the timestep.
    """
    copies = len(start)
    y = np.empty((VARIABLES, LANES))
    point = np.empty((VARIABLES, LANES))
    slopes = np.zeros((STAGES, VARIABLES, LANES))
    given = np.empty((dose.shape[1], LANES))
    clocks = np.zeros((5, LANES))
    now = clocks[0]
    moment = clocks[1]
    left = clocks[2]
    step = clocks[3]
    worst = clocks[4]
    counts = np.empty((2, LANES), np.int64)
    tries = counts[0]
    copy_in = counts[1]
    for i in range(LANES):
        copy_in[i] = EMPTY
    waiting = 0  # the next copy to begin
    busy = 0
    failed = -1
    has_ended = True
    while has_ended or busy > 0:
        if has_ended:  # a lane whose copy has ended takes the next one
            for i in range(LANES):
                copy = copy_in[i]
                if copy >= 0 and (left[i] <= 0.0 or tries[i] >= MOST_TRIES):
                    if left[i] > 0.0:
                        failed = copy
                    for v in range(VARIABLES):
                        end[copy, v] = y[v, i]
                    copy_in[i] = EMPTY
                    left[i] = 0.0
                    busy -= 1
                if copy_in[i] < 0:
                    # If none is waiting, the lane computes the last copy again, for no time.
                    copy = min(waiting, copies - 1)
                    now[i] = time_after(step_number[copy], timestep, constants)
                    left[i] = 0.0
                    tries[i] = 0
                    step[i] = 0.0
                    for v in range(VARIABLES):
                        y[v, i] = start[copy, v]
                        slopes[0, v, i] = 0.0
                    for v in range(len(given)):
                        given[v, i] = dose[copy, v]
                    if waiting < copies:
                        time[copy] = time_after(
                            step_number[copy] + 1, timestep, constants
                        )
                        copy_in[i] = waiting
                        left[i] = time[copy] - now[i]
                        waiting += 1
                        busy += 1
            if busy == 0:
                break
        # The first slope is that of the last stage before, unless a copy has just begun.
        for stage in range(0 if has_ended else 1, STAGES):
            fill_point(WEIGHTS[stage], y, step, slopes, point)
            for i in range(LANES):
                moment[i] = now[i] + TIMES[stage] * step[i]
            derivative(moment, point, constants, given, slopes[stage])
            if stage == 0:
                set_first_steps(y, slopes[0], left, tries, step)
        fill_worst(y, point, step, slopes, tolerance, lowest, worst)
        for v in range(VARIABLES):
            for i in range(LANES):
                is_accepted = worst[i] <= 1.0
                y[v, i] = point[v, i] if is_accepted else y[v, i]
                slopes[0, v, i] = slopes[6, v, i] if is_accepted else slopes[0, v, i]
        set_next_steps(worst, now, left, tries, step)
        has_ended = False
        for i in range(LANES):
            has_ended = has_ended or (
                copy_in[i] >= 0 and (left[i] <= 0.0 or tries[i] >= MOST_TRIES)
            )
            if worst[i] == REJECTED:  # infinite slopes times a weight of 0 are NaN
                for stage in range(1, STAGES):
                    for v in range(VARIABLES):
                        slopes[stage, v, i] = 0.0
    reward(start, end, dose, constants, earned)
    return failed


def advance_by_euler(
    start, step_number, timestep, constants, dose, dt, lowest, end, time, earned
):
    """Advance every copy by one timestep; return the index of a copy that failed, or -1.

    The arguments are those of `advance_adaptively`, except `dt`: a timestep is divided into the fewest equal steps that
    are no longer than this. A copy fails if it ends below `lowest` or at no number.
    """
    copies = len(start)
    y = np.empty((VARIABLES, LANES))
    slope = np.empty((VARIABLES, LANES))
    given = np.empty((dose.shape[1], LANES))
    now = np.empty(LANES)
    moment = np.empty(LANES)
    length = np.empty(LANES)
    parts = max(1, int(np.ceil(timestep / dt - 1e-9)))
    failed = -1
    for first in range(0, copies, LANES):
        for i in range(LANES):
            copy = min(first + i, copies - 1)  # a lane to spare computes the last copy
            now[i] = time_after(step_number[copy], timestep, constants)
            time[copy] = time_after(step_number[copy] + 1, timestep, constants)
            length[i] = (time[copy] - now[i]) / parts
            for v in range(VARIABLES):
                y[v, i] = start[copy, v]
            for v in range(len(given)):
                given[v, i] = dose[copy, v]
        for part in range(parts):
            for i in range(LANES):
                moment[i] = now[i] + part * length[i]
            derivative(moment, y, constants, given, slope)
            for v in range(VARIABLES):
                for i in range(LANES):
                    y[v, i] += length[i] * slope[v, i]
        for i in range(min(LANES, copies - first)):
            for v in range(VARIABLES):
                end[first + i, v] = y[v, i]
                if not lowest <= y[v, i] < np.inf:
                    failed = first + i
    reward(start, end, dose, constants, earned)
    return failed


@functools.lru_cache(maxsize=64)  # a notebook cell that defines a model may run often
def integrator(
    derivative: Callable, reward: Callable, variables: int, lanes: int, is_euler: bool
) -> Callable:
    """Return `advance_adaptively` or `advance_by_euler`, compiled for a model and a number of lanes."""
    loop = advance_by_euler if is_euler else advance_adaptively
    model = derivative.__module__.rpartition(".")[-1].strip("_")
    return specialised(
        loop,
        f"{model}_{derivative.__name__}_{lanes}",
        derivative=derivative,
        reward=reward,
        VARIABLES=variables,
        LANES=lanes,
    )
