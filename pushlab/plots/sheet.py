"""The sheet of paper under every picture: the house style, a stage to draw on, words measured before they are set.

Figures are made without pyplot: nothing is registered anywhere, so pictures can be drawn without a screen, in a worker
process, and thousands of times without a leak.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyBboxPatch, Polygon, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from pushlab.plots.canvas import Canvas, png_file
from pushlab.plots.palette import INK, LEAD, SMALL, SURFACE, TEXT, TITLE

DPI = 105
FONT = "DejaVu Sans"  # ships with Matplotlib, so a picture is the same everywhere
MARGIN = 24  # hundredths of an inch, on all sides
Align = Literal["left", "center", "right"]
Words = str | None  # a title or the like; None lets the picture find its own
STYLE_FILE = files("pushlab.plots").joinpath("pushlab.mplstyle")


# ---------------------------------------------------------------- the style


@functools.cache
def _style():
    return dict(
        matplotlib.rc_params_from_file(str(STYLE_FILE), use_default_template=False)
    )


@contextmanager
def house_style() -> Iterator[None]:
    """The look of pushlab for the length of a `with` block, or as a decorator for that of a function."""
    with matplotlib.rc_context(_style()):
        yield


def use_style() -> None:
    """Sets the look of pushlab for the charts that you draw yourself, until the kernel ends."""
    matplotlib.rcParams.update(_style())


# ---------------------------------------------------------------- figures and their bytes


class Sheet(Figure):
    """A Matplotlib figure that a notebook shows as the last expression of a cell; its title is the alternative text."""

    def _repr_png_(self):
        return (png(self), {"alt": self.get_label()}) if self.get_label() else png(self)


class Chart(Axes):
    """Matplotlib axes that a notebook shows, with their whole figure, as the last expression of a cell."""

    def _repr_png_(self):
        return Sheet._repr_png_(self.figure)


def png(figure: Any) -> bytes:
    """The figure as the bytes of a PNG file, at the figure's own resolution.

    figure   a Matplotlib Figure, or any object with a `.figure`, such as Axes

    >>> png(Sheet(figsize=(1, 1)))[1:4]
    b'PNG'
    """
    figure = figure_of(figure)
    usual = figure.canvas
    canvas = usual if isinstance(usual, FigureCanvasAgg) else Canvas(figure)
    try:
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())
    finally:
        figure.set_canvas(usual)
    if pixels[..., 3].min() == 255:
        pixels = pixels[..., :3]  # a quarter less to pack where nothing shines through
    return png_file(pixels, figure.dpi)


def figure_of(picture: Any) -> Figure:
    """The figure behind what a picture function returned: a Figure, or Axes, or anything with a `.figure`."""
    figure = (
        picture if isinstance(picture, Figure) else getattr(picture, "figure", None)
    )
    if not isinstance(figure, Figure):
        raise TypeError(
            f"a picture must be a Matplotlib Figure or Axes, got {type(picture).__name__}"
        )
    return figure


def blank_figure(width: float, height: float, figure: Figure | None = None) -> Figure:
    """An empty sheet of `width` x `height` inches; a given figure is cleared and used again."""
    if figure is None:
        figure = Sheet(figsize=(width, height), dpi=DPI)
        Canvas(figure)
    for ax in (
        figure.axes
    ):  # figure.clear() alone would clear each of them before it goes: 5 ms each
        figure.delaxes(ax)
    figure.clear()
    figure.set_label("")
    figure.set_layout_engine("none")
    figure.set_facecolor(matplotlib.rcParams["figure.facecolor"])
    if tuple(figure.get_size_inches()) != (width, height):
        figure.set_size_inches(width, height)
    return figure


# ---------------------------------------------------------------- words


@functools.cache
def _letters(weight, size):
    return FontProperties(family=FONT, weight=weight, size=size)


@functools.cache
def _measure():
    return RendererAgg(1, 1, DPI)


@functools.lru_cache(maxsize=8192)
def text_width(words: str, size: float, weight: str = "normal") -> float:
    """Width of a line of text in hundredths of an inch, as it will be drawn."""
    if not words.strip():
        return 0.0
    return (
        _measure().get_text_width_height_descent(
            words, _letters(weight, size), ismath=False
        )[0]
        * 100
        / DPI
    )


@functools.cache
def _has_glyph(character):
    return (
        get_font(findfont(_letters("normal", LEAD))).get_char_index(ord(character)) > 0
    )


def plain(value: Any) -> str:
    """Any value as one line of text that the font can draw; a character that it cannot becomes an empty box.

    >>> plain("two\\n  lines"), plain("你好"), plain(3)
    ('two lines', '□□', '3')
    """
    words = " ".join(str(value).split())
    return (
        words
        if words.isascii()
        else "".join(c if _has_glyph(c) else "□" for c in words)
    )


@functools.lru_cache(maxsize=8192)
def fit(words: str, width: float, size: float, weight: str = "normal") -> str:
    """The words, cut with an ellipsis where they are wider than `width` hundredths of an inch."""
    if text_width(words, size, weight) <= width:
        return words
    low, high = 0, len(words)
    while low < high:  # the longest beginning that fits, by halving
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high)
            if text_width(words[:middle] + "…", size, weight) <= width
            else (low, middle - 1)
        )
    return words[:low].rstrip() + "…"


@functools.lru_cache(maxsize=1024)
def wrap(
    words: str, width: float, size: float, weight: str = "normal", lines: int = 2
) -> tuple[str, ...]:
    """The words in at most `lines` lines no wider than `width`; what is left over ends in an ellipsis.

    >>> wrap("a long title for a narrow sheet", 100, 12)
    ('a long title', 'for a narr…')
    """
    rows, rest = [], words.split(" ")
    while rest and len(rows) < lines - 1:
        row = [rest.pop(0)]
        while rest and text_width(" ".join([*row, rest[0]]), size, weight) <= width:
            row.append(rest.pop(0))
        rows.append(" ".join(row))
    rows += [" ".join(rest)] if rest else []
    return tuple(fit(row, width, size, weight) for row in rows)


# ---------------------------------------------------------------- the stage


class _Edges(Rectangle):
    """The edge of a ground, whose transform is made once."""

    def get_transform(self):
        return vars(self)["edges"]


class Stage:
    """A sheet to draw on: x to the right, y down, one unit a hundredth of an inch, so that corners stay round.

    width, height   size of the sheet in units
    figure          a figure to clear and use again; None makes a new one
    """

    def __init__(self, width: float, height: float, figure: Figure | None = None):
        self.width, self.height = width, height
        self.figure = blank_figure(width / 100, height / 100, figure)
        self.ax = self._used_before() or self._new_ground()
        self.ax.set_axis_off()
        self.ax.set(xlim=(0, width), ylim=(height, 0), autoscale_on=False)
        vars(self.figure)["ground"] = self.ax

    def _new_ground(self):
        """Axes as large as the sheet, which tell every artist at once where they end and do not reckon it anew."""
        ax = self.figure.add_axes((0, 0, 1, 1), axes_class=Chart)
        edges = ax.patch.get_transform()
        ax.patch.__class__, vars(ax.patch)["edges"] = _Edges, edges
        return ax

    def _used_before(self):
        """The empty axes of the last stage on this figure: to make others costs as much as a tenth of a picture.

        None where something was done to them that is not undone by taking away what was drawn.
        """
        ax = vars(self.figure).get("ground")
        if ax is None:
            return None
        for artist in (
            *ax.texts,
            *ax.lines,
            *ax.patches,
            *ax.images,
            *ax.collections,
            *ax.artists,
        ):
            artist.remove()
        rest = [
            child
            for child in ax.get_children()
            if not isinstance(child, Text) or child.get_text()
        ]
        as_made = [*ax.spines.values(), ax.xaxis, ax.yaxis, ax.patch]
        if rest != as_made or (ax.get_xscale(), ax.get_yscale(), ax.get_aspect()) != (
            "linear",
            "linear",
            "auto",
        ):
            return None
        return self.figure.add_axes(ax)

    def _add(self, artist, z):
        """Hands the artist to the axes without the search for data limits, which a stage does not need."""
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
        align: Align = "left",
        z: float = 10,
        halo: str | None = None,
        **more: Any,
    ) -> Text:
        """Words whose capitals are centred on y; a halo keeps lines off them."""
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
            parse_math=False,
            **more,
        )

    def heading(
        self,
        title: str,
        lead: str = "",
        x: float = MARGIN,
        y: float = 32,
        title_lines: int = 2,
    ) -> float:
        """Title and lead line, wrapped to the sheet; returns by how much they are taller than one line each."""
        room, at = self.width - MARGIN - x, y
        self.figure.set_label(title)
        for row in wrap(plain(title), room, TITLE, "bold", title_lines):
            self.text(x, at, row, TITLE, weight="bold")
            at += 20
        at += 2
        for row in wrap(lead.replace("\n", " "), room, LEAD):
            self.text(x, at, row, LEAD, TEXT)
            at += 17
        return max(0, at - y - 39)

    def label(self, x: float, y: float, words: str, align: Align = "left") -> Text:
        """The small grey line that names an axis or a panel."""
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
    ) -> Any:
        style = f"round,pad=0,rounding_size={min(radius, width / 2, height / 2)}"
        return self._add(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle=style,
                fc=fill,
                ec=edge or "none",
                lw=line if edge else 0,
                ls=dash,
                **more,
            ),
            z,
        )

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
    ) -> Any:
        return self._add(
            Circle(
                (x, y),
                radius,
                fc=fill,
                ec=edge or "none",
                lw=line if edge else 0,
                **more,
            ),
            z,
        )

    def line(
        self,
        points: Any,
        colour: str = INK,
        line: float = 1.4,
        dash: Any = "-",
        z: float = 6,
        **more: Any,
    ) -> Any:
        """One line through the points (x, y); a row of NaN lifts the pen."""
        xs, ys = np.transpose(points)
        more = {"solid_capstyle": "round", "solid_joinstyle": "round", **more}
        return self._add(Line2D(xs, ys, color=colour, lw=line, ls=dash, **more), z)

    def shape(self, points: Any, fill: str = INK, z: float = 6) -> Any:
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
        """A vertical gradient inside the patch `clip`."""
        ends = np.array([[to_rgb(top)], [to_rgb(bottom)]])
        ramp = ends[0] + np.linspace(0, 1, 128)[:, None, None] * (ends[1] - ends[0])
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
        """Ordinary Matplotlib axes on the stage, for the charts; x, y is their upper left corner."""
        place = (
            x / self.width,
            1 - (y + height) / self.height,
            width / self.width,
            height / self.height,
        )
        return self.figure.add_axes(place, axes_class=Chart, **more)
