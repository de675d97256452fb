"""What a recommender makes of its users: how narrow the shelf becomes, and how far preferences move."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


def polarisation(preferences: ArrayLike, items: ArrayLike) -> np.ndarray:
    """How near each preference is to being all about one item: the largest |cosine| to any item, 0 to 1.

    preferences  array (…, features)
    items        array (n_items, features)
    returns      array (…)
    Source       Dean & Morgenstern (2022): under biased assimilation a preference converges to ± an item that is
                 shown again and again; 1 is that limit.

    >>> polarisation([[1.0, 0.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]).round(3)
    array([1.   , 0.707])
    """
    preferences, items = np.asarray(preferences, float), np.asarray(items, float)
    if items.ndim != 2 or preferences.shape[-1] != items.shape[1]:
        raise ValueError(
            f"preferences (…, features) and items (n_items, features) have as many features; got "
            f"{preferences.shape} and {items.shape}"
        )
    lengths = np.linalg.norm(preferences, axis=-1), np.linalg.norm(items, axis=1)
    if not lengths[0].all() or not lengths[1].all():
        raise ValueError("a vector of zeros has no direction")
    return np.abs(
        (preferences / lengths[0][..., None]) @ (items / lengths[1][:, None]).T
    ).max(axis=-1)


def turned(preferences: ArrayLike) -> np.ndarray:
    """Degrees by which each preference has turned from the first, array (steps,) for preferences (steps, features).

    >>> turned([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).round()
    array([ 0., 45., 90.])
    """
    preferences = np.asarray(preferences, float)
    unit = preferences / np.linalg.norm(preferences, axis=1, keepdims=True)
    return np.degrees(np.arccos(np.clip(unit @ unit[0], -1, 1)))


def item_diversity(actions: ArrayLike, items: ArrayLike) -> float:
    """Mean distance, 1 - cosine, between the items of all pairs of steps: 0 for the same item all the time.

    actions  array (steps,) of item numbers, at least two
    items    array (n_items, features)
    Source   Ziegler, McNee, Konstan & Lausen (2005), Improving recommendation lists through topic diversification,
             WWW (intra-list similarity); as a measure of filter bubbles, Nguyen et al. (2014), WWW.

    >>> item_diversity([0, 1, 0], [[1.0, 0.0], [0.0, 1.0]])       # two of three pairs are at a right angle
    0.667
    """
    items, actions = np.asarray(items, float), np.asarray(actions)
    if len(actions) < 2:
        raise ValueError(f"diversity is that of at least 2 steps; got {len(actions)}")
    shown = items[actions] / np.linalg.norm(items[actions], axis=1, keepdims=True)
    first, second = np.triu_indices(len(shown), 1)
    return float(1 - (shown @ shown.T)[first, second].mean())


def filter_bubble(
    log: pd.DataFrame, items: ArrayLike, features: int | None = None
) -> pd.DataFrame:
    """How far each episode closed in on its user, a DataFrame with a row an episode.

    log       step log of RECEnv with obs.0, obs.1, … (before each step), info.state.0, … (after it) and action
    items     array (n_items, features)
    features  how many components of the state are preference; None takes as many as an item has
    returns   run columns (agent, seed, episode as far as there), diversity (of the items shown), before and after
              (polarisation at both ends), bubble (after - before; above 0 the user has become narrower), turned
              (degrees between both ends)
    """
    items = np.asarray(items, float)
    width = items.shape[1] if features is None else features
    keys = [
        column
        for column in ("env", "agent", "seed", "episode")
        if column in log.columns
    ]
    first = [f"obs.{k}" for k in range(width)]
    states = [f"info.state.{k}" for k in range(width)]
    missing = [
        column for column in (*first, *states, "action") if column not in log.columns
    ]
    if missing or not keys:
        raise ValueError(
            f"the log has no column {missing[0] if missing else 'episode'!r}"
        )
    rows = []
    for key, steps in log.groupby(keys, sort=False):
        ends = np.vstack([steps[first].iloc[0], steps[states].iloc[-1]]).astype(float)
        before, after = polarisation(ends, items)
        rows.append(
            {
                **dict(zip(keys, key)),
                "diversity": item_diversity(steps["action"].to_numpy(), items),
                "before": before,
                "after": after,
                "bubble": after - before,
                "turned": turned(ends)[1],
            }
        )
    return pd.DataFrame(rows)
