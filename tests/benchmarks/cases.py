"""What is measured: the worlds, an environment that does nothing, and the arguments that set a world's size."""

import tempfile
from dataclasses import replace
from pathlib import Path

import gymnasium as gym

from pushlab.envs import TABLE

EMPTY = "pushlab-benchmarks/empty-v0"
TIMES = (1, 4, 16)  # how many times its first size a world is given

# Steps a second of the originals, taken once on two cores of a small cloud machine, most of them without wrappers.
ORIGINALS = {
    "evalumap1-v0": "gym-push: 200",
    "evalumap2-v0": "gym-push: 200",
    "RECEnv-v0": "RECGym: 57,600",
    "RoomEnv-v0": "room-env: 117,000",
    "ODE-HIV-v0": "WhyNot: 980",
    "ODE-Opioid-v0": "WhyNot: 770",
    "ODE-Zika-v0": "WhyNot: 3,200",
    "ODE-World3-v1": "WhyNot: 43 to 65",
    "Credit-v0": "WhyNot: 1,300",
}

IN_A_BATCH = {
    "pushlab/RoomEnv-v0": {"encoding": "index"}
}  # a batch takes codes where one alone takes words


class Empty(gym.Env):
    """An environment in which nothing happens: what Gymnasium itself costs."""

    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


def register_empty():
    if EMPTY not in gym.registry:
        gym.register(EMPTY, entry_point=Empty)


def newest():
    """The registered ids of pushlab, each world's newest version."""
    versions = {}
    for name, *_ in TABLE:
        world, version = name.rsplit("-v", 1)
        versions[world] = max(versions.get(world, 0), int(version))
    return [f"{world}-v{version}" for world, version in versions.items()]


# ---------------------------------------------------------------- sizes


def sizes():
    """(world, what grows, first size, a function of a size that gives the arguments): a step of each is timed at TIMES
    its first size. The function returns None where the world does not go so far."""
    return [
        (
            "pushlab/evalumap1-v0",
            "contexts of a quarter",
            1000,
            lambda size: {"user": user_of(size)},
        ),
        ("pushlab/evalumap1-v0", "users", 1, several_users),
        ("pushlab/push-v0", "days", 1, lambda size: {"horizon": size}),
        ("pushlab/push-v0", "users", 1, several_users),
        ("pushlab/RECEnv-v0", "items", 5, lambda size: {"n_items": size}),
        ("pushlab/RECEnv-v0", "users", 100, lambda size: {"n_users": size}),
        (
            "pushlab/RECEnv-v0",
            "features of items and users",
            5,
            lambda size: {"item_feature_dim": size, "user_feature_dim": size},
        ),
        (
            "pushlab/RECEnv-v0",
            "steps of an episode",
            10,
            lambda size: {"step_per_episode": size},
        ),
        (
            "pushlab/RoomEnv-v0",
            "people",
            5,
            lambda size: room(n_people=size, n_objects=20, n_locations=20),
        ),
        (
            "pushlab/RoomEnv-v0",
            "objects",
            5,
            lambda size: room(n_people=5, n_objects=size, n_locations=49),
        ),
        (
            "pushlab/RoomEnv-v0",
            "locations",
            3,
            lambda size: room(n_people=2, n_objects=2, n_locations=size),
        ),
        ("pushlab/RoomEnv-v0", "agents", 1, lambda size: room(n_agents=size)),
        ("pushlab/Credit-v0", "people", 1000, lambda size: {"people": borrowers(size)}),
        (
            "pushlab/ODE-HIV-v0",
            "days a step",
            1,
            lambda size: {"timestep": float(size)},
        ),
        (
            "pushlab/ODE-World3-v1",
            "years a step",
            1,
            lambda size: {"timestep": float(size)},
        ),
    ]


def several_users(size):
    names = ("mira", "theo", "ines", "noor", "omar")
    return {"user": list(names[:size])} if size <= len(names) else None


def room(**arguments):
    """Arguments of a room in codes, or None where there are not so many people or things in its table."""
    most = {"n_people": 20, "n_objects": 80, "n_locations": 49}
    return (
        {"encoding": "index", **arguments}
        if all(arguments.get(name, 0) <= most[name] for name in most)
        else None
    )


def user_of(contexts):
    """A user made up for it, with about so many contexts in each quarter."""
    from pushlab.datasets.reading import load_user
    from pushlab.users import synthesis

    with tempfile.TemporaryDirectory() as folder:
        synthesis.write_user(
            synthesis.make_user(5, "long", open_rate=0.4, per_quarter=contexts),
            Path(folder) / "long",
        )
        synthesis.write_catalogue(Path(folder) / "long")
        return load_user(Path(folder) / "long")


def borrowers(count):
    """The first so many of the generated people."""
    from pushlab.datasets.borrowers import load_borrowers

    people = load_borrowers()
    parts = {
        name: getattr(people, name)[:count].copy() for name in ("features", "labels")
    }
    for array in parts.values():
        array.flags.writeable = False
    return replace(people, **parts)


# ---------------------------------------------------------------- a run that can be repeated


def record(env, steps):
    """Allowed actions drawn at random, as many as steps, and how many episodes they ended; `replay` repeats them."""
    env.action_space.seed(1)
    _, info = env.reset(seed=1)
    actions, ends = [], 0
    for _ in range(steps):
        actions.append(env.action_space.sample(info.get("action_mask")))
        _, _, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            ends += 1
            _, info = env.reset()
    return actions, ends


def replay(env, actions):
    """Takes the actions, beginning anew where an episode ends."""
    env.reset(seed=1)
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
