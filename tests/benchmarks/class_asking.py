"""What asking the public half of Challenge 1 gains, and how far combinations that no app sends reach.

    python tests/benchmarks/class_asking.py [PEOPLE [PER_QUARTER]]      60 and 1000; a second a person

For `notebooks/README.md`. Each person is the user of a class's Challenge 1, with a secret of their own. Somebody hands
in the answers of a logistic model of the history, then the 19 kinds of notification (category and subject) that the
model likes best, each for all moments, and keeps the file whose public share is the highest.
"""

import sys
from itertools import product

import gymnasium as gym
import numpy as np
import pandas as pd

from pushlab import rollout
from pushlab.agents import ThompsonSampling
from pushlab.classroom.chance import derived, new_secret, shuffled
from pushlab.classroom.lives import Person, person_of, world_of, worth_of
from pushlab.metrics.push import expected_points
from pushlab.users.candidates import catalogue_candidates
from pushlab.users.judges import fit_judge

CATEGORY, SUBJECT = 1, 3
FREE = (2, 4, 5, 6)                 # features that apps leave open, such as the priority
UPLOADS = (1, 3, 5, 10, 20)
PLAYED, SHORT = 24, 300             # people and contexts of the comparison by Thompson sampling


def asked(number, per_quarter):
    """Private shares of a person by uploads, and what the best candidate and the best combination would earn."""
    secret = new_secret(f"asking {number}")
    person = Person(derived(secret, "person", "history", 0), None, per_quarter)
    world = world_of("evalumap1", person, 0, 0)
    count, user = len(world), person.live(person.seed, 168, 84)
    public = np.isin(np.arange(count), shuffled(secret, count, "halves")[:count // 2])

    def earned(code):
        return worth_of(world, np.repeat(code[None], count, axis=0))

    candidates = catalogue_candidates(user)
    best = earned(candidates[0])[1]
    table = np.array([earned(code)[0] for code in candidates])
    judge, contexts = fit_judge(user.history, "logistic"), world.period.context_codes
    chances = np.array([judge.probability(contexts, np.repeat(code[None], count, axis=0)) for code in candidates])
    kinds = {}
    for row in np.argsort(-chances.sum(axis=1)):
        kinds.setdefault((candidates[row][CATEGORY], candidates[row][SUBJECT]), row)
    files = [table[chances.argmax(axis=0), np.arange(count)], *table[list(kinds.values())[:max(UPLOADS) - 1]]]
    told, private = ([round(file[half].sum() / best[half].sum(), 3) for file in files] for half in (public, ~public))

    code = candidates[table.sum(axis=1).argmax()].copy()
    for feature in FREE:            # their effects add up, so that one is chosen after the other
        tried = np.repeat(code[None], world.action_space.nvec[feature], axis=0)
        tried[:, feature] = np.arange(len(tried))
        code = max(tried, key=lambda one: earned(one)[0].sum())
    highest, words = np.full(count, -np.inf), world.action_space.nvec - 1
    for pair in product(range(words[CATEGORY]), range(words[SUBJECT])):
        code[[CATEGORY, SUBJECT]] = pair
        highest = np.maximum(highest, earned(code)[0])
    return {**{f"{most} uploads": private[int(np.argmax(told[:most]))] for most in UPLOADS},
            "candidates": table.max(axis=0).sum() / best.sum(), "combinations": highest.sum() / best.sum()}


def played(number):
    """What Thompson sampling earns among all pairs of category and subject more than among the catalogue's."""
    secret = new_secret("asking")
    settings = {"secret": secret.hex(), "episodes": PLAYED, "per_quarter": SHORT}
    user = person_of(settings, "one", "evalumap2", True, number).live(derived(secret, "days", number), 84)
    first = catalogue_candidates(user)[0]
    pairs = np.array([[*first[:1], category, first[2], subject, *first[4:]]
                      for category, subject in product(range(1, 13), range(1, 29))])
    shares = []
    for candidates in (pairs, "catalogue"):
        env = gym.make("pushlab/evalumap2-v0", user=user, reveal=True, candidates=candidates)
        log = rollout(env, ThompsonSampling(), seed=number, progress=False)
        points = [expected_points(log["info.actual"], log[f"info.{name}"]).sum() for name in ("probability", "best")]
        shares.append(points[0] / points[1])
    return shares[0] - shares[1]


if __name__ == "__main__":
    people, per_quarter = map(int, (sys.argv[1:] + ["60", "1000"][len(sys.argv) - 1:]))
    found = pd.DataFrame([asked(number, per_quarter) for number in range(people)])
    gain = found[f"{max(UPLOADS)} uploads"] - found["1 uploads"]
    print(found.agg(["mean", "max", "sem"]).T.round(3))
    print(f"gain {gain.mean():.3f}, standard error {gain.sem():.3f}")
    more = pd.Series([played(number) for number in range(PLAYED)])
    print(f"all pairs of category and subject: {more.mean():.3f} more, standard error {more.sem():.3f}")
