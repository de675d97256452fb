"""Measure how much shares differ between the people of a class, for the table in `notebooks/README.md`.

    python studies/class_precision.py

This takes a minute. Each agent has 24 people of its own. People with the same number are equally difficult.
"""

import gymnasium as gym
import pandas as pd
from scipy.stats import t

from pushlab import rollout
from pushlab.agents import EpsilonGreedy, LinUCB, RandomCandidate, ThompsonSampling
from pushlab.metrics.push import expected_points
from pushlab_classroom.private_users import derive, new_secret, private_user

AGENTS = {
    "LinUCB": LinUCB,
    "Thompson": ThompsonSampling,
    "eps-greedy": EpsilonGreedy,
    "random": RandomCandidate,
}
PEOPLE = 24


def share(user, agent, seed):
    """Return the expected points of an agent as a share of those of the catalogue's best notifications."""
    env = gym.make("pushlab/evalumap2-v0", user=user, reveal=True)
    log = rollout(env, agent, seed=seed, progress=False)
    points = expected_points(log["info.actual"], log["info.probability"])
    best = expected_points(log["info.actual"], log["info.best"])
    return points.sum() / best.sum()


def shares(agent):
    """Return the share of the best expected points for each person."""
    secret = new_secret("precision")
    settings = {"secret": secret.hex(), "episodes": PEOPLE, "per_quarter": 1000}
    values = []
    for number in range(PEOPLE):
        person = private_user(settings, agent, "evalumap2", True, number)
        user = person.simulate(derive(secret, "days", number, agent), 84)
        values.append(share(user, AGENTS[agent](), number))
    return values


def main():
    """Print the spread of the shares, and the intervals for several numbers of episodes."""
    table = pd.DataFrame({agent: shares(agent) for agent in AGENTS})
    gaps = table.rsub(table["LinUCB"], axis=0)
    spread = table["LinUCB"].std()
    gap_spread = gaps["eps-greedy"].std()
    print(table.agg(["mean", "std"]).round(2))
    print(gaps.agg(["mean", "std"]).round(3))
    for episodes in (5, 10, 20, 40):
        half = t.isf(0.025, episodes - 1) * spread / episodes**0.5
        row = [episodes, round(half, 2)]
        for teams in (2, 10, 40):
            pairs = teams * (teams - 1) / 2
            critical = t.isf(0.025 / pairs, episodes - 1)
            row.append(round(critical * gap_spread / episodes**0.5, 2))
        print(*row)


if __name__ == "__main__":
    main()
