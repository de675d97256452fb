"""A small tree imitates a doctor: from her own patients, or from its own (DAgger). About a minute of one core.

    python -m pushlab.studies.imitation --out data/ode

The teacher is fitted Q iteration after five rounds of twenty patients, as notebook 8 learns it. The learner is a
decision tree: of 8 levels, which cannot hold the teacher's whole policy, or of 30, which can. In each round four new
patients are treated, who begin near the unhealthy state, and the teacher says for each of their states what she would
do; all answers so far make the next tree. Who treats the four?

    teacher   the teacher herself: the tree learns from states that she leads to (behaviour cloning)
    learner   the tree of the round before: it learns from states that it leads to itself (DAgger, with a mixture of
              beta = 1 in the first round and 0 afterwards)

Both cost the same number of answers. After each round the tree treats twenty further patients, the same for all.

Source: Ross, Gordon & Bagnell (2011), A reduction of imitation learning and structured prediction to no-regret online
learning, AISTATS 15, 627-635. Ours: patients, tree and teacher.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from pushlab.envs.ode.worlds import HIV
from pushlab.ground.commands import run, say
from pushlab.studies import interventions, tables

TEACHER_SEED = 6  # one that ends healthy; interventions says how often that happens
SPREAD = 0.2  # of first states, log-normal
PATIENTS, EXAMINED = 4, 20
DEPTHS, ROUNDS, SEEDS = (8, 30), 8, 10


def make_teacher(world: HIV) -> Callable[[np.ndarray], np.ndarray]:
    """The policy of fitted Q iteration after five rounds of twenty patients: states (n, 6) → actions (n,)."""
    agent = interventions.make_agent(trees=10, growths=3, seed=TEACHER_SEED)
    for _ in interventions.learn_in_rounds(
        world, agent, rounds=5, patients=20, seed=TEACHER_SEED
    ):
        pass
    return lambda states: agent.act_each(states, explore=False)


def near_unhealthy(world: HIV, patients: int, rng: np.random.Generator) -> np.ndarray:
    """First states (patients, 6): the unhealthy steady state, each number a log-normal factor off."""
    return world.model.state("unhealthy") * rng.lognormal(0.0, SPREAD, (patients, 6))


def imitate(
    world: HIV,
    teacher: Callable,
    who: str,
    seed: int,
    rounds: int = ROUNDS,
    depth: int = DEPTHS[0],
) -> Iterator[tuple[Callable, int, float]]:
    """Yields after each round: the learner's policy, the teacher's answers so far, the share that its tree gives, too.

    who  "teacher" or "learner": who treats the patients that the tree learns from; the first four are the teacher's
    """
    from sklearn.tree import DecisionTreeClassifier

    rng, policy, inputs, answers = (
        np.random.default_rng(seed),
        teacher,
        np.empty((0, 6)),
        np.empty(0, int),
    )
    for _ in range(rounds):
        starts = near_unhealthy(world, PATIENTS, rng)
        states = interventions.treat(
            world, teacher if who == "teacher" else policy, starts=starts
        )[0]
        states = states[:-1].reshape(-1, 6)
        inputs, answers = (
            np.vstack([inputs, interventions.in_logarithms(states)]),
            np.append(answers, teacher(states)),
        )
        tree = DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(
            inputs, answers
        )

        def policy(states, tree=tree):
            return tree.predict(interventions.in_logarithms(states))

        yield policy, len(answers), tree.score(inputs, answers)


def examine(world: HIV, teacher: Callable, policy: Callable) -> dict[str, float]:
    """Twenty patients of a policy: their mean discounted return, the share of decisions that are the teacher's, and
    how many settle in the healthy state."""
    starts = near_unhealthy(world, EXAMINED, np.random.default_rng(2011))
    states, actions, rewards = interventions.treat(world, policy, starts=starts)
    return {
        "return": interventions.discounted(rewards).mean(),
        "agrees": np.mean(teacher(states[:-1].reshape(-1, 6)) == actions.ravel()),
        "healthy": int((interventions.basin(world, states[-1]) == "healthy").sum()),
    }


def main(
    out: tables.OutFolder = Path("data/ode"), seeds: int = SEEDS, rounds: int = ROUNDS
) -> None:
    """Runs the study and writes imitation.csv."""
    world = interventions.make_world()
    teacher = make_teacher(world)
    rows = [
        {"who": "the teacher herself", "labels": 0, **examine(world, teacher, teacher)}
    ]
    for depth, seed, who in itertools.product(
        DEPTHS, range(seeds), ("teacher", "learner")
    ):
        for number, (policy, labels, fits) in enumerate(
            imitate(world, teacher, who, seed, rounds, depth), start=1
        ):
            rows.append(
                {
                    "who": who,
                    "depth": depth,
                    "seed": seed,
                    "round": number,
                    "labels": labels,
                    "fits": fits,
                    **examine(world, teacher, policy),
                }
            )
    table = pd.DataFrame(rows).astype(
        {"depth": "Int64", "seed": "Int64", "round": "Int64"}
    )
    columns = [
        "who",
        "depth",
        "seed",
        "round",
        "labels",
        "fits",
        "agrees",
        "return",
        "healthy",
    ]
    tables.write_tables(out, {"imitation": table[columns]}, float_format="%.6g")
    last = table[table["round"] == rounds]
    say(
        last.groupby(["depth", "who"])[["fits", "agrees", "return", "healthy"]]
        .median()
        .to_string()
    )


if __name__ == "__main__":
    run(typer.run, main)
