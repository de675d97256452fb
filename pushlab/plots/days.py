"""When notifications arrive, over the week and through one day, from a table of engagements."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.path import Path
from scipy.optimize import isotonic_regression

from pushlab.ground.arguments import has_rows
from pushlab.plots.phone_words import app_name, role, value_words
from pushlab.plots.rates import TABLE, ordered_values, was_opened
from pushlab.plots.stage import app_colour
from pushlab.plots.style import (
    BLUE,
    DISMISSED,
    LEAD,
    OPENED,
    PAPER,
    SURFACE,
    TEXT,
    blend,
    chart,
    house_style,
    name_rows,
)

DAYS = (
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)
LANES = 8  # apps that get a lane of their own in a day
CHECK, CROSS = Path([(-1, -0.1), (-0.3, -0.8), (1, 0.8)]), "x"


def arrival_table(engagements: pd.DataFrame) -> pd.DataFrame:
    """Return the number of notifications of each day of the week and each hour, or time slot if no date is known.

    Args:
        engagements: A row for each notification, with `posted` (datetime), or with features for day and time slot.

    Returns:
        A table with the columns day, hour (0 to 23) or slot, notifications; a row for every pair.
    """
    if "posted" in engagements and engagements["posted"].notna().any():
        posted = pd.to_datetime(engagements["posted"]).dropna()
        counts = pd.crosstab(posted.dt.day_name(), posted.dt.hour)
        counts = counts.reindex(index=DAYS, columns=range(24), fill_value=0)
        slot = "hour"
    else:
        roles = {role(str(name)): name for name in engagements}
        day = roles.get("day", "day")
        time = roles.get("time", "time")
        has_rows(engagements, day, time, what=TABLE)
        counts = pd.crosstab(engagements[day], engagements[time])
        times = ordered_values(engagements[time])
        counts = counts.reindex(ordered_values(engagements[day]), columns=times)
        names = dict(zip("0123456", DAYS))
        counts.index = [names.get(str(value), value) for value in counts.index]
        slot = "slot"
    counts = counts.rename_axis(index="day", columns=slot)
    return counts.stack().rename("notifications").reset_index()


def day_table(
    engagements: pd.DataFrame, date: Any, app: str = "postingApp"
) -> pd.DataFrame:
    """Return the notifications of one day, in order, with the columns posted, app, opened.

    Args:
        engagements: A row for each notification, with `posted` (datetime), `action` and the column `app`.
        date: A date, or text such as "2019-03-05".
    """
    has_rows(engagements, "posted", "action", app, what=TABLE)
    posted = pd.to_datetime(engagements["posted"])
    day = pd.Timestamp(date).normalize()
    that_day = (posted.dt.normalize() == day).to_numpy()
    if not that_day.any():
        raise ValueError(
            f"no notification was posted on {day.date()}; the table goes from "
            f"{posted.min().date()} to {posted.max().date()}"
        )
    opened = was_opened(engagements)
    table = pd.DataFrame({"posted": posted, "app": engagements[app], "opened": opened})
    return table[that_day].sort_values("posted", kind="stable", ignore_index=True)


@house_style()
def arrivals(engagements: pd.DataFrame, title: str = "", lead: str = "") -> Figure:
    """Draw when notifications arrive: days of the week by hour or time slot; darker is more.

    Args:
        engagements: See `arrival_table`, which returns the numbers drawn.
    """
    table = arrival_table(engagements)
    slot = table.columns[1]
    counts = table.pivot_table("notifications", "day", slot, sort=False)
    most = counts.to_numpy().max()
    ax = chart(
        title or f"Notifications by day and {slot}",
        lead or f"{len(engagements):,} notifications",
        f"notifications, by day and {slot}; the strongest shade is {most:,.0f}",
        size=(6.4, 1.4 + 0.32 * len(counts)),
    )
    ends = [blend(BLUE, 0.06, SURFACE), BLUE]
    shades = LinearSegmentedColormap.from_list("arrivals", ends)
    ax.pcolormesh(counts, cmap=shades, vmin=0, vmax=most, edgecolors=PAPER, lw=2)
    ax.set_yticks(np.arange(len(counts)) + 0.5, counts.index)
    names = [value_words(name) for name in counts.columns]
    step = 1
    if slot == "hour":
        names = [f"{hour:02}:00" for hour in range(24)]
        step = 3
    ax.set_xticks(np.arange(len(names))[::step] + 0.5, names[::step])
    ax.set_ylim(len(counts), 0)
    ax.grid(False)
    ax.spines.bottom.set_visible(False)
    ax.tick_params(length=0)
    return ax.figure


@house_style()
def day_lanes(
    engagements: pd.DataFrame, date: Any, title: str = "", lead: str = ""
) -> Figure:
    """Draw one day of one user: every arrival as a tick over the hours, and below it, app by app, its outcome.

    Args:
        engagements: See `day_table`, which returns the notifications drawn.
        date: A date, or text such as "2019-03-05".
    """
    table = day_table(engagements, date)
    hours = table["posted"].dt.hour + table["posted"].dt.minute / 60
    apps = table["app"].value_counts().index
    lanes = {app_name(app): table["app"] == app for app in apps[:LANES]}
    if len(apps) > LANES:
        lanes = dict(list(lanes.items())[: LANES - 1])
        name = f"{len(apps) - LANES + 1} more"
        lanes[name] = ~table["app"].isin(apps[: LANES - 1])
    lanes = {"all arrivals": table["posted"].notna(), **lanes}
    opened = table["opened"]
    counts = [f"{opened[here].sum()} of {here.sum()}" for here in lanes.values()]
    counts[0] += " opened"
    day = pd.Timestamp(date)
    ax = chart(
        title or "Notifications of one day",
        lead or f"{day:%A}, {day.date()}",
        size=(9, 1.1 + 0.34 * len(lanes)),
    )
    name_rows(ax, list(lanes), counts)
    ax.plot(hours, np.zeros(len(table)), "|", color=TEXT, ms=13, mew=1.6)
    for row, (name, here) in enumerate(lanes.items()):
        if row:
            _draw_outcomes(ax, row, hours[here].to_numpy(), opened[here].to_numpy())
        if row and not name.endswith(" more"):
            app = table["app"][here].iloc[0]
            box = {"boxstyle": "round,pad=0.3", "fc": app_colour(app), "ec": "none"}
            look: Any = {"size": LEAD, "color": SURFACE, "weight": "bold", "bbox": box}
            ax.annotate(
                name[0],
                (0, row),
                (-14, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                ha="center",
                va="center_baseline",
                **look,
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
    for x, was in zip(hours, opened):
        colour = OPENED if was else DISMISSED
        fill = OPENED if was else PAPER
        on = PAPER if was else DISMISSED
        look: Any = {"color": colour, "mfc": fill, "mew": 1.6, "zorder": 5}
        ax.plot(x, row, "o", ms=10, clip_on=False, **look)
        look = {"mfc": "none", "mec": on, "mew": 1.5, "zorder": 5}
        ax.plot(x, row, marker=CHECK if was else CROSS, ms=5, clip_on=False, **look)
