"""What Gymnasium's own tests ask of environments and batches, in our words and of every id; and its wrappers on each.

One thing is otherwise here: Gymnasium's environments clip a Box action that leaves its bounds, these refuse it.
"""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import SyncVectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers import vector

from tests.test_clients import BOXES, every_way
from tests.test_envs import IDS, every_id, leaves, same

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date:DeprecationWarning")


# ---------------------------------------------------------------- spaces, seeds and actions

@every_way
def test_instances_and_batches_have_equal_spaces_and_share_none(name, kwargs):
    one, two, envs = gym.make(name, **kwargs), gym.make(name, **kwargs), gym.make_vec(name, num_envs=3, **kwargs)
    for space in ("observation_space", "action_space"):
        assert getattr(one, space) == getattr(two, space) == getattr(envs, f"single_{space}")
        assert getattr(envs, space) == batch_space(getattr(one, space), 3)
        assert getattr(one, space) is not getattr(two, space)
    one.action_space.seed(1), two.action_space.seed(1)
    assert same(one.action_space.sample(), two.action_space.sample())
    one.action_space.sample()
    two.action_space.seed(1), one.action_space.seed(1)
    assert same(one.action_space.sample(), two.action_space.sample())


@every_id
def test_seeds_are_told_and_go_on_until_new_ones_come(name):
    env, envs = gym.make(name), gym.make_vec(name, num_envs=3)
    assert len(set(envs.np_random_seed)) == 3 and len(envs.np_random) == 3      # drawn when somebody asks
    env.reset(seed=4), envs.reset(seed=4)
    assert env.np_random_seed == 4 and envs.np_random_seed == (4, 5, 6)
    env.reset(), envs.reset()
    assert env.np_random_seed == 4 and envs.np_random_seed == (4, 5, 6)
    envs.reset(seed=[7, 1, 3])
    assert envs.np_random_seed == (7, 1, 3)
    assert same(envs.reset(seed=[4, 5, 6])[0], gym.make_vec(name, num_envs=3).reset(seed=4)[0])


@every_way
def test_actions_of_another_shape_or_number_are_refused(name, kwargs):
    env, envs = gym.make(name, **kwargs).unwrapped, gym.make_vec(name, num_envs=3, **kwargs)
    env.reset(seed=0), envs.reset(seed=0)
    space, two = env.action_space, gym.make_vec(name, num_envs=2, **kwargs).action_space.sample()
    if not isinstance(space, (spaces.Text, spaces.Tuple)):
        for wrong in (np.stack([space.sample(), space.sample()]), np.expand_dims(space.sample(), (0, 1))):
            with pytest.raises(ValueError, match="shape"):
                env.step(wrong)
    if isinstance(space, spaces.Discrete):
        for wrong in (space.start - 1, space.start + space.n):
            with pytest.raises(ValueError, match=f"is {wrong}; it must be from"):
                env.step(wrong)
    if name != "pushlab/RoomEnv-v0" or kwargs.get("encoding"):
        with pytest.raises(ValueError, match="shape"):
            envs.step(two)


@every_way
def test_a_batch_returns_arrays_of_its_own_of_one_type(name, kwargs):
    envs = gym.make_vec(name, num_envs=3, **kwargs)
    envs.action_space.seed(0)
    begun, _ = envs.reset(seed=0)
    first = envs.step(envs.action_space.sample())
    kept = [np.array(part) for part in leaves(first[:4])]
    second = envs.step(envs.action_space.sample())
    assert all(np.array_equal(part, copy) for part, copy in zip(leaves(first[:4]), kept, strict=True))
    for observation, reward, terminated, truncated in ((begun, *first[1:4]), first[:4], second[:4]):
        assert observation in envs.observation_space and reward.dtype == np.float64
        assert reward.shape == terminated.shape == truncated.shape == (3,)
        assert terminated.dtype == truncated.dtype == bool


def test_a_list_of_pictures_is_collected_where_it_is_asked_for():
    env = gym.make("pushlab/RECEnv-v0", render_mode="rgb_array_list")
    env.reset(seed=0)
    env.step(0)
    assert [frame.shape for frame in env.render()] == [env.unwrapped.render().shape] * 2


@pytest.mark.parametrize("wrapper, arguments", [
    ("AddRenderObservation", {}), ("AddWhiteNoise", {"probability_of_noise_per_pixel": 0.1}),
    ("ObstructView", {"obstructed_pixels_ratio": 0.1, "obstruction_width": 20}), ("RenderCollection", {})])
def test_wrappers_of_pictures_work(wrapper, arguments):
    env = getattr(wrappers, wrapper)(gym.make("pushlab/RECEnv-v0", render_mode="rgb_array"), **arguments)
    assert env.reset(seed=0)[0] in env.observation_space and env.step(0)[0] in env.observation_space
    assert len(env.render())


# ---------------------------------------------------------------- wrappers

def is_box(space):
    return isinstance(space, spaces.Box)


def is_numbers(space):
    return isinstance(space, (spaces.Box, spaces.MultiDiscrete))


ANY, SEEN_BOX, SEEN_NUMBERS, SEEN_DICT, DONE_BOX, TIMED = (
    lambda env: True, lambda env: is_box(seen(env)), lambda env: is_numbers(seen(env)),
    lambda env: isinstance(seen(env), spaces.Dict), lambda env: is_box(done(env)),
    lambda env: env.spec.max_episode_steps is not None)


def seen(env):
    return getattr(env, "single_observation_space", env.observation_space)


def done(env):
    return getattr(env, "single_action_space", env.action_space)


def SEEN_IN_FLOAT32(env):
    """All Boxes but that of ODE-LotkaVolterra-v0, whose rabbits have no end."""
    return is_box(seen(env)) and env.spec.id != "pushlab/ODE-LotkaVolterra-v0"


def first_key(env):
    return list(seen(env).spaces)[:1]


# wrapper, arguments for an environment, which environments it fits
BOTH = [
    ("FilterObservation", lambda env: {"filter_keys": first_key(env)}, SEEN_DICT),
    ("FlattenObservation", lambda env: {}, ANY),
    ("ReshapeObservation", lambda env: {"shape": (*seen(env).shape, 1)}, SEEN_BOX),
    ("RescaleObservation", lambda env: {"min_obs": np.full(seen(env).shape, -1.0),
                                        "max_obs": np.full(seen(env).shape, 1.0)}, SEEN_BOX),
    ("DtypeObservation", lambda env: {"dtype": np.float32}, SEEN_IN_FLOAT32),
    ("RescaleAction", lambda env: {"min_action": -1.0, "max_action": 1.0}, DONE_BOX),
    ("ClipAction", lambda env: {}, DONE_BOX),
    ("ClipReward", lambda env: {"min_reward": -1.0, "max_reward": 1.0}, ANY),
    ("TransformReward", lambda env: {"func": np.negative}, ANY)]
LEARNING = [("NormalizeObservation", lambda env: {}, SEEN_NUMBERS), ("NormalizeReward", lambda env: {}, ANY),
            ("RecordEpisodeStatistics", lambda env: {}, ANY)]
SINGLE = [
    ("TimeLimit", lambda env: {"max_episode_steps": 3}, ANY), ("Autoreset", lambda env: {}, ANY),
    ("OrderEnforcing", lambda env: {}, ANY), ("PassiveEnvChecker", lambda env: {}, ANY),
    ("StickyAction", lambda env: {"repeat_action_probability": 0.5}, ANY),
    ("RepeatAction", lambda env: {"num_repeats": 2}, ANY), ("DelayObservation", lambda env: {"delay": 2}, SEEN_NUMBERS),
    ("FrameStackObservation", lambda env: {"stack_size": 3}, ANY), ("TimeAwareObservation", lambda env: {}, TIMED),
    ("TimeAwareObservation", lambda env: {"flatten": False, "dict_time_key": "step"}, TIMED),
    ("MaxAndSkipObservation", lambda env: {"skip": 2}, SEEN_BOX),
    ("DiscretizeObservation", lambda env: {"bins": 5}, SEEN_BOX),
    ("DiscretizeAction", lambda env: {"bins": 3}, DONE_BOX),
    ("TransformObservation", lambda env: {"func": lambda seen: seen, "observation_space": None}, ANY),
    ("TransformAction", lambda env: {"func": lambda action: action, "action_space": None}, ANY)]


def some_steps(env, steps=12, seed=3):
    """What is returned under random actions of the (wrapped) environment, begun anew where it ends."""
    env.action_space.seed(seed)
    told = [env.reset(seed=seed)]
    for _ in range(steps):
        told.append(env.step(env.action_space.sample()))
        if not isinstance(env, gym.vector.VectorEnv) and (told[-1][2] or told[-1][3]):
            told.append(env.reset())
    return told


@every_way
def test_every_wrapper_that_fits_works(name, kwargs):
    env = gym.make(name, **kwargs)
    for wrapper, arguments, fits in BOTH + LEARNING + SINGLE:
        if fits(env):
            wrapped = getattr(wrappers, wrapper)(env, **arguments(env))
            assert all(told[0] in wrapped.observation_space for told in some_steps(wrapped)), wrapper


def alone_in(wrapper, arguments, name, kwargs):
    return getattr(wrappers, wrapper)(gym.make(name, **kwargs), **arguments)


@pytest.mark.parametrize("name, kwargs", [(name, {}) for name in IDS] + [(name, {"actions": "box"}) for name in BOXES])
def test_every_wrapper_of_batches_that_fits_does_what_it_does_alone(name, kwargs):
    """Those that learn from what they see learn from all copies at once, so that of these only the form is compared."""
    for wrapper, arguments, fits in BOTH + LEARNING:
        envs = gym.make_vec(name, num_envs=2, **kwargs)
        if not fits(envs):
            continue
        wrapped = getattr(vector, wrapper)(envs, **arguments(envs))
        ours = some_steps(wrapped)
        assert all(told[0] in wrapped.observation_space for told in ours), wrapper
        if (wrapper, arguments, fits) in BOTH:
            alone = SyncVectorEnv([partial(alone_in, wrapper, arguments(envs), name, kwargs)] * 2)
            assert wrapped.action_space == alone.action_space
            assert wrapped.observation_space == alone.observation_space
            theirs = some_steps(alone)
            assert all(same(one[:-1], other[:-1]) for one, other in zip(ours, theirs, strict=True)), wrapper


@pytest.mark.parametrize("name", BOXES)
def test_scaled_to_one_the_ends_are_the_bounds(name):
    """Learners give float32; what scaling makes of it may leave the bounds by what float32 rounds."""
    env, envs = gym.make(name, actions="box"), gym.make_vec(name, num_envs=2, actions="box")
    scaled = wrappers.RescaleAction(env, -1.0, 1.0)
    scaled_envs = vector.RescaleAction(envs, -1.0, 1.0)
    for end, bound in ((-1, env.action_space.low), (1, env.action_space.high)):
        env.reset(seed=0)
        exact = env.step(bound)
        for kind in (np.float32, np.float64):
            action = np.full(len(bound), end, kind)
            scaled.reset(seed=0), scaled_envs.reset(seed=[0, 0])
            assert data_equivalence(scaled.step(action)[0], exact[0])
            assert np.allclose(scaled_envs.step(np.stack([action, action]))[1], exact[1], rtol=1e-5)
