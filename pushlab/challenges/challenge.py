"""The EvalUMAP challenges: a history to learn from, contexts to answer, and a scorecard for the answers.

>>> challenge = Challenge.load("mira")
>>> challenge.history.engagements.shape[1], challenge.contexts.columns[:2].tolist()
(20, ['id', 'day'])
>>> replayed = challenge.history.notifications.head(len(challenge.contexts))
>>> challenge.evaluate(replayed, agent="own history")      # doctest: +ELLIPSIS
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
from pushlab.metrics import push
from pushlab.metrics.estimate import proportion_interval
from pushlab.users.judges import judge_panel
from pushlab.utils.arguments import validate_choice

WINDOW = 100  # steps of the rolling mean for the learning rate


@dataclass(frozen=True)
class Challenge:
    """One user's challenge: a history, contexts to answer, and `evaluate` to score the answers.

    Args:
        user: A User.
        period: Name of the period whose contexts are answered.
        judge: A judge or its name. None means the true user if it is known, and the default judge otherwise.
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
            user: Name of a shipped user or of a user in `data`, a user's folder, or a User.
            data: A folder or wheel of users.
            period, judge, opening: As in `Challenge`.

        The hand-out of a private user (`pushlab make-user`) has a history and contexts but can't score answers.

        Raises:
            FileNotFoundError: If there is no such user.
            BadData: If the user's tables have issues.
            ValueError: If the period, judge or opening is invalid.
        """
        loaded = load_user(user) if data is None else load_user(data, user)
        validate_choice(f"the period of user {loaded.name}", period, loaded.periods)
        challenge = cls(loaded, period, judge, opening)
        if loaded.periods[period].has_actions:
            challenge.world  # noqa: B018 (raises for an invalid judge or opening)
        return challenge

    @property
    def history(self) -> Period:
        """The Period to learn from, with the DataFrames `.notifications`, `.contexts` and `.engagements`."""
        return self.user.history

    @property
    def contexts(self) -> pd.DataFrame:
        """Contexts to answer, a DataFrame: `id`, a number from 0, and the features."""
        contexts = self.user.periods[self.period].contexts
        contexts.insert(0, "id", np.arange(len(contexts)))
        return contexts

    @cached_property
    def world(self) -> EvalUMAP1:
        """The world of evalumap1-v0, which simulates the user's answers."""
        return EvalUMAP1(self.user, self.period, self.judge, self.opening)

    @cached_property
    def cold_start_world(self) -> EvalUMAP2:
        """The world of evalumap2-v0 for the same user, with the infos needed for scores."""
        return EvalUMAP2(self.user, self.period, self.judge, self.opening, reveal=True)

    @cached_property
    def panel(self) -> dict[str, Callable]:
        """One function per judge. It fills `probability` (n,), given `row` (n,) and `codes` (n, components)."""
        contexts = self.user.periods[self.period].context_codes
        judges = judge_panel(self.user)
        return {
            name: judge.probability_function(contexts) for name, judge in judges.items()
        }

    def evaluate(
        self,
        notifications: pd.DataFrame,
        seed: int = 0,
        agent: str = "submission",
        file: str | None = None,
    ) -> Scorecard:
        """Score one notification for each context. The user answers as in evalumap1-v0 after reset(seed=seed).

        Args:
            notifications: DataFrame with the challenge's column names and values. Rows are matched to contexts by the
                column `id` if there is one, and by their order otherwise. `response_time` (seconds) is optional.
            seed: Seed of the user's answers.
            agent: Name of the agent on the scorecard.
            file: Name of the table's file, or None. Messages count rows as in a CSV file.

        If an open feature (app, category, subject) has a value that isn't in the history, the value counts as "other",
        and the scorecard has a note about it. If `file` is None, there is also a warning.

        Raises:
            BadData: If the notifications have issues; the message lists all of them.
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
        draws = episode_uniforms(seed, count, self.world.uniforms)
        state = {
            "row": np.arange(count),
            "user": np.zeros(count, np.int64),
        }
        _, outcome = self.world.advance(state, codes, draws)
        return self.score(
            codes,
            outcome,
            draws[:, 0],
            1,
            agent,
            (seed,),
            seconds,
            notes,
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
        """Return the Scorecard of one or several consecutive episodes, with one row per notification.

        Args:
            codes: Notifications, int64 (rows, components), a row for each context and seed.
            outcome: The world's "opened", "actual", "probability" (rows,), and "best" if it is known.
            draws: Uniform numbers (rows,) that determine the opens of each judge in the panel.
            challenge: Number of the challenge, 1 or 2.
            agent: Name of the agent on the scorecard.
            seeds: Seeds of the episodes.
            seconds: Response times (rows,) as reported by the participant, or None.
            notes: Remarks for the reader of the scorecard.
        """
        judges = self._panel_rates(codes, draws)
        return Scorecard(
            agent=agent,
            challenge=challenge,
            user=self.user.name,
            period=self.period,
            judge=self.world.judge.name,
            opening=self.opening,
            count=len(codes),
            seeds=tuple(int(seed) for seed in seeds),
            metrics=self._metrics(codes, outcome, len(seeds), challenge, judges),
            judges=judges,
            response=None if seconds is None else push.response_time(seconds),
            notes=tuple(notes),
        )

    def _panel_rates(self, codes, draws):
        """Return the click-through rates of each judge, as in `Scorecard.judges`."""
        n_contexts = len(self.user.periods[self.period])
        rows = np.arange(len(codes)) % n_contexts
        rates = {}
        probability = np.empty(len(codes))
        for name, fill_probability in self.panel.items():
            fill_probability(rows, codes, probability)
            n_opened = int((draws < probability).sum())
            sampled = proportion_interval(n_opened, len(codes))
            rates[name] = {
                "expected": float(probability.mean()),
                "sampled": sampled.mean,
                "low": sampled.low,
                "high": sampled.high,
                "threshold": float((probability >= 0.5).mean()),
            }
        return rates

    def _metrics(self, codes, outcome, episodes, challenge, judges):
        opened = outcome["opened"]
        actual = outcome["actual"]
        best = outcome.get("best")
        history = self.history.notification_codes
        # Without sampling, the user's answer is certain.
        is_sampled = self.opening == "sampled"
        probability = outcome["probability"] if is_sampled else opened.astype(float)
        points = push.performance(actual, opened)
        max_points = push.best_performance(actual, best)
        expected = float(push.expected_points(actual, probability).sum())
        metrics = {
            "performance": points / episodes,
            "performance_share": points / max_points if max_points > 0 else None,
            "expected_performance": expected / episodes,
        }
        if best is not None:
            metrics["regret"] = push.regret(best, outcome["probability"])
        panel_rates = [rates["expected"] for rates in judges.values()]
        combinations = codes[:, self._combined]
        metrics |= {
            "click_through_rate": push.click_through_rate(opened),
            "panel_click_through_rate": float(np.mean(panel_rates)),
            "coverage": push.coverage(codes[opened], history),
            "evenness": push.evenness(codes[opened], history),
            "plausibility": push.plausibility(combinations, self._known_combinations),
        }
        if "enticement" in self.world.schema.notification.names:
            column = self.world.action_names.index("enticement")
            words = self.world.schema.notification["enticement"].words
            if set(words) == set(push.ENTICEMENT):
                levels = [words[code] for code in codes[:, column]]
                metrics["enticement"] = push.enticement(levels)
        steps = len(codes) // episodes
        if challenge == 2 and steps > 1:
            curves = push.points(actual, opened).reshape(episodes, -1)
            window = max(1, min(WINDOW, steps // 10))
            rate = push.learning_rate(curves.mean(axis=0), window)
            metrics["learning_slope"] = rate.slope
            metrics["settled_step"] = float(rate.settling_step)
        return metrics

    @cached_property
    def _combined(self):
        """Components for plausible combinations: open features (app, category, subject), or all if none is open."""
        half = self.user.schema.notification
        is_open = [
            name in half.names and half[name].kind == "open" for name in half.components
        ]
        return np.flatnonzero(is_open if any(is_open) else np.ones(len(is_open)))

    @cached_property
    def _known_combinations(self):
        """Combinations in the history or the catalogue, int64 (combinations, len(_combined))."""
        parts = [self.history.notification_codes, self.user.catalogue_codes]
        rows = np.concatenate(parts)[:, self._combined]
        is_complete = (rows >= 0).all(axis=1)
        return np.unique(rows[is_complete], axis=0)


def episode_uniforms(seed: int, count: int, uniforms: int) -> np.ndarray:
    """Return the uniform numbers (count, uniforms) of an episode's steps after an environment's reset(seed).

    The environment uses the first row of its stream for the reset.
    """
    from gymnasium.utils.seeding import np_random

    rng, _ = np_random(seed)
    return rng.random((count + 1, uniforms))[1:]
