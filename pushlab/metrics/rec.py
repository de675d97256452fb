"""What a recommender makes of its users: how narrow the shelf becomes, and how far preferences move."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.ground.arguments import demand, has_columns


def polarisation(preferences: ArrayLike, items: ArrayLike) -> np.ndarray:
    """How near each preference is to being all about one item: the largest |cosine| to any item, 0
    to 1.

    Args:
        preferences: Array (…, features).
        items: Array (n_items, features).

    Returns:
        Array (…).

    Source:
        Dean & Morgenstern (2022): under biased assimilation a preference converges to ± an item
        that is shown again and again; 1 is that limit.

    >>> polarisation([[1.0, 0.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]).round(3)
    array([1.   , 0.707])
    """
    preferences = _unit(preferences)
    items = _unit(items)
    if items.ndim != 2 or preferences.shape[-1] != items.shape[1]:
        raise ValueError(
            "preferences (…, features) and items (n_items, features) have as many features; got "
            f"{preferences.shape} and {items.shape}"
        )
    return np.abs(preferences @ items.T).max(axis=-1)


def turned(preferences: ArrayLike) -> np.ndarray:
    """Degrees by which each preference has turned from the first, array (steps,) for preferences (steps, features).

    >>> turned([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).round()
    array([ 0., 45., 90.])
    """
    unit = _unit(preferences)
    return np.degrees(np.arccos(np.clip(unit @ unit[0], -1, 1)))


def item_diversity(actions: ArrayLike, items: ArrayLike) -> float:
    """Mean distance, 1 - cosine, between the items of all pairs of steps: 0 for the same item all
    the time.

    Args:
        actions: Array (steps,) of item numbers, at least two.
        items: Array (n_items, features).

    Source:
        Ziegler, McNee, Konstan & Lausen (2005), Improving recommendation lists through topic
        diversification, WWW (intra-list similarity); as a measure of filter bubbles, Nguyen et al.
        (2014), WWW.

    >>> item_diversity([0, 1, 0], [[1.0, 0.0], [0.0, 1.0]])       # two of three pairs are at a right angle
    0.667
    """
    shown = _unit(items)[np.asarray(actions)]
    if len(shown) < 2:
        raise ValueError(f"diversity is that of at least 2 steps; got {len(shown)}")
    first, second = np.triu_indices(len(shown), 1)
    return float(1 - (shown @ shown.T)[first, second].mean())


def filter_bubble(log: pd.DataFrame, items: ArrayLike) -> pd.DataFrame:
    """Compute how far each episode closed in on its user, one row per episode.

    Args:
        log: Step log of RECEnv with obs.0, obs.1, … (before each step), info.state.0, … (after it) and action.
        items: Array (n_items, features).

    Returns:
        A DataFrame of run columns (env, agent, seed, episode as far as the log has them), diversity (of the items
        shown), before and after (polarisation at both ends), bubble (after - before; above 0 the user has become
        narrower), turned (degrees between both ends).
    """
    width = np.shape(items)[1]
    first = [f"obs.{k}" for k in range(width)]
    states = [f"info.state.{k}" for k in range(width)]
    has_columns(log, *first, *states, "action", "episode", what="the log")
    keys = [key for key in ("env", "agent", "seed", "episode") if key in log]
    rows = []
    for key, steps in log.groupby(keys, sort=False):
        ends = np.vstack([steps[first].iloc[0], steps[states].iloc[-1]]).astype(float)
        before, after = polarisation(ends, items)
        row = dict(zip(keys, key)) | {
            "diversity": item_diversity(steps["action"], items),
            "before": before,
            "after": after,
            "bubble": after - before,
            "turned": turned(ends)[1],
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _unit(vectors) -> np.ndarray:
    """Return vectors (…, features) divided by their lengths."""
    vectors = np.asarray(vectors, float)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    demand(lengths.all(), "a vector of zeros has no direction")
    return vectors / lengths
