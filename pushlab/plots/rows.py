"""Charts of rows: a name on the left, a mark and its interval on an axis that all rows share, words on the right."""

from typing import Any

import numpy as np
from matplotlib.backend_bases import RendererBase
from matplotlib.lines import Line2D

from pushlab.plots.palette import BOUND_DASH, INK, LEAD, PAPER, TICK, deep
from pushlab.plots.sheet import MARGIN, Stage, fit, plain


class Core(Line2D):
    """What a mark hides of its interval, drawn upon the mark; not where the interval is twice as long as the mark.

    xs, ys   the two ends; at, the mark's place; size, its width in points
    """

    def __init__(
        self, xs: Any, ys: Any, at: tuple[float, float], colour: str, size: float
    ):
        super().__init__(
            xs,
            ys,
            color=colour,
            lw=1.5,
            ls="-",
            marker="",
            solid_capstyle="butt",
            zorder=8,
        )
        self.ends, self.at, self.size = np.transpose([xs, ys]), at, size

    def draw(self, renderer: RendererBase) -> None:
        scale, reach = (
            self.axes.transData,
            np.asarray(renderer.points_to_pixels(self.size), float) / 2,
        )
        ends, middle = scale.transform(self.ends), scale.transform(self.at)
        if np.ptp(ends, axis=0).max() < 4 * reach:
            self.set_data(
                *scale.inverted()
                .transform(np.clip(ends, middle - reach, middle + reach))
                .T
            )
            super().draw(renderer)


class Rows:
    """A chart of rows on a stage: x is what was measured, y counts the rows downwards, with 0 the middle of the first.

    stage         the sheet
    count, pitch  number of rows, and the height of each
    top           where the chart begins
    left, right   how far its sides are from those of the sheet; names and words stand there

    `ax` are its axes; set their limits along x before anything is written above them.
    """

    def __init__(
        self,
        stage: Stage,
        count: float,
        pitch: float,
        top: float,
        left: float,
        right: float,
    ):
        self.stage, self.pitch, self.top, self.left, self.right = (
            stage,
            pitch,
            top,
            left,
            right,
        )
        self.ends: dict[float, tuple[float, float]] = {}  # of the interval in each row
        high = pitch * count
        self.ax = stage.axes(
            left,
            top,
            stage.width - left - right,
            high,
            ylim=(count - 0.5, -0.5),
            yticks=[],
        )
        self.ax.grid(False)
        self.ax.grid(True, axis="x")
        self.ax.patch.set_visible(False)  # words of the stage may run beneath

    def say(
        self,
        y: float,
        name: Any,
        words: str = "",
        colour: str = INK,
        weight: str = "normal",
    ) -> None:
        """A row's name on its left and words on its right, both cut where they are too wide."""
        name, words = (
            fit(plain(name), self.left - MARGIN - 12, LEAD, "bold"),
            fit(words, self.right - 30, LEAD, weight),
        )
        middle = self.top + self.pitch * (y + 0.5)
        self.stage.text(MARGIN, middle, name, LEAD, deep(colour), "bold")
        self.stage.text(
            self.stage.width - MARGIN,
            middle,
            words,
            LEAD,
            deep(colour),
            weight,
            "right",
        )

    def interval(
        self, y: float, low: float, high: float, colour: str, **look: Any
    ) -> None:
        """A bar from one end of an interval to the other."""
        look = {"lw": 2.4, "ls": "-", "solid_capstyle": "butt", "zorder": 4, **look}
        self.ax.plot((low, high), (y, y), color=colour, **look)
        self.ends[y] = low, high

    def dot(
        self,
        y: float,
        value: float,
        colour: str,
        marker: str = "o",
        hollow: bool = False,
        **look: Any,
    ) -> None:
        """A mark at a value. A short interval of the row, which it would hide, is drawn upon it."""
        look = {
            "ms": 7,
            "mfc": PAPER if hollow else colour,
            "mec": colour,
            "mew": 1.6,
            "zorder": 6,
            **look,
        }
        self.ax.plot(value, y, marker, **look)
        if y in self.ends:
            self.ax.add_line(
                Core(
                    self.ends[y],
                    (y, y),
                    (value, y),
                    colour if hollow else PAPER,
                    look["ms"],
                )
            )

    def upright(
        self,
        x: float,
        words: str,
        colour: str = INK,
        edge: float = 0.2,
        up: float = 4,
        **look: Any,
    ) -> None:
        """A dashed line across all rows with its name above the chart, see `name_above`."""
        self.ax.axvline(
            x, color=colour, **{"lw": 1.6, "ls": BOUND_DASH, "zorder": 3, **look}
        )
        self.name_above(x, words, colour, edge, up)

    def name_above(
        self, x: float, words: str, colour: str = INK, edge: float = 0.2, up: float = 4
    ) -> None:
        """Words above the chart, once its limits are set: centred on x, or beside it within `edge` of the ends.

        edge   share of the chart's width; up, how far above the chart, in points
        """
        low, high = self.ax.get_xlim()
        share = (x - low) / (high - low)
        align = "left" if share <= edge else "right" if share > 1 - edge else "center"
        self.ax.annotate(
            words,
            (x, 1),
            (0, up),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            size=TICK,
            color=deep(colour),
            ha=align,
        )
