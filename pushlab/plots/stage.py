"""A sheet to draw illustrations on, with icons, the marks of outcomes and the tiles of apps.

Charts need none of this: see `style`.
"""

from __future__ import annotations

import functools
import json
import zlib
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyBboxPatch, Polygon
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from pushlab.plots.style import (
    BLUE,
    DISMISSED,
    GREY,
    INK,
    LEAD,
    MARGIN,
    OPENED,
    PURPLE,
    SHOWN,
    SMALL,
    SURFACE,
    TEXT,
    WAITING,
    sheet,
    write_heading,
)

APP_TILES = (
    BLUE,
    PURPLE,
    "#4B5866",
    "#2B6C93",
    "#8A5A00",
    "#6A4C93",
    "#7A3B69",
    "#35586E",
)


class Stage:
    """A sheet to draw on: x to the right, y down, one unit a hundredth of an inch, so that corners stay round.

    Args:
        width, height: Size of the sheet in units.
        figure: A figure to clear and use again.

    Attributes:
        figure: The Matplotlib figure.
        ax: Axes as large as the sheet.
    """

    def __init__(self, width: float, height: float, figure: Figure | None = None):
        self.width = width
        self.height = height
        self.figure = sheet(width / 100, height / 100, figure=figure)
        self.figure.set_layout_engine("none")
        self.ax = self.figure.add_axes((0, 0, 1, 1))
        self.ax.set_axis_off()
        self.ax.set(xlim=(0, width), ylim=(height, 0), autoscale_on=False)

    def _add(self, artist, z):
        artist.set_zorder(z)
        return self.ax.add_artist(artist)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = LEAD,
        colour: str = INK,
        weight: str = "normal",
        align: Literal["left", "center", "right"] = "left",
        z: float = 10,
        halo: str | None = None,
        **more: Any,
    ) -> Text:
        """Write words whose capitals are centred on y; a halo keeps lines off them."""
        if halo:
            more["path_effects"] = [withStroke(linewidth=3.5, foreground=halo)]
        return self.ax.text(
            x,
            y + 0.506 * size,
            words,
            size=size,
            color=colour,
            weight=weight,
            ha=align,
            va="baseline",
            zorder=z,
            **more,
        )

    def heading(self, title: str, lead: str = "", left: float = MARGIN) -> float:
        """Write a title and a lead on top; return where they end."""
        return write_heading(self.figure, title, lead, left)

    def label(
        self,
        x: float,
        y: float,
        words: str,
        align: Literal["left", "center", "right"] = "left",
    ) -> Text:
        """Write the small grey name of an axis or a panel."""
        return self.text(x, y, words, SMALL, TEXT, align=align)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        radius: float = 8,
        fill: str = SURFACE,
        edge: str | None = None,
        line: float = 1.0,
        dash: Any = "-",
        z: float = 2,
        **more: Any,
    ) -> FancyBboxPatch:
        """Draw a rectangle with round corners; x, y is its upper left corner."""
        style = f"round,pad=0,rounding_size={min(radius, width / 2, height / 2)}"
        look = {"fc": fill, "ec": edge or "none", "lw": line if edge else 0, "ls": dash}
        box = FancyBboxPatch((x, y), width, height, boxstyle=style, **look, **more)
        return self._add(box, z)

    def disc(
        self,
        x: float,
        y: float,
        radius: float,
        fill: str = SURFACE,
        edge: str | None = None,
        line: float = 1.2,
        z: float = 5,
        **more: Any,
    ) -> Circle:
        """Draw a circle."""
        look = {"fc": fill, "ec": edge or "none", "lw": line if edge else 0}
        return self._add(Circle((x, y), radius, **look, **more), z)

    def line(
        self,
        points: Any,
        colour: str = INK,
        line: float = 1.4,
        dash: Any = "-",
        z: float = 6,
        **more: Any,
    ) -> Line2D:
        """Draw one line through the points (x, y); a row of NaN lifts the pen."""
        xs, ys = np.transpose(points)
        look = {"solid_capstyle": "round", "solid_joinstyle": "round", **more}
        return self._add(Line2D(xs, ys, color=colour, lw=line, ls=dash, **look), z)

    def shape(self, points: Any, fill: str = INK, z: float = 6) -> Polygon:
        """Fill a polygon."""
        return self._add(Polygon(points, closed=True, fc=fill, ec="none", lw=0), z)

    def wash(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        top: str,
        bottom: str,
        clip: Any,
        z: float = 2,
    ) -> None:
        """Fill the patch `clip` with a vertical gradient."""
        upper, lower = np.array(to_rgb(top)), np.array(to_rgb(bottom))
        ramp = upper + np.linspace(0, 1, 128)[:, None, None] * (lower - upper)
        image = self.ax.imshow(
            ramp,
            extent=(x, x + width, y + height, y),
            aspect="auto",
            zorder=z,
            interpolation="nearest",
        )
        image.set_clip_path(clip)

    def axes(
        self, x: float, y: float, width: float, height: float, **more: Any
    ) -> Axes:
        """Return Matplotlib axes on the stage; x, y is their upper left corner."""
        place = (
            x / self.width,
            1 - (y + height) / self.height,
            width / self.width,
            height / self.height,
        )
        return self.figure.add_axes(place, **more)


# ---------------------------------------------------------------- icons


@functools.cache
def _pens():
    """Return the strokes, NaN between two, and the filled shapes of each icon, in a box from -1 to 1."""
    file = files("pushlab.plots").joinpath("icons.json")
    pens = {}
    for name, icon in json.loads(file.read_text()).items():
        strokes = [[*points, [np.nan, np.nan]] for points in icon["strokes"]]
        pens[name] = (np.concatenate(strokes) if strokes else [], icon["fills"])
    return pens


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
    """Draw an icon of icons.json, centred on x, y."""
    strokes, fills = _pens()[name]
    if len(strokes):
        stage.line(strokes * radius + (x, y), colour, line, z=z)
    for points in fills:
        stage.shape(np.array(points) * radius + (x, y), colour, z=z)


HOLLOW = {
    "dismissed": (DISMISSED, "cross", 0.95),
    "unseen": (GREY, "minus", 0.95),
    "expired": (GREY, "hands", 1.0),
}


def mark(
    stage: Stage, kind: str, x: float, y: float, radius: float = 8, z: float = 12
) -> None:
    """Draw what became of a notification: colour and symbol, full when opened and hollow when not.

    Args:
        kind: "opened", "dismissed", "unseen", "expired", "waiting", "shown" or "arrived".
    """
    stroke = max(1.1, radius / 4.6)
    if kind == "opened":
        stage.disc(x, y, radius, OPENED, z=z)
        icon(stage, "check", x, y, radius, SURFACE, stroke, z=z + 1)
    elif kind == "waiting":
        stage.disc(x, y, radius - stroke / 2, WAITING, INK, stroke * 0.75, z=z)
        icon(stage, "hands", x, y, radius, INK, stroke * 0.8, z=z + 1)
    elif kind == "shown":
        corners = np.array([(0, -1), (0.95, 0.75), (-0.95, 0.75)])
        stage.shape(radius * corners + (x, y), SHOWN, z=z)
    elif kind == "arrived":
        stage.line([(x, y - radius), (x, y + radius)], TEXT, 1.6, z=z)
    else:
        colour, symbol, size = HOLLOW[kind]
        stage.disc(x, y, radius - stroke / 2, SURFACE, colour, stroke, z=z)
        icon(stage, symbol, x, y, radius * size, colour, stroke, z=z + 1)


def app_colour(app: Any) -> str:
    """Return the colour of an app's tile, always the same for a name. It carries no meaning."""
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
    """Draw an app: a letter on a rounded square, x, y its upper left corner."""
    stage.box(x, y, side, side, side * 0.28, colour, z=z)
    middle = (x + side / 2, y + side / 2)
    stage.text(*middle, letter, side * 0.44, SURFACE, "bold", "center", z=z + 1)
