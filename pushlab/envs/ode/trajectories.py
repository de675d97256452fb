"""Trajectories of a model under given actions, as tables: what happens, and what would have happened."""

import numpy as np


def simulate(world, actions, start, steps=None):
    """See `ODE.simulate`; start (variables,), `steps` at most."""
    import pandas as pd

    space = world.action_space
    policy, steps = _as_policy(world, actions, world.steps if steps is None else steps)
    values, rows = np.asarray(start, np.float64)[None].copy(), []
    reward = np.nan
    names = [item.name for item in world.model.interventions]
    time = world.config.start_time
    for step in range(steps + 1):
        row = {"time": float(time), **dict(zip(world.model.names, values[0]))}
        if step == steps:
            rows.append({**row, **dict.fromkeys(names, np.nan), "reward": reward})
            break
        action = np.asarray(policy(values[0], float(time), step), space.dtype)
        if not space.contains(action):
            raise ValueError(f"action {action!r} at step {step} is not in {space}")
        dose = world.dose_of(action[None])
        rows.append({**row, **dict(zip(names, dose[0])), "reward": reward})
        values, (time,), (reward,) = world.flow(values, np.array([step]), dose)
    table = pd.DataFrame(rows)
    if world.model.indicators is not None:      # each state under the dose that led to it, the first under the next
        own = {name: item["own"] for name, item in world.told["interventions"].items()}
        doses = table[names].shift().bfill().fillna(own)
        shown = world.model.indicators(table[list(world.model.names)].to_numpy(), doses.to_numpy(), world.config)
        table = table.assign(**shown)
    table.attrs["model"] = world.told
    return table


def counterfactual(world, trail, actions):
    """See `ODE.counterfactual`; `trail` has the values (1, variables) before each step of the episode."""
    steps = len(trail)
    if not steps:
        raise ValueError("nothing has happened yet: counterfactual() replays the steps since reset()")
    if not callable(actions) and not _is_single(world, actions) and len(actions) != steps:
        raise ValueError(f"the episode has had {steps} steps; got {len(actions)} actions")
    return simulate(world, actions, trail[0][0], steps)


def _is_single(world, actions):
    return np.ndim(actions) == len(world.action_space.shape)


def _as_policy(world, actions, steps):
    """A function of (values, time, step), and for how many steps it goes."""
    if callable(actions):
        return lambda values, time, step: actions(values.copy(), time), steps
    if _is_single(world, actions):
        return lambda values, time, step: actions, steps
    if len(actions) > steps:
        raise ValueError(f"there are {steps} steps to the end; got {len(actions)} actions")
    return lambda values, time, step: actions[step], len(actions)
