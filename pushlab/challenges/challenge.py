"""The EvalUMAP challenges the batch way: a history to learn from, contexts to answer, a scorecard for the answers.

>>> challenge = Challenge.load("mira")
>>> challenge.history.engagements.shape[1], challenge.contexts.columns[:2].tolist()
(20, ['id', 'day'])
>>> same_as_ever = challenge.history.notifications.head(len(challenge.contexts))
>>> challenge.evaluate(same_as_ever, agent="own history")      # doctest: +ELLIPSIS
Scorecard('own history', user 'mira', performance ...)
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.challenges.answers import read_notifications
from pushlab.challenges.scorecard import Scorecard
from pushlab.datasets.periods import Period, User
from pushlab.datasets.reading import load_user
from pushlab.envs.evalumap import EvalUMAP1, EvalUMAP2
from pushlab.ground.arguments import one_of
from pushlab.metrics import push
from pushlab.metrics.estimate import share_interval
from pushlab.users.judges import panel_of

WINDOW = 100  # steps of the rolling mean behind the learning rate


@dataclass(frozen=True)
class Challenge:
    """One user's challenge: history, contexts, and `evaluate` for the notifications that answer them.

    user     User
    period   the period whose contexts wait for notifications
    judge    who opens: a judge or its name; None: the true user where known, else the default judge
    opening  "sampled", "threshold" or "matched", as in the environments
    """

    user: User
    period: str = "test"
    judge: Any = None
    opening: str = "sampled"

    @classmethod
    def load(
        cls,
        user: Any,
        data: str | Path | None = None,
        schema: Any = None,
        period: str = "test",
        judge: Any = None,
        opening: str = "sampled",
    ) -> "Challenge":
        """The challenge of a user.

        user   name of a shipped user or of one in `data`, a user's folder, or a User
        data   a folder or wheel of users

        What students get of a private user (`pushlab make-user`) has a history and contexts; it cannot be scored by.

        Raises FileNotFoundError if there is no such user, BadData if the tables are at fault.
        """
        found = (
            load_user(data, user=user, schema=schema)
            if data is not None
            else load_user(user, schema=schema)
        )
        challenge = cls(found, period, judge, opening)
        one_of(f"the period of user {found.name}", period, found.periods)
        if found.periods[period].answered:
            len(
                challenge.world
            )  # a wrong judge or opening is said here and not after an hour of work
        return challenge

    @property
    def history(self) -> Period:
        """The Period to learn from: `.notifications`, `.contexts` and `.engagements` are DataFrames."""
        return self.user.history

    @property
    def contexts(self) -> pd.DataFrame:
        """DataFrame of the contexts that wait for a notification each: `id`, a number from 0, and the features."""
        contexts = self.user.periods[self.period].contexts
        contexts.insert(0, "id", np.arange(len(contexts)))
        return contexts

    @cached_property
    def world(self) -> EvalUMAP1:
        """The world of evalumap1-v0 that answers."""
        return EvalUMAP1(self.user, self.period, self.judge, self.opening)

    @cached_property
    def cold_world(self) -> EvalUMAP2:
        """The world of evalumap2-v0, the same user for an agent that starts cold; it reveals what scores need."""
        return EvalUMAP2(self.user, self.period, self.judge, self.opening, reveal=True)

    @cached_property
    def panel(self) -> dict[str, Callable]:
        """{judge: f(row (n,), codes (n, components), probability (n,))}: fills in what each judge of the panel says."""
        contexts = self.user.periods[self.period].context_codes
        return {
            name: judge.chances(contexts) for name, judge in panel_of(self.user).items()
        }

    def evaluate(
        self,
        notifications: pd.DataFrame,
        seed: int = 0,
        agent: str = "submission",
        file: str = "notifications",
        lines: Sequence[int] | None = None,
    ) -> Scorecard:
        """Scores one notification for each context; the user answers as in evalumap1-v0 after reset(seed=seed).

        notifications  DataFrame with the challenge's column names and values; the names in the data files (appPackage
                       for postingApp, …) will do as well. Rows belong to contexts by the column `id` if there is one,
                       else by their order. `response_time` (seconds) may be there too
        agent          whose they are
        file, lines    what a fault calls the table, and its rows (by default their places, from 0)

        Raises BadData with every fault. A value of an open feature (app, category, subject) that the history does not
        have is no fault: it is coded as "other", and the scorecard says so; of a table that is no file, a warning too.
        """
        codes, seconds, notes = read_notifications(
            notifications, self.user.schema, len(self.world), file, lines
        )
        for note in notes if lines is None else ():  # of a file, the report tells them
            warnings.warn(note, stacklevel=2)
        count = len(codes)
        draws = own_draws(seed, count, self.world.uniforms)
        state = {"row": np.arange(count), "user": np.zeros(count, np.int64)}
        _, outcome = self.world.advance(state, codes, draws)
        return self.score(
            codes,
            outcome,
            draws[:, 0],
            challenge=1,
            agent=agent,
            seeds=(seed,),
            seconds=seconds,
            notes=notes,
        )

    def score(
        self,
        codes: np.ndarray,
        outcome: Mapping[str, np.ndarray],
        draws: np.ndarray,
        challenge: int,
        agent: str,
        seeds: Sequence[int],
        seconds: np.ndarray | None = None,
        notes: Sequence[str] = (),
    ) -> Scorecard:
        """The Scorecard of one or several episodes, a row a notification, episode after episode.

        codes    int64 (rows, components) of what was sent; rows are as many as contexts, times the number of seeds
        outcome  what the world said: "opened", "actual", "probability" (rows,), and "best" where it is known
        draws    uniform numbers (rows,) by which the panel opens, the same for each judge
        seconds  response times (rows,) as the participant reported them, or None
        """
        judges = self._ask_panel(codes, draws)
        return Scorecard(
            agent=agent,
            challenge=challenge,
            user=self.user.name,
            period=self.period,
            judge=self.world.judge.name,
            opening=self.opening,
            count=len(codes),
            seeds=tuple(int(seed) for seed in seeds),
            metrics=self._measure(codes, outcome, len(seeds), challenge, judges),
            judges=judges,
            response=None if seconds is None else push.response_time(seconds),
            reported=seconds is not None,
            notes=tuple(notes),
        )

    def _ask_panel(self, codes, draws):
        """The click-through rate under each judge, as `Scorecard.judges` has it."""
        rows = np.arange(len(codes)) % len(self.user.periods[self.period])
        rates, probability = {}, np.empty(len(codes))
        for name, answer in self.panel.items():
            answer(rows, codes, probability)
            sampled = share_interval(int((draws < probability).sum()), len(codes))
            rates[name] = {
                "expected": float(probability.mean()),
                "sampled": sampled.mean,
                "low": sampled.low,
                "high": sampled.high,
                "threshold": float((probability >= 0.5).mean()),
            }
        return rates

    def _measure(self, codes, outcome, episodes, challenge, judges):
        opened, actual, probability = (
            outcome[key] for key in ("opened", "actual", "probability")
        )
        history, accepted = self.history.notification_codes, codes[opened]
        best = outcome.get("best")
        # By a threshold, opening is certain or impossible, whatever the judge's probability.
        chance = probability if self.opening == "sampled" else opened.astype(float)
        top = push.best_performance(actual, best)
        metrics = {
            "performance": push.performance(actual, opened) / episodes,
            "performance_share": push.performance(actual, opened) / top
            if top > 0
            else None,
            "expected_performance": float(push.expected_points(actual, chance).sum())
            / episodes,
            **({} if best is None else {"regret": push.regret(best, probability)}),
            "click_through_rate": push.click_through_rate(opened),
            "panel_click_through_rate": float(
                np.mean([rates["expected"] for rates in judges.values()])
            ),
            "coverage": push.coverage(accepted, history),
            "evenness": push.evenness(accepted, history),
            "plausibility": push.plausibility(codes[:, self._combined], self._known),
        }
        if "enticement" in self.world.schema.notification.names:
            at = self.world.action_names.index("enticement")
            words = self.world.schema.notification["enticement"].words
            if set(words) == set(push.ENTICEMENT):
                metrics["enticement"] = push.enticement(
                    [words[code] for code in codes[:, at]]
                )
        if challenge == 2 and len(codes) > 1:
            curve = push.points(actual, opened).reshape(episodes, -1).mean(axis=0)
            rate = (
                push.learning_rate(curve, max(1, min(WINDOW, len(curve) // 10)))
                if len(curve) > 1
                else None
            )
            metrics |= (
                {"learning_slope": rate.slope, "settled_step": float(rate.settled)}
                if rate
                else {}
            )
        return metrics

    @cached_property
    def _combined(self):
        """The components whose combinations can be nonsense: open features (app, category, subject), or else all."""
        half = self.user.schema.notification
        named = [
            at
            for at, name in enumerate(half.components)
            if name in half.names and half[name].kind == "open"
        ]
        return np.array(named or range(len(half.components)))

    @cached_property
    def _known(self):
        """The combinations that history or catalogue knows, int64 (combinations, len(_combined))."""
        rows = np.concatenate(
            [self.history.notification_codes, self.user.catalogue_codes]
        )[:, self._combined]
        return np.unique(rows[(rows >= 0).all(axis=1)], axis=0)


def own_draws(seed: int, count: int, uniforms: int) -> np.ndarray:
    """The uniform numbers (count, uniforms) of the steps of an episode that begins with an environment's reset(seed).

    The first row of the environment's stream belongs to the reset itself.
    """
    from gymnasium.utils.seeding import np_random

    return np_random(seed)[0].random((count + 1, uniforms))[1:]
