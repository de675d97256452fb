"""What the ends of an axis say: round ticks, a tick at the end of what is counted, and the unit as a title below."""

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.ticker import MaxNLocator

from pushlab.plots.palette import MUTED, TICK


def span(
    axis: XAxis | YAxis, low: float, high: float, count: int, unit: str = ""
) -> None:
    """Limits of an axis from round number to round number, with about `count` ticks."""
    ticks = ticks_around(low, high if high > low else low + 1, count)
    axis.axes.set(**{f"{axis.axis_name}lim": (ticks[0], ticks[-1])})
    set_ticks(axis, ticks, unit)


def ticks_between(low: float, high: float, count: int) -> np.ndarray:
    """About `count` round tick values within the limits."""
    values = ticks_around(low, high, count)
    slack = 1e-9 * (high - low)
    return values[(values >= low - slack) & (values <= high + slack)]


def ticks_around(low: float, high: float, count: int) -> np.ndarray:
    """About `count` round tick values, the first and the last at or beyond the limits.

    >>> ticks_around(0, 279, 3).tolist()
    [0.0, 100.0, 200.0, 300.0]
    """
    values = np.asarray(
        MaxNLocator(count, steps=(1, 2, 2.5, 5, 10)).tick_values(low, high)
    )
    slack = 1e-9 * (high - low)
    first, last = (
        np.flatnonzero(values <= low + slack)[-1],
        np.flatnonzero(values >= high - slack)[0],
    )
    return values[first : last + 1]


def set_ticks(
    axis: XAxis | YAxis, values: Iterable[float], unit: str = "", whole: bool = False
) -> None:
    """Sets an axis' ticks as plain numbers with separators of thousands; the unit is its title, at its far end.

    whole   True drops ticks between whole numbers
    """
    values = np.asarray([v for v in values if not whole or float(v).is_integer()])
    axis.set_ticks(values, tick_names(values))
    if unit:
        axis.axes.set(**{f"{axis.axis_name}label": unit})
        axis.label.set(size=TICK, color=MUTED, ha="right", **{axis.axis_name: 1})
        axis.labelpad = 0


def count_along(ax: Axes, low: float, high: float, count: int, unit: str = "") -> None:
    """An x axis that counts steps, runs or days from one number to another: see `ticks_of_count`."""
    ax.set_xlim(low, high)
    set_ticks(ax.xaxis, ticks_of_count(low, high, count), unit)


def ticks_of_count(low: float, high: float, count: int) -> np.ndarray:
    """Whole numbers as ticks: both ends, and between them about `count` round ones that keep away from the ends.

    From a million on there are only round ones, since an end such as 999,999 is too wide for a tick.

    >>> ticks_of_count(0, 999, 4).tolist(), ticks_of_count(1, 8, 4).tolist()
    ([0.0, 250.0, 500.0, 750.0, 999.0], [1.0, 4.0, 6.0, 8.0])
    """
    values = ticks_around(low, high, count)
    away = 0.0 if high >= 1e6 else 0.6 * (values[1] - values[0])
    inner = values[(values >= low + away) & (values <= high - away)]
    values = inner if high >= 1e6 else np.r_[low, inner, high]
    return values[values == np.round(values)]


def tick_names(values: Iterable[float]) -> list[str]:
    """Numbers of one axis as its ticks say them, millions and billions in short.

    >>> tick_names([0, 2.5, 1000]), tick_names([0, 5e5, 1e6])
    (['0', '2.5', '1,000'], ['0', '0.5 M', '1 M'])
    """
    values, digits = np.asarray(values, float), 0
    size = np.abs(values).max(initial=0)
    unit, word = (
        (1e9, " bn")
        if 1e9 <= size < 1e12
        else (1e6, " M")
        if 1e6 <= size < 1e9
        else (1, "")
    )
    if size >= 1e12:
        return [f"{v:.3g}".replace("-", "\N{MINUS SIGN}", 1) for v in values]
    values = values / unit
    while digits < 6 and not np.allclose(
        np.round(values, digits), values, rtol=0, atol=1e-9
    ):
        digits += 1
    names = [
        (f"{v:,.0f}" if float(v).is_integer() else f"{v:,.{digits}f}")
        + (word if v else "")
        for v in values
    ]
    return [name.replace("-", "\N{MINUS SIGN}") for name in names]
