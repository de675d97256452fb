"""A learning curve split into the parts of the reward: which of them an agent has learned to earn, or to avoid."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.ground.arguments import demand, has_rows
from pushlab.plots.curve_tables import mean_over_runs, run_numbers, whole_runs
from pushlab.plots.curves import log_lead
from pushlab.plots.kit import banded_line
from pushlab.plots.palette import INK, LEAD, SMALL, TITLE, deep, series_styles
from pushlab.plots.sheet import (
    MARGIN,
    Stage,
    Words,
    fit,
    house_style,
    plain,
    text_width,
)
from pushlab.plots.ticks import count_along, span
from pushlab.plots.words import short_number, spoken

TOTAL = "all parts"


def reward_parts_table(
    log: pd.DataFrame,
    parts: str | Sequence[str] | Mapping[str, str] = "info.parts.",
    by: str = "agent",
    along: str = "episode",
    window: int = 10,
) -> pd.DataFrame:
    """The learning curve of each part of the reward: rolling mean over episodes, mean and 95 % interval over runs.

    log      tidy log, a row an episode, or a row a step where the parts are sums since the episode's beginning, of
             which the last counts; run, agent, seed tell runs apart
    parts    the columns that hold the parts: a list, {column: name}, or the beginning that their names share
    window   episodes in the rolling mean; at the beginning, where there are fewer, those there are
    returns  DataFrame: by, part, episode, mean, low, high, runs; the part "all parts" is their sum

    >>> log = pd.DataFrame({"agent": "a", "episode": [0, 1], "part.opens": [1.0, 3.0], "part.waits": [-1.0, -1.0]})
    >>> reward_parts_table(log, "part.", window=1)[["part", "episode", "mean"]].values.tolist()[:3]
    [['opens', 0, 1.0], ['opens', 1, 3.0], ['waits', 0, -1.0]]
    """
    names = _part_names(log, parts)
    has_rows(log, by, along, *names, what="the log")
    demand(window >= 1, f"window must be at least 1 episode, got {window}")
    whole = whole_runs(log, next(iter(names)), by, without=(along,))
    rows, keys = (
        log.assign(_run=run_numbers(log, without=(along,)), _whole=whole),
        [by, "_whole", "_run", along],
    )
    each = {"episode"} & {*log} - {
        along
    }  # along something else than episodes, a run is the mean of its own
    ends = (
        rows.groupby([*keys, *each], sort=False, observed=True)[list(names)]
        .last()
        .astype(float)
    )
    for kept in (
        keys,
        [by, "_whole", along],
    ):  # over its episodes, then over its environments
        ends = ends.groupby(level=kept, sort=False).mean()
    ends = ends.rename(columns=names).assign(**{TOTAL: ends.sum(axis=1)})
    tables = {}
    for name, own in ends.groupby(level=by, sort=False):
        for part in own:
            runs = own[part].droplevel(by).unstack("_whole").sort_index()
            tables[name, part] = mean_over_runs(
                runs.rolling(window, min_periods=1).mean().where(runs.notna())
            )
    return pd.concat(tables, names=[by, "part"]).reset_index()


def _part_names(log, parts):
    """{column: name of the part}"""
    if isinstance(parts, dict):
        return dict(parts)
    if not isinstance(parts, str):
        return {column: spoken(column.rpartition(".")[2]) for column in parts}
    found = {
        column: spoken(column.removeprefix(parts))
        for column in log.columns
        if str(column).startswith(parts)
    }
    if not found:
        raise ValueError(
            f"no column of the log begins with {parts!r}; it has {', '.join(map(str, log.columns))}"
        )
    return found


@house_style()
def reward_parts(
    log: pd.DataFrame,
    parts: str | Sequence[str] | Mapping[str, str] = "info.parts.",
    by: str = "agent",
    along: str = "episode",
    window: int = 10,
    same_scale: bool = True,
    title: Words = None,
    lead: Words = None,
    figure: Figure | None = None,
) -> Axes:
    """A learning curve split into the parts of the reward: a panel for their sum, and one a part that is not always 0.

    log          see `reward_parts_table`, which holds what is drawn
    same_scale   True gives all panels one height scale, so that sizes compare; False shows each as large as it can
    returns      Axes of the first panel, that of the sum, on a sheet 9 inches wide
    """
    table = reward_parts_table(log, parts, by, along, window)
    empty = [
        part
        for part, means in table.groupby("part", sort=False)["mean"]
        if not means.any()
    ]
    names = [
        TOTAL,
        *(
            part
            for part in table["part"].drop_duplicates()
            if part not in (TOTAL, *empty)
        ),
    ]
    agents, styles = table[by].drop_duplicates(), series_styles(table[by])
    columns = 3 if len(names) <= 6 else 4
    pitch, top = 172, 118
    rows = -(-len(names) // columns)
    stage = Stage(900, top + pitch * rows + 6, figure)
    lead = lead or log_lead(log, table) + (
        f"; always 0: {', '.join(map(plain, empty))}" if empty else ""
    )
    stage.heading(
        title or _parts_title(table, by, window),
        fit(lead, 900 - 2 * MARGIN, LEAD),
        title_lines=1,
    )
    stage.label(MARGIN, 84, _parts_unit(table, along, window))
    if len(agents) > 1:
        _draw_agent_key(stage, agents, styles)
    wide = (900 - 2 * MARGIN) / columns
    panels = []
    for place, part in enumerate(names):
        x, y = MARGIN + wide * (place % columns), top + pitch * (place // columns)
        lines = table[table["part"] == part]
        number = short_number(lines["mean"].iloc[-1]) if len(agents) == 1 else ""
        room = wide - 34 - text_width(number, SMALL, "bold")
        stage.text(x, y, fit(plain(part), room, SMALL, "bold"), SMALL, INK, "bold")
        stage.text(
            x + wide - 24,
            y,
            number,
            SMALL,
            deep(styles[agents.iloc[0]][0]),
            "bold",
            "right",
        )
        ax = stage.axes(x + 36, y + 19, wide - 60, 108)
        panels.append(
            _draw_part(
                ax, part, lines, by, along, styles, table if same_scale else lines
            )
        )
    return panels[0]


def _draw_part(ax, part, lines, by, along, styles, scale):
    """The curves of one panel, on the heights of the table `scale`."""
    for name, line in lines.groupby(by, sort=False):
        banded_line(
            ax, line[along], line, styles[name], lw=2.4 if part == TOTAL else 1.8
        )
    heights = scale[["mean", "low", "high"]].to_numpy()
    span(ax.yaxis, min(0.0, np.nanmin(heights)), max(0.0, np.nanmax(heights)), 4)
    first, final = lines[along].min(), max(lines[along].max(), lines[along].min() + 1)
    count_along(ax, first, final, 3)
    ax.tick_params(labelsize=SMALL)
    if ax.get_ylim()[0] < 0:
        ax.axhline(0, color=INK, lw=0.8, zorder=1)
    return ax


def _parts_unit(table, along, window):
    many, one = (
        spoken(along) + "s",
        f"a{'n' if along[:1].lower() in tuple('aeiou') else ''} {spoken(along)}",
    )
    words = f"reward {one}, over {table[along].nunique():,} {many}"
    return f"{words}; mean of the last {window:,}" if window > 1 else words


def _draw_agent_key(stage, agents, styles):
    """Whose the lines are, from the right edge towards the left."""
    right = 900 - MARGIN
    for name in reversed(list(agents)):
        colour, dash, _ = styles[name]
        said = fit(plain(name), 130, SMALL, "bold")
        right -= text_width(said, SMALL, "bold")
        stage.text(right, 84, said, SMALL, deep(colour), "bold")
        stage.line(
            [(right - 44, 84), (right - 8, 84)],
            colour,
            1.8,
            dash,
            solid_capstyle="butt",
        )
        right -= 64


def _parts_title(table, by, window):
    """Which part changed the most, from the first whole window (or half of the episodes) to the last."""
    parts = table[table["part"] != TOTAL].groupby([by, "part"], sort=False)["mean"]
    change = parts.agg(
        lambda means: (
            means.iloc[-1] - means.iloc[min(window, (len(means) + 1) // 2) - 1]
        )
    ).dropna()
    if not len(change) or change.abs().max() == 0:
        return "No part of the reward has changed"
    agent, part = change.abs().idxmax()
    who = (
        f"{fit(plain(agent), 200, TITLE, 'bold')}: " if table[by].nunique() > 1 else ""
    )
    verb = "rises" if change[agent, part] > 0 else "falls"
    return f"{who}“{fit(plain(part), 200, TITLE, 'bold')}” {verb} the most, by {short_number(abs(change[agent, part]))}"
