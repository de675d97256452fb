"""Compiles the loops of all worlds and agents ahead, so that nobody waits for them later: `pushlab warm`.

What is compiled is kept on disk, where every later process finds it; see `pushlab.ground.compiled`. Loops that only
a rare argument asks for, such as another solver, are compiled when it is given.
"""

from typing import Any

from pushlab.ground.commands import heard


def warm(workers: int | None = None, progress: bool = True) -> int:
    """Compiles what is not kept yet; returns how many pieces of work it looked after.

    workers   processes side by side; None is one a core

    It may be interrupted, and run again: what is compiled by then stays.
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    from pushlab.envs import TABLE

    work = [*WORK, *((play, (name, {})) for name, *_ in TABLE if name not in PLAYED)]
    done = Parallel(
        n_jobs=workers or -1, batch_size=1, return_as="generator_unordered"
    )(delayed(job)(*arguments) for job, *arguments in work)
    parts = 0
    with heard():
        for _ in tqdm(
            done, total=len(work), desc="compiling", unit="part", disable=not progress
        ):
            parts += 1
    return parts


def play(*worlds: tuple[str, dict]) -> None:
    """Three steps of each of these worlds, (id, arguments), alone and in a batch of sixteen."""
    import gymnasium as gym

    import pushlab  # noqa: F401

    for name, arguments in worlds:
        for env in (
            gym.make(name, **arguments),
            gym.make_vec(name, num_envs=16, **arguments),
        ):
            env.reset(seed=0)
            env.action_space.seed(0)
            for _ in range(3):
                env.step(env.action_space.sample())
            env.close()


def play_world3() -> None:
    """World3 with everything that is compiled from its equations."""
    from pushlab.envs.ode.models import load_model
    from pushlab.envs.ode.models.world3 import indicators

    play(
        ("pushlab/ODE-World3-v1", {}),
        ("pushlab/ODE-World3-v1", {"reference": "whynot-0.12"}),
    )
    indicators(load_model("world3").state()[None])


def learn(name: str, agent: str, steps: int = 40, **arguments: Any) -> None:
    """An agent that learns from a few steps of a world."""
    from pushlab import agents
    from pushlab.logs.rollout import rollout

    rollout(name, getattr(agents, agent)(**arguments), steps=steps, progress=False)


def climb() -> None:
    """A judge that is a tree, of one question."""
    import numpy as np

    from pushlab.datasets.reading import load_user
    from pushlab.users.simulated import TreeUser

    user = load_user("mira")
    none, leaf = np.array([0, 0, 0]), np.array([1, -1, -1])
    judge = TreeUser(
        user.schema, none, none, leaf, np.array([2, -1, -1]), np.array([0.5, 0.2, 0.8])
    )
    judge.probability(user.test.context_codes[:2], user.test.notification_codes[:2])
    play(("pushlab/evalumap1-v0", {"judge": judge}))


def plan() -> None:
    """Fitted Q iteration on a few made-up steps."""
    import numpy as np

    from pushlab.agents import FittedQIteration

    steps = np.arange(20.0)[:, None]
    FittedQIteration(2, trees=2, growths=1, sweeps=1).fit(
        steps, np.arange(20) % 2, steps[:, 0], steps
    )


# The longest first, for then all cores end at about the same time. What shares a loop stands together: it is compiled
# once.
WORK: tuple[tuple, ...] = (
    (play_world3,),
    (
        play,
        ("pushlab/ODE-Opioid-v0", {}),
        ("pushlab/ODE-Opioid-v0", {"reference": "whynot-0.12"}),
    ),
    (play, ("pushlab/push-v0", {})),
    (play, ("pushlab/ODE-Zika-v0", {})),
    (play, ("pushlab/ODE-HIV-v0", {}), ("pushlab/ODE-HIV-Goal-v0", {})),
    (play, ("pushlab/ODE-LotkaVolterra-v1", {})),
    (play, ("pushlab/RoomEnv-v0", {})),
    (learn, "pushlab/evalumap2-v0", "LinUCB"),
    (learn, "pushlab/push-v0", "LinearArrivalQ"),
    (climb,),
    (plan,),
    (play, ("pushlab/Credit-v0", {})),
    (play, ("pushlab/RECEnv-v0", {})),
)
# By these; evalumap1 and the first versions of others share their loops. Worlds that are not named come last.
PLAYED = {
    "pushlab/ODE-World3-v1",
    "pushlab/ODE-World3-v0",
    "pushlab/ODE-LotkaVolterra-v0",
    "pushlab/evalumap1-v0",
    "pushlab/evalumap2-v0",
    *(world[0] for job, *worlds in WORK for world in worlds if job is play),
}
