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
from pushlab.envs.batch import VectorEnv
from pushlab.envs.ode.integrate import integrator, of_step
from pushlab.envs.push.world import Push
from pushlab.envs.shell import MOST_FRAMES, Env
from pushlab.envs.world import World
from pushlab.logs.rollout import rollout
from pushlab.plots import screen

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


@pytest.fixture(autouse=True)
def only_what_is_new_is_collected():
    """What was there before a test is not looked through: that would take most of its time."""
    gc.freeze()


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


# ---------------------------------------------------------------- what one step keeps does not grow with the episode

@pytest.mark.parametrize("weights", [(1, 1, 1, 1, 1), (0, 0, 1, 0, 1)], ids=["any", "all wait"])
def test_frames_of_managed_notifications_share_what_has_not_changed(weights):
    env, rng = Env(Push("mira", horizon=5, max_age=10_000), "rgb_array"), np.random.default_rng(0)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        chances = weights * info["action_mask"]
        _, _, over, _, info = env.step(int(rng.choice(5, p=chances / chances.sum())))
    steps, arrived = len(env._frames) - 1, len(env._frames[-1]["events"])
    told = {id(event) for frame in env._frames for event in (*frame["events"], *frame["cache"])}
    # A step changes the one that it is about and may bring one; and each is settled once.
    assert arrived < len(told) <= steps + 2 * arrived
    one = weakref.ref(env._frames[-1]["events"][0])
    env.reset(seed=2)
    gc.collect()
    assert one() is None


def test_an_episode_log_keeps_neither_observations_nor_infos_of_the_episode():
    alive, most = [], 0

    class Told(dict):
        """An info that can be found again."""

    class Telling(gym.Env):
        observation_space, action_space = Box(0, 1, (1,)), Discrete(2)

        def tell(self):
            seen, told = np.zeros(1, np.float32), Told()
            alive.extend((weakref.ref(seen), weakref.ref(told)))
            return seen, told

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.tell()

        def step(self, action):
            seen, told = self.tell()
            return seen, 1.0, False, False, told

    def count(observation):
        nonlocal most
        most = max(most, sum(ref() is not None for ref in alive))
        return 0

    log = rollout(Telling(), count, steps=100, record="episodes", progress=False)
    assert log["length"].tolist() == [100] and log["return"].tolist() == [100.0]
    assert most <= 6                                        # of the step before, this one and the next


# ---------------------------------------------------------------- nothing outlives whom it was made for

@pytest.fixture
def on_a_screen(monkeypatch):
    """Windows as on a desktop, drawn by a backend that needs no display."""
    from matplotlib import backends, pyplot

    monkeypatch.setattr(backends.backend_registry, "list_builtin", lambda kind: ["agg"])
    monkeypatch.setattr(pyplot, "pause", lambda seconds: None)
    monkeypatch.setattr(screen, "_in_notebook", lambda: False)
    pyplot.switch_backend("agg")
    return pyplot.get_fignums


def test_a_window_goes_with_an_environment_that_was_never_closed(on_a_screen):
    before = on_a_screen()
    for _ in range(3):
        env = Env(Endless, "human")
        env.reset(seed=1)
        env.step(0)
        assert len(on_a_screen()) == len(before) + 1
        del env
        gc.collect()
        assert on_a_screen() == before


def test_a_window_is_closed_with_its_environment_alone(on_a_screen):
    before = on_a_screen()
    one, other = Env(Endless, "human"), Env(Endless, "human")
    for env in (one, other):
        env.reset(seed=1)
    both = on_a_screen()
    assert len(both) == len(before) + 2
    one.close()
    one.close()
    assert on_a_screen() == [number for number in both if number != max(both) - 1]
    other.step(0)
    other.close()
    assert on_a_screen() == before


def test_nothing_is_drawn_in_the_place_of_one_that_is_gone(monkeypatch):
    """In a notebook, where one that is new may lie in memory where one did that was never closed."""
    import IPython.display

    places = []

    class Drawing:
        """What owns a picture; of a form whose memory Python 3.13 gives out again, too."""

        __slots__ = ("__weakref__",)

    class Place:
        def __init__(self, image, display_id):
            places.append(self)
            self.updates = 0

        def update(self, image):
            self.updates += 1

    monkeypatch.setattr(IPython.display, "display", Place)
    monkeypatch.setattr(screen, "_in_notebook", lambda: True)
    figure, old = Figure(figsize=(1, 1)), Drawing()
    screen.show(figure, old)
    screen.show(figure, old)
    was_at, others = id(old), []
    del old
    while id(new := Drawing()) != was_at and len(others) < 1_000_000:
        others.append(new)
    assert id(new) == was_at
    screen.show(figure, new)
    assert [place.updates for place in places] == [1, 0]


@pytest.mark.parametrize("loop_for", [
    lambda *model: integrator(*model, 2, 1), lambda *model: integrator(*model, 2, 1, "euler"),
    lambda derivative, reward: of_step(reward)], ids=["adaptive", "fixed", "step"])
def test_the_functions_of_models_that_are_defined_again_and_again_are_let_go(loop_for):
    def define():
        def derivative(time, y, constants, dose, slope):
            """Nothing moves."""

        def reward(values, dose, constants, earned):
            """Nothing is earned."""

        loop_for(derivative, reward)
        return weakref.ref(reward)

    gone = [define() for _ in range(150)]
    gc.collect()
    assert sum(ref() is not None for ref in gone) < 100
