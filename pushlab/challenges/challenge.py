"""The EvalUMAP challenges: a history to learn from, contexts to answer, a scorecard for the answers.

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

WINDOW = 100  # steps of the rolling mean that the learning rate is computed from


@dataclass(frozen=True)
class Challenge:
    """One user's challenge: a history, contexts to answer, and `evaluate` to score the answers.

    Args:
        user: A User.
        period: The period whose contexts are to be answered.
        judge: A judge or its name. None takes the true user if it is known, else the default judge.
        opening: "sampled", "threshold" or "matched", as in the environments.
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
        period: str = "test",
        judge: Any = None,
        opening: str = "sampled",
    ) -> "Challenge":
        """Load the challenge of a user.

        Args:
            user: Name of a shipped user or of one in `data`, a user's folder, or a User.
            data: A folder or wheel of users.

        The hand-out of a private user (`pushlab make-user`) has a history and contexts but can't score answers.

        Raises:
            FileNotFoundError: There is no such user.
            BadData: The user's tables have faults.
            ValueError: The period, judge or opening is wrong.
        """
        found = load_user(user) if data is None else load_user(data, user)
        one_of(f"the period of user {found.name}", period, found.periods)
        challenge = cls(found, period, judge, opening)
        if found.periods[period].answered:
            challenge.world  # noqa: B018 (raises for a wrong judge or opening)
        return challenge

    @property
    def history(self) -> Period:
        """The Period to learn from: `.notifications`, `.contexts` and `.engagements` are DataFrames."""
        return self.user.history

    @property
    def contexts(self) -> pd.DataFrame:
        """DataFrame of the contexts to be answered: `id`, a number from 0, and the features."""
        contexts = self.user.periods[self.period].contexts
        contexts.insert(0, "id", np.arange(len(contexts)))
        return contexts

    @cached_property
    def world(self) -> EvalUMAP1:
        """The world of evalumap1-v0, which answers notifications."""
        return EvalUMAP1(self.user, self.period, self.judge, self.opening)

    @cached_property
    def cold_world(self) -> EvalUMAP2:
        """The world of evalumap2-v0: the same user for an agent without a history, with the values that scores need."""
        return EvalUMAP2(self.user, self.period, self.judge, self.opening, reveal=True)

    @cached_property
    def panel(self) -> dict[str, Callable]:
        """Functions of (row (n,), codes (n, components), probability (n,)), by judge; each fills in `probability`."""
        contexts = self.user.periods[self.period].context_codes
        judges = panel_of(self.user)
        return {name: judge.chances(contexts) for name, judge in judges.items()}

    def evaluate(
        self,
        notifications: pd.DataFrame,
        seed: int = 0,
        agent: str = "submission",
        file: str | None = None,
    ) -> Scorecard:
        """Score one notification for each context; the user answers as in evalumap1-v0 after reset(seed=seed).

        Args:
            notifications: DataFrame with the challenge's column names and values. Rows belong to contexts by the
                column `id`, or else by their order. `response_time` (seconds) is optional.
            agent: Name of the agent on the scorecard.
            file: Name of the file that the table was read from. Messages count rows as those of a CSV file.

        A value of an open feature (app, category, subject) that the history doesn't have counts as "other". The
        scorecard notes it; for a table that isn't a file, a warning says so too.

        Raises:
            BadData: The notifications have faults; the message lists all of them.
        """
        codes, seconds, notes = read_notifications(
            notifications,
            self.user.schema,
            len(self.world),
            file or "notifications",
        )
        for note in notes if file is None else ():
            warnings.warn(note, stacklevel=2)
        count = len(codes)
        draws = own_draws(seed, count, self.world.uniforms)
        state = {"row": np.arange(count), "user": np.zeros(count, np.int64)}
        _, outcome = self.world.advance(state, codes, draws)
        return self.score(
            codes, outcome, draws[:, 0], 1, agent, (seed,), seconds, notes
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
        """Return the Scorecard of one or several episodes, a row a notification, episode after episode.

        Args:
            codes: Notifications, int64 (rows, components), a row for each context and seed.
            outcome: The world's "opened", "actual", "probability" (rows,), and "best" if it is known.
            draws: Uniform numbers (rows,) that decide what each judge of the panel opens.
            seconds: Response times (rows,) as the participant reported them, or None.
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
            notes=tuple(notes),
        )

    def _ask_panel(self, codes, draws):
        """Return the click-through rates of `Scorecard.judges`."""
        rows = np.arange(len(codes)) % len(self.user.periods[self.period])
        rates = {}
        probability = np.empty(len(codes))
        for name, fill_in in self.panel.items():
            fill_in(rows, codes, probability)
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
        opened = outcome["opened"]
        actual = outcome["actual"]
        best = outcome.get("best")
        history = self.history.notification_codes
        # Without sampling, opening is certain or impossible, whatever the judge's probability.
        is_sampled = self.opening == "sampled"
        chance = outcome["probability"] if is_sampled else opened.astype(float)
        earned = push.performance(actual, opened)
        top = push.best_performance(actual, best)
        expected = float(push.expected_points(actual, chance).sum())
        metrics = {
            "performance": earned / episodes,
            "performance_share": earned / top if top > 0 else None,
            "expected_performance": expected / episodes,
        }
        if best is not None:
            metrics["regret"] = push.regret(best, outcome["probability"])
        metrics |= {
            "click_through_rate": push.click_through_rate(opened),
            "panel_click_through_rate": float(
                np.mean([rates["expected"] for rates in judges.values()])
            ),
            "coverage": push.coverage(codes[opened], history),
            "evenness": push.evenness(codes[opened], history),
            "plausibility": push.plausibility(codes[:, self._combined], self._known),
        }
        if "enticement" in self.world.schema.notification.names:
            column = self.world.action_names.index("enticement")
            words = self.world.schema.notification["enticement"].words
            if set(words) == set(push.ENTICEMENT):
                levels = [words[code] for code in codes[:, column]]
                metrics["enticement"] = push.enticement(levels)
        steps = len(codes) // episodes
        if challenge == 2 and steps > 1:
            curve = push.points(actual, opened).reshape(episodes, -1).mean(axis=0)
            rate = push.learning_rate(curve, max(1, min(WINDOW, steps // 10)))
            metrics["learning_slope"] = rate.slope
            metrics["settled_step"] = float(rate.settled)
        return metrics

    @cached_property
    def _combined(self):
        """Components whose combinations can be implausible: open features (app, category, subject), or else all."""
        half = self.user.schema.notification
        is_open = [
            name in half.names and half[name].kind == "open" for name in half.components
        ]
        return np.flatnonzero(is_open if any(is_open) else np.ones(len(is_open)))

    @cached_property
    def _known(self):
        """Combinations in the history or the catalogue, int64 (combinations, len(_combined))."""
        parts = [self.history.notification_codes, self.user.catalogue_codes]
        rows = np.concatenate(parts)[:, self._combined]
        return np.unique(rows[(rows >= 0).all(axis=1)], axis=0)


def own_draws(seed: int, count: int, uniforms: int) -> np.ndarray:
    """Return the uniform numbers (count, uniforms) of an episode's steps after an environment's reset(seed).

    The first row of the environment's stream belongs to the reset itself.
    """
    from gymnasium.utils.seeding import np_random

    return np_random(seed)[0].random((count + 1, uniforms))[1:]
