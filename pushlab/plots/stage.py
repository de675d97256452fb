"""A sheet for illustrations, with icons, marks of outcomes and tiles of apps.

For charts see `style`.
"""

import functools
import json
import zlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

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

from pushlab.plots.style import (
    BLUE,
    DISMISSED,
    GREY,
    INK,
    LINE,
    MARGIN,
    OPENED,
    PAPER,
    PURPLE,
    SHOWN,
    SMALL_SIZE,
    SURFACE,
    TEXT,
    TEXT_SIZE,
    WAITING,
    sheet,
    write_heading,
)
from pushlab.utils.arguments import require

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
    """A sheet for illustrations, in hundredths of an inch. x points right and y down.

    Args:
        width, height: Size of the sheet.

    Attributes:
        figure: The Matplotlib figure.
        transform: Transform from coordinates of the sheet to pixels.
    """

    def __init__(self, width: float, height: float):
        self.width = width
        self.height = height
        self.figure = sheet(width / 100, height / 100)
        self.figure.set_layout_engine("none")
        # IPython doesn't show figures without axes and lines.
        self.figure.lines.append(Line2D([], [], figure=self.figure))
        inches = Affine2D().scale(0.01, -0.01).translate(0, height / 100)
        self.transform = inches + self.figure.dpi_scale_trans

    def _add(self, artist, z):
        """Add an artist in coordinates of the sheet."""
        artist.set(transform=self.transform, zorder=z)
        return self.figure.add_artist(artist)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = TEXT_SIZE,
        colour: str = INK,
        weight: str = "normal",
        align: str = "left",
        z: float = 10,
    ) -> Text:
        """Write text with its capitals centred on y."""
        return self.figure.text(
            x,
            y + 0.506 * size,
            text,
            size=size,
            color=colour,
            weight=weight,
            ha=align,
            va="baseline",
            zorder=z,
            transform=self.transform,
        )

    def heading(self, title: str, subtitle: str = "", left: float = MARGIN) -> float:
        """Write a title and a subtitle at the top, and return their lower end."""
        return write_heading(self.figure, title, subtitle, left)

    def label(
        self,
        x: float,
        y: float,
        text: str,
        align: str = "left",
    ) -> Text:
        """Write a small grey label of an axis or a panel."""
        return self.text(x, y, text, SMALL_SIZE, TEXT, align=align)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        radius: float = 8,
        fill: str = SURFACE,
        edge: str = "",
        line: float = 1.0,
        dash: Any = "-",
        z: float = 2,
    ) -> FancyBboxPatch:
        """Draw a rectangle with round corners; x, y is its upper left corner."""
        radius = min(radius, width / 2, height / 2)
        box = FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle=f"round,pad=0,rounding_size={radius}",
            fc=fill,
            ec=edge or "none",
            lw=line if edge else 0,
            ls=dash,
        )
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
    ) -> PathCollection:
        """Draw a path at each of the points (x, y).

        Args:
            path: A path in a box from -1 to 1, y up.
            radius: Half the side of the box.
            fill, edge, line: Colours and line width, common or one for each point.
        """
        size = (0.72 * radius) ** 2  # squared points
        stamps = PathCollection(
            [path],
            [size],
            offsets=points,
            offset_transform=self.transform,
            fc=fill,
            ec=edge,
            lw=line,
            capstyle="round",
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
        """Draw a line through the points (x, y)."""
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
        """Fill rectangles, given by their sides, each with its own opacity."""
        arrays = np.broadcast_arrays(left, right, top, bottom, opacity)
        left, right, top, bottom, opacity = arrays
        corners = np.column_stack(
            [left, top, right, top, right, bottom, left, bottom]
        ).reshape(-1, 4, 2)
        fills = to_rgba_array([colour] * len(corners), np.clip(opacity, 0, 1))
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
        upper = np.array(to_rgb(top))
        lower = np.array(to_rgb(bottom))
        ramp = upper + np.linspace(0, 1, 128)[:, None, None] * (lower - upper)
        corners = Bbox([(x, y), (x + width, y + height)])
        image = BboxImage(
            TransformedBbox(corners, self.transform), interpolation="nearest", data=ramp
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
        **options: Any,
    ) -> Axes:
        """Add Matplotlib axes to the sheet; x, y is their upper left corner."""
        rectangle = (
            x / self.width,
            1 - (y + height) / self.height,
            width / self.width,
            height / self.height,
        )
        return self.figure.add_axes(rectangle, zorder=zorder, **options)


def last_frame(frames: Any) -> Any:
    """Return the last frame of an episode.

    Args:
        frames: A list or tuple of frames.
    """
    if not isinstance(frames, (list, tuple)):
        raise TypeError(
            f"frames must be a list of one episode's frames, not a {type(frames).__name__}; "
            'use films[0] after `log, films = rollout(…, record="frames")`'
        )
    require(frames, "frames is empty; pass at least the frame after reset()")
    return frames[-1]


# ---------------------------------------------------------------- icons


@functools.cache
def _icons():
    """Load the icons: {name: (path of strokes, path of filled shapes)}, None for no path."""
    file = files("pushlab.plots").joinpath("icons.json")
    icons = json.loads(file.read_text())
    return {
        name: (_compound_path(icon["strokes"]), _compound_path(icon["fills"]))
        for name, icon in icons.items()
    }


def _compound_path(shapes):
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
    """Draw an icon from icons.json, centred on each of the points."""
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
    """Draw marks of notifications. Marks of opened ones are filled, those of dismissed and unseen ones hollow.

    Args:
        kind: "opened", "dismissed", "unseen", "expired", "waiting", "shown" or "arrived".
        points: Positions (x, y) of the marks.
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
    column_width: float,
    row_height: float,
    radius: float,
) -> None:
    """Draw marks of the last 20 outcomes, and empty rings for outcomes still to come.

    Args:
        x, y: Centre of the first mark.
        columns: Marks per row.
        column_width, row_height: Distances between the centres of marks.
    """
    index = np.arange(20)
    xs = x + index % columns * column_width
    ys = y + index // columns * row_height
    points = np.column_stack([xs, ys])
    last = np.array(outcomes[-20:])
    count = len(last)
    for kind in set(last):
        mark(stage, kind, points[:count][last == kind], radius)
    stage.stamp(CIRCLE, points[count:], radius - 0.6, PAPER, LINE, 1.2)


def app_colour(app: Any) -> str:
    """Return the colour of an app's tile. It depends on the name alone and has no meaning."""
    return APP_TILES[zlib.crc32(str(app).encode()) % len(APP_TILES)]


def tile(
    stage: Stage,
    x: float,
    y: float,
    side: float,
    letter: str,
    colour: str,
) -> None:
    """Draw an app as a letter on a rounded square; x, y is its upper left corner."""
    stage.box(x, y, side, side, side * 0.28, colour, z=8)
    stage.text(
        x + side / 2,
        y + side / 2,
        letter,
        size=side * 0.44,
        colour=SURFACE,
        weight="bold",
        align="center",
    )
