"""Pictures of a table of engagements: shares opened by feature, arrivals over a week, and a single day."""

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

from pushlab.metrics.estimate import proportion_interval
from pushlab.plots.phones import app_name, format_value
from pushlab.plots.style import (
    BLUE,
    DISMISSED,
    INK,
    MUTED,
    OPENED,
    PAPER,
    SMALL_SIZE,
    SOFT,
    SURFACE,
    TEXT,
    blend,
    chart,
    draw_mean,
    draw_vertical_line,
    house_style,
    label_rows,
    one_line,
    readable_name,
)
from pushlab.utils.arguments import require, require_rows

IS_OPENED = {
    "opened": True,
    "true": True,
    "dismissed": False,
    "false": False,
}
VALUE_ORDER = (
    "0 1 2 3 4 5 6 monday tuesday wednesday thursday friday saturday sunday "
    "mon tue tues wed thu thur fri sat sun "
    "early-morning morning afternoon evening night "
    "none min low medium moderate default high max near med far "
    "silent vibrate normal false true"
).split()
DAYS = [name.capitalize() for name in VALUE_ORDER[7:14]]
FEW = 10  # cells with fewer notifications are hollow or hatched: too few to trust
MAX_VALUES = 12  # in a picture; the rarest values are merged


# ---------------------------------------------------------------- tables


def _is_opened(engagements):
    """Return whether each engagement was opened, from the column `action`."""
    require_rows(engagements, "action")
    actions = engagements["action"]
    is_opened = actions.astype(str).str.lower().map(IS_OPENED)
    for row in is_opened.index[is_opened.isna()]:
        value = actions.loc[row]
        raise ValueError(
            f"row {row}, column 'action': expected opened or dismissed, got {value!r}"
        )
    return is_opened.astype(bool)


def ordered_values(values: pd.Series, order: Sequence = ()) -> list:
    """Return the distinct values in order; days, times and levels have a default order.

    Values that are not in the order come last, by falling frequency.

    >>> ordered_values(pd.Series(["night", "morning", "night", "unknown"]))
    ['morning', 'night', 'unknown']
    """
    present = values.astype(object).fillna("unknown").value_counts().index
    ranks = {str(value).lower(): i for i, value in enumerate(order or VALUE_ORDER)}
    return sorted(present, key=lambda value: ranks.get(str(value).lower(), len(ranks)))


def merge_rare_values(
    values: pd.Series, order: Sequence = (), max_values: int = MAX_VALUES
) -> pd.Categorical:
    """Return the values in order; if there are more than `max_values`, the rarest become "N more"."""
    values = values.astype(object).fillna("unknown")
    names = ordered_values(values, order)
    if len(names) > max_values:
        frequent = values.value_counts().index[: max_values - 1]
        rest = f"{len(names) - len(frequent)} more"
        values = values.where(values.isin(frequent), rest)
        names = [name for name in names if name in frequent] + [rest]
    return pd.Categorical(values, names)


def open_rate_table(
    engagements: pd.DataFrame, by: str = "time", order: Sequence = ()
) -> pd.DataFrame:
    """Compute the share opened for each value of a feature, with its 95 % Wilson interval.

    Args:
        engagements: One row per notification: features, and `action` in {"opened", "dismissed"}.
        order: The values in order. By default days, times and levels come in their usual order, and other values by
            falling frequency.

    Returns:
        A table with the columns by, opened (share), low, high, notifications. It has at most 12 rows; the rarest
        values share the last.

    >>> table = pd.DataFrame({"time": ["night", "morning", "night"], "action": ["opened", "opened", "dismissed"]})
    >>> open_rate_table(table)[["time", "opened", "notifications"]].values.tolist()
    [['morning', 1.0, 1], ['night', 0.5, 2]]
    """
    require_rows(engagements, by)
    values = merge_rare_values(engagements[by], order)
    groups = _is_opened(engagements).groupby(values, observed=False)
    counts = groups.agg(["sum", "count"])
    share = proportion_interval(counts["sum"].to_numpy(), counts["count"].to_numpy())
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
    column_order: Sequence = (),
    max_values: int = MAX_VALUES,
) -> pd.DataFrame:
    """Compute the share opened for each pair of values of two features.

    Args:
        max_values: Maximum number of rows and of columns; the rarest values share the last.

    Returns:
        A table with the columns row, column, opened (share, NaN without notifications), notifications.
    """
    require_rows(engagements, row, column)
    require(row != column, f"row and column must be two features, got {row!r} twice")
    cells = [
        merge_rare_values(engagements[row], (), max_values),
        merge_rare_values(engagements[column], column_order, max_values),
    ]
    groups = _is_opened(engagements).groupby(cells, observed=False)
    table = groups.agg(["mean", "count"]).rename_axis([row, column]).reset_index()
    table = table.astype({row: object, column: object})
    return table.rename(columns={"mean": "opened", "count": "notifications"})


def _value_label(feature, value, labels=None):
    """Return the label of a value: the one in `labels`, the name of an app, or a readable form of the value."""
    if labels and str(value) in labels:
        return one_line(labels[str(value)])
    is_app = "app" in feature.lower() and "." in str(value)
    return app_name(value) if is_app else format_value(value)


# ---------------------------------------------------------------- pictures


SHADES = LinearSegmentedColormap.from_list(
    "opened", [blend(OPENED, 0.06, SURFACE), blend(OPENED, 0.94, SURFACE)]
)


@house_style()
def open_rates(
    engagements: pd.DataFrame,
    by: str = "time",
    order: Sequence = (),
    labels: Mapping | None = None,
    title: str = "",
    subtitle: str = "95 % intervals",
) -> Figure:
    """Draw the share opened for each value of a feature, with its 95 % interval and its number of notifications.

    Args:
        engagements, order: See `open_rate_table`, which computes the numbers drawn.
        labels: {value: label}, for example for numbered days.
    """
    table = open_rate_table(engagements, by, order)
    ax = chart(
        title or f"Share opened by {readable_name(by)}",
        subtitle,
        xlabel="share opened",
        size=(6, 1.6 + 0.3 * len(table)),
    )
    for row, line in enumerate(table.itertuples()):
        is_few = line.notifications < FEW
        ends = (line.low, line.high)
        draw_mean(ax, (OPENED, "-", "o"), line.opened, row, ends, hollow=is_few)
    names = [_value_label(by, value, labels) for value in table[by]]
    counts = [f"of {count:,}" for count in table["notifications"]]
    label_rows(ax, names, counts)
    overall = _is_opened(engagements).mean()
    draw_vertical_line(ax, overall, f"all {overall:.2f}")
    ax.set(xlim=(0, 1), xticks=(0, 0.25, 0.5, 0.75, 1))
    return ax.figure


@house_style()
def open_heatmap(
    engagements: pd.DataFrame,
    row: str,
    column: str,
    column_order: Sequence = (),
    title: str = "",
    subtitle: str = "",
) -> Figure:
    """Draw the share opened for each pair of values of two features.

    A cell with fewer than 10 notifications is hatched and shows their number instead of the share.

    Args:
        engagements, column_order: See `open_heatmap_table`, which computes the numbers drawn.
    """
    table = open_heatmap_table(engagements, row, column, column_order)
    shares = table.pivot_table("opened", row, column, sort=False, dropna=False)
    counts = table.pivot_table("notifications", row, column, sort=False).astype(int)
    ax = chart(
        title or f"Share opened by {readable_name(row)} and {readable_name(column)}",
        subtitle,
        f"share opened; hatched: fewer than {FEW}, with their number",
        size=(6.4, 2 + 0.38 * len(shares)),
    )
    mesh = draw_heatmap(ax, shares.mask(counts < FEW), counts)
    bar = ax.figure.colorbar(mesh, location="bottom", shrink=0.3, anchor=(1, 0))
    bar.set_ticks([0, 1])
    return ax.figure


def draw_heatmap(ax: Axes, shares: pd.DataFrame, counts: pd.DataFrame) -> QuadMesh:
    """Draw a heat map of shares, white at 0 and green at 1, with the number in each cell.

    Args:
        counts: Numbers for the cells without a share. These cells are hatched unless the count is 0.
    """
    label_cells(ax, shares)
    few = np.ma.masked_where(shares.notna() | (counts == 0), counts)
    ax.set_facecolor(SOFT)
    ax.pcolor(
        few,
        hatch="////",
        ec=MUTED,
        lw=0,
        cmap=ListedColormap([SOFT]),
    )
    mesh = ax.pcolormesh(
        shares,
        cmap=SHADES,
        vmin=0,
        vmax=1,
        ec=PAPER,
        lw=3,
    )
    for (row, column), share in np.ndenumerate(shares):
        style: dict[str, Any] = {
            "color": INK if share < 0.85 else SURFACE,
            "weight": "bold",
        }
        text = f"{share:.2f}"
        if np.isnan(share):
            style = {"bbox": {"fc": SURFACE, "lw": 0, "pad": 1.5}}
            text = f"{counts.iloc[row, column] or ''}"
        ax.text(
            column + 0.5,
            row + 0.5,
            text,
            size=SMALL_SIZE,
            ha="center",
            va="center",
            **style,
        )
    return mesh


def label_cells(ax: Axes, table: pd.DataFrame) -> None:
    """Set up axes for a table of unit cells, with labels on the left and below."""
    for axis, values in ((ax.yaxis, table.index), (ax.xaxis, table.columns)):
        labels = [_value_label(values.name, value) for value in values]
        if axis is ax.xaxis:
            labels = [fill(label, 12, break_long_words=False) for label in labels]
        axis.set_ticks(np.arange(len(labels)) + 0.5, labels)
        axis.set_tick_params(length=0)
    ax.set(xlim=(0, table.shape[1]), ylim=(len(table), 0))
    ax.grid(False)
    ax.spines.bottom.set_visible(False)


MAX_LANES = 8  # apps with their own lane in `day_lanes`
CHECK = Path([(-1, -0.1), (-0.3, -0.8), (1, 0.8)])


def arrival_table(engagements: pd.DataFrame) -> pd.DataFrame:
    """Count the notifications of each day of the week and each hour.

    Args:
        engagements: One row per notification, with `posted` (datetime).

    Returns:
        A table with the columns day, hour (0 to 23), notifications, and a row for every pair.
    """
    require_rows(engagements, "posted")
    posted = pd.to_datetime(engagements["posted"])
    counts = pd.crosstab(posted.dt.day_name(), posted.dt.hour)
    counts = counts.reindex(index=DAYS, columns=range(24), fill_value=0)
    counts = counts.rename_axis(index="day", columns="hour")
    return counts.stack().rename("notifications").reset_index()


def day_table(engagements: pd.DataFrame, date: Any) -> pd.DataFrame:
    """Return the notifications of one day, in order, with the columns posted, app, opened.

    Args:
        engagements: One row per notification, with `posted` (datetime), `action` and `postingApp`.
        date: A date, or text such as "2019-03-05".
    """
    require_rows(engagements, "posted", "action", "postingApp")
    posted = pd.to_datetime(engagements["posted"])
    day = pd.Timestamp(date).normalize()
    is_that_day = (posted.dt.normalize() == day).to_numpy()
    if not is_that_day.any():
        raise ValueError(
            f"no notification was posted on {day.date()}; the table covers "
            f"{posted.min().date()} to {posted.max().date()}"
        )
    table = pd.DataFrame(
        {
            "posted": posted,
            "app": engagements["postingApp"],
            "opened": _is_opened(engagements),
        }
    )
    return table[is_that_day].sort_values("posted", kind="stable", ignore_index=True)


@house_style()
def arrivals(
    engagements: pd.DataFrame,
    title: str = "Notifications by day and hour",
    subtitle: str = "",
) -> Figure:
    """Draw the number of notifications by day of the week and hour; darker is more.

    Args:
        engagements: See `arrival_table`, which computes the numbers drawn.
    """
    table = arrival_table(engagements)
    counts = table.pivot_table("notifications", "day", "hour", sort=False)
    highest = counts.to_numpy().max()
    unit = f"notifications, by day and hour; the strongest shade is {highest:,.0f}"
    ax = chart(title, subtitle, unit, size=(6.4, 3.64))
    ends = [blend(BLUE, 0.06, SURFACE), BLUE]
    ax.pcolormesh(
        counts,
        cmap=LinearSegmentedColormap.from_list("arrivals", ends),
        vmin=0,
        vmax=highest,
        edgecolors=PAPER,
        lw=2,
    )
    label_cells(ax, counts)
    hours = range(0, 24, 3)
    ax.set_xticks(np.add(hours, 0.5), [f"{hour:02}:00" for hour in hours])
    return ax.figure


@house_style()
def day_lanes(
    engagements: pd.DataFrame,
    date: Any,
    title: str = "Notifications of one day",
    subtitle: str = "",
) -> Figure:
    """Draw one day of a user: all arrivals as ticks over the hours, and below them the outcomes, app by app.

    Args:
        engagements: See `day_table`, which returns the notifications drawn.
        date: A date, or text such as "2019-03-05".
    """
    table = day_table(engagements, date)
    posted = table["posted"].dt
    hours = posted.hour + posted.minute / 60
    is_opened = table["opened"]
    apps = merge_rare_values(table["app"], max_values=MAX_LANES)
    masks = [apps == app for app in apps.categories]
    counts = [f"{is_opened.sum()} of {len(table)} opened"]
    counts += [f"{is_opened[mask].sum()} of {mask.sum()}" for mask in masks]
    names = ["all arrivals", *map(app_name, apps.categories)]
    day = pd.Timestamp(date)
    size = (9, 1.1 + 0.34 * len(names))
    ax = chart(title, subtitle or f"{day:%A}, {day.date()}", size=size)
    label_rows(ax, names, counts)
    ax.plot(hours, np.zeros(len(table)), "|", color=TEXT, ms=13, mew=1.6)
    for row, mask in enumerate(masks, 1):
        _draw_outcomes(ax, row, hours[mask].to_numpy(), is_opened[mask].to_numpy())
    ax.spines.bottom.set_visible(False)
    ax.set_xlim(0, 24)
    ticks = range(0, 25, 3)
    ax.set_xticks(ticks, [f"{hour:02}:00" for hour in ticks])
    ax.tick_params(
        top=False,
        bottom=False,
        labeltop=True,
        labelbottom=False,
    )
    ax.grid(True, axis="y")
    return ax.figure


def _draw_outcomes(ax, row, hours, is_opened):
    """Draw opened and dismissed notifications, moved apart so that each is visible."""
    offsets = min(0.38, 24 / len(hours)) * np.arange(len(hours))
    hours = isotonic_regression(hours - offsets).x + offsets
    hours = np.clip(hours, 0, 24)
    for mask, colour, face, symbol, symbol_colour in (
        (is_opened, OPENED, OPENED, CHECK, PAPER),
        (~is_opened, DISMISSED, PAPER, "x", DISMISSED),
    ):
        if not mask.any():
            continue
        x = hours[mask]
        y = np.full(len(x), row)
        ax.plot(x, y, "o", ms=10, mec=colour, mfc=face, mew=1.6, clip_on=False)
        mark = {"marker": symbol, "ms": 5, "mec": symbol_colour, "mew": 1.5}
        ax.plot(x, y, ls="", mfc="none", clip_on=False, **mark)
