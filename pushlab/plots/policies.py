"""What a policy does and what an agent has learned: actions by place and time, expected and true probabilities."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from pushlab.ground.arguments import has_columns, has_rows
from pushlab.plots.engagements import (
    FEW,
    draw_cells,
    folded,
    name_cells,
    ordered_values,
)
from pushlab.plots.style import (
    GREY,
    INK,
    LINE,
    SHOWN,
    SMALL,
    TEXT,
    WAITING,
    chart,
    house_style,
    name_axes,
    series_styles,
    sheet,
    spoken,
)

# Actions on notifications have the colour of what they lead to; others take those of series.
ACTION_FILLS = {"show": SHOWN, "cache": WAITING, "dismiss": GREY}


@house_style()
def policy_map(
    log: pd.DataFrame,
    actions: Mapping | None = None,
    title: str = "Actions by place and time",
    lead: str = "pale: fewer than 10 decisions, with their number",
) -> Figure:
    """Draw a policy by place and time: in each cell the shares of its actions, and the commonest in words.

    A cell of fewer than 10 decisions is pale and has their number.

    Args:
        log: A row a decision, with the columns place, time and action.
        actions: Names of the actions that count, {value in the log: name}. By default all count.
    """
    has_rows(log, "place", "time", "action")
    actions = actions or {value: value for value in log["action"].unique()}
    log = log[log["action"].isin(list(actions))]
    names = list(actions.values())
    fills = {name: look[0] for name, look in series_styles(names).items()}
    fills |= ACTION_FILLS
    cells = [folded(log["place"]), folded(log["time"])]
    counts = pd.crosstab(*cells, rownames=["place"], colnames=["time"])
    shares = pd.crosstab(cells, log["action"].map(actions).to_numpy(), normalize=0)
    ax = chart(title, lead, size=(9, 1.7 + 0.46 * len(counts)))
    name_cells(ax, counts)
    ax.hlines(range(len(counts)), 0, counts.shape[1], color=LINE, lw=0.8, zorder=0)
    for (place, time), cell in shares.reindex(columns=names).iterrows():
        x = counts.columns.get_loc(time) + 0.05
        y = counts.index.get_loc(place)
        count = counts.loc[place, time]
        is_few = count < FEW
        said = f"of {count}" if is_few else f"{cell.max():.2f}"
        look = {"size": SMALL, "color": TEXT if is_few else INK, "weight": "bold"}
        ax.text(x, y + 0.45, cell.idxmax(), **look)
        ax.text(x + 0.9, y + 0.45, said, ha="right", **look)
        for name, share in cell[cell > 0].items():
            opacity = 0.3 if is_few else 1
            ax.barh(y + 0.65, 0.9 * share, 0.22, x, color=fills[name], alpha=opacity)
            x += 0.9 * share
    key = [Patch(color=fills[name], label=name) for name in names]
    ax.legend(handles=key, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(key))
    return ax.figure


CONTEXTS = 60  # of each column that a cell is the mean of, evenly over the period


def learned_heatmap_table(
    agent: Any, env: Any, row: str = "subject", column: str = "time", most: int = 10
) -> pd.DataFrame:
    """Compute the probability of opening that an agent expects and the judge's own, by a value of each side.

    Args:
        agent: One that has learned, with `candidates` and `probability(contexts, notifications)`, such as a bandit.
        env: The environment it learned in.
        row: A feature of the notification.
        column: A feature of the context.
        most: Rows at most: the best of each column, to the agent or in truth, and those that truly vary most.

    Returns:
        A table: row, column, expected, true. Each is a mean over the candidates with the row's value, and over up to 60
        of the period's contexts with the column's.
    """
    world = env.unwrapped.world
    notification, context = world.schema.notification, world.schema.context
    words = notification.decode(agent.candidates)[row].to_numpy()
    values = context.decode(world.period.context_codes)[column]
    cells = []
    for value in ordered_values(values):
        chosen = np.flatnonzero(values == value)
        chosen = chosen[
            np.unique(np.linspace(0, len(chosen) - 1, CONTEXTS).astype(int))
        ]
        contexts = world.period.context_codes[chosen]
        pairs = (
            np.repeat(contexts, len(words), axis=0),
            np.tile(agent.candidates, (len(chosen), 1)),
        )
        cell = pd.DataFrame({row: words, column: value})
        for key, source in (("expected", agent), ("true", world.judge)):
            chances = source.probability(*pairs)
            cell[key] = chances.reshape(len(chosen), -1).mean(axis=0)
        cells.append(cell.groupby([row, column], sort=False, as_index=False).mean())
    table = pd.concat(cells, ignore_index=True)
    best = set()
    for key in ("expected", "true"):
        best |= set(table.loc[table.groupby(column)[key].idxmax(), row])
    spread = table.groupby(row, sort=False)["true"].agg(np.ptp)
    rows = sorted(spread.index, key=lambda value: (value not in best, -spread[value]))
    table = table[table[row].isin(rows[:most])]
    return table.sort_values(
        row, key=lambda names: names.map(rows.index), kind="stable"
    )


@house_style()
def learned_heatmap(table: pd.DataFrame, title: str = "", lead: str = "") -> Figure:
    """Draw the probability of opening that an agent expects beside the true one; the best of each column is framed.

    Args:
        table: Of `learned_heatmap_table`.
    """
    has_columns(table, "expected", "true")
    row, column = table.columns[:2]
    title = title or f"Probability of opening by {spoken(row)} and {spoken(column)}"
    figure = sheet(9, 1.7 + 0.28 * table[row].nunique(), title, lead)
    panels = figure.subplots(1, 2, sharey=True)
    names = {"expected": "what the agent expects", "true": "what is true"}
    for ax, (key, words) in zip(panels, names.items()):
        name_axes(ax, words)
        shares = table.pivot_table(key, row, column, sort=False)
        draw_cells(ax, shares, shares)
        for place, best in enumerate(shares.to_numpy().argmax(axis=0)):
            look = {"fc": "none", "ec": INK, "lw": 1.5, "clip_on": False, "zorder": 5}
            ax.add_patch(Rectangle((place + 0.02, best + 0.03), 0.96, 0.94, **look))
    return figure
