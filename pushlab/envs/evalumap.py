"""The EvalUMAP challenges: choose a whole notification for each context of a user's life."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Dict, MultiDiscrete

from pushlab.envs.user_world import UserWorld
from pushlab.ground.arguments import flag, one_of
from pushlab.ground.compiled import compiled
from pushlab.metrics.push import POINTS
from pushlab.users.candidates import candidates_for
from pushlab.users.judges import cutoff
from pushlab.users.simulated import SimulatedUser, add_up


@compiled
def answer_each(
    row, draws, arrived, threshold, probability, opened, actual, reward, following
):
    """What the user does with each copy's notification, and what it earns.

    row (n,) which context; draws (n, 2), the second for the actual notification; arrived (contexts,), the probability
    of opening the actual one; threshold: NaN where opening is drawn, else the probability from which on it is certain;
    probability (n,) of opening the one that was sent. The last four (n,) are filled; `following` is the next row.
    """
    for i in range(len(row)):
        opened[i] = (
            draws[i, 0] < probability[i]
            if np.isnan(threshold)
            else probability[i] >= threshold
        )
        actual[i] = draws[i, 1] < arrived[row[i]]
        reward[i] = POINTS[int(actual[i]), int(opened[i])]
        following[i] = row[i] + 1


@compiled
def push_each(
    row,
    action,
    sheet,
    starts,
    draws,
    arrived,
    threshold,
    probability,
    opened,
    actual,
    reward,
    following,
):
    """`add_up` and `answer_each` in one call, for a judge that answers from tables: a call costs more than the sums."""
    add_up(sheet, starts, row, action, probability)
    answer_each(
        row, draws, arrived, threshold, probability, opened, actual, reward, following
    )


class EvalUMAP1(UserWorld):
    """Choose a notification for every context of a user's three test months, having learned from three before.

    Observation  MultiDiscrete, int64: the codes of the context that now waits for a notification, in the order of
                 `world.observation_names`: a component a feature (day, time, activity, noise, batteryLevel, charging,
                 headphonesIn, musicActive, proximity, ringerMode; place takes a 0/1 component for each TYPE_* tag).
                 `world.schema.context.decode_one(observation)` gives the words.
    Action       MultiDiscrete, int64: the codes of a whole notification (postingApp, category, numberOfUpdates,
                 subject, priority, ongoing, visibility); `world.schema.notification.encode_one({...})` makes one.
    Reward       points of the challenge, comparing what the user does now with what became of the actual
                 notification: opened→opened +1, dismissed→dismissed 0, dismissed→opened +2, opened→dismissed -1
    Start        the first context of the period. With several users one is drawn, or named: options={"user": name}
                 (in a batch also a list, one for each copy)
    End          terminated after the last context (the last observation repeats it); never truncated
    Info         "opened" and "actual", bool: what the user did with what was sent, and what became of the actual one.
                 With reveal=True also what no phone would tell: "probability" of opening what was sent; "best", the
                 highest probability that any notification of the catalogue reaches in that context, where the true user
                 answers by chance (combinations which no app sends, outside the catalogue, may reach more). They
                 are about the last step; before the first one, when there is no answer yet, they are False and 0.
                 "user", the place of the user in the list, where there are several
    Arguments    user        name of a shipped user, a folder, a User, or a list of them
                 period      "test" (default), "history" or any other period of the user
                 judge       who opens: "truth", "logistic", "plain", "adaboost", "tree" or "bayes"
                             (`pushlab.users.judges`), or a judge; None (default): the truth where it is known,
                             else "logistic"
                 opening     "sampled" (default): by chance, with the judge's probability; "threshold": whatever has
                             0.5 or more, as the original did; "matched": at the threshold at which the judge opens as
                             much of the history as the user did
                 actual      "recorded" (default): the actual notification met what the data say; "judge": the judge
                             decides that too, from its own uniform number
                 candidates  "history" (default), "catalogue" or an array of codes: the list an agent may choose from,
                             `world.candidates`; the action space stays whole. Of several users the lists are put
                             together; `world.user`, `world.judge`, `world.period` and len(world) are the first one's
                 reveal      False (default): info tells what a phone would. True: the probabilities too, for metrics
                             and not for agents. Frames always have them: pictures are for people
    Source       the EvalUMAP 2019 and 2020 challenges (Fraser, Yousuf and Conlan), and their environment gym-push

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/evalumap1-v0", user="mira")
    >>> observation, info = env.reset(seed=7)
    >>> env.unwrapped.world.schema.context.decode_one(observation)["day"]
    '0'
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> sorted(info)
    ['actual', 'opened']
    """

    name, drawing = "evalumap1-v0", "phone"
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
        for one in self.users:
            one_of(f"the period of user {one.name}", period, one.periods)
        self.period = self.user.periods[period]
        self.candidates = (
            np.unique(
                np.concatenate([candidates_for(one, candidates) for one in self.users]),
                axis=0,
            )
            if isinstance(candidates, str)
            else candidates_for(self.user, candidates)
        )
        parts = [
            _look_ups(one, one.periods[period], judge, opening, actual)
            for one, judge in zip(self.users, self.judges)
        ]
        self._contexts = np.concatenate([part["contexts"] for part in parts])
        self._arrived = np.concatenate([part["arrived"] for part in parts])
        known = all("best" in part for part in parts)
        self._best = np.concatenate([part["best"] for part in parts]) if known else None
        self._told: dict[str, type] = {"opened": bool, "actual": bool}
        if flag("reveal", reveal):
            self._told |= {"probability": float, **({"best": float} if known else {})}
        self._cutoffs = [part["cutoff"] for part in parts]
        self._chances = [part["chances"] for part in parts]
        self._tables = (
            getattr(self._chances[0], "args", None)
            if isinstance(self.judge, SimulatedUser)
            else None
        )
        lengths = np.array([len(part["contexts"]) for part in parts])
        self._first = np.concatenate(
            [[0], np.cumsum(lengths)[:-1]]
        )  # where each user's contexts begin
        self._last = self._first + lengths - 1  # and the row that repeats the last one
        self.most_steps = int(lengths.max()) - 1
        self.observation_space, self.action_space = (
            self.schema.context.space,
            self.schema.notification.space,
        )
        self.observation_names, self.action_names = (
            self.schema.context.components,
            self.schema.notification.components,
        )
        self.action_choices = [
            (feature.name, list(feature.words)) for feature in self.schema.notification
        ]

    def __len__(self):
        return len(self.period)

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        who = self.users_asked(options.get("user"), len(draws))
        if who is None:
            who = (draws[:, 0] * len(self.users)).astype(np.int64)
        return {"row": self._first[who], "user": who}

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        row, n = state["row"], len(state["row"])
        told = probability, opened, actual, reward, following = (
            np.empty(n),
            np.empty(n, np.bool_),
            np.empty(n, np.bool_),
            np.empty(n),
            np.empty(n, np.int64),
        )
        if len(self.users) == 1 and self._tables is not None:
            push_each(
                row,
                action,
                *self._tables,
                draws,
                self._arrived,
                self._cutoffs[0],
                *told,
            )
        elif len(self.users) == 1:
            self._chances[0](row, action, probability)
            answer_each(row, draws, self._arrived, self._cutoffs[0], *told)
        else:
            for who in np.unique(state["user"]):
                mine = np.flatnonzero(state["user"] == who)
                parts = [np.empty(len(mine), array.dtype) for array in told]
                self._chances[who](row[mine] - self._first[who], action[mine], parts[0])
                answer_each(
                    row[mine], draws[mine], self._arrived, self._cutoffs[who], *parts
                )
                for array, part in zip(told, parts):
                    array[mine] = part
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
        return state["row"] == (
            self._last if len(self._last) == 1 else self._last.take(state["user"])
        )

    def info(self, state: dict, outcome: dict | None) -> dict:
        told = (
            {key: outcome[key] for key in self._told}
            if outcome is not None
            else {
                key: np.zeros(len(state["row"]), kind)
                for key, kind in self._told.items()
            }
        )
        return {**told, "user": state["user"]} if len(self.users) > 1 else told

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the plain dict that `pushlab.plots.phone` draws and documents."""
        row, who = int(state["row"][at]), int(state["user"][at])
        return {
            "env": self.name,
            "user": self.users[who].name,
            "step": int(row - self._first[who]),
            "of": int(self._last[who] - self._first[who]),
            "context": self.schema.context.decode_one(self._contexts[row]),
            "push": None if outcome is None else self._pushed(outcome, at),
            "labels": self.labels,
        }

    def _pushed(self, outcome, at):
        best = outcome["best"][at].item() if "best" in outcome else None
        return {
            "context": self.schema.context.decode_one(
                self._contexts[outcome["row"][at]]
            ),
            "notification": self.schema.notification.decode_one(outcome["action"][at]),
            "best": best,
            **{
                key: outcome[key][at].item()
                for key in ("opened", "actual", "reward", "probability")
            },
        }


def _look_ups(user, period, judge, opening, actual):
    """What a step looks up: a row a context, and one more that repeats the last, seen when all is over."""
    contexts, threshold = period.context_codes, cutoff(judge, user.history, opening)
    arrived = period.opened.astype(float)  # 1 and 0: certain
    if actual == "judge":
        arrived = judge.probability(contexts, period.notification_codes)
        if not np.isnan(threshold):
            arrived = (arrived >= threshold).astype(float)
    parts = {
        "contexts": np.concatenate([contexts, contexts[-1:]]),
        "arrived": np.append(arrived, 0.0),
        "cutoff": threshold,
        "chances": judge.chances(contexts),
    }
    if judge.name == "truth" and opening == "sampled":
        parts["best"] = np.append(
            judge.best_probability(contexts, user.catalogue_codes), 0.0
        )
    return parts


NOTHING = 2  # beside 0 dismissed and 1 opened: there was no answer yet


@compiled
def recall_each(row, contexts, sent, answer, none, seen):
    """Writes into seen (n, …) each copy's context and, behind it, its last context, notification and answer."""
    wide, features = contexts.shape[1], sent.shape[1]
    for i in range(len(row)):
        for at in range(wide):
            seen[i, at] = contexts[row[i], at]
        if answer[i] == NOTHING:
            for at in range(len(none)):
                seen[i, wide + at] = none[at]
            continue
        for at in range(wide):
            seen[i, wide + at] = contexts[row[i] - 1, at]
        for at in range(features):
            seen[i, 2 * wide + at] = sent[i, at]
        seen[i, 2 * wide + features] = answer[i]


class EvalUMAP2(EvalUMAP1):
    """Choose a notification for every context of a user's three test months, knowing nothing of the user at the start.

    Observation  Dict of two MultiDiscrete, int64. "context" is that of evalumap1-v0. "last" is the last engagement: the
                 codes of its context, of its notification, and 0 dismissed or 1 opened; before the first answer every
                 component holds one more than its highest code, which means `none`.
    Arguments    as evalumap1-v0; candidates="catalogue" by default, for there is no history to look at
    Methods      env.unwrapped.engagements(): all engagements of the episode so far, a DataFrame of words with the
                 challenge's column names and `action`

    Action, reward, start, end and info are those of evalumap1-v0; so are the answers: the same seed and the same
    notifications lead the same life in both.

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

    def __init__(
        self,
        user: Any = "mira",
        period: str = "test",
        judge: Any = None,
        opening: str = "sampled",
        actual: str = "recorded",
        candidates: Any = "catalogue",
        reveal: bool = False,
    ):
        super().__init__(user, period, judge, opening, actual, candidates, reveal)
        halves = (self.schema.context, self.schema.notification)
        self._none = np.concatenate([*(half.sizes for half in halves), [2]])
        self.observation_space = Dict(
            {
                "context": self.schema.context.space,
                "last": MultiDiscrete(self._none + 1),
            }
        )
        self.observation_names = {
            "context": halves[0].components,
            "last": (*halves[0].components, *halves[1].components, "action"),
        }

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n = len(draws)
        return {
            **super().initial(draws, options),
            "sent": np.zeros((n, len(self.action_names)), np.int64),
            "answer": np.full(n, NOTHING, np.int8),
        }

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        following, outcome = super().advance(state, action, draws)
        following["sent"], following["answer"] = action, outcome["opened"].view(np.int8)
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
        """The engagements of the episode so far, a DataFrame with a row a notification."""
        rows = np.array([row[0] for row, _, _ in env.trail], np.int64)
        sent = np.array([action[0] for _, action, _ in env.trail], np.int64)
        opened = np.array([answer[0] for _, _, answer in env.trail], bool)
        parts = [
            self.schema.context.decode(self._contexts[rows]),
            self.schema.notification.decode(
                sent.reshape(len(rows), len(self.action_names))
            ),
        ]
        return pd.concat(parts, axis=1).assign(
            action=np.where(opened, "opened", "dismissed")
        )
