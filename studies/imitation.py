"""Let a decision tree imitate a teacher, from the teacher's states or from its own (DAgger).

    python studies/imitation.py --out data/ode/imitation.csv

writes imitation.csv, one row per depth, seed, source of states and round, in about a minute on one core.

The teacher is the policy of fitted Q iteration after five rounds of twenty patients, as in notebook 8. The learner is a
decision tree of 8 levels, which can't represent the teacher's full policy, or of 30, which can. In each round four new
patients start near the unhealthy state, and the teacher labels each of their states with its action. The next tree is
fitted to all labels so far. There are two ways to treat the four patients:

- `teacher`: by the teacher, so that the tree learns from the teacher's states (behaviour cloning)
- `learner`: by the tree of the previous round, so that it learns from its own states (DAgger, with a mixture of
  beta = 1 in the first round and 0 afterwards)

Both need the same number of labels. After each round the tree treats twenty test patients, the same for all trees.

Source: Ross, Gordon & Bagnell (2011), A reduction of imitation learning and structured prediction
to no-regret online learning, AISTATS 15, 627-635. Ours: patients, tree and teacher.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from sklearn.tree import DecisionTreeClassifier

from pushlab.agents.treatment import (
    basin,
    discounted,
    draw_initial_states,
    learn_in_rounds,
    log10_states,
    make_agent,
    make_world,
    treat,
)
from pushlab.envs.ode.hiv import HIV

TEACHER_SEED = (
    6  # its policy ends healthy; interventions.py counts how often that happens
)
PATIENTS = 4
TEST_PATIENTS = 20
DEPTHS = (8, 30)
ROUNDS = 8
SEEDS = 10


def make_teacher(world: HIV) -> Callable[[np.ndarray], np.ndarray]:
    """Return the policy of fitted Q iteration after five rounds of twenty patients."""
    agent = make_agent(trees=10, forest_fits=3, seed=TEACHER_SEED)
    for _ in learn_in_rounds(world, agent, rounds=5, patients=20, seed=TEACHER_SEED):
        pass
    return partial(agent.act_each, explore=False)


def imitate(
    world: HIV, teacher: Callable, source: str, seed: int, depth: int
) -> list[dict]:
    """Let a tree imitate the teacher and return one row per round.

    Args:
        source: "teacher" or "learner", which treats the patients of the training states. The first four are always
            treated by the teacher.
    """
    rng = np.random.default_rng(seed)
    policy = teacher
    inputs = np.empty((0, 6))
    labels = np.empty(0, int)
    rows = []
    for number in range(1, ROUNDS + 1):
        starts = draw_initial_states(world, PATIENTS, rng)
        treating_policy = teacher if source == "teacher" else policy
        states, *_ = treat(world, treating_policy, starts=starts)
        states = states[:-1].reshape(-1, 6)
        inputs = np.vstack([inputs, log10_states(states)])
        labels = np.append(labels, teacher(states))
        tree = DecisionTreeClassifier(max_depth=depth, random_state=seed)
        tree.fit(inputs, labels)
        policy = partial(tree_policy, tree)
        row = {
            "who": source,
            "depth": depth,
            "seed": seed,
            "round": number,
            "labels": len(labels),
            "fits": tree.score(inputs, labels),
        }
        rows.append(row | evaluate(world, teacher, policy))
    return rows


def tree_policy(tree: DecisionTreeClassifier, states: np.ndarray) -> np.ndarray:
    """Return the actions that a tree predicts for these states."""
    return tree.predict(log10_states(states))


def evaluate(world: HIV, teacher: Callable, policy: Callable) -> dict[str, float]:
    """Treat the test patients; return their mean return, agreement with the teacher, and how many end healthy."""
    starts = draw_initial_states(world, TEST_PATIENTS, np.random.default_rng(2011))
    states, actions, rewards = treat(world, policy, starts=starts)
    teacher_actions = teacher(states[:-1].reshape(-1, 6))
    is_healthy = basin(world, states[-1]) == "healthy"
    return {
        "return": discounted(rewards).mean(),
        "agrees": np.mean(teacher_actions == actions.ravel()),
        "healthy": int(is_healthy.sum()),
    }


def main(
    out: Annotated[Path, typer.Option(help="CSV file.")],
    seeds: Annotated[int, typer.Option(help="Imitations of each kind.")] = SEEDS,
) -> None:
    """Run the study and write the table."""
    world = make_world()
    teacher = make_teacher(world)
    row = {"who": "the teacher herself", "labels": 0}
    rows = [row | evaluate(world, teacher, teacher)]
    for depth, seed, source in product(DEPTHS, range(seeds), ("teacher", "learner")):
        rows += imitate(world, teacher, source, seed, depth)
    columns = ["who", "depth", "seed", "round", "labels"]
    columns += ["fits", "agrees", "return", "healthy"]
    table = pd.DataFrame(rows, columns=columns)
    table = table.astype({"depth": "Int64", "seed": "Int64", "round": "Int64"})
    table.to_csv(out, index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    typer.run(main)
