"""What lifetimes are drawn on and with: where blocks stand, how words find a free place, lines, marks and arrows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from pushlab.plots.palette import INK, PAPER, TICK
from pushlab.plots.sheet import MARGIN, Stage, fit, plain, text_width
from pushlab.plots.ticks import count_along, set_ticks, ticks_around, ticks_between

TEST_COLUMN = "#E9ECF0"
COLUMN, ALL_COLUMNS = (
    0.053,
    0.36,
)  # shares of the width: one test block, and all of them at most
HALF_LINE = 8  # half the height of a line of words, in hundredths of an inch


class Lifeline:
    """The x axis of a lifetime: learning is drawn to scale, each test block is a column of one width.

    curves    lifetime log in the order lived, with the columns block, block_type and regime
    x         float (rows,): where each experience stands; those of a test block stand in the middle of its column
    blocks    DataFrame, a row a block: block, block_type, start, stop, learned (learning experiences before it)
    learned   how many learning experiences there are
    end       where the last block stops

    >>> log = pd.DataFrame({"block": [0, 1, 1, 1], "block_type": ["test"] + ["train"] * 3, "regime": [0, 1, 1, 1]})
    >>> line = Lifeline(log)
    >>> line.blocks[["block_type", "start", "stop"]].round(2).values.tolist()
    [['test', 0.0, 0.17], ['train', 0.17, 3.17]]
    """

    def __init__(self, curves: pd.DataFrame) -> None:
        block = curves["block"].to_numpy()
        first = np.flatnonzero(np.r_[True, block[1:] != block[:-1]])
        counts = np.diff(np.r_[first, len(block)])
        kinds = curves["block_type"].to_numpy()[first]
        tests = kinds == "test"
        self.learned = int(counts[~tests].sum())
        share = min(COLUMN * tests.sum(), ALL_COLUMNS)
        self.column = (
            self.learned * share / (1 - share) / max(1, tests.sum())
            if self.learned
            else 1.0
        )
        stops = np.cumsum(np.where(tests, self.column, counts))
        learned = np.cumsum(np.where(tests, 0, counts))
        self.blocks = pd.DataFrame(
            {
                "block": block[first],
                "block_type": kinds,
                "start": np.r_[0.0, stops[:-1]],
                "stop": stops,
                "learned": np.r_[0, learned[:-1]],
            }
        )
        self.end = float(stops[-1])
        within = np.arange(len(block)) - np.repeat(first, counts)
        starts, middles = (
            np.repeat(self.blocks["start"].to_numpy(), counts),
            self.column / 2,
        )
        self.x = starts + np.where(np.repeat(tests, counts), middles, within)
        self._regime = curves["regime"].to_numpy()

    def at(self, learned: float) -> float:
        """Where so many learning experiences are over: at the end of the block that lived the last of them."""
        training = self.blocks[self.blocks["block_type"] != "test"]
        row = training.iloc[
            max(0, int(np.searchsorted(training["learned"], learned)) - 1)
        ]
        return float(row["start"] + learned - row["learned"])

    def span(self, regime: int) -> tuple[float, float]:
        """Where a regime begins and ends (x, x)."""
        rows = np.flatnonzero(self._regime == regime)
        return float(self.x[rows[0]]), float(self.x[rows[-1]] + 1)

    def draw(self, ax: Axes) -> None:
        """Grey columns for the tests, and ticks that count learning experiences."""
        for block in self.blocks.itertuples(index=False):
            if block.block_type == "test":
                ax.axvspan(block.start, block.stop, color=TEST_COLUMN, lw=0, zorder=0)
        ax.set_xlim(0, self.end)
        values = self._ticks() if self.learned else []
        set_ticks(ax.xaxis, values, "experiences")
        ax.xaxis.set_ticks(
            [self.at(value) for value in values],
            [t.get_text() for t in ax.get_xticklabels()],
        )

    def _ticks(self):
        """Learning experiences at the ends of the blocks where these lie apart, else round numbers of them."""
        ends = np.unique(np.r_[0, self.blocks["learned"], self.learned])
        apart = np.diff([self.at(value) for value in ends])
        if len(apart) and apart.min() > 0.09 * self.end:
            return ends
        return np.array(
            [v for v in ticks_between(0, self.learned, 4) if float(v).is_integer()]
        )


@dataclass
class Board:
    """Axes on a stage, with the words already on them, so that the next words find a free place.

    place    left, top, width, height of the axes on the stage, in its units
    line     the Lifeline that is its x axis, or None
    tests    `evaluation_table` of what is drawn, and `dodge` {(block, task): x} where its marks stand
    curves   points (n, 2) in data coordinates that words had better not cover
    pale     the same of curves as lived: words cover them where there is no better place
    taken    rectangles (left, top, right, bottom) on the stage that hold words
    """

    stage: Stage
    ax: Axes
    place: tuple[float, float, float, float]
    line: Lifeline | None = None
    tests: pd.DataFrame | None = None
    dodge: dict = field(default_factory=dict)
    curves: list = field(default_factory=list)
    pale: list = field(default_factory=list)
    taken: list = field(default_factory=list)

    def on_stage(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Data coordinates, numbers or arrays, as places on the stage."""
        left, top, width, height = self.place
        (x0, x1), (y0, y1) = self.ax.get_xlim(), self.ax.get_ylim()
        return (
            left + (np.asarray(x, float) - x0) / (x1 - x0) * width,
            top + (y1 - np.asarray(y, float)) / (y1 - y0) * height,
        )

    def keep_off(
        self, x: Sequence | np.ndarray, y: Sequence | np.ndarray, pale: bool = False
    ) -> None:
        """Points in data coordinates that words should not hide."""
        (self.pale if pale else self.curves).append(
            np.column_stack(self.on_stage(x, y))
        )

    def points(self) -> np.ndarray:
        """All of them on the stage (n, 2)."""
        return np.concatenate(self.curves) if self.curves else np.empty((0, 2))

    def write(
        self, words: str, places: Sequence[tuple[float, float, str]], colour: str = INK
    ) -> None:
        """Sets words at the best of several places (x, y, align) on the stage, or a line or more above or below them.

        The best is free, inside the axes, off the curves, and early in the list.
        """
        words = fit(plain(words), self.place[2] * 0.6, TICK, "bold")
        places = [
            (x, y + down, align)
            for down in (0, 18, -18, 36, -36, 54, -54)
            for x, y, align in places
        ]
        costs = [
            self._cost(_box(*place, words, TICK)) + 0.5 * rank
            for rank, place in enumerate(places)
        ]
        self.set(*places[int(np.argmin(costs))], words, TICK, colour)

    def set(
        self, x: float, y: float, align: str, words: str, size: float, colour: str
    ) -> None:
        """Words at a place on the stage, above everything that the axes hold."""
        self.taken.append(_box(x, y, align, words, size))
        self.ax.text(
            x,
            y + 0.506 * size,
            words,
            size=size,
            color=colour,
            weight="bold",
            ha=align,
            va="baseline",
            zorder=10,
            parse_math=False,
            transform=self.stage.ax.transData,
            path_effects=[withStroke(linewidth=3.5, foreground=PAPER)],
        )

    def _cost(self, box):
        left, top, right, bottom = box
        ax_left, ax_top, width, height = self.place
        cost = 1e4 * (max(0, ax_left - left) + max(0, right - ax_left - width))
        cost += 1e4 * (max(0, ax_top - top) + max(0, bottom - ax_top - height))
        for other in self.taken:
            across, down = (
                min(right, other[2]) - max(left, other[0]),
                min(bottom, other[3]) - max(top, other[1]),
            )
            cost += 1e3 * across * down if across > 0 and down > 0 else 0
        for points, least in [(points, 2) for points in self.curves] + [
            (points, 0) for points in self.pale
        ]:
            inside = (
                (points[:, 0] > left)
                & (points[:, 0] < right)
                & (points[:, 1] > top)
                & (points[:, 1] < bottom)
            )
            cost += 40 * inside.mean() + least * inside.any()
        return cost


def _box(x, y, align, words, size):
    wide = text_width(words, size, "bold")
    left = x - {"left": 0, "center": wide / 2, "right": wide}[align]
    return left - 3, y - HALF_LINE, left + wide + 3, y + HALF_LINE


# ---------------------------------------------------------------- axes


def small_axes(
    stage: Stage, shift: float, labels: Iterable[tuple], below: float
) -> tuple[Axes, tuple]:
    """Axes on a sheet 6.4 inches wide and their place: under a heading that is `shift` higher than one line each, over
    `below` for what stands under them, beside room for the names at the line ends."""
    place = (
        64,
        100 + shift,
        640 - 64 - MARGIN - widest(labels) - 14,
        stage.height - 100 - shift - below,
    )
    return stage.axes(*place), place


def widest(labels: Iterable[tuple]) -> float:
    """How wide the words of `end_labels` are."""
    return max(
        (text_width(words, TICK, "bold") for _, _, words, *_ in labels), default=0
    )


def set_heights(ax: Axes, heights: Iterable) -> None:
    """Limits at round ticks; 0 belongs to them unless all values are far from it."""
    values = np.concatenate([np.asarray(h, float).ravel() for h in heights])
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    if 0 < low < 0.6 * high:
        low = 0.0
    ticks = ticks_around(low, high if high > low else low + 1, 4)
    ax.set_ylim(ticks[0], ticks[-1])
    set_ticks(ax.yaxis, ticks)


def count_experiences(ax: Axes, number: int) -> None:
    """An x axis of so many experiences."""
    count_along(ax, 0, max(1, number), 4, "experiences")


# ---------------------------------------------------------------- lines, marks and arrows


def draw_raw(
    ax: Axes, x: np.ndarray, y: np.ndarray, colour: str, strength: float = 0.27
) -> None:
    """A curve as lived, thin and pale. Its edges are hard: noise blended into the paper is half of a PNG's bytes."""
    ax.plot(
        *thinned(x, y), color=colour, lw=0.7, alpha=strength, ls="-", antialiased=False
    )


def draw_hollow(
    ax: Axes, x: Any, y: Any, marker: str, colour: str, size: float = 8
) -> None:
    """Hollow marks on top of all lines."""
    ax.plot(
        x,
        y,
        marker,
        ls="none",
        ms=size,
        mfc=PAPER,
        mec=colour,
        mew=1.8 if size > 5 else 1.3,
        zorder=8,
        clip_on=False,
    )


def double_arrow(ax: Axes, start: tuple, stop: tuple, colour: str = INK) -> None:
    """An arrow with two heads between two points (x, y): how far a metric reaches."""
    ax.annotate(
        "",
        stop,
        start,
        arrowprops={
            "arrowstyle": "<|-|>",
            "color": colour,
            "lw": 1.4,
            "mutation_scale": 9,
            "shrinkA": 0,
            "shrinkB": 0,
        },
        zorder=9,
    )


def halo_line(
    ax: Axes,
    xs: Any,
    ys: Any,
    colour: str = INK,
    dash: Any = (0, (1, 2)),
    line: float = 1.1,
) -> None:
    """A thin guide with a halo, so that it can be followed across a raw curve."""
    ax.plot(
        xs,
        ys,
        color=colour,
        lw=line,
        ls=dash,
        zorder=8,
        path_effects=[withStroke(linewidth=2.4, foreground=PAPER, alpha=0.7)],
    )


def thinned(
    x: np.ndarray, y: np.ndarray, most: int = 600
) -> tuple[np.ndarray, np.ndarray]:
    """The points of a noisy curve that are worth drawing: the lowest and highest of each of `most / 2` stretches."""
    if len(x) <= most:
        return x, y
    edges = np.linspace(0, len(x), most // 2 + 1).astype(int)
    filled = np.where(np.isfinite(y), y, np.nanmean(y) if np.isfinite(y).any() else 0.0)
    keep = np.unique(
        [
            edge + extreme(filled[edge:until])
            for edge, until in zip(edges, edges[1:])
            if until > edge
            for extreme in (np.argmin, np.argmax)
        ]
    )
    return x[keep], y[keep]
