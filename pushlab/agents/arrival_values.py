"""The two learners of arrivals: values of readable situations in a table, and values that are sums of weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.agents.arrivals import ACTIONS, CACHE, DISMISS, SHOW, NotificationLearner
from pushlab.agents.features import ContextFeatures, demand_features
from pushlab.agents.weights import WeightBlocks
from pushlab.ground.arguments import demand, in_short, number, one_of
from pushlab.ground.compiled import compiled
from pushlab.users.days import SLOTS, slot_number

if TYPE_CHECKING:
    import pandas as pd


class QTable(NotificationLearner):
    """Q-learning on a table of few, readable situations.

    A situation is a tuple of words: the notification's value of the feature `notice`, the time of day, and the values
    of the context features `by`. A situation's first visits count most: the step size of the n-th is 1 / n, but no less
    than `rate`.

    notice   the notification's feature that is looked at; by default the first, the app
    by       names of context features that are looked at besides the time of day

    `table()` shows what it has learned.
    Source   Watkins (1989), Learning from delayed rewards, PhD thesis, Cambridge.
    """

    name = "Q-learning"

    def __init__(
        self,
        notice: str | None = None,
        by: Sequence[str] = (),
        epsilon: float = 0.2,
        settle: int = 200,
        rate: float = 0.01,
    ) -> None:
        super().__init__(epsilon, settle)
        demand(
            isinstance(by, (list, tuple)),
            f"by is a list of features of the context; got {in_short(by)}",
        )
        self.notice, self.by, self.rate = notice, tuple(by), number("rate", rate, 0, 1)
        self.values, self.visits = {}, {}

    def begin(self, env, seed):
        super().begin(env, seed)
        notification, context = self._schema.notification, self._schema.context
        demand_features(context, self.by, "by")
        notice = one_of(
            "notice",
            notification.names[0] if self.notice is None else self.notice,
            notification.names,
        )
        self._notice, self._words = (
            notification.components.index(notice),
            notification[notice].words,
        )
        self._hour, self._slots = (
            self._names.index("hour"),
            [SLOTS[slot_number(60 * hour)] for hour in range(24)],
        )
        self._by = [
            (
                [
                    at
                    for at, component in enumerate(context.components)
                    if component.partition(".")[0] == name
                ],
                context[name],
            )
            for name in self.by
        ]

    def describe(self, codes: np.ndarray, observation: np.ndarray) -> tuple:
        more = [
            feature.word(tuple(observation[places])) for places, feature in self._by
        ]
        return (
            self._words[codes[self._notice]],
            self._slots[observation[self._hour]],
            *more,
        )

    def values_of(self, described: Any) -> Sequence[float]:
        return self.values.get(described, (0.0, 0.0, 0.0))

    def move(self, described: Any, action: int, target: float) -> None:
        values = self.values.setdefault(described, [0.0, 0.0, 0.0])
        visits = self.visits.setdefault(described, [0, 0, 0])
        visits[action] += 1
        values[action] += max(self.rate, 1 / visits[action]) * (target - values[action])

    def table(self) -> pd.DataFrame:
        """What was learned, a DataFrame: a row a situation, how often it was met, each action's value, the best."""
        import pandas as pd

        rows = []
        for situation, values in sorted(self.values.items()):
            visits = self.visits[situation]
            row = dict(zip(("hand", "time", *self.by), situation)) | {
                "visits": sum(visits)
            }
            row |= {
                name: value if count else np.nan
                for name, value, count in zip(ACTIONS, values, visits)
            }
            tried = [action for action in range(3) if visits[action]]
            rows.append(row | {"best": ACTIONS[max(tried, key=values.__getitem__)]})
        return pd.DataFrame(rows)

    def state(self):
        """`situations`: a list of [words, values, visits]; and `episodes` learned from."""
        return {
            "situations": [
                [list(one), list(values), list(self.visits[one])]
                for one, values in self.values.items()
            ],
            "episodes": self.episodes,
        }

    def load(self, state):
        self.values = {
            tuple(one): list(values) for one, values, _ in state.get("situations", [])
        }
        self.visits = {
            tuple(one): list(visits) for one, _, visits in state.get("situations", [])
        }
        self.episodes = state.get("episodes", 0)


@compiled
def add_up(weights, blocks, active):
    """Sums of the active weights (k,) of some blocks (b,) for show, dismiss, cache; weights (3, blocks, size)."""
    show = dismiss = cache = 0.0
    for block in blocks:
        for at in active:
            show += weights[0, block, at]
            dismiss += weights[1, block, at]
            cache += weights[2, block, at]
    return show, dismiss, cache


@compiled
def nudge(weights, blocks, active, step):
    """Adds a step to the active weights of some blocks; weights (blocks, size)."""
    for block in blocks:
        for at in active:
            weights[block, at] += step


class LinearArrivalQ(NotificationLearner):
    """Q-learning in which a value is a sum of weights, so that what is learned of one notification serves its likes.

    Each action has weights for every value of a notification (the app, its subject, its priority) in every context
    (always, evening, at the bar, ringer silent), and a row shared by all notifications; a value is the sum of those
    that apply, as in the bandits (`pushlab.agents.bandits`). Showing and dismissing are estimated by Bayesian linear
    regression on what came of it, putting off by small steps, since its targets move while the others are learned.

    prior    variance of the weights before anything was seen (a shared weight ten times that)
    noise    variance of what comes of a notification about its expected value
    rate     step size of putting off, divided by the number of weights that apply
    """

    name = "linear Q"

    def __init__(
        self,
        epsilon: float = 0.2,
        settle: int = 200,
        prior: float = 0.002,
        noise: float = 0.7,
        rate: float = 0.1,
    ) -> None:
        super().__init__(epsilon, settle)
        self.prior, self.noise = (
            number("prior", prior, above=0),
            number("noise", noise, above=0),
        )
        self.rate = number("rate", rate, 0)
        self.weights: Any = None  # (3, blocks, size): show, dismiss, cache

    def begin(self, env, seed):
        super().begin(env, seed)
        half = self._schema.notification
        self._features, self._starts = (
            ContextFeatures(self._schema.context),
            1 + half.starts,
        )
        shape = 1 + int(half.sizes.sum()), self._features.size
        if self.weights is None:
            self._believe(np.zeros((3, *shape)))
        if self.weights.shape[1:] != shape:
            raise ValueError(
                f"what was learned are {self.weights.shape[1:]} weights, and this environment's schema "
                f"needs {shape}; load users with one shared schema"
            )
        self._seen = None, None  # an observation and its active features

    def _believe(self, weights):
        """Takes these weights for what is believed, with the uncertainty of the beginning."""
        variances = np.full(weights.shape[1:], float(self.prior))
        variances[0] *= 10
        self.weights = weights
        self.beliefs = [
            WeightBlocks(*variances.shape, variances, noise=self.noise)
            for _ in (SHOW, DISMISS)
        ]
        for belief, mean in zip(self.beliefs, weights):
            belief.mean = mean  # the same memory

    def describe(
        self, codes: np.ndarray, observation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if self._seen[0] is not observation:
            self._seen = observation, self._features.active(observation)
        return np.append(0, codes + self._starts), self._seen[1]

    def values_of(self, described: Any) -> Sequence[float]:
        return add_up(self.weights, *described)

    def move(self, described: Any, action: int, target: float) -> None:
        blocks, active = described
        if action == CACHE:
            step = (
                self.rate
                * (target - self.values_of(described)[CACHE])
                / (len(blocks) * len(active))
            )
            nudge(self.weights[CACHE], blocks, active, step)
        else:
            self.beliefs[action].observe(blocks, active, np.ones(len(active)), target)

    def state(self):
        """`weights` (3, blocks, size), `covariances` (2, blocks, size, size) of the first two, and `episodes`."""
        if self.weights is None:
            return {}
        return {
            "weights": self.weights.copy(),
            "covariances": np.stack([one.covariance for one in self.beliefs]),
            "episodes": self.episodes,
        }

    def load(self, state):
        self.weights, self.episodes = None, int(state.get("episodes", 0))
        if "weights" in state:
            self._believe(np.array(state["weights"], float))
            for belief, covariance in zip(self.beliefs, state["covariances"]):
                belief.covariance = np.array(covariance, float)
