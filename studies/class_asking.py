"""Measure the advantage of many submissions to the public half of Challenge 1, for `notebooks/README.md`.

    python studies/class_asking.py [PEOPLE [PER_QUARTER]]

By default 60 people and 1000 notifications, one second per person. Each person is the user of Challenge 1 in a class
with its own secret. A team first submits the answers of a logistic model of the history. Then it submits the 19 kinds
of notification (category and subject) that the model rates best, each for all contexts. It keeps the file with the
best public share. The script also measures how much other combinations can earn than the catalogue's notifications.
"""

import sys
from itertools import product

import numpy as np
import pandas as pd

from pushlab.users.candidates import catalogue_candidates
from pushlab.users.judges import fit_judge
from pushlab_classroom.private_users import (
    PrivateUser,
    derive,
    expected_points_and_best,
    make_world,
    new_secret,
    shuffle,
)

CATEGORY = 1
SUBJECT = 3
OPEN_FEATURES = (2, 4, 5, 6)  # features that apps can set freely, such as the priority
UPLOADS = (1, 5, 10, 20)


def rewards(world, code):
    """Return the points of one notification in all contexts, and the best possible points."""
    return expected_points_and_best(world, np.repeat(code[None], len(world), axis=0))


def shares(number, per_quarter):
    """Return a person's private share after each number of uploads, and the best possible shares."""
    secret = new_secret(f"asking {number}")
    person = PrivateUser(derive(secret, "person", "history", 0), None, per_quarter)
    world = make_world("evalumap1", person, 0, 0)
    user = person.simulate(person.seed, 168, 84)
    count = len(world)
    public = np.isin(np.arange(count), shuffle(secret, count, "halves")[: count // 2])
    candidates = catalogue_candidates(user)
    best = rewards(world, candidates[0])[1]
    points = np.array([rewards(world, code)[0] for code in candidates])
    best_code = candidates[points.sum(axis=1).argmax()]
    files = submissions(world, user, candidates, points)
    return private_shares(files, best, public) | {
        "candidates": points.max(axis=0).sum() / best.sum(),
        "combinations": best_combinations(world, best_code).sum() / best.sum(),
    }


def submissions(world, user, candidates, points):
    """Return the points of each submitted file in each context, the file of the model first.

    Args:
        candidates: Notifications, shape (candidates, features).
        points: Points of each candidate in each context, shape (candidates, contexts).
    """
    judge = fit_judge(user.history, "logistic")
    contexts = world.period.context_codes
    probabilities = []
    for code in candidates:
        codes = np.repeat(code[None], len(world), axis=0)
        probabilities.append(judge.probability(contexts, codes))
    favourites = {}  # the best candidate of each kind, the best kind first
    for row in np.argsort(-np.sum(probabilities, axis=1)):
        kind = tuple(candidates[row][[CATEGORY, SUBJECT]])
        favourites.setdefault(kind, row)
    rows = list(favourites.values())[: max(UPLOADS) - 1]
    choices = np.argmax(probabilities, axis=0)
    return [points[choices, np.arange(len(world))], *points[rows]]


def private_shares(files, best, public):
    """Return the private share of the file with the best public share, for each number of uploads."""
    public_shares = []
    private = []
    for file in files:
        public_shares.append(round(file[public].sum() / best[public].sum(), 3))
        private.append(round(file[~public].sum() / best[~public].sum(), 3))
    result = {}
    for count in UPLOADS:
        chosen = np.argmax(public_shares[:count])
        result[f"{count} uploads"] = private[chosen]
    return result


def best_combinations(world, code):
    """Return the highest points of all combinations of categories and subjects in each context.

    Args:
        code: Notification whose other features are optimised first.
    """
    # The effects of the open features add up, so each is optimised separately.
    code = code.copy()
    for feature in OPEN_FEATURES:
        variants = np.repeat(code[None], world.action_space.nvec[feature], axis=0)
        variants[:, feature] = np.arange(len(variants))
        code = max(variants, key=lambda variant: rewards(world, variant)[0].sum())
    highest = np.full(len(world), -np.inf)
    sizes = world.action_space.nvec - 1
    for pair in product(range(sizes[CATEGORY]), range(sizes[SUBJECT])):
        code[[CATEGORY, SUBJECT]] = pair
        highest = np.maximum(highest, rewards(world, code)[0])
    return highest


def main(people=60, per_quarter=1000):
    """Print mean, maximum and standard error of the shares."""
    table = pd.DataFrame([shares(number, per_quarter) for number in range(people)])
    print(table.agg(["mean", "max", "sem"]).T.round(3))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
