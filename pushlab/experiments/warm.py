"""`pushlab warm`: compile the loops of all environments and agents, so that later runs start without a delay.

Loops for rare arguments, such as another user model, are compiled when they are first used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

WHYNOT = {"reference": "whynot-0.12"}


def warm(workers: int | None = None, progress: bool = True) -> int:
    """Compile all loops that aren't cached; return the number of environments and agents that were run.

    Args:
        workers: Number of processes; None uses one per core.
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    from pushlab.envs import TABLE

    work = [
        delayed(play)("pushlab/ODE-World3-v1", **WHYNOT),
        delayed(play)("pushlab/ODE-Opioid-v0", **WHYNOT),
        delayed(learn)("pushlab/evalumap2-v0", "LinUCB"),
        delayed(learn)("pushlab/push-v0", "LinearArrivalQ"),
        delayed(fit_trees)(),
    ]
    work += [delayed(play)(name) for name, *_ in TABLE]
    run = Parallel(workers or -1, batch_size=1, return_as="generator_unordered")
    done = tqdm(run(work), "compiling", len(work), unit="part", disable=not progress)
    return sum(1 for _ in done)


def play(name: str, **arguments: Any) -> None:
    """Run three steps of an environment, alone and in a batch."""
    import gymnasium as gym

    import pushlab  # noqa: F401  registers the ids

    batch = gym.make_vec(name, num_envs=16, **arguments)
    for env in (gym.make(name, **arguments), batch):
        env.reset(seed=0)
        env.action_space.seed(0)
        for _ in range(3):
            env.step(env.action_space.sample())
        env.close()


def learn(name: str, agent: str) -> None:
    """Let an agent learn from a few steps of an environment."""
    from pushlab import agents
    from pushlab.logs.rollout import rollout

    rollout(name, getattr(agents, agent)(), steps=40, progress=False)


def fit_trees() -> None:
    """Run fitted Q iteration on a few made-up steps."""
    from pushlab.agents import FittedQIteration

    states = np.arange(20.0)[:, None]
    planner = FittedQIteration(2, trees=2, growths=1, sweeps=1)
    planner.fit(states, np.arange(20) % 2, states[:, 0], states)
