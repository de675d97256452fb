"""One phone alone: the same life as the batch functions give, lived in place, without copies of the state."""

import numpy as np

from pushlab.envs.actions import reader_of
from pushlab.envs.push import rules

PLAIN = (int, np.int64)         # what an action mostly is; anything else goes through the checking reader


class PushAlone:
    """One copy of push-v0 for the Env; see `World.solo`."""

    def __init__(self, world):
        self.world = world
        self._read = reader_of(world)
        self.state = None
        self._parts = tuple(f"parts.{part}" for part in rules.PARTS)

    def reset(self, draws, options):
        """Begins an episode: observation and info."""
        world = self.world
        self.state, self.action, self.reward = world.initial(draws, options), None, 0.0
        self.core, self.sums = self.state["core"], self.state["sums"]
        self._life = (*self.state.values(), *world.life, *world.sight)
        first_day = self.core[0, rules.FIRST_DAY]
        self._begin, self._day = float(world.times[world.first[first_day]]), int(world._number_of(self.core)[0])
        return world.observe(self.state)[0], self._info(world.mask(self.state)[0])

    def step(self, action, draws):
        """Observation, reward, terminated, truncated, info."""
        if type(action) not in PLAIN or not 0 <= action < len(rules.ACTIONS):
            action = self._read(action, 1)[0]
        seen, mask = np.empty((1, len(self.world._top)), np.int64), np.empty((1, len(rules.ACTIONS)), np.int8)
        self.action, self.reward = action, rules.act_and_look(int(action), *self._life, seen, mask)
        info = self._info(mask[0])
        return seen[0], self.reward, self._over, False, info

    def _info(self, mask):
        world, core, sums = self.world, self.core[0].tolist(), self.sums[0].tolist()
        self._over = core[rules.OVER] == 1
        time = world.horizon * 1440.0 if self._over else float(world.times[core[rules.MOMENT]]) - self._begin
        shown = core[rules.SHOWN_IN_ALL]
        info = {"time": time, "day": self._day, "shown": shown, "dismissed": core[rules.DISMISSED_IN_ALL],
                "cached": core[rules.CACHED_IN_ALL], "expired": core[rules.EXPIRED_IN_ALL],
                "forbidden": core[rules.FORBIDDEN_IN_ALL], "opens": core[rules.OPENS_IN_ALL],
                "refusals": core[rules.REFUSALS_IN_ALL], "missed": core[rules.MISSED_IN_ALL],
                "spared": core[rules.SPARED_IN_ALL],
                "load": shown / (core[rules.DAY_NOW] - core[rules.FIRST_DAY] + 1),
                "delay": sums[rules.DELAY] / max(shown, 1)}
        info.update(zip(self._parts, sums))
        if len(world.users) > 1:
            info["user"] = core[rules.WHO]
        info["hand"], info["fates"] = core[rules.HAND], self.state["fate"][0].copy()
        info["action_mask"] = mask
        return info

    def now(self):
        """State and outcome as the batch functions give them; None and None before the first reset."""
        if self.state is None:
            return None, None
        state = {key: values.copy() for key, values in self.state.items()}
        if self.action is None:
            return state, None
        return state, {"reward": np.array([self.reward]), "action": np.array([self.action])}
