"""Structured treatment interruption: treat a patient with HIV by fitted Q iteration or any other policy.

The set-up follows Ernst, Stan, Gonçalves & Wehenkel (2006), Proc. 45th IEEE CDC, 667-672: 1,000 days of treatment from
the unhealthy steady state, a decision every 5 days, a discount of 0.98, 400 iterations per fit, and 15 % random
decisions. Three things differ: the reward is WhyNot's (R2 = 20000), the inputs of the forests are logarithms, and the
shape of a forest is fixed for 40 iterations.

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
TOLERANCE = 0.01  # largest distance from a steady state, in powers of ten
MAX_THOUSAND_DAYS = 60  # limit on the time in which patients must settle


def make_world() -> HIV:
    """Return the world of one unhealthy patient: 1,000 days with treatment, 1,000 without, a decision every 5 days."""
    config = {"end_time": 10.0 * DECISIONS}
    return HIV(initial_state="unhealthy", timestep=5.0, config=config)


def make_agent(
    trees: int = 50,
    forest_fits: int = 10,
    seed: int = 0,
) -> FittedQIteration:
    """Return an agent of fitted Q iteration with 400 iterations per fit."""
    return FittedQIteration(
        actions=4,
        discount=DISCOUNT,
        trees=trees,
        forest_fits=forest_fits,
        iterations_per_fit=400 // forest_fits,
        transform=log10_states,
        seed=seed,
    )


def log10_states(states: np.ndarray) -> np.ndarray:
    """Return the base-10 logarithms of states, since these span nine orders of magnitude."""
    return np.log10(np.maximum(states, 1e-6))


def draw_initial_states(
    world: HIV,
    patients: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw initial states (patients, 6): the unhealthy steady state, times a log-normal factor for each number."""
    factors = rng.lognormal(0.0, 0.2, (patients, 6))
    return world.model.state("unhealthy") * factors


def treat(
    world: HIV,
    policy: Callable,
    patients: int = 1,
    decisions: int = DECISIONS,
    starts: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulate the treatment of several patients.

    Args:
        starts: Initial states (patients, 6). None takes the world's own.

    Returns:
        States (decisions + 1, patients, 6), actions and rewards (decisions, patients).
    """
    if starts is not None:
        patients = len(starts)
    no_draws = np.empty((patients, world.uniforms))
    state = world.initial(no_draws, {})
    if starts is not None:
        state["values"] = np.array(starts, float)
    states = [state["values"]]
    actions = []
    rewards = []
    for _ in range(decisions):
        action = policy(state["values"])
        state, outcome = world.advance(state, action, no_draws)
        states.append(state["values"])
        actions.append(action)
        rewards.append(outcome["reward"])
    return np.array(states), np.array(actions), np.array(rewards)


def discounted(rewards: np.ndarray) -> Any:
    """Return the discounted return of rewards (decisions,); for rewards (decisions, patients) an array (patients,).

    >>> print(discounted(np.array([1.0, 1.0, 0.0])))
    1.98
    """
    return DISCOUNT ** np.arange(len(rewards)) @ rewards


def basin(world: HIV, states: Any) -> np.ndarray:
    """Return the name of the steady state to which each patient (n, 6) converges without drugs, str (n,).

    Both steady states attract, and the distance to them doesn't determine the basin. So the patients are simulated
    until they have converged.

    Raises:
        ArithmeticError: If a patient hasn't converged after 60,000 days.
    """
    states = np.array(states, float)
    steady_states = np.array([world.model.state(name) for name in BASINS])
    no_treatment = np.zeros(len(states), np.int64)
    dose = world.dose_of(no_treatment)
    for _ in range(MAX_THOUSAND_DAYS):
        for _ in range(round(1000 / world.timestep)):
            states, _, _ = world.flow(states, no_treatment, dose)
        ratios = np.maximum(states[:, None], 1e-12) / steady_states
        distances = np.abs(np.log10(ratios))
        distances = distances.max(axis=2)
        is_unsettled = distances.min(axis=1) >= TOLERANCE
        if not is_unsettled.any():
            return np.array(BASINS)[distances.argmin(axis=1)]
    raise ArithmeticError(
        f"after {1000 * MAX_THOUSAND_DAYS:,} days without drugs a patient is near neither steady state: "
        f"{states[is_unsettled][0].tolist()}"
    )


def simulate_treatment(
    world: HIV, policy: Callable
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Treat one patient, then stop; return the outcome, the states and the actions.

    The outcome has these keys:

    - `return`: discounted return of the 1,000 days of treatment
    - `E_after_1000_days`, `V_after_1000_days`: effectors (cells/ml) and virus (copies/ml) at the end of treatment
    - `E_after_2000_days`, `V_after_2000_days`: the same 1,000 days later
    - `basin`: the steady state to which the patient converges
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
    """In each round, treat patients, fit the agent to all steps so far, and yield the number of steps."""
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
