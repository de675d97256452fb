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

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from pushlab.agents.planning import FittedQIteration
from pushlab.envs.ode.worlds import HIV
from pushlab.ground.content import of_modules
from pushlab.ground.files import write_text
from pushlab.studies.cold_start import read_job

DISCOUNT = 0.98
DECISIONS = 200             # of 5 days: 1,000 days of treatment, and as many without
BASINS = ("unhealthy", "healthy")
SETTLED = 0.01              # in powers of ten: as near to a steady state as that, a patient has settled in it
LONGEST = 60                # thousands of days until everybody has
BOTH = 3                    # the action of both drugs
DISTURBED = tuple(range(0, DECISIONS, 10))      # decisions that are changed, one a patient
ROUNDS, PATIENTS, SEEDS = 10, 30, 10


def make_world(**config):
    """The patient of this study: unhealthy, 2,000 days, a decision every 5; `config` changes parameters."""
    return HIV(initial_state="unhealthy", timestep=5.0, config={"end_time": 10.0 * DECISIONS, **config})


def make_agent(trees=50, growths=10, seed=0):
    """Fitted Q iteration as in the study, 400 iterations a fit."""
    return FittedQIteration(actions=4, discount=DISCOUNT, trees=trees, growths=growths, sweeps=400 // growths,
                            see=in_logarithms, seed=seed)


def in_logarithms(states):
    """Base-10 logarithms of states, which span nine orders of magnitude."""
    return np.log10(np.maximum(states, 1e-6))


def treat(world, policy, patients=1, decisions=DECISIONS):
    """Treats patients side by side: states (decisions + 1, patients, 6), actions and rewards (decisions, patients).

    policy  function of states (patients, 6) → actions (patients,)
    """
    state = world.initial(np.empty((patients, world.uniforms)), {})
    states, actions, rewards = [state["values"]], [], []
    for _ in range(decisions):
        actions.append(policy(state["values"]))
        state, outcome = world.advance(state, actions[-1], np.empty((patients, world.uniforms)))
        states.append(state["values"])
        rewards.append(outcome["reward"])
    return np.array(states), np.array(actions), np.array(rewards)


def basin(world, states):
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
        apart = np.abs(np.log10(np.maximum(states[:, None], 1e-12) / steady)).max(axis=2)
        if (apart.min(axis=1) < SETTLED).all():
            return np.array(BASINS)[apart.argmin(axis=1)]
    raise ArithmeticError(f"after {1000 * LONGEST:,} days without drugs a patient is near neither steady state: "
                          f"{states[apart.min(axis=1) >= SETTLED][0].tolist()}")


def discounted(rewards):
    """The discounted return of rewards (decisions,), a float, or (decisions, patients), an array (patients,).

    >>> discounted(np.array([1.0, 1.0, 0.0]))
    1.98
    """
    total = (DISCOUNT ** np.arange(len(rewards))) @ rewards
    return total if np.ndim(total) else float(total)


def steps_of(states, actions, rewards):
    """What `FittedQIteration.fit` takes: all steps of all patients, one after the other."""
    return (states[:-1].reshape(-1, states.shape[-1]), actions.ravel(), rewards.ravel(),
            states[1:].reshape(-1, states.shape[-1]))


def examine(world, policy):
    """Treats a patient by a policy and leaves him alone: what came of it (a dict), states, actions.

    return                      discounted, of the 1,000 days of treatment
    E_, V_after_1000_days       effectors (cells/ml) and virus (copies/ml) when treatment ends; `after_2000_days` later
    basin                       the steady state in which he settles
    """
    untreated = iter(range(2 * DECISIONS))

    def treat_then_stop(states):
        return policy(states) if next(untreated) < DECISIONS else np.zeros(len(states), np.int64)

    states, actions, rewards = treat(world, treat_then_stop, decisions=2 * DECISIONS)
    treated, later = states[DECISIONS, 0], states[-1, 0]
    found = {"return": float(discounted(rewards[:DECISIONS])[0]), "E_after_1000_days": float(treated[5]),
             "V_after_1000_days": float(treated[4]), "E_after_2000_days": float(later[5]),
             "V_after_2000_days": float(later[4]), "basin": str(basin(world, treated[None])[0])}
    return found, states[:, 0], actions[:, 0]


def disturb(world, policy, schedule, at=DISTURBED):
    """One decision changed, a different one for each patient: both drugs where it was another, none where it was both.

    policy    function of states (patients, 6) → actions (patients,), which decides all but the changed decisions
    schedule  actions (decisions,) of the undisturbed patient, which say what is changed into what
    returns   dict of lists, an entry a patient: `day` of the changed decision, what it `was` and what it `became`
              (actions), `E_after_1000_days`, `basin` in which he settles
    """
    at = np.array(at)
    was = np.asarray(schedule)[at]
    became, now = np.where(was == BOTH, 0, BOTH), iter(range(DECISIONS))

    def but_for_one(states):
        return np.where(at == next(now), became, policy(states))

    states, *_ = treat(world, but_for_one, len(at))
    return {"day": (at * world.timestep).tolist(), "was": was.tolist(), "became": became.tolist(),
            "E_after_1000_days": states[-1, :, 5].tolist(), "basin": basin(world, states[-1]).tolist()}


def following(schedule):
    """The policy that does what a schedule (decisions,) says, whatever the states are."""
    planned = iter(schedule)
    return lambda states: np.full(len(states), next(planned))


# ---------------------------------------------------------------- one seed

def learn_in_rounds(world, agent, rounds, patients, seed, kept=()):
    """Yields after each round (round, number of steps so far, what `examine` returns, actions of its patients).

    kept  actions (decisions, patients) of rounds that were finished before: those are not yielded again
    """
    data = [steps_of(*treat(world, _replay(actions), patients)) for actions in kept]

    def fit():
        agent.fit(*(np.concatenate(part) for part in zip(*data)))

    if data and len(data) < rounds:
        fit()
    for number in range(len(data), rounds):
        agent.begin(None, 1000 * seed + number)
        states, actions, rewards = treat(world, lambda states: agent.act_each(states), patients)
        data.append(steps_of(states, actions, rewards))
        fit()
        yield (number + 1, sum(len(part[1]) for part in data),
               examine(world, lambda states: agent.act_each(states, explore=False)), actions)


def _replay(actions):
    planned = iter(actions)
    return lambda states: next(planned)


def run_seed(seed, rounds=ROUNDS, patients=PATIENTS, trees=50, growths=10, path=None):
    """All rounds of one seed, a list of dicts as JSON holds them: what `examine` found, `schedule` (the actions of the
    examined patient), `by_policy` and `by_schedule` (what `disturb` found), `actions` of the round's patients.

    path  JSON in which finished rounds are kept, and from which it goes on
    """
    world, agent = make_world(), make_agent(trees, growths, seed)
    done = (read_job(path) or [])[:rounds]
    kept = [np.array([[int(one) for one in decision] for decision in round_["actions"]]) for round_ in done]
    for number, steps, (found, _, schedule), actions in learn_in_rounds(world, agent, rounds, patients, seed, kept):
        schedule = schedule[:DECISIONS]
        done.append({"seed": seed, "round": number, "steps": steps, **found, "schedule": schedule.tolist(),
                     "by_policy": disturb(world, lambda states: agent.act_each(states, explore=False), schedule),
                     "by_schedule": disturb(world, following(schedule), schedule),
                     "actions": ["".join(map(str, decision)) for decision in actions]})
        if path is not None:
            write_text(path, json.dumps(done))
    return done


# ---------------------------------------------------------------- many seeds, each kept

def run_study(seeds=SEEDS, jobs=1, keep=None, progress=True, **size):
    """Runs what is not kept yet; returns a list of all rounds of all seeds, as `run_seed` gives them.

    keep  folder with a JSON a seed, found again unless the code has changed
    size  rounds, patients, trees and growths, where they are not the study's
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    label = "".join(f"-{name}-{value}" for name, value in sorted(size.items()) if name != "rounds")
    paths = [None if keep is None else Path(keep) / f"seed-{seed}{label}-{fingerprint()}.json" for seed in range(seeds)]
    work = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(run_seed)(seed, path=path, **size) for seed, path in enumerate(paths))
    return [one for rounds in tqdm(work, total=seeds, desc="fitted Q iteration", unit="seed", disable=not progress)
            for one in rounds]


def fingerprint():
    """A short name of the code that the study's numbers come from."""
    return of_modules("pushlab.studies.interventions")[:12]


# ---------------------------------------------------------------- tables

FOUND = ("return", "E_after_1000_days", "V_after_1000_days", "E_after_2000_days", "V_after_2000_days", "basin")


def rounds_table(results, world=None):
    """A row a constant policy and a row a seed and round: policy, seed, round, steps, what `examine` found, and of the
    disturbed patients how many end healthy `by_policy` and `by_schedule`.
    """
    import pandas as pd

    world, rows = world or make_world(), []
    for action, words in enumerate(world.action_choices[0][1]):
        found, *_ = examine(world, lambda states, action=action: np.full(len(states), action))
        rows.append({"policy": f"always {words}", "seed": None, "round": None, "steps": None, **found})
    for one in results:
        rows.append({"policy": "fitted Q iteration", **{name: one[name] for name in ("seed", "round", "steps", *FOUND)},
                     **{by: one[by]["basin"].count("healthy") for by in ("by_policy", "by_schedule")}})
    whole = ("seed", "round", "steps", "by_policy", "by_schedule")
    return pd.DataFrame(rows).astype({name: "Int64" for name in whole})


def best_of(results):
    """The round whose patient settles healthy with the highest return, or the highest return if none does."""
    return max(results, key=lambda one: (one["basin"] == "healthy", one["return"]))


def patient_table(world, states, actions):
    """A DataFrame of a patient's days: time, the state, the doses that follow."""
    import pandas as pd

    table = pd.DataFrame(states, columns=world.model.names)
    table.insert(0, "time", world.config.start_time + world.timestep * np.arange(len(states)))
    doses = np.vstack([world.dose_of(actions), np.zeros((1, 2))])
    table["action"] = [*actions, 0]
    table["epsilon_1"], table["epsilon_2"] = doses.T
    return table


def disturbed_table(one):
    """The disturbed patients of a round, a row a changed decision: day, was, became, and E and basin `by` each."""
    import pandas as pd

    tables = {by: pd.DataFrame(one[by]) for by in ("by_policy", "by_schedule")}
    told = tables["by_policy"][["day", "was", "became"]].assign(seed=one["seed"], round=one["round"])
    for by, table in tables.items():
        told[f"E_{by}"], told[f"basin_{by}"] = table["E_after_1000_days"], table["basin"]
    return told


# ---------------------------------------------------------------- the command

def _write(table, path):
    write_text(path, table.to_csv(index=False, lineterminator="\n", float_format="%.8g"))


def main(out: Annotated[Path, typer.Option(help="folder for the three CSV files")] = Path("data/ode"),
         seeds: Annotated[int, typer.Option(help="how often it is all done, each time with other chance")] = SEEDS,
         rounds: int = ROUNDS, patients: int = PATIENTS, trees: int = 50, growths: int = 10,
         jobs: Annotated[int, typer.Option(help="processes to work with")] = 1,
         keep: Annotated[Path | None, typer.Option(help="folder for finished rounds; else pushlab's cache")] = None):
    """Runs the study and writes its tables. Can be interrupted: finished rounds are kept and not run again."""
    from pushlab.ground.files import cache_dir

    keep = keep if keep is not None else cache_dir() / "studies" / "interventions"
    results = run_study(seeds, jobs, keep, rounds=rounds, patients=patients, trees=trees, growths=growths)
    out.mkdir(parents=True, exist_ok=True)
    world, best = make_world(), best_of(results)
    table = rounds_table(results, world)
    _, states, actions = examine(world, following(best["schedule"] + [0] * DECISIONS))
    _write(table, out / "fitted_q_rounds.csv")
    _write(patient_table(world, states, actions), out / "fitted_q_patient.csv")
    _write(disturbed_table(best), out / "fitted_q_disturbed.csv")
    learned = table[table["policy"] == "fitted Q iteration"]
    healthy = learned["basin"] == "healthy"
    typer.echo(f"{healthy.sum()} of {len(learned)} policies lead to the healthy state; at least one in "
               f"{healthy.groupby(learned['seed']).any().sum()} of {seeds} seeds\n"
               + learned[["seed", "round", "return", "basin", "by_policy", "by_schedule"]].to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
