"""How much there is to gain with a user: from choosing well once, and from choosing well each time."""

import numpy as np

from pushlab.users.synthesis.catalogue import CATALOGUE
from pushlab.users.synthesis.taste import log_odds, log_odds_grid, open_probability

PLAIN = {"numberOfUpdates": "none", "priority": "default", "ongoing": "False", "visibility": "private"}


def catalogue_columns(rows=CATALOGUE):
    """The catalogue as a dict of columns, every other feature at its most common value."""
    apps, categories, subjects = zip(*rows, strict=True)
    columns = {"postingApp": list(apps), "category": list(categories), "subject": list(subjects)}
    return columns | {name: [value] * len(rows) for name, value in PLAIN.items()}


def headroom(truth, engagements):
    """Mean probabilities of opening over the contexts of a table of engagements, a dict.

    arrived   what arrived, as it arrived
    any_row   a row of the catalogue drawn blindly
    best_row  the one row of the catalogue that is best if it is shown always
    best_each the row that is best in each context: no agent can do better
    """
    grid = open_probability(log_odds_grid(truth, engagements, catalogue_columns()))
    arrived = open_probability(log_odds(truth, engagements, engagements))
    means = {"arrived": arrived, "any_row": grid, "best_row": grid.mean(axis=0).max(), "best_each": grid.max(axis=1)}
    return {name: round(float(np.mean(value)), 3) for name, value in means.items()}
