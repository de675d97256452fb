"""Pictures of a table of engagements: shares opened by feature, arrivals over the week, and one day."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.path import Path
from scipy.optimize import isotonic_regression

from pushlab.ground.arguments import demand, has_rows
from pushlab.metrics.estimate import share_interval
from pushlab.plots.phones import app_name, value_words
from pushlab.plots.stage import app_colour
from pushlab.plots.style import (
    BLUE,
    DISMISSED,
    INK,
    LEAD,
    MUTED,
    OPENED,
    PAPER,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    blend,
    chart,
    draw_mean,
    draw_upright,
    house_style,
    name_rows,
    plain,
    spoken,
)

OPEN_WORDS = {"opened": True, "true": True, "dismissed": False, "false": False}
ORDER = (  # of values that have one
    "0 1 2 3 4 5 6 monday tuesday wednesday thursday friday saturday sunday "
    "mon tue tues wed thu thur fri sat sun "
    "early-morning morning afternoon evening night "
    "none min low medium moderate default high max near med far "
    "silent vibrate normal false true"
).split()
DAYS = [name.capitalize() for name in ORDER[7:14]]
FEW = 10  # a share of fewer notifications is hollow or hatched: it may be chance
MOST = 12  # values in a picture; the rarest share the last


# ---------------------------------------------------------------- tables


def _was_opened(engagements):
    """Return which of the engagements were opened, from the column `action`."""
    has_rows(engagements, "action")
    actions = engagements["action"]
    opened = actions.astype(str).str.lower().map(OPEN_WORDS)
    for row in opened.index[opened.isna()]:
        value = actions.loc[row]
        raise ValueError(
            f"row {row}, column 'action': {value!r} is not opened or dismissed"
        )
    return opened.astype(bool)


def ordered_values(values: pd.Series, order: Sequence | None = None) -> list:
    """Return the distinct values in order; by default days, times and levels have theirs.

    Values that the order does not contain come last, the most frequent first.

    >>> ordered_values(pd.Series(["night", "morning", "night", "unknown"]))
    ['morning', 'night', 'unknown']
    """
    present = values.astype(object).fillna("unknown").value_counts().index
    ranks = {str(value).lower(): place for place, value in enumerate(order or ORDER)}
    return sorted(present, key=lambda value: ranks.get(str(value).lower(), len(ranks)))


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
    has_rows(engagements, by)
    values = folded(engagements[by], order)
    counts = _was_opened(engagements).groupby(values, observed=False)
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
    has_rows(engagements, row, column)
    demand(row != column, f"row and column must be two features, got {row!r} twice")
    cells = [
        folded(engagements[row], None, most),
        folded(engagements[column], column_order, most),
    ]
    shares = _was_opened(engagements).groupby(cells, observed=False)
    table = shares.agg(["mean", "count"]).rename_axis([row, column]).reset_index()
    table = table.astype({row: object, column: object})
    return table.rename(columns={"mean": "opened", "count": "notifications"})


def _shown_value(feature, value, labels=None):
    """Return a value as pictures write it: its label, the name of an app, or the value as words."""
    if labels and str(value) in labels:
        return plain(labels[str(value)])
    is_app = "app" in feature.lower() and "." in str(value)
    return app_name(value) if is_app else value_words(value)


# ---------------------------------------------------------------- pictures


SHADES = LinearSegmentedColormap.from_list(
    "opened", [blend(OPENED, 0.06, SURFACE), blend(OPENED, 0.94, SURFACE)]
)


@house_style()
def open_rates(
    engagements: pd.DataFrame,
    by: str = "time",
    order: Sequence | None = None,
    labels: Mapping | None = None,
    title: str = "",
    lead: str = "95 % intervals",
) -> Figure:
    """Draw the share opened for each value of a feature, with its 95 % interval and its number of notifications.

    Args:
        engagements, order: See `open_rate_table`, which returns the numbers drawn.
        labels: Words for values, such as days that are numbers.
    """
    table = open_rate_table(engagements, by, order)
    ax = chart(
        title or f"Share opened by {spoken(by)}",
        lead,
        xlabel="share opened",
        size=(6, 1.6 + 0.3 * len(table)),
    )
    for row, line in enumerate(table.itertuples()):
        few = line.notifications < FEW
        ends = (line.low, line.high)
        draw_mean(ax, (OPENED, "-", "o"), line.opened, row, ends, hollow=few)
    names = [_shown_value(by, value, labels) for value in table[by]]
    name_rows(ax, names, [f"of {count:,}" for count in table["notifications"]])
    overall = _was_opened(engagements).mean()
    draw_upright(ax, overall, f"all {overall:.2f}")
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
        lead,
        f"share opened; hatched: fewer than {FEW}, with their number",
        size=(6.4, 2 + 0.38 * len(shares)),
    )
    mesh = draw_cells(ax, shares.mask(counts < FEW), counts)
    bar = ax.figure.colorbar(mesh, location="bottom", shrink=0.3, anchor=(1, 0))
    bar.set_ticks([0, 1])
    return ax.figure


def draw_cells(ax: Axes, shares: pd.DataFrame, counts: pd.DataFrame) -> QuadMesh:
    """Draw a heat map of shares: white at 0, green at 1, with the number in each cell.

    Args:
        counts: Numbers for the cells without a share, which are hatched unless they have 0.
    """
    name_cells(ax, shares)
    few = np.ma.masked_where(shares.notna() | (counts == 0), counts)
    ax.set_facecolor(SOFT)
    ax.pcolor(few, hatch="////", ec=MUTED, lw=0, cmap=ListedColormap([SOFT]))
    mesh = ax.pcolormesh(shares, cmap=SHADES, vmin=0, vmax=1, ec=PAPER, lw=3)
    for (r, c), share in np.ndenumerate(shares):
        look: dict[str, Any] = {
            "color": INK if share < 0.85 else SURFACE,
            "weight": "bold",
        }
        words = f"{share:.2f}"
        if np.isnan(share):
            look = {"bbox": {"fc": SURFACE, "lw": 0, "pad": 1.5}}
            words = f"{counts.iloc[r, c] or ''}"
        ax.text(c + 0.5, r + 0.5, words, size=SMALL, ha="center", va="center", **look)
    return mesh


def name_cells(ax: Axes, table: pd.DataFrame) -> None:
    """Make axes a table of cells, one unit wide and high, with names on the left and below."""
    for axis, values in ((ax.yaxis, table.index), (ax.xaxis, table.columns)):
        names = [_shown_value(values.name, value) for value in values]
        if axis is ax.xaxis:
            names = [fill(name, 12, break_long_words=False) for name in names]
        axis.set_ticks(np.arange(len(names)) + 0.5, names)
        axis.set_tick_params(length=0)
    ax.set(xlim=(0, table.shape[1]), ylim=(len(table), 0))
    ax.grid(False)
    ax.spines.bottom.set_visible(False)


LANES = 8  # apps that get a lane of their own in a day
CHECK, CROSS = Path([(-1, -0.1), (-0.3, -0.8), (1, 0.8)]), "x"


def arrival_table(engagements: pd.DataFrame) -> pd.DataFrame:
    """Return the number of notifications of each day of the week and each hour.

    Args:
        engagements: A row for each notification, with `posted` (datetime).

    Returns:
        A table with the columns day, hour (0 to 23), notifications; a row for every pair.
    """
    has_rows(engagements, "posted")
    posted = pd.to_datetime(engagements["posted"])
    counts = pd.crosstab(posted.dt.day_name(), posted.dt.hour)
    counts = counts.reindex(index=DAYS, columns=range(24), fill_value=0)
    counts = counts.rename_axis(index="day", columns="hour")
    return counts.stack().rename("notifications").reset_index()


def day_table(engagements: pd.DataFrame, date: Any) -> pd.DataFrame:
    """Return the notifications of one day, in order, with the columns posted, app, opened.

    Args:
        engagements: A row for each notification, with `posted` (datetime), `action` and `postingApp`.
        date: A date, or text such as "2019-03-05".
    """
    has_rows(engagements, "posted", "action", "postingApp")
    posted = pd.to_datetime(engagements["posted"])
    day = pd.Timestamp(date).normalize()
    that_day = (posted.dt.normalize() == day).to_numpy()
    if not that_day.any():
        raise ValueError(
            f"no notification was posted on {day.date()}; the table goes from "
            f"{posted.min().date()} to {posted.max().date()}"
        )
    table = engagements.rename(columns={"postingApp": "app"})[["app"]]
    table = table.assign(posted=posted, opened=_was_opened(engagements))
    table = table[["posted", "app", "opened"]]
    return table[that_day].sort_values("posted", kind="stable", ignore_index=True)


@house_style()
def arrivals(
    engagements: pd.DataFrame,
    title: str = "Notifications by day and hour",
    lead: str = "",
) -> Figure:
    """Draw when notifications arrive: days of the week by hour; darker is more.

    Args:
        engagements: See `arrival_table`, which returns the numbers drawn.
    """
    table = arrival_table(engagements)
    counts = table.pivot_table("notifications", "day", "hour", sort=False)
    most = counts.to_numpy().max()
    words = f"notifications, by day and hour; the strongest shade is {most:,.0f}"
    ax = chart(title, lead, words, size=(6.4, 3.64))
    ends = [blend(BLUE, 0.06, SURFACE), BLUE]
    shades = LinearSegmentedColormap.from_list("arrivals", ends)
    ax.pcolormesh(counts, cmap=shades, vmin=0, vmax=most, edgecolors=PAPER, lw=2)
    name_cells(ax, counts)
    hours = range(0, 24, 3)
    ax.set_xticks(np.add(hours, 0.5), [f"{hour:02}:00" for hour in hours])
    return ax.figure


@house_style()
def day_lanes(
    engagements: pd.DataFrame,
    date: Any,
    title: str = "Notifications of one day",
    lead: str = "",
) -> Figure:
    """Draw one day of one user: every arrival as a tick over the hours, and below it, app by app, its outcome.

    Args:
        engagements: See `day_table`, which returns the notifications drawn.
        date: A date, or text such as "2019-03-05".
    """
    table = day_table(engagements, date)
    hours = table["posted"].dt.hour + table["posted"].dt.minute / 60
    opened = table["opened"]
    apps = folded(table["app"], most=LANES)
    lanes = [apps == app for app in apps.categories]
    counts = [f"{opened.sum()} of {len(table)} opened"]
    counts += [f"{opened[here].sum()} of {here.sum()}" for here in lanes]
    names = ["all arrivals", *map(app_name, apps.categories)]
    day = pd.Timestamp(date)
    ax = chart(
        title, lead or f"{day:%A}, {day.date()}", size=(9, 1.1 + 0.34 * len(names))
    )
    name_rows(ax, names, counts)
    ax.plot(hours, np.zeros(len(table)), "|", color=TEXT, ms=13, mew=1.6)
    for row, (app, here) in enumerate(zip(apps.categories, lanes), 1):
        _draw_outcomes(ax, row, hours[here].to_numpy(), opened[here].to_numpy())
        if app.endswith(" more"):
            continue
        box = {"boxstyle": "round,pad=0.3", "fc": app_colour(app), "ec": "none"}
        ax.annotate(
            names[row][0],
            (0, row),
            (-14, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="center",
            va="center_baseline",
            size=LEAD,
            color=SURFACE,
            weight="bold",
            bbox=box,
        )
    ax.spines.bottom.set_visible(False)
    ax.set_xlim(0, 24)
    ax.set_xticks(range(0, 25, 3), [f"{hour:02}:00" for hour in range(0, 25, 3)])
    ax.tick_params(top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.tick_params(axis="y", pad=26)
    ax.grid(True, axis="y")
    return ax.figure


def _draw_outcomes(ax: Axes, row: int, hours: np.ndarray, opened: np.ndarray) -> None:
    """Draw opened and dismissed notifications, pushed apart so that each can be counted."""
    places = min(0.38, 24 / len(hours)) * np.arange(len(hours))
    hours = np.clip(isotonic_regression(hours - places).x + places, 0, 24)
    for some, colour, face, symbol, on in (
        (hours[opened], OPENED, OPENED, CHECK, PAPER),
        (hours[~opened], DISMISSED, PAPER, CROSS, DISMISSED),
    ):
        if not len(some):
            continue
        rows = np.full(len(some), row)
        look: Any = {"ls": "", "clip_on": False, "zorder": 5}
        ax.plot(some, rows, marker="o", ms=10, mec=colour, mfc=face, mew=1.6, **look)
        ax.plot(some, rows, marker=symbol, ms=5, mec=on, mfc="none", mew=1.5, **look)
