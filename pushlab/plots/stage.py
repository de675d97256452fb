"""A sheet to draw illustrations on, with icons, the marks of outcomes and the tiles of apps.

Charts need none of this: see `style`.
"""

import functools
import json
import zlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_rgb, to_rgba_array
from matplotlib.image import BboxImage
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Bbox, IdentityTransform, TransformedBbox

from pushlab.ground.arguments import demand
from pushlab.plots.style import (
    BLUE,
    DISMISSED,
    GREY,
    INK,
    LEAD,
    LINE,
    MARGIN,
    OPENED,
    PAPER,
    PURPLE,
    SHOWN,
    SMALL,
    SURFACE,
    TEXT,
    WAITING,
    sheet,
    write_heading,
)

CIRCLE = Path.unit_circle()
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

    Attributes:
        figure: The Matplotlib figure.
        place: The transform from the sheet's units to pixels.
    """

    def __init__(self, width: float, height: float):
        self.width = width
        self.height = height
        self.figure = sheet(width / 100, height / 100)
        self.figure.set_layout_engine("none")
        # IPython leaves out figures that have neither axes nor lines.
        self.figure.lines.append(Line2D([], [], figure=self.figure))
        inches = Affine2D().scale(0.01, -0.01).translate(0, height / 100)
        self.place = inches + self.figure.dpi_scale_trans

    def _add(self, artist, z):
        artist.set(transform=self.place, zorder=z)
        return self.figure.add_artist(artist)

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
    ) -> Text:
        """Write words whose capitals are centred on y."""
        return self.figure.text(
            x,
            y + 0.506 * size,
            words,
            size=size,
            color=colour,
            weight=weight,
            ha=align,
            va="baseline",
            zorder=z,
            transform=self.place,
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

    def stamp(
        self,
        path: Path,
        points: Any,
        radius: float,
        fill: Any = "none",
        edge: Any = "none",
        line: Any = 0,
        z: float = 5,
        **more: Any,
    ) -> PathCollection:
        """Draw a path at each of the points (x, y).

        Args:
            path: In a box from -1 to 1, y up.
            radius: Half the side of the box.
            fill, edge, line: Colours and line width; of all, or of each point.
        """
        size = (0.72 * radius) ** 2  # points, squared
        look = {"fc": fill, "ec": edge, "lw": line, "capstyle": "round", **more}
        stamps = PathCollection(
            [path], [size], offsets=points, offset_transform=self.place, **look
        )
        stamps.set(transform=IdentityTransform(), zorder=z)
        return self.figure.add_artist(stamps)

    def line(
        self,
        points: Any,
        colour: str = INK,
        line: float = 1.4,
        z: float = 6,
    ) -> Line2D:
        """Draw one line through the points (x, y)."""
        xs, ys = np.transpose(points)
        return self._add(Line2D(xs, ys, color=colour, lw=line, ls="-"), z)

    def bars(
        self,
        left: Any,
        right: Any,
        top: Any,
        bottom: Any,
        colour: str,
        opacity: Any = 1.0,
        z: float = 1.5,
    ) -> None:
        """Fill rectangles between these sides, each with an opacity of its own."""
        sides = np.broadcast_arrays(
            left, top, right, top, right, bottom, left, bottom, opacity
        )
        corners = np.column_stack(sides[:8]).reshape(-1, 4, 2)
        fills = to_rgba_array([colour] * len(corners), np.clip(sides[8], 0, 1))
        self._add(PolyCollection(corners, fc=fills, lw=0, antialiased=False), z)

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
        corners = Bbox([(x, y), (x + width, y + height)])
        image = BboxImage(
            TransformedBbox(corners, self.place), interpolation="nearest", data=ramp
        )
        image.set(zorder=z, clip_path=clip)
        self.figure.add_artist(image)

    def axes(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        zorder: float = 20,
        **more: Any,
    ) -> Axes:
        """Return Matplotlib axes on the stage; x, y is their upper left corner."""
        place = (
            x / self.width,
            1 - (y + height) / self.height,
            width / self.width,
            height / self.height,
        )
        return self.figure.add_axes(place, zorder=zorder, **more)


def latest(frames: Any) -> Any:
    """Return the last of the frames of one episode."""
    if not isinstance(frames, (list, tuple)):
        raise TypeError(
            "a picture needs the frames of one episode, such as films[0] after "
            f'`log, films = rollout(…, record="frames")`; got a {type(frames).__name__}'
        )
    demand(frames, "a picture needs at least one frame: the one after reset()")
    return frames[-1]


# ---------------------------------------------------------------- icons


@functools.cache
def _icons():
    """Return the strokes and the filled shapes of each icon as paths, None for no shapes."""
    file = files("pushlab.plots").joinpath("icons.json")
    return {
        name: (_path(icon["strokes"]), _path(icon["fills"]))
        for name, icon in json.loads(file.read_text()).items()
    }


def _path(shapes):
    paths = [Path(np.array(points) * (1, -1)) for points in shapes]
    return Path.make_compound_path(*paths) if paths else None


def icon(
    stage: Stage,
    name: str,
    points: Any,
    radius: float = 7,
    colour: str = TEXT,
    line: float = 1.3,
    z: float = 8,
) -> None:
    """Draw an icon of icons.json, centred on each of the points."""
    strokes, fills = _icons()[name]
    if strokes:
        stage.stamp(strokes, points, radius, edge=colour, line=line, z=z)
    if fills:
        stage.stamp(fills, points, radius, colour, z=z)


TRIANGLE = Path([(0, 1), (0.95, -0.75), (-0.95, -0.75), (0, 1)])
HOLLOW = {
    "dismissed": (DISMISSED, "cross", 0.95),
    "unseen": (GREY, "minus", 0.95),
    "expired": (GREY, "hands", 1.0),
}


def mark(stage: Stage, kind: str, points: Any, radius: float = 8) -> None:
    """Draw what became of notifications: colour and symbol, full when opened and hollow when not.

    Args:
        kind: "opened", "dismissed", "unseen", "expired", "waiting", "shown" or "arrived".
        points: Places (x, y) of the marks.
    """
    line = max(1.1, radius / 4.6)
    rim = radius - line / 2
    if kind == "opened":
        stage.stamp(CIRCLE, points, radius, OPENED, z=12)
        icon(stage, "check", points, radius, SURFACE, line, z=13)
    elif kind == "waiting":
        stage.stamp(CIRCLE, points, rim, WAITING, INK, 0.75 * line, z=12)
        icon(stage, "hands", points, radius, INK, 0.8 * line, z=13)
    elif kind == "shown":
        stage.stamp(TRIANGLE, points, radius, SHOWN, z=12)
    elif kind == "arrived":
        bar = Path([(0, -1), (0, 1)])
        stage.stamp(bar, points, radius, edge=TEXT, line=1.6, z=12)
    else:
        colour, symbol, size = HOLLOW[kind]
        stage.stamp(CIRCLE, points, rim, SURFACE, colour, line, z=12)
        icon(stage, symbol, points, radius * size, colour, line, z=13)


def draw_last_outcomes(
    stage: Stage,
    outcomes: Sequence[str],
    x: float,
    y: float,
    columns: int,
    across: float,
    down: float,
    radius: float,
) -> None:
    """Draw a mark for each of the last 20 outcomes, and empty rings for those to come.

    Args:
        x, y: Middle of the first mark.
        columns: Marks in a row.
        across, down: From mark to mark.
    """
    place = np.arange(20)
    points = np.column_stack(
        [x + place % columns * across, y + place // columns * down]
    )
    last = np.array(outcomes[-20:])
    for kind in set(outcomes[-20:]):
        mark(stage, kind, points[: len(last)][last == kind], radius)
    stage.stamp(CIRCLE, points[len(last) :], radius - 0.6, PAPER, LINE, 1.2)


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
) -> None:
    """Draw an app: a letter on a rounded square, x, y its upper left corner."""
    stage.box(x, y, side, side, side * 0.28, colour, z=8)
    middle = (x + side / 2, y + side / 2)
    stage.text(*middle, letter, side * 0.44, SURFACE, "bold", "center")
