"""The questions that every world answers, whatever it is about."""

import numpy as np


def reading(method):
    """Marks an exported method of a world as read without brackets: `env.time`, and not `env.time()`."""
    method.is_reading = True
    return method


class World:
    """A small world of pure functions on a batch: every array has a leading axis of n independent copies.

    A state is a dict of arrays; a world never changes one, it returns the next. Chance comes only as `draws`, numbers
    uniform on [0, 1) that the shell takes from its generators, so that the same draws give the same life, alone or in
    a batch. The shell (`pushlab.envs.shell`) does the rest: seeding, time limits, autoreset, rendering.

    A subclass sets `observation_space` and `action_space` (of one copy) in its constructor, whose keyword arguments
    are the environment's, and writes the methods below. Observations, outcomes and infos are arrays, or dicts and
    tuples of arrays, always with the leading axis.
    """

    name = "world"              # the id without its namespace, for logs and pictures
    uniforms = 0                # numbers drawn for one copy at each reset and again at each step
    options = ()                # names that reset(options=…) understands
    observation_names = None    # a name for each component of a vector observation, for the log
    action_names = None         # a name for each component of a vector action
    exports = ()                # names of world attributes that the Env offers as its own; a method is given the Env
    rests = False               # whether advance() leaves a copy that has ended as it is, gives new arrays only, and
                                # info() tells the same with and without an outcome: a batch then need not be parted
    trail_of = ()               # names of outcome entries that the Env keeps of each step of the episode, in `trail`:
                                # for worlds whose episodes end by themselves
    unlogged = ()               # names of info entries that a log leaves out, since they have a table of their own
    read_action = None          # a method (action, n) → array (n, …) for actions that are no numbers, such as words
    action_choices = None       # [(feature, [value, …]), …]: what a person may choose, in the order of components

    @property
    def task(self):
        """The task that the lifelong metrics see in this world."""
        return self.name

    def initial(self, draws, options):
        """The state of len(draws) copies at the start of an episode; draws (n, uniforms)."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it starts")

    def advance(self, state, action, draws):
        """The next state, and the outcome: a dict of arrays (n, …) that reward, info and frame are made of."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it moves on")

    def observe(self, state):
        """What an agent sees of the state."""
        raise NotImplementedError(f"{type(self).__name__} has to say what is seen")

    def reward(self, outcome):
        """The reward of each copy, float64 (n,)."""
        return outcome["reward"]

    def terminated(self, state):
        """Whether the world itself has come to its end, bool (n,)."""
        return np.zeros(len(next(iter(state.values()))), bool)

    def truncated(self, state):
        """Whether the world's own clock has run out, bool (n,); time limits of gym.make are the shell's."""
        return np.zeros(len(next(iter(state.values()))), bool)

    def mask(self, state):
        """Which actions are allowed, int8 (n, actions), for `info["action_mask"]`; None where all always are."""
        return None

    def info(self, state, outcome):
        """What else is told, a dict of arrays (n, …); `outcome` is None right after a reset."""
        return {}

    def solo(self):
        """One copy alone where a world can live it faster than a batch of one, else None.

        It has reset(draws, options) → observation, info; step(action, draws) → observation, reward, terminated, info;
        and now() → the state and outcome that the methods above would have given for the same draws. For worlds
        without a clock of their own.
        """
        return None

    def frame(self, state, outcome, at=0):
        """All that a picture of copy `at` needs, as a plain dict; `outcome` is None right after a reset."""
        raise NotImplementedError(f"{type(self).__name__} has no picture")

    @staticmethod
    def picture(frames, **more):
        """A Matplotlib Figure of the last of an episode's frames so far; `more` may hold a figure to draw on again."""
        raise NotImplementedError("this world has no picture")
