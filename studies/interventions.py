"""Learn structured treatment interruptions by fitted Q iteration, with ten seeds.

    python studies/interventions.py --out data/ode --workers 2

writes fitted_q_rounds.csv, one row per policy; fitted_q_patient.csv, the days of the patient of the best policy; and
fitted_q_disturbed.csv, twenty disturbed patients of the same policy. It takes about an hour on one core.

In each round some patients are treated for 1,000 days from the unhealthy steady state, with a decision every 5 days.
The decisions are random in the first round. Later they come from the current forests, except for a random share.
The next forests are fitted to all steps so far. Each round's policy then treats one more patient without random
decisions, who stays untreated afterwards until one of the two steady states is reached. Seeds differ in random doses
and in trees.

A policy can succeed by luck or depend on every single decision, so each is also *disturbed*: for each of twenty more
patients a different decision of the policy is changed. All other decisions come from the policy, or from the schedule
of the undisturbed patient. The study counts the patients who end healthy.

`pushlab.agents.treatment` has the set-up, after Ernst, Stan, Gonçalves & Wehenkel (2006): 30 patients per round, ten
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
    learn_in_rounds,
    make_agent,
    make_world,
    simulate_treatment,
    treat,
)
from pushlab.envs.ode.hiv import HIV
from pushlab.experiments.cells import Cell, run_cells

BOTH_DRUGS = 3  # an action
DISTURBED = np.arange(0, DECISIONS, 10)  # the changed decision of each patient
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


def schedule_policy(schedule: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the policy that follows a schedule (decisions,) regardless of the states."""
    actions = iter(schedule)
    return lambda states: np.broadcast_to(next(actions), len(states))


def disturb(
    world: HIV, policy: Callable, new_actions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Treat patients with one changed decision each; return their effectors on day 1,000 and their basins.

    Args:
        policy: Takes all unchanged decisions.
        new_actions: The changed decisions, shape (patients,).
    """
    decisions = iter(range(DECISIONS))

    def disturbed_policy(states):
        is_changed = next(decisions) == DISTURBED
        return np.where(is_changed, new_actions, policy(states))

    states, *_ = treat(world, disturbed_policy, len(DISTURBED))
    return states[-1, :, 5], basin(world, states[-1])


def run_one(seed: int, rounds: int, patients: int, trees: int) -> dict[str, list[dict]]:
    """Run all rounds of one seed and return three tables.

    - `rounds`: one row per round: round, steps, OUTCOMES; by_policy and by_schedule, the numbers of disturbed patients
      who end healthy
    - `schedules`: one row per round and decision: the actions of the undisturbed patient
    - `disturbed`: one row per round and changed decision: day, the action before (`was`) and after the change
      (`became`), and the patient's effectors on day 1,000 and basin, with the other decisions from the policy and from
      the schedule of the undisturbed patient
    """
    world = make_world()
    agent = make_agent(trees, seed=seed)
    policy = partial(agent.act_each, explore=False)
    round_rows = []
    schedules = []
    disturbed = []
    learning = learn_in_rounds(world, agent, rounds, patients, seed)
    for number, steps in enumerate(learning, start=1):
        outcome, _, actions = simulate_treatment(world, policy)
        schedule = actions[:DECISIONS]
        for action in schedule.tolist():
            schedules.append({"round": number, "action": action})
        old_actions = schedule[DISTURBED]
        new_actions = np.where(old_actions == BOTH_DRUGS, 0, BOTH_DRUGS)
        table = pd.DataFrame(
            {
                "day": DISTURBED * world.timestep,
                "was": old_actions,
                "became": new_actions,
                "round": number,
            }
        )
        row = {"round": number, "steps": steps, **outcome}
        policies = {"by_policy": policy, "by_schedule": schedule_policy(schedule)}
        for name, other_decisions in policies.items():
            effectors, basins = disturb(world, other_decisions, new_actions)
            table[f"E_{name}"] = effectors
            table[f"basin_{name}"] = basins
            row[name] = int((basins == "healthy").sum())
        disturbed += table.to_dict("records")
        round_rows.append(row)
    return {"rounds": round_rows, "schedules": schedules, "disturbed": disturbed}


def rounds_table(rounds: pd.DataFrame, world: HIV) -> pd.DataFrame:
    """Return one row per constant policy, and one row per seed and round."""
    constant = []
    for action, name in enumerate(world.action_choices[0][1]):
        outcome, *_ = simulate_treatment(
            world, schedule_policy([action] * 2 * DECISIONS)
        )
        constant.append({"policy": f"always {name}", **outcome})
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
    """Return the round with the highest return, preferably with a patient who ends healthy."""
    healthy = rounds[rounds["basin"] == "healthy"]
    candidates = healthy if len(healthy) else rounds
    return candidates.loc[candidates["return"].idxmax()]


def patient_table(world: HIV, schedule: list[int]) -> pd.DataFrame:
    """Return the days of a patient under a schedule, then without drugs: time, state, action, doses."""
    policy = schedule_policy(schedule + [0] * DECISIONS)
    _, states, actions = simulate_treatment(world, policy)
    table = pd.DataFrame(states, columns=world.model.names)
    days = world.timestep * np.arange(len(states))
    table.insert(0, "time", world.config.start_time + days)
    doses = np.vstack([world.dose_of(actions), np.zeros((1, 2))])
    return table.assign(
        action=[*actions, 0], epsilon_1=doses[:, 0], epsilon_2=doses[:, 1]
    )


def rows_of_round(table: pd.DataFrame, best: pd.Series) -> pd.DataFrame:
    """Return the rows of one seed's round."""
    is_seed = table["seed"] == best["seed"]
    is_round = table["round"] == best["round"]
    return table[is_seed & is_round]


def main(
    out: Annotated[Path, typer.Option(help="Folder of the tables.")],
    seeds: Annotated[int, typer.Option(help="Number of seeds.")] = SEEDS,
    rounds: Annotated[int, typer.Option(help="Rounds per seed.")] = ROUNDS,
    patients: Annotated[int, typer.Option(help="Patients per round.")] = PATIENTS,
    trees: Annotated[int, typer.Option(help="Trees per forest.")] = 50,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    grid = [
        Cell({"seed": seed}, run_one, (seed, rounds, patients, trees))
        for seed in range(seeds)
    ]
    results = run_cells(grid, workers=workers, name="interventions")
    all_rounds = results["rounds"]
    world = make_world()
    best = best_of(all_rounds)
    schedule = rows_of_round(results["schedules"], best)["action"].tolist()
    disturbed = rows_of_round(results["disturbed"], best)
    first_columns = ["day", "was", "became", "seed", "round"]
    tables = {
        "rounds": rounds_table(all_rounds, world),
        "patient": patient_table(world, schedule),
        "disturbed": disturbed.set_index(first_columns).reset_index(),
    }
    for name, table in tables.items():
        file = out / f"fitted_q_{name}.csv"
        table.to_csv(file, index=False, float_format="%.8g", lineterminator="\n")
    healthy = (all_rounds["basin"] == "healthy").sum()
    print(f"{healthy} of {len(all_rounds)} policies lead to the healthy state")


if __name__ == "__main__":
    typer.run(main)
