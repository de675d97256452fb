"""What becomes of each agent when one number is turned: means and intervals over a sweep."""

import numpy as np
import pandas as pd

from pushlab.metrics.estimate import mean_interval
from pushlab.plots.kit import end_labels, set_ticks, ticks_around
from pushlab.plots.palette import BAND, BOUND_DASH, CHANCE, INK, LEAD, MUTED, PAPER, TICK, series_styles
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.words import order_title, short_number, spoken


def sweep_table(log, over, value="return", by="agent"):
    """Mean and 95 % t-interval over the runs at each setting, a DataFrame: by, over, mean, low, high, runs.

    log    an episode log with a column `over`, the number that was turned; every row is a run
    """
    missing = [column for column in (over, value, by) if column not in log]
    if missing:
        raise ValueError(f"the log has no column {missing[0]!r}; it has {', '.join(map(str, log.columns))}")
    rows = []
    for (name, at), runs in log.groupby([by, over], sort=False):
        mean, low, high = mean_interval(runs[value]) if len(runs) > 1 else (float(runs[value].mean()), np.nan, np.nan)
        rows.append((name, at, mean, low, high, len(runs)))
    return pd.DataFrame(rows, columns=[by, over, "mean", "low", "high", "runs"])


@house_style()
def sweep_curve(log, over, value="return", by="agent", best=None, title=None, lead=None, unit=None, figure=None):
    """How well each agent does at each setting of a number, with 95 % intervals; settings that double lie evenly.

    log      an episode log; see `sweep_table`, which holds the numbers that are drawn
    best     a bound as a number; None draws none
    returns  Axes on a sheet of 6.4 x 4.4 inches
    """
    table = sweep_table(log, over, value, by)
    stage = Stage(640, 440, figure)
    last = table.sort_values(over).groupby(by, sort=False).last()
    top = stage.heading(title or _title(log, over, value, by),
                        lead or f"{', '.join(map(str, log['env'].unique()))}   ·   {table['runs'].min()} runs a point, "
                                "95 % intervals")
    stage.label(MARGIN, 82 + top, unit or spoken(value))
    names = list(table[by].unique())
    numbers = {name: short_number(last.loc[name, "mean"]) for name in names}
    wide = max(min(text_width(plain(name), TICK, "bold"), 150) + text_width(f" {numbers[name]}", TICK, "bold")
               for name in names)
    ax = stage.axes(MARGIN + 34, 100 + top, 640 - 2 * MARGIN - 34 - wide - 14, 440 - 100 - top - 44)
    settings = np.sort(table[over].unique())
    doubling = settings[0] > 0 and len(settings) > 2 and settings[-1] / settings[0] >= 8
    if doubling:
        ax.set_xscale("log", base=2)
    labels = []
    for name in names:
        colour, dash, marker = series_styles(names)[name]
        line = table[table[by] == name].sort_values(over)
        ax.fill_between(line[over], line["low"], line["high"], color=colour, alpha=BAND, lw=0)
        ax.plot(line[over], line["mean"], color=colour, ls=dash, marker=marker, ms=5.5, clip_on=False, zorder=4,
                markerfacecolor=PAPER if str(name).lower() == CHANCE else colour)
        end = line.iloc[-1]
        words = f"{fit(plain(name), 150, TICK, 'bold')} {numbers[name]}"
        labels.append((end[over], end["mean"], words, colour, "bold"))
    low, high = table["mean"].min(), np.nanmax([table["mean"].max(), table["high"].max(), best or -np.inf])
    heights = ticks_around(min(0, low), high, 4)
    ax.set(ylim=(heights[0], heights[-1]), xlim=(settings[0], settings[-1]))
    if best is not None:
        ax.axhline(best, color=INK, lw=1.6, ls=BOUND_DASH)
        ax.annotate(f"best possible {short_number(best)}", (settings[0], best), (2, 4), size=LEAD - 1, color=MUTED,
                    textcoords="offset points")
    set_ticks(ax.yaxis, heights)
    set_ticks(ax.xaxis, settings, spoken(over))
    ax.minorticks_off()
    end_labels(ax, labels)
    return ax


def _title(log, over, value, by):
    last = {name: runs[value][runs[over] == runs[over].max()] for name, runs in log.groupby(by, sort=False)}
    return order_title(last, "ends highest") if len(last) > 1 else f"{plain(next(iter(last)))}, by {spoken(over)}"
