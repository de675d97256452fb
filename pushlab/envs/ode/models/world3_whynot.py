"""How WhyNot 0.12 runs World3: each run begins its delays anew, a step late, and crowding tells a step late.

Its simulator, a JavaScript program by Brian Hayes, puts the delays in equilibrium with their input before the first
step and once more after it, all but the three whose input is computed later in the step: labour, agricultural inputs
and perceived food. And it computes what crowding does to life expectancy (28) before what crowding is (26, 27), so
that in every step the crowding of the step before counts. Its environment makes each timestep a run of its own: the
delays hardly delay, and resources are nearly always all there is, since what is left is counted from each beginning.
"""

import numpy as np

from pushlab.envs.ode.models.world3_equations import (
    fill_delays,
    find_rates,
    guess_first,
)
from pushlab.ground.compiled import compiled_numeric, inlined

ROUNDS = 99  # in which its simulator settles the delays before a first step; they may swing even then
LATE_ROUNDS = 3  # health feeds life expectancy, and that fertility control


@compiled_numeric
def guess_nothing(y):
    """Its simulator takes an input of 0 for none, and its guess for it: of agricultural inputs and perceived food."""
    for i in range(y.shape[1]):
        y[16, i] = y[16, i] if y[16, i] != 0.0 else 5e9
        y[17, i] = y[17, i] if y[17, i] != 0.0 else 1.0


@inlined
def keep_late(y, kept):
    """Puts the three delays named above back to `kept` (3, n); by loops, as numba is slow to compile slices."""
    for v in range(3):
        for i in range(y.shape[1]):
            y[15 + v, i] = kept[v, i]


@compiled_numeric
def refill_delays(y, time, constants, dose, slope, crowding):
    """Puts all delays but the three named above in equilibrium with their input."""
    kept = y[15:18].copy()
    for _ in range(LATE_ROUNDS):
        find_rates(time, y, constants, dose, slope, crowding)
        fill_delays(y, slope, constants)
        keep_late(y, kept)


@compiled_numeric
def begin_run(y, time, constants, dose, slope, crowding):
    """The states y (variables, n) at the beginning of a run; the three delays are a round ahead of crowding."""
    guess_first(y)
    crowding[0] = 1.0
    for _ in range(ROUNDS):
        find_rates(time, y, constants, dose, slope, crowding)
        crowding[0] = crowding[1]
        fill_delays(y, slope, constants)
        guess_nothing(y)
    refill_delays(y, time, constants, dose, slope, crowding)


@compiled_numeric
def advance_run(y, time, length, parts, fresh, constants, dose, crowding):
    """Moves states y (variables, n) on by `length` (n,) years from `time` (n,), by Euler's method, in place.

    dose        (interventions, n)

    parts       how many steps that is
    fresh       whether a run begins here
    crowding    (2, n), see `find_rates`: kept from one call to the next of a run
    """
    now, slope = time.copy(), np.empty(y.shape)
    if fresh:
        begin_run(y, now, constants, dose, slope, crowding)
    for part in range(parts):
        find_rates(now, y, constants, dose, slope, crowding)
        crowding[0] = crowding[1]
        filled = y.copy()
        fill_delays(filled, slope, constants)
        guess_nothing(filled)
        for i in range(y.shape[1]):
            for v in range(len(y)):
                y[v, i] += length[i] / parts * slope[v, i]
            now[i] = time[i] + (part + 1) * length[i] / parts
        if fresh and part == 0:
            keep_late(y, filled[15:18])
            refill_delays(y, now, constants, dose, slope, crowding)
