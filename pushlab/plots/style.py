"""Shared style of all plots: colours, fonts, sheets with a heading, labels of lines, and formatted numbers.

Figures don't use pyplot, so they need no display and leave no global state.

Each colour has one meaning: green is opened, vermilion dismissed, amber waiting, blue shown. Named agents, users and
interventions have the colours of palette.toml, the same in all pictures.
"""

import functools
import io
import itertools
import re
import sys
import tomllib
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from threading import get_ident
from typing import Any
from weakref import WeakKeyDictionary, finalize

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends import BackendFilter, backend_registry
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator
from PIL import Image

INK = "#1F2A37"
TEXT = "#4B5866"
MUTED = "#7F8B99"
LINE = "#DFE3E8"
SOFT = "#EFF1F4"
PAPER = "#FAF9F6"
SURFACE = "#FFFFFF"
TRACK = "#E4E8ED"

BLUE = "#0072B2"
ORANGE = "#C87400"
PURPLE = "#7F2B6A"
SKY = "#3A97CF"
GREY = "#76818E"
SERIES = (BLUE, ORANGE, PURPLE, SKY, "#6E4A2F", "#2F3E9E")
DASHES = ((0, ()), (0, (6, 2)), (0, (6, 2, 1.5, 2)), (0, (3, 1.5)))
MARKERS = ("o", "s", "^", "D")
RANDOM_AGENT = "random"
RANDOM_STYLE = (GREY, (0, (1.2, 1.6)), "D")
BOUND_DASH = (0, (4, 2.2))  # an upper bound on all agents
BAND = 0.16  # opacity of an interval band

OPENED = "#00805C"
DISMISSED = "#C04A00"
WAITING = "#E69F00"
WAITING_EDGE = "#8A5A00"
SHOWN = BLUE
GOAL = "#DCEFE6"
GOAL_EDGE = OPENED
DRUG_1 = SKY
DRUG_2 = "#E0B400"
LIT = "#FFF1BC"
FLOOR = "#D8DEE5"
EPISODIC = "#DDEBF6"
SEMANTIC = "#F2E3EE"

DPI = 105
SHARP = 2  # pixels per pixel of a page, for dense screens
FONT = "DejaVu Sans"  # ships with Matplotlib, so plots look the same everywhere
# Font sizes in points.
TITLE_SIZE = 12
TEXT_SIZE = 9.5
TICK_SIZE = 9
SMALL_SIZE = 8.5
MARGIN = 24  # hundredths of an inch, on all sides
HALO = [withStroke(linewidth=5, foreground=PAPER)]
STYLE_FILE = files("pushlab.plots").joinpath("pushlab.mplstyle")


# ---------------------------------------------------------------- style


@functools.cache
def _style_params():
    """Read pushlab's style as Matplotlib parameters."""
    return matplotlib.rc_params_from_file(str(STYLE_FILE), use_default_template=False)


@contextmanager
def house_style() -> Iterator[None]:
    """Apply pushlab's style, as a context manager or a decorator."""
    with matplotlib.rc_context(_style_params()):
        yield


def use_style() -> None:
    """Apply pushlab's style to your own charts until the kernel ends, and show all charts sharp."""
    matplotlib.rcParams.update(_style_params())
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if hasattr(shell, "kernel"):
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("retina")
        formatter = shell.display_formatter.formatters["image/png"]
        formatter.for_type(Sheet, Sheet._repr_png_)


@functools.cache
def blend(colour: str, share: float, background: str = PAPER) -> str:
    """Mix a colour with a background colour.

    Args:
        share: Share of `colour`. 1 returns `colour`, 0 the background.

    >>> blend("#000000", 0.5, background="#ffffff")
    '#808080'
    """
    front = np.array(to_rgb(colour))
    back = np.array(to_rgb(background))
    mixed: Any = share * front + (1 - share) * back
    return to_hex(mixed)


def darken(colour: str) -> str:
    """Darken a colour so that small text in it is readable."""
    return blend(colour, 0.70, INK)


@functools.cache
def _palette():
    """Load the places of names in the series of styles."""
    text = files("pushlab.plots").joinpath("palette.toml").read_text("utf-8")
    places = ChainMap(*tomllib.loads(text).values())
    return {name.casefold(): place for name, place in places.items()}


def series_styles(names: Iterable[Any]) -> dict[Any, tuple]:
    """Return the style of each agent, user or task: {name: (colour, dash, marker)}.

    The names in palette.toml have fixed styles. Other names get the remaining ones in order of appearance. After six
    names the colours repeat with other dashes and markers, so that 24 styles differ.

    >>> styles = series_styles(["my agent", "LinUCB", "random"])
    >>> styles["LinUCB"][0] == BLUE, styles["my agent"][0] == ORANGE
    (True, True)
    >>> styles["random"][0] == GREY
    True
    """
    names = list(dict.fromkeys(names))
    places = {name: _palette().get(str(name).casefold()) for name in names}
    taken = set(places.values())
    for name in names:
        if places[name] is None:
            places[name] = next(n for n in itertools.count() if n not in taken)
            taken.add(places[name])
    return {name: _style(place) for name, place in places.items()}


def _style(place):
    if place < 0:
        return RANDOM_STYLE
    variant = (place + place // len(SERIES)) % 4
    return SERIES[place % len(SERIES)], DASHES[variant], MARKERS[variant]


# ---------------------------------------------------------------- figures


@functools.lru_cache(maxsize=8)
def _renderer(width, height, dpi, thread):
    return RendererAgg(width, height, dpi)


class Canvas(FigureCanvasAgg):
    """A canvas that shares its renderer with canvases of the same size.

    The shared renderer caches the sizes of texts. Read the pixels before drawing another canvas, as `pixels` does.
    """

    def get_renderer(self):
        width, height = self.figure.bbox.size
        return _renderer(width, height, self.figure.dpi, get_ident())


class Sheet(Figure):
    """A Matplotlib figure that notebooks display. Its label is the alternative text."""

    def _repr_png_(self):
        width, height = self.bbox.size
        size = {"width": int(width), "height": int(height)}
        return png(self, SHARP), {"alt": self.get_label(), **size}

    def get_tightbbox(self, *_, **__):
        """Return the box of the entire sheet, because notebooks crop figures to it once pyplot is imported."""
        return self.bbox_inches


def sheet(width: float, height: float, title: str = "", subtitle: str = "") -> Figure:
    """Return an empty figure with a heading. Its layout places axes below the heading.

    Args:
        width, height: Size in inches.
        title: The main finding; also the alternative text.
        subtitle: Source of the numbers.
    """
    figure = Sheet(figsize=(width, height), dpi=DPI)
    Canvas(figure)
    top = (write_heading(figure, title, subtitle) + 8) / 100
    margin = MARGIN / 100
    area_below = (
        margin / width,
        margin / height / 2,
        1 - 2 * margin / width,
        1 - (top + margin / 2) / height,
    )
    figure.set_layout_engine("constrained", rect=area_below, w_pad=0, h_pad=0)
    return figure


def chart(
    title: str = "",
    subtitle: str = "",
    ylabel: str = "",
    xlabel: str = "",
    size: tuple[float, float] = (6, 4),
) -> Axes:
    """Return the axes of a new chart; see `sheet` for the heading.

    Args:
        ylabel: Label of the y axis, written horizontally above it.
        xlabel: Label of the x axis, written at its right end.
        size: Width and height in inches.
    """
    ax = sheet(*size, title, subtitle).add_subplot()
    label_axes(ax, ylabel, xlabel)
    return ax


def label_axes(ax: Axes, ylabel: str = "", xlabel: str = "") -> None:
    """Label the y axis above it and the x axis at its right end, and format the ticks of both."""
    if ylabel:
        ax.set_title(
            ylabel,
            loc="left",
            size=SMALL_SIZE,
            weight="normal",
            color=TEXT,
            pad=8,
        )
    if xlabel:
        ax.set_xlabel(xlabel, loc="right", size=TICK_SIZE, color=TEXT)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value)))
        axis.isDefault_majfmt = True  # Matplotlib may replace it by category names


def write_heading(
    figure: Figure,
    title: str,
    subtitle: str = "",
    left: float = MARGIN,
) -> float:
    """Write a title and a subtitle at the top of a figure, and return their lower end.

    Args:
        left: Left end of both.

    Returns:
        Distance from the top of the figure. All lengths are in hundredths of an inch.
    """
    width, height = 100 * figure.get_size_inches()
    figure.set_label(title)
    y = 32
    for text, size, weight, colour, line_height in (
        (title, TITLE_SIZE, "bold", INK, 20),
        (subtitle, TEXT_SIZE, "normal", TEXT, 17),
    ):
        for row in wrap(one_line(text), width - MARGIN - left, size, weight):
            baseline = y + 0.506 * size
            figure.text(
                left / width,
                1 - baseline / height,
                row,
                size=size,
                weight=weight,
                color=colour,
                va="baseline",
            )
            y += line_height
        y += 2
    return y - 4


def png(figure: Figure, scale: float = 1) -> bytes:
    """Return a figure as the bytes of a PNG file; see `pixels`."""
    file = io.BytesIO()
    image = Image.fromarray(pixels(figure, scale))
    resolution = (scale * figure.dpi, scale * figure.dpi)
    image.save(file, "PNG", compress_level=1, dpi=resolution)
    return file.getvalue()


def pixels(figure: Figure, scale: float = 1) -> np.ndarray:
    """Return a figure as an array (height, width, 3), uint8.

    Args:
        scale: Factor of both sides, for dense screens.
    """
    canvas: Any = figure.canvas
    if not isinstance(canvas, FigureCanvasAgg):
        canvas = Canvas(figure)
    dpi = figure.dpi
    hinting = _style_params()["text.hinting"]
    with matplotlib.rc_context({"text.hinting": hinting}):
        figure.set_dpi(scale * dpi)
        canvas.draw()
        image = np.asarray(canvas.buffer_rgba())[..., :3].copy()
        figure.set_dpi(dpi)
    return image


# {owner: display handle in a notebook}
_displays: WeakKeyDictionary = WeakKeyDictionary()


def show(figure: Figure, owner: Any) -> None:
    """Show a figure in place of the owner's previous one.

    A notebook shows it below the cell, other programs in a window. Without a display nothing happens.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if hasattr(shell, "kernel"):
        from IPython.display import display

        if owner in _displays:
            _displays[owner].update(figure)
        else:
            _displays[owner] = display(figure, display_id=True)
        return

    import matplotlib.pyplot as plt

    interactive = backend_registry.list_builtin(BackendFilter.INTERACTIVE)
    if matplotlib.get_backend().lower() not in interactive:
        return
    name = _window_name(owner)
    if not plt.fignum_exists(name):
        closer: Any = finalize(owner, plt.close, name)
        closer.atexit = False  # Matplotlib closes its windows at exit
    plt.figure(name, clear=True).figimage(pixels(figure), resize=True)
    plt.pause(0.001)


def hide(owner: Any) -> None:
    """Close the owner's window if it has one."""
    _displays.pop(owner, None)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot:
        pyplot.close(_window_name(owner))


def _window_name(owner):
    return f"pushlab {id(owner)}"


# ---------------------------------------------------------------- charts


def round_limits(axis: Axis, low: float, high: float, count: int = 4) -> None:
    """Set the limits of an axis to round numbers around low and high, with about `count` ticks."""
    locator = MaxNLocator(count, steps=(1, 2, 2.5, 5, 10))
    high = high if high > low else low + 1
    ticks = np.asarray(locator.tick_values(low, high))
    tolerance = 1e-9 * (ticks[-1] - ticks[0])
    first = ticks[ticks <= low + tolerance][-1]
    last = ticks[ticks >= high - tolerance][0]
    is_shown = (ticks >= first) & (ticks <= last)
    axis.set_ticks(ticks[is_shown])
    axis.set_view_interval(first, last, ignore=True)
    axis.axes.autoscale(False, axis.axis_name)


def plot_with_band(
    ax: Axes,
    x: Any,
    means: Any,
    style: Sequence[Any],
    **line_options: Any,
) -> None:
    """Plot means as a line with a band for their intervals.

    Args:
        x: x of each point, shape (points,).
        means: A table with the columns mean, low, high.
        style: Colour and dash, see `series_styles`.
        line_options: Options of the line, for Matplotlib.
    """
    colour = style[0]
    ax.fill_between(x, means["low"], means["high"], color=colour, alpha=BAND, lw=0)
    ax.plot(x, means["mean"], color=colour, ls=style[1], **line_options)


def label_line_ends(ax: Axes, labels: Sequence[tuple[float, float, str, str]]) -> None:
    """Write labels beside the ends of lines, pushed apart if they overlap.

    Set the limits of the axes before.

    Args:
        labels: (x, y, text, colour) of each line's end.
    """
    from scipy.optimize import isotonic_regression

    if not labels:
        return
    height = ax.get_position().height * ax.figure.get_size_inches()[1] * 72
    if ax.get_subplotspec() is not None:
        height *= 0.65  # a layout will reduce it by about this factor
    gap = 1.42 * TICK_SIZE / height
    to_axes = ax.transScale + ax.transLimits
    heights = np.array([to_axes.transform((x, y))[1] for x, y, _, _ in labels])
    order = np.argsort(heights, kind="stable")
    offsets = gap * np.arange(len(labels))
    lowest = isotonic_regression(heights[order] - offsets).x
    highest = max(0, 1 - offsets[-1])  # below the top
    heights[order] = lowest.clip(0, highest) + offsets
    for (x, _, text, colour), height in zip(labels, heights):
        ax.annotate(
            text,
            (x, height),
            (7, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            color=darken(colour),
            size=TICK_SIZE,
            weight="bold",
            va="center",
            annotation_clip=False,
        )


def label_rows(
    ax: Axes,
    names: Sequence[Any],
    texts: Sequence[str] = (),
    colours: Sequence[str] = (),
) -> None:
    """Make axes a chart of rows: names on the left, texts on the right, row 0 on top.

    Args:
        texts, colours: One for each name.
    """
    count = len(names)
    colours = [darken(colour) for colour in colours] or [INK] * count
    ax.set(ylim=(count - 0.5, -0.5))
    ax.set_yticks(range(count), [shorten(name, 28) for name in names])
    ax.tick_params(axis="y", labelsize=TEXT_SIZE)
    ax.grid(False, axis="y")
    ax.grid(True, axis="x")
    for label, colour in zip(ax.get_yticklabels(), colours):
        label.set(color=colour, weight="bold")
    for row, text in enumerate(texts):
        ax.annotate(
            text,
            (1, row),
            (10, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            size=TEXT_SIZE,
            color=colours[row],
        )


def draw_mean(
    ax: Axes,
    style: Sequence[Any],
    x: float,
    y: float,
    x_interval: Sequence[float] = (),
    y_interval: Sequence[float] = (),
    hollow: bool = False,
) -> None:
    """Draw a mean as a mark with its intervals.

    Args:
        style: Colour, dash and marker, see `series_styles`.
        x_interval, y_interval: Ends of the intervals, empty for none.
        hollow: Whether the mark is hollow.
    """
    colour, _, marker = style
    bar = {
        "color": colour,
        "lw": 2.4,
        "ls": "-",
        "zorder": 5,
        "path_effects": HALO,
    }
    if len(x_interval):
        ax.plot(x_interval, (y, y), **bar)
    if len(y_interval):
        ax.plot((x, x), y_interval, **bar)
    ax.plot(
        x,
        y,
        marker,
        color=colour,
        mfc=PAPER if hollow else colour,
        ms=7.5,
        mew=1.8,
        zorder=6,
        clip_on=False,
    )


def row_panels(
    tables: Mapping[str, pd.DataFrame],
    styles: Mapping[str, tuple],
    title: str = "",
    subtitle: str = "",
    sharex: bool = False,
) -> Figure:
    """Return a figure with a chart of rows for each table, one below the other.

    Args:
        tables: {heading: table}. Each row is a mark: name, value, low, high, and optionally hollow and words.
        styles: The style of each name, see `series_styles`; "other" is for names not listed.
        sharex: Whether all charts share the x axis.
    """
    heights = [len(table) + 1.9 for table in tables.values()]
    figure = sheet(7.4, 1 + 0.33 * sum(heights), title, subtitle)
    figure.get_layout_engine().set(hspace=0.15)
    panels = figure.subplots(
        len(tables),
        squeeze=False,
        height_ratios=heights,
        sharex=sharex,
    )
    intervals = pd.concat(tables.values())[["value", "low", "high"]]
    texts = iter(format_intervals(intervals.to_numpy(float)))
    for ax, (heading, table) in zip(panels[:, 0], tables.items()):
        label_axes(ax)
        ax.set_title(
            heading,
            size=SMALL_SIZE,
            weight="normal",
            color=TEXT,
            pad=20,
        )
        default_texts = [next(texts) for _ in range(len(table))]
        row_styles = [styles.get(name) or styles["other"] for name in table["name"]]
        hollow = table.get("hollow", [False] * len(table))
        rows = table[["value", "low", "high"]].to_numpy(float)
        for row, (style, is_hollow) in enumerate(zip(row_styles, hollow)):
            value, *ends = rows[row]
            draw_mean(ax, style, value, row, ends, hollow=is_hollow)
        label_rows(
            ax,
            list(table["name"]),
            table.get("words", default_texts),
            [style[0] for style in row_styles],
        )
    return figure


def draw_vertical_line(ax: Axes, x: float, text: str, dash: Any = BOUND_DASH) -> None:
    """Draw a vertical line through a chart of rows, with text above it."""
    ax.axvline(
        x,
        color=INK,
        lw=1.6,
        ls=dash,
        zorder=3,
    )
    ax.annotate(
        text,
        (x, 1),
        (0, 4),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        size=TICK_SIZE,
    )


# ---------------------------------------------------------------- text


_TEXT_RENDERER = RendererAgg(1, 1, DPI)


@functools.lru_cache(maxsize=8192)
def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a line of text in hundredths of an inch."""
    font = FontProperties(family=FONT, weight=weight, size=size)
    width, *_ = _TEXT_RENDERER.get_text_width_height_descent(text, font, ismath=False)
    return width * 100 / DPI


@functools.lru_cache(maxsize=8192)
def truncate_to_width(
    text: str, width: float, size: float, weight: str = "normal"
) -> str:
    """Return the text, cut with an ellipsis if it is wider than `width` hundredths of an inch."""
    if text_width(text, size, weight) <= width:
        return text
    while text and text_width(text + "…", size, weight) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def wrap(text: str, width: float, size: float, weight: str = "normal") -> list[str]:
    """Split text into at most two lines no wider than `width`; the last is cut with an ellipsis.

    >>> wrap("a long title for a narrow sheet", 100, 12)
    ['a long title', 'for a narr…']
    """
    rows: list[str] = []
    for word in text.split():
        longer = f"{rows[-1]} {word}" if rows else word
        is_full = not rows or text_width(longer, size, weight) > width
        if is_full and len(rows) < 2:
            rows.append(word)
        else:
            rows[-1] = longer
    return [truncate_to_width(row, width, size, weight) for row in rows]


def one_line(value: Any) -> str:
    r"""Return a value as one line of text without formulas.

    Dollar signs are escaped, so that Matplotlib draws them as they are.

    >>> one_line("two\n  lines"), one_line(3)
    ('two lines', '3')
    """
    return " ".join(str(value).split()).replace("$", r"\$")


def shorten(value: Any, max_length: int) -> str:
    """Return a value as one line of at most `max_length` characters."""
    text = one_line(value)
    if len(text) <= max_length:
        return text
    return text[: max_length - 1] + "…"


def readable_name(name: Any) -> str:
    """Return a column name as readable text.

    >>> readable_name("uniqueAppsLaunched_prev2"), readable_name("info.response_time"), readable_name("ledARGB")
    ('unique apps launched prev2', 'response time', 'led argb')
    """
    name = one_line(name).removeprefix("info.").removeprefix("obs.")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return words.replace("_", " ").lower()


def format_number(value: float) -> str:
    """Format a number for a label, with about three digits, thousands separators and suffixes for large numbers.

    >>> [format_number(v) for v in (0.8, -3.25, 136, 52.04, 2040.4, 3.1e7, -0.001)]
    ['0.80', '−3.25', '136', '52.0', '2,040', '31.0 M', '0']
    """
    if np.isnan(value):
        return "none"
    size = abs(value)
    if size >= 1e9:
        text = f"{value / 1e9:,.1f} bn"
    elif size >= 1e6:
        text = f"{value / 1e6:.1f} M"
    elif size >= 100 or value == int(value):
        text = f"{value:,.0f}"
    elif size >= 10:
        text = f"{value:.1f}"
    else:
        text = f"{value:.2f}"
    if text in ("-0.00", "0.00", "-0"):
        return "0"
    return text.replace("-", "−")


def format_intervals(intervals: np.ndarray) -> list[str]:
    """Format values and their intervals, with as many decimals as the narrowest interval needs.

    Args:
        intervals: Value, low and high of each row, shape (rows, 3). Low and high are NaN without an interval.

    >>> format_intervals(np.array([(0.62, 0.6, 0.65), (-0.1, -0.12, -0.03)]))
    ['0.62, 0.60 to 0.65', '−0.10, −0.12 to −0.03']
    """
    widths = intervals[:, 2] - intervals[:, 1]
    widths = widths[widths > 0]
    digits = 2
    if len(widths):
        digits = max(0, int(np.ceil(np.log10(5 / widths.min()))))
    texts = []
    for value, low, high in intervals.round(digits) + 0:
        text = f"{value:,.{digits}f}"
        if np.isfinite(low):
            text += f", {low:,.{digits}f} to {high:,.{digits}f}"
        texts.append(text.replace("-", "−"))
    return texts


def format_tick(value: float) -> str:
    """Format a number for the ticks of an axis.

    >>> [format_tick(v) for v in (0.0, 2.5, -1000, 2e6)]
    ['0', '2.5', '−1,000', '2 M']
    """
    text = f"{value / 1e6:,.6g} M" if abs(value) >= 1e6 else f"{value:,.6g}"
    return text.replace("-", "−")
