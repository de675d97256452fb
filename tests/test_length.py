"""Long runs: an endless episode that is drawn, and environments made and closed again and again, keep memory flat.

`make benchmarks ARGS=memory` measures megabytes over a million steps; here the objects themselves are counted.
"""

import gc
import weakref

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from matplotlib.figure import Figure

import pushlab  # noqa: F401
from pushlab.envs import TABLE
from pushlab.envs.shell import MOST_FRAMES, Env, VectorEnv
from pushlab.envs.world import World

STEPS = 25_000


class Frame(dict):
    """A frame that can be found again among all objects."""


class Endless(World):
    """Counts steps and never ends; its picture notes which frames it was made of."""

    name = "endless"
    observation_space, action_space = Box(0, np.inf, (1,), np.float64), Discrete(2)
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


def frames_alive():
    gc.collect()
    return sum(type(thing) is Frame for thing in gc.get_objects())


@pytest.mark.parametrize("copies", [None, 2])
def test_an_endless_episode_that_is_drawn_keeps_a_bounded_number_of_frames(copies):
    env = Env(Endless, "rgb_array") if copies is None else VectorEnv(Endless, copies, render_mode="rgb_array")
    action = 0 if copies is None else np.zeros(copies, np.int64)
    env.reset(seed=1)
    for _ in range(STEPS):
        env.step(action)
    assert frames_alive() <= (copies or 1) * MOST_FRAMES
    env.render()
    latest = Endless.drawn[1:]
    assert Endless.drawn[0] == 0 and len(latest) >= MOST_FRAMES // 2 - 1
    assert latest == list(range(STEPS + 1 - len(latest), STEPS + 1))       # none is missing up to now
    env.reset(seed=1)
    assert frames_alive() == (copies or 1)


def test_registered_episodes_are_drawn_whole():
    """The longest one: the contexts of a shipped user's quarter."""
    env = gym.make("pushlab/evalumap1-v0", user="ines", render_mode="rgb_array")
    env.reset(seed=1)
    action, over, steps = env.action_space.sample(), False, 0
    while not over:
        over, steps = env.step(action)[2], steps + 1
    assert steps == len(env.unwrapped.world) < MOST_FRAMES
    assert [frame["step"] for frame in env.unwrapped._frames] == list(range(steps + 1))


@pytest.mark.parametrize("make", [gym.make, lambda name: gym.make_vec(name, num_envs=2),
                                  lambda name: gym.make(name, render_mode="rgb_array")], ids=["one", "batch", "drawn"])
@pytest.mark.parametrize("name", [name for name, *_ in TABLE])
def test_an_environment_that_was_closed_is_gone(name, make):
    from matplotlib import pyplot

    gone, figures = [], pyplot.get_fignums()
    for _ in range(3):
        env = make(name)
        env.reset(seed=1)
        env.step(env.action_space.sample())
        if env.render_mode is not None:
            env.render()
        gone += [weakref.ref(env.unwrapped), weakref.ref(env.unwrapped.world)]
        env.close()
        del env
    gc.collect()
    assert [ref() for ref in gone] == [None] * len(gone)
    assert pyplot.get_fignums() == figures
