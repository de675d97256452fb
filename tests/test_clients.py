"""What other people's tools ask of every environment and batch: infos, masks, copies, lengths, wrappers."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from tests.test_envs import IDS

USUAL = [
    ("pushlab/evalumap1-v0", {"user": ["mira", "omar"]}), ("pushlab/evalumap1-v0", {"judge": "logistic"}),
    ("pushlab/evalumap2-v0", {"user": ["mira", "omar"]}),
    ("pushlab/RoomEnv-v0", {"n_agents": 2}), ("pushlab/RoomEnv-v0", {"encoding": "index"}),
    ("pushlab/RoomEnv-v0", {"encoding": "index", "n_agents": 2}),
    ("pushlab/RECEnv-v0", {"obs_std": 0.1, "UserModel": "Satiation"}),
    ("pushlab/ODE-HIV-v0", {"actions": "box", "log_observation": True}), ("pushlab/ODE-HIV-v0", {"bins": True}),
    ("pushlab/ODE-HIV-Goal-v0", {"noise": 0.1}), ("pushlab/ODE-LotkaVolterra-v0", {"actions": "box"}),
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
