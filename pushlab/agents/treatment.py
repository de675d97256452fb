"""Structured treatment interruption: a patient with HIV, treated by fitted Q iteration or by any other policy.

The set-up is that of Ernst, Stan, Gonçalves & Wehenkel (2006), Proc. 45th IEEE CDC, 667-672: 1,000 days of treatment
from the unhealthy steady state, a decision every 5 days, a discount of 0.98, 400 iterations a fit, 15 % of decisions at
random. Ours: the reward is WhyNot's (R2 = 20000), forests see logarithms, and their shape is kept for 40 iterations.

A policy is a function of states (patients, 6) that returns actions (patients,).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pushlab.agents.planning import FittedQIteration
from pushlab.envs.ode.hiv import HIV

DISCOUNT = 0.98
DECISIONS = 200  # of 5 days each: 1,000 days of treatment
BASINS = ("unhealthy", "healthy")
SETTLED = 0.01  # largest distance from a steady state, in powers of ten
LONGEST = 60  # thousands of days to wait for all patients to settle


def make_world() -> HIV:
    """Return the patient: unhealthy, 1,000 days of treatment and 1,000 without, a decision every 5 days."""
    config = {"end_time": 10.0 * DECISIONS}
    return HIV(initial_state="unhealthy", timestep=5.0, config=config)


def make_agent(
    trees: int = 50,
    growths: int = 10,
    seed: int = 0,
) -> FittedQIteration:
    """Return fitted Q iteration with 400 iterations a fit."""
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
    """Return base-10 logarithms of states, which span nine orders of magnitude."""
    return np.log10(np.maximum(states, 1e-6))


def near_unhealthy(
    world: HIV,
    patients: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw first states (patients, 6): the unhealthy steady state, each number a log-normal factor off."""
    factors = rng.lognormal(0.0, 0.2, (patients, 6))
    return world.model.state("unhealthy") * factors


def treat(
    world: HIV,
    policy: Callable,
    patients: int = 1,
    decisions: int = DECISIONS,
    starts: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Treat patients side by side.

    Args:
        starts: First states (patients, 6); None begins where the world does.

    Returns:
        States (decisions + 1, patients, 6), actions and rewards (decisions, patients).
    """
    if starts is not None:
        patients = len(starts)
    no_chance = np.empty((patients, world.uniforms))
    state = world.initial(no_chance, {})
    if starts is not None:
        state["values"] = np.array(starts, float)
    states = [state["values"]]
    actions = []
    rewards = []
    for _ in range(decisions):
        action = policy(state["values"])
        state, outcome = world.advance(state, action, no_chance)
        states.append(state["values"])
        actions.append(action)
        rewards.append(outcome["reward"])
    return np.array(states), np.array(actions), np.array(rewards)


def discounted(rewards: np.ndarray) -> Any:
    """Return the discounted return of rewards (decisions,), or (decisions, patients), an array (patients,).

    >>> print(discounted(np.array([1.0, 1.0, 0.0])))
    1.98
    """
    return DISCOUNT ** np.arange(len(rewards)) @ rewards


def basin(world: HIV, states: Any) -> np.ndarray:
    """Return the steady state in which each patient (n, 6) settles without drugs, names, str (n,).

    Both steady states attract. The distance to one of them doesn't show which; simulating on does.

    Raises:
        ArithmeticError: A patient has settled in neither state after 60,000 days.
    """
    states = np.array(states, float)
    steady = np.array([world.model.state(name) for name in BASINS])
    nothing = np.zeros(len(states), np.int64)
    dose = world.dose_of(nothing)
    for _ in range(LONGEST):
        for _ in range(round(1000 / world.timestep)):
            states, _, _ = world.flow(states, nothing, dose)
        ratios = np.maximum(states[:, None], 1e-12) / steady
        distances = np.abs(np.log10(ratios))
        distances = distances.max(axis=2)
        unsettled = distances.min(axis=1) >= SETTLED
        if not unsettled.any():
            return np.array(BASINS)[distances.argmin(axis=1)]
    raise ArithmeticError(
        f"after {1000 * LONGEST:,} days without drugs a patient is near neither steady state: "
        f"{states[unsettled][0].tolist()}"
    )


def examine(
    world: HIV, policy: Callable
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Treat one patient, then stop: return the outcome, the states and the actions.

    - `return`: discounted, of the 1,000 days of treatment
    - `E_`, `V_after_1000_days`: effectors (cells/ml) and virus (copies/ml) when treatment ends;
      `after_2000_days` later
    - `basin`: the steady state in which the patient settles
    """
    decisions = iter(range(2 * DECISIONS))

    def treat_then_stop(states):
        if next(decisions) < DECISIONS:
            return policy(states)
        return np.zeros(len(states), np.int64)

    states, actions, rewards = treat(world, treat_then_stop, decisions=2 * DECISIONS)
    treated = states[DECISIONS, 0]
    later = states[-1, 0]
    outcome = {
        "return": float(discounted(rewards[:DECISIONS])[0]),
        "E_after_1000_days": float(treated[5]),
        "V_after_1000_days": float(treated[4]),
        "E_after_2000_days": float(later[5]),
        "V_after_2000_days": float(later[4]),
        "basin": str(basin(world, treated[None])[0]),
    }
    return outcome, states[:, 0], actions[:, 0]


def learn_in_rounds(
    world: HIV,
    agent: FittedQIteration,
    rounds: int,
    patients: int,
    seed: int,
) -> Iterator[int]:
    """Treat patients, fit the agent to all steps so far, and yield their number; again in each round."""
    parts = []
    for number in range(rounds):
        agent.begin(None, 1000 * seed + number)
        states, actions, rewards = treat(world, agent.act_each, patients)
        before = states[:-1].reshape(-1, 6)
        after = states[1:].reshape(-1, 6)
        parts.append((before, actions.ravel(), rewards.ravel(), after))
        columns = map(np.concatenate, zip(*parts))
        agent.fit(*columns)
        yield len(agent.steps)
