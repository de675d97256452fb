"""Logged data: what a known policy saw, did and earned, with the probabilities of what it did; and true values.

A policy is a function of observations (rows, features) that returns probabilities (rows, actions), or an object with
such a method `probabilities`. Features are the log's columns `obs.…` in their order: observations that are dicts come
as one matrix too.
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
from pushlab.metrics.offpolicy.logs import probabilities_of

MOST_STATES = 5_000_000  # that an enumeration may visit

Policy = Callable[[np.ndarray], np.ndarray] | Any


def collect(
    env: str,
    policy: Policy,
    episodes: int,
    seed: int = 0,
    actions: np.ndarray | None = None,
    **kwargs: Any,
) -> pd.DataFrame:
    """A log of a policy in an environment, made in its native batch version: a DataFrame with a row a step.

    env       id of an environment
    policy    the behaviour policy; ValueError unless its probabilities are not below 0 and of sum 1
    episodes  how many; episode e is that of an environment reset with `episode_seed(seed, e)`, as in `rollout`
    seed      of environment and policy
    actions   array (actions, …): what the policy's action number k means to the environment; None where it is k
    kwargs    arguments of the environment
    returns   columns env, seed, episode, step, action (a number), reward, propensity, terminated, truncated, and
              `obs.<name>`, of dicts `obs.<key>.<name>`, and `last`, as in `rollout`

    >>> from pushlab.agents.rec import SoftmaxItem
    >>> log = collect("pushlab/RECEnv-v0", SoftmaxItem(np.eye(5)), episodes=2, seed=7, step_per_episode=3)
    >>> log[["episode", "step"]].values.tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    import gymnasium as gym

    with naming_the_nearest(env):
        envs: Any = gym.make_vec(env, num_envs=whole("episodes", episodes, 1), **kwargs)
    chance = own_chance(seed)
    seen, _ = envs.reset(
        seed=[episode_seed(seed, episode) for episode in range(episodes)]
    )
    names = _names(seen, envs.unwrapped.world.observation_names)
    over, parts, step, seen = np.zeros(episodes, bool), [], 0, _matrix(seen)
    while not over.all():
        likely = probabilities_of(policy, seen)
        chosen = _draw(likely, chance.random(episodes))
        following, reward, terminated, truncated, _ = envs.step(
            chosen if actions is None else actions[chosen]
        )
        on, following = (
            np.flatnonzero(~over),
            _matrix(following),
        )  # a copy that is over has begun again
        last = np.full(len(on), None)
        for row in np.flatnonzero((terminated | truncated)[on]):
            last[row] = following[on[row]].tolist()
        parts.append(
            {
                "episode": on,
                "step": np.full(len(on), step),
                "action": chosen[on],
                "reward": reward[on],
                "propensity": likely[on, chosen[on]],
                "terminated": terminated[on],
                "truncated": truncated[on],
                "obs": seen[on],
                "last": last,
            }
        )
        over |= terminated | truncated
        seen, step = following, step + 1
    envs.close()
    columns = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    observed, last = columns.pop("obs"), columns.pop("last")
    columns |= dict(zip(names, observed.T, strict=True)) | {"last": last}
    log = pd.DataFrame(columns).sort_values(["episode", "step"], ignore_index=True)
    log.insert(0, "env", env.split("/")[-1])
    log.insert(1, "seed", seed)
    return log


def _matrix(seen):
    """A batch of observations as one array (rows, features), the parts of a dict side by side."""
    if isinstance(seen, dict):
        return np.hstack([_matrix(part) for part in seen.values()])
    return np.asarray(seen).reshape(len(seen), -1)


def _names(seen, names, prefix="obs"):
    """What the columns of `_matrix(seen)` are called in a log."""
    if isinstance(seen, dict):
        return [
            name
            for key, part in seen.items()
            for name in _names(part, (names or {}).get(key), f"{prefix}.{key}")
        ]
    return [f"{prefix}.{name}" for name in names or range(_matrix(seen).shape[1])]


def _draw(probabilities, uniforms):
    """A number for each row, drawn with the row's probabilities."""
    chosen = (uniforms[:, None] >= np.cumsum(probabilities, axis=1)).sum(axis=1)
    return np.minimum(
        chosen, probabilities.shape[1] - 1
    )  # a sum of probabilities may end just below 1


def true_value(
    world: Any, policy: Policy, steps: int | None = None, discount: float = 1.0
) -> float:
    """The value of a policy in a RECEnv world by exact enumeration of all users and all ways they may be treated.

    world     a RECEnv without observation noise, whose user model has an exact `expect`; noise in rewards does not
              matter, as only their expectation counts
    steps     of an episode; None takes the world's
    returns   expected (discounted) return of an episode, float

    Raises ValueError where there is noise in observations, or more than 5 million states to visit.
    """
    steps = world.step_per_episode if steps is None else steps
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
    states = world.initial(np.zeros((len(users), world.uniforms)), {"user_id": users})[
        "state"
    ]
    weights, value = np.full(len(users), 1 / len(users)), 0.0
    for step in range(steps):
        seen = world.observe({"state": states})
        likely = np.asarray(getattr(policy, "probabilities", policy)(seen), float)
        parents, items = (index.ravel() for index in np.indices(likely.shape))
        rewards, states = world.expect(states[parents], items)
        weights = weights[parents] * likely.ravel()
        value += discount**step * float(weights @ rewards)
    return value
