"""Environments and logs as other libraries expect them."""

import copy
import multiprocessing
import pickle
import sys
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from comparing import is_equal
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers import TimeAwareObservation

from pushlab import clients, rollout
from pushlab.agents import Constant
from pushlab.envs import ENVIRONMENTS
from pushlab.envs.env import Env
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODE
from pushlab.envs.vector_env import VectorEnv
from pushlab.utils.compiled import inlined

IDS = [name for name, *_ in ENVIRONMENTS]
WORLDS = [
    *((name, {}) for name in IDS),
    ("pushlab/evalumap1-v0", {"user": ["mira", "omar"]}),
    ("pushlab/RoomEnv-v0", {"encoding": "index", "n_agents": 2}),
    ("pushlab/RECEnv-v0", {"obs_std": 0.1, "UserModel": "Satiation"}),
    ("pushlab/ODE-HIV-v0", {"actions": "box", "log_observation": True}),
    ("pushlab/ODE-HIV-Goal-v0", {"noise": 0.1}),
    ("pushlab/ODE-World3-v1", {"actions": "box"}),
    ("pushlab/Credit-v0", {"observe": "table"}),
    ("pushlab/push-v0", {"user": ["mira", "omar"], "horizon": 2}),
]
every_world = pytest.mark.parametrize("name, arguments", WORLDS)


def info_types(info):
    """Return the keys of an info in order, with the type and shape of each value."""
    forms = {}
    for key, value in info.items():
        array = isinstance(value, np.ndarray)
        forms[key] = (value.dtype, value.shape) if array else type(value)
    return list(forms.items())


@every_world
def test_all_infos_have_the_same_types(name, arguments):
    env = gym.make(name, max_episode_steps=4, **arguments)
    env.action_space.seed(1)
    infos = [env.reset(seed=1)[1]]
    for _ in range(4):
        infos.append(env.step(env.action_space.sample())[4])
    infos.append(env.reset()[1])
    assert all(info_types(info) == info_types(infos[0]) for info in infos)

    envs = gym.make_vec(name, num_envs=3, max_episode_steps=2, **arguments)
    envs.action_space.seed(1)
    first = envs.reset(seed=1)[1]
    for _ in range(4):
        info = envs.step(envs.action_space.sample())[4]
        assert dict(info_types(info)) == dict(info_types(first))


@every_world
def test_action_masks_cover_every_choice(name, arguments):
    env = gym.make(name, **arguments)
    envs = gym.make_vec(name, num_envs=2, **arguments)
    space = env.action_space
    if not isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        return
    choices = space.n if isinstance(space, spaces.Discrete) else space.nvec.sum()
    info = env.reset(seed=3)[1]
    infos = envs.reset(seed=3)[1]
    space.seed(3)
    for _ in range(8):
        mask = env.get_wrapper_attr("action_masks")()
        assert mask.dtype == bool
        assert np.array_equal(mask, info.get("action_mask", np.ones(choices)))
        allowed = infos.get("action_mask", np.ones((2, choices)))
        assert np.array_equal(envs.action_masks(), allowed)
        action = space.sample(info.get("action_mask"))
        info = env.step(action)[4]
        infos = envs.step(np.array([action, action]))[4]


@inlined
def fading(time, y, constants, dose, slope):
    """Derivative of a custom model: variables decay unless treated."""
    for v in range(y.shape[0]):
        for i in range(y.shape[1]):
            slope[v, i] = (dose[0, i] - 1) * 0.1 * y[v, i]


def custom_model():
    model = replace(load_model("hiv"), name="fading", derivative=fading)
    return ODE(model, actions="box", dt=0.1)


def run_three_steps(env):
    """Run three steps of an episode; return the environment and more actions."""
    env.action_space.seed(1)
    env.reset(seed=1)
    for _ in range(3):
        env.step(env.action_space.sample())
    return env, [env.action_space.sample() for _ in range(4)]


def results(env, actions):
    steps = [env.step(action) for action in actions[:2]]
    return [*steps, env.reset(), *(env.step(action) for action in actions[2:])]


def continue_pickled(pickled):
    env, actions = pickle.loads(pickled)
    return results(env, actions)


@pytest.mark.parametrize("batch", [False, True])
def test_pickles_and_copies_continue_the_episode(batch):
    def make(name, arguments):
        return (
            gym.make_vec(name, 3, **arguments) if batch else gym.make(name, **arguments)
        )

    own = VectorEnv(custom_model(), num_envs=2) if batch else Env(custom_model())
    for env in [*(make(*world) for world in WORLDS), own]:
        env, actions = run_three_steps(env)
        twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
        expected = results(env, actions)
        assert all(is_equal(results(twin, actions), expected) for twin in twins), env


@pytest.mark.slow
def test_spawned_process_continues_the_episode():
    """A spawned process inherits no state, so it imports compiled loops by name."""
    alone = run_three_steps(gym.make("pushlab/ODE-HIV-v0"))
    batch = run_three_steps(VectorEnv(custom_model(), num_envs=2))
    pickles = [pickle.dumps(alone), pickle.dumps(batch)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        elsewhere = pool.map(continue_pickled, pickles)
    assert is_equal(results(*alone), elsewhere[0])
    assert is_equal(results(*batch), elsewhere[1])


@pytest.mark.slow
def test_async_vector_env_equals_the_native_batch():
    name = "pushlab/evalumap2-v0"
    mode = {"vectorization_mode": "async", "vector_kwargs": {"context": "spawn"}}
    batch = gym.make_vec(name, num_envs=1)
    workers = gym.make_vec(name, num_envs=1, **mode)
    try:
        assert is_equal(batch.reset(seed=4)[0], workers.reset(seed=4)[0])
        batch.action_space.seed(4)
        for _ in range(5):
            actions = batch.action_space.sample()
            assert is_equal(batch.step(actions)[:4], workers.step(actions)[:4])
    finally:
        workers.close()


@pytest.mark.parametrize(
    "name", ["pushlab/ODE-HIV-v0", "pushlab/ODE-Zika-v0", "pushlab/Credit-v0"]
)
def test_float32_actions_are_clipped_by_rounding_error_only(name):
    env = gym.make(name, actions="box").unwrapped
    high = env.action_space.high
    env.reset(seed=0)
    expected = env.step(high)
    env.reset(seed=0)
    beyond = np.nextafter(high.astype(np.float32), np.float32(np.inf))
    assert is_equal(env.step(beyond), expected)
    for wrong, message in (
        (high * (1 + 2e-6), r"component \d+ .* is .* beyond"),
        (np.full(len(high), np.nan), "is nan; it must be a number from"),
    ):
        with pytest.raises(ValueError, match=message):
            env.step(wrong)


LENGTHS = [
    ("pushlab/RECEnv-v0", {"step_per_episode": 4}, 4),
    ("pushlab/ODE-HIV-v0", {"config": {"end_time": 20.0}, "timestep": 3.0}, 7),
    ("pushlab/ODE-HIV-Goal-v0", {}, 200),
    ("pushlab/ODE-Opioid-v0", {}, 28),
    ("pushlab/ODE-World3-v1", {}, 200),
    ("pushlab/Credit-v0", {"config": {"end_time": 9}}, 9),
]


def episode(env):
    env.action_space.seed(2)
    steps = [env.reset(seed=2)]
    while len(steps) == 1 or not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(env.action_space.sample()))
    return steps


@pytest.mark.parametrize("name, arguments, steps", LENGTHS)
def test_spec_gives_the_length_and_makes_the_environment_again(name, arguments, steps):
    env = gym.make(name, **arguments)
    envs = gym.make_vec(name, num_envs=2, **arguments)
    assert env.spec.max_episode_steps == envs.spec.max_episode_steps == steps
    clock = TimeAwareObservation(env, flatten=False)
    expected = episode(clock)
    assert len(expected) == steps + 1
    assert expected[-1][0] in clock.observation_space
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    replayed = episode(TimeAwareObservation(again, flatten=False))
    assert is_equal(
        [step[:4] for step in replayed[1:]], [step[:4] for step in expected[1:]]
    )


def test_length_without_and_with_a_limit():
    assert gym.make("pushlab/push-v0").spec.max_episode_steps is None
    assert gym.make("pushlab/push-v0", max_episode_steps=9).spec.max_episode_steps == 9
    stored = EnvSpec.from_json(gym.make("pushlab/RECEnv-v0").spec.to_json())
    longer = gym.make(stored, step_per_episode=50, max_episode_steps=-1)
    assert longer.spec.max_episode_steps == 50 and len(episode(longer)) == 51


@pytest.mark.parametrize("name", IDS)
def test_flat_observations_are_float32_alone_and_in_a_batch(name):
    arguments = {"encoding": "index"} if "Room" in name else {}
    env = clients.to_flat(gym.make(name, **arguments))
    envs = clients.to_flat(gym.make_vec(name, num_envs=2, **arguments))
    observation = env.reset(seed=1)[0]
    assert observation.dtype == env.observation_space.dtype == np.float32
    assert observation in env.observation_space
    assert np.array_equal(envs.reset(seed=0)[0][1], observation)
    assert env.names == envs.names and len({*env.names}) == len(observation)


def test_a_flat_observation_names_each_code():
    env = clients.to_flat(gym.make("pushlab/evalumap2-v0"))
    flat = env.reset(seed=1)[0]
    world = env.unwrapped.world
    codes = env.unwrapped.reset(seed=1)[0]
    expected = []
    for part, names in world.observation_names.items():
        expected += [f"{part}.{name}={x}" for name, x in zip(names, codes[part])]
    assert np.array(env.names)[flat == 1].tolist() == expected


def test_flat_words_need_codes():
    with pytest.raises(ValueError, match="encoding='index'"):
        clients.to_flat(gym.make("pushlab/RoomEnv-v0"))


@pytest.mark.parametrize(
    "library, call",
    [
        ("minari", lambda log: clients.to_minari(log, "pushlab/RECEnv-v0", "x-v0")),
        ("stable_baselines3", lambda log: clients.to_sb3_vec("pushlab/RECEnv-v0")),
    ],
)
def test_missing_library_is_named_with_its_extra(library, call, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    log = rollout("pushlab/RECEnv-v0", Constant(1), progress=False)
    with pytest.raises(
        ImportError, match=rf"needs {library}.*pip install 'pushlab\[rl\]'"
    ):
        call(log)
