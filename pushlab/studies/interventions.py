"""Structured treatment interruption found by fitted Q iteration: about a quarter of an hour on one core.

    python -m pushlab.studies.interventions --out data/ode

In each round some patients are treated for 1,000 days, a decision every 5, from the unhealthy steady state: at first at
random, then as the forests learned so far say, but for a share of decisions at random. All steps so far make the next
forests. Each round's policy then treats one more patient, without chance, who is left untreated for another 1,000
days: has he been brought to where his immune system holds the virus by itself?

Two files are written after every round, so the command may be stopped at any time: `fitted_q_rounds.csv`, a row a
round and a row a constant policy, and `fitted_q_patient.csv`, the 2,000 days of the best policy so far.

The set-up is that of Ernst, Stan, Gonçalves & Wehenkel (2006), Proc. 45th IEEE CDC, 667-672: 30 patients a round, ten
rounds, a discount of 0.98, 400 iterations, forests of 50 trees, 15 % of decisions at random. Ours: the reward is
WhyNot's (R2 = 20000), forests see logarithms, and their shape is kept for 40 iterations at a time.
"""

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from pushlab.agents.planning import FittedQIteration
from pushlab.envs.ode_worlds import HIV
from pushlab.files import write_text

DISCOUNT = 0.98
DECISIONS = 200             # of 5 days: 1,000 days of treatment, and as many without
HEALED = 0.02               # largest relative distance of a variable from the healthy steady state


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
    """Treats a patient by a policy and leaves him alone: what came of it (a dict), states, actions."""
    untreated = iter(range(2 * DECISIONS))

    def treat_then_stop(states):
        return policy(states) if next(untreated) < DECISIONS else np.zeros(len(states), np.int64)

    states, actions, rewards = treat(world, treat_then_stop, decisions=2 * DECISIONS)
    healthy = world.model.state("healthy")
    treated, later = states[DECISIONS, 0], states[-1, 0]
    apart = float(np.abs(later / healthy - 1).max())
    found = {"return": float(discounted(rewards[:DECISIONS])[0]), "E_after_1000_days": float(treated[5]),
             "V_after_1000_days": float(treated[4]), "E_after_2000_days": float(later[5]),
             "V_after_2000_days": float(later[4]), "distance_from_healthy": apart, "healed": apart <= HEALED}
    return found, states[:, 0], actions[:, 0]


# ---------------------------------------------------------------- files

def _write(table, path):
    write_text(path, table.to_csv(index=False, lineterminator="\n", float_format="%.8g"))


def patient_table(world, states, actions):
    """A DataFrame of a patient's days: time, the state, the doses that follow."""
    import pandas as pd

    table = pd.DataFrame(states, columns=world.model.names)
    table.insert(0, "time", world.config.start_time + world.timestep * np.arange(len(states)))
    doses = np.vstack([world.dose_of(actions), np.zeros((1, 2))])
    table["action"] = [*actions, 0]
    table["epsilon_1"], table["epsilon_2"] = doses.T
    return table


def learn_in_rounds(world, agent, rounds, patients, seed):
    """Yields, after each round, (round, number of steps so far, what `examine` returns)."""
    data = []
    for number in range(rounds):
        agent.begin(None, 1000 * seed + number)
        states, actions, rewards = treat(world, lambda states: agent.act_each(states), patients)
        data.append(steps_of(states, actions, rewards))
        agent.fit(*(np.concatenate(part) for part in zip(*data)))
        yield number + 1, sum(len(part[1]) for part in data), examine(world, lambda s: agent.act_each(s, explore=False))


def main(out: Annotated[Path, typer.Option(help="folder for the two CSV files")] = Path("data/ode"),
         rounds: int = 12, patients: int = 30, trees: int = 50, growths: int = 10, seed: int = 0):
    """Runs the study; the best policy so far is the healed one with the highest return, or else the highest return."""
    import pandas as pd

    out.mkdir(parents=True, exist_ok=True)
    world, agent = make_world(), make_agent(trees, growths, seed)
    rows, best, begun = [], (False, -np.inf), time.monotonic()
    for action, words in enumerate(world.action_choices[0][1]):
        found, *_ = examine(world, lambda states, action=action: np.full(len(states), action))
        rows.append({"policy": f"always {words}", "round": None, "steps": None, **found})
    for number, steps, (found, states, actions) in learn_in_rounds(world, agent, rounds, patients, seed):
        rows.append({"policy": "fitted Q iteration", "round": number, "steps": steps, **found})
        if (found["healed"], found["return"]) > best:
            best = found["healed"], found["return"]
            _write(patient_table(world, states, actions), out / "fitted_q_patient.csv")
        _write(pd.DataFrame(rows).astype({"round": "Int64", "steps": "Int64"}), out / "fitted_q_rounds.csv")
        print(f"round {number} after {(time.monotonic() - begun) / 60:.1f} minutes: return {found['return']:.4g}, "
              f"{found['distance_from_healthy']:.1%} from healthy", flush=True)


if __name__ == "__main__":
    typer.run(main)
