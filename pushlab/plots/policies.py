"""What policies do: their actions by place and time of day."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.ground.arguments import demand, has_rows
from pushlab.plots.kit import mark
from pushlab.plots.palette import (
    GREY,
    INK,
    LEAD,
    LINE,
    SHOWN,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    TITLE,
    TRACK,
    WAITING,
    WAITING_EDGE,
    blend,
    series_styles,
)
from pushlab.plots.rates import FEW, folded, name_columns, shown_value
from pushlab.plots.sheet import (
    MARGIN,
    Stage,
    Words,
    fit,
    house_style,
    plain,
    text_width,
)
from pushlab.plots.words import listed

# Actions on notifications have the colours of what they lead to; others take those of series, in order.
ACTION_LOOKS = {
    "show": (SHOWN, None, "shown"),
    "cache": (WAITING, WAITING_EDGE, "waiting"),
    "dismiss": (GREY, None, "unseen"),
    "check-cache": (blend(WAITING, 0.45, SURFACE), WAITING_EDGE, None),
    "stand-by": (TRACK, None, None),
}


# ---------------------------------------------------------------- what a policy does: table


def policy_map_table(
    log: pd.DataFrame,
    row: str = "place",
    column: str = "time",
    action: str = "action",
    actions: Sequence | Mapping | None = None,
    row_order: Sequence | None = None,
    column_order: Sequence | None = None,
    most: int = 10,
) -> pd.DataFrame:
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
        raise ValueError(
            f"no row of the log has one of the actions {', '.join(map(str, names))}; it has "
            f"{', '.join(map(str, log[action].unique()[:8]))}"
        )
    rows, row_values = folded(chosen[row], row_order, most)
    columns, column_values = folded(chosen[column], column_order, most)
    taken = chosen[action].map(names)
    counts = taken.groupby(
        [rows.to_numpy(), columns.to_numpy(), taken.to_numpy()]
    ).size()
    cells = [row_values, column_values, list(dict.fromkeys(names.values()))]
    counts = counts.reindex(
        pd.MultiIndex.from_product(cells, names=[row, column, "action"]), fill_value=0
    )
    decided = counts.groupby(level=[0, 1]).transform("sum")
    return pd.DataFrame({"share": counts / decided, "decisions": decided}).reset_index()


def _action_names(taken, actions):
    """{value in the log: name}, in order."""
    if actions is None:
        actions = list(taken.dropna().unique())
        known = [name for name in ACTION_LOOKS if name in actions]
        actions = known + [value for value in actions if value not in known]
    return (
        dict(actions)
        if isinstance(actions, dict)
        else {value: str(value) for value in actions}
    )


# ---------------------------------------------------------------- what a policy does: picture


@house_style()
def policy_map(
    log: pd.DataFrame,
    row: str = "place",
    column: str = "time",
    action: str = "action",
    actions: Sequence | Mapping | None = None,
    row_order: Sequence | None = None,
    column_order: Sequence | None = None,
    row_labels: Mapping | None = None,
    column_labels: Mapping | None = None,
    agent: str | None = None,
    title: Words = None,
    lead: Words = None,
    figure: Figure | None = None,
) -> Axes:
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
    stage.heading(
        fit(
            plain(title or _map_title(shares, counts, names, agent)),
            900 - 2 * MARGIN,
            TITLE,
            "bold",
        ),
        lead
        or f"{counts.sum():,} decisions; pale: fewer than {FEW}, with their number",
        title_lines=1,
    )
    others = series_styles([name for name in names if name not in ACTION_LOOKS])
    looks = {
        name: ACTION_LOOKS.get(name) or (others[name][0], None, None) for name in names
    }
    _draw_action_key(stage, looks, 88)
    row_names = [fit(shown_value(row, value, row_labels), 170, LEAD) for value in rows]
    left = MARGIN + max(text_width(name, LEAD) for name in row_names) + 16
    ax = stage.axes(left, top, 900 - MARGIN - left, pitch * len(rows))
    ax.set(xlim=(0, 900 - MARGIN - left), ylim=(pitch * len(rows), 0))
    ax.set_axis_off()
    wide = (900 - MARGIN - left) / len(columns)
    for r, c in np.ndindex(counts.shape):
        if counts[r, c]:
            _draw_shares(
                stage,
                left + wide * c,
                top + pitch * r,
                wide - 14,
                shares[r, c],
                counts[r, c],
                looks,
            )
    for place, name in enumerate(row_names):
        middle = top + pitch * (place + 0.5)
        stage.text(MARGIN, middle, name)
        if place:
            stage.line(
                [(MARGIN, middle - pitch / 2), (900 - MARGIN, middle - pitch / 2)],
                LINE,
                0.8,
                z=1,
            )
    name_columns(
        stage,
        [shown_value(column, value, column_labels) for value in columns],
        left - 7,
        wide * len(columns),
        below + 4,
    )
    return ax


def _map_title(shares, counts, names, agent):
    """The sentence on top: what is done most often, and in how many cells."""
    who = plain(agent) if agent else "The policy"
    decided = counts.sum()
    overall = np.nansum(shares * counts[..., None], axis=(0, 1)) / decided
    most = overall.argmax()
    sure = counts >= FEW
    if not sure.any():
        return (
            f"{who} chose {names[most]} in {overall[most]:.2f} of {decided:,} decisions"
        )
    tops = shares[sure].argmax(axis=-1)
    others = [
        name for place, name in enumerate(names) if place != most and place in tops
    ]
    where = (
        f"but {listed(others, 'or')} in {(tops != most).sum()} of {len(tops)} cells"
        if others
        else ("wherever and whenever")
    )
    return f"{who} mostly chooses {names[most]}, {where}"


def _draw_action_key(stage, looks, y):
    x = MARGIN
    for name, (fill, edge, kind) in looks.items():
        if kind:
            mark(stage, kind, x + 7, y, 7)
        else:
            stage.box(x, y - 5, 14, 10, 2, fill, edge, 0.9)
        words = fit(plain(name), 160, SMALL, "bold")
        stage.text(x + 21, y, words, SMALL, INK, "bold")
        x += 21 + text_width(words, SMALL, "bold") + 22


def _draw_shares(stage, x, y, wide, shares, count, looks):
    """One cell: the commonest action in words, and a bar of all."""
    few, most = count < FEW, int(shares.argmax())
    colour, weight = (TEXT, "normal") if few else (INK, "bold")
    number = (
        f"{shares[most]:.2f}" if not few else f"of {count}" if count > 1 else "once"
    )
    name = fit(
        plain(list(looks)[most]),
        wide - text_width(f" {number}", SMALL, "bold"),
        SMALL,
        weight,
    )
    stage.text(x, y + 15, name, SMALL, colour, weight)
    stage.text(x + wide, y + 15, number, SMALL, colour, weight, "right")
    stage.box(x, y + 25, wide, 11, 0, SOFT, z=2)
    for (fill, edge, _), share in zip(looks.values(), shares):
        end = x + wide * share
        if share > 0:
            stage.box(
                x,
                y + 25,
                wide * share,
                11,
                0,
                blend(fill, 0.3, SURFACE) if few else fill,
                z=3,
            )
            if edge and not few:
                stage.line(
                    [(x, y + 36), (end, y + 36)], edge, 1.0, z=4, solid_capstyle="butt"
                )
        x = end
