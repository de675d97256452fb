"""A picture of an agent's expected beside the true probabilities."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pushlab.plots.engagements import (
    draw_heatmap,
    ordered_values,
)
from pushlab.plots.style import (
    INK,
    house_style,
    label_axes,
    readable_name,
    sheet,
)
from pushlab.utils.arguments import require_columns

MAX_CONTEXTS = 60  # averaged for each column, spread evenly over the period


def learned_heatmap_table(
    agent: Any, env: Any, row: str = "subject", column: str = "time", max_rows: int = 10
) -> pd.DataFrame:
    """Compute an agent's expected and the true probability of opening, by a notification and a context feature.

    Args:
        agent: A trained agent with `candidates` and `probability(contexts, notifications)`, such as a bandit.
        env: The environment in which the agent was trained.
        row: A feature of the notification.
        column: A feature of the context.
        max_rows: Maximum number of rows. The rows with the highest expected or true probability in a column come first,
            then the rows whose true probability varies most.

    Returns:
        A table with the columns row, column, expected, true. Each value is a mean over the candidates with the row's
        value and over at most 60 contexts of the period with the column's value.
    """
    world = env.unwrapped.world
    schema = world.schema
    all_contexts = world.period.context_codes
    row_values = schema.notification.decode(agent.candidates)[row].to_numpy()
    column_values = schema.context.decode(all_contexts)[column]
    tables = []
    for value in ordered_values(column_values):
        indices = np.flatnonzero(column_values == value)
        sample = np.linspace(0, len(indices) - 1, MAX_CONTEXTS).astype(int)
        contexts = all_contexts[indices[np.unique(sample)]]
        pairs = (
            np.repeat(contexts, len(row_values), axis=0),
            np.tile(agent.candidates, (len(contexts), 1)),
        )
        table = pd.DataFrame({row: row_values, column: value})
        for key, source in (("expected", agent), ("true", world.judge)):
            probabilities = source.probability(*pairs)
            table[key] = probabilities.reshape(len(contexts), -1).mean(axis=0)
        groups = table.groupby([row, column], sort=False, as_index=False)
        tables.append(groups.mean())
    table = pd.concat(tables, ignore_index=True)
    rows = _row_order(table, row, column)[:max_rows]
    table = table[table[row].isin(rows)]
    return table.sort_values(
        row, key=lambda names: names.map(rows.index), kind="stable"
    )


def _row_order(table, row, column):
    """Return the row values: first the best of each column, then by falling spread of the true probability."""
    best = set()
    for key in ("expected", "true"):
        best_places = table.groupby(column)[key].idxmax()
        best |= set(table.loc[best_places, row])
    spread = table.groupby(row, sort=False)["true"].agg(np.ptp)
    return sorted(spread.index, key=lambda value: (value not in best, -spread[value]))


@house_style()
def learned_heatmap(table: pd.DataFrame, title: str = "", subtitle: str = "") -> Figure:
    """Draw an agent's expected probability of opening beside the true one, with a frame around the best of each column.

    Args:
        table: A table from `learned_heatmap_table`.
    """
    require_columns(table, "expected", "true")
    row, column = table.columns[:2]
    title = (
        title
        or f"Probability of opening by {readable_name(row)} and {readable_name(column)}"
    )
    figure = sheet(9, 1.7 + 0.28 * table[row].nunique(), title, subtitle)
    panels = figure.subplots(1, 2, sharey=True)
    labels = {"expected": "what the agent expects", "true": "what is true"}
    for ax, (key, label) in zip(panels, labels.items()):
        label_axes(ax, label)
        shares = table.pivot_table(key, row, column, sort=False)
        draw_heatmap(ax, shares, shares)
        for place, best in enumerate(shares.to_numpy().argmax(axis=0)):
            frame = Rectangle(
                (place + 0.02, best + 0.03),
                0.96,
                0.94,
                fc="none",
                ec=INK,
                lw=1.5,
                clip_on=False,
                zorder=5,
            )
            ax.add_patch(frame)
    return figure
