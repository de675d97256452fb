"""What an agent has learned of a user, beside the truth."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pushlab.ground.arguments import has_columns, one_of
from pushlab.plots.rates import draw_shares, ordered_values
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
        column: A feature of the context. A set-valued one has a column a tag.
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
    lines = []
    for value, contexts in _contexts_by(context, column, world.period.context_codes):
        chosen = np.linspace(0, len(contexts) - 1, CONTEXTS).astype(int)
        chosen = contexts[np.unique(chosen)]
        moments = np.repeat(chosen, len(words), axis=0)
        pushes = np.tile(agent.candidates, (len(chosen), 1))
        cell = pd.DataFrame({row: words, column: value})
        for key, source in (("expected", agent), ("true", world.judge)):
            chances = source.probability(moments, pushes)
            cell[key] = chances.reshape(len(chosen), -1).mean(axis=0)
        lines.append(cell.groupby([row, column], sort=False, as_index=False).mean())
    return _most_telling(pd.concat(lines), row, column, most)


def _contexts_by(half, name, codes):
    """Yield each value of a feature, or tag of a set, that occurs, and its contexts."""
    for place, component in enumerate(half.components):
        feature, _, tag = component.partition(".")
        if feature != name:
            continue
        for code, word in [(1, tag)] if tag else enumerate(half[name].words):
            has_value = codes[:, place] == code
            if has_value.any():
                yield word, codes[has_value]


def _most_telling(table, row, column, most):
    """Return the rows that are the best of a column, then those whose true probability varies most."""
    spread = table.groupby(row, sort=False)["true"].agg(np.ptp)
    table = table.set_index([row, column])
    best = set()
    for key in ("true", "expected"):
        best |= {at[0] for at in table[key].groupby(column).idxmax()}
    rows = sorted(spread.index, key=lambda value: (value not in best, -spread[value]))
    columns = ordered_values(table.index.get_level_values(column).to_series())
    cells = pd.MultiIndex.from_product([rows[:most], columns], names=[row, column])
    return table.loc[cells].reset_index()


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
        draw_shares(ax, shares)
        for place, best in enumerate(shares.to_numpy().argmax(axis=0)):
            look = {"fc": "none", "ec": INK, "lw": 1.5, "clip_on": False, "zorder": 5}
            ax.add_patch(Rectangle((place + 0.02, best + 0.03), 0.96, 0.94, **look))
    return figure
