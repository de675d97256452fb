"""The EvalUMAP challenges: choose a notification for each context of a user's life."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Dict, MultiDiscrete

from pushlab.datasets.periods import User
from pushlab.datasets.reading import load_user
from pushlab.datasets.schema import Schema
from pushlab.envs.env import SingleCopy
from pushlab.envs.world import World
from pushlab.metrics.push import POINTS
from pushlab.users.candidates import candidates_for
from pushlab.users.judges import judge_for, opening_threshold
from pushlab.users.simulated import (
    SimulatedUser,
    fill_open_probabilities,
    open_probability,
)
from pushlab.utils.arguments import (
    error_context,
    require,
    short_repr,
    validate_bool,
    validate_choice,
)
from pushlab.utils.compiled import compiled_helper_in_place, compiled_in_place

NO_ANSWER = 2  # other answers: 0 dismissed, 1 opened


class UserWorld(World):
    """A world of one or several users with the same schema.

    Args:
        user: Name of a shipped user, a folder, a User, or a list of them.
        judge: None, the name of a judge, or one judge for all users.

    Attributes:
        users, judges: All users, and the judge of each.
        user, schema, judge: Those of the first user.
    """

    def __init__(self, user: Any, judge: Any):
        sources = user if isinstance(user, (list, tuple)) else [user]
        with error_context("user", user):
            self.users: list[User] = [load_user(source) for source in sources]
        self._names = names = [user.name for user in self.users]
        require(
            names and len(set(names)) == len(names),
            f"user must be one user or a list of users with different names; got {short_repr(user)}",
        )
        self.user = self.users[0]
        self.schema = self.user.schema
        if judge is None or isinstance(judge, str):
            self.judges = [judge_for(user, judge) for user in self.users]
        else:
            require(
                hasattr(judge, "probability_function"),
                f"judge must be a name, or have a method probability_function(contexts); got {short_repr(judge)}",
            )
            self.judges = [judge] * len(self.users)
        self.judge = self.judges[0]
        schemas = [user.schema for user in self.users]
        for schema in (*schemas, getattr(self.judge, "schema", self.schema)):
            require(
                _values_by_feature(schema) == _values_by_feature(self.schema),
                f"users {', '.join(names)} and judge {self.judge.name} have different features or values; "
                "load the users together with load_users",
            )

    @property
    def task(self) -> str:
        """Name of the task for lifelong metrics; different users are different tasks."""
        return f"{self.name}:{'+'.join(self._names)}"

    @property
    def labels(self) -> dict:
        """Labels of the features in pictures, by name."""
        return {**self.schema.context.labels(), **self.schema.notification.labels()}

    def requested_users(self, options: Mapping[str, Any], n: int) -> np.ndarray | None:
        """Return the indices of the users in the reset option `user`, int64 (n,); None without this option."""
        requested = options.get("user")
        if requested is None:
            return None
        names = self._names
        indices = [
            names.index(validate_choice("the option user", name, names))
            for name in broadcast_option("user", requested, n)
        ]
        return np.array(indices, np.int64)


def broadcast_option(name: str, value: Any, n: int) -> list:
    """Return a reset option as a list with one value for each of n copies."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return [value] * n
    require(
        len(value) == n,
        f"the option {name} must be one value or a list of {n}, one for each copy; got {short_repr(value)}",
    )
    return list(value)


def _values_by_feature(schema: Schema) -> list:
    parts = (schema.context, schema.notification)
    return [[(feature.name, feature.words) for feature in part] for part in parts]


class EvalUMAP1(UserWorld):
    """Choose a notification for every context of a user's three test months, after learning from three before.

    Observation:
        MultiDiscrete, int64: the codes of the context, in the order of `world.observation_names`. A feature is one
        component (day, time, activity, noise, batteryLevel, charging, headphonesIn, musicActive, proximity,
        ringerMode); place has a 0/1 component for each TYPE_* tag. `world.schema.context.decode_one(observation)`
        returns the words.

    Action:
        MultiDiscrete, int64: the codes of a notification (postingApp, category, numberOfUpdates, subject, priority,
        ongoing, visibility). `world.schema.notification.encode_one({...})` returns them.

    Reward:
        Points of the challenge for (answer to the actual notification → answer to the sent one):
        opened→opened +1, dismissed→dismissed 0, dismissed→opened +2, opened→dismissed -1.

    Start:
        The first context of the period. With several users, the user is drawn or set by options={"user": name}; a
        batch also accepts a list with one name for each copy.

    End:
        Terminated after the last context (the last observation repeats it); never truncated.

    Info:
        "opened" and "actual", bool: whether the sent and the actual notification of the last step were opened; False
        after a reset. With several users "user", the index of the user in the list.
        With reveal=True also two entries that no phone could report: "probability" that the sent notification is
        opened, and "best", the highest probability in the catalogue for that context (only with the judge "truth" and
        the opening "sampled"). Combinations outside the catalogue can exceed "best".

    Args:
        user: Name of a shipped user, a folder, a User, or a list of them.
        period: "test" (default), "history" or any other period of the user.
        judge: Model of the user's answers: "truth", "logistic", "plain", "adaboost", "tree" or "bayes"
            (`pushlab.users.judges`), or a judge. None (default) is the truth if it is known, otherwise "logistic".
        opening: Rule from the judge's probability to an answer. "sampled" (default): opened with this probability.
            "threshold": opened from 0.5 on, as in the original. "matched": opened from the threshold on at which the
            judge opens as much of the history as the user did.
        actual: "recorded" (default): answers to actual notifications are those in the data; "judge": the judge answers
            them too, with a uniform number of their own.
        candidates: "history" (default), "catalogue" or an array of codes: the notifications in `world.candidates` that
            an agent can choose from. The action space isn't restricted. Lists of several users are merged.
        reveal: Whether info has the probabilities, for metrics and not for agents. Frames always have them.

    With several users, `world.user`, `world.judge`, `world.period` and len(world) are those of the first.

    Source:
        The EvalUMAP 2019 and 2020 challenges (Fraser, Yousuf and Conlan), and their environment gym-push

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/evalumap1-v0", user="mira")
    >>> observation, info = env.reset(seed=7)
    >>> env.unwrapped.world.schema.context.decode_one(observation)["day"]
    '0'
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> sorted(info)
    ['actual', 'opened']
    """

    name = "evalumap1-v0"
    drawing = "phone"
    uniforms = 2
    options = ("user",)
    has_history = True

    def __init__(
        self,
        user: Any = "mira",
        period: str = "test",
        judge: Any = None,
        opening: str = "sampled",
        actual: str = "recorded",
        candidates: Any = "history",
        reveal: bool = False,
    ):
        super().__init__(user, judge)
        validate_choice("actual", actual, ("recorded", "judge"))
        validate_bool("reveal", reveal)
        for user in self.users:
            validate_choice(f"the period of user {user.name}", period, user.periods)
        self.period = self.user.periods[period]
        self.candidates = candidates_for(self.user, candidates)
        if isinstance(candidates, str):
            lists = [candidates_for(user, candidates) for user in self.users]
            self.candidates = np.unique(np.concatenate(lists), axis=0)

        # The tables of all users, one below the other. Each has one row per context, and a last
        # row that repeats the last context, as the observation after the end.
        tables = [
            _tables(user, user.periods[period], judge, opening, actual)
            for user, judge in zip(self.users, self.judges)
        ]
        lengths = np.array([len(table["contexts"]) for table in tables])
        self._first = np.cumsum(lengths) - lengths
        self._last = self._first + lengths - 1
        self.max_steps = int(lengths.max()) - 1
        self._contexts = _stack(tables, "contexts")
        self._rules = (
            _stack(tables, "actual_probabilities"),
            _stack(tables, "thresholds"),
        )
        self._fill_probability = [table["fill_probability"] for table in tables]
        self._log_odds = None
        if all(isinstance(judge, SimulatedUser) for judge in self.judges):
            parts = [function.args[0] for function in self._fill_probability]
            self._log_odds = np.concatenate(parts)
        self._info_dtypes: dict[str, type] = {"opened": bool, "actual": bool}
        if reveal:
            self._info_dtypes["probability"] = float
        self._best = None
        if all("best" in table for table in tables):
            self._best = _stack(tables, "best")
            if reveal:
                self._info_dtypes["best"] = float

        context = self.schema.context
        notification = self.schema.notification
        self.observation_space = context.space
        self.action_space = notification.space
        self.observation_names = context.components
        self.action_names = notification.components
        self.action_choices = [
            (feature.name, list(feature.words)) for feature in notification
        ]

    def __len__(self):
        return len(self.period)

    def make_single_copy(self) -> SingleCopy:
        is_slow = self._log_odds is None
        return SingleCopy(self) if is_slow else SingleEvalUMAP(self)

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        user = self.requested_users(options, len(draws))
        if user is None:
            user = (draws[:, 0] * len(self.users)).astype(np.int64)
        return {"row": self._first[user], "user": user}

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        row = state["row"]
        user = state["user"]
        n = len(row)
        probability = np.empty(n)
        if self._log_odds is not None:
            starts = self.schema.notification.starts
            fill_open_probabilities(self._log_odds, starts, row, action, probability)
        else:
            for index in np.unique(user):
                mask = user == index
                part = np.empty(mask.sum())
                fill_probability = self._fill_probability[index]
                fill_probability(row[mask] - self._first[index], action[mask], part)
                probability[mask] = part
        opened = np.empty(n, bool)
        actual = np.empty(n, bool)
        reward = np.empty(n)
        compute_answers(row, draws, *self._rules, probability, opened, actual, reward)
        outcome = {
            "row": row,
            "action": action,
            "opened": opened,
            "actual": actual,
            "probability": probability,
            "reward": reward,
        }
        if self._best is not None:
            outcome["best"] = self._best[row]
        return self.next_state(user, outcome), outcome

    def next_state(self, user: np.ndarray, outcome: dict) -> dict:
        """Return the state after a step with this outcome."""
        return {"row": outcome["row"] + 1, "user": user}

    def observe(self, state: dict) -> Any:
        return self._contexts.take(state["row"], axis=0)

    def observe_row(self, row: int, outcome: dict) -> Any:
        """Return the observation of a single copy at index `row`, after an outcome whose values are numbers."""
        return self._contexts[row].copy()

    def terminated(self, state: dict) -> np.ndarray:
        last = self._last
        return state["row"] == (last if len(last) == 1 else last.take(state["user"]))

    def info(self, state: dict, outcome: dict | None) -> dict:
        n = len(state["row"])
        info = {}
        for name, dtype in self._info_dtypes.items():
            info[name] = np.zeros(n, dtype) if outcome is None else outcome[name]
        if len(self.users) > 1:
            info["user"] = state["user"]
        return info

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the data that `pushlab.plots.phone` draws; its docstring lists the keys."""
        row = state["row"][at]
        user = state["user"][at]
        context = self.schema.context
        push = None
        if outcome is not None:
            push = {
                "context": context.decode_one(self._contexts[outcome["row"][at]]),
                "notification": self.schema.notification.decode_one(
                    outcome["action"][at]
                ),
                "best": None,
            }
            for name in ("opened", "actual", "reward", "probability", "best"):
                if name in outcome:
                    push[name] = outcome[name][at].item()
        return {
            "env": self.name,
            "user": self.users[user].name,
            "step": int(row - self._first[user]),
            "episode_length": int(self._last[user] - self._first[user]),
            "past_answers": self.has_history * len(self.users[user].history),
            "context": context.decode_one(self._contexts[row]),
            "push": push,
            "labels": self.labels,
        }


def _stack(tables, name):
    return np.concatenate([table[name] for table in tables])


def _tables(user, period, judge, opening, actual):
    """Return the arrays, and the function `fill_probability`, that determine a user's answers in a period."""
    contexts = period.context_codes
    threshold = opening_threshold(judge, user.history, opening)
    actual_probabilities = period.opened.astype(float)
    if actual == "judge":
        actual_probabilities = judge.probability(contexts, period.notification_codes)
        if not np.isnan(threshold):
            actual_probabilities = (actual_probabilities >= threshold).astype(float)
    contexts = np.concatenate([contexts, contexts[-1:]])
    tables = {
        "contexts": contexts,
        "actual_probabilities": np.append(actual_probabilities, 0.0),
        "thresholds": np.full(len(contexts), threshold),
        "fill_probability": judge.probability_function(contexts),
    }
    if judge.name == "truth" and opening == "sampled":
        tables["best"] = judge.best_probability(contexts, user.catalogue_codes)
    return tables


@compiled_helper_in_place
def compute_answer(row, draws, actual_probabilities, thresholds, probability):
    """Return the answer to one notification, the answer to the actual one, and the points.

    Args:
        row: Row of the context.
        draws: Two uniform numbers, for the sent and for the actual notification.
        actual_probabilities: For each row the probability that the actual notification is opened.
        thresholds: For each row a threshold. A notification is opened if its probability reaches the threshold; if
            that is NaN, with its probability.
        probability: Probability that the sent notification is opened.
    """
    opened = probability >= thresholds[row]
    if np.isnan(thresholds[row]):
        opened = draws[0] < probability
    actual = draws[1] < actual_probabilities[row]
    return opened, actual, POINTS[int(actual), int(opened)]


@compiled_in_place
def compute_answers(
    row, draws, actual_probabilities, thresholds, probability, opened, actual, reward
):
    """Fill opened, actual and reward (n,) with the results of `compute_answer` for each copy."""
    for i in range(len(row)):
        opened[i], actual[i], reward[i] = compute_answer(
            row[i], draws[i], actual_probabilities, thresholds, probability[i]
        )


@compiled_in_place
def answer_one(weights, starts, action, row, draws, actual_probabilities, thresholds):
    """Return the probability that the notification `action` (features,) is opened, and `compute_answer`'s results."""
    probability = open_probability(weights[row], starts, action)
    opened, actual, reward = compute_answer(
        row, draws, actual_probabilities, thresholds, probability
    )
    return probability, opened, actual, reward


class SingleEvalUMAP(SingleCopy):
    """A single copy, with Python numbers instead of arrays of one row."""

    def reset(self, draws, options):
        result = super().reset(draws, options)
        self.row = self.state["row"].item()
        self.user = self.state["user"].item()
        self.last = self.world._last.item(self.user)
        return result

    def step(self, action, draws):
        world = self.world
        row = self.row
        action = self._parse(action, 1)[0]
        starts = world.schema.notification.starts
        probability, opened, actual, reward = answer_one(
            world._log_odds, starts, action, row, draws[0], *world._rules
        )
        self.outcome = outcome = {
            "row": row,
            "action": action,
            "opened": opened,
            "actual": actual,
            "probability": probability,
            "reward": reward,
        }
        if world._best is not None:
            outcome["best"] = world._best.item(row)
        info = {name: outcome[name] for name in world._info_dtypes}
        if len(world.users) > 1:
            info["user"] = self.user
        self.row = row + 1
        observation = world.observe_row(self.row, outcome)
        return observation, reward, self.row == self.last, False, info

    def snapshot(self):
        if self.outcome is None:
            return self.state, None
        outcome = {name: np.array([value]) for name, value in self.outcome.items()}
        return self.world.next_state(self.state["user"], outcome), outcome


class EvalUMAP2(EvalUMAP1):
    """Choose a notification for every context of a user's three test months, without any history.

    Observation:
        Dict of two MultiDiscrete, int64. "context" is the observation of `evalumap1-v0`. "last" is the last engagement:
        the codes of its context and its notification, and 0 dismissed or 1 opened. Before the first answer every
        component is one more than its highest code, which means none.

    Args:
        candidates: "catalogue" (default, because there is no history), "history" or an array of codes.
        args, kwargs: The other arguments of `EvalUMAP1`.

    Action, reward, start, end, info and answers are those of `evalumap1-v0`: the same seed and the same notifications
    give the same episode in both. env.unwrapped.engagements() returns all engagements of the episode so far, a
    DataFrame of words with the challenge's column names and `action`.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/evalumap2-v0", user="mira")
    >>> observation, info = env.reset(seed=7)
    >>> observation["last"][-1]
    np.int64(2)
    >>> observation, reward, terminated, truncated, info = env.step([0, 0, 0, 0, 0, 0, 0])
    >>> int(observation["last"][-1]) == info["opened"]
    True
    >>> env.unwrapped.engagements().shape
    (1, 19)
    """

    name = "evalumap2-v0"
    make_single_copy = EvalUMAP1.make_single_copy  # Env uses no inherited one
    has_history = False
    exports = ("engagements",)
    trail_keys = ("row", "action", "opened")

    def __init__(self, *args: Any, candidates: Any = "catalogue", **kwargs: Any):
        super().__init__(*args, candidates=candidates, **kwargs)  # type: ignore[misc]
        context = self.schema.context
        notification = self.schema.notification
        self._none = np.concatenate([context.sizes, notification.sizes, [NO_ANSWER]])
        self.observation_space = Dict(
            {"context": context.space, "last": MultiDiscrete(self._none + 1)}
        )
        self.observation_names = {
            "context": context.components,
            "last": (*context.components, *notification.components, "action"),
        }

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n = len(draws)
        return {
            **super().initial(draws, options),
            "sent": np.tile(self.schema.notification.sizes, (n, 1)),
            "answer": np.full(n, NO_ANSWER, np.int8),
        }

    def next_state(self, user: np.ndarray, outcome: dict) -> dict:
        return {
            **super().next_state(user, outcome),
            "sent": outcome["action"],
            "answer": outcome["opened"].view(np.int8),
        }

    def observe(self, state: dict) -> Any:
        answer = state["answer"]
        before = self._contexts.take(state["row"] - 1, axis=0)
        before[answer == NO_ANSWER] = self.schema.context.sizes
        last = np.concatenate([before, state["sent"], answer[:, None]], axis=1)
        return {"context": super().observe(state), "last": last}

    def observe_row(self, row: int, outcome: dict) -> Any:
        width = self._contexts.shape[1]
        last = np.empty(len(self._none), np.int64)
        last[:width] = self._contexts[row - 1]
        last[width:-1] = outcome["action"]
        last[-1] = outcome["opened"]
        return {"context": self._contexts[row].copy(), "last": last}

    def engagements(self, env: Any) -> pd.DataFrame:
        """Return the engagements of the episode so far, a DataFrame with one row per notification."""
        # Entries of a SingleEvalUMAP are numbers, others are arrays of one row.
        rows = np.array([row for row, _, _ in env.trail], np.int64).ravel()
        sent = np.array([action for _, action, _ in env.trail], np.int64)
        opened = np.array([opened for _, _, opened in env.trail], bool).ravel()
        parts = [
            self.schema.context.decode(self._contexts[rows]),
            self.schema.notification.decode(
                sent.reshape(len(rows), len(self.action_names))
            ),
        ]
        answers = np.where(opened, "opened", "dismissed")
        return pd.concat(parts, axis=1).assign(action=answers)
