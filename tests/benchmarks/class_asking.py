"""What asking the public half of Challenge 1 gains, for `notebooks/README.md`.

    python tests/benchmarks/class_asking.py [PEOPLE [PER_QUARTER]]

60 people and 1000 notifications by default; a second a person. Each person is the user
of Challenge 1 in a class of another secret. A team hands in the answers of a logistic
model of the history, then the 19 kinds of notification (category and subject) that the
model likes best, each for all moments, and keeps the file with the best public share.
Also: how much more than the catalogue's notifications other combinations can earn.
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
    make_world,
    new_secret,
    points_of,
    shuffle,
)

CATEGORY = 1
SUBJECT = 3
FREE = (2, 4, 5, 6)  # features that apps leave open, such as the priority
UPLOADS = (1, 5, 10, 20)


def shares(number, per_quarter):
    """Private shares after so many uploads, and the best that one could earn."""
    secret = new_secret(f"asking {number}")
    person = PrivateUser(derive(secret, "person", "history", 0), None, per_quarter)
    world = make_world("evalumap1", person, 0, 0)
    user = person.simulate(person.seed, 168, 84)
    count = len(world)
    public = np.isin(np.arange(count), shuffle(secret, count, "halves")[: count // 2])

    def for_all(code):
        return np.repeat(code[None], count, axis=0)

    def earned(code):
        return points_of(world, for_all(code))[0]

    candidates = catalogue_candidates(user)
    best = points_of(world, for_all(candidates[0]))[1]
    table = np.array([earned(code) for code in candidates])
    judge = fit_judge(user.history, "logistic")
    contexts = world.period.context_codes
    chances = [judge.probability(contexts, for_all(code)) for code in candidates]
    kinds = {}
    for row in np.argsort(-np.sum(chances, axis=1)):
        kinds.setdefault(tuple(candidates[row][[CATEGORY, SUBJECT]]), row)
    favourites = list(kinds.values())[: max(UPLOADS) - 1]
    files = [table[np.argmax(chances, axis=0), np.arange(count)], *table[favourites]]
    halves = [
        [round(file[half].sum() / best[half].sum(), 3) for file in files]
        for half in (public, ~public)
    ]
    private = {
        f"{most} uploads": halves[1][np.argmax(halves[0][:most])] for most in UPLOADS
    }

    # The effects of the open features add up, so each is chosen on its own.
    code = candidates[table.sum(axis=1).argmax()].copy()
    for feature in FREE:
        tried = np.repeat(code[None], world.action_space.nvec[feature], axis=0)
        tried[:, feature] = np.arange(len(tried))
        code = max(tried, key=lambda one: earned(one).sum())
    highest = np.full(count, -np.inf)
    words = world.action_space.nvec - 1
    for pair in product(range(words[CATEGORY]), range(words[SUBJECT])):
        code[[CATEGORY, SUBJECT]] = pair
        highest = np.maximum(highest, earned(code))
    return private | {
        "candidates": table.max(axis=0).sum() / best.sum(),
        "combinations": highest.sum() / best.sum(),
    }


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    people, per_quarter = given + [60, 1000][len(given) :]
    found = pd.DataFrame([shares(number, per_quarter) for number in range(people)])
    print(found.agg(["mean", "max", "sem"]).T.round(3))
