"""Shares of opened notifications: by the values of one feature, and of two at once, from a table of engagements."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pushlab.ground.arguments import demand, has_rows
from pushlab.metrics.estimate import share_interval
from pushlab.plots.style import (
    INK,
    MUTED,
    OPENED,
    PAPER,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    blend,
    chart,
    draw_interval,
    draw_upright,
    house_style,
    name_rows,
    plain,
    spoken,
)
from pushlab.plots.words import app_name, value_words

TABLE = "the table of engagements"
OPEN_WORDS = {"opened": True, "true": True, "dismissed": False, "false": False}
WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ORDERS = (  # sets of values that have an order of their own
    tuple(map(str, range(7))),
    WEEK,
    ("mon", "tues", "wed", "thur", "fri", "sat", "sun"),
    ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    ("early-morning", "morning", "afternoon", "evening", "night"),
    ("none", "low", "medium", "high"),
    ("low", "moderate", "high"),
    ("min", "low", "default", "high", "max"),
    ("near", "med", "far"),
    ("silent", "vibrate", "normal"),
    ("false", "true"),
)
FEW = 10  # a share of fewer notifications is hatched: it may be chance
MOST = 12  # values in a picture; the rarest share the last


# ---------------------------------------------------------------- tables


def was_opened(engagements: pd.DataFrame) -> pd.Series:
    """Return which of the engagements were opened, from the column `action`."""
    has_rows(engagements, "action", what=TABLE)
    words = engagements["action"].astype(str).str.lower()
    wrong = ~words.isin(list(OPEN_WORDS))
    if wrong.any():
        row = engagements.index[wrong.to_numpy().argmax()]
        value = engagements["action"][wrong].iloc[0]
        raise ValueError(
            f"row {row}, column 'action': {value!r} is not opened or dismissed"
        )
    return words.map(OPEN_WORDS).astype(bool)


def ordered_values(values: pd.Series, order: Sequence | None = None) -> list:
    """Return the distinct values in `order`, or in their natural order, or the most frequent first.

    Values that the order does not contain come last, the most frequent first.

    >>> ordered_values(pd.Series(["night", "morning", "night", "unknown"]))
    ['morning', 'night', 'unknown']
    """
    present = values.astype(object).fillna("unknown").value_counts().index.tolist()
    words = [str(value).lower() for value in present]
    scales = ORDERS if order is None else ([str(value).lower() for value in order],)
    for scale in scales:
        known = sum(word in scale for word in words)
        if order is not None or known >= max(2, len(words) - 1):
            rank = {word: place for place, word in enumerate(scale)}
            return sorted(
                present, key=lambda value: rank.get(str(value).lower(), len(rank))
            )
    return present


def folded(
    values: pd.Series, order: Sequence | None = None, most: int = MOST
) -> pd.Categorical:
    """Return the values in their order; beyond `most`, the rarest are folded into one "N more"."""
    values = values.astype(object).fillna("unknown")
    names = ordered_values(values, order)
    if len(names) > most:
        frequent = values.value_counts().index[: most - 1]
        rest = f"{len(names) - len(frequent)} more"
        values = values.where(values.isin(frequent), rest)
        names = [name for name in names if name in frequent] + [rest]
    return pd.Categorical(values, names)


def open_rate_table(
    engagements: pd.DataFrame, by: str = "time", order: Sequence | None = None
) -> pd.DataFrame:
    """Compute the share opened for each value of a feature, with its 95 % Wilson interval.

    Args:
        engagements: A row a notification: features, and `action` in {"opened", "dismissed"}.
        order: The values in order. By default days, times and levels have theirs, and of others the most frequent is
            first.

    Returns:
        A table: by, opened (share), low, high, notifications. At most 12 rows; the rarest values share the last.

    >>> table = pd.DataFrame({"time": ["night", "morning", "night"], "action": ["opened", "opened", "dismissed"]})
    >>> open_rate_table(table)[["time", "opened", "notifications"]].values.tolist()
    [['morning', 1.0, 1], ['night', 0.5, 2]]
    """
    has_rows(engagements, by, what=TABLE)
    values = folded(engagements[by], order)
    counts = was_opened(engagements).groupby(values, observed=False)
    counts = counts.agg(["sum", "count"])
    share = share_interval(counts["sum"].to_numpy(), counts["count"].to_numpy())
    return pd.DataFrame(
        {
            by: values.categories,
            "opened": share.mean,
            "low": share.low,
            "high": share.high,
            "notifications": counts["count"].to_numpy(),
        }
    )


def open_heatmap_table(
    engagements: pd.DataFrame,
    row: str,
    column: str,
    column_order: Sequence | None = None,
    most: int = MOST,
) -> pd.DataFrame:
    """Compute the share opened for each pair of values of two features.

    Args:
        most: Rows and columns at most; the rarest values share the last.

    Returns:
        A table: row, column, opened (share, NaN if there is no notification), notifications.
    """
    has_rows(engagements, row, column, what=TABLE)
    demand(row != column, f"row and column must be two features, got {row!r} twice")
    cells = [
        folded(engagements[row], None, most),
        folded(engagements[column], column_order, most),
    ]
    shares = was_opened(engagements).groupby(cells, observed=False)
    table = shares.agg(["mean", "count"]).rename_axis([row, column]).reset_index()
    table = table.astype({row: object, column: object})
    return table.rename(columns={"mean": "opened", "count": "notifications"})


def shown_value(feature: str, value: Any, labels: Mapping | None = None) -> str:
    """Return a value as pictures write it: its label, the name of an app, or the value as words."""
    if labels and str(value) in labels:
        return plain(labels[str(value)])
    is_app = "app" in feature.lower() and "." in str(value)
    return app_name(value) if is_app else value_words(value)


# ---------------------------------------------------------------- pictures


@house_style()
def open_rates(
    engagements: pd.DataFrame,
    by: str = "time",
    order: Sequence | None = None,
    labels: Mapping | None = None,
    title: str = "",
    lead: str = "",
) -> Figure:
    """Draw the share opened for each value of a feature, with its 95 % interval and its number of notifications.

    Args:
        engagements, order: See `open_rate_table`, which returns the numbers drawn.
        labels: Words for values, such as days that are numbers.
    """
    table = open_rate_table(engagements, by, order)
    ax = chart(
        title or f"Share opened by {spoken(by)}",
        lead or f"{len(engagements):,} notifications, 95 % intervals",
        xlabel="share opened",
        size=(6, 1.6 + 0.3 * len(table)),
    )
    for row, line in enumerate(table.itertuples(index=False)):
        is_few = line.notifications < FEW
        ends = line.low, line.high
        draw_interval(ax, row, line.opened, *ends, OPENED, hollow=is_few)
    names = [shown_value(by, value, labels) for value in table[by]]
    counts = [f"{count:,}" for count in table["notifications"]]
    name_rows(ax, names, counts)
    overall = was_opened(engagements).mean()
    draw_upright(ax, overall, f"all {overall:.2f}")
    ax.annotate(
        "notifications",
        (1, 1),
        (10, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        size=SMALL,
        color=TEXT,
    )
    ax.set(xlim=(0, 1), xticks=(0, 0.25, 0.5, 0.75, 1))
    return ax.figure


@house_style()
def open_heatmap(
    engagements: pd.DataFrame,
    row: str,
    column: str,
    column_order: Sequence | None = None,
    title: str = "",
    lead: str = "",
) -> Figure:
    """Draw the share opened by two features at once.

    A cell of fewer than 10 notifications is hatched and has their number in place of the share.

    Args:
        engagements, column_order: See `open_heatmap_table`, which returns the numbers drawn.
    """
    table = open_heatmap_table(engagements, row, column, column_order)
    shares = table.pivot_table("opened", row, column, sort=False, dropna=False)
    counts = table.pivot_table("notifications", row, column, sort=False).astype(int)
    ax = chart(
        title or f"Share opened by {spoken(row)} and {spoken(column)}",
        lead or f"{len(engagements):,} notifications",
        f"share opened; hatched: fewer than {FEW}, with their number",
        size=(6.4, 2 + 0.38 * len(shares)),
    )
    mesh = draw_shares(ax, shares.mask(counts < FEW))
    for (r, c), count in np.ndenumerate(counts):
        if count < FEW:
            ax.text(
                c + 0.5,
                r + 0.5,
                f"{count or ''}",
                size=SMALL,
                ha="center",
                va="center",
                bbox={"fc": SURFACE, "ec": "none", "pad": 1.5},
            )
        if 0 < count < FEW:
            look = {"fc": SOFT, "ec": MUTED, "hatch": "////"}
            ax.add_patch(Rectangle((c + 0.03, r + 0.04), 0.94, 0.92, **look))
    bar = ax.figure.colorbar(mesh, location="bottom", shrink=0.3, anchor=(1, 0))
    bar.set_ticks([0, 1])
    return ax.figure


SHADES = LinearSegmentedColormap.from_list(
    "opened", [blend(OPENED, 0.06, SURFACE), blend(OPENED, 0.94, SURFACE)]
)


def draw_shares(ax: Axes, shares: pd.DataFrame) -> QuadMesh:
    """Draw a heat map of a table of shares: paper at 0, green at 1, with the number in each cell."""
    ax.set_facecolor(SOFT)
    mesh = ax.pcolormesh(
        np.ma.masked_invalid(shares),
        cmap=SHADES,
        vmin=0,
        vmax=1,
        edgecolors=PAPER,
        lw=3,
    )
    for (r, c), share in np.ndenumerate(shares):
        if np.isfinite(share):
            colour = INK if share < 0.85 else SURFACE
            words = f"{share:.2f}"
            look = {"size": SMALL, "color": colour, "weight": "bold"}
            ax.text(c + 0.5, r + 0.5, words, ha="center", va="center", **look)
    rows, columns = shares.index, shares.columns
    names = [shown_value(shares.index.name, value) for value in rows]
    ax.set_yticks(np.arange(len(rows)) + 0.5, names)
    names = [shown_value(shares.columns.name, value) for value in columns]
    ax.set_xticks(np.arange(len(columns)) + 0.5, [fill(name, 12) for name in names])
    ax.set_ylim(len(rows), 0)
    ax.grid(False)
    ax.spines.bottom.set_visible(False)
    ax.tick_params(length=0)
    return mesh
