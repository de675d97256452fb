"""What policies do and what it costs: their actions by place and time of day, and two measures at once."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from pushlab.ground.arguments import demand, has_rows
from pushlab.metrics.estimate import crossed_interval
from pushlab.plots.curves import log_lead, mean_over_runs, run_numbers, run_scores
from pushlab.plots.kit import mark, span
from pushlab.plots.palette import (
    CHANCE,
    GREY,
    INK,
    LEAD,
    LINE,
    PAPER,
    SHOWN,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    TICK,
    TITLE,
    TRACK,
    WAITING,
    WAITING_EDGE,
    blend,
    deep,
    series_styles,
)
from pushlab.plots.rates import FEW, folded, name_columns, shown_value
from pushlab.plots.sheet import MARGIN, Stage, Words, fit, house_style, plain, text_width
from pushlab.plots.words import listed, spoken

# Actions on notifications have the colours of what they lead to; others take those of series, in order.
ACTION_LOOKS = {"show": (SHOWN, None, "shown"), "cache": (WAITING, WAITING_EDGE, "waiting"),
                "dismiss": (GREY, None, "unseen"), "check-cache": (blend(WAITING, .45, SURFACE), WAITING_EDGE, None),
                "stand-by": (TRACK, None, None)}


# ---------------------------------------------------------------- what a policy does: table

def policy_map_table(log: pd.DataFrame, row: str = "place", column: str = "time", action: str = "action",
                     actions: Sequence | Mapping | None = None, row_order: Sequence | None = None,
                     column_order: Sequence | None = None, most: int = 10) -> pd.DataFrame:
    """How often a policy took each action, by two features of the moment at which it chose.

    log        DataFrame, a row a decision, with the columns row, column and action
    actions    the actions that count, in order: a list, or {value in the log: name}; None takes all. Those on a
               notification in hand are a choice; standing by mostly is not one
    row_order, column_order   values in the order wanted; None knows that of days, times and levels
    most       rows and columns at most; the rarest values share the last
    returns    DataFrame: row, column, action, share (NaN where nothing was decided), decisions (in the cell)

    >>> log = pd.DataFrame({"place": ["home", "home", "office"], "time": "night", "action": ["show", "cache", "cache"]})
    >>> policy_map_table(log)[["place", "action", "share", "decisions"]].values.tolist()
    [['home', 'show', 0.5, 2], ['home', 'cache', 0.5, 2], ['office', 'show', 0.0, 1], ['office', 'cache', 1.0, 1]]
    """
    has_rows(log, row, column, action, what="the log")
    demand(row != column, f"row and column must be two features, got {row!r} twice")
    names = _action_names(log[action], actions)
    chosen = log[log[action].isin(list(names))]
    if not len(chosen):
        raise ValueError(f"no row of the log has one of the actions {', '.join(map(str, names))}; it has "
                         f"{', '.join(map(str, log[action].unique()[:8]))}")
    rows, row_values = folded(chosen[row], row_order, most)
    columns, column_values = folded(chosen[column], column_order, most)
    taken = chosen[action].map(names)
    counts = taken.groupby([rows.to_numpy(), columns.to_numpy(), taken.to_numpy()]).size()
    cells = [row_values, column_values, list(dict.fromkeys(names.values()))]
    counts = counts.reindex(pd.MultiIndex.from_product(cells, names=[row, column, "action"]), fill_value=0)
    decided = counts.groupby(level=[0, 1]).transform("sum")
    return pd.DataFrame({"share": counts / decided, "decisions": decided}).reset_index()


def _action_names(taken, actions):
    """{value in the log: name}, in order."""
    if actions is None:
        actions = list(taken.dropna().unique())
        known = [name for name in ACTION_LOOKS if name in actions]
        actions = known + [value for value in actions if value not in known]
    return dict(actions) if isinstance(actions, dict) else {value: str(value) for value in actions}


# ---------------------------------------------------------------- what a policy does: picture

@house_style()
def policy_map(log: pd.DataFrame, row: str = "place", column: str = "time", action: str = "action",
               actions: Sequence | Mapping | None = None, row_order: Sequence | None = None,
               column_order: Sequence | None = None, row_labels: Mapping | None = None,
               column_labels: Mapping | None = None, agent: str | None = None, title: Words = None, lead: Words = None,
               figure: Figure | None = None) -> Axes:
    """What a policy does, by two features of the moment: in each cell a bar of its actions' shares, and the commonest.

    log        see `policy_map_table`, which holds what is drawn
    row_labels, column_labels   {value: friendlier word}
    agent      whose policy it is, for the title
    returns    Axes on a sheet 9 inches wide. A cell of fewer than 10 decisions has a pale bar and says how many
    """
    table = policy_map_table(log, row, column, action, actions, row_order, column_order)
    names = list(table["action"].drop_duplicates())
    rows, columns = table[row].drop_duplicates(), table[column].drop_duplicates()
    shares = table["share"].to_numpy().reshape(len(rows), len(columns), len(names))
    counts = table["decisions"].to_numpy().reshape(shares.shape)[..., 0]
    pitch, top = 46, 112
    below = top + pitch * len(rows)
    stage = Stage(900, below + 54, figure)
    stage.heading(fit(plain(title or _map_title(shares, counts, names, agent)), 900 - 2 * MARGIN, TITLE, "bold"),
                  lead or f"{counts.sum():,} decisions; pale: fewer than {FEW}, with their number", title_lines=1)
    others = series_styles([name for name in names if name not in ACTION_LOOKS])
    looks = {name: ACTION_LOOKS.get(name) or (others[name][0], None, None) for name in names}
    _draw_action_key(stage, looks, 88)
    row_names = [fit(shown_value(row, value, row_labels), 170, LEAD) for value in rows]
    left = MARGIN + max(text_width(name, LEAD) for name in row_names) + 16
    ax = stage.axes(left, top, 900 - MARGIN - left, pitch * len(rows))
    ax.set(xlim=(0, 900 - MARGIN - left), ylim=(pitch * len(rows), 0))
    ax.set_axis_off()
    wide = (900 - MARGIN - left) / len(columns)
    for r, c in np.ndindex(counts.shape):
        if counts[r, c]:
            _draw_shares(stage, left + wide * c, top + pitch * r, wide - 14, shares[r, c], counts[r, c], looks)
    for place, name in enumerate(row_names):
        middle = top + pitch * (place + .5)
        stage.text(MARGIN, middle, name)
        if place:
            stage.line([(MARGIN, middle - pitch / 2), (900 - MARGIN, middle - pitch / 2)], LINE, .8, z=1)
    name_columns(stage, [shown_value(column, value, column_labels) for value in columns],
                 left - 7, wide * len(columns), below + 4)
    return ax


def _map_title(shares, counts, names, agent):
    """The sentence on top: what is done most often, and in how many cells."""
    who = plain(agent) if agent else "The policy"
    decided = counts.sum()
    overall = np.nansum(shares * counts[..., None], axis=(0, 1)) / decided
    most = overall.argmax()
    sure = counts >= FEW
    if not sure.any():
        return f"{who} chose {names[most]} in {overall[most]:.2f} of {decided:,} decisions"
    tops = shares[sure].argmax(axis=-1)
    others = [name for place, name in enumerate(names) if place != most and place in tops]
    where = f"but {listed(others, 'or')} in {(tops != most).sum()} of {len(tops)} cells" if others else (
        "wherever and whenever")
    return f"{who} mostly chooses {names[most]}, {where}"


def _draw_action_key(stage, looks, y):
    x = MARGIN
    for name, (fill, edge, kind) in looks.items():
        if kind:
            mark(stage, kind, x + 7, y, 7)
        else:
            stage.box(x, y - 5, 14, 10, 2, fill, edge, .9)
        words = fit(plain(name), 160, SMALL, "bold")
        stage.text(x + 21, y, words, SMALL, INK, "bold")
        x += 21 + text_width(words, SMALL, "bold") + 22


def _draw_shares(stage, x, y, wide, shares, count, looks):
    """One cell: the commonest action in words, and a bar of all."""
    few, most = count < FEW, int(shares.argmax())
    colour, weight = (TEXT, "normal") if few else (INK, "bold")
    number = f"{shares[most]:.2f}" if not few else f"of {count}" if count > 1 else "once"
    name = fit(plain(list(looks)[most]), wide - text_width(f" {number}", SMALL, "bold"), SMALL, weight)
    stage.text(x, y + 15, name, SMALL, colour, weight)
    stage.text(x + wide, y + 15, number, SMALL, colour, weight, "right")
    stage.box(x, y + 25, wide, 11, 0, SOFT, z=2)
    for (fill, edge, _), share in zip(looks.values(), shares):
        end = x + wide * share
        if share > 0:
            stage.box(x, y + 25, wide * share, 11, 0, blend(fill, .3, SURFACE) if few else fill, z=3)
            if edge and not few:
                stage.line([(x, y + 36), (end, y + 36)], edge, 1.0, z=4, solid_capstyle="butt")
        x = end


# ---------------------------------------------------------------- two measures at once

def trade_off_table(log: pd.DataFrame, x: str, y: str, by: str = "agent", statistic: str = "mean",
                    cross: str | None = None) -> pd.DataFrame:
    """One line a policy: mean and 95 % interval over its runs of two measures.

    log        tidy log or study, a row an episode or a step; the columns run, seed, episode tell runs apart
    x, y       two columns
    statistic  "mean" over the rows of a run, or their "sum"
    cross      a column whose values all runs share, such as "day" in a table with a row a seed and day: the intervals
               then range over runs and over its values (`pushlab.metrics.estimate.crossed_interval`)
    returns    DataFrame: by, x, x low, x high, y, y low, y high, runs; the ends are NaN for a single run, and where a
               value is missing; a mean is NaN where all are

    >>> log = pd.DataFrame({"agent": "a", "seed": [0, 1], "shown": [2, 4], "opened": [1, 1]})
    >>> trade_off_table(log, "shown", "opened")[["agent", "shown", "opened", "runs"]].values.tolist()
    [['a', 3.0, 1.0, 2]]
    """
    demand(x != y, f"x and y must be two columns, got {x!r} twice")
    if cross is not None:
        has_rows(log, by, cross, what="the log")
        demand(statistic == "mean", f"intervals over runs and {cross} are those of a mean, got statistic {statistic!r}")
    tables = []
    for value in (x, y):
        table = mean_over_runs(pd.DataFrame.from_dict(run_scores(log, value, by, statistic), orient="index"))
        if cross is not None:
            table[["low", "high"]] = [_crossed_ends(log[log[by] == name], value, cross) for name in table.index]
        tables.append(table.rename(columns={"mean": value, "low": f"{value} low", "high": f"{value} high"}))
    runs = pd.concat([table.pop("runs") for table in tables], axis=1).max(axis=1)
    return pd.concat(tables, axis=1).assign(runs=runs).rename_axis(by).reset_index()


def _crossed_ends(rows, value, cross):
    """The ends of the interval of the mean over runs and over the values of another column; NaN where there is none.

    An episode is a value of that column (a day, say), and no run of its own; of several rows of both the mean counts.
    """
    rows = rows.assign(_run=run_numbers(rows, without=(cross, "episode")))
    grid = rows.pivot_table(index="_run", columns=cross, values=value, observed=True).to_numpy(float)
    if min(grid.shape) < 2 or not np.isfinite(grid).all():
        return np.nan, np.nan
    return crossed_interval(grid)[1:]


@house_style()
def trade_off(log: pd.DataFrame, x: str, y: str, by: str = "agent", statistic: str = "mean", x_unit: Words = None,
              y_unit: Words = None, better: str | None = None, title: Words = None, lead: Words = None,
              cross: str | None = None, figure: Figure | None = None) -> Axes:
    """Policies by two measures at once, such as interruptions and opens: a mark each, with 95 % intervals both ways.

    log       see `trade_off_table`, which holds what is drawn, and says what `cross` is
    better    "upper left", "upper right", "lower left" or "lower right": the corner to aim at, where an arrow points
    x_unit, y_unit   what the axes mean; None makes it from the names of the columns
    returns   Axes on a sheet of 6 x 4.4 inches. A policy that lacks one of the two has no mark; the lead line names it
    """
    whole = trade_off_table(log, x, y, by, statistic, cross)
    demand(better in (None, *CORNERS), f"better must be one of {', '.join(CORNERS)} or None, got {better!r}")
    table = whole.dropna(subset=[x, y])
    demand(len(table), f"no {by} has both {x} and {y}: there is nothing to draw")
    ranges = f" over runs and {spoken(cross)}s" if cross and whole["runs"].max() > 1 else ""
    lead = lead or log_lead(log, whole) + ranges
    for value in (x, y):
        none = [fit(plain(name), 150, LEAD) for name in whole[by][whole[value].isna()]]
        lead += f"; no {spoken(value)}: {', '.join(none)}" if none else ""
    stage, said = Stage(600, 440, figure), f"{spoken(y)} against {spoken(x)}"
    shift = stage.heading(title or said[0].upper() + said[1:], lead)
    stage.label(MARGIN, 82 + shift, fit(y_unit or spoken(y), 600 - 2 * MARGIN, SMALL))
    stage.label(600 - MARGIN, 440 - 16, fit(x_unit or spoken(x), 600 - 2 * MARGIN, SMALL), "right")
    ax = stage.axes(70, 102 + shift, 600 - 70 - MARGIN - 16, 440 - 102 - shift - 56)
    ax.grid(True, axis="both")
    _set_limits(ax, table, x, y)
    styles = series_styles(whole[by])
    for place, line in enumerate(table.to_dict("records")):
        colour, _, marker = styles[line[by]]
        again = any(styles[other] == styles[line[by]] for other in table[by][:place])      # colours begin anew
        marker = "v" if again else marker
        inside, edge = (PAPER, colour) if str(line[by]).lower() == CHANCE else (colour, PAPER)
        for ends in (((line[f"{x} low"], line[f"{x} high"]), (line[y],) * 2),
                     ((line[x],) * 2, (line[f"{y} low"], line[f"{y} high"]))):
            ax.plot(*ends, color=colour, lw=2.0, ls="-", solid_capstyle="butt", zorder=4)
        ax.plot(line[x], line[y], marker, ms=9, mfc=inside, mec=edge, mew=1.2, zorder=6, clip_on=False)
    if better:
        _draw_aim(ax, better)
    _name_points(ax, [(line[x], line[y], fit(plain(line[by]), 150, TICK, "bold"), styles[line[by]][0])
                      for line in table.to_dict("records")], better)
    return ax


CORNERS = {"upper left": (0, 1), "upper right": (1, 1), "lower left": (0, 0), "lower right": (1, 0)}


def _set_limits(ax, table, x, y):
    """Axes from round number to round number; they begin at 0 where that leaves a good part of the room in use."""
    for axis, name in ((ax.xaxis, x), (ax.yaxis, y)):
        values = table[[name, f"{name} low", f"{name} high"]].to_numpy().ravel()
        low, high = np.nanmin(values), np.nanmax(values)
        low, high = (0, high) if 0 <= low < .6 * high else (low, 0) if .6 * low < high <= 0 else (low, high)
        slack = .08 * (high - low)
        if high - low < 1e-12:                             # all policies are the same in this
            low, high, slack = low - .5, high + .5, 0
        span(axis, low - slack * (low != 0), high + slack * (high != 0), 4)


def _draw_aim(ax, corner):
    """An arrow in the corner to aim at."""
    right, top = CORNERS[corner]
    tip, tail = ((.97, .90) if right else (.03, .10)), ((.965, .855) if top else (.035, .145))
    ax.annotate("", (tip[0], tail[0]), (tip[1], tail[1]), xycoords="axes fraction",
                arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}, zorder=3)
    ax.annotate("better", (tip[1], tail[1]), (-4 if right else 4, -6 if top else 6), xycoords="axes fraction",
                textcoords="offset points", size=SMALL, color=TEXT, ha="right" if right else "left",
                va="top" if top else "bottom")


def _name_points(ax, points, better):
    """Names beside the marks: for each the first place at which it touches no mark, no other name and no edge."""
    width, height = np.array(ax.get_position().size) * ax.figure.get_size_inches() * 100
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    spots = [(width * (x - x0) / (x1 - x0), height * (y - y0) / (y1 - y0)) for x, y, *_ in points]
    taken = [Bbox.from_bounds(x - 8, y - 8, 16, 16) for x, y in spots]
    if better:
        right, top = CORNERS[better]
        taken.append(Bbox.from_bounds(.86 * width * right, .78 * height * top, .14 * width, .22 * height))
    for (x, y), (_, _, words, colour) in zip(spots, points):
        wide, high = text_width(words, TICK, "bold"), 14
        shifts = list(product((0, 14, 40), (14, -14, 28, -28, 0, 44, -44)))
        starts = [(x + 12 + far, y + up) for far, up in shifts] + [(x - 12 - far - wide, y + up) for far, up in shifts]
        boxes = [Bbox.from_bounds(left, middle - high / 2, wide, high) for left, middle in starts]
        free = [box for box in boxes if not box.count_overlaps(taken)
                and box.x0 > 2 and box.x1 < width + 14 and box.y0 > 0 and box.y1 < height]
        box = (free or boxes)[0]
        taken.append(box)
        ax.annotate(words, (box.x0 / width, (box.y0 + box.y1) / 2 / height), xycoords="axes fraction", va="center",
                    color=deep(colour), size=TICK, weight="bold", parse_math=False, zorder=9, annotation_clip=False,
                    path_effects=[withStroke(linewidth=3, foreground=PAPER)])
