"""Loaded users: their periods of engagements, schema, catalogue, and truth if they are synthetic."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from pushlab.datasets.schema import Schema, encode_column


@dataclass(frozen=True)
class Period:
    """A period of one user's engagements: a row for each notification, in order of time.

    The test period of a hand-out has contexts only. Its attributes with notifications or actions raise ValueError.

    Attributes:
        schema: The schema, fitted to the user's history.
        table: DataFrame of text columns: the features and `action` ("opened" or "dismissed"). If the data have them,
            also `posted` and `removed` (datetime64), `response_time`, `seen_time` and `decision_time` (seconds,
            float64), and the context at removal as `removal.<feature>`.
    """

    schema: Schema
    table: pd.DataFrame

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        if not self.has_actions:
            return f"Period({len(self):,} contexts)"
        return f"Period({len(self):,} notifications, {self.opened.mean():.0%} opened)"

    @property
    def has_actions(self) -> bool:
        """Whether the period has notifications and actions, not only contexts."""
        return "action" in self.table

    def _table_with_actions(self):
        """Return the table; raise ValueError if it has contexts only."""
        if not self.has_actions:
            raise ValueError(
                "a hand-out has only the contexts of this period; the person who scores answers has the rest. "
                "To practise, use period='history'"
            )
        return self.table

    @property
    def notifications(self) -> pd.DataFrame:
        """DataFrame of the notification features, as text."""
        return self._table_with_actions()[list(self.schema.notification.names)].copy()

    @property
    def contexts(self) -> pd.DataFrame:
        """DataFrame of the context features at posting, as text."""
        return self.table[list(self.schema.context.names)].copy()

    @property
    def engagements(self) -> pd.DataFrame:
        """DataFrame of the context and notification features, `action`, and `posted` if the data have dates."""
        features = (*self.schema.context.names, *self.schema.notification.names)
        dates = ["posted"] if "posted" in self.table else []
        return self._table_with_actions()[[*features, "action", *dates]].copy()

    @cached_property
    def opened(self) -> np.ndarray:
        """Whether each notification was opened, bool (rows,)."""
        is_opened = self._table_with_actions()["action"] == "opened"
        return _read_only(is_opened.to_numpy())

    @cached_property
    def notification_codes(self) -> np.ndarray:
        """Codes of the notifications, int64 (rows, notification components)."""
        return _read_only(self.schema.notification.encode(self._table_with_actions()))

    @cached_property
    def context_codes(self) -> np.ndarray:
        """Codes of the contexts at posting, int64 (rows, context components)."""
        return _read_only(self.schema.context.encode(self.table))


def _read_only(array):
    """Return the array, made read-only since environments share it."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class User:
    """One user.

    Attributes:
        name: Name of the user.
        schema: Schema, fitted to the history.
        periods: Periods by name.
        truth: Weights from which a synthetic user was generated (`truth.json`), or None.
        catalogue: DataFrame of the combinations of notification features that exist (`catalogue.csv` beside the
            users, with any of the notification's columns), or None.
        notes: Remarks about the loading, for `report`.
    """

    name: str
    schema: Schema
    periods: dict[str, Period]
    truth: dict | None = None
    catalogue: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        sizes = [f"{name}: {len(period):,}" for name, period in self.periods.items()]
        return f"User({self.name!r}, {', '.join(sizes)})"

    @property
    def history(self) -> Period:
        """The period to learn from."""
        return self.periods["history"]

    @property
    def test(self) -> Period:
        """The period on which agents and judges are evaluated."""
        return self.periods["test"]

    @cached_property
    def catalogue_codes(self) -> np.ndarray:
        """Codes of the catalogue, int64 (rows, notification components); -1 for features that it doesn't have."""
        features = self.schema.notification
        if self.catalogue is None:
            return _read_only(np.full((1, len(features.components)), -1))
        codes = np.full((len(self.catalogue), len(features.components)), -1)
        for feature, block in features.blocks:
            if feature.name in self.catalogue:
                column = self.catalogue[feature.name]
                codes[:, block] = encode_column(feature, column)[0]
        return _read_only(codes)

    def with_schema(self, schema: Schema) -> "User":
        """Return this user with another schema of the same features."""
        periods = {
            name: replace(period, schema=schema)
            for name, period in self.periods.items()
        }
        return replace(self, schema=schema, periods=periods)

    def report(self) -> str:
        """Return a summary of each period: rows, open rate, dates, and values that aren't in the history."""
        lines = [f"user {self.name}, schema {self.schema.name}"]
        for name, period in self.periods.items():
            if not period.has_actions:
                lines.append(
                    f"  {name}: {len(period):,} contexts without notifications"
                )
                continue
            line = f"  {name}: {len(period):,} notifications, {period.opened.mean():.1%} opened"
            if "posted" in period.table:
                posted = period.table["posted"]
                line += f", {posted.min():%Y-%m-%d} to {posted.max():%Y-%m-%d}"
            lines.append(line)
            counts = self.schema.notification.count_other(period.notification_codes)
            counts |= self.schema.context.count_other(period.context_codes)
            for feature, count in counts.items():
                rows = f"{count:,} row{'s' if count > 1 else ''}"
                lines.append(
                    f"    {feature}: {rows} with a value not in the history, coded as 'other'"
                )
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])
