"""Worlds and the environments around them. `import pushlab` registers the ids of ENVIRONMENTS with Gymnasium."""

from typing import Any

import gymnasium as gym

# (id, world, summary). The docstring of the world documents the environment.
ENVIRONMENTS = (
    (
        "pushlab/evalumap1-v0",
        "pushlab.envs.evalumap:EvalUMAP1",
        "choose a notification for each context of a user's quarter, after learning from history",
    ),
    (
        "pushlab/evalumap2-v0",
        "pushlab.envs.evalumap:EvalUMAP2",
        "the same from a cold start, learning from each answer",
    ),
    (
        "pushlab/RoomEnv-v0",
        "pushlab.envs.room:Room",
        "answer questions about where people put their things, seeing one placement per step",
    ),
    (
        "pushlab/RECEnv-v0",
        "pushlab.envs.rec.world:RECEnv",
        "recommend items to a user whose preference drifts towards the items shown",
    ),
    (
        "pushlab/ODE-HIV-v0",
        "pushlab.envs.ode.hiv:HIV",
        "treat an HIV infection with two drugs",
    ),
    (
        "pushlab/ODE-HIV-Goal-v0",
        "pushlab.envs.ode.hiv:HIVGoal",
        "the same patient, with a target state to reach",
    ),
    (
        "pushlab/ODE-LotkaVolterra-v1",
        "pushlab.envs.ode.lotka_volterra:LotkaVolterra",
        "keep rabbits and foxes from dying out",
    ),
    (
        "pushlab/ODE-Opioid-v0",
        "pushlab.envs.ode.opioid:Opioid",
        "reduce opioid deaths by limiting how many people begin to use opioids",
    ),
    (
        "pushlab/ODE-Zika-v0",
        "pushlab.envs.ode.zika:Zika",
        "control Zika in a small town with bednets, condoms, treatment and spray",
    ),
    (
        "pushlab/ODE-World3-v1",
        "pushlab.envs.ode.world3:World3",
        "steer the resource use and pollution of the world of The Limits to Growth",
    ),
    (
        "pushlab/Credit-v0",
        "pushlab.envs.credit.world:Credit",
        "publish a credit score to which people adapt their features",
    ),
    (
        "pushlab/push-v0",
        "pushlab.envs.push.world:Push",
        "show, dismiss or defer each arriving notification on the user's behalf",
    ),
)

# Not in ENVIRONMENTS, because it needs a server of pushlab_classroom.
REMOTE_ENVIRONMENT = (
    "pushlab/Remote-v0",
    "pushlab_classroom.remote:Remote",
    "evalumap2-v0 or push-v0 with a private user, on the server of a class",
)

# Steps after which an episode is truncated, for ids with a limit.
MAX_EPISODE_STEPS = {"pushlab/RoomEnv-v0": 1000}


def register(id: str, world: Any, max_episode_steps: int | None = None) -> None:
    """Register a world of your own with Gymnasium, for `gym.make` and native batches of `gym.make_vec`.

    Args:
        id: Such as "me/Queue-v0".
        world: A subclass of World, or "module:Class". Its arguments are those of `gym.make`.
        max_episode_steps: Steps after which an episode is truncated; None for no limit beyond the world's.
    """
    gym.register(
        id,
        entry_point="pushlab.envs.env:Env",
        vector_entry_point="pushlab.envs.vector_env:VectorEnv",
        kwargs={"world": world},
        max_episode_steps=max_episode_steps,
    )


def register_all() -> None:
    """Register every id with Gymnasium. Entry points are strings, to keep the import light."""
    if REMOTE_ENVIRONMENT[0] in gym.registry:  # after a reload
        return
    for name, world, _ in ENVIRONMENTS:
        register(name, world, MAX_EPISODE_STEPS.get(name))
    gym.register(
        REMOTE_ENVIRONMENT[0],
        entry_point="pushlab.envs:RemoteEnv",
        vector_entry_point="pushlab.envs:RemoteVectorEnv",
        nondeterministic=True,  # the server ignores the seed
    )


def __getattr__(name: str) -> Any:
    """Import RemoteEnv or RemoteVectorEnv from pushlab_classroom on first use."""
    from pushlab.utils.arguments import import_optional

    if name not in ("RemoteEnv", "RemoteVectorEnv"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_optional(f"pushlab_classroom:{name}", REMOTE_ENVIRONMENT[0], "serve")
