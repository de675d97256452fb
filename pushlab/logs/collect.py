"""Logs of a known policy with the probabilities of its actions, and true values of policies.

A policy is a function that takes observations (rows, features) and returns probabilities (rows, actions), or an object
with such a method `probabilities`. The features are the log's columns `obs.…` in their order, for dict observations
too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pushlab.agents.protocol import own_chance
from pushlab.envs import naming_the_nearest
from pushlab.ground.arguments import whole
from pushlab.ground.seeds import episode_seed
from pushlab.metrics.offpolicy import action_probabilities

MOST_STATES = 5_000_000  # in an enumeration

Policy = Callable[[np.ndarray], np.ndarray] | Any


def collect(
    env: str,
    policy: Policy,
    episodes: int,
    seed: int = 0,
    actions: np.ndarray | None = None,
    **kwargs: Any,
) -> pd.DataFrame:
    """Run a policy in an environment's native batch version and return the log, a DataFrame with one row per step.

    Args:
        env: Id of an environment.
        policy: The behaviour policy. ValueError unless its probabilities are at least 0 with a sum of 1.
        episodes: Number of episodes. Episode e is that of an environment reset with `episode_seed(seed, e)`, as in
            `rollout`.
        seed: Seed of the environment and the policy.
        actions: An array (actions, …): the environment's action for each number of the policy's; None if they're
            the same.
        kwargs: Arguments of the environment.

    Columns: env, seed, episode, step, action (a number), reward, propensity, terminated, truncated, and
    `obs.<name>` (of dicts `obs.<key>.<name>`) and `last`, as in `rollout`.

    >>> from pushlab.agents.rec import SoftmaxItem
    >>> log = collect("pushlab/RECEnv-v0", SoftmaxItem(np.eye(5)), episodes=2, seed=7, step_per_episode=3)
    >>> log[["episode", "step"]].values.tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    import gymnasium as gym

    whole("episodes", episodes, 1)
    with naming_the_nearest(env):
        envs: Any = gym.make_vec(env, num_envs=episodes, **kwargs)
    chance = own_chance(seed)
    seeds = [episode_seed(seed, episode) for episode in range(episodes)]
    observations, _ = envs.reset(seed=seeds)
    names = _names(observations, envs.unwrapped.world.observation_names)
    matrix = _matrix(observations)
    is_over = np.zeros(episodes, bool)
    parts = []
    while not is_over.all():
        probabilities = action_probabilities(policy, matrix)
        chosen = _draw(probabilities, chance.random(episodes))
        sent = chosen if actions is None else actions[chosen]
        observations, rewards, terminated, truncated, _ = envs.step(sent)
        following = _matrix(observations)
        ends = terminated | truncated
        rows = np.flatnonzero(~is_over)  # others have begun again
        last = np.full(len(rows), None)
        for at in np.flatnonzero(ends[rows]):
            last[at] = following[rows[at]].tolist()
        part = {
            "episode": rows,
            "step": np.full(len(rows), len(parts)),
            "action": chosen[rows],
            "reward": rewards[rows],
            "propensity": probabilities[rows, chosen[rows]],
            "terminated": terminated[rows],
            "truncated": truncated[rows],
        }
        part |= dict(zip(names, matrix[rows].T, strict=True))
        parts.append(part | {"last": last})
        is_over |= ends
        matrix = following
    envs.close()
    columns = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    log = pd.DataFrame(columns).sort_values(["episode", "step"], ignore_index=True)
    log.insert(0, "env", env.split("/")[-1])
    log.insert(1, "seed", seed)
    return log


def _matrix(observations):
    """Return a batch of observations as one array (rows, features), the parts of a dict side by side."""
    if isinstance(observations, dict):
        return np.hstack([_matrix(part) for part in observations.values()])
    return np.asarray(observations).reshape(len(observations), -1)


def _names(observations, names, prefix="obs"):
    """Return the log's names for the columns of `_matrix(observations)`."""
    if isinstance(observations, dict):
        columns = []
        for key, part in observations.items():
            own = (names or {}).get(key)
            columns += _names(part, own, f"{prefix}.{key}")
        return columns
    return [
        f"{prefix}.{name}" for name in names or range(_matrix(observations).shape[1])
    ]


def _draw(probabilities, uniforms):
    """Draw an action's number for each row from the row's probabilities."""
    chosen = (uniforms[:, None] >= np.cumsum(probabilities, axis=1)).sum(axis=1)
    # A sum of probabilities may be just below 1.
    return np.minimum(chosen, probabilities.shape[1] - 1)


def true_value(world: Any, policy: Policy) -> float:
    """Return the expected return of an episode in a RECEnv world, by enumeration of users and treatments.

    Args:
        world: A RECEnv without observation noise, whose user model has an exact `expect`. Noise in rewards doesn't
            matter, since only their expectation counts.
        policy: The policy to value.

    Raises:
        ValueError: There is noise in observations, or there are more than 5 million states.
    """
    steps = world.step_per_episode
    if world.obs_std:
        raise ValueError(
            f"enumeration needs observations without noise; obs_std is {world.obs_std}"
        )
    if world.n_users * world.n_items**steps > MOST_STATES:
        raise ValueError(
            f"{world.n_users} users and {world.n_items} items in {steps} steps make more than "
            f"{MOST_STATES:,} states; take fewer, or the mean of many episodes"
        )
    users = np.arange(world.n_users)
    uniforms = np.zeros((len(users), world.uniforms))
    states = world.initial(uniforms, {"user_id": users})["state"]
    weights = np.full(len(users), 1 / len(users))
    value = 0.0
    for _ in range(steps):
        probabilities = action_probabilities(policy, world.observe({"state": states}))
        parents, items = (index.ravel() for index in np.indices(probabilities.shape))
        rewards, states = world.expect(states[parents], items)
        weights = weights[parents] * probabilities.ravel()
        value += float(weights @ rewards)
    return value
