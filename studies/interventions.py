"""Structured treatment interruption found by fitted Q iteration, ten times, in about an hour on one core.

    python studies/interventions.py --out data/ode --workers 2

writes fitted_q_rounds.csv, one row per policy; fitted_q_patient.csv, the days of the patient of the best policy; and
fitted_q_disturbed.csv, twenty disturbed patients of the same policy.

In each round some patients are treated for 1,000 days, with a decision every 5, from the unhealthy steady state: in the
first round at random, later by the current forests, except for a share of random decisions. The next forests are fitted
to all steps so far. Each round's policy then treats one more patient without random decisions. This patient is left
untreated afterwards until he settles in one of the two steady states. Seeds differ in random doses and in trees.

A policy may succeed by luck or depend on every single decision, so each is also *disturbed*: for each of twenty more
patients one decision of the policy is changed, a different one each. The policy then treats them again, or they get the
rest of the undisturbed patient's schedule. The study counts how many of them end healthy.

`pushlab.agents.treatment` has the set-up, after Ernst, Stan, Gonçalves & Wehenkel (2006): 30 patients a round, ten
rounds, forests of 50 trees.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from pushlab.agents.treatment import (
    DECISIONS,
    basin,
    examine,
    learn_in_rounds,
    make_agent,
    make_world,
    treat,
)
from pushlab.envs.ode.hiv import HIV
from pushlab.experiments.cells import Cell, run_cells

BOTH = 3  # the action of both drugs
DISTURBED = np.arange(0, DECISIONS, 10)  # decisions that are changed, one a patient
ROUNDS = 10
PATIENTS = 30
SEEDS = 10
OUTCOMES = (
    "return",
    "E_after_1000_days",
    "V_after_1000_days",
    "E_after_2000_days",
    "V_after_2000_days",
    "basin",
)


def following(schedule: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the policy that follows a schedule (decisions,) regardless of the states."""
    actions = iter(schedule)
    return lambda states: np.broadcast_to(next(actions), len(states))


def disturb(
    world: HIV, policy: Callable, was: np.ndarray, became: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Treat patients with one changed decision each; return their effectors on day 1,000 and their
    basins.

    Args:
        policy: Decides all but the changed decisions.
        became: Actions (patients,) in place of those in `was`.
    """
    decisions = iter(range(DECISIONS))

    def but_for_one(states):
        return np.where(next(decisions) == DISTURBED, became, policy(states))

    states, *_ = treat(world, but_for_one, len(DISTURBED))
    return states[-1, :, 5], basin(world, states[-1])


def run_one(seed: int, rounds: int, patients: int, trees: int) -> dict[str, list[dict]]:
    """Run all rounds of one seed and return three tables.

    - `schedules`: one row per round and decision: the actions of the examined patient
    - `disturbed`: one row per round and changed decision: day, the action before and after the
      change, effectors on day 1,000 and basin of the patient, if the policy takes all other
      decisions, and if the undisturbed patient's schedule continues

    Args:
        rounds: One row per round: round, steps, OUTCOMES; by_policy and by_schedule, the numbers of
            disturbed patients who end healthy.
    """
    world = make_world()
    agent = make_agent(trees, seed=seed)
    policy = partial(agent.act_each, explore=False)
    round_rows = []
    schedules = []
    disturbed = []
    for number, steps in enumerate(
        learn_in_rounds(world, agent, rounds, patients, seed), start=1
    ):
        outcome, _, actions = examine(world, policy)
        schedule = actions[:DECISIONS]
        schedules += [
            {"round": number, "action": action} for action in schedule.tolist()
        ]
        was = schedule[DISTURBED]
        became = np.where(was == BOTH, 0, BOTH)
        table = pd.DataFrame({"day": DISTURBED * world.timestep})
        table = table.assign(was=was, became=became, round=number)
        row = {"round": number, "steps": steps, **outcome}
        ways = {"by_policy": policy, "by_schedule": following(schedule)}
        for name, way in ways.items():
            effectors, basins = disturb(world, way, was, became)
            table[f"E_{name}"] = effectors
            table[f"basin_{name}"] = basins
            row[name] = int((basins == "healthy").sum())
        disturbed += table.to_dict("records")
        round_rows.append(row)
    return {"rounds": round_rows, "schedules": schedules, "disturbed": disturbed}


def rounds_table(rounds: pd.DataFrame, world: HIV) -> pd.DataFrame:
    """Return one row per constant policy, and one row per seed and round."""
    constant = []
    for action, words in enumerate(world.action_choices[0][1]):
        outcome, *_ = examine(world, following([action] * 2 * DECISIONS))
        constant.append({"policy": f"always {words}", **outcome})
    learned = rounds.assign(policy="fitted Q iteration")
    table = pd.DataFrame(constant + learned.to_dict("records"))
    counts = ["seed", "round", "steps", "by_policy", "by_schedule"]
    columns = [
        "policy",
        "seed",
        "round",
        "steps",
        *OUTCOMES,
        "by_policy",
        "by_schedule",
    ]
    return table[columns].astype(dict.fromkeys(counts, "Int64"))


def best_of(rounds: pd.DataFrame) -> pd.Series:
    """Return the round with the highest return, among those whose patient settles healthy if there are any."""
    healthy = rounds[rounds["basin"] == "healthy"]
    some = healthy if len(healthy) else rounds
    return some.loc[some["return"].idxmax()]


def patient_table(world: HIV, schedule: list[int]) -> pd.DataFrame:
    """Return the days of the patient under a schedule, then without drugs: time, state, action, doses."""
    policy = following(schedule + [0] * DECISIONS)
    _, states, actions = examine(world, policy)
    table = pd.DataFrame(states, columns=world.model.names)
    days = world.timestep * np.arange(len(states))
    table.insert(0, "time", world.config.start_time + days)
    doses = np.vstack([world.dose_of(actions), np.zeros((1, 2))])
    return table.assign(
        action=[*actions, 0], epsilon_1=doses[:, 0], epsilon_2=doses[:, 1]
    )


def of_round(table: pd.DataFrame, best: pd.Series) -> pd.DataFrame:
    """Return the rows of one seed's round."""
    chosen = (table["seed"] == best["seed"]) & (table["round"] == best["round"])
    return table[chosen]


def main(
    out: Annotated[Path, typer.Option(help="Folder of the tables.")],
    seeds: Annotated[int, typer.Option(help="Times that all is learned.")] = SEEDS,
    rounds: int = ROUNDS,
    patients: Annotated[int, typer.Option(help="Patients a round.")] = PATIENTS,
    trees: Annotated[int, typer.Option(help="Trees a forest.")] = 50,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    grid = [
        Cell({"seed": seed}, run_one, (seed, rounds, patients, trees))
        for seed in range(seeds)
    ]
    found = run_cells(grid, workers=workers, name="interventions")
    rounds_found = found["rounds"]
    world = make_world()
    best = best_of(rounds_found)
    schedule = of_round(found["schedules"], best)["action"].tolist()
    disturbed = of_round(found["disturbed"], best)
    first = ["day", "was", "became", "seed", "round"]
    tables = {
        "rounds": rounds_table(rounds_found, world),
        "patient": patient_table(world, schedule),
        "disturbed": disturbed.set_index(first).reset_index(),
    }
    for name, table in tables.items():
        file = out / f"fitted_q_{name}.csv"
        table.to_csv(file, index=False, float_format="%.8g", lineterminator="\n")
    healthy = (rounds_found["basin"] == "healthy").sum()
    print(f"{healthy} of {len(rounds_found)} policies lead to the healthy state")


if __name__ == "__main__":
    typer.run(main)
