"""When notifications arrive, over the week and through one day, from a table of engagements."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pushlab.ground.arguments import demand, has_rows
from pushlab.plots.kit import app_colour, mark, spread_out, tile
from pushlab.plots.palette import (
    BLUE,
    INK,
    LEAD,
    LINE,
    PAPER,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    TRACK,
    blend,
    words_on,
)
from pushlab.plots.rates import (
    TABLE,
    WEEK,
    ordered_values,
    shown_value,
    was_opened,
)
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width, wrap
from pushlab.plots.words import app_name, role

DAY_NAMES = tuple(day.capitalize() for day in WEEK)
LANES = 8  # apps that get a lane of their own in a day


# ---------------------------------------------------------------- tables


def arrival_table(
    engagements: pd.DataFrame,
    day: str | None = None,
    time: str | None = None,
    order: Any = None,
) -> pd.DataFrame:
    """How many notifications arrive, by week-day and hour, or by week-day and time slot where no date is known.

    engagements   DataFrame, a row a notification, with `posted` (datetime), or with features for day and time slot
    day, time     names of those features; None finds them by name
    order         time slots in the order wanted
    returns       DataFrame: day, hour (0 to 23) or slot, notifications; a row for every pair
    """
    if "posted" in engagements.columns and engagements["posted"].notna().any():
        has_rows(engagements, "posted", what=TABLE)
        posted = _posted(engagements).dropna()
        counts = pd.crosstab(posted.dt.day_of_week, posted.dt.hour)
        counts = counts.reindex(index=range(7), columns=range(24), fill_value=0)
        days, slots, kind = DAY_NAMES, list(range(24)), "hour"
    else:
        day, time = (
            day or _feature_of("day", engagements),
            time or _feature_of("time", engagements),
        )
        has_rows(engagements, day, time, what=TABLE)
        keys, slots, kind = (
            ordered_values(engagements[day]),
            ordered_values(engagements[time], order),
            "slot",
        )
        counts = pd.crosstab(engagements[day], engagements[time]).reindex(
            index=keys, columns=slots, fill_value=0
        )
        days = tuple(map(_day_name, keys))
    cells = pd.MultiIndex.from_product([days, slots], names=["day", kind])
    return pd.DataFrame(
        {"notifications": counts.to_numpy().ravel()}, index=cells
    ).reset_index()


def day_table(
    engagements: pd.DataFrame, date: Any, app: str | None = None
) -> pd.DataFrame:
    """The notifications of one day, in order: posted, app, opened.

    engagements   DataFrame with `posted` (datetime) and `action`
    date          a date, or text such as "2019-03-05"
    app           name of the feature for the app; None takes the first whose name contains "app"
    """
    has_rows(engagements, "posted", "action", what=TABLE)
    app = app or next(
        (name for name in engagements.columns if "app" in str(name).lower()), None
    )
    demand(
        app,
        f"which column is the app? Give app=; there are {', '.join(map(str, engagements.columns))}",
    )
    has_rows(engagements, app, what=TABLE)
    posted = _posted(engagements)
    that_day = (posted.dt.normalize() == pd.Timestamp(date).normalize()).to_numpy()
    demand(
        that_day.any(),
        f"no notification was posted on {pd.Timestamp(date).date()}; the table goes from "
        f"{posted.min().date()} to {posted.max().date()}",
    )
    table = pd.DataFrame(
        {
            "posted": posted[that_day],
            "app": engagements.loc[that_day, app],
            "opened": was_opened(engagements.loc[that_day]),
        }
    )
    return table.sort_values("posted", kind="stable").reset_index(drop=True)


def _posted(engagements):
    posted = engagements["posted"]
    return (
        posted
        if pd.api.types.is_datetime64_any_dtype(posted)
        else pd.to_datetime(posted)
    )


def _feature_of(wanted, engagements):
    found = next(
        (name for name in engagements.columns if role(str(name)) == wanted), None
    )
    demand(
        found,
        f"which column is the {wanted}? Give {wanted}=; there is no `posted`, and there are "
        f"{', '.join(map(str, engagements.columns))}",
    )
    return found


def _day_name(value):
    """Monday for 0, as in EvalUMAP; other values as they are."""
    return DAY_NAMES[int(value)] if str(value) in tuple("0123456") else plain(value)


# ---------------------------------------------------------------- pictures


@house_style()
def arrivals(
    engagements: pd.DataFrame,
    day: str | None = None,
    time: str | None = None,
    order: Any = None,
    user: Any = None,
    title: str | None = None,
    figure: Figure | None = None,
) -> Axes:
    """When notifications arrive: week-day by hour, or by time slot where no date is known; darker is more.

    engagements   DataFrame, a row a notification; see `arrival_table`, which holds what is drawn
    user          name for the lead line
    returns       Axes on a sheet of 6.4 inches, about 4 high
    """
    table = arrival_table(engagements, day, time, order)
    kind, pitch = table.columns[1], 32
    days, slots = table["day"].unique(), table[kind].unique()
    counts = table["notifications"].to_numpy().reshape(len(days), len(slots))
    stage = Stage(640, 100 + pitch * len(days) + 44, figure)
    stage.heading(
        title or _arrivals_title(table, kind),
        user_lead(engagements, user),
        title_lines=1,
    )
    stage.label(
        MARGIN,
        84,
        f"notifications, by day and {kind}; the strongest shade is {counts.max():,}",
    )
    left = MARGIN + max(text_width(name, LEAD) for name in days) + 14
    width = 640 - MARGIN - left
    ax = stage.axes(left, 100, width, pitch * len(days))
    _draw_counts(ax, counts, numbers=width / len(slots) > 44)
    for place, name in enumerate(days):
        stage.text(MARGIN, 100 + pitch * (place + 0.5), name)
    below = 100 + pitch * len(days)
    if kind == "hour":
        for hour in range(0, 24, 3):
            stage.label(
                left + width * (hour + 0.5) / 24,
                below + 16,
                f"{hour:02}:00",
                align="center",
            )
    else:
        name_columns(
            stage, [shown_value("time", slot) for slot in slots], left, width, below + 2
        )
    return ax


def _arrivals_title(table, kind):
    top = table.groupby(kind, sort=False)["notifications"].sum().idxmax()
    if kind == "hour":
        return (
            f"Most notifications arrive between {top:02}:00 and {(top + 1) % 24:02}:00"
        )
    return f"Most notifications arrive in the slot “{shown_value('time', top)}”"


def _draw_counts(ax, counts, numbers):
    most = max(1, counts.max())
    for (r, c), count in np.ndenumerate(counts):
        fill = (
            SOFT
            if count == 0
            else blend(BLUE, round(0.10 + 0.90 * float(count / most), 3), SURFACE)
        )
        ax.add_patch(
            Rectangle((c + 0.04, r + 0.06), 0.92, 0.88, fc=fill, ec="none", lw=0)
        )
        if numbers:
            ax.text(
                c + 0.5,
                r + 0.5,
                f"{count:,}",
                size=SMALL,
                weight="bold",
                ha="center",
                va="center",
                color=words_on(fill),
            )
    ax.set(xlim=(0, counts.shape[1]), ylim=(counts.shape[0], 0))
    ax.set_axis_off()


@house_style()
def day_lanes(
    engagements: pd.DataFrame,
    date: Any,
    app: str | None = None,
    user: Any = None,
    title: str | None = None,
    figure: Figure | None = None,
) -> Axes:
    """One day of one user: every arrival as a tick over the hours, below it, app by app, what became of it.

    engagements   DataFrame with `posted` and `action`; see `day_table`, which holds what is drawn
    date          a date, or text such as "2019-03-05"
    returns       Axes on a sheet 9 inches wide
    """
    table = day_table(engagements, date, app)
    apps = table["app"].value_counts().index.tolist()
    lanes = (
        apps if len(apps) <= LANES else [*apps[: LANES - 1], None]
    )  # None: all the others
    names = [
        f"{len(apps) - LANES + 1} more" if name is None else app_name(name)
        for name in lanes
    ]
    left = (
        MARGIN
        + 48
        + min(150, max(text_width(name, LEAD) for name in ["all arrivals", *names]))
    )
    pitch, right, top = 34, 900 - MARGIN - 96, 112
    stage = Stage(900, top + pitch * (len(lanes) + 1) + 8, figure)
    opened = int(table["opened"].sum())
    day = pd.Timestamp(date)
    stage.heading(
        title or f"{opened} of {len(table)} notifications were opened",
        f"{f'user {plain(user)}   ·   ' if user else ''}{DAY_NAMES[day.day_of_week]}   ·   {day.date()}",
        title_lines=1,
    )
    stage.label(right + 40, 84, "opened")
    hours = (
        table["posted"] - table["posted"].dt.normalize()
    ).dt.total_seconds().to_numpy() / 3600
    x = left + (right - left) * hours / 24
    for hour in range(0, 25, 3):
        at = left + (right - left) * hour / 24
        stage.line(
            [(at, 96), (at, top + pitch * (len(lanes) + 1) - 14)], TRACK, 0.8, z=1
        )
        stage.label(at, 84, f"{hour:02}:00", align="center")
    _draw_lane(stage, "all arrivals", None, left, right, top)
    for at in x:
        mark(stage, "arrived", at, top, 7)
    stage.text(
        900 - MARGIN, top, f"{opened} of {len(table)}", LEAD, INK, "bold", "right"
    )
    for place, name in enumerate(lanes, start=1):
        here = (
            ~table["app"].isin(apps[: LANES - 1])
            if name is None
            else table["app"] == name
        ).to_numpy()
        y = top + pitch * place
        _draw_lane(stage, names[place - 1], name, left, right, y)
        outcomes = table["opened"].to_numpy()[here]
        apart = spread_out(
            x[here], min(10, (right - left) / len(outcomes))
        )  # so that each can be counted
        for at, was in zip(np.clip(apart, left, right), outcomes):
            mark(stage, "opened" if was else "dismissed", at, y, 7, halo=PAPER)
        stage.text(
            900 - MARGIN,
            y,
            f"{outcomes.sum()} of {len(outcomes)}",
            LEAD,
            TEXT,
            align="right",
        )
    return stage.ax


def _draw_lane(stage, name, app, left, right, y):
    stage.line([(left, y), (right, y)], LINE, 1.0, z=2)
    if app is not None:
        tile(stage, MARGIN, y - 10, 20, name[0], app_colour(app))
    stage.text(
        MARGIN + (28 if app is not None else 0),
        y,
        fit(name, left - MARGIN - 40, LEAD),
        LEAD,
    )


def user_lead(engagements: pd.DataFrame, user: Any) -> str:
    """The lead line: whose notifications, and how many."""
    return (
        f"{f'user {plain(user)}, ' if user else ''}{len(engagements):,} notifications"
    )


def name_columns(
    stage: Stage, names: Any, left: float, width: float, top: float
) -> None:
    """Names under the columns of a heat map, a wide one in two lines; with a word that is too wide, on two levels."""
    one = width / len(names)
    rows = [wrap(name, one - 6, SMALL) for name in names]
    if any(
        text_width(word, SMALL) > one - 6 for name in names for word in name.split()
    ):
        rows = [
            ("",) * (place % 2) + (fit(name, 2 * one - 8, SMALL),)
            for place, name in enumerate(names)
        ]
    for place, lines in enumerate(rows):
        half = max(text_width(words, SMALL) for words in lines) / 2
        x = min(
            max(left + one * (place + 0.5), left + half - 20),
            stage.width - MARGIN - half,
        )
        for line, words in enumerate(lines):
            stage.text(x, top + 14 + 17 * line, words, SMALL, TEXT, align="center")
