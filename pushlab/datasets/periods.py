"""Users as loaded: periods of engagements, schema, catalogue, and the truth about a synthetic person."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from pushlab.datasets.schema import Schema, encode_column


@dataclass(frozen=True)
class Period:
    """A period of one user's engagements: one row per notification, in order of time.

    Attributes:
        schema: The schema, fitted to the user's history.
        table: DataFrame of text columns: the features, `action` ("opened" or "dismissed") and, if the data have them,
            `posted` and `removed` (datetime64), `response_time`, `seen_time`, `decision_time` (seconds, float64) and
            the context at removal as `removal.<feature>`. The test period of a hand-out has only the context:
            its attributes with notifications or actions raise ValueError.
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
        """Whether notifications and actions are known, and not only contexts."""
        return "action" in self.table

    def _known(self):
        """Return the table; raise ValueError if it has contexts alone."""
        if not self.answered:
            raise ValueError(
                "this period of a hand-out has only contexts; its notifications and actions stay with the "
                "person who scores answers. To practise, use period='history'"
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
        halves = (*self.schema.context.names, *self.schema.notification.names)
        dates = ["posted"] if "posted" in self.table else []
        return self._known()[[*halves, "action", *dates]].copy()

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
    """Return the array, read-only because environments share it."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class User:
    """One user: periods by name and the schema fitted to the history.

    Attributes:
        truth: The log-odds that a synthetic user was generated from (`truth.json`), or None for a real person.
        catalogue: DataFrame of the combinations of notification features that exist (`catalogue.csv` beside the
            users: any of the notification's columns), or None.
        notes: Remarks on how the data were read, for `report`.
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
        codes = np.full((len(self.catalogue), len(half.components)), -1)
        for feature, place in half.blocks:
            if feature.name in self.catalogue:
                column = self.catalogue[feature.name]
                codes[:, place] = encode_column(feature, column)[0]
        return _frozen(codes)

    def with_schema(self, schema: Schema) -> "User":
        """Return this user with another schema of the same features."""
        periods = {
            name: replace(period, schema=schema)
            for name, period in self.periods.items()
        }
        return replace(self, schema=schema, periods=periods)

    def report(self) -> str:
        """Return a text on the data: rows, open rate, dates and values that were new after the history."""
        lines = [f"user {self.name}, schema {self.schema.name}"]
        for name, period in self.periods.items():
            if not period.answered:
                lines.append(
                    f"  {name}: {len(period):,} contexts without notifications"
                )
                continue
            line = f"  {name}: {len(period):,} notifications, {period.opened.mean():.1%} opened"
            if "posted" in period.table:
                posted = period.table["posted"]
                line += f", {posted.min():%Y-%m-%d} to {posted.max():%Y-%m-%d}"
            lines.append(line)
            new = self.schema.notification.count_other(period.notification_codes)
            new |= self.schema.context.count_other(period.context_codes)
            for feature, count in new.items():
                rows = f"{count:,} row{'s' if count > 1 else ''}"
                lines.append(
                    f"    {feature}: {rows} with a value not in the history, coded as 'other'"
                )
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])
