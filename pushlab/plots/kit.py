"""What the pictures are drawn with: icons, outcome marks, app tiles, the phone's body, chips, labels at line ends.

Everything here takes a `Stage` (a sheet in hundredths of an inch, y down) or Matplotlib axes, and draws one thing.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from pushlab.plots.icons import PENS
from pushlab.plots.palette import (
    APP_TILES,
    BAND,
    BLUE,
    BODY,
    DAWN,
    DISMISSED,
    GREY,
    INK,
    LEAD,
    LINE,
    NIGHT,
    OPENED,
    PAPER,
    SHOWN,
    SMALL,
    SURFACE,
    TEXT,
    TICK,
    WAITING,
    blend,
    deep,
)
from pushlab.plots.sheet import Stage, figure_of, fit, text_width

PAST_CARD = blend(SURFACE, 0.84, DAWN)
NO_BAR = "#C6CDD6"
CHIP_TEXT, CHIP_EDGES = (
    34,
    39,
)  # where the words of a chip begin, and what is not theirs


# ---------------------------------------------------------------- icons and outcomes


def icon(
    stage: Stage,
    name: str,
    x: float,
    y: float,
    radius: float = 7,
    colour: str = TEXT,
    line: float = 1.3,
    z: float = 8,
) -> None:
    """One of `ICONS`, centred on x, y."""
    strokes, fills = PENS[name]
    if len(strokes):
        stage.line(strokes * radius + (x, y), colour, line, z=z)
    for points in fills:
        stage.shape(points * radius + (x, y), colour, z=z)


RINGS = {
    "dismissed": (DISMISSED, "cross", 0.95),
    "unseen": (GREY, "minus", 0.95),
    "expired": (GREY, "hands", 1.0),
}


def mark(
    stage: Stage,
    kind: str,
    x: float,
    y: float,
    radius: float = 8,
    z: float = 12,
    halo: str = "",
) -> None:
    """What became of a notification: colour and symbol, full when opened and hollow when not.

    kind   "opened", "dismissed", "unseen", "expired", "waiting", "shown" or "arrived"
    """
    stroke = max(1.1, radius / 4.6)
    if halo:
        stage.disc(x, y, radius + 1.6, halo, z=z - 1)
    if kind == "opened":
        stage.disc(x, y, radius, OPENED, z=z)
        icon(stage, "check", x, y, radius, SURFACE, stroke, z=z + 1)
    elif kind in RINGS:
        colour, symbol, size = RINGS[kind]
        stage.disc(x, y, radius - stroke / 2, SURFACE, colour, stroke, z=z)
        icon(stage, symbol, x, y, radius * size, colour, stroke, z=z + 1)
    elif kind == "waiting":
        stage.disc(x, y, radius - stroke / 2, WAITING, INK, stroke * 0.75, z=z)
        icon(stage, "hands", x, y, radius, INK, stroke * 0.8, z=z + 1)
    elif kind == "shown":
        stage.shape(
            [
                (x, y - radius),
                (x + 0.95 * radius, y + 0.75 * radius),
                (x - 0.95 * radius, y + 0.75 * radius),
            ],
            SHOWN,
            z=z,
        )
    elif kind == "arrived":
        stage.line([(x, y - radius), (x, y + radius)], TEXT, 1.6, z=z)
    else:
        raise ValueError(
            f"no mark for {kind!r}; there are opened, {', '.join(RINGS)}, waiting, shown, arrived"
        )


def badge(stage: Stage, kind: str, right: float, y: float, z: float = 12) -> float:
    """A pill that says the outcome in words, its right end at `right`; returns where it begins."""
    colour, symbol = (OPENED, "check") if kind == "opened" else (DISMISSED, "cross")
    left = right - text_width(kind, SMALL, "bold") - 31
    on, fill, edge = (
        (SURFACE, OPENED, None) if kind == "opened" else (colour, SURFACE, colour)
    )
    stage.box(left, y - 10, right - left, 20, 10, fill, edge, 1.4, z=z)
    icon(stage, symbol, left + 12, y, 8, on, 1.8, z=z + 1)
    stage.text(right - 10, y, kind, SMALL, on, "bold", "right", z=z + 1)
    return left


# ---------------------------------------------------------------- apps


def app_colour(app: Any) -> str:
    """The tile's colour: one of the dark app colours, always the same for the same name. It carries no meaning."""
    return APP_TILES[zlib.crc32(str(app).encode()) % len(APP_TILES)]


def tile(
    stage: Stage,
    x: float,
    y: float,
    side: float,
    letter: str,
    colour: str,
    z: float = 8,
) -> None:
    """An app: a letter on a rounded square."""
    stage.box(x, y, side, side, side * 0.28, colour, z=z)
    stage.text(
        x + side / 2,
        y + side / 2,
        letter,
        side * 0.44,
        SURFACE,
        "bold",
        "center",
        z=z + 1,
    )


PRIORITY_BARS = {"min": 0, "low": 1, "default": 2, "high": 3, "max": 3}


def priority_mark(stage: Stage, level: Any, x: float, y: float, z: float = 9) -> float:
    """Three short bars, filled from the left: low 1, default 2, high 3; returns its width, 0 for a level unknown."""
    if level not in PRIORITY_BARS:
        return 0
    for bar in range(3):
        height = 4 + 3 * bar
        stage.box(
            x + 6 * bar,
            y + 5 - height,
            4,
            height,
            1,
            INK if bar < PRIORITY_BARS[level] else NO_BAR,
            z=z,
        )
    return 16


# ---------------------------------------------------------------- the phone's body


def phone_body(
    stage: Stage,
    x: float,
    y: float,
    width: float,
    height: float,
    time: str = "",
    battery: float | None = None,
    ringer: str | None = None,
    charging: bool = False,
) -> tuple:
    """The body, the screen and the status bar; returns the screen's box (x, y, width, height).

    time     word at the left of the status bar
    battery  share charged, 0 to 1; None leaves the battery out
    ringer   "normal", "vibrate" or "silent"; None leaves the bell out
    """
    for spread in (7, 5, 3, 1):
        wide, high = width + 2 * spread, height + 2 * spread
        stage.box(
            x - spread, y - spread + 3, wide, high, 30 + spread, INK, z=1, alpha=0.018
        )
    stage.box(x, y, width, height, 30, BODY, z=2)
    sx, sy, sw, sh = x + 7, y + 7, width - 14, height - 14
    stage.wash(
        sx, sy, sw, sh, NIGHT, DAWN, stage.box(sx, sy, sw, sh, 24, NIGHT, z=2), z=3
    )
    stage.box(x + width / 2 - 22, sy + 7, 44, 9, 4.5, BODY, z=4)
    stage.text(
        sx + 18,
        sy + 16,
        fit(time, width / 2 - 52, SMALL, "bold"),
        SMALL,
        SURFACE,
        "bold",
    )
    _status_icons(stage, sx + sw - 16, sy, battery, ringer, charging)
    stage.box(x + width / 2 - 30, sy + sh - 11, 60, 4, 2, SURFACE, z=6)
    return sx, sy, sw, sh


def _status_icons(stage, right, top, battery, ringer, charging):
    """Battery, bolt and bell, from the right edge towards the left."""
    if battery is not None:
        stage.box(right - 22, top + 11, 20, 10, 2.5, "none", SURFACE, 1.1, z=6)
        stage.box(right - 1, top + 14, 2, 4, 1, SURFACE, z=6)
        stage.box(right - 20, top + 13, max(1.5, 16 * battery), 6, 1.2, SURFACE, z=6)
        right -= 30
    if charging:
        icon(stage, "charging", right - 1, top + 16, 6, SURFACE, 1.1)
        right -= 14
    if ringer:
        icon(
            stage,
            "vibrate" if ringer == "vibrate" else "ringer",
            right - 3,
            top + 15.5,
            6,
            SURFACE,
            1.1,
        )
        if ringer == "silent":
            stage.line(
                [(right - 10, top + 9), (right + 4, top + 23)], SURFACE, 1.3, z=9
            )


def clock(stage: Stage, x: float, y: float, time: str, day: str, room: float) -> None:
    """The time, or the word of its slot, large; the day below. Longer words are set smaller."""
    size = max(12, min(27, 26.5 * room / max(1, text_width(time, 27))))
    stage.text(x, y, fit(time, room, size), size, SURFACE, align="center")
    stage.text(x, y + 29, fit(day, room, LEAD), LEAD, "#D7E3EC", align="center")


def chip(
    stage: Stage,
    x: float,
    y: float,
    width: float,
    name: str,
    value: str,
    symbol: str = "feature",
    height: float = 46,
    known: bool = True,
) -> None:
    """One feature of a context: icon, name, value. An unknown value is set in plain grey."""
    stage.box(x, y, width, height, 9, SURFACE, LINE, 1.0)
    icon(stage, symbol, x + 18, y + height / 2, 7.5, BLUE, 1.4)
    left, room = x + CHIP_TEXT, width - CHIP_EDGES
    stage.text(left, y + 15, fit(name, room, SMALL), SMALL, TEXT)
    weight, colour = ("bold", INK) if known else ("normal", TEXT)
    stage.text(left, y + 32, fit_list(value, room, LEAD, weight), LEAD, colour, weight)


def fit_list(words: str, width: float, size: float, weight: str) -> str:
    """Words with commas that are too wide lose whole items, and say how many; other words are cut."""
    items = words.split(", ")
    for kept in range(len(items), 0, -1):
        left_out = len(items) - kept
        shorter = ", ".join(items[:kept]) + (f" + {left_out} more" if left_out else "")
        if text_width(shorter, size, weight) <= width:
            return shorter
    return fit(words, width, size, weight)


# ---------------------------------------------------------------- charts


def spread_out(heights: Sequence[float], gap: float) -> np.ndarray:
    """Moves label heights apart so that neighbours are at least `gap` away; order is kept.

    >>> spread_out([0.5, 0.5, 2.0], 1.0).tolist()
    [0.0, 1.0, 2.0]
    """
    order, placed = np.argsort(heights, kind="stable"), np.array(heights, float)
    for _ in range(200):
        moved = False
        for low, high in zip(order, order[1:]):
            short = gap - (placed[high] - placed[low])
            if short > 1e-9:
                placed[low] -= short / 2
                placed[high] += short / 2
                moved = True
        if not moved:
            break
    return placed


def end_labels(
    ax: Axes, labels: Sequence[tuple], dx: float = 7, halo: str = PAPER
) -> None:
    """Names at the ends of lines, pushed apart where they would touch.

    labels   list of (x, y, words, colour, weight) in data coordinates; set scale and limits of the axes before
    """
    to_height, to_value = (
        (np.log10, lambda height: 10.0**height)
        if ax.get_yscale() == "log"
        else (float, float)
    )
    low, high = map(to_height, ax.get_ylim())
    inches = ax.get_position().height * figure_of(ax).get_size_inches()[1]
    gap = (high - low) / (inches * 72) * (TICK * 1.42)
    heights = spread_out([to_height(label[1]) for label in labels], gap)
    for (x, _, words, colour, weight), height in zip(labels, heights):
        ax.annotate(
            words,
            (x, to_value(height)),
            (dx, 0),
            textcoords="offset points",
            color=deep(colour),
            size=TICK,
            weight=weight,
            va="center",
            annotation_clip=False,
            parse_math=False,
            zorder=9,
            path_effects=[withStroke(linewidth=3, foreground=halo)],
        )


def banded_line(ax: Axes, along: Any, line: Any, look: tuple, **more: Any) -> None:
    """A mean as a line in the band of its interval.

    along   what the line runs over, array (points,)
    line    a table with the columns mean, low, high
    look    (colour, dash, marker), see `series_styles`
    """
    ax.fill_between(along, line["low"], line["high"], color=look[0], alpha=BAND, lw=0)
    ax.plot(
        along,
        line["mean"],
        color=look[0],
        ls=look[1],
        **{"solid_capstyle": "butt", **more},
    )
