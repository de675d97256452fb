"""Logs of a policy with the probabilities of its actions, and true values of policies.

A policy is a function of observations (rows, features) that returns probabilities (rows, actions), or an object with
such a method `probabilities`. The features are the log's columns `obs.…` in their order, also for dict observations.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd

from pushlab.agents.protocol import agent_rng
from pushlab.metrics.offpolicy import action_probabilities
from pushlab.utils.arguments import validate_integer
from pushlab.utils.seeds import episode_seed

MAX_STATES = 5_000_000  # in an enumeration

Policy = Callable[[np.ndarray], np.ndarray] | Any


def collect(
    env: str | gym.Env,
    policy: Policy,
    episodes: int,
    seed: int = 0,
    actions: np.ndarray | None = None,
) -> pd.DataFrame:
    """Run a policy in an environment's native batch version and return the log, a DataFrame with one row per step.

    Args:
        env: Id of an environment, or an environment of `gym.make`, whose arguments are taken.
        policy: The behaviour policy.
        episodes: Number of episodes. As in `rollout`, episode e has the seed `episode_seed(seed, e)`.
        seed: Seed of the environment and the policy.
        actions: Array (actions, …) with the environment's action for each of the policy's numbers; None if they are the
            same.

    Columns: env, seed, episode, step, action (a number), reward, propensity, terminated, truncated, and
    `obs.<name>` (for dicts `obs.<key>.<name>`) and `last`, as in `rollout`.

    Raises:
        ValueError: The policy's probabilities are below 0, or their sum is not 1.

    >>> from pushlab.agents.rec import SoftmaxItem
    >>> items = gym.make("pushlab/RECEnv-v0", step_per_episode=3)
    >>> log = collect(items, SoftmaxItem(np.eye(5)), episodes=2, seed=7)
    >>> log[["episode", "step"]].values.tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]

    In an environment with many actions, the policy chooses among some of them.

    >>> phone = gym.make("pushlab/evalumap1-v0", user="mira")
    >>> candidates = np.zeros((2, 7), int)
    >>> log = collect(phone, lambda seen: np.full((len(seen), 2), 0.5), episodes=1, actions=candidates)
    >>> len(log), log[["terminated", "truncated"]].sum().tolist()
    (2866, [1, 0])
    """
    validate_integer("episodes", episodes, 1)
    spec: Any = env
    if isinstance(env, gym.Env) and env.spec:
        spec = copy(env.spec)
        # The limit of steps is the world's own unless gym.make got another one.
        if spec.max_episode_steps == env.get_wrapper_attr("world").max_steps:
            spec.max_episode_steps = None
    envs: Any = gym.make_vec(spec, num_envs=episodes)
    rng = agent_rng(seed)
    seeds = [episode_seed(seed, episode) for episode in range(episodes)]
    observations, _ = envs.reset(seed=seeds)
    names = _names(observations, envs.unwrapped.world.observation_names)
    matrix = _matrix(observations)
    is_over = np.zeros(episodes, bool)
    tables = []
    while not is_over.all():
        probabilities = action_probabilities(policy, matrix)
        numbers = _draw(probabilities, rng.random(episodes))
        env_actions = numbers if actions is None else actions[numbers]
        observations, rewards, terminated, truncated, _ = envs.step(env_actions)
        next_matrix = _matrix(observations)
        ends = terminated | truncated
        rows = np.flatnonzero(~is_over)  # the others are in another episode
        last = np.full(len(rows), None)
        for position in np.flatnonzero(ends[rows]):
            last[position] = next_matrix[rows[position]].tolist()
        table = {
            "episode": rows,
            "step": np.full(len(rows), len(tables)),
            "action": numbers[rows],
            "reward": rewards[rows],
            "propensity": probabilities[rows, numbers[rows]],
            "terminated": terminated[rows],
            "truncated": truncated[rows],
        }
        table |= dict(zip(names, matrix[rows].T, strict=True))
        tables.append(table | {"last": last})
        is_over |= ends
        matrix = next_matrix
    envs.close()
    columns = {
        name: np.concatenate([table[name] for table in tables]) for name in tables[0]
    }
    log = pd.DataFrame(columns).sort_values(["episode", "step"], ignore_index=True)
    log.insert(0, "env", envs.unwrapped.spec.id.split("/")[-1])
    log.insert(1, "seed", seed)
    return log


def _matrix(observations):
    """Return a batch of observations as one array (rows, features) that joins the parts of a dict."""
    if isinstance(observations, dict):
        return np.hstack([_matrix(part) for part in observations.values()])
    return np.asarray(observations).reshape(len(observations), -1)


def _names(observations, names, prefix="obs"):
    """Return the log's names for the columns of `_matrix(observations)`."""
    if isinstance(observations, dict):
        columns = []
        for key, part in observations.items():
            part_names = (names or {}).get(key)
            columns += _names(part, part_names, f"{prefix}.{key}")
        return columns
    names = names or range(_matrix(observations).shape[1])
    return [f"{prefix}.{name}" for name in names]


def _draw(probabilities, uniforms):
    """Draw an action's number for each row from the row's probabilities."""
    is_passed = uniforms[:, None] >= np.cumsum(probabilities, axis=1)
    # A sum of probabilities can be just below 1.
    return np.minimum(is_passed.sum(axis=1), probabilities.shape[1] - 1)


def true_value(world: Any, policy: Policy) -> float:
    """Return the expected return of an episode in a RECEnv world, by enumeration of users and treatments.

    Args:
        world: A RECEnv without observation noise, whose user model has an exact `expected_step`. Rewards may be noisy,
            since only their expected values are used.
        policy: The policy to evaluate.

    Raises:
        ValueError: Observations are noisy, or there are more than 5 million states.
    """
    steps = world.step_per_episode
    if world.obs_std:
        raise ValueError(
            f"true_value needs observations without noise; obs_std is {world.obs_std}"
        )
    if world.n_users * world.n_items**steps > MAX_STATES:
        raise ValueError(
            f"{world.n_users} users and {world.n_items} items in {steps} steps make more than "
            f"{MAX_STATES:,} states; use fewer, or the mean of many episodes"
        )
    users = np.arange(world.n_users)
    uniforms = np.zeros((len(users), world.uniforms))
    states = world.initial(uniforms, {"user_id": users})["state"]
    weights = np.full(len(users), 1 / len(users))
    value = 0.0
    for _ in range(steps):
        observations = world.observe({"state": states})
        probabilities = action_probabilities(policy, observations)
        parents, items = np.indices(probabilities.shape).reshape(2, -1)
        rewards, states = world.expected_step(states[parents], items)
        weights = weights[parents] * probabilities.ravel()
        value += float(weights @ rewards)
    return value
