"""Cases of the benchmarks: the environments, an empty environment, and arguments that set an environment's size."""

import tempfile
from dataclasses import replace
from pathlib import Path

import gymnasium as gym

from pushlab.envs import ENVIRONMENTS

EMPTY = "pushlab-benchmarks/empty-v0"
FACTORS = (1, 4, 16)  # multiples of the first size

# Steps per second of the originals, measured once on two cores of a small cloud machine, mostly without wrappers.
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

# Batches need integer codes, single environments also accept text.
BATCH_ARGUMENTS = {"pushlab/RoomEnv-v0": {"encoding": "index"}}


class Empty(gym.Env):
    """An environment that does nothing, to measure the overhead of Gymnasium."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


def register_empty():
    """Register the empty environment once."""
    if EMPTY not in gym.registry:
        gym.register(EMPTY, entry_point=Empty)


def newest():
    """Return the registered ids of pushlab, only the newest version of each environment."""
    versions = {}
    for name, *_ in ENVIRONMENTS:
        world, version = name.rsplit("-v", 1)
        versions[world] = max(versions.get(world, 0), int(version))
    return [f"{world}-v{version}" for world, version in versions.items()]


# ---------------------------------------------------------------- sizes


def sizes():
    """Return the cases of growth: (environment, unit of the size, first size, function of a size).

    The function returns the arguments for a size, or None if the environment can't be so large. A step is timed at
    FACTORS times the first size.
    """
    return [
        (
            "pushlab/evalumap1-v0",
            "contexts of a quarter",
            1000,
            lambda size: {"user": made_up_user(size)},
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
    """Return the argument for so many users, or None if there are fewer."""
    names = ("mira", "theo", "ines", "noor", "omar")
    return {"user": list(names[:size])} if size <= len(names) else None


def room(**arguments):
    """Return arguments of a room in codes, or None if it can't have so many people, objects or locations."""
    limits = {"n_people": 20, "n_objects": 80, "n_locations": 49}
    if any(arguments.get(name, 0) > limit for name, limit in limits.items()):
        return None
    return {"encoding": "index", **arguments}


def made_up_user(contexts):
    """Return a synthetic user with about so many contexts in each quarter."""
    from pushlab.datasets.reading import load_user
    from pushlab.users import synthesis

    user = synthesis.make_user(5, "long", open_rate=0.4, per_quarter=contexts)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "long"
        synthesis.write_user(user, folder)
        synthesis.write_catalogue(folder)
        return load_user(folder)


def borrowers(count):
    """Return the first `count` of the generated people."""
    from pushlab.datasets.borrowers import load_borrowers

    people = load_borrowers()
    features = people.features[:count].copy()
    labels = people.labels[:count].copy()
    features.flags.writeable = False
    labels.flags.writeable = False
    return replace(people, features=features, labels=labels)


# ---------------------------------------------------------------- repeatable runs


def record(env, steps):
    """Take random allowed actions; return them and the number of finished episodes. `replay` repeats them."""
    env.action_space.seed(1)
    _, info = env.reset(seed=1)
    actions = []
    ends = 0
    for _ in range(steps):
        actions.append(env.action_space.sample(info.get("action_mask")))
        _, _, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            ends += 1
            _, info = env.reset()
    return actions, ends


def replay(env, actions):
    """Take the actions, with a reset after each episode."""
    env.reset(seed=1)
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
