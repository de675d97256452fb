"""Agents that manage arriving notifications (pushlab/push-v0): three fixed rules, and two learners.

What makes this world hard to learn is that the reward for showing something comes steps later, among the rewards of
other notifications. Both learners take each notification as a small episode of its own: it begins with an arrival,
continues while it is put off, and ends with its outcome. To credit a reward to its notification they remember what
they did with which, and read from info how each stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.agents.protocol import FLOATS, Agent, Deterministic, own_chance
from pushlab.agents.push import ContextFeatures
from pushlab.agents.weights import observe, prior_covariance
from pushlab.ground.arguments import demand
from pushlab.ground.compiled import compiled
from pushlab.users.days import SLOTS, slot_number

if TYPE_CHECKING:
    import pandas as pd

SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)
ACTIONS = ("show", "dismiss", "cache", "check-cache", "stand-by")
NOBODY = -1  # in place of a notification's number
UNSEEN = ((0.0, 0.0, 0.0),)  # values of a new situation


def arrivals_of(env):
    """Return the world of an environment in which notifications arrive; raise ValueError for another one."""
    world = getattr(env.unwrapped, "world", None)
    demand(
        getattr(world, "fates", None),
        "nothing arrives in this environment that could be shown, dismissed or put "
        'off; in pushlab/push-v0 (pushlab/Remote-v0: game="push") notifications do',
    )
    return world


# ---------------------------------------------------------------- rules


class ShowAll(Deterministic):
    """Shows whatever arrives as it arrives, which is what phones do."""

    name = "show all"
    answer = SHOW

    def begin(self, env, seed):
        arrivals_of(env)

    def act(self, observation, info, explore=True):
        return self.answer if info["action_mask"][self.answer] else STAND_BY


class DismissAll(ShowAll):
    """Keeps everything from the user."""

    name = "dismiss all"
    answer = DISMISS


class DoNotDisturb(Deterministic):
    """What phones offer: in quiet hours, and while the ringer is silent, all is put off; afterwards all of it is shown.

    Attributes:
        quiet: First and last hour of the quiet time, which may pass midnight.
    """

    name = "do not disturb"
    quiet = (0, 7)

    def begin(self, env, seed):
        world = arrivals_of(env)
        names = world.observation_names
        self._hour = names.index("hour")
        self._ringer = None
        if "ringerMode" in names:
            self._ringer = names.index("ringerMode")
            self._modes = world.schema.context["ringerMode"].words

    def _is_quiet(self, observation):
        """Return whether nothing should be shown now."""
        start, stop = self.quiet
        hours = (observation[self._hour] - start) % 24
        if hours < (stop - start) % 24:
            return True
        if self._ringer is None:
            return False
        return self._modes[observation[self._ringer]] == "silent"

    def act(self, observation, info, explore=True):
        mask = info["action_mask"]
        if mask[SHOW]:
            return CACHE if self._is_quiet(observation) else SHOW
        return CHECK if mask[CHECK] and not self._is_quiet(observation) else STAND_BY


# ---------------------------------------------------------------- learners


@dataclass(slots=True)
class Waiting:
    """A waiting notification: its codes, its description when it was last put off, and the cost of waiting since."""

    codes: np.ndarray
    described: Any
    cost: float


class NotificationLearner(Agent):
    """The common part of the learners: Q-learning in which every notification is an episode of its own.

    In each context a notification has three values: shown now, dismissed now, put off. The first two are learned from
    its outcome. The third is the value of the best of the three at the next moment, less the cost of waiting until
    then; it is learned at every moment from all that wait. The cache is checked when something in it is believed to
    be better done than put off.

    Each notification has a number in the episode (`info["hand"]`), and `info["fates"]` says how each stands, so an
    answer goes to the one decision that it belongs to. The cost of not looking at the cache (`idle`) belongs to none
    alone and is shared by those that wait.

    A subclass describes a notification in a context, and stores the values of descriptions.

    Attributes:
        epsilon: Share of decisions drawn at random at first.
        settle: Episodes over which it falls to a tenth.
        episodes: Number of episodes learned from.
    """

    epsilon = 0.2
    settle = 200.0
    saved = {"episodes": int}

    def __init__(self):
        self.episodes = 0

    def begin(self, env, seed):
        world = arrivals_of(env)
        half = world.schema.notification
        names = world.observation_names
        self._schema = world.schema
        self._hour = names.index("hour")
        at = names.index(f"hand.{half.components[0]}")
        self._hand = slice(at, at + len(half.components))
        self._waits = world.fates.index("waiting")
        self._open_ended = world.fates.index("unseen")
        self._worths = world.worths.tolist()
        self._rng = own_chance(seed)
        # By number: (description, action) of decisions without an answer yet, and what waits.
        self._decided = {}
        self._cache = {}
        # The last one taken out of the cache at this moment, and the one that has just arrived.
        self._taken = NOBODY
        self._fresh = NOBODY
        # Observation, info and action of a step that wasn't followed yet.
        self._last = None

    def describe(self, codes, observation):
        """Return the description of a notification (its codes) in the context of an observation."""
        raise NotImplementedError(f"{type(self).__name__} has no method describe")

    def values_of(self, described):
        """Return the values of show, dismiss and cache."""
        raise NotImplementedError(f"{type(self).__name__} has no method values_of")

    def move(self, described, action, target):
        """Move the value of an action towards a target."""
        raise NotImplementedError(f"{type(self).__name__} has no method move")

    def act(self, observation, info, explore=True):
        if self._last is not None:  # without `learn`, the cache still has to be known
            self._follow(*self._last, observation, info)
        action = self._choose(observation, info["action_mask"], explore)
        self._last = observation, info, action
        return action

    def _choose(self, observation, mask, explore):
        epsilon = 0.0
        is_random = False
        if explore:
            left = 1 - self.episodes / self.settle
            epsilon = self.epsilon * max(0.1, left)
            is_random = self._rng.random() < epsilon
        best = STAND_BY
        if mask[SHOW]:
            codes = observation[self._hand]
            values = self.values_of(self.describe(codes, observation))
            best = max((DISMISS, SHOW, CACHE), key=values.__getitem__)
            choice = (SHOW, DISMISS, CACHE)
        elif mask[CHECK]:
            choice = (CHECK, STAND_BY)
            if any(self._is_due(number, observation) for number in self._cache):
                best = CHECK
        else:
            choice = (STAND_BY,)
        action = best
        if is_random:
            action = choice[self._rng.integers(len(choice))]
        self.propensity = epsilon / len(choice)
        if action == best:
            self.propensity += 1 - epsilon
        return action

    def _is_due(self, number, observation):
        if number <= self._taken or number == self._fresh:
            return False
        codes = self._cache[number].codes
        values = self.values_of(self.describe(codes, observation))
        return max(values[SHOW], values[DISMISS]) > values[CACHE]

    def learn(self, transition):
        observation, info, action, _, after, next_info, over, _ = transition
        self._last = None
        step = observation, info, int(action), after, next_info
        self._follow(*step, over, learning=True)
        self.episodes += over

    def _follow(
        self,
        observation,
        info,
        action,
        after,
        next_info,
        over=False,
        learning=False,
    ):
        """Record what one step did, and learn from it if `learning`."""
        held = info["hand"]
        if held != NOBODY and next_info["hand"] != held:
            codes = observation[self._hand].copy()
            described = self.describe(codes, observation)
            if action == SHOW or action == DISMISS:
                self._decided[held] = described, action
            else:  # put off, or forbidden so often that it was
                cost = gained(info, next_info, "endless")
                self._cache[held] = Waiting(codes, described, cost)
        elif action == CHECK and info["action_mask"][CHECK]:
            self._taken = next_info["hand"]
            self._cache.pop(self._taken)
        if over or next_info["time"] > info["time"]:
            self._settle(info, next_info, after, learning)

    def _settle(self, info, next_info, after, learning):
        """Record after some time what was answered or has expired, and the value of what still waits."""
        self._taken = NOBODY
        self._fresh = next_info["hand"]
        fates = next_info["fates"].tolist()
        cost = gained(info, next_info, "wait", "idle")
        cost /= max(len(self._cache), 1)
        for number in list(self._decided):
            if fates[number] > self._open_ended:
                described, action = self._decided.pop(number)
                if learning:
                    self.move(described, action, self._worths[fates[number]])
        for number, one in list(self._cache.items()):
            is_expired = fates[number] != self._waits
            if is_expired:
                del self._cache[number]
            if not learning:
                continue
            if is_expired:
                following = self._worths[fates[number]]
            else:
                described = self.describe(one.codes, after)
                following = max(self.values_of(described))
            self.move(one.described, CACHE, one.cost + cost + following)
            if not is_expired:
                one.described = described
                one.cost = 0.0


def gained(info, later, *parts):
    """Return the sum of these parts of the reward between one info and a later one."""
    return sum(later[f"parts.{part}"] - info[f"parts.{part}"] for part in parts)


class QTable(NotificationLearner):
    """Q-learning on a table of readable situations: the notification's first feature, the app, and the time of day.

    A situation's first visits count most: the step size of the n-th is 1 / n, but at least `rate`.

    Attributes:
        situations: {"app\\ttime": [values, visits]} with three of each, for show, dismiss and cache.

    Source:
        Watkins (1989), Learning from delayed rewards, PhD thesis, Cambridge.
    """

    name = "Q-learning"
    rate = 0.01
    saved = {"situations": dict, "episodes": int}

    def __init__(self):
        super().__init__()
        self.situations = {}

    def begin(self, env, seed):
        super().begin(env, seed)
        notification = self._schema.notification
        self._words = notification[notification.names[0]].words
        numbers = [slot_number(60 * hour) for hour in range(24)]
        self._slots = [SLOTS[number] for number in numbers]

    def describe(self, codes, observation):
        word = self._words[codes[0]]
        slot = self._slots[observation[self._hour]]
        return f"{word}\t{slot}"

    def values_of(self, described):
        return self.situations.get(described, UNSEEN)[0]

    def move(self, described, action, target):
        new = [0.0, 0.0, 0.0], [0, 0, 0]
        values, visits = self.situations.setdefault(described, new)
        visits[action] += 1
        rate = max(self.rate, 1 / visits[action])
        values[action] += rate * (target - values[action])

    def table(self) -> pd.DataFrame:
        """Return one row per situation: its visits, the value of each action that was tried, and the best of them."""
        import pandas as pd

        rows = []
        for situation, (values, visits) in sorted(self.situations.items()):
            hand, _, time = situation.rpartition("\t")
            row = {
                "hand": hand,
                "time": time,
                "visits": sum(visits),
            }
            tried = [action for action in range(3) if visits[action]]
            for action in range(3):
                row[ACTIONS[action]] = values[action] if visits[action] else np.nan
            row["best"] = ACTIONS[max(tried, key=values.__getitem__)]
            rows.append(row)
        return pd.DataFrame(rows)


@compiled
def add_up(weights, blocks, active):
    """Return sums of the active weights (k,) of some blocks (b,) for show, dismiss and cache."""
    show = dismiss = cache = 0.0
    for block in blocks:
        for at in active:
            show += weights[0, block, at]
            dismiss += weights[1, block, at]
            cache += weights[2, block, at]
    return show, dismiss, cache


@compiled
def nudge(weights, blocks, active, step):
    """Add a step to the active weights of some blocks; weights (blocks, size)."""
    for block in blocks:
        for at in active:
            weights[block, at] += step


class LinearArrivalQ(NotificationLearner):
    """Q-learning in which a value is a sum of weights, so that what is learned of one notification serves similar ones.

    Each action has weights for every value of a notification (the app, its subject, its priority) in every context
    (always, evening, at the bar, ringer silent), and a row shared by all notifications; a value is the sum of those
    that apply, as in the bandits (`pushlab.agents.bandits`). Showing and dismissing are estimated by Bayesian linear
    regression on outcomes, putting off by small steps, since its targets move while the others are learned.

    Attributes:
        prior: Variance of the weights at first (a shared weight ten times that).
        noise: Variance of a notification's outcome about its expected value.
        rate: Step size of putting off, divided by the number of weights that apply.
        weights: (3, blocks, size) of show, dismiss and cache.
        covariances: (2, blocks, size, size) of the first two.
    """

    name = "linear Q"
    prior = 0.002
    noise = 0.7
    rate = 0.1
    saved = {
        "weights": FLOATS,
        "covariances": FLOATS,
        "episodes": int,
    }

    def __init__(self):
        super().__init__()
        self.weights = None
        self.covariances = None

    def begin(self, env, seed):
        super().begin(env, seed)
        half = self._schema.notification
        self._features = ContextFeatures(self._schema.context)
        self._starts = 1 + half.starts
        count = int(half.sizes.sum())
        shape = (1 + count, self._features.size)
        if self.weights is None:
            self.weights = np.zeros((3, *shape))
            self.covariances = self._prior_covariances(shape)
        if self.weights.shape[1:] != shape:
            raise ValueError(
                f"what was learned are {self.weights.shape[1:]} weights, and this environment's schema "
                f"needs {shape}; load users with one shared schema"
            )
        self._seen = None, None  # an observation and its active features

    def _prior_covariances(self, shape):
        variances = np.full(shape, self.prior)
        variances[0] *= 10
        return np.stack([prior_covariance(variances)] * 2)

    def describe(self, codes, observation):
        if self._seen[0] is not observation:
            self._seen = observation, self._features.active(observation)
        blocks = np.append(0, codes + self._starts)
        return blocks, self._seen[1]

    def values_of(self, described):
        return add_up(self.weights, *described)

    def move(self, described, action, target):
        if action == CACHE:
            self._step_towards(described, action, target)
            return
        belief = self.weights[action], self.covariances[action]
        observe(*belief, *described, target, noise=self.noise)

    def _step_towards(self, described, action, target):
        """Move the weights that apply by a step of stochastic gradient descent."""
        blocks, active = described
        error = target - self.values_of(described)[action]
        count = len(blocks) * len(active)
        step = self.rate * error / count
        nudge(self.weights[action], blocks, active, step)
