"""What a policy does and what an agent has learned: actions by place and time, expected and true probabilities."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from pushlab.ground.arguments import has_columns, has_rows, one_of
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
    row: str = "place",
    column: str = "time",
    actions: Mapping | None = None,
    title: str = "",
    lead: str = "",
) -> Figure:
    """Draw a policy by two features of the moment: in each cell the shares of its actions, and the commonest in words.

    A cell of fewer than 10 decisions is pale and has their number.

    Args:
        log: A row a decision, with the columns `row`, `column` and "action".
        actions: Names of the actions that count, {value in the log: name}. By default all count.
    """
    has_rows(log, row, column, "action")
    actions = actions or {value: value for value in log["action"].unique()}
    log = log[log["action"].isin(list(actions))]
    has_rows(log)
    names = list(actions.values())
    fills = {name: look[0] for name, look in series_styles(names).items()}
    fills |= ACTION_FILLS
    rows, columns = folded(log[row]), folded(log[column])
    title = title or f"Actions by {row} and {column}"
    lead = lead or f"{len(log):,} decisions; pale: fewer than {FEW}, with their number"
    ax = chart(title, lead, size=(9, 1.7 + 0.46 * len(rows.categories)))
    counts = pd.crosstab(rows, columns, rownames=[row], colnames=[column])
    name_cells(ax, counts)
    for (r, c), count in np.ndenumerate(counts):
        here = (rows.codes == r) & (columns.codes == c)
        shares = log["action"][here].map(actions).value_counts(normalize=True)
        is_few = count < FEW
        look = {"size": SMALL, "color": TEXT if is_few else INK}
        if count:
            said = f"of {count}" if is_few else f"{shares.iloc[0]:.2f}"
            ax.text(c + 0.05, r + 0.45, shares.index[0], weight="bold", **look)
            ax.text(c + 0.95, r + 0.45, said, ha="right", weight="bold", **look)
        left = c + 0.05
        for name, share in shares.reindex(names).dropna().items():
            look = {"color": fills[name], "alpha": 0.3 if is_few else 1}
            ax.barh(r + 0.65, 0.9 * share, 0.22, left, **look)
            left += 0.9 * share
        ax.axhline(r, color=LINE, lw=0.8, zorder=0)
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
    one_of("row", row, notification.names)
    one_of("column", column, context.names)
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
