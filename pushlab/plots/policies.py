"""What a policy does: its actions by place and time of day."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pushlab.ground.arguments import has_rows
from pushlab.plots.rates import FEW, folded, name_cells
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
    series_styles,
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
    has_rows(log, row, column, "action", what="the log")
    actions = actions or {value: value for value in log["action"].unique()}
    log = log[log["action"].isin(list(actions))]
    has_rows(log, what="the log of these actions")
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
