"""Structured treatment interruption found by fitted Q iteration, ten times over: about an hour of one core.

    python -m pushlab.studies.interventions --out data/ode --jobs 2

In each round some patients are treated for 1,000 days, a decision every 5, from the unhealthy steady state: at first at
random, then as the forests learned so far say, but for a share of decisions at random. All steps so far make the next
forests. Each round's policy then treats one more patient, without chance, who is left untreated afterwards until he
settles: in which of the two steady states? Another seed draws other doses at random and grows other trees.

A policy that succeeds once may have been lucky, and one that looks robust may rest on a thread, so each is also
*disturbed*: twenty more patients each get one decision that the policy did not take, a different one each, and are then
treated by the policy again, or by the schedule of the undisturbed patient. How many of them end healthy?

Interrupted, it goes on where it stopped: each finished round is kept in pushlab's cache (`$PUSHLAB_CACHE`).

The set-up is that of Ernst, Stan, Gonçalves & Wehenkel (2006), Proc. 45th IEEE CDC, 667-672: 30 patients a round, ten
rounds, a discount of 0.98, 400 iterations, forests of 50 trees, 15 % of decisions at random. Ours: the reward is
WhyNot's (R2 = 20000), forests see logarithms, and their shape is kept for 40 iterations at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from pushlab.agents.planning import FittedQIteration
from pushlab.envs.ode.worlds import HIV
from pushlab.experiments.cells import Cell, run_cells
from pushlab.ground.commands import run, say
from pushlab.studies import tables

DISCOUNT = 0.98
DECISIONS = 200  # of 5 days: 1,000 days of treatment, and as many without
BASINS = ("unhealthy", "healthy")
SETTLED = 0.01  # in powers of ten: as near to a steady state as that, a patient has settled in it
LONGEST = 60  # thousands of days until everybody has
BOTH = 3  # the action of both drugs
DISTURBED = tuple(range(0, DECISIONS, 10))  # decisions that are changed, one a patient
ROUNDS, PATIENTS, SEEDS = 10, 30, 10


def make_world(**config: float) -> HIV:
    """The patient of this study: unhealthy, 2,000 days, a decision every 5; `config` changes parameters."""
    return HIV(
        initial_state="unhealthy",
        timestep=5.0,
        config={"end_time": 10.0 * DECISIONS, **config},
    )


def make_agent(trees: int = 50, growths: int = 10, seed: int = 0) -> FittedQIteration:
    """Fitted Q iteration as in the study, 400 iterations a fit."""
    return FittedQIteration(
        actions=4,
        discount=DISCOUNT,
        trees=trees,
        growths=growths,
        sweeps=400 // growths,
        see=in_logarithms,
        seed=seed,
    )


def in_logarithms(states: np.ndarray) -> np.ndarray:
    """Base-10 logarithms of states, which span nine orders of magnitude."""
    return np.log10(np.maximum(states, 1e-6))


def treat(
    world: HIV,
    policy: Callable,
    patients: int = 1,
    decisions: int = DECISIONS,
    starts: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Treats patients side by side: states (decisions + 1, patients, 6), actions and rewards (decisions, patients).

    policy  function of states (patients, 6) → actions (patients,)
    starts  the patients' first states (patients, 6); None: all begin where the world does
    """
    patients = patients if starts is None else len(starts)
    state = world.initial(np.empty((patients, world.uniforms)), {})
    state["values"] = state["values"] if starts is None else np.array(starts, float)
    states, actions, rewards = [state["values"]], [], []
    for _ in range(decisions):
        actions.append(policy(state["values"]))
        state, outcome = world.advance(
            state, actions[-1], np.empty((patients, world.uniforms))
        )
        states.append(state["values"])
        rewards.append(outcome["reward"])
    return np.array(states), np.array(actions), np.array(rewards)


def basin(world: HIV, states: Any) -> np.ndarray:
    """The steady state in which patients (n, 6) settle who are left without drugs from now on: names, str (n,).

    Both steady states attract; a distance to one of them says little about who will end there, running on does.
    Raises ArithmeticError if somebody has settled in neither after 60,000 days.
    """
    states = np.array(states, float)
    steady = np.array([world.model.state(name) for name in BASINS])
    never = world.dose_of(np.zeros(len(states), np.int64))
    for _ in range(LONGEST):
        for _ in range(round(1000 / world.timestep)):
            states, _, _ = world.flow(states, np.zeros(len(states), np.int64), never)
        apart = np.abs(np.log10(np.maximum(states[:, None], 1e-12) / steady)).max(
            axis=2
        )
        if (apart.min(axis=1) < SETTLED).all():
            return np.array(BASINS)[apart.argmin(axis=1)]
    raise ArithmeticError(
        f"after {1000 * LONGEST:,} days without drugs a patient is near neither steady state: "
        f"{states[apart.min(axis=1) >= SETTLED][0].tolist()}"
    )


def discounted(rewards: np.ndarray) -> Any:
    """The discounted return of rewards (decisions,), a float, or (decisions, patients), an array (patients,).

    >>> discounted(np.array([1.0, 1.0, 0.0]))
    1.98
    """
    total = (DISCOUNT ** np.arange(len(rewards))) @ rewards
    return total if np.ndim(total) else float(total)


def steps_of(
    states: np.ndarray, actions: np.ndarray, rewards: np.ndarray
) -> tuple[np.ndarray, ...]:
    """What `FittedQIteration.fit` takes: all steps of all patients, one after the other."""
    return (
        states[:-1].reshape(-1, states.shape[-1]),
        actions.ravel(),
        rewards.ravel(),
        states[1:].reshape(-1, states.shape[-1]),
    )


def examine(
    world: HIV, policy: Callable
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Treats a patient by a policy and leaves him alone: what came of it (a dict), states, actions.

    return                      discounted, of the 1,000 days of treatment
    E_, V_after_1000_days       effectors (cells/ml) and virus (copies/ml) when treatment ends; `after_2000_days` later
    basin                       the steady state in which he settles
    """
    untreated = iter(range(2 * DECISIONS))

    def treat_then_stop(states):
        return (
            policy(states)
            if next(untreated) < DECISIONS
            else np.zeros(len(states), np.int64)
        )

    states, actions, rewards = treat(world, treat_then_stop, decisions=2 * DECISIONS)
    treated, later = states[DECISIONS, 0], states[-1, 0]
    found = {
        "return": float(discounted(rewards[:DECISIONS])[0]),
        "E_after_1000_days": float(treated[5]),
        "V_after_1000_days": float(treated[4]),
        "E_after_2000_days": float(later[5]),
        "V_after_2000_days": float(later[4]),
        "basin": str(basin(world, treated[None])[0]),
    }
    return found, states[:, 0], actions[:, 0]


def disturb(
    world: HIV, policy: Callable, schedule: Any, at: Sequence[int] = DISTURBED
) -> dict[str, list]:
    """One decision changed, a different one for each patient: both drugs where it was another, none where it was both.

    policy    function of states (patients, 6) → actions (patients,), which decides all but the changed decisions
    schedule  actions (decisions,) of the undisturbed patient, which say what is changed into what
    returns   dict of lists, an entry a patient: `day` of the changed decision, what it `was` and what it `became`
              (actions), `E_after_1000_days`, `basin` in which he settles
    """
    decisions = np.array(at)
    was = np.asarray(schedule)[decisions]
    became, now = np.where(was == BOTH, 0, BOTH), iter(range(DECISIONS))

    def but_for_one(states):
        return np.where(decisions == next(now), became, policy(states))

    states, *_ = treat(world, but_for_one, len(decisions))
    return {
        "day": (decisions * world.timestep).tolist(),
        "was": was.tolist(),
        "became": became.tolist(),
        "E_after_1000_days": states[-1, :, 5].tolist(),
        "basin": basin(world, states[-1]).tolist(),
    }


def following(schedule: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The policy that does what a schedule (decisions,) or (decisions, patients) says, whatever the states are."""
    planned = iter(schedule)
    return lambda states: np.broadcast_to(next(planned), len(states))


# ---------------------------------------------------------------- one seed


def learn_in_rounds(
    world: HIV,
    agent: FittedQIteration,
    rounds: int,
    patients: int,
    seed: int,
    kept: Sequence[np.ndarray] = (),
) -> Iterator[tuple[int, int, tuple, np.ndarray]]:
    """Yields after each round (round, number of steps so far, what `examine` returns, actions of its patients).

    kept  actions (decisions, patients) of rounds that were finished before: those are not yielded again
    """
    data = [steps_of(*treat(world, following(actions), patients)) for actions in kept]

    def fit():
        agent.fit(*(np.concatenate(part) for part in zip(*data)))

    if data and len(data) < rounds:
        fit()
    for number in range(len(data), rounds):
        agent.begin(None, 1000 * seed + number)
        states, actions, rewards = treat(world, agent.act_each, patients)
        data.append(steps_of(states, actions, rewards))
        fit()
        yield (
            number + 1,
            sum(len(part[1]) for part in data),
            examine(world, _greedy(agent)),
            actions,
        )


def _greedy(agent):
    return lambda states: agent.act_each(states, explore=False)


def run_seed(
    seed: int,
    rounds: int = ROUNDS,
    patients: int = PATIENTS,
    trees: int = 50,
    growths: int = 10,
    done: Sequence[dict] = (),
) -> Iterator[dict[str, list[dict]]]:
    """All rounds of one seed, as a cell of `pushlab.experiments.cells`: a row a round, of the table `rounds`.

    seed, round, steps, and what `examine` found; `schedule` (the actions of the examined patient), `by_policy` and
    `by_schedule` (what `disturb` found), `actions` of the round's patients

    done   rounds that were finished before
    """
    world, agent = make_world(), make_agent(trees, growths, seed)
    kept = [np.array(part["rounds"][0]["actions"]) for part in done]
    for number, steps, (found, _, schedule), actions in learn_in_rounds(
        world, agent, rounds, patients, seed, kept
    ):
        schedule = schedule[:DECISIONS]
        yield {
            "rounds": [
                {
                    "round": number,
                    "steps": steps,
                    **found,
                    "schedule": schedule.tolist(),
                    "by_policy": disturb(world, _greedy(agent), schedule),
                    "by_schedule": disturb(world, following(schedule), schedule),
                    "actions": actions.tolist(),
                }
            ]
        }


# ---------------------------------------------------------------- tables

FOUND = (
    "return",
    "E_after_1000_days",
    "V_after_1000_days",
    "E_after_2000_days",
    "V_after_2000_days",
    "basin",
)
DISTURBING = ("by_policy", "by_schedule")


def rounds_table(rounds: pd.DataFrame, world: HIV) -> pd.DataFrame:
    """A row a constant policy and a row a seed and round: policy, seed, round, steps, what `examine` found, and of the
    disturbed patients how many end healthy `by_policy` and `by_schedule`.
    """
    constant = [
        {
            "policy": f"always {words}",
            **examine(world, following([action] * 2 * DECISIONS))[0],
        }
        for action, words in enumerate(world.action_choices[0][1])
    ]
    learned = rounds.assign(
        policy="fitted Q iteration",
        **{
            by: [told["basin"].count("healthy") for told in rounds[by]]
            for by in DISTURBING
        },
    )
    columns = ["policy", "seed", "round", "steps", *FOUND, *DISTURBING]
    table = pd.DataFrame(constant + learned.to_dict("records"), columns=columns)
    return table.astype(
        {name: "Int64" for name in ("seed", "round", "steps", *DISTURBING)}
    )


def best_of(rounds: pd.DataFrame) -> pd.Series:
    """The round whose patient settles healthy with the highest return, or the highest return if none does."""
    return max(
        (one for _, one in rounds.iterrows()),
        key=lambda one: (one["basin"] == "healthy", one["return"]),
    )


def patient_table(world: HIV, states: np.ndarray, actions: np.ndarray) -> pd.DataFrame:
    """A DataFrame of a patient's days: time, the state, the doses that follow."""
    table = pd.DataFrame(states, columns=world.model.names)
    table.insert(
        0, "time", world.config.start_time + world.timestep * np.arange(len(states))
    )
    doses = np.vstack([world.dose_of(actions), np.zeros((1, 2))])
    return table.assign(
        action=[*actions, 0], epsilon_1=doses[:, 0], epsilon_2=doses[:, 1]
    )


def disturbed_table(one: pd.Series) -> pd.DataFrame:
    """The disturbed patients of a round, a row a changed decision: day, was, became, and E and basin `by` each."""
    told = pd.DataFrame(
        {name: one["by_policy"][name] for name in ("day", "was", "became")}
    )
    told = told.assign(seed=one["seed"], round=one["round"])
    for by in DISTURBING:
        told[f"E_{by}"], told[f"basin_{by}"] = (
            one[by]["E_after_1000_days"],
            one[by]["basin"],
        )
    return told


# ---------------------------------------------------------------- the command


def main(
    out: tables.OutFolder = Path("data/ode"),
    seeds: Annotated[
        int, typer.Option(help="how often it is all done, each time with other chance")
    ] = SEEDS,
    rounds: int = ROUNDS,
    patients: int = PATIENTS,
    trees: int = 50,
    growths: int = 10,
    jobs: tables.Jobs = 1,
    keep: tables.Keep = None,
    fresh: tables.Fresh = False,
) -> None:
    """Runs the study and writes its tables. Can be interrupted: finished rounds are kept and not run again."""
    cells = [
        Cell({"seed": seed}, run_seed, (seed, rounds, patients, trees, growths))
        for seed in range(seeds)
    ]
    found, world = (
        run_cells(cells, keep, jobs, fresh, name="interventions")["rounds"],
        make_world(),
    )
    table, best = rounds_table(found, world), best_of(found)
    _, states, actions = examine(world, following(best["schedule"] + [0] * DECISIONS))
    tables.write_tables(
        out,
        {
            "fitted_q_rounds": table,
            "fitted_q_patient": patient_table(world, states, actions),
            "fitted_q_disturbed": disturbed_table(best),
        },
        float_format="%.8g",
    )
    learned = table[table["policy"] == "fitted Q iteration"]
    healthy = learned["basin"] == "healthy"
    say(
        f"{healthy.sum()} of {len(learned)} policies lead to the healthy state; at least one in "
        f"{healthy.groupby(learned['seed']).any().sum()} of {seeds} seeds\n"
        + learned[
            ["seed", "round", "return", "basin", "by_policy", "by_schedule"]
        ].to_string(index=False)
    )


if __name__ == "__main__":
    run(typer.run, main)
