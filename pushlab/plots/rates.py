"""How often a user opens: by the values of one feature, and of two at once, from a table of engagements."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pushlab.ground.arguments import demand, has_rows
from pushlab.metrics.estimate import share_interval, simultaneous
from pushlab.plots.palette import (
    LEAD,
    LINE,
    MUTED,
    OPENED,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    TITLE,
    blend,
    words_on,
)
from pushlab.plots.rows import Rows
from pushlab.plots.sheet import (
    MARGIN,
    Stage,
    Words,
    fit,
    house_style,
    plain,
    text_width,
    wrap,
)
from pushlab.plots.ticks import set_ticks
from pushlab.plots.words import app_name, spoken, value_words

TABLE = "the table of engagements"
OPEN_WORDS = {"opened": True, "true": True, "dismissed": False, "false": False}
WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ORDERS = (  # value sets that have an order of their own
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


# ---------------------------------------------------------------- tables


def was_opened(engagements: pd.DataFrame) -> pd.Series:
    """Boolean Series: which of the engagements were opened, from the column `action`."""
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
    """The distinct values in `order`, or in the order that such values have, or the most frequent first.

    Values that an order does not know come last, the most frequent first.

    >>> ordered_values(pd.Series(["night", "morning", "night", "unknown"]))
    ['morning', 'night', 'unknown']
    """
    present = [
        value
        for value in values.astype(object)
        .where(values.notna(), "unknown")
        .value_counts()
        .index
    ]
    words = [str(value).lower() for value in present]
    if order is None:
        scale = next(
            (
                scale
                for scale in ORDERS
                if sum(word in scale for word in words) >= max(2, len(words) - 1)
            ),
            (),
        )
    else:
        scale = tuple(str(value).lower() for value in order)
    rank = {word: place for place, word in enumerate(scale)}
    return [
        value
        for _, value in sorted(
            zip(words, present), key=lambda pair: rank.get(pair[0], len(rank))
        )
    ]


def folded(
    values: pd.Series, order: Sequence | None, most: int
) -> tuple[pd.Series, list]:
    """The values as a Series, and their order; beyond `most`, the rarest are folded into one "N more"."""
    values = values.astype(object).where(values.notna(), "unknown")
    names = ordered_values(values, order)
    if len(names) <= most:
        return values, names
    frequent = set(values.value_counts().index[: most - 1])
    rest = f"{len(names) - len(frequent)} more"
    return values.where(values.isin(frequent), rest), [
        name for name in names if name in frequent
    ] + [rest]


def open_rate_table(
    engagements: pd.DataFrame,
    by: str = "time",
    order: Sequence | None = None,
    most: int = 12,
) -> pd.DataFrame:
    """Share opened for each value of one feature, with its 95 % Wilson interval.

    engagements   DataFrame, a row a notification: features, and `action` in {"opened", "dismissed"}
    order         values in the order wanted; None knows that of days, times, levels, else the most frequent first
    most          lines at most; the rarest values share the last
    returns       DataFrame: by, opened (share), low, high, notifications

    >>> table = pd.DataFrame({"time": ["night", "morning", "night"], "action": ["opened", "opened", "dismissed"]})
    >>> open_rate_table(table)[["time", "opened", "notifications"]].values.tolist()
    [['morning', 1.0, 1], ['night', 0.5, 2]]
    """
    has_rows(engagements, by, what=TABLE)
    opened = was_opened(engagements)
    values, names = folded(engagements[by], order, most)
    counts = opened.groupby(values.to_numpy()).agg(["sum", "count"]).loc[names]
    share = share_interval(counts["sum"].to_numpy(), counts["count"].to_numpy())
    return pd.DataFrame(
        {
            by: names,
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
    row_order: Sequence | None = None,
    column_order: Sequence | None = None,
    most: int = 12,
) -> pd.DataFrame:
    """Share opened for each pair of values of two features.

    returns   DataFrame: row, column, opened (share, NaN where there is no notification), notifications
    """
    has_rows(engagements, row, column, what=TABLE)
    demand(row != column, f"row and column must be two features, got {row!r} twice")
    opened = was_opened(engagements)
    rows, row_names = folded(engagements[row], row_order, most)
    columns, column_names = folded(engagements[column], column_order, most)
    cells = pd.MultiIndex.from_product([row_names, column_names], names=[row, column])
    counts = (
        opened.groupby([rows.to_numpy(), columns.to_numpy()])
        .agg(["mean", "count"])
        .reindex(cells)
    )
    table = pd.DataFrame(
        {
            "opened": counts["mean"].to_numpy(),
            "notifications": counts["count"].fillna(0).to_numpy(int),
        },
        index=cells,
    )
    return table.reset_index()


# ---------------------------------------------------------------- words


def shown_value(feature: str, value: Any, labels: Mapping | None = None) -> str:
    """A value as the pictures write it: with its friendlier word, an app by its name."""
    if labels and str(value) in labels:
        return plain(labels[str(value)])
    return (
        app_name(value)
        if "app" in feature.lower() and "." in str(value)
        else value_words(value)
    )


def user_lead(engagements: pd.DataFrame, user: Words) -> str:
    """The lead line: whose notifications, and how many."""
    return (
        f"{f'user {plain(user)}, ' if user else ''}{len(engagements):,} notifications"
    )


# ---------------------------------------------------------------- pictures


@house_style()
def open_rates(
    engagements: pd.DataFrame,
    by: str = "time",
    order: Sequence | None = None,
    labels: Mapping | None = None,
    user: Words = None,
    title: Words = None,
    figure: Figure | None = None,
) -> Axes:
    """Which values of one feature go with being opened: share, 95 % interval and number of notifications.

    engagements   DataFrame, a row a notification; see `open_rate_table`, which holds what is drawn
    labels        {value: friendlier word}, for values such as days that are numbers
    user          name for the lead line
    returns       Axes on a sheet 6 inches wide
    """
    table = open_rate_table(engagements, by, order)
    overall = was_opened(engagements).mean()
    names = [
        fit(shown_value(by, value, labels), 190, LEAD, "bold") for value in table[by]
    ]
    pitch, top = 30, 110
    stage = Stage(600, top + pitch * len(table) + 46, figure)
    stage.heading(
        title or _rates_title(table, by, names),
        f"{user_lead(engagements, user)}, 95 % intervals",
        title_lines=1,
    )
    stage.label(MARGIN, 84, f"share opened, by {spoken(by)}")
    stage.label(600 - MARGIN, 84, "notifications", "right")
    left = MARGIN + max(text_width(name, LEAD, "bold") for name in names) + 20
    rows = Rows(stage, len(table), pitch, top, left, MARGIN + 76)
    for row, line in enumerate(table.itertuples(index=False)):
        few = line.notifications < FEW
        rows.interval(
            row, line.low, line.high, OPENED, lw=2.2, ls=(0, (1.5, 1.2)) if few else "-"
        )
        rows.dot(row, line.opened, OPENED, hollow=few, ms=8, mew=1.4, clip_on=False)
        rows.say(row, names[row])
        stage.text(
            600 - MARGIN,
            top + pitch * (row + 0.5),
            f"{line.notifications:,}",
            LEAD,
            TEXT,
            align="right",
        )
    rows.ax.set_xlim(0, 1)
    set_ticks(rows.ax.xaxis, (0, 0.25, 0.5, 0.75, 1))
    rows.upright(overall, f"all {overall:.2f}", edge=0, up=3, zorder=1)
    return rows.ax


def _rates_title(table, by, names):
    sure = table[table["notifications"] >= FEW]
    if len(sure) < 2 or sure["opened"].max() == sure["opened"].min():
        return f"Opened by {spoken(by)}"
    top, bottom = sure["opened"].idxmax(), sure["opened"].idxmin()
    counts = {
        row: (round(share * number), number)
        for row, share, number in zip(sure.index, sure["opened"], sure["notifications"])
    }
    wide = simultaneous(
        counts, interval=lambda count, level: share_interval(*count, level)
    )
    if (
        wide[top].low <= wide[bottom].high
    ):  # as wide as they must be, since top and bottom are chosen
        return f"No {spoken(by)} stands out from the others"
    told = (
        f"{spoken(by).capitalize()}: {names[top]} {sure['opened'][top]:.2f} opened, "
        f"{names[bottom]} {sure['opened'][bottom]:.2f}"
    )
    fits = text_width(told, TITLE, "bold") <= 600 - 2 * MARGIN
    return (
        told
        if fits
        else f"{names[top].capitalize()} opened most, {names[bottom]} least"
    )


@house_style()
def open_heatmap(
    engagements: pd.DataFrame,
    row: str,
    column: str,
    row_order: Sequence | None = None,
    column_order: Sequence | None = None,
    row_labels: Mapping | None = None,
    column_labels: Mapping | None = None,
    user: Words = None,
    title: Words = None,
    figure: Figure | None = None,
) -> Axes:
    """Share opened by two features at once; a cell of fewer than 10 notifications is hatched and says how many.

    engagements   DataFrame, a row a notification; see `open_heatmap_table`, which holds what is drawn
    returns       Axes on a sheet 6.4 inches wide
    """
    table = open_heatmap_table(engagements, row, column, row_order, column_order)
    rows, columns = table[row].drop_duplicates(), table[column].drop_duplicates()
    shares = table["opened"].to_numpy().reshape(len(rows), len(columns))
    counts = table["notifications"].to_numpy().reshape(shares.shape)
    row_names = [fit(shown_value(row, value, row_labels), 190, LEAD) for value in rows]
    pitch = 38
    stage = Stage(640, 132 + pitch * len(rows) + 66, figure)
    stage.heading(
        title or f"Opened by {spoken(row)} and {spoken(column)}",
        f"{user_lead(engagements, user)}; hatched: fewer than {FEW}, with their number",
        title_lines=1,
    )
    stage.label(
        MARGIN, 84, f"share opened; rows {spoken(row)}, columns {spoken(column)}"
    )
    left = MARGIN + max(text_width(name, LEAD) for name in row_names) + 14
    width = 640 - MARGIN - left
    below = 104 + pitch * len(rows)
    ax = stage.axes(
        left, 104, width, pitch * len(rows), xlim=(0, len(columns)), ylim=(len(rows), 0)
    )
    ax.set_axis_off()
    for (r, c), share in np.ndenumerate(shares):
        count = counts[r, c]
        if count < FEW:
            box = (
                {"boxstyle": "round,pad=0.15", "fc": SURFACE, "ec": "none"}
                if count
                else None
            )
            draw_cell(
                ax,
                r,
                c,
                SOFT,
                f"{count or ''}",
                box=box,
                ec=MUTED,
                hatch="////" if count else None,
            )
        else:
            draw_cell(ax, r, c, shade(share), f"{share:.2f}", bold=True)
    name_columns(
        stage,
        [shown_value(column, value, column_labels) for value in columns],
        left,
        width,
        below,
    )
    for place, name in enumerate(row_names):
        stage.text(MARGIN, 104 + pitch * (place + 0.5), name)
    stage.text(
        640 - MARGIN - 198, below + 58, "0", SMALL, TEXT, align="right"
    )  # the key of the shading
    for step in range(19):
        stage.box(
            640 - MARGIN - 190 + step * 8,
            below + 52,
            8,
            12,
            0,
            shade(step / 18),
            LINE if step == 0 else None,
            0.8,
            z=3,
        )
    stage.text(640 - MARGIN - 30, below + 58, "1", SMALL, TEXT)
    return ax


def shade(share: float) -> str:
    """Paper at 0, the green of opened at 1: the colour of a cell."""
    return blend(OPENED, round(0.06 + 0.88 * float(share), 3), SURFACE)


def draw_cell(
    ax: Axes,
    row: int,
    column: int,
    fill: str,
    words: str,
    bold: bool = False,
    middle: float = 0.5,
    box: dict | None = None,
    **frame: Any,
) -> None:
    """One cell of a heat map; `frame` is how its edge looks, `box` what its words stand on, if not on the fill."""
    ax.add_patch(
        Rectangle(
            (column + 0.03, row + 0.04), 0.94, 0.92, fc=fill, **{"lw": 0, **frame}
        )
    )
    ax.text(
        column + 0.5,
        row + middle,
        words,
        size=SMALL,
        color=words_on(fill),
        ha="center",
        va="center",
        weight="bold" if bold else "normal",
        bbox=box,
    )


def name_columns(
    stage: Stage, names: Sequence[str], left: float, width: float, top: float
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
