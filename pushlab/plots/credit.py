"""A lender's score and the people it judges: where they stood and went, what was promised and what it came to."""

import numpy as np

from pushlab.datasets.borrowers import FEATURES, WORDS
from pushlab.plots.kit import end_labels, set_ticks, ticks_around, ticks_between
from pushlab.plots.palette import (
    BAND,
    BLUE,
    BOUND_DASH,
    INK,
    LINE,
    ORANGE,
    PAPER,
    PURPLE,
    SMALL,
    SOFT,
    TEXT,
    TICK,
    blend,
    deep,
)
from pushlab.plots.sheet import Stage, fit, house_style, plain

GROUPS = (("paid back", BLUE), ("fell behind", ORANGE))
LEFT, WIDTH = 24, 456                   # of the panels of scores, in hundredths of an inch
TOP, HEIGHT, PITCH = 98, 148, 196
LOW = 110                               # height of the chart of losses
SIDE = 626                              # where the words on the right begin
CHANCES = (0.02, 0.1, 0.5, 0.9, 0.98)   # where the axis of scores is marked


@house_style()
def credit_scores(frames, title=None, lead=None, agent=None, choosing=False, figure=None):
    """Both groups' scores before and after they moved, the loss promised and paid each round, and who moved what.

    frames    the frames of an episode up to now
    title     the sentence on top; None says what was promised and paid last
    choosing  whether a person is about to publish
    returns   Figure, 9 x 4.8 inches
    """
    if not len(frames):
        raise ValueError("credit_scores() needs at least one frame")
    last = frames[-1]
    stage = Stage(900, 480, figure)
    stage.heading(plain(title or _event(last, choosing)), plain(lead or _lead(last, agent)), title_lines=1)
    # People beyond the ends stand in the outermost bins, which may leave the top: the others set the height.
    highest = max(0.06, max(max(share[1:-1]) for group in last["scores"] for share in group))
    for row, (name, colour) in enumerate(GROUPS):
        _draw_group(stage, last, row, name, colour, highest)
    _draw_losses(stage, frames)
    _draw_shifts(stage, last)
    return stage.figure


def _event(last, choosing):
    if "loss" not in last:
        return "Which score will you publish first?" if choosing else "Nobody is scored yet"
    who = f", {last['choice']}" if last["choice"] else ""
    return f"Round {last['step']}{who}: a loss of {_loss(last['promised'])} was promised, {_loss(last['loss'])} came"


def _loss(value):
    return f"{value:.3f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _lead(last, agent):
    parts = [last["env"], agent, f"{last['people']:,} people, {last['source']}", f"epsilon {last['epsilon']:g}",
             "with memory" if last["memory"] else None]
    return ", ".join(part for part in parts if part)


# ---------------------------------------------------------------- scores

def _draw_group(stage, last, row, name, colour, highest):
    edges = np.linspace(-6, 6, len(last["scores"][row][0]) + 1)
    top = TOP + PITCH * row
    stage.text(LEFT, top - 11, f"{name}, by the chance of falling behind that the score gives", SMALL, INK, "bold")
    ax = stage.axes(LEFT, top, WIDTH, HEIGHT)
    began, now = last["scores"][row]
    ax.axvspan(0, 6, fc=SOFT, lw=0, zorder=0)
    ax.stairs(began, edges, fill=True, fc=LINE, lw=0, zorder=1)
    ax.stairs(now, edges, fill=True, fc=colour, alpha=BAND, lw=0, zorder=2)
    ax.stairs(now, edges, color=colour, lw=2, ls="-", zorder=3)
    ax.axvline(0, color=INK, lw=1.6, zorder=4)
    ax.set(xlim=(-6, 6), ylim=(0, 1.12 * highest), yticks=[])
    marks = np.log(np.array(CHANCES) / (1 - np.array(CHANCES)))
    ax.set_xticks(marks, [f"{100 * chance:.0f} %" for chance in CHANCES])
    ax.grid(False)
    ax.text(0.12, 1.04 * highest, "refused", size=SMALL, color=TEXT, va="top")
    began, now = last["refused"][row]
    _draw_share(stage, top, began, now, colour, "loss" in last)


def _draw_share(stage, top, began, now, colour, published):
    x = LEFT + WIDTH + 16
    if not published:
        stage.text(x, top + 44, f"{100 * began:.0f} %", 17, deep(colour), "bold")
        stage.text(x, top + 70, "would be refused by", SMALL, TEXT)
        stage.text(x, top + 86, "weights of the past", SMALL, TEXT)
        return
    stage.text(x, top + 44, f"{100 * now:.0f} %", 17, deep(colour), "bold")
    stage.text(x, top + 70, "are refused;", SMALL, TEXT)
    stage.text(x, top + 86, f"{100 * began:.0f} % if nobody", SMALL, TEXT)
    stage.text(x, top + 102, "had moved (grey)", SMALL, TEXT)


# ---------------------------------------------------------------- losses and moves

def _draw_losses(stage, frames):
    done = [frame for frame in frames if "loss" in frame]
    rounds, best = [frame["step"] for frame in done], frames[-1]["best"]
    paid, promised = ([frame[key] for frame in done] for key in ("loss", "promised"))
    stage.text(SIDE, TOP - 11, "loss, round by round", SMALL, INK, "bold")
    ax = stage.axes(SIDE + 42, TOP + 4, 168, LOW)
    steep = set_loss_axis(ax, [*paid, *promised, *([] if best is None else [best]), *([] if done else [np.log(2)])])
    ax.set_xlim(0.5, frames[-1]["of"] + 0.5)
    set_ticks(ax.xaxis, ticks_between(1, frames[-1]["of"], 4), whole=True)
    if best is not None:
        ax.axhline(best, color=INK, lw=1.6, ls=BOUND_DASH, zorder=2)
        if not steep:
            end_labels(ax, [(frames[-1]["of"] + 0.5, best, "best", INK, "normal")], dx=5)
    ax.plot(rounds, promised, ls="none", marker="o", mfc=PAPER, mec=TEXT, ms=5, mew=1.2, zorder=3, clip_on=False)
    ax.plot(rounds, paid, color=PURPLE, lw=2, ls="-", marker="o", ms=4, zorder=4, clip_on=False)
    stage.text(SIDE, TOP + LOW + 36, "line: paid, rings: promised when published", SMALL, TEXT)


def set_loss_axis(ax, values):
    """Limits and ticks for losses from the lowest to the highest; returns whether the axis is logarithmic.

    It is where the highest is more than twenty times the lowest.
    """
    low, high = min(values), max(values)
    steep = high > 20 * low > 0
    if steep:
        ax.set_yscale("log")
        low, high = np.floor(np.log10(low)), np.ceil(np.log10(high))
        ticks = 10.0 ** np.unique(np.linspace(low, high, 4).round())
        ax.minorticks_off()
    else:
        ticks = ticks_around(low - 1e-3, high + 1e-3, 3)
    ax.set_ylim(ticks[0], ticks[-1])
    set_ticks(ax.yaxis, ticks)
    return steep


def _draw_shifts(stage, last):
    """How far each feature that can be changed has gone from where it began: a bar from the middle."""
    top = TOP + PITCH
    stage.text(SIDE, top - 11, "moved, in standard deviations", SMALL, INK, "bold")
    names = list(last["shift"])
    shown = names if len(names) <= 6 else names[:5]
    reach = max([1.0, *(abs(value) for value in last["shift"].values())])
    middle, half = 778, 44
    if shown:
        stage.line([(middle, top + 4), (middle, top + 6 + 24 * len(shown))], LINE, 1.0, z=2)
    for row, name in enumerate(shown):
        y, value = top + 18 + 24 * row, last["shift"][name]
        stage.text(SIDE, y, fit(WORDS[FEATURES.index(name)], 102, SMALL), SMALL, TEXT)
        wide = half * abs(value) / reach
        if wide > 0.1:
            stage.box(middle - (wide if value < 0 else 0), y - 7, wide, 14, 2, blend(PURPLE, 0.8), z=3)
        stage.text(876, y, _signed(value), TICK, INK, "bold", "right")
    if len(names) > len(shown):
        stage.text(SIDE, top + 18 + 24 * len(shown), f"and {len(names) - len(shown)} more", SMALL, TEXT)


def _signed(value):
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    words = f"{abs(value):,.{digits}f}"
    return words if not words.strip("0.") else f"{'+' if value > 0 else chr(0x2212)}{words}"
