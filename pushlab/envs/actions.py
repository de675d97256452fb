"""Actions as they come from an agent, checked and turned into arrays with a leading batch axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from pushlab.envs.world import World
from pushlab.ground.arguments import in_short
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


NUMBERS = (int, np.int64)  # what an action that is one number mostly is
WHOLE = np.dtype(
    np.int64
)  # what actions become; made once, as each use of np.int64 makes it again


def reader_of(world: World) -> Callable[[Any, int], Any]:
    """A function (action, n) → array (n, …) for a world; it raises ValueError naming what is wrong with an action.

    Discrete, MultiDiscrete and MultiBinary become int64, Box its own dtype; any other space hands actions on as
    they are and leaves the checking to its world. A world with a `read_action` reads them itself. What leaves the
    bounds of a Box by no more than float32 rounds is taken for the bound. Readers can be pickled.
    """
    space, names = world.action_space, world.action_names
    if world.read_action is not None:
        return world.read_action
    if isinstance(space, spaces.Box):
        return partial(_read_box, space, names)
    if isinstance(space, spaces.Discrete):
        whole = partial(
            _read_whole,
            (),
            np.array([space.start], WHOLE),
            np.array([space.n], WHOLE),
            names,
        )
        return partial(
            _read_number, int(space.start), int(space.start + space.n), whole
        )
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return partial(
            _read_whole,
            space.nvec.shape,
            space.start.astype(WHOLE),
            space.nvec.astype(WHOLE),
            names,
        )
    if isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
        return partial(
            _read_whole,
            space.shape,
            np.zeros(space.shape, WHOLE),
            np.full(space.shape, 2),
            names,
        )
    return _hand_on


def _hand_on(action, n):
    return action


def choices(space: spaces.Space) -> int:
    """How many values the components of an action have in all; AttributeError where they cannot be counted.

    >>> choices(spaces.Discrete(5)), choices(spaces.MultiDiscrete([2, 3, 4]))
    (5, 9)
    """
    if not isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        raise AttributeError(f"there are no masks of actions in {space}")
    return spaces.flatdim(space)


def masks(world: World, state: dict | None, n: int) -> np.ndarray:
    """Which actions each of n copies may take, bool (n, choices): the world's own mask, or all of them."""
    if state is None:
        raise ResetNeeded("there are no masks of actions before reset()")
    mask = world.mask(state)
    return (
        np.ones((n, choices(world.action_space)), bool)
        if mask is None
        else mask.astype(bool)
    )


def _read_number(low, beyond, read_any, action, n):
    if n == 1 and action.__class__ in NUMBERS and low <= action < beyond:
        array = np.empty(1, WHOLE)  # the commonest case, in a quarter of the time
        array[0] = action
        return array
    return read_any(action, n)


def _read_whole(shape, lows, sizes, names, action, n):
    array, wide = _copied(action, "iub", "whole numbers", names), len(sizes)
    if not (n == 1 and array.shape == shape) and array.shape != (n, *shape):
        raise ValueError(
            f"an action has shape {(n, *shape) if n > 1 else shape}; got {array.shape}"
        )
    if array.dtype != WHOLE:
        array = array.astype(WHOLE)
    array = array.reshape(n, wide)
    wrong = _first_outside(array, lows, sizes)
    if wrong >= 0:
        row, column = divmod(wrong, wide)
        raise ValueError(
            f"{_part(shape, names, row, column, n)} is {array[row, column]}; it must be from "
            f"{lows[column]} to {lows[column] + sizes[column] - 1}"
        )
    return array if shape else array[:, 0]


def _copied(action, kinds, of, names):
    """The action as an array of its own, since the caller may go on writing in his; ValueError if of another kind."""
    try:
        array = np.array(action)
    except (TypeError, ValueError):  # rows of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in kinds:
        raise ValueError(
            f"an action is made of {of}; got {_told(action, array.dtype.kind, names)}"
        )
    return array


def _told(action, kind, names):
    """An action that is no numbers, or no whole ones, in words: what it is, and what makes numbers of it."""
    if action is None:
        return "None: does the policy return its action?"
    if hasattr(action, "columns"):
        return f"a {type(action).__name__}" + (
            "; schema.notification.encode_one({…}) makes one of words, and "
            "schema.notification.encode(table) one a row"
            if names
            else ""
        )
    if isinstance(action, dict):
        return f"a dict, {in_short(action)}" + (
            "; schema.notification.encode_one makes one of it" if names else ""
        )
    if kind == "f":
        return f"{in_short(action)}; {'action.astype(int)' if np.ndim(action) else 'int(action)'} makes one of it"
    return in_short(action)


def _read_box(space, names, action, n):
    array = _copied(action, "iubf", "numbers", names).astype(space.dtype, copy=False)
    if not (n == 1 and array.shape == space.shape) and array.shape != (n, *space.shape):
        raise ValueError(
            f"an action has shape {(n, *space.shape) if n > 1 else space.shape}; got {array.shape}"
        )
    array = array.reshape((n, *space.shape))
    if not ((array >= space.low) & (array <= space.high)).all():
        return _to_bounds(array, space, names, n)
    return array


def _to_bounds(array, space, names, n):
    """The actions with what left the bounds by no more than float32 rounds, laid on them; ValueError for the rest.

    Learners work in float32, whose nearest number to a bound such as 0.7 may lie beyond it.
    """
    low, high, values = space.low.ravel(), space.high.ravel(), array.reshape(n, -1)
    largest = np.nan_to_num(np.abs([low, high]), posinf=0.0).max(axis=0)
    beyond = np.maximum(low - values, values - high)
    wrong = ~(
        beyond <= 2 * np.finfo(np.float32).eps * largest
    )  # so written, NaN is wrong too
    if wrong.any():
        row, at = np.argwhere(wrong)[0]
        value, least, most, by = (
            part[at].item() for part in (values[row], low, high, beyond[row])
        )
        raise ValueError(
            f"{_part(space.shape, names, row, at, n)} is {value!r}; it must be a number from "
            f"{least!r} to {most!r}" + (f", and is {by:.3g} beyond" if by == by else "")
        )
    return np.clip(array, space.low, space.high)


def _part(shape, names, row, column, n):
    """Which number of which copy's action, in words."""
    which = (
        f" component {column}" + (f" ({names[column]})" if names else "")
        if shape
        else ""
    )
    return f"action{which}" + (f" of copy {row}" if n > 1 else "")
