"""Runge-Kutta methods as compiled loops, for any model: an adaptive one, and two that take steps of a fixed length.

The adaptive one is Dormand and Prince's pair of orders 5 and 4. The step of each copy is chosen from its own error
estimate alone, so a copy in a batch takes the very same steps as one alone. Copies are advanced `LANES` at a time, a
row a variable and a column a copy, which lets the compiler put neighbouring copies into one machine instruction.

Euler's method and that of Runge and Kutta are for models whose equations have corners, where an adaptive method gains
little, and for those that were published as what a fixed step makes of them.

Source: Dormand & Prince (1980), J. Comput. Appl. Math. 6(1), 19-26; step control as in Hairer, Nørsett & Wanner,
Solving Ordinary Differential Equations I, section II.4; fixed steps as in sections I.7 and II.1.
"""

import functools
from collections.abc import Callable

import numpy as np

from pushlab.ground.compiled import compiled_numeric, inlined, inner, specialised

LANES = 64  # copies advanced together; `integrator` may choose another number
VARIABLES = 1  # of a model; set, like the number of lanes and a method, for each loop that is compiled
MOST_STEPS = 100_000  # tried steps after which a copy is given up as diverged
REFUSED = 1e10  # worst error of a step that is no step
STAGES = 7  # of the adaptive method
NOBODY = -1

# A row a stage: how much of the slopes so far makes up the step to the point at which the next slope is taken, and how
# far along the step that is. The last of those points ends the step; SPREAD makes order 5 minus order 4 of the slopes.
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
REACHED = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
SPREAD = np.array(
    [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
)

# Of the methods with fixed steps: the share of each slope in a step, and how far along it, in steps, the next one is
# taken.
SHARES, REACH = np.array([1.0]), np.array([0.0])
METHODS = {
    "euler": {"SHARES": SHARES, "REACH": REACH},
    "rk4": {
        "SHARES": np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
        "REACH": np.array([0.5, 0.5, 1.0, 0.0]),
    },
}


@inlined
def go_on(weights, stage, y, step, slopes, point):
    """Fills point (variables, copies), where the slope of this stage is taken; weights of 0 ask for finite slopes."""
    a, b, c, d, e, f = (
        weights[0],
        weights[1],
        weights[2],
        weights[3],
        weights[4],
        weights[5],
    )
    for v in range(y.shape[0]):
        if stage <= 3:  # the first half has no more than three slopes to add
            for i in range(y.shape[1]):
                point[v, i] = y[v, i] + step[i] * (
                    a * slopes[0, v, i] + b * slopes[1, v, i] + c * slopes[2, v, i]
                )
        else:
            for i in range(y.shape[1]):
                point[v, i] = y[v, i] + step[i] * (
                    a * slopes[0, v, i]
                    + b * slopes[1, v, i]
                    + c * slopes[2, v, i]
                    + d * slopes[3, v, i]
                    + e * slopes[4, v, i]
                    + f * slopes[5, v, i]
                )


@inlined
def find_worst(y, point, step, slopes, tolerance, lowest, worst):
    """Fills worst (copies,): the largest error of a variable over what is allowed, REFUSED where a value is none."""
    a, b, c, d, e, f, g = (
        SPREAD[0],
        SPREAD[1],
        SPREAD[2],
        SPREAD[3],
        SPREAD[4],
        SPREAD[5],
        SPREAD[6],
    )
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
            share = share if point[v, i] >= lowest and share < REFUSED else REFUSED
            worst[i] = max(worst[i], share)


@inner
def first_steps(y, slope, left, tries, step):
    """Sets the step of each copy that has tried none so that no variable moves by more than about 10 %."""
    for i in range(y.shape[1]):
        if tries[i] == 0:
            rate = 1e-30
            for v in range(y.shape[0]):
                rate = max(rate, abs(slope[v, i]) / (abs(y[v, i]) + 1e-12))
            step[i] = min(left[i], max(0.1 / rate, 1e-9 * left[i]))


@inlined
def next_steps(worst, now, left, tries, step):
    """Moves the clocks of copies whose error was within bounds and sets all steps.

    The exponent -3/16 stands for -1/5: square roots are rounded alike everywhere, powers are not.
    """
    for i in range(len(worst)):
        done = step[i] if worst[i] <= 1.0 else 0.0
        now[i] += done
        left[i] -= done
        tries[i] += 1
        root = np.sqrt(np.sqrt(np.sqrt(np.sqrt(worst[i]))))
        growth = 0.9 / (root * root * root)
        step[i] = min(left[i], step[i] * min(5.0, max(0.1, growth)))


def derivative(time, y, constants, dose, slope):
    """Fills slope (variables, copies) at y (variables, copies); `integrator` puts a model's own in this one's place."""
    raise NotImplementedError


def reward(before, values, dose, constants, earned):
    """Fills earned (n,) for states before and after, (n, variables); `integrator` puts a model's own in this place."""
    raise NotImplementedError


@compiled_numeric
def clock(step, timestep, constants):
    """The time after so many steps: the last may be shorter than the others."""
    p = constants[0]
    return min(p.start_time + step * timestep, p.end_time)


@inner
def refill(
    start,
    step_number,
    timestep,
    constants,
    dose,
    end,
    time,
    y,
    given,
    slope,
    now,
    left,
    step,
    tries,
    copy_in,
    waiting,
    busy,
):
    """Ends the copies whose lanes are through, and begins waiting ones there; (waiting, busy, failed) after that."""
    copies, failed = len(start), 0
    for i in range(len(left)):
        copy = copy_in[i]
        if copy >= 0 and (left[i] <= 0.0 or tries[i] >= MOST_STEPS):
            failed += left[i] > 0.0
            for v in range(len(y)):
                end[copy, v] = y[v, i]
            copy_in[i], left[i] = -1, 0.0
            busy -= 1
        if copy_in[i] < 0:
            copy = min(
                waiting, copies - 1
            )  # with none waiting it carries one along, for no time
            now[i], left[i], tries[i] = (
                clock(step_number[copy], timestep, constants),
                0.0,
                0,
            )
            step[i] = 0.0
            for v in range(len(y)):
                y[v, i], slope[v, i] = (
                    start[copy, v],
                    0.0,
                )  # nothing is left of a copy that may have diverged
            for v in range(len(given)):
                given[v, i] = dose[copy, v]
            if waiting < copies:
                time[copy] = clock(step_number[copy] + 1, timestep, constants)
                copy_in[i], left[i] = waiting, time[copy] - now[i]
                waiting += 1
                busy += 1
    return waiting, busy, failed


def advance_batch(
    start, step_number, timestep, constants, dose, tolerance, lowest, end, time, earned
):
    """Moves every copy on by one timestep; returns the number of copies that could not be.

    start        (n, variables) before, step_number (n,) how many steps each has behind it
    dose         (n, interventions), constant during the timestep
    end, time, earned   filled with the state (n, variables), the time and the reward (n,) after it
    constants    record array (1,), the parameters by name
    tolerance    largest estimated error of a step of the integrator, relative to each variable
    lowest       such a step below this value in any variable is refused and tried again shorter, as is one that is no
                 number. It is 0 throughout, but as an argument: with the number itself the loops are a tenth slower
    """
    y, point, slopes = (
        np.empty((VARIABLES, LANES)),
        np.empty((VARIABLES, LANES)),
        np.zeros((STAGES, VARIABLES, LANES)),
    )
    given, clocks, counts = (
        np.empty((dose.shape[1], LANES)),
        np.empty((5, LANES)),
        np.empty((2, LANES), np.int64),
    )
    now, moment, left, step, worst = (
        clocks[0],
        clocks[1],
        clocks[2],
        clocks[3],
        clocks[4],
    )
    tries, copy_in = counts[0], counts[1]
    for i in range(LANES):
        copy_in[i], left[i], step[i] = NOBODY, 0.0, 0.0
    waiting, busy, failed, ended = 0, 0, 0, True
    while ended or busy > 0:
        if ended:  # a lane whose copy has ended takes the next that waits
            waiting, busy, more = refill(
                start,
                step_number,
                timestep,
                constants,
                dose,
                end,
                time,
                y,
                given,
                slopes[0],
                now,
                left,
                step,
                tries,
                copy_in,
                waiting,
                busy,
            )
            failed += more
            if busy == 0:
                break
        for stage in range(
            0 if ended else 1, STAGES
        ):  # the first slope is known, but of copies just begun
            go_on(WEIGHTS[stage], stage, y, step, slopes, point)
            for i in range(LANES):
                moment[i] = now[i] + REACHED[stage] * step[i]
            derivative(moment, point, constants, given, slopes[stage])
            if stage == 0:
                first_steps(y, slopes[0], left, tries, step)
        find_worst(y, point, step, slopes, tolerance, lowest, worst)
        for v in range(VARIABLES):
            for i in range(LANES):
                y[v, i] = point[v, i] if worst[i] <= 1.0 else y[v, i]
                slopes[0, v, i] = (
                    slopes[6, v, i] if worst[i] <= 1.0 else slopes[0, v, i]
                )
        next_steps(worst, now, left, tries, step)
        ended = False
        for i in range(LANES):
            ended = ended or (
                copy_in[i] >= 0 and (left[i] <= 0.0 or tries[i] >= MOST_STEPS)
            )
            if worst[i] == REFUSED:  # what is not finite must not stay for the next try
                for stage in range(1, STAGES):
                    for v in range(VARIABLES):
                        slopes[stage, v, i] = 0.0
    reward(start, end, dose, constants, earned)
    return failed


def advance_in_steps(
    start, step_number, timestep, constants, dose, dt, lowest, end, time, earned
):
    """Moves every copy on by one timestep; returns the number of copies that could not be.

    The arguments are those of `advance_batch`, but dt in the place of a tolerance: a timestep is cut into as few equal
    parts as are no longer than that. A copy has failed that ends below `lowest` or as no number.
    """
    copies = len(start)
    shape = (VARIABLES, LANES)
    y, point, slope, total = (
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
    )
    given, clocks = np.empty((dose.shape[1], LANES)), np.empty((3, LANES))
    now, moment, length = clocks[0], clocks[1], clocks[2]
    parts = max(1, int(np.ceil(timestep / dt - 1e-9)))
    failed = 0
    for first in range(0, copies, LANES):
        for i in range(LANES):
            copy = min(
                first + i, copies - 1
            )  # a lane without a copy of its own carries the last along
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
            for stage in range(len(SHARES)):
                derivative(moment, point, constants, given, slope)
                for v in range(VARIABLES):
                    for i in range(LANES):
                        total[v, i] += SHARES[stage] * slope[v, i]
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


def advance_by_scipy(
    derivative,
    reward,
    start,
    step_number,
    timestep,
    constants,
    dose,
    tolerance,
    lowest,
    end,
    time,
    earned,
):
    """The same copy by copy with SciPy's LSODA, at a tolerance and limits of its own, for a model's two functions."""
    from scipy.integrate import solve_ivp

    def slopes(now, y, given):
        slope = np.empty((len(y), 1))
        derivative(np.array([now]), y[:, None], constants, given, slope)
        return slope[:, 0]

    for copy in range(len(start)):
        now, time[copy] = (
            clock(step_number[copy] + ahead, timestep, constants) for ahead in (0, 1)
        )
        solved = solve_ivp(
            slopes,
            (now, time[copy]),
            start[copy],
            "LSODA",
            args=(dose[copy][:, None].copy(),),
            rtol=1e-10,
            atol=1e-14,
        )
        if not solved.success:
            raise ArithmeticError(
                f"SciPy could not integrate from {start[copy].tolist()}: {solved.message}"
            )
        end[copy] = solved.y[:, -1]
    reward(start, end, dose, constants, earned)
    return 0


@functools.lru_cache(
    maxsize=64
)  # every run of a cell that defines a model brings functions of its own
def integrator(
    derivative: Callable,
    reward: Callable,
    variables: int,
    lanes: int = LANES,
    solver: str = "compiled",
) -> Callable:
    """`advance_batch` for the derivative and reward of a model, compiled for so many lanes.

    solver   "compiled"; or one of METHODS, for `advance_in_steps`; or "scipy", for `advance_by_scipy`
    """
    if solver == "scipy":
        return functools.partial(advance_by_scipy, derivative, of_step(reward))
    model = derivative.__module__.rpartition(".")[-1].strip("_")
    return specialised(
        advance_in_steps if solver in METHODS else advance_batch,
        f"{model}_{solver}_{lanes}",
        derivative=derivative,
        reward=of_step(reward),
        VARIABLES=variables,
        LANES=lanes,
        **METHODS.get(solver, {}),
    )


@functools.lru_cache(
    maxsize=64
)  # every run of a cell that defines a model brings functions of its own
def of_step(reward: Callable) -> Callable:
    """A model's reward as one of the states before and after the step; most look at that after it alone."""
    if getattr(reward, "py_func", reward).__code__.co_argcount == 5:
        return reward

    def of_values(before, values, dose, constants, earned):
        reward(values, dose, constants, earned)

    of_values.__module__ = reward.__module__  # compiled loops are cached for pushlab's
    return inlined(of_values)
