"""The look of every picture: colours, type, sheets with a heading, labels at line ends, numbers and words.

Figures are made without pyplot, so they can be drawn without a screen and leave nothing behind.

Each colour has one meaning. Green is opened, vermilion dismissed, amber waiting, blue shown. Agents, users and tasks
take SERIES in order of appearance, always with the dash and the marker of the same place; chance is always the last.
"""

import functools
import io
import re
import sys
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

INK, TEXT, MUTED, LINE, SOFT = "#1F2A37", "#4B5866", "#7F8B99", "#DFE3E8", "#EFF1F4"
PAPER, SURFACE, TRACK = "#FAF9F6", "#FFFFFF", "#E4E8ED"

BLUE, ORANGE, PURPLE, SKY, GREY = "#0072B2", "#C87400", "#7F2B6A", "#3A97CF", "#76818E"
SERIES = (BLUE, ORANGE, PURPLE, SKY)
DASHES = ((0, ()), (0, (6, 2)), (0, (6, 2, 1.5, 2)), (0, (3, 1.5)))
MARKERS = ("o", "s", "^", "D")
CHANCE = "random"  # the agent that always has the look below
CHANCE_LOOK = (GREY, (0, (1.2, 1.6)), "D")
BOUND_DASH = (0, (4, 2.2))  # a bound that no agent can pass
BAND = 0.16  # opacity of a band of uncertainty

OPENED, DISMISSED, WAITING, SHOWN = "#00805C", "#C04A00", "#E69F00", BLUE
WAITING_EDGE = "#8A5A00"
GOAL, GOAL_EDGE = "#DCEFE6", OPENED
DRUG_1, DRUG_2 = SKY, "#E0B400"
LIT, FLOOR = "#FFF1BC", "#D8DEE5"
EPISODIC, SEMANTIC = "#DDEBF6", "#F2E3EE"

DPI = 105
FONT = "DejaVu Sans"  # ships with Matplotlib, so a picture is the same everywhere
TITLE, LEAD, TICK, SMALL = 12, 9.5, 9, 8.5  # sizes in points; nothing is smaller
MARGIN = 24  # hundredths of an inch, on all sides
HALO = [withStroke(linewidth=5, foreground=PAPER)]
STYLE_FILE = files("pushlab.plots").joinpath("pushlab.mplstyle")


# ---------------------------------------------------------------- style


@functools.cache
def _style():
    return matplotlib.rc_params_from_file(str(STYLE_FILE), use_default_template=False)


@contextmanager
def house_style() -> Iterator[None]:
    """Use pushlab's style within a `with` block, or as a decorator within a function."""
    with matplotlib.rc_context(_style()):
        yield


def use_style() -> None:
    """Use pushlab's style for the charts that you draw yourself, until the kernel ends."""
    matplotlib.rcParams.update(_style())


@functools.cache
def blend(colour: str, share: float, under: str = PAPER) -> str:
    """Return a colour mixed with another: a share of 1 is the colour itself, 0 the other.

    >>> blend("#000000", 0.5, under="#ffffff")
    '#808080'
    """
    over, ground = np.array(to_rgb(colour)), np.array(to_rgb(under))
    mixed: Any = share * over + (1 - share) * ground
    return to_hex(mixed)


def deep(colour: str) -> str:
    """Return a colour for words: darkened until small sizes can be read."""
    return blend(colour, 0.70, INK)


def series_styles(names: Iterable[Any]) -> dict[Any, tuple]:
    """Return the look of each agent (or user, or task): {name: (colour, dash, marker)}.

    Looks are given in order of appearance, but for the agent "random". After four names the colours begin again, each
    time with the next dash and marker, so that sixteen looks differ.

    >>> styles = series_styles(["random", "thompson", "linucb"])
    >>> styles["thompson"][0] == BLUE, styles["random"][0] == GREY
    (True, True)
    """
    styles: dict[Any, tuple] = {}
    place = 0
    for name in dict.fromkeys(names):
        if str(name).lower() == CHANCE:
            styles[name] = CHANCE_LOOK
            continue
        look = (place + place // 4) % 4
        styles[name] = (SERIES[place % 4], DASHES[look], MARKERS[look])
        place += 1
    return styles


# ---------------------------------------------------------------- figures


@functools.lru_cache(maxsize=8)
def _renderer(width, height, dpi, thread):
    return RendererAgg(width, height, dpi)


class Canvas(FigureCanvasAgg):
    """A canvas that shares its renderer with others of its size: a renderer remembers the sizes of words.

    Read its pixels before the next one is drawn, as `pixels` does.
    """

    def get_renderer(self):
        return _renderer(*self.figure.bbox.size, self.figure.dpi, get_ident())


class Sheet(Figure):
    """A Matplotlib figure that a notebook shows as the last expression of a cell; its label is the alternative text."""

    def _repr_png_(self):
        return png(self), {"alt": self.get_label()}

    def get_tightbbox(self, *_, **__):
        """Return the whole sheet: notebooks cut figures to this box once pyplot is imported."""
        return self.bbox_inches


def sheet(width: float, height: float, title: str = "", lead: str = "") -> Figure:
    """Return an empty figure with a heading; axes added to it are laid out below the heading.

    Args:
        width, height: Inches.
        title: What the reader should see. It becomes the alternative text too.
        lead: Where the numbers come from.
    """
    figure = Sheet(figsize=(width, height), dpi=DPI)
    Canvas(figure)
    top = (write_heading(figure, title, lead) + 8) / 100
    margin = MARGIN / 100
    below = (
        margin / width,
        margin / height / 2,
        1 - 2 * margin / width,
        1 - (top + margin / 2) / height,
    )
    figure.set_layout_engine("constrained", rect=below, w_pad=0, h_pad=0)
    return figure


def chart(
    title: str = "",
    lead: str = "",
    ylabel: str = "",
    xlabel: str = "",
    size: tuple[float, float] = (6, 4),
) -> Axes:
    """Return the axes of a new chart: see `sheet` for the heading.

    Args:
        ylabel: Name of the y axis, written upright above it.
        xlabel: Name of the x axis, at its right end.
    """
    ax = sheet(*size, title, lead).add_subplot()
    name_axes(ax, ylabel, xlabel)
    return ax


def name_axes(ax: Axes, ylabel: str = "", xlabel: str = "") -> None:
    """Write the name of the y axis above it and that of the x axis at its right end; format numbers on both."""
    if ylabel:
        ax.set_title(ylabel, loc="left", size=SMALL, weight="normal", color=TEXT, pad=8)
    if xlabel:
        ax.set_xlabel(xlabel, loc="right", size=TICK, color=TEXT)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: tick_name(value)))
        axis.isDefault_majfmt = True  # names of categories replace it


def write_heading(
    figure: Figure, title: str, lead: str = "", left: float = MARGIN
) -> float:
    """Write a title and a lead at the top of a figure; return where they end, in hundredths of an inch.

    Args:
        left: Where they begin, in hundredths of an inch.
    """
    width, height = 100 * figure.get_size_inches()
    figure.set_label(title)
    at = 32
    for words, size, weight, colour, pitch in (
        (title, TITLE, "bold", INK, 20),
        (lead, LEAD, "normal", TEXT, 17),
    ):
        for row in wrap(plain(words), width - MARGIN - left, size, weight):
            figure.text(
                left / width,
                1 - (at + 0.506 * size) / height,
                row,
                size=size,
                weight=weight,
                color=colour,
                va="baseline",
            )
            at += pitch
        at += 2
    return at - 4


def png(figure: Figure) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    file = io.BytesIO()
    image = Image.fromarray(pixels(figure))
    image.save(file, "PNG", compress_level=1, dpi=(figure.dpi, figure.dpi))
    return file.getvalue()


def pixels(figure: Figure) -> np.ndarray:
    """Return a figure as an array (height, width, 3), uint8."""
    canvas: Any = figure.canvas
    if not isinstance(canvas, FigureCanvasAgg):
        canvas = Canvas(figure)
    with matplotlib.rc_context({"text.hinting": _style()["text.hinting"]}):
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


_displays: WeakKeyDictionary = WeakKeyDictionary()  # {owner: its picture in a notebook}


def show(figure: Figure, owner: Any) -> None:
    """Show a figure in place of the owner's last one: below the cell in a notebook, otherwise in a window.

    Without a notebook and without a display this does nothing.
    """
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
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
    name = f"pushlab {id(owner)}"
    if not plt.fignum_exists(name):
        closer: Any = finalize(owner, plt.close, name)
        closer.atexit = False  # Matplotlib closes its windows itself then
    plt.figure(name, clear=True).figimage(pixels(figure), resize=True)
    plt.pause(0.001)


def hide(owner: Any) -> None:
    """Close the owner's window, if it has one."""
    _displays.pop(owner, None)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(f"pushlab {id(owner)}")


# ---------------------------------------------------------------- charts


def round_limits(axis: Axis, low: float, high: float, count: int = 4) -> None:
    """Set an axis from round number to round number, with about `count` ticks."""
    locator = MaxNLocator(count, steps=(1, 2, 2.5, 5, 10))
    high = high if high > low else low + 1
    ticks = np.asarray(locator.tick_values(low, high))
    slack = 1e-9 * (ticks[-1] - ticks[0])
    first = ticks[ticks <= low + slack][-1]
    last = ticks[ticks >= high - slack][0]
    axis.set_ticks(ticks[(ticks >= first) & (ticks <= last)])
    axis.set_view_interval(first, last, ignore=True)
    axis.axes.autoscale(False, axis.axis_name)


def banded_line(
    ax: Axes, along: Any, line: Any, look: Sequence[Any], **more: Any
) -> None:
    """Plot a mean as a line in the band of its interval.

    Args:
        along: x of each point, shape (points,).
        line: A table with the columns mean, low, high.
        look: Colour and dash, see `series_styles`.
    """
    ax.fill_between(along, line["low"], line["high"], color=look[0], alpha=BAND, lw=0)
    ax.plot(along, line["mean"], color=look[0], ls=look[1], **more)


def label_line_ends(ax: Axes, labels: Sequence[tuple[float, float, str, str]]) -> None:
    """Write words beside the ends of lines, pushed apart where they would touch.

    Args:
        labels: (x, y, words, colour) of each line's end. Set the limits of the axes before.
    """
    from scipy.optimize import isotonic_regression

    if not labels:
        return
    height = ax.get_position().height * ax.figure.get_size_inches()[1] * 72
    if ax.get_subplotspec() is not None:
        height *= 0.65  # a layout leaves about this share of it
    gap = 1.42 * TICK / height
    to_axes = ax.transScale + ax.transLimits
    heights = np.array([to_axes.transform((x, y))[1] for x, y, _, _ in labels])
    order = np.argsort(heights, kind="stable")
    places = gap * np.arange(len(labels))
    heights[order] = isotonic_regression(heights[order] - places).x + places
    for (x, _, words, colour), height in zip(labels, heights):
        ax.annotate(
            words,
            (x, height),
            (7, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            color=deep(colour),
            size=TICK,
            weight="bold",
            va="center",
            annotation_clip=False,
        )


def name_rows(
    ax: Axes,
    names: Sequence[Any],
    words: Sequence[str] = (),
    colours: Sequence[str] = (),
) -> None:
    """Make axes a chart of rows: names on the left, words on the right, row 0 on top.

    Args:
        words, colours: Of each row, in the order of the names.
    """
    count = len(names)
    colours = [deep(colour) for colour in colours] or [INK] * count
    ax.set(ylim=(count - 0.5, -0.5))
    ax.set_yticks(range(count), [short(name, 28) for name in names])
    ax.tick_params(axis="y", labelsize=LEAD)
    ax.grid(False, axis="y")
    ax.grid(True, axis="x")
    for label, colour in zip(ax.get_yticklabels(), colours):
        label.set(color=colour, weight="bold")
    for row, said in enumerate(words):
        write_beside(ax, row, said, colours[row])


def write_beside(
    ax: Axes, row: float, words: str, colour: str, weight: str = "normal"
) -> None:
    """Write words on the right of a chart of rows."""
    ax.annotate(
        words,
        (1, row),
        (10, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        size=LEAD,
        weight=weight,
        color=colour,
    )


def draw_mean(
    ax: Axes,
    look: Sequence[Any],
    x: float,
    y: float,
    across: Sequence[float] = (),
    upward: Sequence[float] = (),
    hollow: bool = False,
) -> None:
    """Draw a value as a mark with its intervals.

    Args:
        look: Colour, dash and marker, see `series_styles`.
        across, upward: Ends of the interval of x, and of that of y.
        hollow: Whether the mark is hollow.
    """
    colour, _, marker = look
    line = {"color": colour, "lw": 2.4, "ls": "-", "zorder": 5, "path_effects": HALO}
    if len(across):
        ax.plot(across, (y, y), **line)
    if len(upward):
        ax.plot((x, x), upward, **line)
    fill = PAPER if hollow else colour
    mark = {"color": colour, "mfc": fill, "ms": 7.5, "mew": 1.8, "zorder": 6}
    ax.plot(x, y, marker, clip_on=False, **mark)


def row_panels(
    tables: Mapping[str, pd.DataFrame],
    styles: Mapping[str, tuple],
    title: str = "",
    lead: str = "",
    sharex: bool = False,
) -> Figure:
    """Return a figure with a chart of rows for each table, below each other.

    Args:
        tables: {heading: table}, with a row a mark: name, value, low, high, and optionally hollow and words.
        styles: The look of each name, see `series_styles`; an unknown one has that of "other".
        sharex: Whether all charts have the same x axis.
    """
    heights = [len(table) + 1.9 for table in tables.values()]
    figure = sheet(7.4, 1 + 0.33 * sum(heights), title, lead)
    figure.get_layout_engine().set(hspace=0.15)
    more = {"squeeze": False, "height_ratios": heights, "sharex": sharex}
    panels = figure.subplots(len(tables), **more)
    everything = pd.concat(tables.values())[["value", "low", "high"]]
    said = iter(interval_words(everything.to_numpy(float)))
    for ax, (heading, table) in zip(panels[:, 0], tables.items()):
        name_axes(ax)
        ax.set_title(heading, size=SMALL, weight="normal", color=TEXT, pad=20)
        rows = table[["value", "low", "high"]].to_numpy(float)
        words = table.get("words", [next(said) for _ in rows])
        looks = [styles.get(name) or styles["other"] for name in table["name"]]
        hollow = table.get("hollow", [False] * len(table))
        for row, (look, is_hollow) in enumerate(zip(looks, hollow)):
            value, *ends = rows[row]
            draw_mean(ax, look, value, row, ends, hollow=is_hollow)
        name_rows(ax, list(table["name"]), words, [look[0] for look in looks])
    return figure


def draw_upright(ax: Axes, at: float, words: str, dash: Any = BOUND_DASH) -> None:
    """Draw a vertical line through a chart of rows, with words above it."""
    ax.axvline(at, color=INK, lw=1.6, ls=dash, zorder=3)
    ax.annotate(
        words,
        (at, 1),
        (0, 4),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        size=TICK,
    )


# ---------------------------------------------------------------- words


@functools.cache
def _letters(size, weight):
    return FontProperties(family=FONT, weight=weight, size=size)


@functools.cache
def _measure():
    return RendererAgg(1, 1, DPI)


@functools.lru_cache(maxsize=8192)
def text_width(words: str, size: float, weight: str = "normal") -> float:
    """Return the width of a line of text in hundredths of an inch."""
    width, _, _ = _measure().get_text_width_height_descent(
        words, _letters(size, weight), ismath=False
    )
    return width * 100 / DPI


@functools.lru_cache(maxsize=8192)
def fit(words: str, width: float, size: float, weight: str = "normal") -> str:
    """Return the words, cut with an ellipsis if they are wider than `width` hundredths of an inch."""
    if text_width(words, size, weight) <= width:
        return words
    while words and text_width(words + "…", size, weight) > width:
        words = words[:-1]
    return words.rstrip() + "…"


def wrap(words: str, width: float, size: float, weight: str = "normal") -> list[str]:
    """Return the words in at most two lines no wider than `width`, the last cut with an ellipsis.

    >>> wrap("a long title for a narrow sheet", 100, 12)
    ['a long title', 'for a narr…']
    """
    rows: list[str] = []
    for word in words.split():
        longer = f"{rows[-1]} {word}" if rows else word
        is_full = not rows or text_width(longer, size, weight) > width
        if is_full and len(rows) < 2:
            rows.append(word)
        else:
            rows[-1] = longer
    return [fit(row, width, size, weight) for row in rows]


def plain(value: Any) -> str:
    """Return any value as one line of text, without formulas: Matplotlib draws an escaped dollar as a dollar.

    >>> plain("two\\n  lines"), plain(3)
    ('two lines', '3')
    """
    return " ".join(str(value).split()).replace("$", r"\$")


def short(value: Any, most: int) -> str:
    """Return a value as one line of at most `most` characters."""
    words = plain(value)
    return words if len(words) <= most else words[: most - 1] + "…"


def spoken(name: Any) -> str:
    """Return a column's name as words.

    >>> spoken("uniqueAppsLaunched_prev2"), spoken("info.response_time"), spoken("ledARGB")
    ('unique apps launched prev2', 'response time', 'led argb')
    """
    name = plain(name).removeprefix("info.").removeprefix("obs.")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower()


def short_number(value: float) -> str:
    """Return a number for a label: three digits or so, separators of thousands, millions in short.

    >>> [short_number(v) for v in (0.8, -3.25, 136, 52.04, 2040.4, 3.1e7, -0.001)]
    ['0.80', '−3.25', '136', '52.0', '2,040', '31.0 M', '0']
    """
    if np.isnan(value):
        return "none"
    size = abs(value)
    if size >= 1e9:
        words = f"{value / 1e9:,.1f} bn"
    elif size >= 1e6:
        words = f"{value / 1e6:.1f} M"
    elif size >= 100 or value == int(value):
        words = f"{value:,.0f}"
    else:
        words = f"{value:.1f}" if size >= 10 else f"{value:.2f}"
    return "0" if words in ("-0.00", "0.00", "-0") else words.replace("-", "−")


def interval_words(intervals: np.ndarray) -> list[str]:
    """Return values and their intervals, with as many decimals as the narrowest needs.

    Args:
        intervals: Value, low and high of each row, shape (rows, 3). Without an interval, low and high are NaN.

    >>> interval_words(np.array([(0.62, 0.6, 0.65), (-0.1, -0.12, -0.03)]))
    ['0.62, 0.60 to 0.65', '−0.10, −0.12 to −0.03']
    """
    widths = intervals[:, 2] - intervals[:, 1]
    widths = widths[widths > 0]
    digits = 2
    if len(widths):
        digits = max(0, int(np.ceil(np.log10(5 / widths.min()))))
    rows = []
    for value, low, high in intervals.round(digits) + 0:
        words = f"{value:,.{digits}f}"
        if np.isfinite(low):
            words += f", {low:,.{digits}f} to {high:,.{digits}f}"
        rows.append(words.replace("-", "−"))
    return rows


def tick_name(value: float) -> str:
    """Return a number as a tick says it.

    >>> [tick_name(v) for v in (0.0, 2.5, -1000, 2e6)]
    ['0', '2.5', '−1,000', '2 M']
    """
    words = f"{value / 1e6:,.6g} M" if abs(value) >= 1e6 else f"{value:,.6g}"
    return words.replace("-", "−")
