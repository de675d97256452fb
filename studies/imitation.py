"""A small tree imitates a doctor, from her patients or from its own (DAgger). It takes about a
minute on one core.

    python studies/imitation.py --out data/ode/imitation.csv

writes imitation.csv, one row per depth, seed, source of states and round.

The teacher is the policy of fitted Q iteration after five rounds of twenty patients, as in notebook
8. The learner is a decision tree of 8 levels, which can't represent the teacher's whole policy, or
of 30, which can. In each round four new patients are treated from near the unhealthy state, and the
teacher labels each of their states with her action. The next tree is fitted to all labels so far.
The four patients are treated by one of two:

- `teacher`: the teacher herself: the tree learns from states that she leads to (behaviour cloning)
- `learner`: the tree of the round before: it learns from states that it leads to itself (DAgger,
  with a mixture of beta = 1 in the first round and 0 afterwards)

Both need the same number of labels. After each round the tree treats twenty further patients, the
same for all.

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
    in_logarithms,
    learn_in_rounds,
    make_agent,
    make_world,
    near_unhealthy,
    treat,
)
from pushlab.envs.ode.hiv import HIV

TEACHER_SEED = 6  # ends healthy; interventions.py counts how often
PATIENTS = 4
EXAMINED = 20
DEPTHS = (8, 30)
ROUNDS = 8
SEEDS = 10


def make_teacher(world: HIV) -> Callable[[np.ndarray], np.ndarray]:
    """Return the policy of fitted Q iteration after five rounds of twenty patients."""
    agent = make_agent(trees=10, growths=3, seed=TEACHER_SEED)
    for _ in learn_in_rounds(world, agent, rounds=5, patients=20, seed=TEACHER_SEED):
        pass
    return partial(agent.act_each, explore=False)


def imitate(
    world: HIV, teacher: Callable, who: str, seed: int, depth: int
) -> list[dict]:
    """Let a tree imitate the teacher and return a row a round.

    Args:
        who: "teacher" or "learner", who treats the patients that the tree learns from; the first
            four are the teacher's.
    """
    rng = np.random.default_rng(seed)
    policy = teacher
    inputs = np.empty((0, 6))
    answers = np.empty(0, int)
    rows = []
    for number in range(1, ROUNDS + 1):
        starts = near_unhealthy(world, PATIENTS, rng)
        doctor = teacher if who == "teacher" else policy
        states = treat(world, doctor, starts=starts)[0][:-1].reshape(-1, 6)
        inputs = np.vstack([inputs, in_logarithms(states)])
        answers = np.append(answers, teacher(states))
        tree = DecisionTreeClassifier(max_depth=depth, random_state=seed)
        tree.fit(inputs, answers)
        policy = partial(tree_policy, tree)
        about = {"who": who, "depth": depth, "seed": seed, "round": number}
        learned = {"labels": len(answers), "fits": tree.score(inputs, answers)}
        rows.append({**about, **learned, **examine_many(world, teacher, policy)})
    return rows


def tree_policy(tree: DecisionTreeClassifier, states: np.ndarray) -> np.ndarray:
    return tree.predict(in_logarithms(states))


def examine_many(world: HIV, teacher: Callable, policy: Callable) -> dict[str, float]:
    """Treat twenty patients: mean return, share of the teacher's decisions, number who end healthy."""
    starts = near_unhealthy(world, EXAMINED, np.random.default_rng(2011))
    states, actions, rewards = treat(world, policy, starts=starts)
    return {
        "return": discounted(rewards).mean(),
        "agrees": np.mean(teacher(states[:-1].reshape(-1, 6)) == actions.ravel()),
        "healthy": int((basin(world, states[-1]) == "healthy").sum()),
    }


def main(
    out: Annotated[Path, typer.Option(help="CSV file.")],
    seeds: Annotated[int, typer.Option(help="Imitations of each kind.")] = SEEDS,
) -> None:
    """Run the study and write the table."""
    world = make_world()
    teacher = make_teacher(world)
    herself = {"who": "the teacher herself", "labels": 0}
    rows = [{**herself, **examine_many(world, teacher, teacher)}]
    for depth, seed, who in product(DEPTHS, range(seeds), ("teacher", "learner")):
        rows += imitate(world, teacher, who, seed, depth)
    columns = ["who", "depth", "seed", "round", "labels"]
    columns += ["fits", "agrees", "return", "healthy"]
    table = pd.DataFrame(rows, columns=columns)
    table = table.astype({"depth": "Int64", "seed": "Int64", "round": "Int64"})
    table.to_csv(out, index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    typer.run(main)
