"""Every registered environment: Gymnasium's own checks, the same life again, and the batch against the single copy."""

import functools
import hashlib
import json
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

from pushlab.envs import TABLE
from pushlab.envs.world import World

IDS = [name for name, *_ in TABLE]
every_id = pytest.mark.parametrize("name", IDS)


def live(name, seed=5, steps=60, **kwargs):
    """Some steps of an episode under random actions: a list of (observation, reward, terminated, truncated, info)."""
    env = gym.make(name, **kwargs)
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    life = [(observation, 0.0, False, False, info)]
    for _ in range(steps):
        life.append(env.step(env.action_space.sample()))
        if life[-1][2] or life[-1][3]:
            life.append((*env.reset(), 0.0, False, False))
    env.close()
    return life


def fingerprint(name):
    """A hash of all numbers of a life; run in another process too."""
    return hashlib.sha256(repr(jsonable(live(name))).encode()).hexdigest()


@functools.cache
def fingerprints_elsewhere(names):
    """{name: fingerprint} of these environments, taken in one new process: half of its time is imports."""
    code = ("import json; from tests.test_envs import fingerprint; import pushlab; "
            f"print(json.dumps({{name: fingerprint(name) for name in {names!r}}}))")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900)
    return json.loads(told.stdout.splitlines()[-1])


def jsonable(value):
    if isinstance(value, dict):
        return {key: jsonable(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [jsonable(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@every_id
def test_gymnasiums_own_check_passes_without_a_warning(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*is out of date", DeprecationWarning)      # of an older version of a world
        check_env(gym.make(name, disable_env_checker=True).unwrapped)


@every_id
def test_the_passive_checker_has_nothing_to_say_either(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*is out of date", DeprecationWarning)      # of an older version of a world
        live(name)


@every_id
def test_a_seed_repeats_a_life_in_another_instance(name):
    assert data_equivalence(live(name), live(name), exact=True)
    assert not data_equivalence(live(name), live(name, seed=6), exact=True)


@every_id
def test_a_seed_repeats_a_life_in_another_process(name):
    names = tuple(IDS) if name in IDS else (name,)          # another module may try this on an id of its own
    assert fingerprints_elsewhere(names)[name] == fingerprint(name)


@every_id
def test_without_a_seed_the_next_episode_goes_on_where_the_generator_stands(name):
    env, twin = gym.make(name), gym.make(name)
    for copy in (env, twin):
        copy.action_space.seed(1)
        copy.reset(seed=1)
        copy.step(copy.action_space.sample())
        copy.reset()
    action = env.action_space.sample()
    first = env.step(action)
    assert data_equivalence(first, twin.step(action), exact=True)


@every_id
def test_observations_lie_in_the_space_and_infos_are_plain(name):
    env = gym.make(name)
    for observation, reward, terminated, truncated, info in live(name, steps=200)[1:]:
        if isinstance(terminated, bool):
            assert observation in env.observation_space and isinstance(reward, float)
            assert isinstance(truncated, bool)
            assert all(isinstance(value, (bool, int, float, str, np.ndarray)) for value in info.values())


@every_id
def test_what_is_returned_belongs_to_the_caller(name):
    """Writing into an observation must change neither the environment nor its twin."""
    env, twin = gym.make(name), gym.make(name)
    for copy in (env, twin):
        copy.action_space.seed(2)
    one, two = env.reset(seed=2)[0], twin.reset(seed=2)[0]
    for _ in range(5):
        for part in leaves(one):
            part[...] = 0
        action = env.action_space.sample()
        one, two = env.step(action)[0], twin.step(action)[0]
        assert data_equivalence(one, two, exact=True)


def leaves(value):
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value] if isinstance(value, np.ndarray) else []


@every_id
def test_pictures_are_arrays_of_one_size_and_change_with_the_state(name):
    env = gym.make(name, render_mode="rgb_array")
    env.reset(seed=3)
    first = env.render()
    for _ in range(3):
        env.step(env.action_space.sample())
    later = env.render()
    assert first.dtype == np.uint8 and first.shape == later.shape and first.shape[2] == 3
    assert (first != later).any()
    assert env.metadata["render_fps"] > 0
    env.close()
    env.close()


@every_id
def test_the_human_mode_draws_without_a_display(name):
    env = gym.make(name, render_mode="human")
    env.reset(seed=3)
    env.step(env.action_space.sample())
    assert env.render() is None
    env.close()


@every_id
def test_batches_have_pictures_too(name):
    envs = gym.make_vec(name, num_envs=2, render_mode="rgb_array")
    envs.reset(seed=3)
    envs.step(envs.action_space.sample())
    one, two = envs.render()
    assert one.shape == two.shape and one.dtype == np.uint8
    assert gym.make_vec(name, num_envs=2).render() is None


@every_id
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_batch_lives_as_its_copies_do_alone(name, mode):
    """The native batch against Gymnasium's own loop over single copies: everything returned, across episodes."""
    limits = {"max_episode_steps": 7}
    batch = gym.make_vec(name, num_envs=3, autoreset_mode=mode, **limits)
    alone = SyncVectorEnv([lambda: gym.make(name, **limits)] * 3, autoreset_mode=mode)
    batch.action_space.seed(4)
    assert same(batch.reset(seed=21), alone.reset(seed=21))
    ends = 0
    for _ in range(30):
        actions = batch.action_space.sample()
        ours, theirs = batch.step(actions), alone.step(actions)
        assert same(ours[:4], theirs[:4])
        assert same_info(ours[4], theirs[4])
        ends += int(ours[3].sum())
    assert ends >= 3 and batch.metadata["autoreset_mode"] == mode


@every_id
def test_a_long_batch_never_leaves_the_lives_of_its_copies(name):
    """Many more steps than numbers are drawn at once, with copies that end at different times."""
    batch = gym.make_vec(name, num_envs=3, autoreset_mode=AutoresetMode.SAME_STEP, max_episode_steps=50)
    alone = SyncVectorEnv([lambda: gym.make(name, max_episode_steps=50)] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    batch.action_space.seed(4)
    assert same(batch.reset(seed=3), alone.reset(seed=3))
    for _ in range(600):
        actions = batch.action_space.sample()
        assert same(batch.step(actions)[:4], alone.step(actions)[:4])


@every_id
def test_resetting_one_copy_leaves_the_others_alone(name):
    """DISABLED: a copy that is reset, with a seed or without, takes nothing from the streams of the others."""
    batch = gym.make_vec(name, num_envs=3, autoreset_mode=AutoresetMode.DISABLED)
    alone = [gym.make(name) for _ in range(3)]
    batch.action_space.seed(1)
    batch.reset(seed=5)
    for at, env in enumerate(alone):
        env.reset(seed=5 + at)
    for step in range(300):
        actions = batch.action_space.sample()
        observation, reward, terminated, truncated, _ = batch.step(actions)
        for at, env in enumerate(alone):
            theirs = env.step(list(iterate(batch.action_space, actions))[at])
            seen = list(iterate(batch.observation_space, observation))[at]
            assert same(seen, theirs[0]) and reward[at] == theirs[1]
        mask, seed = terminated | truncated, None
        if step in (40, 90):
            mask, seed = mask | [False, step == 40, True], 70 if step == 40 else None
        if mask.any():
            observation, _ = batch.reset(seed=seed, options={"reset_mask": mask})
            for at in np.flatnonzero(mask):
                begun, _ = alone[at].reset(seed=None if seed is None else seed + int(at))
                assert same(list(iterate(batch.observation_space, observation))[at], begun)


@pytest.mark.parametrize("env_id, kwargs", [
    ("pushlab/RoomEnv-v0", {}), ("pushlab/RoomEnv-v0", {"n_agents": 2}), ("pushlab/RoomEnv-v0", {"encoding": "index"}),
    ("pushlab/push-v0", {}), ("pushlab/push-v0", {"user": ["mira", "omar"], "horizon": 2})])
def test_a_copy_lives_by_itself_as_it_would_as_a_batch_of_one(env_id, kwargs, monkeypatch):
    """World.solo is a second way to live the same life. Answers here are now and then right: random words never are."""
    ours = gym.make(env_id, **kwargs)
    world, rng, earned = ours.unwrapped.world, np.random.default_rng(2), set()
    assert world.solo() is not None
    monkeypatch.setattr(type(world), "solo", World.solo)
    theirs = gym.make(env_id, **kwargs)
    assert theirs.unwrapped.world.solo() is None
    ours.action_space.seed(2)
    assert same(ours.reset(seed=2), theirs.reset(seed=2))
    for step in range(900):
        if step % 90 < 2:
            for part in ("state", "outcome"):
                assert data_equivalence(getattr(ours.unwrapped, part), getattr(theirs.unwrapped, part), exact=True)
        action = ours.action_space.sample() if world.read_action is None else a_word(world, rng)
        told = ours.step(action)
        assert same(told, theirs.step(action))
        earned.add(told[1])
        if told[2] or told[3]:
            assert same(ours.reset(), theirs.reset())
    assert len(earned) > 1


def a_word(world, rng):
    """An answer of the room: one of its places, or one for each agent."""
    words = tuple(rng.choice(world.locations, world.n_agents).tolist())
    return words if world.n_agents > 1 else words[0]


def same(ours, theirs):
    """Equal values, whatever the container: a batch may be an array where the loop gives one too."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, (tuple, list)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, np.ndarray) and ours.dtype == object:
        return all(map(same, ours, theirs))
    return np.array_equal(ours, theirs)


def same_info(ours, theirs):
    """Infos agree wherever their masks say that there is something."""
    keys = {key for key in theirs if not key.startswith("_")}
    if keys != {key for key in ours if not key.startswith("_")}:
        return False
    for key in keys:
        mask = theirs[f"_{key}"]
        if not np.array_equal(ours[f"_{key}"], mask):
            return False
        if isinstance(theirs[key], dict):
            if not same_info(ours[key], theirs[key]):
                return False
        elif not all(same(ours[key][row], theirs[key][row]) for row in np.flatnonzero(mask)):
            return False
    return True


@every_id
def test_copies_reset_one_by_one_where_autoreset_is_off(name):
    envs = gym.make_vec(name, num_envs=3, max_episode_steps=4, autoreset_mode=AutoresetMode.DISABLED)
    envs.action_space.seed(1)
    envs.reset(seed=1)
    for _ in range(4):
        *_, truncated, _ = envs.step(envs.action_space.sample())
    assert truncated.all()
    with pytest.raises(gym.error.ResetNeeded, match=r"copies \[0, 1, 2\] have ended"):
        envs.step(envs.action_space.sample())
    envs.reset(options={"reset_mask": np.array([True, True, False])})
    with pytest.raises(gym.error.ResetNeeded, match=r"copies \[2\] have ended"):
        envs.step(envs.action_space.sample())
    envs.reset(options={"reset_mask": np.array([False, False, True])})
    assert envs.step(envs.action_space.sample())[0] in envs.observation_space


@every_id
def test_two_copies_share_nothing(name):
    one, two = gym.make(name), gym.make(name)
    one.action_space.seed(0)
    one.reset(seed=1), two.reset(seed=1)
    alone = [one.step(one.action_space.sample()) for _ in range(5)]
    one.action_space.seed(0)
    one.reset(seed=1), two.reset(seed=9)
    mixed = []
    for _ in range(5):
        action = one.action_space.sample()
        two.step(action)
        mixed.append(one.step(action))
    assert data_equivalence(alone, mixed, exact=True)


def test_without_a_seed_no_episode_repeats_the_one_before():
    env = gym.make("pushlab/evalumap1-v0")
    action, lives = env.action_space.sample(), []
    env.reset(seed=1)
    for _ in range(3):
        lives.append([env.step(action)[4]["opened"] for _ in range(40)])
        env.reset()
    assert lives[0] != lives[1] != lives[2]


def test_what_comes_too_early_says_that_a_reset_is_needed():
    env = gym.make("pushlab/evalumap1-v0", render_mode="rgb_array").unwrapped
    envs = gym.make_vec("pushlab/evalumap1-v0", num_envs=2, render_mode="rgb_array")
    for call in (env.render, env.frame, envs.render, lambda: envs.step(envs.action_space.sample())):
        with pytest.raises(gym.error.ResetNeeded):
            call()


def test_a_world_that_is_made_takes_no_more_arguments():
    from pushlab.envs.evalumap import EvalUMAP1
    from pushlab.envs.shell import Env

    with pytest.raises(TypeError, match="made already; give the arguments user"):
        Env(EvalUMAP1("mira"), user="noor")


@every_id
def test_an_environment_can_be_copied_and_pickled(name):
    """What libraries do with environments before they send them to other processes."""
    import copy
    import pickle

    import cloudpickle  # what AsyncVectorEnv sends environments with

    env = gym.make(name)
    env.action_space.seed(1)
    env.reset(seed=1)
    action = env.action_space.sample()
    twins = [copy.deepcopy(env), pickle.loads(cloudpickle.dumps(env))]
    step = env.step(action)
    assert all(data_equivalence(step, twin.step(action), exact=True) for twin in twins)


@every_id
def test_an_unknown_reset_option_is_named(name):
    with pytest.raises(ValueError, match="'colour'"):
        gym.make(name).reset(options={"colour": "red"})


@every_id
def test_a_step_before_reset_or_after_the_end_is_refused(name):
    env = gym.make(name, disable_env_checker=True).unwrapped
    with pytest.raises(gym.error.ResetNeeded):
        env.step(env.action_space.sample())


def test_the_id_works_without_an_import():
    code = "import gymnasium as gym; print(gym.make('pushlab:pushlab/evalumap1-v0').reset(seed=1)[0].shape)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "(20,)"


def test_importing_pushlab_loads_nothing_heavy():
    code = ("import sys, gymnasium; before = set(sys.modules); import pushlab; "
            "print(sorted({name.split('.')[0] for name in set(sys.modules) - before}))")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "['lazy_loader', 'pushlab']"


@pytest.mark.parametrize("name", [name for name, *_ in TABLE])
def test_a_subclass_that_changes_the_reward_is_heard_alone_and_in_a_batch(name):
    """Also where a world has a way of its own to live one copy."""
    from pushlab.envs.batch import VectorEnv
    from pushlab.envs.shell import Env

    world = type(gym.make(name).unwrapped.world)
    changed = type("Changed", (world,), {"reward": lambda self, outcome: outcome["reward"] * 0 + 777.0})
    env, batch = Env(changed()), VectorEnv(changed(), num_envs=2)
    _, info = env.reset(seed=0)
    batch.reset(seed=0)
    env.action_space.seed(0)
    batch.action_space.seed(0)
    action = env.action_space.sample(info.get("action_mask"))
    assert env.step(action)[1] == 777.0
    both = np.array([action, action]) if "action_mask" in info else batch.action_space.sample()
    assert (batch.step(both)[1] == 777.0).all()
