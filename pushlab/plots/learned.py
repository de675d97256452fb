"""What an agent has learned of a user, beside what is true."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.plots.palette import INK, LEAD
from pushlab.plots.rates import (
    draw_cell,
    name_columns,
    ordered_values,
    shade,
    shown_value,
)
from pushlab.plots.sheet import (
    MARGIN,
    Stage,
    Words,
    fit,
    house_style,
    plain,
    text_width,
)
from pushlab.plots.words import spoken

WORDY = 8  # columns at most in which every cell says its number
CONTEXTS = 60  # of each column that a cell is the mean of, evenly over the period


# ---------------------------------------------------------------- table


def learned_heatmap_table(
    agent: Any, env: Any, row: str = "subject", column: str = "time", most: int = 10
) -> pd.DataFrame:
    """The probability of opening that an agent expects and the judge's own, by a value of each side.

    agent    one that has begun, with `candidates` and `probability(contexts, notifications)`, such as the bandits
    env      the environment it learned in
    row      a feature of the notification; column, one of the context. A set-valued one has a column a tag
    most     rows at most: the best of each column, to the agent or in truth, and those that truly vary most
    returns  DataFrame: row, column, expected, true; each the mean over the candidates with the row's value, and over
             up to 60 of the period's contexts with the column's
    """
    world = env.unwrapped.world
    notification, context = world.schema.notification, world.schema.context
    for half, name, what in (
        (notification, row, "notification"),
        (context, column, "context"),
    ):
        if name not in half.names:
            raise ValueError(
                f"the {what} has no feature {name!r}; it has {', '.join(half.names)}"
            )
    if not hasattr(agent, "candidates") or not hasattr(agent, "probability"):
        raise ValueError(
            f"{agent.name} does not say what it expects to be opened; a bandit does, once it has begun"
        )
    words = notification.decode(agent.candidates)[row].to_numpy()
    lines = []
    for value, contexts in _contexts_by(context, column, world.period.context_codes):
        chosen = contexts[
            np.unique(np.linspace(0, len(contexts) - 1, CONTEXTS).astype(int))
        ]
        pairs = (
            np.repeat(chosen, len(words), axis=0),
            np.tile(agent.candidates, (len(chosen), 1)),
        )
        means = [
            who.probability(*pairs).reshape(len(chosen), -1).mean(axis=0)
            for who in (agent, world.judge)
        ]
        lines += [
            {
                row: word,
                column: value,
                "expected": means[0][words == word].mean(),
                "true": means[1][words == word].mean(),
            }
            for word in dict.fromkeys(words)
        ]
    table = pd.DataFrame(lines)
    return _most_telling(table, row, column, most)


def _contexts_by(half, name, codes):
    """(value, the contexts that have it) for every value of a feature, or tag of a set, that occurs."""
    for component in (
        component
        for component in half.components
        if component.partition(".")[0] == name
    ):
        column = codes[:, half.components.index(component)]
        tag = component.partition(".")[2]
        for code, word in [(1, tag)] if tag else enumerate(half[name].words):
            if (column == code).any():
                yield word, codes[column == code]


def _most_telling(table, row, column, most):
    """Rows and columns in order: rows that are the best of a column, then those whose true probability varies most."""
    spread = table.groupby(row, sort=False)["true"].agg(np.ptp)
    tops = {
        table[row][at]
        for key in ("true", "expected")
        for at in table.groupby(column)[key].idxmax()
    }
    rows = sorted(spread.index, key=lambda value: (value not in tops, -spread[value]))[
        :most
    ]
    cells = pd.MultiIndex.from_product(
        [rows, ordered_values(table[column])], names=[row, column]
    )
    return table.set_index([row, column]).loc[cells].reset_index()


# ---------------------------------------------------------------- picture


@house_style()
def learned_heatmap(
    agent: Any,
    env: Any,
    row: str = "subject",
    column: str = "time",
    most: int = 10,
    labels: Mapping | None = None,
    title: Words = None,
    figure: Figure | None = None,
) -> Axes:
    """Two heat maps side by side: what the agent expects to be opened, and what is; the best of a column is framed.

    labels   {value: friendlier word} for the columns, such as days that are numbers
    others   see `learned_heatmap_table`, which holds what is drawn
    returns  Axes of the agent's map, on a sheet 9 inches wide
    """
    table, world = (
        learned_heatmap_table(agent, env, row, column, most),
        env.unwrapped.world,
    )
    rows, columns = table[row].drop_duplicates(), table[column].drop_duplicates()
    names = [fit(shown_value(row, value), 150, LEAD) for value in rows]
    labels = labels or world.schema.context.labels().get(column)
    column_names = [shown_value(column, value, labels) for value in columns]
    pitch, top = 28, 108
    below = top + pitch * len(names)
    stage = Stage(900, below + 58, figure)
    shares = {
        key: table[key].to_numpy().reshape(len(names), -1)
        for key in ("expected", "true")
    }
    hits = int(
        (shares["expected"].argmax(axis=0) == shares["true"].argmax(axis=0)).sum()
    )
    right = f"{hits} of {len(columns)} values of {spoken(column)}"
    lead = (
        f"{world.name}, user {plain(world.user.name)}; probability of opening by {spoken(row)} and "
        f"{spoken(column)}, mean over contexts; framed: best of the column"
    )
    stage.heading(
        title or f"{plain(agent.name)} knows the best {spoken(row)} for {right}",
        fit(lead, 900 - 2 * MARGIN, LEAD),
        title_lines=1,
    )
    left = MARGIN + max(text_width(name, LEAD) for name in names) + 14
    width = (900 - MARGIN - left - 28) / 2
    true = (
        "what is true"
        if world.judge.name == "truth"
        else f"what the judge says ({world.judge.name})"
    )
    maps = []
    for place, (key, words) in enumerate(
        (("expected", f"what {plain(agent.name)} expects"), ("true", true))
    ):
        at = left + place * (width + 28)
        stage.label(at, 86, words)
        ax = stage.axes(
            at,
            top,
            width,
            pitch * len(names),
            xlim=(0, len(columns)),
            ylim=(len(names), 0),
        )
        ax.set_axis_off()
        for (r, c), share in np.ndenumerate(shares[key]):
            best = r == shares[key][:, c].argmax()
            said = f"{share:.2f}" if best or len(columns) <= WORDY else ""
            draw_cell(
                ax,
                r,
                c,
                shade(share),
                said,
                best,
                0.52,
                ec=INK if best else "none",
                lw=1.5 if best else 0,
                clip_on=False,
                zorder=2 if best else 1,
            )
        name_columns(stage, column_names, at, width, below)
        maps.append(ax)
    for place, name in enumerate(names):
        stage.text(MARGIN, top + pitch * (place + 0.5), name)
    return maps[0]
