"""What holds for every environment: checks, seeded rollouts, batches, pickles, pictures."""

import functools
import itertools
import pickle
import subprocess
import sys

import cloudpickle
import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

from pushlab.datasets.borrowers import make_borrowers
from pushlab.envs import TABLE
from pushlab.envs.batch import VectorEnv
from pushlab.envs.room import Room
from pushlab.envs.shell import MOST_FRAMES, Env, keep_frame

pytestmark = pytest.mark.filterwarnings(
    "error",
    "ignore:.*is out of date:DeprecationWarning",
    "ignore:.*symmetric and normalized",  # doses and weights have bounds of their own
)

IDS = [name for name, *_ in TABLE]
WHYNOT = {"reference": "whynot-0.12"}
PEOPLE = {"people": make_borrowers(3, 40, 48)}
UNPENALISED = {**PEOPLE, **WHYNOT}
WIDE = {"land_yield_factor": (0.5, 2.0), "service_capital_output_ratio": (0.5, 2.0)}

# Of each environment, with arguments: the return of 400 seeded random steps, and sums
# over the observations, infos and frames (see `checksum`). The other tests compare with
# independent computations; these numbers only show that nothing has changed, in every
# part of every world. If a change is meant, take the numbers that the test prints.
GOLDEN = [
    ("evalumap1-v0", {}, (178, 8035.38482033, 616.856913174, 114.516422237)),
    (
        "evalumap1-v0",
        {"user": ["mira", "omar"], "period": "history", "reveal": True},
        (343, 7970.78683654, 2443.4834029, 118.622345202),
    ),
    (
        "evalumap1-v0",
        {"opening": "matched", "actual": "judge", "reveal": True},
        (114, 8035.38482033, 875.130465704, 109.92623057),
    ),
    ("evalumap2-v0", {}, (178, 23137.141018, 616.856913174, 114.516422237)),
    ("RoomEnv-v0", {}, (38, 3523.53524128, 0, 106.848747599)),
    (
        "RoomEnv-v0",
        {"size": "big", "encoding": "index", "n_agents": 2},
        (6, 23638.0613059, 14.0375672051, 132.795031844),
    ),
    (
        "RoomEnv-v0",
        {
            "encoding": "index",
            "reference": "room-env-3",
            "commonsense": "elsewhere",
            "n_people": 4,
        },
        (39, 8348.23351137, 0, 96.0214815352),
    ),
    ("RECEnv-v0", {}, (7.91520878593, 30.5596071332, 2651.26299706, 77.235642367)),
    (
        "RECEnv-v0",
        {"UserModel": "Satiation", "reward_type": "binary", "obs_std": 0.1},
        (185, 7.63115372573, 3683.713911, 80.9166799602),
    ),
    (
        "RECEnv-v0",
        {
            "UserModel": {"name": "UserModel", "alpha": 0.3},
            "reward_std": 0.5,
            "n_items": 7,
            "step_per_episode": 30,
        },
        (3.21012170714, 15.7965893046, 2796.98513505, 83.6502496315),
    ),
    ("ODE-HIV-v0", {}, (15638763.2236, 26839.0722091, 3516.33781415, 1106.53373889)),
    (
        "ODE-HIV-v0",
        {"actions": "box", "log_observation": True, "noise": 0.1},
        (9735675.74797, 5987.76612549, 3516.33781415, 1103.17898516),
    ),
    (
        "ODE-HIV-v0",
        {
            "bins": True,
            "timestep": 5.0,
            "preset": "ernst2006",
            "initial_state": "unhealthy",
        },
        (20521164.8716, 4787.29720198, 3459.24293998, 1042.93879338),
    ),
    ("ODE-HIV-Goal-v0", {}, (-400, 13211.2045143, 4023.87964335, 996.803514068)),
    (
        "ODE-HIV-Goal-v0",
        {"within": 1.0, "noise": 0.1},
        (-400, 13211.4727073, 4023.87964335, 996.996118601),
    ),
    (
        "ODE-LotkaVolterra-v1",
        {},
        (2847.62789653, 3718.72826793, 2643.37946744, 237.839698891),
    ),
    (
        "ODE-LotkaVolterra-v1",
        WHYNOT,
        (2597.60941039, 3744.77960938, 2643.37946744, 227.262236806),
    ),
    ("ODE-Opioid-v0", {}, (-12542.8890846, 35314.5439216, 5007.03611775, 1035.0352598)),
    (
        "ODE-Opioid-v0",
        {"actions": "box", "preset": "pessimistic", "initial_state": "2015"},
        (-6733.57820445, 33256.2877184, 5007.03611775, 1021.59345149),
    ),
    (
        "ODE-Opioid-v0",
        WHYNOT,
        (-29997057849.5, 27528.4155458, 5007.03611775, 750.255674178),
    ),
    ("ODE-Zika-v0", {}, (-21648.6881697, 14346.2359968, 2629.09089456, 910.499992418)),
    (
        "ODE-Zika-v0",
        {"actions": "box", "initial_state": "first case"},
        (-12114.8185795, 9677.29850702, 2629.09089456, 712.177223471),
    ),
    (
        "ODE-Zika-v0",
        WHYNOT,
        (-8810935.9177, 15353.7154245, 2629.09089456, 630.416171039),
    ),
    ("ODE-World3-v1", {}, (-36846.191597, 155962.058343, 4987.94203849, 3875.86052148)),
    (
        "ODE-World3-v1",
        {"actions": "box", "interventions": WIDE},
        (-30512.1909346, 155927.437829, 4987.94203849, 3878.30477508),
    ),
    (
        "ODE-World3-v1",
        WHYNOT,
        (-218554.97945, 153651.785417, 4987.94203849, 3543.72134559),
    ),
    (
        "ODE-World3-v1",
        {"preset": "whynot"},
        (-38074.8582184, 156562.681319, 4987.94203849, 3893.98815242),
    ),
    ("Credit-v0", {}, (-219.838849676, 295.721652146, 3173.95209889, 186.333695503)),
    (
        "Credit-v0",
        {
            **PEOPLE,
            "actions": "box",
            "observe": "table",
            "config": {"memory": True},
        },
        (-133794.051317, 36403.7037831, 12347.6187671, 163.912332414),
    ),
    (
        "Credit-v0",
        UNPENALISED,
        (179.837002545, 773.651613465, 2180.72455942, 147.143344015),
    ),
    ("push-v0", {}, (-119.25, 35327.5777505, 42248.7277317, 2310.06938867)),
    (
        "push-v0",
        {
            "user": ["mira", "omar"],
            "horizon": 2,
            "rewards": "2019",
            "max_age": 60,
            "max_forbidden": 2,
            "patience": 0,
        },
        (-132.3, 35929.903138, 69201.9130224, 3735.5325772),
    ),
    (
        "push-v0",
        {"source": "generator", "days": "test", "opening": "threshold"},
        (-131.565, 36002.4130494, 40825.8490155, 2204.59309714),
    ),
]
CASES = [f"{name}-{at}" for at, (name, *_) in enumerate(GOLDEN)]
every_case = pytest.mark.parametrize(
    "name, kwargs",
    [(f"pushlab/{name}", kwargs) for name, kwargs, _ in GOLDEN],
    ids=CASES,
)
every_id = pytest.mark.parametrize("name", IDS)


def numbers_in(value):
    """Flatten nested observations, infos and frames; words do not count."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, (tuple, list)):
        return list(itertools.chain.from_iterable(map(numbers_in, value)))
    if value is None or isinstance(value, str):
        return []
    return np.nan_to_num(np.ravel(value).astype(float)).tolist()


def checksum(values):
    """Weighted sum of all numbers; arcsinh brings billions and fractions to one scale."""
    numbers = np.arcsinh(numbers_in(values))
    return numbers @ np.linspace(1, 2, len(numbers))


def random_action(world, rng):
    space = world.action_space
    if isinstance(space, spaces.Box):
        return rng.uniform(space.low, space.high)
    if isinstance(space, spaces.Text):
        return str(rng.choice(world.locations))
    if isinstance(space, spaces.Discrete):
        return int(rng.integers(space.n))
    return rng.integers(space.nvec)


def golden_rollout(name, kwargs):
    env = gym.make(name, **kwargs)
    world = env.unwrapped.world
    rng = np.random.default_rng(7)
    observation, info = env.reset(seed=7)
    bounds = [getattr(world.observation_space, key, 0) for key in ("high", "nvec")]
    observations = [bounds, observation]
    infos = [info]
    frames = [env.unwrapped.frame()]
    total = 0.0
    for step in range(400):
        observation, reward, *ends, info = env.step(random_action(world, rng))
        total += reward
        infos += [info, ends]
        if step % 100 == 99:
            frames.append(env.unwrapped.frame())
        if any(ends):
            observation, info = env.reset()
        observations.append(observation)
    return total, *map(checksum, (observations, infos, frames))


@pytest.mark.parametrize("name, kwargs, golden", GOLDEN, ids=CASES)
def test_seeded_rollout_gives_the_same_numbers_as_ever(name, kwargs, golden):
    *found, frames = golden_rollout(f"pushlab/{name}", kwargs)
    *expected, expected_frames = golden
    assert found == pytest.approx(expected, rel=1e-8)
    # Frames of credit show weights that are fitted to the people. Without a penalty the loss of 40 people is all but
    # flat in one direction (condition number 4e11). The weights then depend on the order in which BLAS adds, which
    # differs between processors: from 1e-7 (sum over the frames) to 1e-6 (a weight), relatively.
    rel = 1e-6 if kwargs is UNPENALISED else 1e-8
    assert frames == pytest.approx(expected_frames, rel=rel)


# ------------------------------------------------------------ Gymnasium's rules


@every_case
def test_check_env_passes_without_a_warning(name, kwargs):
    env = gym.make(name, disable_env_checker=True, **kwargs).unwrapped
    check_env(env, skip_render_check=name != "pushlab/RECEnv-v0")


@every_case
def test_seed_repeats_an_episode_and_a_running_environment_can_be_pickled(name, kwargs):
    env = gym.make(name, **kwargs)
    action = random_action(env.unwrapped.world, np.random.default_rng(1))
    runs = []
    for _ in range(2):
        runs.append([env.reset(seed=3), *(env.step(action) for _ in range(3))])
    assert data_equivalence(*runs, exact=True)
    twin = pickle.loads(cloudpickle.dumps(env))
    assert data_equivalence(env.step(action), twin.step(action), exact=True)


@every_id
def test_render_gives_a_picture_that_follows_the_state(name):
    env = gym.make(name, render_mode="rgb_array")
    env.reset(seed=3)
    first = env.render()
    for _ in range(3):
        env.step(random_action(env.unwrapped.world, np.random.default_rng(2)))
    later = env.render()
    assert first.dtype == np.uint8
    assert first.shape == later.shape
    assert (first != later).any()


def test_batches_give_a_picture_of_each_environment():
    envs = gym.make_vec("pushlab/RECEnv-v0", num_envs=2, render_mode="rgb_array")
    envs.reset(seed=3)
    envs.step([0, 1])
    one, other = envs.render()
    assert one.shape == other.shape
    assert (one != other).any()


def test_long_episodes_keep_the_first_and_the_latest_frames():
    frames = list(range(MOST_FRAMES))
    keep_frame(frames, MOST_FRAMES)
    assert frames == [0, *range(MOST_FRAMES // 2, MOST_FRAMES + 1)]


# ------------------------------------------------------------ batches


def same(ours, theirs):
    """Whether values are equal, whatever container a batch has them in."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(
            same(ours[key], theirs[key]) for key in ours
        )
    if isinstance(ours, (tuple, list)) or np.asarray(ours).dtype.kind == "O":
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return np.array_equal(ours, theirs)


def same_info(ours, theirs):
    """Whether infos of batches agree wherever their masks say that there is a value."""
    names = {name for name in theirs if not name.startswith("_")}
    if names != {name for name in ours if not name.startswith("_")}:
        return False
    for name in names:
        mask = theirs[f"_{name}"]
        if not np.array_equal(ours[f"_{name}"], mask):
            return False
        if isinstance(theirs[name], dict):
            if not same_info(ours[name], theirs[name]):
                return False
        elif not same(list(ours[name][mask]), list(theirs[name][mask])):
            return False
    return True


@every_case
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_environment_i_of_a_batch_is_the_env_with_seed_plus_i(name, kwargs, mode):
    """Against Gymnasium's own loop over single environments, through many episodes."""
    world = gym.make(name, **kwargs).unwrapped.world
    batch = VectorEnv(world, 3, 9, mode)
    single = functools.partial(gym.make, name, world=world, max_episode_steps=9)
    alone = SyncVectorEnv([single] * 3, autoreset_mode=mode)
    assert batch.observation_space == alone.observation_space
    assert same(batch.reset(seed=21), alone.reset(seed=21))
    batch.action_space.seed(4)
    for step in range(40):
        if step == 4:  # from here on episodes end at different times
            for each in (batch, alone):
                each.reset(options={"reset_mask": np.array([False, True, False])})
        actions = batch.action_space.sample()
        ours = batch.step(actions)
        theirs = alone.step(actions)
        assert same(ours[:4], theirs[:4])
        assert same_info(ours[4], theirs[4])
        assert ours[0] in batch.observation_space


DRAWING = [  # environments that draw random numbers in steps, and end at different times
    ("RECEnv-v0", {"obs_std": 0.1, "reward_std": 0.5}),
    ("evalumap2-v0", {"user": ["mira", "omar"]}),
    ("push-v0", {}),
    ("RoomEnv-v0", {"encoding": "index"}),
]


@pytest.mark.parametrize("name, kwargs", DRAWING)
def test_resetting_some_environments_leaves_the_others_alone(name, kwargs):
    """Over more steps than random numbers are drawn at once."""
    world = gym.make(f"pushlab/{name}", **kwargs).unwrapped.world
    batch = VectorEnv(world, 3, autoreset_mode="Disabled")
    alone = [Env(world) for _ in range(3)]
    rng = np.random.default_rng(1)
    batch.reset(seed=5)
    for at, env in enumerate(alone):
        env.reset(seed=5 + at)
    for step in range(300):
        actions = [random_action(world, rng) for _ in alone]
        observation, reward, terminated, truncated, _ = batch.step(np.array(actions))
        seen = list(iterate(batch.observation_space, observation))
        for at, env in enumerate(alone):
            theirs = env.step(actions[at])
            assert same((seen[at], reward[at], terminated[at]), theirs[:3])
        mask = terminated | truncated | (step in (40, 90) and [True, False, True])
        seed = 70 if step == 40 else None
        if mask.any():
            observation, _ = batch.reset(seed=seed, options={"reset_mask": mask})
            seen = list(iterate(batch.observation_space, observation))
            for at in np.flatnonzero(mask).tolist():
                begun, _ = alone[at].reset(seed=seed and seed + at)
                assert same(seen[at], begun)


def test_ended_environments_are_named_when_autoreset_is_off():
    envs = VectorEnv(Room(encoding="index"), 3, 1, "Disabled")
    with pytest.raises(gym.error.ResetNeeded, match="first reset is of all"):
        envs.reset(options={"reset_mask": np.array([True, False, False])})
    envs.reset(seed=1)
    envs.step([0, 0, 0])
    envs.reset(options={"reset_mask": np.array([True, True, False])})
    with pytest.raises(gym.error.ResetNeeded, match=r"copies \[2\] have ended"):
        envs.step([0, 0, 0])


def test_seeds_of_a_batch_stay_until_new_ones_come():
    envs = gym.make_vec("pushlab/RECEnv-v0", num_envs=3)
    envs.reset()
    assert len(set(envs.np_random_seed)) == 3
    first = envs.reset(seed=4)[0]
    envs.reset()
    assert envs.np_random_seed == (4, 5, 6)
    assert np.array_equal(envs.reset(seed=[4, 5, 6])[0], first)
    with pytest.raises(ValueError, match="one for each of the 3 copies"):
        envs.reset(seed=[1, 2])


# ------------------------------------------------------------ actions


WRONG_ACTIONS = [
    (5, "action is 5; it must be from 0 to 4"),
    (-1, "action is -1; it must be from 0 to 4"),
    ([[1, 2]], r"shape \(\); got \(1, 2\)"),
    (1.0, r"int\(action\) makes one of it"),
    (None, "does the policy return its action"),
]


@pytest.mark.parametrize("action, message", WRONG_ACTIONS)
def test_wrong_actions_are_refused_and_take_no_step(action, message):
    envs = gym.make_vec("pushlab/RECEnv-v0", num_envs=2)
    env = Env(envs.world)
    for each in (env, envs):
        each.reset(seed=0)
    before = env.state
    with pytest.raises(ValueError, match=message):
        env.step(action)
    assert env.state is before
    with pytest.raises(ValueError):
        envs.step([action, action])


# ------------------------------------------------------------ arguments

WRONG = [
    ("evalumap1-v0", {"user": 3}, "a shipped name, a folder or a User; got 3"),
    ("evalumap1-v0", {"candidates": [[0, 99]]}, "candidates must be integers of shape"),
    ("RoomEnv-v0", {"n_people": 11}, "n_objects is a whole number of .* from 11"),
    ("RoomEnv-v0", {"p_new_object": 1.5}, "p_new_object is a number from 0 to 1"),
    ("RoomEnv-v0", {"p_commonsense": 1, "reference": "room-env-3"}, "both excluded"),
    ("RECEnv-v0", {"reward_std": np.nan}, "reward_std is a number"),
    ("RECEnv-v0", {"UserModel": 3}, "or an instance of BaseUserModel; got 3"),
    ("RECEnv-v0", {"user_feature_vector": np.eye(100, 5)}, "row 5 is all zeros"),
    (
        "RECEnv-v0",
        {"user_feature_dim": 3},
        "needs user_feature_dim and item_feature_dim to be equal",
    ),
    ("ODE-HIV-v0", {"config": {"lambda_9": 1.0}}, "one of lambda_1, .* 'lambda_9'"),
    ("ODE-HIV-v0", {"interventions": {"c": [1]}}, "epsilon_1, epsilon_2; got 'c'"),
    ("ODE-HIV-v0", {"interventions": {"epsilon_1": [0, 2]}}, "from 0 to 0.7; got"),
    ("ODE-HIV-v0", {"timestep": 1e-9}, "number from 4e-05 to 400.0; got 1e-09"),
    ("ODE-LotkaVolterra-v1", {"model": "hiv"}, "-v1 has its own model"),
    ("ODE-Zika-v0", {"bins": True}, "zika has no bins"),
    ("ODE-Zika-v0", {"reference": "whynot"}, "None, whynot-0.12; got 'whynot'"),
    ("ODE-World3-v1", {"dt": 1.5}, "dt is a number from 1e-06 to 1"),
    ("Credit-v0", {"config": {"eps": 1}}, "one of epsilon, .* 'eps'"),
    ("Credit-v0", {"candidates": {"a": [21.0] * 11}}, "from -20 to 20"),
    ("push-v0", {"horizon": 85}, "days .* for user mira, from 1 to 84"),
    ("push-v0", {"days": "autumn"}, "days is None, 'train', 'test' or a pair"),
]


@pytest.mark.parametrize("name, kwargs, message", WRONG)
def test_wrong_arguments_are_named(name, kwargs, message):
    with pytest.raises(ValueError, match=message):
        gym.make(f"pushlab/{name}", **kwargs)


WRONG_OPTIONS = [
    ("RECEnv-v0", {"colour": "red"}, "'colour'; it understands: user_id"),
    ("RECEnv-v0", {"user_id": 100}, "user_id must be from 0 to 99; got 100"),
    ("ODE-HIV-v0", {"initial_state": [1e9] * 6}, "give it as the argument"),
    ("Credit-v0", {"theta": [1.0]}, "theta must have 11 weights"),
    ("push-v0", {"day": "soon"}, "the option day is a date from 2019-02-18 to"),
    ("push-v0", {"user": "kim"}, "the option user is one of mira; got 'kim'"),
]


@pytest.mark.parametrize("name, options, message", WRONG_OPTIONS)
def test_wrong_options_of_reset_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        gym.make(f"pushlab/{name}").reset(options=options)


# ------------------------------------------------------------ the shell


def test_steps_and_pictures_need_a_reset():
    env = gym.make("pushlab/RECEnv-v0", render_mode="rgb_array").unwrapped
    envs = gym.make_vec("pushlab/RECEnv-v0", num_envs=2, render_mode="rgb_array")
    for call in (env.render, env.frame, envs.render, lambda: envs.step([0, 0])):
        with pytest.raises(gym.error.ResetNeeded):
            call()
    env.reset(seed=0)
    ends = [env.step(0)[3] for _ in range(10)]
    assert ends == [False] * 9 + [True]
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)


def test_a_subclass_may_change_the_reward():
    """Although the room has its own way to step a single environment."""
    changed = type("Changed", (Room,), {"reward": lambda self, outcome: np.full(1, 7)})
    for env, action in ((Env(changed), "desk"), (VectorEnv(changed), ["desk"])):
        env.reset(seed=0)
        assert env.step(action)[1] == 7


def test_importing_pushlab_is_light_and_registers_the_ids():
    code = (
        "import sys, gymnasium; before = set(sys.modules); import pushlab\n"
        "print(sorted({name.split('.')[0] for name in set(sys.modules) - before}))\n"
        "print(gymnasium.make('pushlab/RECEnv-v0').reset(seed=7)[1]['user_id'])"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["['lazy_loader', 'pushlab']", "62"]
