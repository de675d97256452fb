"""Long runs: memory stays bounded, and closed environments and their windows are gone."""

import gc
import weakref

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from matplotlib import backends, pyplot
from matplotlib.figure import Figure

from pushlab import rollout
from pushlab.envs.env import MAX_FRAMES, Env
from pushlab.envs.vector_env import VectorEnv
from pushlab.envs.world import World

STEPS = MAX_FRAMES + 50


class Frame(dict):
    """A frame that can be found among all objects."""


class Endless(World):
    """Counts steps and never ends; its picture notes the frames it shows."""

    name = "endless"
    observation_space = Box(0, np.inf, (1,), np.float64)
    action_space = Discrete(2)
    drawn = ()

    def initial(self, draws, options):
        return {"step": np.zeros(len(draws), np.int64)}

    def advance(self, state, action, draws):
        return {"step": state["step"] + 1}, {"reward": np.zeros(len(action))}

    def observe(self, state):
        return state["step"][:, None].astype(float)

    def frame(self, state, outcome, at=0):
        return Frame(step=int(state["step"][at]))

    @staticmethod
    def picture(frames, **more):
        Endless.drawn = [frame["step"] for frame in frames]
        return Figure(figsize=(1, 1))


@pytest.fixture(autouse=True)
def only_new_objects_are_collected():
    gc.freeze()


@pytest.mark.parametrize("copies", [1, 2])
def test_an_endless_episode_keeps_its_first_and_its_latest_frames(copies):
    env = Env(Endless, "rgb_array")
    action = 0
    if copies > 1:
        env = VectorEnv(Endless, copies, render_mode="rgb_array")
        action = np.zeros(copies, np.int64)
    env.reset(seed=1)
    for _ in range(STEPS):
        env.step(action)
    env.render()
    latest = range(STEPS + 2 - MAX_FRAMES, STEPS + 1)
    assert Endless.drawn == [0, *latest]
    gc.collect()
    alive = sum(type(thing) is Frame for thing in gc.get_objects())
    assert alive == copies * (1 + len(latest))


def test_a_closed_environment_is_gone():
    gone = []
    figures = pyplot.get_fignums()
    for name in ("push-v0", "RoomEnv-v0", "ODE-HIV-v0", "Credit-v0"):
        name = f"pushlab/{name}"
        for env in (gym.make(name, render_mode="rgb_array"), gym.make_vec(name, 2)):
            env.reset(seed=1)
            env.step(env.action_space.sample())
            if env.render_mode:
                env.render()
            gone += [weakref.ref(env.unwrapped), weakref.ref(env.unwrapped.world)]
            env.close()
            del env
    gc.collect()
    assert [ref() for ref in gone if ref() is not None] == []
    assert pyplot.get_fignums() == figures


def test_a_window_goes_with_its_environment(monkeypatch):
    """As on a desktop, drawn by a backend that needs no display."""
    registry = backends.backend_registry
    monkeypatch.setattr(registry, "list_builtin", lambda kind: ["agg"])
    monkeypatch.setattr(pyplot, "pause", lambda seconds: None)
    pyplot.switch_backend("agg")
    before = pyplot.get_fignums()
    closed = Env(Endless, "human")
    forgotten = Env(Endless, "human")
    for env in (closed, forgotten):
        env.reset(seed=1)
    opened = pyplot.get_fignums()
    assert len(opened) == len(before) + 2
    closed.close()
    assert pyplot.get_fignums() == [*before, max(opened)]
    del env, forgotten
    gc.collect()
    assert pyplot.get_fignums() == before


def test_a_log_of_episodes_keeps_no_observations():
    alive = []
    most = 0

    class Observed(gym.Env):
        observation_space = Box(0, 1, (1,))
        action_space = Discrete(2)

        def observe(self):
            observation = np.zeros(1, np.float32)
            alive.append(weakref.ref(observation))
            return observation

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.observe(), {}

        def step(self, action):
            return self.observe(), 1.0, False, False, {}

    def act(observation):
        nonlocal most
        most = max(most, sum(ref() is not None for ref in alive))
        return 0

    log = rollout(Observed(), act, steps=100, record="episodes", progress=False)
    assert log["return"].tolist() == [100.0]
    assert most <= 3
