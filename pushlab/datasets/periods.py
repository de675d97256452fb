"""A user as read: stretches of engagements, and what is known of the person."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from pushlab.datasets.features import encode_column
from pushlab.datasets.schema import Schema
from pushlab.ground.arguments import demand


@dataclass(frozen=True)
class Period:
    """A stretch of one user's engagements: a row a notification, in order of time.

    table  DataFrame of text columns: the features, `action` ("opened" or "dismissed") and, where the data have them,
           `posted` and `removed` (datetime64), `response_time`, `seen_time`, `decision_time` (seconds, float64) and
           the context at removal as `removal.<feature>`; of a hand-out's test period, the context alone

    Raises ValueError where a period of contexts alone is asked for notifications or answers.
    """

    schema: Schema
    table: pd.DataFrame

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return (
            f"Period({len(self):,} notifications, {self.opened.mean():.0%} opened)"
            if self.answered
            else f"Period({len(self):,} contexts)"
        )

    @property
    def answered(self) -> bool:
        """Whether it is known what was sent and what became of it."""
        return "action" in self.table

    def _known(self):
        """The table; ValueError for one of contexts alone."""
        demand(
            self.answered,
            "this period is a hand-out's: its contexts wait for notifications, and what was sent and "
            "opened then is known to whoever scores them. To practise, take period='history'",
        )
        return self.table

    @property
    def notifications(self) -> pd.DataFrame:
        """DataFrame of the notification features, as text."""
        return self._known()[list(self.schema.notification.names)].copy()

    @property
    def contexts(self) -> pd.DataFrame:
        """DataFrame of the context features at posting, as text."""
        return self.table[list(self.schema.context.names)].copy()

    @property
    def engagements(self) -> pd.DataFrame:
        """DataFrame of context, notification and `action`; `posted` too where the data have dates."""
        dates = ["posted"] if "posted" in self.table else []
        return self._known()[
            [
                *self.schema.context.names,
                *self.schema.notification.names,
                "action",
                *dates,
            ]
        ].copy()

    @cached_property
    def opened(self) -> np.ndarray:
        """Whether each notification was opened, bool array (rows,)."""
        return _frozen((self._known()["action"] == "opened").to_numpy())

    @cached_property
    def notification_codes(self) -> np.ndarray:
        """int64 array (rows, notification components)."""
        return _frozen(self.schema.notification.encode(self._known()))

    @cached_property
    def context_codes(self) -> np.ndarray:
        """int64 array (rows, context components)."""
        return _frozen(self.schema.context.encode(self.table))


def _frozen(array):
    """The array, read-only: environments share it."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class User:
    """One user: periods by name, the schema fitted to the history, a load report, and the truth if it is known.

    truth      the log-odds a synthetic user was generated from (`truth.json`), or None for a real person
    catalogue  DataFrame of the combinations of notification features that exist (`catalogue.csv` beside the users:
               any of the notification's columns), or None
    """

    name: str
    schema: Schema
    periods: dict[str, Period]
    truth: dict | None = None
    catalogue: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"User({self.name!r}, {', '.join(f'{name}: {len(period):,}' for name, period in self.periods.items())})"

    @property
    def history(self) -> Period:
        """The Period to learn from."""
        return self.periods["history"]

    @property
    def test(self) -> Period:
        """The Period to be judged on."""
        return self.periods["test"]

    @cached_property
    def catalogue_codes(self) -> np.ndarray:
        """Codes of the catalogue, int64 (rows, notification components); -1 where a feature is left free."""
        half = self.schema.notification
        if self.catalogue is None:
            return _frozen(np.full((1, len(half.components)), -1))
        columns = [
            encode_column(feature, self.catalogue[feature.name])[0]
            if feature.name in self.catalogue
            else np.full((len(self.catalogue), len(feature.components)), -1)
            for feature in half
        ]
        return _frozen(np.concatenate(columns, axis=1))

    def report(self) -> str:
        """What was read, as text: rows, open rate, dates and values that were new after the history."""
        lines = [f"user {self.name}, schema {self.schema.name}"]
        for name, period in self.periods.items():
            if not period.answered:
                lines.append(
                    f"  {name}: {len(period):,} contexts that wait for notifications"
                )
                continue
            line = f"  {name}: {len(period):,} notifications, {period.opened.mean():.1%} opened"
            if "posted" in period.table:
                posted = period.table["posted"]
                line += f", {posted.min():%Y-%m-%d} to {posted.max():%Y-%m-%d}"
            lines.append(line)
            new = {
                **self.schema.notification.count_other(period.notification_codes),
                **self.schema.context.count_other(period.context_codes),
            }
            lines += [
                f"    {feature}: {count:,} row{'s' if count > 1 else ''} with a value not in the history, "
                "coded as 'other'"
                for feature, count in new.items()
            ]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])
