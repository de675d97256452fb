"""How far shares of a class's people lie apart, for the table of `notebooks/README.md`: half a minute.

    python tests/benchmarks/class_precision.py

Each agent meets 24 people, each in a stretch of days of its own, as teams of a class do.
"""

import gymnasium as gym
import pandas as pd
from scipy.stats import t

from pushlab import rollout
from pushlab.agents import EpsilonGreedy, LinUCB, RandomCandidate, ThompsonSampling
from pushlab.classroom.chance import derived, new_secret
from pushlab.classroom.lives import Person
from pushlab.metrics.push import expected_points

AGENTS = {"LinUCB": LinUCB, "Thompson": ThompsonSampling, "eps-greedy": EpsilonGreedy, "random": RandomCandidate}
PEOPLE, PER_QUARTER, QUARTER = 24, 1000, 91


def shares():
    """Share of the best possible expected points, (people, agents)."""
    secret, rows = new_secret("precision"), []
    for number in range(PEOPLE):
        seed = derived(secret, "user", number)
        intercept = Person(seed, None, PER_QUARTER).live(seed, 2 * QUARTER).truth["intercept"]
        row = {}
        for at, (name, make) in enumerate(AGENTS.items()):
            user = Person(seed, intercept, PER_QUARTER).live(derived(secret, "days", number, at), QUARTER)
            log = rollout(gym.make("pushlab/evalumap2-v0", user=user, reveal=True), make(), seed=number, progress=False)
            earned, best = (expected_points(log["info.actual"], log[f"info.{name}"]).sum()
                            for name in ("probability", "best"))
            row[name] = earned / best
        rows.append(row)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    found = shares()
    gaps = pd.DataFrame({name: found["LinUCB"] - found[name] for name in list(AGENTS)[1:]})
    print(found.agg(["mean", "std"]).round(2), gaps.agg(["mean", "std"]).round(3), sep="\n\n")
    spread, apart = found["LinUCB"].std(), gaps["eps-greedy"].std()
    for episodes in (5, 10, 20, 40):
        half = t.isf(0.025, episodes - 1) * spread / episodes**0.5
        told = [t.isf(0.025 / (teams * (teams - 1) / 2), episodes - 1) * apart / episodes**0.5 for teams in (2, 10, 40)]
        print(episodes, f"{half:.2f}", *(f"{gap:.2f}" for gap in told))
