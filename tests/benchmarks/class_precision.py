"""How far shares of a class's people lie apart, for the table of `notebooks/README.md`: half a minute.

    python tests/benchmarks/class_precision.py

Each agent meets 24 people of its own, those of one number being as hard, as teams of a class do.
"""

import gymnasium as gym
import pandas as pd
from scipy.stats import t

from pushlab import rollout
from pushlab.agents import EpsilonGreedy, LinUCB, RandomCandidate, ThompsonSampling
from pushlab.classroom.chance import derived, new_secret
from pushlab.classroom.lives import person_of
from pushlab.metrics.push import expected_points

AGENTS = {"LinUCB": LinUCB, "Thompson": ThompsonSampling, "eps-greedy": EpsilonGreedy, "random": RandomCandidate}
PEOPLE, PER_QUARTER = 24, 1000


def shares():
    """Share of the best possible expected points, (people, agents)."""
    secret, rows = new_secret("precision"), []
    settings = {"secret": secret.hex(), "episodes": PEOPLE, "per_quarter": PER_QUARTER}
    for number in range(PEOPLE):
        row = {}
        for name, make in AGENTS.items():
            user = person_of(settings, name, "evalumap2", True, number).live(derived(secret, "days", number, name), 84)
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
