"""Which notifications an agent chooses from.

The action space is the product of all features, millions of combinations that mostly make no sense. An agent looks
at a list of candidates instead: what the user's history holds, or a published catalogue of what exists.
"""

from typing import Any

import numpy as np

from pushlab.datasets.periods import User
from pushlab.ground.arguments import in_short
from pushlab.users.simulated import checked_codes


def catalogue_candidates(user: User) -> np.ndarray:
    """The rows of a user's catalogue with every other feature at its neutral value, int64 (k, components).

    Without a catalogue (`catalogue.csv`) the combinations of open features in the history take its place: which
    notifications there are, and nothing about what became of them.
    """
    half = user.schema.notification
    rows = np.array(user.catalogue_codes)
    if user.catalogue is None:
        named = [
            at
            for at, name in enumerate(half.components)
            if name in half.names and half[name].kind == "open"
        ]
        rows = np.full((len(user.history), len(half.components)), -1)
        rows[:, named] = user.history.notification_codes[:, named]
    neutral = half.encode_one({feature.name: feature.neutral_word for feature in half})
    return np.unique(np.where(rows < 0, neutral, rows), axis=0)


def candidates_for(user: User, which: Any) -> np.ndarray:
    """Candidates, int64 (k, components): by name, or an array of codes, checked, as it is.

    Args:
        which: "history": the distinct notifications of the user's history, in the order of their
            codes; "catalogue": those of `catalogue_candidates`.
    """
    if isinstance(which, str) and which == "history":
        return np.unique(user.history.notification_codes, axis=0)
    if isinstance(which, str) and which == "catalogue":
        return catalogue_candidates(user)
    try:
        codes = np.array(which)
    except ValueError:  # rows of different lengths
        codes = np.array([])
    if isinstance(which, str) or not codes.size:
        raise ValueError(
            f"candidates are 'history', 'catalogue' or an array of codes; got {in_short(which)}"
        )
    return checked_codes(codes, user.schema.notification, "candidates")
