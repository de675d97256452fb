"""Trajectories of a model under given actions, as tables: what happens, and what would have happened."""

from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.envs.ode.integrate import METHODS
from pushlab.envs.shell import reader_of
from pushlab.ground.arguments import demand, naming

if TYPE_CHECKING:
    import pandas as pd


def simulate(
    world: Any, actions: Any, start: np.ndarray, steps: int | None = None
) -> "pd.DataFrame":
    """See `ODE.simulate`; start (variables,), `steps` at most."""
    import pandas as pd

    read, names = reader_of(world), [item.name for item in world.model.interventions]
    policy, steps = _as_policy(world, actions, world.steps if steps is None else steps)
    values, time, reward, rows = (
        start[None].copy(),
        float(world.config.start_time),
        np.nan,
        [],
    )
    for step in range(steps):
        action = policy(values[0], float(time), step)
        try:
            dose = world.dose_of(read(action, 1))
        except ValueError as error:
            raise ValueError(f"actions, step {step}: {error}") from None
        rows.append((time, *values[0], *dose[0], reward))
        values, (time,), (reward,) = world.flow(values, np.array([step]), dose)
    rows.append((time, *values[0], *[np.nan] * len(names), reward))
    table = pd.DataFrame(rows, columns=["time", *world.model.names, *names, "reward"])
    if (
        world.model.indicators is not None
    ):  # each state under the dose that led to it, the first under the next
        doses = (
            table[names]
            .shift()
            .bfill()
            .fillna(dict(zip(names, world.model.dose(world.config))))
        )
        shown = world.model.indicators(
            table[list(world.model.names)].to_numpy(), doses.to_numpy(), world.config
        )
        table = table.assign(**shown)
    table.attrs["model"] = world.told
    return table


def counterfactual(world: Any, trail: list, actions: Any) -> "pd.DataFrame":
    """See `ODE.counterfactual`; `trail` has the values (1, variables) before each step of the episode."""
    demand(
        trail,
        "nothing has happened yet: counterfactual() replays the steps since reset()",
    )
    if (
        not callable(actions)
        and not _is_single(world, actions)
        and len(actions) != len(trail)
    ):
        raise ValueError(
            f"actions: the episode has had {len(trail)} steps; got {len(actions)} actions"
        )
    return simulate(world, actions, trail[0][0], len(trail))


def _is_single(world, actions):
    with naming("actions", actions):
        single = np.ndim(actions) == len(world.action_space.shape)
        return (
            single or len(actions) < 0
        )  # what is neither one action nor a list has no length


def _as_policy(world, actions, steps):
    """A function of (values, time, step), and for how many steps it goes."""
    if callable(actions):
        return lambda values, time, step: actions(values.copy(), time), steps
    if _is_single(world, actions):
        return lambda values, time, step: actions, steps
    demand(
        len(actions) <= steps,
        f"actions: there are {steps} steps to the end; got {len(actions)} actions",
    )
    rows = list(actions)
    return lambda values, time, step: rows[step], len(rows)


def failure(
    world: Any, values: np.ndarray, step: np.ndarray, dose: np.ndarray
) -> ArithmeticError:
    """What to raise where a step of some copies failed: it names the first; all are as they were before the step."""
    how = "in steps of" if world.solver in METHODS else "to a tolerance of"
    after = np.empty((1, values.shape[1])), np.empty(1), np.empty(1)
    copy = next(
        copy
        for copy in range(len(values))
        if world._one(
            values[copy : copy + 1],
            step[copy : copy + 1],
            world.timestep,
            world._constants,
            dose[copy : copy + 1],
            world._fineness,
            0.0,
            *after,
        )
    )
    own = vars(world.model.Config())
    changed = {
        name: value for name, value in vars(world.config).items() if value != own[name]
    }
    return ArithmeticError(
        f"{world.model.name} could not be integrated {how} {world._fineness:g} from the state "
        f"{dict(zip(world.model.names, values[copy].tolist()))} of copy {copy}: something changes "
        f"too fast; config: {changed}, timestep: {world.timestep:g}"
    )
