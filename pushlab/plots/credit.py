"""Plots of a credit score: the scores of both groups, and the promised and the paid loss."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pushlab.plots.stage import Stage, last_frame
from pushlab.plots.style import (
    BAND,
    BLUE,
    BOUND_DASH,
    DASHES,
    INK,
    LINE,
    MARGIN,
    ORANGE,
    PURPLE,
    SMALL_SIZE,
    SOFT,
    TEXT,
    TICK_SIZE,
    blend,
    darken,
    format_number,
    house_style,
    label_axes,
    label_line_ends,
    round_limits,
    truncate_to_width,
)

SIDE = 626  # left end of the right half, in hundredths of an inch
LOSS_STYLES = {"promised": (BLUE, DASHES[0]), "paid": (ORANGE, DASHES[1])}
PROBABILITIES = np.array([0.02, 0.1, 0.5, 0.9, 0.98])  # ticks of the score axis


@house_style()
def credit_scores(frames: Sequence[Mapping], agent: str = "") -> Figure:
    """Draw the scores of both groups before and after their response, the promised and paid loss, and the changes.

    Args:
        frames: Frames of an episode of Credit so far, see its `frame`.
        agent: Name of the agent.

    Returns:
        A figure of 9 x 4.8 inches.
    """
    frame = last_frame(frames)
    stage = Stage(900, 480)
    setting = (
        f"{frame['people']:,} people, {frame['source']}, epsilon {frame['epsilon']:g}"
    )
    parts = (setting, agent, frame["choice"])
    stage.heading(
        f"{frame['env']}: round {frame['step']} of {frame['episode_length']}",
        "   ·   ".join(filter(None, parts)),
    )
    # The outermost bins also count people beyond the limits and may exceed the top.
    shares = np.array(frame["scores"])[..., 1:-1]
    highest = max(0.06, shares.max())
    _draw_group(stage, frame, 0, "paid back", BLUE, highest)
    _draw_group(stage, frame, 1, "fell behind", ORANGE, highest)
    _draw_losses(stage, frames)
    _draw_shifts(stage, frame["shift"], frame["feature_labels"])
    return stage.figure


def _draw_group(
    stage,
    frame,
    row,
    name,
    colour,
    highest,
):
    """Draw the histogram of a group's scores, and its share of refused people.

    Args:
        row: Index of the group.
        highest: Largest share of a bin in both groups.
    """
    top = 98 + 192 * row
    title = f"share of those who {name}, by their predicted chance of falling behind"
    stage.text(MARGIN, top - 11, title, SMALL_SIZE, weight="bold")
    ax = stage.axes(60, top, 420, 146)
    label_axes(ax)
    ax.axvspan(0, 6, fc=SOFT, lw=0)
    before, after = frame["scores"][row]
    inner = after[1:-1]
    edges = np.linspace(-6, 6, len(after) + 1)[1:-1]
    ax.stairs(before[1:-1], edges, fill=True, color=LINE)
    ax.stairs(inner, edges, fill=True, color=colour, alpha=BAND)
    ax.stairs(inner, edges, color=colour, lw=2, baseline=None)
    for share, x, align in ((after[0], -5.9, "left"), (after[-1], 5.9, "right")):
        if share >= 0.005:
            text = f"{_percent(share)} beyond"
            ax.text(x, 0.3 * highest, text, size=SMALL_SIZE, color=TEXT, ha=align)
    ax.axvline(0, color=INK, lw=1.6)
    ax.set(xlim=(-6, 6), ylim=(0, 1.12 * highest))
    ax.yaxis.set_major_locator(MaxNLocator(3))
    ax.yaxis.set_major_formatter(lambda share, _: _percent(share))
    log_odds = np.log(PROBABILITIES / (1 - PROBABILITIES))
    ax.set_xticks(log_odds, [_percent(share) for share in PROBABILITIES])
    ax.text(0.12, 1.04 * highest, "refused", size=SMALL_SIZE, color=TEXT, va="top")
    refused_before, refused = map(_percent, frame["refused"][row])
    text = f"are refused;\n{refused_before} if nobody\nhad moved (grey)"
    if "loss" not in frame:
        text = "would be refused by\nweights of the past"
    stage.text(496, top + 44, refused, 17, darken(colour), "bold")
    stage.text(496, top + 64, text, SMALL_SIZE, TEXT).set_va("top")


def _percent(share):
    return f"{100 * share:.0f} %"


def _draw_losses(stage, frames):
    """Draw the promised and the paid loss of each round, on a logarithmic axis if they differ by a factor of twenty."""
    rounds = [frame for frame in frames if "loss" in frame]
    steps = [frame["step"] for frame in rounds]
    best = frames[-1]["best"]
    end = frames[-1]["episode_length"] + 0.5
    stage.text(SIDE, 87, "log loss, round by round", SMALL_SIZE, weight="bold")
    ax = stage.axes(SIDE + 38, 102, 136, 114, xlim=(0.5, end))
    label_axes(ax, xlabel="round")
    ends = []
    values = [np.log(2)]
    for (name, (colour, dash)), key in zip(LOSS_STYLES.items(), ("promised", "loss")):
        losses = [frame[key] for frame in rounds]
        line = ax.plot(steps, losses, color=colour, ls=dash, ms=4, clip_on=False)
        line[0].set_marker("o" if len(rounds) < 5 else "")
        values += losses
        ends += [(end, last, name, colour) for last in losses[-1:]]
    if best is not None:
        ax.axhline(best, color=INK, lw=1.6, ls=BOUND_DASH)
        values.append(best)
        ends.append((end, best, "best", INK))
    low = min(values)
    high = max(values)
    if high > 20 * low > 0:
        ax.set(yscale="log", ylim=(low / 1.2, high * 1.2))
        ax.minorticks_off()
    else:
        round_limits(ax.yaxis, low, high, 3)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=(1, 2, 5, 10), integer=True))
    label_line_ends(ax, ends)


def _draw_shifts(stage, shifts, labels):
    """Draw the mean shift of each feature that people can change, as a bar from the middle."""
    stage.text(SIDE, 283, "moved, in standard deviations", SMALL_SIZE, weight="bold")
    names = list(shifts)[:6]
    unit = 44 / max([1.0, *map(abs, shifts.values())])
    bottom = 300 + 24 * len(names)
    stage.line([(778, 300), (778, bottom)], LINE, 1)
    for row, name in enumerate(names):
        y = 312 + 24 * row
        end = 778 + unit * shifts[name]
        left, right = sorted((778, end))
        stage.label(
            724, y, truncate_to_width(labels[name], 102, SMALL_SIZE), align="right"
        )
        stage.bars(left, right, y - 7, y + 7, blend(PURPLE, 0.8))
        number = format_number(shifts[name])
        stage.text(876, y, number, TICK_SIZE, INK, "bold", "right")
    if len(shifts) > len(names):
        stage.label(SIDE, bottom + 18, f"and {len(shifts) - len(names)} more")
