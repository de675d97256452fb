"""Effects of a recommender on its users: diversity of the items shown, and changes of preferences."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.utils.arguments import require, require_columns


def polarisation(preferences: ArrayLike, items: ArrayLike) -> np.ndarray:
    """Concentration of each preference on a single item: the largest |cosine| with any item, from 0 to 1.

    Args:
        preferences: Array (…, features).
        items: Array (n_items, features).

    Returns:
        Array (…).

    Source:
        Dean & Morgenstern (2022): under biased assimilation a preference converges to ± an item that is shown again and
        again; 1 is that limit.

    >>> polarisation([[1.0, 0.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]).round(3)
    array([1.   , 0.707])
    """
    preferences = _unit(preferences)
    items = _unit(items)
    if items.ndim != 2 or preferences.shape[-1] != items.shape[1]:
        raise ValueError(
            "preferences (…, features) and items (n_items, features) must have as many features; got "
            f"{preferences.shape} and {items.shape}"
        )
    cosines = preferences @ items.T
    return np.abs(cosines).max(axis=-1)


def angle_from_start(preferences: ArrayLike) -> np.ndarray:
    """Angle in degrees between each preference and the first, array (steps,) for preferences (steps, features).

    >>> angle_from_start([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).round()
    array([ 0., 45., 90.])
    """
    unit = _unit(preferences)
    cosines = np.clip(unit @ unit[0], -1, 1)
    return np.degrees(np.arccos(cosines))


def item_diversity(actions: ArrayLike, items: ArrayLike) -> float:
    """Mean distance, 1 - cosine, between the items of all pairs of steps.

    The diversity of one item, repeated, is 0.

    Args:
        actions: Array (steps,) of item numbers, at least two.
        items: Array (n_items, features).

    Source:
        Ziegler, McNee, Konstan & Lausen (2005), Improving recommendation lists through topic diversification, WWW
        (intra-list similarity); as a measure of filter bubbles, Nguyen et al. (2014), WWW.

    >>> item_diversity([0, 1, 0], [[1.0, 0.0], [0.0, 1.0]])       # two of three pairs are at a right angle
    0.667
    """
    shown = _unit(items)[np.asarray(actions)]
    if len(shown) < 2:
        raise ValueError(f"item_diversity needs at least 2 steps; got {len(shown)}")
    cosines = shown @ shown.T
    pairs = np.triu_indices(len(shown), 1)
    return float(1 - cosines[pairs].mean())


def filter_bubble(log: pd.DataFrame, items: ArrayLike) -> pd.DataFrame:
    """Compute the narrowing of the user's preference in each episode, one row per episode.

    Args:
        log: Step log of RECEnv with obs.0, obs.1, … (before each step), info.state.0, … (after it) and action.
        items: Array (n_items, features).

    Returns:
        A DataFrame of env, agent, seed and episode (as far as the log has them), diversity (of the items shown), before
        and after (polarisation at the start and the end), bubble (after - before; above 0 if the preference has become
        narrower), angle_from_start (degrees between start and end).
    """
    n_features = np.shape(items)[1]
    before_step = [f"obs.{k}" for k in range(n_features)]
    after_step = [f"info.state.{k}" for k in range(n_features)]
    columns = [*before_step, *after_step, "action", "episode"]
    require_columns(log, *columns, table_name="the log")
    keys = [key for key in ("env", "agent", "seed", "episode") if key in log]
    rows = []
    for labels, steps in log.groupby(keys, sort=False):
        start = steps[before_step].iloc[0]
        end = steps[after_step].iloc[-1]
        preferences = np.vstack([start, end]).astype(float)
        before, after = polarisation(preferences, items)
        row = {
            **dict(zip(keys, labels)),
            "diversity": item_diversity(steps["action"], items),
            "before": before,
            "after": after,
            "bubble": after - before,
            "angle_from_start": angle_from_start(preferences)[1],
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _unit(vectors) -> np.ndarray:
    """Return vectors (…, features) divided by their lengths."""
    vectors = np.asarray(vectors, float)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    require(lengths.all(), "a vector of zeros has no direction")
    return vectors / lengths
