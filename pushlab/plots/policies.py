"""What a policy does: its actions by place and time of day."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pushlab.ground.arguments import has_rows
from pushlab.plots.rates import FEW, folded, shown_value
from pushlab.plots.style import (
    GREY,
    INK,
    LINE,
    SHOWN,
    SMALL,
    TEXT,
    WAITING,
    WAITING_EDGE,
    chart,
    house_style,
    series_styles,
)

# Actions on notifications have the colour and edge of what they lead to; others take those of series.
ACTION_LOOKS = {
    "show": (SHOWN, SHOWN),
    "cache": (WAITING, WAITING_EDGE),
    "dismiss": (GREY, GREY),
}


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
    has_rows(log, row, column, "action", what="the log")
    actions = actions or {value: value for value in log["action"].unique()}
    log = log[log["action"].isin(list(actions))]
    has_rows(log, what="the log of these actions")
    names = list(actions.values())
    looks = {name: (look[0], look[0]) for name, look in series_styles(names).items()}
    looks |= {name: ACTION_LOOKS[name] for name in names if name in ACTION_LOOKS}
    rows, columns = folded(log[row]), folded(log[column])
    title = title or f"Actions by {row} and {column}"
    lead = lead or f"{len(log):,} decisions; pale: fewer than {FEW}, with their number"
    ax = chart(title, lead, size=(9, 1.7 + 0.46 * len(rows.categories)))
    for (place, moment), taken in log.groupby([rows, columns], observed=True)["action"]:
        x, y = columns.categories.get_loc(moment), rows.categories.get_loc(place)
        shares = taken.map(actions).value_counts(normalize=True)
        is_few = len(taken) < FEW
        said = f"of {len(taken)}" if is_few else f"{shares.iloc[0]:.2f}"
        words = {"size": SMALL, "weight": "bold", "color": INK}
        if is_few:
            words = {"size": SMALL, "color": TEXT}
        ax.text(x, y - 0.06, shares.index[0], **words)
        ax.text(x + 0.9, y - 0.06, said, ha="right", **words)
        for name in names:
            fill, edge = looks[name]
            width = 0.9 * shares.get(name, 0)
            look = {"fc": fill, "ec": edge, "lw": 0.8, "alpha": 0.3 if is_few else 1}
            ax.barh(y + 0.12, width, 0.22, x, **look)
            x += width
    ax.set(
        xlim=(-0.1, len(columns.categories)), ylim=(len(rows.categories) - 0.5, -0.5)
    )
    names_of_rows = [shown_value(row, value) for value in rows.categories]
    ax.set_yticks(range(len(names_of_rows)), names_of_rows)
    names_of_columns = [shown_value(column, value) for value in columns.categories]
    ax.set_xticks(np.arange(len(names_of_columns)) + 0.45, names_of_columns)
    ax.tick_params(length=0)
    ax.grid(False)
    for y in range(1, len(names_of_rows)):
        ax.axhline(y - 0.5, color=LINE, lw=0.8, zorder=0)
    ax.spines.bottom.set_visible(False)
    key = [Patch(fc=looks[name][0], ec=looks[name][1], label=name) for name in names]
    ax.legend(handles=key, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(key))
    return ax.figure
