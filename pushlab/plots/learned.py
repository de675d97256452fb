"""What an agent has learned of a user, beside the truth."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pushlab.ground.arguments import has_columns, one_of
from pushlab.plots.rates import draw_cells, ordered_values
from pushlab.plots.style import INK, house_style, name_axes, sheet, spoken

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
