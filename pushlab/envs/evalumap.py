"""The EvalUMAP challenges: choose a whole notification for each context of a user's life."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Dict, MultiDiscrete

from pushlab.datasets.periods import User
from pushlab.datasets.reading import load_user
from pushlab.datasets.schema import Schema
from pushlab.envs.world import World
from pushlab.ground.arguments import demand, flag, in_short, naming, one_of
from pushlab.ground.compiled import compiled
from pushlab.metrics.push import POINTS
from pushlab.users.candidates import candidates_for
from pushlab.users.judges import cutoff, judge_for
from pushlab.users.simulated import SimulatedUser, add_up

NO_ANSWER = 2  # beside 0 dismissed and 1 opened


class UserWorld(World):
    """A world of one user or several with one schema; `user`, `schema` and `judge` are the first one's.

    Args:
        user: Name of a shipped user, a folder, a User, or a list of them.
        judge: None or the name of a judge, or one judge for all users.
    """

    def __init__(self, user: Any, judge: Any):
        several = user if isinstance(user, (list, tuple)) else [user]
        with naming("user", user):
            self.users: list[User] = [load_user(one) for one in several]
        names = [one.name for one in self.users]
        demand(
            names and len(set(names)) == len(names),
            f"user is one user, or a list of at least one with different names; got {in_short(user)}",
        )
        self.user = self.users[0]
        self.schema = self.user.schema
        if judge is None or isinstance(judge, str):
            self.judges = [judge_for(one, judge) for one in self.users]
        else:
            demand(
                hasattr(judge, "chances"),
                f"judge is the name of one, or an object with chances(contexts); got {in_short(judge)}",
            )
            self.judges = [judge] * len(self.users)
        self.judge = self.judges[0]
        schemas = [one.schema for one in self.users]
        for schema in (*schemas, getattr(self.judge, "schema", self.schema)):
            demand(
                _values_of(schema) == _values_of(self.schema),
                f"users {', '.join(names)} and the judge {self.judge.name} have different features or values; "
                "load_users fits users together",
            )

    @property
    def task(self) -> str:
        """Name of the task for lifelong metrics: each user is a task of its own."""
        return f"{self.name}:{'+'.join(user.name for user in self.users)}"

    @property
    def labels(self) -> dict:
        """Labels of the features in pictures, by name."""
        return {**self.schema.context.labels(), **self.schema.notification.labels()}

    def requested_users(self, options: Mapping[str, Any], n: int) -> np.ndarray | None:
        """Return the indices of the users that a reset option names, int64 (n,); None without one."""
        wanted = options.get("user")
        if wanted is None:
            return None
        names = [user.name for user in self.users]
        wanted = for_each_copy("user", wanted, n)
        return np.array(
            [names.index(one_of("the option user", name, names)) for name in wanted],
            np.int64,
        )


def for_each_copy(name: str, value: Any, n: int) -> list:
    """Return a reset option as a list of n values: a given list or array, or one value n times."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return [value] * n
    demand(
        len(value) == n,
        f"the option {name} is one value, or a list with one for each of {n} copies; got {in_short(value)}",
    )
    return list(value)


def _values_of(schema: Schema) -> list:
    halves = (schema.context, schema.notification)
    return [[(feature.name, feature.words) for feature in half] for half in halves]


class EvalUMAP1(UserWorld):
    """Choose a notification for every context of a user's three test months, after learning from three before.

    Observation:
        MultiDiscrete, int64: the codes of the context that now waits for a notification, in the order of
        `world.observation_names`. A feature is one component (day, time, activity, noise, batteryLevel, charging,
        headphonesIn, musicActive, proximity, ringerMode); place has a 0/1 component for each TYPE_* tag.
        `world.schema.context.decode_one(observation)` returns the words.

    Action:
        MultiDiscrete, int64: the codes of a whole notification (postingApp, category, numberOfUpdates, subject,
        priority, ongoing, visibility). `world.schema.notification.encode_one({...})` makes one.

    Reward:
        Points of the challenge, which compare the user's answer now with the answer to the actual notification:
        opened→opened +1, dismissed→dismissed 0, dismissed→opened +2, opened→dismissed -1.

    Start:
        The first context of the period. With several users one is drawn, or named: options={"user": name}, in a batch
        also a list with one for each copy.

    End:
        Terminated after the last context (the last observation repeats it); never truncated.

    Info:
        "opened" and "actual", bool: the answers to the sent and to the actual notification of the last step; False
        before the first one. With reveal=True also what no phone would report: "probability" of opening what was sent,
        and "best", the highest probability that any notification of the catalogue reaches in that context, if the true
        user answers by chance. (Combinations outside the catalogue can reach more.) With several users "user", the
        index of the user in the list.

    Args:
        user: Name of a shipped user, a folder, a User, or a list of them.
        period: "test" (default), "history" or any other period of the user.
        judge: Who opens: "truth", "logistic", "plain", "adaboost", "tree" or "bayes" (`pushlab.users.judges`), or a
            judge. None (default) is the truth if it is known, else "logistic".
        opening: "sampled" (default): by chance, with the judge's probability; "threshold": whatever has 0.5 or more, as
            the original did; "matched": at the threshold at which the judge opens as much of the history as the user.
        actual: "recorded" (default): the actual notification was answered as the data say; "judge": the judge answers
            it, too, with its own uniform number.
        candidates: "history" (default), "catalogue" or an array of codes: the list an agent can choose from,
            `world.candidates`; the action space stays whole. Lists of several users are merged; `world.user`,
            `world.judge`, `world.period` and len(world) are the first one's.
        reveal: Whether info has the probabilities too, for metrics and not for agents. Frames always have them.

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
        one_of("actual", actual, ("recorded", "judge"))
        flag("reveal", reveal)
        for one in self.users:
            one_of(f"the period of user {one.name}", period, one.periods)
        self.period = self.user.periods[period]
        self.candidates = candidates_for(self.user, candidates)
        if isinstance(candidates, str):
            lists = [candidates_for(one, candidates) for one in self.users]
            self.candidates = np.unique(np.concatenate(lists), axis=0)

        # Tables with a row for each context of each user, and one more behind a user's
        # last context, which repeats it and is seen when all is over.
        tables = [
            _tables(one, one.periods[period], judge, opening, actual)
            for one, judge in zip(self.users, self.judges)
        ]
        lengths = np.array([len(table["contexts"]) for table in tables])
        self._first = np.cumsum(lengths) - lengths
        self._last = self._first + lengths - 1
        self.most_steps = int(lengths.max()) - 1
        self._contexts, *rules = (
            np.concatenate([table[name] for table in tables])
            for name in ("contexts", "arrived", "cutoffs")
        )
        self._rules = tuple(rules)
        self._chances = [table["chances"] for table in tables]
        self._sheet = None
        if all(isinstance(judge, SimulatedUser) for judge in self.judges):
            sheets = [chances.args[0] for chances in self._chances]
            self._sheet = np.concatenate(sheets)
        self._best = None
        self._info: dict[str, type] = {"opened": bool, "actual": bool}
        if reveal:
            self._info["probability"] = float
        if all("best" in table for table in tables):
            self._best = np.concatenate([table["best"] for table in tables])
            if reveal:
                self._info["best"] = float

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

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        who = self.requested_users(options, len(draws))
        if who is None:
            who = (draws[:, 0] * len(self.users)).astype(np.int64)
        return {"row": self._first[who], "user": who}

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        row = state["row"]
        n = len(row)
        opened = np.empty(n, np.bool_)
        actual = np.empty(n, np.bool_)
        reward = np.empty(n)
        following = np.empty(n, np.int64)
        probability = np.empty(n)
        answers = (probability, opened, actual, reward, following)
        if self._sheet is not None:
            starts = self.schema.notification.starts
            push_each(row, action, self._sheet, starts, draws, self._rules, answers)
        else:
            for who in np.unique(state["user"]):
                mine = state["user"] == who
                part = np.empty(mine.sum())
                self._chances[who](row[mine] - self._first[who], action[mine], part)
                probability[mine] = part
            answer_each(row, draws, self._rules, answers)
        outcome = {
            "row": row,
            "action": action,
            "opened": opened,
            "actual": actual,
            "probability": probability,
            "reward": reward,
        }
        if self._best is not None:
            outcome["best"] = self._best.take(row)
        return {"row": following, "user": state["user"]}, outcome

    def observe(self, state: dict) -> Any:
        return self._contexts.take(state["row"], axis=0)

    def terminated(self, state: dict) -> np.ndarray:
        last = self._last
        return state["row"] == (last if len(last) == 1 else last.take(state["user"]))

    def info(self, state: dict, outcome: dict | None) -> dict:
        n = len(state["row"])
        info = {}
        for name, kind in self._info.items():
            info[name] = np.zeros(n, kind) if outcome is None else outcome[name]
        if len(self.users) > 1:
            info["user"] = state["user"]
        return info

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the plain dict that `pushlab.plots.phone` draws and documents."""
        row = state["row"][at]
        who = state["user"][at]
        context = self.schema.context
        push = None
        if outcome is not None:
            names = ("opened", "actual", "reward", "probability")
            best = outcome["best"][at].item() if "best" in outcome else None
            push = {
                "context": context.decode_one(self._contexts[outcome["row"][at]]),
                "notification": self.schema.notification.decode_one(
                    outcome["action"][at]
                ),
                "best": best,
                **{name: outcome[name][at].item() for name in names},
            }
        return {
            "env": self.name,
            "user": self.users[who].name,
            "step": int(row - self._first[who]),
            "of": int(self._last[who] - self._first[who]),
            "context": context.decode_one(self._contexts[row]),
            "push": push,
            "labels": self.labels,
        }


def _tables(user, period, judge, opening, actual):
    contexts = period.context_codes
    threshold = cutoff(judge, user.history, opening)
    arrived = period.opened.astype(float)  # 1 and 0: certain
    if actual == "judge":
        arrived = judge.probability(contexts, period.notification_codes)
        if not np.isnan(threshold):
            arrived = (arrived >= threshold).astype(float)
    contexts = np.concatenate([contexts, contexts[-1:]])
    tables = {
        "contexts": contexts,
        "arrived": np.append(arrived, 0.0),
        "cutoffs": np.full(len(contexts), threshold),
        "chances": judge.chances(contexts),
    }
    if judge.name == "truth" and opening == "sampled":
        tables["best"] = judge.best_probability(contexts, user.catalogue_codes)
    return tables


@compiled
def answer_each(row, draws, rules, answers):
    """Compute the user's answer to each copy's notification, and the points.

    row (n,) of the context; draws (n, 2), the second for the actual notification. rules: for each row the probability
    of opening the actual notification, and a cutoff: NaN if opening is drawn, else the probability from which on it is
    certain. answers, all (n,): probability of opening what was sent; filled are opened, actual, points and next row.
    """
    arrived, cutoffs = rules
    probability, opened, actual, reward, following = answers
    for i in range(len(row)):
        if np.isnan(cutoffs[row[i]]):
            opened[i] = draws[i, 0] < probability[i]
        else:
            opened[i] = probability[i] >= cutoffs[row[i]]
        actual[i] = draws[i, 1] < arrived[row[i]]
        reward[i] = POINTS[int(actual[i]), int(opened[i])]
        following[i] = row[i] + 1


@compiled
def push_each(row, action, sheet, starts, draws, rules, answers):
    """`add_up` and `answer_each` in one call, for judges that answer from tables: a call costs more than the sums."""
    add_up(sheet, starts, row, action, answers[0])
    answer_each(row, draws, rules, answers)


class EvalUMAP2(EvalUMAP1):
    """Choose a notification for every context of a user's three test months, without any history.

    Observation:
        Dict of two MultiDiscrete, int64. "context" is that of `evalumap1-v0`. "last" is the last engagement: the codes
        of its context, of its notification, and 0 dismissed or 1 opened. Before the first answer every component has
        one more than its highest code, which means none.

    Args:
        candidates: "catalogue" (default, because there is no history), "history" or an array of codes.
        given, more: The other arguments, those of `EvalUMAP1`.

    Action, reward, start, end and info are those of `evalumap1-v0`, and so are the answers: the same seed and the same
    notifications lead to the same episode in both. env.unwrapped.engagements() returns all engagements of the episode
    so far, a DataFrame of words with the challenge's column names and `action`.

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
    exports = ("engagements",)
    trail_of = ("row", "action", "opened")

    def __init__(self, *given: Any, candidates: Any = "catalogue", **more: Any):
        super().__init__(*given, candidates=candidates, **more)  # type: ignore[misc]
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
            "sent": np.zeros((n, len(self.action_names)), np.int64),
            "answer": np.full(n, NO_ANSWER, np.int8),
        }

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        following, outcome = super().advance(state, action, draws)
        following["sent"] = action
        following["answer"] = outcome["opened"].view(np.int8)
        return following, outcome

    def observe(self, state: dict) -> Any:
        wide = self._contexts.shape[1]
        seen = np.empty((len(state["row"]), wide + len(self._none)), np.int64)
        recall_each(
            state["row"],
            self._contexts,
            state["sent"],
            state["answer"],
            self._none,
            seen,
        )
        return {"context": seen[:, :wide], "last": seen[:, wide:]}

    def engagements(self, env: Any) -> pd.DataFrame:
        """Return the engagements of the episode so far, a DataFrame with one row per notification."""
        rows = [row[0] for row, _, _ in env.trail]
        sent = [action[0] for _, action, _ in env.trail]
        opened = [answer[0] for _, _, answer in env.trail]
        shape = (len(rows), len(self.action_names))
        parts = [
            self.schema.context.decode(self._contexts[np.array(rows, np.int64)]),
            self.schema.notification.decode(np.array(sent, np.int64).reshape(shape)),
        ]
        answers = np.where(np.array(opened, bool), "opened", "dismissed")
        return pd.concat(parts, axis=1).assign(action=answers)


@compiled
def recall_each(row, contexts, sent, answer, none, seen):
    """Fill seen (n, ...) with each copy's context, then its last context, notification and answer."""
    wide = contexts.shape[1]
    for i in range(len(row)):
        last = seen[i, wide:]
        seen[i, :wide] = contexts[row[i]]
        if answer[i] == NO_ANSWER:
            last[:] = none
        else:
            last[:wide] = contexts[row[i] - 1]
            last[wide:-1] = sent[i]
            last[-1] = answer[i]
