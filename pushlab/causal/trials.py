"""Micro-randomised trials of pushes: run one on push-v0, replay its decisions, and estimate causal excursion effects.

Sources:
    Klasnja et al. (2015), Health Psychology 34(S), 1220-1228 (the design); Boruvka, Almirall, Witkiewitz & Murphy
    (2018), JASA 113, 1112-1121 (the effect and its estimator); Liao, Klasnja, Tewari & Murphy (2016), Statistics in
    Medicine 35, 1944-1971 (small samples, and the degrees of freedom); Mancl & DeRouen (2001), Biometrics 57, 126-134
    (the covariance).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pushlab.envs.env import index_nested
from pushlab.envs.push import rules
from pushlab.users.days import MINUTES_PER_DAY
from pushlab.utils.arguments import (
    require,
    require_columns,
    validate_integer,
    validate_number,
)

COIN = ("person", "available", "probability", "action")  # columns of every log


@dataclass(frozen=True)
class Protocol:
    """Rules of a trial in which a coin decides at each arriving notification whether to push it.

    Args:
        budget: Pushes a day.
        start, stop: Minutes after midnight between which people are available. They aren't available in a vehicle or
            after the day's budget.
        per_hour: Expected number of arrivals in an hour of this time.
        lowest, highest: Limits of the probability of a push, above 0 and below 1.
        window: Minutes after a decision in which answers count in the proximal outcome.
    """

    budget: int = 6
    start: float = 480.0
    stop: float = 1320.0
    per_hour: float = 1.4
    lowest: float = 0.2
    highest: float = 0.8
    window: float = 60.0

    def probability(self, rows: Any) -> np.ndarray:
        """Return the probability of a push: the rest of the budget over the arrivals expected until `stop`, clipped.

        Args:
            rows: `time` and `shown` of decisions, a dict of arrays (n,) or a DataFrame.

        >>> Protocol().probability({"time": np.array([480, 480, 1300]), "shown": np.array([0, 3, 5])}).round(2)
        array([0.31, 0.2 , 0.8 ])
        """
        expected = self.per_hour * (self.stop - rows["time"]) / 60
        share = (self.budget - rows["shown"]) / np.maximum(expected, 1e-9)
        return np.clip(share, self.lowest, self.highest)


class PushTrial:
    """A micro-randomised trial of pushes on push-v0, days side by side; each decision can be replayed.

    A decision point is an arrival. The push is shown (action 1) with a known probability, otherwise the notification is
    dropped unseen. Each day is an episode of its own, so the dose begins at 0 each morning. The chances of a day, in
    which the user's answers and the coins are fixed, depend on the seed, the person's number and the day only. So two
    policies, or two runs that differ in one decision, can be compared in pairs.

    Args:
        world: The world of push-v0, with horizon 1: `gym.make("pushlab/push-v0", user=[...], habituation=0.3)
            .unwrapped.world`.
        people: Index in `world.users` of each person, (people,). A user can be drawn more than once and is then as many
            persons. None takes each user once.
        first_day: Number of the first day, for all or for each person.
        days: Days of each person.
        protocol: The Protocol.
        seed: Seed of the answers and the coins.

    >>> import gymnasium as gym, pushlab
    >>> world = gym.make("pushlab/push-v0", user=["mira", "noor"], habituation=0.3).unwrapped.world
    >>> log = PushTrial(world, days=2, seed=7).run()
    >>> log[["person", "day", "number", "available", "probability", "action", "dose", "outcome"]].shape[1]
    8
    """

    def __init__(
        self,
        world: Any,
        people: Any = None,
        first_day: Any = 0,
        days: int = 14,
        protocol: Protocol = Protocol(),
        seed: int = 0,
    ):
        require(world.horizon == 1, "the world of a trial must have horizon 1")
        self.world = world
        self.people = np.arange(len(world.users)) if people is None else people
        self.protocol = protocol
        validate_integer("days", days, 1)
        n = len(self.people)
        first_days = np.broadcast_to(first_day, n)
        self.person = np.repeat(np.arange(n), days)
        self.day = np.repeat(first_days, days) + np.tile(np.arange(days), n)
        names = [world.users[self.people[person]].name for person in self.person]
        rng = np.random.default_rng(seed)
        chances = rng.random((n * days, 2 + world.width))
        self.coins = chances[:, 2:]
        options = {"user": names, "day": self.day.tolist()}
        self.start = world.initial(chances[:, :2], options)

    @cached_property
    def arrivals(self) -> pd.DataFrame:
        """All arrivals: person, user, day, number, time, notification and `context.*` in words, and `reachable`.

        `reachable` is False outside of the protocol's hours and in a vehicle.
        """
        tables = self.world.tables
        core = self.start["core"]
        first = core[:, rules.FIRST_ARRIVAL]
        stop = np.searchsorted(tables.arrival_moments, core[:, rules.END_MOMENT])
        copy = np.repeat(np.arange(len(core)), stop - first)
        number = np.arange(len(copy)) - np.searchsorted(copy, copy)
        arrival = first[copy] + number
        moment = tables.arrival_moments[arrival]
        time = tables.times[moment] % MINUTES_PER_DAY
        schema = self.world.schema
        contexts = schema.context.decode(tables.contexts[moment])
        is_on_time = (self.protocol.start <= time) & (time < self.protocol.stop)
        keys = pd.DataFrame(
            {
                "copy": copy,
                "person": self.person[copy],
                "user": core[copy, rules.USER],
                "day": self.day[copy],
                "number": number,
                "time": time,
                "reachable": is_on_time & (contexts["activity"] != "vehicle"),
            }
        )
        notifications = schema.notification.decode(tables.notifications[arrival])
        return pd.concat([keys, notifications, contexts.add_prefix("context.")], axis=1)

    def run(self, policy: Callable | None = None) -> pd.DataFrame:
        """Run the trial and return its log, a DataFrame with a row for each arrival.

        Args:
            policy: Function of decisions, a dict of arrays (n,) with the columns of `arrivals`, `shown` and `dose`. It
                returns the probability of a push for each. None takes the protocol's. Budget and hours always hold.

        Returns:
            The columns of `arrivals`, and

            - `shown`, `dose`: pushes so far today, and their dose (see push-v0)
            - `available`: reachable, and the budget isn't used up; otherwise the next two are 0
            - `probability`, `action`: probability of a push, and whether it was pushed (0 or 1)
            - `outcome`: opened less dismissed pushes, of answers within the window after the decision. Answers to
              earlier and later pushes count, too
            - `rest`: the same until all pushes of the day are answered
        """
        state, decisions = self._simulate(
            np.arange(len(self.coins)), self.coins, policy
        )
        copy = self.arrivals["copy"].to_numpy()
        number = self.arrivals["number"].to_numpy()
        columns = {name: values[copy, number] for name, values in decisions.items()}
        log = self.arrivals.assign(**columns).astype({"available": bool})
        log["outcome"], log["rest"] = self._outcomes(state, copy, log["time"])
        return log

    def replay(self, log: pd.DataFrame) -> pd.DataFrame:
        """Replay each available decision the other way, with the same later coins; return these rows with the effects.

        Args:
            log: Rows of the log of `run()`, with the protocol's policy.

        Returns:
            The available rows, and the differences of pushing and not pushing: `effect` on the outcome, `effect_rest`
            on the rest of the day.
        """
        rows = log[log["available"]]
        copy = rows["copy"].to_numpy()
        index = np.arange(len(rows))
        coins = self.coins[copy]
        # A coin of 1 is above each probability, a coin of 0 below.
        coins[index, rows["number"]] = rows["action"]
        state, _ = self._simulate(copy, coins)
        other = self._outcomes(state, index, rows["time"])
        sign = 2 * rows["action"] - 1
        effects = rows[["outcome", "rest"]].sub(other.T).mul(sign, axis=0)
        return rows.assign(effect=effects["outcome"], effect_rest=effects["rest"])

    def _simulate(self, copies, coins, policy=None):
        """Simulate days (indices of `start`) with the given coins (days, width).

        Returns:
            The last state, and {column of the log: array (days, width)} by day and number of the notification.
        """
        world = self.world
        policy = policy or self.protocol.probability
        state = index_nested(self.start, copies)
        arrivals = {name: values.to_numpy() for name, values in self.arrivals.items()}
        first_row = np.searchsorted(arrivals["copy"], copies)
        names = ("shown", "dose", "available", "probability", "action")
        log = {name: np.zeros(coins.shape) for name in names}
        while not world.terminated(state).all():
            here = np.flatnonzero(state["core"][:, rules.HAND] >= 0)
            deciding = index_nested(state, here)
            number = deciding["core"][:, rules.HAND]
            row = first_row[here] + number
            rows = {name: values[row] for name, values in arrivals.items()}
            rows["shown"] = deciding["core"][:, rules.SHOWN_TOTAL]
            rows["dose"] = world.doses(deciding)
            has_budget = rows["shown"] < self.protocol.budget
            rows["available"] = rows["reachable"] & has_budget
            rows["probability"] = np.where(rows["available"], policy(rows), 0.0)
            rows["action"] = coins[here, number] < rows["probability"]
            for name in names:
                log[name][here, number] = rows[name]
            actions = np.full(len(copies), rules.STAND_BY)
            actions[here] = np.where(rows["action"], rules.SHOW, rules.DISMISS)
            state, _ = world.advance(state, actions, None)
        return state, log

    def _outcomes(self, state, copy, time):
        """Return opened less dismissed pushes within the window after a time (minutes of the day), and in the rest.

        Args:
            state: The last state of days.
            copy: Index of the day of each time, (rows,).

        Returns:
            Array (2, rows).
        """
        tables = self.world.tables
        answered = np.full(state["status"].shape, np.inf)
        value = (state["status"] == rules.OPENED).astype(float)
        value -= state["status"] == rules.REFUSED
        for day, number in np.argwhere(value).tolist():
            phone = rules.Phone(*(state[name][day] for name in rules.Phone._fields))
            moment = phone.since[number]
            opened = value[day, number] > 0
            minutes = rules.response_time(number, opened, moment, phone, tables)
            answered[day, number] = tables.times[moment] % MINUTES_PER_DAY + minutes
        age = answered[copy] - np.asarray(time)[:, None]
        is_later = age > 0
        is_near = is_later & (age <= self.protocol.window)
        value = value[copy]
        return np.stack([(value * is_near).sum(axis=1), (value * is_later).sum(axis=1)])


def excursion_effect(
    log: pd.DataFrame,
    moderators: Sequence[str] = (),
    controls: Sequence[str] = (),
    outcome: str = "outcome",
) -> pd.DataFrame:
    """Estimate causal excursion effects by weighted and centred least squares, with 95 % intervals over people.

    With the action A, its probability p, the share q of pushes among available decisions, controls g and moderators f
    (both begin with 1), it minimises the sum of W (Y - g'alpha - (A - q) f'beta)^2 over available decisions, where W is
    q / p for A = 1 and (1 - q) / (1 - p) for A = 0. So beta is consistent even if g'alpha is a wrong model of the
    outcome. Without moderators it is the mean effect of a push on available decisions, if the trial's protocol goes on
    afterwards.

    The covariance is clustered by person with the small-sample correction of Mancl and DeRouen: a sum over people of
    d d', where d is the change of the coefficients if this person is left out. The quantile is of Student's t with
    people - coefficients degrees of freedom.

    Args:
        log: DataFrame with the columns person, available, probability, action and those named here.
        moderators: Columns f on which the effect depends linearly. They are also controls.
        controls: Columns g that predict the outcome, all known before the decision. They only make intervals shorter.
        outcome: Column of the outcome.

    Returns:
        DataFrame by moderator, first "intercept": estimate, standard_error, low, high.

    Raises:
        ValueError: A column is missing, a probability isn't above 0 and below 1, an unavailable row has action 1, there
            are no more people than coefficients, or a moderator or control is constant or a combination of others, also
            if one person is left out.

    Source:
        Boruvka et al. (2018); Mancl & DeRouen (2001).

    >>> log = pd.DataFrame({"person": np.arange(8) // 2, "available": True, "probability": 0.5,
    ...                     "action": [0, 1] * 4, "outcome": [0, 1, 0, 3, 0, 1, 0, 3]})
    >>> excursion_effect(log)["estimate"].round(3).to_dict()
    {'intercept': 2.0}
    """
    from scipy.special import stdtrit

    names = dict.fromkeys(["intercept", *moderators, *controls])
    require_columns(log, *COIN, outcome, *moderators, *controls, table_name="log")
    log = log.assign(intercept=1.0)
    available = log["available"].astype(bool)
    require(
        not log["action"][~available].any(),
        "log has an action 1 in an unavailable row",
    )
    rows = log[available]
    y, a, p = rows[[outcome, "action", "probability"]].to_numpy(float).T
    require(
        (np.isin(a, (0, 1)) & (p > 0) & (p < 1)).all(),
        "each available row needs an action 0 or 1, and a probability above 0 and below 1",
    )
    q = a.mean()
    validate_number("the share of pushes", q, above=0, below=1)
    effects = rows[["intercept", *moderators]].to_numpy(float)
    x = np.hstack([rows[[*names]], (a - q)[:, None] * effects]).astype(float)
    require(np.isfinite(x.sum() + y.sum()), "a value isn't a finite number")
    people = rows.groupby("person").indices
    width = x.shape[1]
    freedom = len(people) - width
    message = f"{width} coefficients need more people than that; got {len(people)}"
    require(freedom > 0, message)
    require(
        np.linalg.matrix_rank(x) == width,
        "a moderator or control is constant, or a combination of others",
    )
    weighted = np.where(a == 1, q / p, (1 - q) / (1 - p))[:, None] * x
    products = weighted.T @ x
    coefficients = np.linalg.solve(products, weighted.T @ y)
    residual = y - x @ coefficients
    changes = []
    for name, own in people.items():
        others = products - weighted[own].T @ x[own]
        require(
            np.linalg.matrix_rank(others) == width,
            f"without person {name} a moderator or control is constant",
        )
        changes.append(np.linalg.solve(others, weighted[own].T @ residual[own]))
    errors = np.sqrt(np.square(changes).sum(axis=0))
    table = pd.DataFrame(
        {"estimate": coefficients, "standard_error": errors},
        index=pd.Index([*names, "intercept", *moderators], name="moderator"),
    )
    table = table.iloc[len(names) :]
    margin = stdtrit(freedom, 0.975) * table["standard_error"]
    return table.assign(low=table["estimate"] - margin, high=table["estimate"] + margin)
