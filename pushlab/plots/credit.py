"""A lender's score and the people it judges: where they stand and go, what was promised and what it came to."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pushlab.ground.arguments import has_columns
from pushlab.plots.stage import Stage, latest
from pushlab.plots.style import (
    BAND,
    BLUE,
    BOUND_DASH,
    DASHES,
    INK,
    LINE,
    MARGIN,
    ORANGE,
    PAPER,
    PURPLE,
    SMALL,
    SOFT,
    TEXT,
    TICK,
    blend,
    chart,
    deep,
    fit,
    house_style,
    label_line_ends,
    name_axes,
    round_limits,
    short_number,
)

SIDE = 626  # where the right half begins, in hundredths of an inch
LOOKS = {"promised": (BLUE, DASHES[0]), "paid": (ORANGE, DASHES[1])}
CHANCES = np.array([0.02, 0.1, 0.5, 0.9, 0.98])  # ticks of the axis of scores


@house_style()
def credit_scores(frames: Sequence[Mapping], agent: str = "") -> Figure:
    """Draw both groups' scores before and after they moved, the loss promised and paid, and what was moved.

    Args:
        frames: The frames of an episode of Credit up to now, see its `frame`.

    Returns:
        Figure of 9 x 4.8 inches.
    """
    last = latest(frames)
    stage = Stage(900, 480)
    lead = f"{last['people']:,} people, {last['source']}, epsilon {last['epsilon']:g}"
    choice = last["choice"] or ""
    stage.heading(
        f"{last['env']}: round {last['step']} of {last['of']}",
        "   ·   ".join(filter(None, (lead, agent, choice))),
    )
    # People beyond the ends stand in the outermost bins, which may leave the top.
    shares = np.array(last["scores"])[..., 1:-1]
    highest = max(0.06, shares.max())
    _draw_group(stage, last, 0, "paid back", BLUE, highest)
    _draw_group(stage, last, 1, "fell behind", ORANGE, highest)
    _draw_losses(stage, frames)
    _draw_shifts(stage, last["shift"], last["words"])
    return stage.figure


def _draw_group(stage, last, row, name, colour, highest):
    top = 98 + 196 * row
    words = f"{name}, by the chance of falling behind that the score gives"
    stage.text(MARGIN, top - 11, words, SMALL, weight="bold")
    began, now = last["scores"][row]
    edges = np.linspace(-6, 6, len(now) + 1)
    ax = stage.axes(MARGIN, top, 456, 148)
    ax.axvspan(0, 6, fc=SOFT, lw=0)
    for shares, look in ((began, {"fc": LINE}), (now, {"fc": colour, "alpha": BAND})):
        ax.fill_between(edges, [*shares, 0], step="post", lw=0, **look)
    ax.step(edges, [*now, 0], where="post", color=colour, lw=2, ls="-")
    ax.axvline(0, color=INK, lw=1.6)
    ax.set(xlim=(-6, 6), ylim=(0, 1.12 * highest), yticks=[])
    ax.set_xticks(
        np.log(CHANCES / (1 - CHANCES)), [f"{100 * c:.0f} %" for c in CHANCES]
    )
    ax.text(0.12, 1.04 * highest, "refused", size=SMALL, color=TEXT, va="top")
    began, now = (f"{100 * share:.0f} %" for share in last["refused"][row])
    words = f"are refused;\n{began} if nobody\nhad moved (grey)"
    if "loss" not in last:
        words = "would be refused by\nweights of the past"
    stage.text(496, top + 44, now, 17, deep(colour), "bold")
    stage.text(496, top + 64, words, SMALL, TEXT).set_va("top")


def _draw_losses(stage, frames):
    done = [frame for frame in frames if "loss" in frame]
    rounds = [frame["step"] for frame in done]
    paid = [frame["loss"] for frame in done]
    promised = [frame["promised"] for frame in done]
    best = frames[-1]["best"]
    steps = frames[-1]["of"]
    stage.text(SIDE, 87, "loss, round by round", SMALL, weight="bold")
    stage.text(SIDE, 244, "line: paid, rings: promised when published", SMALL, TEXT)
    ax = stage.axes(SIDE + 42, 102, 168, 110, xlim=(0.5, steps + 0.5))
    name_axes(ax)
    ring = {"ls": "none", "marker": "o", "mfc": PAPER, "mec": TEXT, "ms": 5, "mew": 1.2}
    ax.plot(rounds, promised, clip_on=False, **ring)
    ax.plot(rounds, paid, color=PURPLE, lw=2, ls="-", marker="o", ms=4, clip_on=False)
    values = [*paid, *promised, np.log(2)]
    if best is not None:
        ax.axhline(best, color=INK, lw=1.6, ls=BOUND_DASH)
        values.append(best)
    _set_loss_axis(ax, values)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    if best is not None:
        label_line_ends(ax, [(steps + 0.5, best, "best", INK)])


def _set_loss_axis(ax: Axes, values: Sequence[float]) -> None:
    """Set limits and ticks for losses; logarithmic if the highest is more than twenty times the lowest."""
    low, high = min(values), max(values)
    if high > 20 * low > 0:
        ax.set(yscale="log", ylim=(low / 1.2, high * 1.2))
        ax.minorticks_off()
    else:
        round_limits(ax.yaxis, low, high, 3)


def _draw_shifts(stage, shift, words):
    """Draw how far each feature that can be changed has gone: a bar from the middle."""
    stage.text(SIDE, 283, "moved, in standard deviations", SMALL, weight="bold")
    names = list(shift)[:6]
    unit = 44 / max([1.0, *map(abs, shift.values())])
    stage.line([(778, 300), (778, 300 + 24 * len(names))], LINE, 1)
    for row, name in enumerate(names):
        y = 312 + 24 * row
        end = 778 + unit * shift[name]
        stage.text(724, y, fit(words[name], 102, SMALL), SMALL, TEXT, align="right")
        stage.bars(min(778, end), max(778, end), y - 7, y + 7, blend(PURPLE, 0.8))
        stage.text(876, y, short_number(shift[name]), TICK, INK, "bold", "right")
    if len(shift) > len(names):
        more = f"and {len(shift) - len(names)} more"
        stage.text(SIDE, 318 + 24 * len(names), more, SMALL, TEXT)


@house_style()
def promise(
    table: pd.DataFrame,
    strength: float = 1.0,
    title: str = "",
    lead: str = "",
) -> Figure:
    """Plot what a score promises and what it costs, against how much it trusts what people can change.

    Args:
        table: Result of `pushlab.envs.credit.rules.promise_table`.
        strength: Where both lines are marked.

    Returns:
        Figure of 6 x 4 inches.
    """
    has_columns(table, "strength", "promised", "paid")
    marks = [np.interp(strength, table["strength"], table[k]) for k in LOOKS]
    ax = chart(
        title
        or "Strength {:.2f}: {:.3f} promised, {:.3f} paid".format(strength, *marks),
        lead or table.attrs.get("source", ""),
        "loss",
        "strength of the weights on what people can change",
    )
    ends = []
    for (name, (colour, dash)), marked in zip(LOOKS.items(), marks):
        ax.plot(table["strength"], table[name], color=colour, ls=dash)
        ax.plot(strength, marked, "o", color=colour, ms=8, clip_on=False)
        ends.append((2, table[name].iloc[-1], name, colour))
    _set_loss_axis(ax, [*table["promised"], *table["paid"]])
    ax.set(xlim=(0, 2), xticks=[0, 0.5, 1, 1.5, 2])
    label_line_ends(ax, ends)
    return ax.figure
