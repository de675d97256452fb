"""What other people's tools ask of every environment and batch: infos, masks, copies, lengths, wrappers."""

import copy
import multiprocessing
import pickle
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv as GymVectorEnv
from gymnasium.wrappers import TimeAwareObservation

from pushlab.envs.batch import VectorEnv
from pushlab.envs.evalumap import EvalUMAP1
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODE
from pushlab.envs.push.world import Push
from pushlab.envs.rec.models import BaseUserModel
from pushlab.envs.rec.world import RECEnv
from pushlab.envs.shell import Env
from pushlab.ground.compiled import inlined
from pushlab.users.judges import fit_judge
from tests.test_envs import IDS, same
from tests.test_evalumap import short_user

USUAL = [
    ("pushlab/evalumap1-v0", {"user": ["mira", "omar"]}), ("pushlab/evalumap1-v0", {"judge": "logistic"}),
    ("pushlab/evalumap2-v0", {"user": ["mira", "omar"]}),
    ("pushlab/RoomEnv-v0", {"n_agents": 2}), ("pushlab/RoomEnv-v0", {"encoding": "index"}),
    ("pushlab/RoomEnv-v0", {"encoding": "index", "n_agents": 2}),
    ("pushlab/RECEnv-v0", {"obs_std": 0.1, "UserModel": "Satiation"}),
    ("pushlab/ODE-HIV-v0", {"actions": "box", "log_observation": True}), ("pushlab/ODE-HIV-v0", {"bins": True}),
    ("pushlab/ODE-HIV-Goal-v0", {"noise": 0.1}), ("pushlab/ODE-LotkaVolterra-v1", {"actions": "box"}),
    ("pushlab/ODE-Opioid-v0", {"actions": "box"}), ("pushlab/ODE-Zika-v0", {"actions": "box"}),
    ("pushlab/ODE-World3-v1", {"actions": "box"}),
    ("pushlab/Credit-v0", {"actions": "box"}), ("pushlab/Credit-v0", {"observe": "table"}),
    ("pushlab/push-v0", {"user": ["mira", "omar"], "horizon": 2})]
every_way = pytest.mark.parametrize("name, kwargs", [*((name, {}) for name in IDS), *USUAL])


# ---------------------------------------------------------------- infos

def form(value):
    """Type and shape of what an info holds under a key."""
    return (value.dtype, value.shape) if isinstance(value, np.ndarray) else type(value)


@every_way
def test_infos_have_one_form_after_reset_and_after_every_step(name, kwargs):
    """Recorders such as Minari's lay out their tables by the first info."""
    env = gym.make(name, max_episode_steps=4, **kwargs)
    env.action_space.seed(1)
    infos = [env.reset(seed=1)[1], *(env.step(env.action_space.sample())[4] for _ in range(4)), env.reset()[1]]
    forms = [{key: form(value) for key, value in info.items()} for info in infos]
    assert all(one == forms[0] and list(one) == list(forms[0]) for one in forms)


@every_way
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_so_they_do_in_a_batch_whichever_copies_have_just_begun(name, kwargs, mode):
    envs = gym.make_vec(name, num_envs=3, max_episode_steps=2, autoreset_mode=mode, **kwargs)
    envs.action_space.seed(1)
    first = envs.reset(seed=1)[1]
    for _ in range(4):
        info = envs.step(envs.action_space.sample())[4]
        ended = info.pop("final_info", None), info.pop("_final_info", None)
        if ended[0] is not None:
            assert {key for key in ended[0]} == {key for key in first}
        info = {key: value for key, value in info.items() if not key.endswith("final_obs")}
        assert {key: form(value) for key, value in info.items()} == {key: form(value) for key, value in first.items()}
        assert all(value.all() for key, value in info.items() if key.startswith("_"))


# ---------------------------------------------------------------- masks of actions

@every_way
def test_masks_say_of_every_choice_whether_it_is_allowed(name, kwargs):
    env, envs = gym.make(name, **kwargs), gym.make_vec(name, num_envs=2, **kwargs)
    space = env.action_space
    if not isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        assert not env.has_wrapper_attr("action_masks") and not hasattr(envs, "action_masks")
        return
    many = space.n if isinstance(space, spaces.Discrete) else space.nvec.sum()
    info, infos = env.reset(seed=3)[1], envs.reset(seed=3)[1]
    space.seed(3)
    for _ in range(8):
        one, all_of_them = env.get_wrapper_attr("action_masks")(), envs.action_masks()
        assert one.shape == (many,) and all_of_them.shape == (2, many) and one.dtype == all_of_them.dtype == bool
        assert np.array_equal(one, info.get("action_mask", np.ones(many)))
        assert np.array_equal(all_of_them, infos.get("action_mask", np.ones((2, many))))
        action = space.sample(info.get("action_mask"))
        info, infos = env.step(action)[4], envs.step(np.array([action, action]))[4]


def test_before_the_first_reset_there_are_none():
    with pytest.raises(gym.error.ResetNeeded, match="no masks"):
        gym.make("pushlab/push-v0").get_wrapper_attr("action_masks")()


# ---------------------------------------------------------------- copies and pickles

class Stubborn(BaseUserModel):
    """A user who never changes, with no batch method and chance of its own."""

    def user_preference_dynamics(self, state, action, item_feature_vector):
        return state

    def reward_function(self, state, action, item_feature_vector):
        return float(state @ item_feature_vector[action] + self.random_.normal())


@inlined
def slowly(time, y, constants, dose, slope):
    """A model of one's own: everything fades, and what is given slows it down."""
    for v in range(y.shape[0]):
        for i in range(y.shape[1]):
            slope[v, i] = (dose[0, i] - 1) * 0.1 * y[v, i]


def of_a_user(world):
    user = short_user(6)
    return world(user=user, judge=fit_judge(user.history, "plain"))


FADING = replace(load_model("hiv"), name="fading", derivative=slowly)
MADE = {"a user and a judge": lambda: of_a_user(EvalUMAP1), "their phone": lambda: of_a_user(Push),
        "a user model": lambda: RECEnv(UserModel=Stubborn()),
        "a model": lambda: ODE(FADING, actions="box", solver="rk4"), "SciPy": lambda: ODE("zika", solver="scipy")}


def lived(env, actions):
    """What the actions lead to, with a reset in the middle."""
    told = []
    for at, action in enumerate(actions):
        told.append(env.step(action))
        if at == 3 or not isinstance(env, GymVectorEnv) and (told[-1][2] or told[-1][3]):
            told.append(env.reset())
    return told


def in_the_middle(env):
    """The environment three steps into an episode, and actions for the next ones."""
    env.action_space.seed(1)
    env.reset(seed=1)
    for _ in range(3):
        env.step(env.action_space.sample())
    return env, [env.action_space.sample() for _ in range(7)]


def same_life(ours, theirs):
    return all(same(one[:-1], other[:-1]) and same(one[-1], other[-1]) for one, other in zip(ours, theirs, strict=True))


@every_way
@pytest.mark.parametrize("batch", [False, True])
def test_copies_and_pickles_go_on_from_the_middle_of_an_episode(name, kwargs, batch):
    """Each lives by itself what the original lives, which has gone on before they do."""
    env, actions = in_the_middle(gym.make_vec(name, num_envs=3, **kwargs) if batch else gym.make(name, **kwargs))
    twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env), copy.copy(env.unwrapped)]
    ours = lived(env, actions)
    assert all(same_life(ours, lived(twin, actions)) for twin in twins)


@pytest.mark.filterwarnings("ignore:user model Stubborn")
@pytest.mark.parametrize("made_of", MADE)
def test_so_do_those_of_worlds_that_are_made_of_objects(made_of):
    for kind, kwargs in ((Env, {}), (VectorEnv, {"num_envs": 2})):
        env, actions = in_the_middle(kind(MADE[made_of](), **kwargs))
        twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env), copy.copy(env)]
        ours = lived(env, actions)
        assert all(same_life(ours, lived(twin, actions)) for twin in twins)


def live_elsewhere(pickled):
    env, actions = pickle.loads(pickled)
    return lived(env, actions)


def test_another_process_that_is_spawned_goes_on_with_them():
    """Nothing is inherited there, so compiled loops have to be found by their names."""
    env, actions = in_the_middle(gym.make("pushlab/ODE-HIV-v0"))
    envs, many = in_the_middle(VectorEnv(MADE["a model"](), num_envs=2))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        told = pool.map(live_elsewhere, [pickle.dumps((env, actions)), pickle.dumps((envs, many))])
    assert same_life(lived(env, actions), told[0]) and same_life(lived(envs, many), told[1])


def test_loops_are_pickled_by_name():
    """A process that gets their code instead compiles it anew, for seconds."""
    from pushlab.envs.push import rules

    for loop in (rules.act_each, load_model("hiv").derivative):
        assert len(pickle.dumps(loop)) < 100 and pickle.loads(pickle.dumps(loop)) is loop
    assert len(pickle.dumps(gym.make("pushlab/ODE-World3-v1"))) < 40_000


def test_gymnasiums_spawned_workers_live_as_the_native_batch():
    name = "pushlab/evalumap2-v0"
    batch, workers = gym.make_vec(name, num_envs=1), gym.make_vec(
        name, num_envs=1, vectorization_mode="async", vector_kwargs={"context": "spawn"})
    try:
        assert same(batch.reset(seed=4)[0], workers.reset(seed=4)[0])
        batch.action_space.seed(4)
        for _ in range(5):
            actions = batch.action_space.sample()
            assert same(batch.step(actions)[:4], workers.step(actions)[:4])
    finally:
        workers.close()


def test_a_window_on_the_screen_stays_with_the_environment_that_opened_it():
    from pushlab.plots import screen

    env = gym.make("pushlab/RECEnv-v0", render_mode="human").unwrapped
    env.reset(seed=1)
    screen._windows[env] = "a window"
    twins = pickle.loads(pickle.dumps(env)), copy.deepcopy(env), copy.copy(env)
    assert not any(twin in screen._windows for twin in twins)
    screen._windows.pop(env)


# ---------------------------------------------------------------- actions as learners give them

BOXES = [name for name in IDS if name.startswith("pushlab/ODE") or "Credit" in name]


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("side", ["low", "high"])
def test_float32_actions_at_the_bounds_are_taken_and_laid_on_them(name, side):
    """The float32 nearest to a bound, and the next one on its far side."""
    env, envs = gym.make(name, actions="box").unwrapped, gym.make_vec(name, num_envs=2, actions="box")
    space, bound = env.action_space, getattr(env.action_space, side)
    near = bound.astype(np.float32)
    beyond = np.nextafter(near, np.float32(np.inf if side == "high" else -np.inf))
    for action in (near, np.where(near == 0, near, beyond)):                # the neighbours of 0 are no rounding of it
        exact = np.clip(action.astype(np.float64), space.low, space.high)
        env.reset(seed=0), envs.reset(seed=0)
        told, all_told = env.step(exact), envs.step(np.stack([exact, exact]))
        env.reset(seed=0), envs.reset(seed=0)
        assert same(env.step(action), told) and same(envs.step(np.stack([action, action])), all_told)


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_lies_further_out_is_refused_with_the_number_that_does(name, kind):
    env, envs = gym.make(name, actions="box").unwrapped, gym.make_vec(name, num_envs=2, actions="box")
    env.reset(seed=0), envs.reset(seed=0)
    high = env.action_space.high
    wrong = high.astype(kind)
    wrong[-1] += kind(2e-6 * abs(high[-1]))
    with pytest.raises(ValueError, match=rf"component {len(high) - 1} .* is {float(wrong[-1])!r}; .*and is .* beyond"):
        env.step(wrong)
    with pytest.raises(ValueError, match=rf"component {len(high) - 1} .*of copy 1 is {float(wrong[-1])!r}; "):
        envs.step(np.stack([high, wrong]))
    for nonsense in (np.nan, np.inf):
        with pytest.raises(ValueError, match=f"is {nonsense}; it must be a number from"):
            env.step(np.full(len(high), nonsense, kind))


@every_way
def test_an_array_without_axes_is_a_number(name, kwargs):
    env = gym.make(name, **kwargs)
    if isinstance(env.action_space, spaces.Discrete):
        env.reset(seed=0)
        told = env.step(1)
        env.reset(seed=0)
        assert same(env.step(np.array(1)), told)


# ---------------------------------------------------------------- how long an episode lasts

PAIR = [short_user(4), short_user(6, "omar")]
LENGTHS = [
    ("pushlab/evalumap1-v0", {}, 2866), ("pushlab/evalumap2-v0", {"user": PAIR}, 6), ("pushlab/RoomEnv-v0", {}, 1000),
    ("pushlab/RECEnv-v0", {}, 10), ("pushlab/RECEnv-v0", {"step_per_episode": 4}, 4), ("pushlab/ODE-HIV-v0", {}, 400),
    ("pushlab/ODE-HIV-v0", {"config": {"end_time": 20.0}, "timestep": 3.0}, 7), ("pushlab/ODE-HIV-Goal-v0", {}, 200),
    ("pushlab/ODE-LotkaVolterra-v1", {"timestep": 1.0}, 100), ("pushlab/ODE-Opioid-v0", {}, 28),
    ("pushlab/ODE-Zika-v0", {}, 100), ("pushlab/ODE-World3-v1", {}, 200), ("pushlab/Credit-v0", {}, 25),
    ("pushlab/Credit-v0", {"config": {"end_time": 9}, "timestep": 2}, 5)]
every_length = pytest.mark.parametrize("name, kwargs, steps", LENGTHS)


def to_the_end(env, **reset):
    """An episode under random actions."""
    env.action_space.seed(2)
    told = [env.reset(seed=2, **reset)]
    while len(told) == 1 or not (told[-1][2] or told[-1][3]):
        told.append(env.step(env.action_space.sample()))
    return told


@every_length
def test_the_spec_tells_how_long_an_episode_lasts_and_a_clock_ends_with_it(name, kwargs, steps):
    env = gym.make(name, **kwargs)
    assert env.spec.max_episode_steps == steps
    assert gym.make_vec(name, num_envs=2, **kwargs).spec.max_episode_steps == steps
    clock = TimeAwareObservation(env, flatten=False)
    life = to_the_end(clock, **({"options": {"user": "omar"}} if kwargs.get("user") else {}))
    last = life[-1][0]
    time = last[-1] if isinstance(last, tuple) else last["time"]
    assert len(life) == steps + 1 and time.item() == steps == clock.max_timesteps and last in clock.observation_space


def test_where_nothing_fixes_a_length_there_is_none():
    assert gym.make("pushlab/push-v0").spec.max_episode_steps is None
    assert gym.make_vec("pushlab/push-v0", num_envs=2).spec.max_episode_steps is None
    assert gym.make("pushlab/push-v0", max_episode_steps=9).spec.max_episode_steps == 9
    assert gym.make_vec("pushlab/RECEnv-v0", num_envs=2, max_episode_steps=3).spec.max_episode_steps == 3
    assert ODE("hiv").most_steps == 400 and Env(ODE("hiv")).spec is None


def test_a_spec_from_disk_or_without_a_limit_makes_longer_episodes_too():
    env = gym.make("pushlab/RECEnv-v0")
    for spec, more in ((EnvSpec.from_json(env.spec.to_json()), {}), (env.spec, {"max_episode_steps": -1})):
        longer = gym.make(spec, step_per_episode=50, **more)
        assert len(to_the_end(longer)) == 51 and longer.spec.max_episode_steps == 50
    for limit in (3, 12):
        cut = EnvSpec.from_json(gym.make("pushlab/RECEnv-v0", max_episode_steps=limit).spec.to_json())
        assert cut.max_episode_steps == limit and len(to_the_end(gym.make(cut, step_per_episode=50))) == limit + 1
    envs = EnvSpec.from_json(gym.make_vec("pushlab/RECEnv-v0", num_envs=2).spec.to_json())
    assert gym.make_vec(envs, step_per_episode=50).spec.max_episode_steps == 50
    limited = EnvSpec.from_json(gym.make_vec("pushlab/RECEnv-v0", num_envs=2, max_episode_steps=3).spec.to_json())
    assert gym.make_vec(limited).spec.max_episode_steps == 3
    assert pickle.loads(pickle.dumps(env.spec)) == env.spec == copy.deepcopy(env.spec)


@every_length
def test_a_spec_makes_the_same_environment_again(name, kwargs, steps):
    env = gym.make(name, **kwargs)
    specs = [env.spec]
    if kwargs.get("user") is not PAIR:                              # a user has no JSON
        specs.append(EnvSpec.from_json(env.spec.to_json()))
        assert gym.make(specs[1]).spec == specs[0]
    ours = to_the_end(env)
    for spec in specs:
        theirs = to_the_end(gym.make(spec))
        assert same([told[:3] for told in ours], [told[:3] for told in theirs])
        assert same([told[4] for told in ours[1:]], [told[4] for told in theirs[1:]])
        assert not any(told[3] for told in theirs[1:-1])            # the length is no end before the end
        if spec is not specs[0]:                                    # on disk it has no limit that nobody gave
            assert [told[2:4] for told in ours[1:]] == [told[2:4] for told in theirs[1:]]
    envs = gym.make_vec(name, num_envs=2, **kwargs)
    again = gym.make_vec(envs.spec)
    assert again.num_envs == 2 and again.spec.max_episode_steps == steps
    assert same(envs.reset(seed=3)[0], again.reset(seed=3)[0])
