"""Charts of rows: a name on the left, a mark and its interval on an axis that all rows share, words on the right."""

from typing import Any

from pushlab.plots.palette import BOUND_DASH, INK, LEAD, PAPER, TICK, deep
from pushlab.plots.sheet import MARGIN, Stage, fit, plain


class Rows:
    """A chart of rows on a stage: x is what was measured, y counts the rows downwards, with 0 the middle of the first.

    stage         the sheet
    count, pitch  number of rows, and the height of each
    top           where the chart begins
    left, right   how far its sides are from those of the sheet; names and words stand there

    `ax` are its axes; set their limits along x before anything is written above them.
    """

    def __init__(self, stage: Stage, count: float, pitch: float, top: float, left: float, right: float):
        self.stage, self.pitch, self.top, self.left, self.right = stage, pitch, top, left, right
        high = pitch * count
        self.ax = stage.axes(left, top, stage.width - left - right, high, ylim=(count - 0.5, -0.5), yticks=[])
        self.ax.grid(False)
        self.ax.grid(True, axis="x")
        self.ax.patch.set_visible(False)            # words of the stage may run beneath

    def say(self, y: float, name: Any, words: str = "", colour: str = INK, weight: str = "normal") -> None:
        """A row's name on its left and words on its right, both cut where they are too wide."""
        name, words = fit(plain(name), self.left - MARGIN - 12, LEAD, "bold"), fit(words, self.right - 30, LEAD, weight)
        middle = self.top + self.pitch * (y + 0.5)
        self.stage.text(MARGIN, middle, name, LEAD, deep(colour), "bold")
        self.stage.text(self.stage.width - MARGIN, middle, words, LEAD, deep(colour), weight, "right")

    def interval(self, y: float, low: float, high: float, colour: str, **look: Any) -> None:
        """A bar from one end of an interval to the other."""
        look = {"lw": 2.4, "ls": "-", "solid_capstyle": "butt", "zorder": 4, **look}
        self.ax.plot((low, high), (y, y), color=colour, **look)

    def dot(self, y: float, value: float, colour: str, marker: str = "o", hollow: bool = False, **look: Any) -> None:
        """A mark at a value."""
        look = {"ms": 7, "mfc": PAPER if hollow else colour, "mec": colour, "mew": 1.6, "zorder": 6, **look}
        self.ax.plot(value, y, marker, **look)

    def upright(self, x: float, words: str, colour: str = INK, edge: float = 0.2, up: float = 4, **look: Any) -> None:
        """A dashed line across all rows with its name above the chart, see `name_above`."""
        self.ax.axvline(x, color=colour, **{"lw": 1.6, "ls": BOUND_DASH, "zorder": 3, **look})
        self.name_above(x, words, colour, edge, up)

    def name_above(self, x: float, words: str, colour: str = INK, edge: float = 0.2, up: float = 4) -> None:
        """Words above the chart, once its limits are set: centred on x, or beside it within `edge` of the ends.

        edge   share of the chart's width; up, how far above the chart, in points
        """
        low, high = self.ax.get_xlim()
        share = (x - low) / (high - low)
        align = "left" if share <= edge else "right" if share > 1 - edge else "center"
        self.ax.annotate(words, (x, 1), (0, up), xycoords=("data", "axes fraction"), textcoords="offset points",
                         size=TICK, color=deep(colour), ha=align)
