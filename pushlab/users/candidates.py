"""The notifications that an agent chooses from.

The action space is the product of all features. Most of its millions of combinations make no sense. An agent therefore
chooses from a list of candidates: the notifications of the user's history or of a published catalogue.
"""

from typing import Any

import numpy as np

from pushlab.datasets.periods import User
from pushlab.users.simulated import validate_codes
from pushlab.utils.arguments import short_repr


def catalogue_candidates(user: User) -> np.ndarray:
    """Return the rows of a user's catalogue, with every other feature at its neutral value, int64 (k, components).

    Without a catalogue (`catalogue.csv`), return the distinct combinations of open features in the history. They show
    which notifications exist, but not which were opened.
    """
    features = user.schema.notification
    rows = np.array(user.catalogue_codes)
    if user.catalogue is None:
        columns = [
            column
            for column, name in enumerate(features.components)
            if name in features.names and features[name].kind == "open"
        ]
        rows = np.full((len(user.history), len(features.components)), -1)
        rows[:, columns] = user.history.notification_codes[:, columns]
    neutral_values = {feature.name: feature.neutral_value for feature in features}
    neutral_codes = features.encode_one(neutral_values)
    return np.unique(np.where(rows < 0, neutral_codes, rows), axis=0)


def candidates_for(user: User, source: Any) -> np.ndarray:
    """Return candidate notifications as codes, int64 (k, components).

    Args:
        source: "history": the distinct notifications of the user's history, in the order of their codes.
            "catalogue": the result of `catalogue_candidates`. An array of codes is validated and returned as it is.

    Raises:
        ValueError: `source` is not one of these, or its codes don't fit the schema.
    """
    if isinstance(source, str) and source == "history":
        return np.unique(user.history.notification_codes, axis=0)
    if isinstance(source, str) and source == "catalogue":
        return catalogue_candidates(user)
    try:
        codes = np.array(source)
    except ValueError:  # rows of different lengths
        codes = np.array([])
    if isinstance(source, str) or not codes.size:
        raise ValueError(
            f"candidates must be 'history', 'catalogue' or an array of codes; got {short_repr(source)}"
        )
    return validate_codes(codes, user.schema.notification, "candidates")
