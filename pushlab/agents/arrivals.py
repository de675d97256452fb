"""Agents that manage arriving notifications (pushlab/push-v0): three fixed rules and two learners.

The reward for showing a notification comes steps later, among the rewards of other notifications. This makes the world
hard to learn. Both learners treat each notification as a short episode: it starts with the arrival, continues while the
notification is cached, and ends with its outcome. To credit rewards to notifications, they remember their decisions
and read each notification's status from info.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.agents.protocol import FLOATS, Agent, Deterministic, agent_rng
from pushlab.agents.push import ContextFeatures
from pushlab.agents.weight_posterior import update_weights
from pushlab.users.days import SLOTS, slot_number
from pushlab.utils.arguments import require
from pushlab.utils.compiled import compiled

if TYPE_CHECKING:
    import pandas as pd

SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)
ACTIONS = ("show", "dismiss", "cache", "check-cache", "stand-by")
NO_NOTIFICATION = -1  # in place of a notification's number
INITIAL_VALUES = ((0.0, 0.0, 0.0),)  # of an unvisited situation


def push_world(env):
    """Return the world of an environment in which notifications arrive; raise ValueError for any other."""
    world = getattr(env.unwrapped, "world", None)
    require(
        getattr(world, "status_names", None),
        "no notifications arrive in this environment; use pushlab/push-v0, or "
        'pushlab/Remote-v0 with game="push"',
    )
    return world


# ---------------------------------------------------------------- rules


class ShowAll(Deterministic):
    """Shows every notification on arrival, as phones do by default."""

    name = "show all"
    action = SHOW

    def begin(self, env, seed):
        push_world(env)

    def act(self, observation, info, explore=True):
        return self.action if info["action_mask"][self.action] else STAND_BY


class DismissAll(ShowAll):
    """Dismisses every notification on arrival."""

    name = "dismiss all"
    action = DISMISS


class DoNotDisturb(Deterministic):
    """Caches all notifications in quiet hours or while the ringer is silent, and shows them afterwards.

    Attributes:
        quiet: Hours at which the quiet time starts and ends. It can pass midnight.
    """

    name = "do not disturb"
    quiet = (0, 7)

    def begin(self, env, seed):
        world = push_world(env)
        names = world.observation_names
        self._hour_column = names.index("hour")
        self._ringer_column = None
        if "ringerMode" in names:
            self._ringer_column = names.index("ringerMode")
            self._ringer_modes = world.schema.context["ringerMode"].words

    def _is_quiet(self, observation):
        start, stop = self.quiet
        elapsed_hours = (observation[self._hour_column] - start) % 24
        if elapsed_hours < (stop - start) % 24:
            return True
        if self._ringer_column is None:
            return False
        return self._ringer_modes[observation[self._ringer_column]] == "silent"

    def act(self, observation, info, explore=True):
        mask = info["action_mask"]
        if mask[SHOW]:
            return CACHE if self._is_quiet(observation) else SHOW
        return CHECK if mask[CHECK] and not self._is_quiet(observation) else STAND_BY


# ---------------------------------------------------------------- learners


@dataclass(slots=True)
class CachedNotification:
    """A cached notification: its codes, its description at the last update, and the cost of waiting since then."""

    codes: np.ndarray
    description: Any
    cost: float


class NotificationLearner(Agent):
    """Base class of the learners: Q-learning in which every notification is an episode of its own.

    In each context a notification has three action values: show, dismiss and cache. The first two are learned from its
    outcome. The value of caching is the best of the three values at the next moment, less the cost of waiting until
    then. It is learned at every moment from all cached notifications. The cache is checked if showing or dismissing one
    of its notifications has a higher value than caching it.

    Each notification has a number in the episode (`info["hand"]`), and `info["statuses"]` has the status of each, so an
    answer is credited to the decision that caused it. The cost of not looking at the cache (`idle`) is divided evenly
    among the cached notifications.

    With observed feedback (see `pushlab.envs.push.world.Push`) a notification that was never shown has no answer. The
    value V of showing gives the probability of an open, p = (V - refused) / (opened - refused), in the situation of the
    arrival. With `imputes_missed` the reward of never showing is p * missed + (1 - p) * spared, from the weights that
    the environment's designer chose. Only exploration shows enough notifications to estimate p.

    A subclass describes a notification in a context, and stores the values of descriptions.

    Attributes:
        epsilon: Initial fraction of random decisions.
        decay_episodes: Number of episodes in which epsilon decreases linearly towards 0. It stops at a tenth.
        imputes_missed: Whether to estimate the reward of notifications that were never shown, if the environment has
            observed feedback; otherwise the reward is 0. The estimate needs different rewards for opened and dismissed.
        episodes: Number of episodes learned from.
    """

    epsilon = 0.2
    decay_episodes = 200.0
    imputes_missed = False
    state_attributes = {"episodes": int}

    def __init__(self):
        self.episodes = 0

    def begin(self, env, seed):
        world = push_world(env)
        half = world.schema.notification
        names = world.observation_names
        self._schema = world.schema
        self._hour_column = names.index("hour")
        start = names.index(f"hand.{half.components[0]}")
        self._hand_columns = slice(start, start + len(half.components))
        self._waiting_code = world.status_names.index("waiting")
        self._unseen_code = world.status_names.index("unseen")
        self._status_rewards = world.status_rewards.tolist()
        # Of opened, refused, missed and spared notifications.
        self._answer_rewards = self._status_rewards[self._unseen_code + 1 :][:4]
        # With observed feedback, unseen is the final status of notifications that were never shown.
        is_observed = getattr(world, "feedback", "full") == "observed"
        self._first_final = self._unseen_code + (not is_observed)
        if is_observed and self.imputes_missed:
            opened, refused, *_ = self._answer_rewards
            require(
                opened != refused,
                "imputes_missed needs different rewards for opened and dismissed",
            )
        self._rng = agent_rng(seed)
        # By number: descriptions on arrival, (description, action) of decisions without an answer yet, and the cached
        # notifications.
        self._arrival_descriptions = {}
        self._pending = {}
        self._cache = {}
        # The last number taken from the cache at this moment, and the number that has just arrived.
        self._last_checked = NO_NOTIFICATION
        self._arrived = NO_NOTIFICATION
        # The observation, info and action of a step that isn't recorded yet.
        self._last_step = None

    def describe(self, codes, observation):
        """Return the description of a notification (its codes) in the context of an observation."""
        raise NotImplementedError

    def action_values(self, description):
        """Return the values of show, dismiss and cache."""
        raise NotImplementedError

    def update_value(self, description, action, target):
        """Move the value of an action towards a target."""
        raise NotImplementedError

    def act(self, observation, info, explore=True):
        if self._last_step is not None:  # `learn` wasn't called
            self._record_step(*self._last_step, observation, info)
        action = self._choose(observation, info["action_mask"], explore)
        self._last_step = observation, info, action
        return action

    def _choose(self, observation, mask, explore):
        epsilon = 0.0
        is_random = False
        if explore:
            remaining = 1 - self.episodes / self.decay_episodes
            epsilon = self.epsilon * max(0.1, remaining)
            is_random = self._rng.random() < epsilon
        best = STAND_BY
        if mask[SHOW]:
            codes = observation[self._hand_columns]
            values = self.action_values(self.describe(codes, observation))
            best = max((DISMISS, SHOW, CACHE), key=values.__getitem__)
            choices = (SHOW, DISMISS, CACHE)
        elif mask[CHECK]:
            choices = (CHECK, STAND_BY)
            if any(self._is_due(number, observation) for number in self._cache):
                best = CHECK
        else:
            choices = (STAND_BY,)
        action = best
        if is_random:
            action = choices[self._rng.integers(len(choices))]
        self.propensity = epsilon / len(choices)
        if action == best:
            self.propensity += 1 - epsilon
        return action

    def _is_due(self, number, observation):
        if number <= self._last_checked or number == self._arrived:
            return False
        codes = self._cache[number].codes
        values = self.action_values(self.describe(codes, observation))
        return max(values[SHOW], values[DISMISS]) > values[CACHE]

    def learn(self, transition):
        observation, info, action, _, next_observation, next_info, is_over, _ = (
            transition
        )
        self._last_step = None
        step = observation, info, int(action), next_observation, next_info
        self._record_step(*step, is_over, learning=True)
        self.episodes += is_over

    def _record_step(
        self,
        observation,
        info,
        action,
        next_observation,
        next_info,
        is_over=False,
        learning=False,
    ):
        """Record the effects of one step, and learn from it if `learning`."""
        number = info["hand"]
        if number != NO_NOTIFICATION and next_info["hand"] != number:
            codes = observation[self._hand_columns].copy()
            description = self.describe(codes, observation)
            self._arrival_descriptions.setdefault(number, description)
            if next_info["statuses"][number] != self._waiting_code:
                self._pending[number] = description, action
            else:  # cached by the agent or a wrapper, or after forbidden actions
                cost = reward_change(info, next_info, "endless")
                self._cache[number] = CachedNotification(codes, description, cost)
        elif action == CHECK and info["action_mask"][CHECK]:
            self._last_checked = next_info["hand"]
            self._cache.pop(self._last_checked)
        if is_over or next_info["time"] > info["time"]:
            self._record_outcomes(info, next_info, next_observation, learning)

    def _record_outcomes(self, info, next_info, next_observation, learning):
        """Record answered and expired notifications after time has passed, and update the value of caching."""
        self._last_checked = NO_NOTIFICATION
        self._arrived = next_info["hand"]
        statuses = next_info["statuses"].tolist()
        cost = reward_change(info, next_info, "wait", "idle")
        cost /= max(len(self._cache), 1)
        for number in list(self._pending):
            if statuses[number] >= self._first_final:
                description, action = self._pending.pop(number)
                if learning:
                    reward = self._final_reward(number, statuses[number])
                    self.update_value(description, action, reward)
        for number, cached in list(self._cache.items()):
            is_expired = statuses[number] != self._waiting_code
            if is_expired:
                del self._cache[number]
            if not learning:
                continue
            if is_expired:
                following = self._final_reward(number, statuses[number])
            else:
                description = self.describe(cached.codes, next_observation)
                following = max(self.action_values(description))
            target = cached.cost + cost + following
            self.update_value(cached.description, CACHE, target)
            if not is_expired:
                cached.description = description
                cached.cost = 0.0

    def _final_reward(self, number, status):
        """Return the reward of a final status. With `imputes_missed` that of unseen is its expected value."""
        if status != self._unseen_code or not self.imputes_missed:
            return self._status_rewards[status]
        opened, refused, missed, spared = self._answer_rewards
        value = self.action_values(self._arrival_descriptions[number])[SHOW]
        probability = min(max((value - refused) / (opened - refused), 0.0), 1.0)
        return probability * missed + (1 - probability) * spared


def reward_change(info, next_info, *parts):
    """Return the change of these parts of the reward, summed, between two infos."""
    return sum(next_info[f"parts.{part}"] - info[f"parts.{part}"] for part in parts)


class QTable(NotificationLearner):
    r"""Q-learning with a table of readable situations: the notification's first feature (the app) and the time of day.

    The step size of a situation's n-th visit is 1 / n, but at least `rate`.

    Attributes:
        rate: Smallest step size.
        situations: {"app\ttime": [values, visits]}. Both have three numbers, for show, dismiss and cache.

    Source:
        Watkins (1989), Learning from delayed rewards, PhD thesis, Cambridge.
    """

    name = "Q-learning"
    rate = 0.01
    state_attributes = {"situations": dict, "episodes": int}

    def __init__(self):
        super().__init__()
        self.situations = {}

    def begin(self, env, seed):
        super().begin(env, seed)
        notification = self._schema.notification
        self._words = notification[notification.names[0]].words
        numbers = [slot_number(60 * hour) for hour in range(24)]
        self._hour_slots = [SLOTS[number] for number in numbers]

    def describe(self, codes, observation):
        word = self._words[codes[0]]
        slot = self._hour_slots[observation[self._hour_column]]
        return f"{word}\t{slot}"

    def action_values(self, description):
        return self.situations.get(description, INITIAL_VALUES)[0]

    def update_value(self, description, action, target):
        initial = [0.0, 0.0, 0.0], [0, 0, 0]
        values, visits = self.situations.setdefault(description, initial)
        visits[action] += 1
        rate = max(self.rate, 1 / visits[action])
        values[action] += rate * (target - values[action])

    def table(self) -> pd.DataFrame:
        """Return one row per situation: its visits, the values of the actions tried, and the best of these actions."""
        import pandas as pd

        rows = []
        for situation, (values, visits) in sorted(self.situations.items()):
            hand, _, time = situation.rpartition("\t")
            tried = np.where(visits, values, np.nan)
            best = ACTIONS[np.nanargmax(tried)]
            rows.append((hand, time, sum(visits), *tried, best))
        columns = ["hand", "time", "visits", *ACTIONS[:3], "best"]
        return pd.DataFrame(rows, columns=columns)


@compiled
def sum_weights(weights, active):
    """Return the sums of the active weights for show, dismiss and cache."""
    show = dismiss = cache = 0.0
    for index in active:
        show += weights[0, index]
        dismiss += weights[1, index]
        cache += weights[2, index]
    return show, dismiss, cache


class LinearArrivalQ(NotificationLearner):
    """Q-learning with values that are sums of weights, so that similar notifications share their experience.

    Each action has weights for every subject of a notification in every context (always, evening, headphones in), and a
    row of weights shared by all notifications. A value is the sum of the active weights, as in the bandits
    (`pushlab.agents.bandits`). The values of show and dismiss are estimated by Bayesian linear regression on
    outcomes. The value of cache is learned by gradient steps, since its targets move while the other two are
    learned.

    Attributes:
        notification_feature: Name of the notification's feature to use.
        context_features: Names of the context's features to use; None uses those of
            `pushlab.agents.push.CONTEXT_FEATURES`.
        prior: Prior variance of the weights (ten times as large for shared weights).
        noise: Variance of a notification's outcome about its expected value.
        rate: Step size for the value of cache, divided by the number of active weights.
        weights: Weights of show, dismiss and cache, (3, d).
        covariances: Covariances of the weights of show and dismiss, (2, d, d).
    """

    name = "linear Q"
    notification_feature = "subject"
    context_features: Sequence[str] | None = None
    prior = 0.005
    noise = 0.4
    rate = 0.1
    state_attributes = {
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
        self._features = ContextFeatures(self._schema.context, self.context_features)
        self._column = half.components.index(self.notification_feature)
        # A row of weights for each value of the feature, after row 0, which is shared.
        count = (1 + int(half.sizes[self._column])) * self._features.size
        if self.weights is None:
            self.weights = np.zeros((3, count))
            self.covariances = self._prior_covariances(count)
        if self.weights.shape[1] != count:
            raise ValueError(
                f"{self.name} has learned {self.weights.shape[1]} weights per action, but this environment's schema "
                f"needs {count}; load users with one shared schema"
            )
        # The last described observation and its active features.
        self._last_observation = None
        self._active = None

    def _prior_covariances(self, count):
        variances = np.full(count, self.prior)
        variances[: self._features.size] *= 10
        return np.stack([np.diag(variances)] * 2)

    def describe(self, codes, observation):
        if self._last_observation is not observation:
            self._last_observation = observation
            self._active = self._features.active(observation)
        row = 1 + codes[self._column]
        return np.concatenate([self._active, row * self._features.size + self._active])

    def action_values(self, description):
        return sum_weights(self.weights, description)

    def update_value(self, description, action, target):
        if action == CACHE:
            self._gradient_step(description, action, target)
            return
        distribution = self.weights[action], self.covariances[action]
        update_weights(*distribution, description, target, noise=self.noise)

    def _gradient_step(self, description, action, target):
        """Move the active weights by a step of stochastic gradient descent."""
        error = target - self.action_values(description)[action]
        step = self.rate * error / len(description)
        self.weights[action][description] += step
