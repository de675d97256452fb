"""Actions as they come from an agent, checked and turned into arrays with a leading batch axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from pushlab.envs.world import World
from pushlab.ground.compiled import compiled_in_place


@compiled_in_place
def _first_outside(values, lows, sizes):
    """Flat place of the first integer outside [low, low + size), or -1."""
    rows, columns = values.shape
    for row in range(rows):
        for column in range(columns):
            if not 0 <= values[row, column] - lows[column] < sizes[column]:
                return row * columns + column
    return -1


NUMBERS = (int, np.int64)       # what an action that is one number mostly is
WHOLE = np.dtype(np.int64)      # what actions become; made once, as each use of np.int64 makes it again


def reader_of(world: World) -> Callable[[Any, int], Any]:
    """A function (action, n) → array (n, …) for a world; it raises ValueError naming what is wrong with an action.

    Discrete, MultiDiscrete and MultiBinary become int64, Box its own dtype; any other space hands actions on as
    they are and leaves the checking to its world. A world with a `read_action` reads them itself.
    """
    space, names = world.action_space, world.action_names
    if world.read_action is not None:
        return world.read_action
    if isinstance(space, spaces.Box):
        return _box_reader(space)
    if isinstance(space, spaces.Discrete):
        return _number_reader(space, names)
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return _whole_reader(space.nvec.shape, space.start, space.nvec, names)
    if isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
        return _whole_reader(space.shape, np.zeros(space.shape), np.full(space.shape, 2), names)
    return lambda action, n: action


def choices(space: spaces.Space) -> int:
    """How many values the components of an action have in all; AttributeError where they cannot be counted.

    >>> choices(spaces.Discrete(5)), choices(spaces.MultiDiscrete([2, 3])), choices(spaces.MultiBinary(4))
    (5, 5, 8)
    """
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return int(space.nvec.sum())
    if isinstance(space, spaces.MultiBinary):
        return 2 * int(np.prod(space.shape))
    raise AttributeError(f"the actions of {space} cannot be counted, so that there are no masks of them")


def masks(world: World, state: dict | None, n: int) -> np.ndarray:
    """Which actions each of n copies may take, bool (n, choices): the world's own mask, or all of them."""
    if state is None:
        raise ResetNeeded("there are no masks of actions before reset()")
    mask = world.mask(state)
    return np.ones((n, choices(world.action_space)), bool) if mask is None else mask.astype(bool)


def _number_reader(space, names):
    low, beyond = int(space.start), int(space.start + space.n)
    read_any = _whole_reader((), np.array([space.start]), np.array([space.n]), names)

    def read(action, n):
        if n == 1 and action.__class__ in NUMBERS and low <= action < beyond:
            array = np.empty(1, WHOLE)                  # the commonest case, in a quarter of the time
            array[0] = action
            return array
        return read_any(action, n)

    return read


def _whole_reader(shape, lows, sizes, names):
    lows, sizes = lows.astype(np.int64), sizes.astype(np.int64)
    wide = len(sizes)

    def read(action, n):
        array = np.array(action)        # a copy: the caller may go on writing in his own
        if array.dtype.kind not in "iub":
            raise ValueError(f"an action is made of whole numbers; got {action!r}")
        if not (n == 1 and array.shape == shape) and array.shape != (n, *shape):
            raise ValueError(f"an action has shape {(n, *shape) if n > 1 else shape}; got {array.shape}")
        if array.dtype != WHOLE:
            array = array.astype(WHOLE)
        array = array.reshape(n, wide)
        wrong = _first_outside(array, lows, sizes)
        if wrong >= 0:
            row, column = divmod(wrong, wide)
            which = f" component {column}" + (f" ({names[column]})" if names else "") if shape else ""
            copy = f" of copy {row}" if n > 1 else ""
            raise ValueError(f"action{which}{copy} is {array[row, column]}; it must be from {lows[column]} to "
                             f"{lows[column] + sizes[column] - 1}")
        return array if shape else array[:, 0]

    return read


def _box_reader(space):
    def read(action, n):
        array = np.array(action, space.dtype)       # a copy: the caller may go on writing in his own
        if not (n == 1 and array.shape == space.shape) and array.shape != (n, *space.shape):
            raise ValueError(f"an action has shape {(n, *space.shape) if n > 1 else space.shape}; got {array.shape}")
        array = array.reshape((n, *space.shape))
        if not ((array >= space.low) & (array <= space.high)).all():
            raise ValueError(f"action {action!r} leaves the bounds {space.low} to {space.high}, or is not a number")
        return array

    return read
