"""Numerical solvers as compiled loops, for any model: an adaptive Runge-Kutta method and Euler's method.

The adaptive method is Dormand and Prince's pair of orders 5 and 4. Each copy chooses its steps from its own error
estimate, so a copy takes the same steps in a batch as alone. `LANES` copies are advanced at a time. Arrays have a row
for each variable and a column for each copy, so that one machine instruction advances neighbouring copies.

Euler's method suits models whose equations have corners, for which an adaptive method gains little, and models that
were published with it.

Source: Dormand & Prince (1980), J. Comput. Appl. Math. 6(1), 19-26. Step control: Hairer, Nørsett & Wanner, Solving
Ordinary Differential Equations I, section II.4. Euler's method: section I.7 there.
"""

import functools
from collections.abc import Callable

import numpy as np

from pushlab.utils.compiled import (
    compiled_helper,
    compiled_numeric,
    inlined,
    specialised,
)

LANES = 48  # default number of copies that are advanced together
# `integrator` replaces these by the numbers and functions of a model.
VARIABLES = 1
derivative: Callable = None  # fills the slopes
reward: Callable = None
MAX_TRIES = 100_000  # steps tried by a copy before it counts as diverged
REJECTED = 1e10  # error of a step to NaN or below the lowest value
STAGES = 7
# Indices of the array `rows` of `advance_adaptively`, which begins with the slopes of the stages.
SLOPE = STAGES - 1
Y = STAGES
POINT = STAGES + 1
STEP = STAGES + 2
EMPTY = -1  # a lane without a copy

# For each stage, the weights of the earlier slopes in its point.
WEIGHTS = (
    (0.0,),
    (0.2,),
    (0.075, 0.225),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# The time of each stage, as a fraction of the step.
TIMES = np.array([0, 0.2, 0.3, 0.8, 8 / 9, 1, 1])
# The weights of the slopes in the difference between orders 5 and 4.
ERROR_WEIGHTS = (
    71 / 57600,
    0.0,
    -71 / 16695,
    71 / 1920,
    -17253 / 339200,
    22 / 525,
    -1 / 40,
)


@inlined
def fill_point(weights, rows):
    """Fill POINT, the state at which the slope of a stage is computed, and store the slope of the previous stage."""
    last = len(weights) - 1
    for v in range(rows.shape[1]):
        for i in range(rows.shape[2]):
            rows[last, v, i] = rows[SLOPE, v, i]
            change = weights[0] * rows[0, v, i]
            for stage in range(1, last + 1):
                change += weights[stage] * rows[stage, v, i]
            rows[POINT, v, i] = rows[Y, v, i] + rows[STEP, 0, i] * change


@inlined
def fill_errors(y, point, step, rows, tolerance, lowest, errors):
    """Fill `errors` (copies,): the largest error of a variable, as a multiple of the tolerated error."""
    for i in range(len(errors)):
        errors[i] = 1e-10
    for v in range(y.shape[0]):
        for i in range(y.shape[1]):
            error = 0.0
            for stage in range(STAGES):
                error += ERROR_WEIGHTS[stage] * rows[stage, v, i]
            ratio = abs(step[i] * error) / (
                tolerance * max(abs(y[v, i]), abs(point[v, i])) + 1e-30
            )
            ratio = ratio if point[v, i] >= lowest and ratio < REJECTED else REJECTED
            errors[i] = max(errors[i], ratio)


@compiled_helper
def set_first_steps(y, slope, remaining, tries, step):
    """Set the first step of each copy so that no variable changes by more than about 10 %."""
    for i in range(y.shape[1]):
        if tries[i] == 0:
            rate = 1e-30
            for v in range(y.shape[0]):
                rate = max(rate, abs(slope[v, i]) / (abs(y[v, i]) + 1e-12))
            step[i] = min(remaining[i], max(0.1 / rate, 1e-9 * remaining[i]))


@inlined
def set_next_steps(errors, now, remaining, tries, step):
    """Advance the time of copies whose step was accepted, and set the next step of all copies.

    The exponent is -3/16 instead of -1/5, since all machines round square roots in the same way, but not powers.
    """
    for i in range(len(errors)):
        elapsed = step[i] if errors[i] <= 1.0 else 0.0
        now[i] += elapsed
        remaining[i] -= elapsed
        tries[i] += 1
        root = np.sqrt(np.sqrt(np.sqrt(np.sqrt(errors[i]))))
        growth = 0.9 / (root * root * root)
        step[i] = min(remaining[i], step[i] * min(5.0, max(0.1, growth)))


@compiled_numeric
def time_after(steps, timestep, constants):
    """Return the time after a number of timesteps; the last one may be shorter."""
    p = constants[0]
    return min(p.start_time + steps * timestep, p.end_time)


def advance_adaptively(
    start, step_number, timestep, constants, dose, tolerance, lowest, end, time, rewards
):
    """Advance all copies by one timestep; return the index of a copy that failed, or -1.

    Args:
        start: States before, (n, variables).
        step_number: Number of timesteps so far, (n,).
        timestep: Length of the timestep.
        constants: The parameters by name, a record array (1,).
        dose: Doses during the timestep, (n, interventions).
        tolerance: Largest estimated error of a step, relative to each variable.
        lowest: Smallest valid value of a variable. A step below it is repeated with a shorter length. It is always 0,
            but a literal 0 makes the loops a tenth slower.
        end, time, rewards: Filled with states (n, variables), times (n,) and rewards (n,) after the timestep.
    """
    copies = len(start)
    # The compiler knows that parts of one array don't overlap.
    rows = np.zeros((STAGES + 8, VARIABLES, LANES))
    slope = rows[SLOPE]
    y = rows[Y]
    point = rows[POINT]
    step = rows[STEP, 0]
    now = rows[STEP + 1, 0]
    stage_time = rows[STEP + 2, 0]
    remaining = rows[STEP + 3, 0]
    errors = rows[STEP + 4, 0]
    tries = rows[STEP + 5, 0]
    lane_dose = np.empty((dose.shape[1], LANES))
    copy_in_lane = np.empty(LANES, np.int64)
    for i in range(LANES):
        copy_in_lane[i] = EMPTY
    next_copy = 0
    n_busy = 0
    failed = -1
    has_ended = True
    while has_ended or n_busy > 0:
        if has_ended:  # lanes whose copies have ended take the next copies
            for i in range(LANES):
                copy = copy_in_lane[i]
                if copy >= 0 and (remaining[i] <= 0.0 or tries[i] >= MAX_TRIES):
                    if remaining[i] > 0.0:
                        failed = copy
                    for v in range(VARIABLES):
                        end[copy, v] = y[v, i]
                    copy_in_lane[i] = EMPTY
                    remaining[i] = 0.0
                    n_busy -= 1
                if copy_in_lane[i] < 0:
                    # If no copy is left, the lane computes the last copy again, with steps of 0.
                    copy = min(next_copy, copies - 1)
                    now[i] = time_after(step_number[copy], timestep, constants)
                    remaining[i] = 0.0
                    tries[i] = 0
                    step[i] = 0.0
                    for v in range(VARIABLES):
                        y[v, i] = start[copy, v]
                        slope[v, i] = 0.0
                    for v in range(len(lane_dose)):
                        lane_dose[v, i] = dose[copy, v]
                    if next_copy < copies:
                        time[copy] = time_after(
                            step_number[copy] + 1, timestep, constants
                        )
                        copy_in_lane[i] = next_copy
                        remaining[i] = time[copy] - now[i]
                        next_copy += 1
                        n_busy += 1
            if n_busy == 0:
                break
        # The first slope is the last one of the previous step, unless a copy has just begun.
        for stage in range(0 if has_ended else 1, STAGES):
            if stage == 0:
                fill_point(WEIGHTS[0], rows)
            elif stage == 1:
                fill_point(WEIGHTS[1], rows)
            elif stage == 2:
                fill_point(WEIGHTS[2], rows)
            elif stage == 3:
                fill_point(WEIGHTS[3], rows)
            elif stage == 4:
                fill_point(WEIGHTS[4], rows)
            elif stage == 5:
                fill_point(WEIGHTS[5], rows)
            else:
                fill_point(WEIGHTS[6], rows)
            for i in range(LANES):
                stage_time[i] = now[i] + TIMES[stage] * step[i]
            derivative(stage_time, point, constants, lane_dose, slope)
            if stage == 0:
                set_first_steps(y, slope, remaining, tries, step)
        fill_errors(y, point, step, rows, tolerance, lowest, errors)
        for v in range(VARIABLES):
            for i in range(LANES):
                # Both values are read first, so that the loop is vectorised.
                before, after = y[v, i], point[v, i]
                first, last = rows[0, v, i], slope[v, i]
                is_accepted = errors[i] <= 1.0
                y[v, i] = after if is_accepted else before
                slope[v, i] = last if is_accepted else first
        set_next_steps(errors, now, remaining, tries, step)
        has_ended = False
        for i in range(LANES):
            has_ended = has_ended or (
                copy_in_lane[i] >= 0 and (remaining[i] <= 0.0 or tries[i] >= MAX_TRIES)
            )
    reward(start, end, dose, constants, rewards)
    return failed


def advance_by_euler(
    start, step_number, timestep, constants, dose, dt, lowest, end, time, rewards
):
    """Advance all copies by one timestep; return the index of a copy that failed, or -1.

    The arguments are the same as for `advance_adaptively`, except `dt`, the largest step. A timestep is divided into
    the smallest number of equal steps. A copy fails if it ends below `lowest`, or at infinity or NaN.
    """
    copies = len(start)
    y = np.empty((VARIABLES, LANES))
    slope = np.empty((VARIABLES, LANES))
    lane_dose = np.empty((dose.shape[1], LANES))
    now = np.empty(LANES)
    step_time = np.empty(LANES)
    length = np.empty(LANES)
    n_steps = max(1, int(np.ceil(timestep / dt - 1e-9)))
    failed = -1
    for first in range(0, copies, LANES):
        for i in range(LANES):
            copy = min(first + i, copies - 1)  # unused lanes compute the last copy
            now[i] = time_after(step_number[copy], timestep, constants)
            time[copy] = time_after(step_number[copy] + 1, timestep, constants)
            length[i] = (time[copy] - now[i]) / n_steps
            for v in range(VARIABLES):
                y[v, i] = start[copy, v]
            for v in range(len(lane_dose)):
                lane_dose[v, i] = dose[copy, v]
        for step in range(n_steps):
            for i in range(LANES):
                step_time[i] = now[i] + step * length[i]
            derivative(step_time, y, constants, lane_dose, slope)
            for v in range(VARIABLES):
                for i in range(LANES):
                    y[v, i] += length[i] * slope[v, i]
        for i in range(min(LANES, copies - first)):
            for v in range(VARIABLES):
                end[first + i, v] = y[v, i]
                if not lowest <= y[v, i] < np.inf:
                    failed = first + i
    reward(start, end, dose, constants, rewards)
    return failed


@functools.lru_cache(maxsize=64)  # bounded, since a notebook may define a model often
def integrator(
    derivative: Callable, reward: Callable, variables: int, lanes: int, is_euler: bool
) -> Callable:
    """Return `advance_adaptively` or `advance_by_euler`, compiled for a model and a number of lanes."""
    loop = advance_by_euler if is_euler else advance_adaptively
    module = derivative.__module__.rpartition(".")[-1].strip("_")
    return specialised(
        loop,
        f"{module}_{derivative.__name__}_{lanes}",
        derivative=derivative,
        reward=reward,
        VARIABLES=variables,
        LANES=lanes,
    )
