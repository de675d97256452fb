"""One room alone, lived ahead in blocks of steps."""

import numpy as np

from pushlab.envs.actions import action_reader
from pushlab.envs.room.rules import live_on, look_each

BLOCK = 256                     # steps that a room alone is lived ahead


def in_small_letters(answer):
    """An answer as it is compared; None stays None."""
    if answer is None:
        return None
    if not isinstance(answer, str):
        raise TypeError(f"an answer is a word for a place, a str, or None for no answer; got {answer!r:.60}")
    return answer.lower()


class RoomAlone:
    """One copy of the room for the Env: the same life as the batch functions give, lived ahead in blocks of steps.

    What happens in the room does not hang on the answers, so one compiled call lives a block of steps, and a step is
    a look into a list.
    """

    def __init__(self, world):
        self.world = world
        self.indexed = world.encoding == "index"
        self.plain = not self.indexed and world.n_agents == 1
        self._read = action_reader(world.action_space, world.action_names) if self.indexed else world.read_action
        self.heads, self.relation, self.places = world.head_table, world.relation, world.locations
        self.start = None

    def reset(self, draws, options):
        """Begins an episode: observation and info."""
        self.start = self.world.initial(draws, options)         # the state at the beginning of the block
        self.at = self.length = 0                               # steps taken of the block; steps in it
        self.action = None
        self.right = int(self.start["place"][0, self.start["asked"][0]])
        seen = np.empty((1, 4 * self.world.n_agents + 2), np.int64)
        look_each(*(self.start[key] for key in ("person", "thing", "place", "order", "time", "asked")), seen)
        return (seen[0] if self.indexed else self.world.to_words(seen[0])), {}

    def step(self, action, draws):
        """Judges the answer and goes on: observation, reward, terminated, info."""
        if self.plain:
            return self._step_in_words(action)
        answers = self._read(action, 1).reshape(-1)
        rewards = (answers == self.right).astype(float)
        at = self._go_on(action)
        info = {} if len(rewards) == 1 else {"rewards": rewards}
        seen = self.seen[at]
        return (seen.copy() if self.indexed else self.world.to_words(seen)), float(rewards.mean()), False, info

    def _step_in_words(self, action):
        """A step of one agent that is asked and answers in words, with as little work as can be."""
        said = action.lower() if type(action) is str else in_small_letters(action)
        reward = 1.0 if said == self.places[self.right] else 0.0
        at = self._go_on(action)
        person, thing, place, time, whose, what = self.rows[at]
        heads, relation = self.heads, self.relation
        return (((heads[person][thing], relation, self.places[place], time), (heads[whose][what], relation)), reward,
                False, {})

    def _go_on(self, action):
        """Moves on by a step; returns its place in the block."""
        at = self.at
        if at == self.length:
            self._live_on()
            at = 0
        self.action, self.at, self.right = action, at + 1, self.rights[at]
        return at

    def _live_on(self):
        """Lives the next block of steps, from where the last one ended."""
        world, start = self.world, self._after(self.length)
        steps = min(BLOCK, world.max_step - int(start["time"][0]))
        world.check_clock(int(start["time"][0]) + 1)
        self.start, self.length = start, steps
        self.seen, rights = np.empty((steps, 4 * world.n_agents + 2), np.int64), np.empty(steps, np.int64)
        self._live(start, self.seen, rights)
        self.rights = rights.tolist()
        if self.plain:
            self.rows = self.seen.tolist()

    def _live(self, state, seen, rights):
        """What is seen in the steps after a state, and the state after the last of them."""
        room = {key: state[key].copy() for key in ("person", "thing", "place")}
        asked = live_on(*room.values(), state["order"], state["key"][0], state["time"][0], state["asked"][0],
                        self.world.rules, seen, rights)
        return {**state, **room, "asked": np.array([asked]), "time": state["time"] + len(seen)}

    def _after(self, steps):
        """The state so many steps into the block."""
        return self._live(self.start, np.empty((steps, 4 * self.world.n_agents + 2), np.int64),
                          np.empty(steps, np.int64))

    def now(self):
        """State and outcome as the batch functions give them; None and None before the first reset."""
        if self.start is None:
            return None, None
        if self.action is None and self.at == 0:
            return self._after(0), None
        return self.world.advance(self._after(self.at - 1), self._read(self.action, 1), None)
