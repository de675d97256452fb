"""Worlds, and the Env and VectorEnv around them; the table of ids that `import pushlab` registers with Gymnasium."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# id, world, what it is in a few words. A world's docstring is the environment's page.
TABLE = (
    (
        "pushlab/evalumap1-v0",
        "pushlab.envs.evalumap:EvalUMAP1",
        "choose a whole notification for each context of a user's quarter, having learned from history",
    ),
    (
        "pushlab/evalumap2-v0",
        "pushlab.envs.evalumap:EvalUMAP2",
        "the same from a cold start, learning from each answer",
    ),
    (
        "pushlab/RoomEnv-v0",
        "pushlab.envs.room:Room",
        "answer where people's things are, remembering one placement a step",
    ),
    (
        "pushlab/RECEnv-v0",
        "pushlab.envs.rec.world:RECEnv",
        "choose which item to show a user whose preference moves with what is shown",
    ),
    (
        "pushlab/ODE-HIV-v0",
        "pushlab.envs.ode.hiv:HIV",
        "treat an HIV infection with two drugs, in a system that answers back",
    ),
    (
        "pushlab/ODE-HIV-Goal-v0",
        "pushlab.envs.ode.hiv:HIVGoal",
        "the same patient with a goal to be reached",
    ),
    (
        "pushlab/ODE-LotkaVolterra-v1",
        "pushlab.envs.ode.lotka_volterra:LotkaVolterra",
        "keep rabbits and foxes from dying out",
    ),
    (
        "pushlab/ODE-Opioid-v0",
        "pushlab.envs.ode.opioid:Opioid",
        "keep people from dying of opioids by holding down how many begin to use them",
    ),
    (
        "pushlab/ODE-Zika-v0",
        "pushlab.envs.ode.zika:Zika",
        "hold down Zika in a small town with bednets, condoms, treatment and spray",
    ),
    (
        "pushlab/ODE-World3-v1",
        "pushlab.envs.ode.world3:World3",
        "steer what the world of The Limits to Growth uses and pollutes",
    ),
    (
        "pushlab/Credit-v0",
        "pushlab.envs.credit.world:Credit",
        "publish a credit score whose people change what it looks at",
    ),
    (
        "pushlab/push-v0",
        "pushlab.envs.push.world:Push",
        "show, dismiss or put off each arriving notification on the user's behalf",
    ),
)

# Not in the table: it is played on a server, and is part of pushlab_classroom.
REMOTE = (
    "pushlab/Remote-v0",
    "pushlab_classroom.remote:Remote",
    "evalumap2-v0 or push-v0 with a private user, on the server of a class",
)

LIMITS = {
    "pushlab/RoomEnv-v0": 1000
}  # steps after which an episode is cut short, where there is such a limit


@contextmanager
def naming_the_nearest(name: Any) -> Iterator[None]:
    """While an environment is made: where Gymnasium knows no such id, the error names the one that is meant."""
    from gymnasium.error import UnregisteredEnv

    from pushlab.ground.arguments import meant

    try:
        yield
    except UnregisteredEnv as error:
        raise type(error)(
            f"{error}{meant(name, [known for known, *_ in (*TABLE, REMOTE)])}"
        ) from None


def register_all() -> None:
    """Registers every id of the table; strings as entry points keep the import light."""
    from gymnasium.envs.registration import register, registry

    for name, world, _ in TABLE:
        if name not in registry:
            register(
                name,
                entry_point="pushlab.envs.shell:Env",
                vector_entry_point="pushlab.envs.batch:VectorEnv",
                kwargs={"world": world},
                max_episode_steps=LIMITS.get(name),
            )
    if REMOTE[0] not in registry:
        register(
            REMOTE[0],
            entry_point="pushlab.envs:RemoteEnv",
            vector_entry_point="pushlab.envs:RemoteVectorEnv",
            nondeterministic=True,
        )  # its chance is the server's, whatever the seed


def __getattr__(name: str) -> Any:
    """Return RemoteEnv or RemoteVectorEnv of pushlab_classroom, which is only imported when they are made."""
    from pushlab.ground.arguments import bring

    if name not in ("RemoteEnv", "RemoteVectorEnv"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return bring(f"pushlab_classroom:{name}", REMOTE[0], "serve")
