"""A lender's score and the people it judges: where they stand and go, what was promised and what it came to.

One picture of an episode's frames, and two of lenders compared: whether retraining comes to rest, and how promise and
payment drift apart.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.datasets.borrowers import BIAS, FEATURES, WORDS
from pushlab.ground.arguments import demand, has_rows
from pushlab.plots.curve_tables import RUN
from pushlab.plots.kit import end_labels
from pushlab.plots.palette import (
    BAND,
    BLUE,
    BOUND_DASH,
    DASHES,
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
    series_styles,
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
from pushlab.plots.ticks import count_along, set_ticks, span, ticks_of_count
from pushlab.plots.words import listed

GROUPS = (("paid back", BLUE), ("fell behind", ORANGE))
LEFT, WIDTH = 24, 456  # of the panels of scores, in hundredths of an inch
TOP, HEIGHT, PITCH = 98, 148, 196
LOW = 110  # height of the chart of losses
SIDE = 626  # where the words on the right begin
STILL = 1e-8  # a smaller change of the weights is drawn as this one: it is what solvers leave
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
CHANCES = (0.02, 0.1, 0.5, 0.9, 0.98)  # where the axis of scores is marked


@house_style()
def credit_scores(
    frames: Sequence[Mapping],
    title: Words = None,
    lead: Words = None,
    agent: str | None = None,
    choosing: bool = False,
    figure: Figure | None = None,
) -> Figure:
    """Both groups' scores before and after they moved, the loss promised and paid each round, and who moved what.

    frames    the frames of an episode up to now
    title     the sentence on top; None says what was promised and paid last
    choosing  whether a person is about to publish
    returns   Figure, 9 x 4.8 inches
    """
    demand(len(frames), "credit_scores() needs at least one frame")
    last = frames[-1]
    stage = Stage(900, 480, figure)
    stage.heading(
        plain(title or _event(last, choosing)),
        plain(lead or _lead(last, agent)),
        title_lines=1,
    )
    # People beyond the ends stand in the outermost bins, which may leave the top: the others set the height.
    highest = max(
        0.06, max(max(share[1:-1]) for group in last["scores"] for share in group)
    )
    for row, (name, colour) in enumerate(GROUPS):
        _draw_group(stage, last, row, name, colour, highest)
    _draw_losses(stage, frames)
    _draw_shifts(stage, last)
    return stage.figure


def _event(last, choosing):
    if "loss" not in last:
        return (
            "Which score will you publish first?"
            if choosing
            else "Nobody is scored yet"
        )
    who = f", {last['choice']}" if last["choice"] else ""
    return f"Round {last['step']}{who}: a loss of {_loss(last['promised'])} was promised, {_loss(last['loss'])} came"


def _loss(value):
    return (
        f"{value:.3f}"
        if value < 10
        else f"{value:,.1f}"
        if value < 100
        else f"{value:,.0f}"
    )


def _lead(last, agent):
    parts = [
        last["env"],
        agent,
        f"{last['people']:,} people, {last['source']}",
        f"epsilon {last['epsilon']:g}",
        "with memory" if last["memory"] else None,
    ]
    return ", ".join(part for part in parts if part)


def _draw_group(stage, last, row, name, colour, highest):
    edges = np.linspace(-6, 6, len(last["scores"][row][0]) + 1)
    top = TOP + PITCH * row
    stage.text(
        LEFT,
        top - 11,
        f"{name}, by the chance of falling behind that the score gives",
        SMALL,
        INK,
        "bold",
    )
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
    began, now = (f"{100 * share:.0f} %" for share in last["refused"][row])
    moved = "loss" in last
    lines = (
        ("are refused;", f"{began} if nobody", "had moved (grey)")
        if moved
        else ("would be refused by", "weights of the past")
    )
    x = LEFT + WIDTH + 16
    stage.text(x, top + 44, now if moved else began, 17, deep(colour), "bold")
    for line, words in enumerate(lines):
        stage.text(x, top + 70 + 16 * line, words, SMALL, TEXT)


def _draw_losses(stage, frames):
    done = [frame for frame in frames if "loss" in frame]
    rounds, best = [frame["step"] for frame in done], frames[-1]["best"]
    paid, promised = ([frame[key] for frame in done] for key in ("loss", "promised"))
    stage.text(SIDE, TOP - 11, "loss, round by round", SMALL, INK, "bold")
    ax = stage.axes(SIDE + 42, TOP + 4, 168, LOW)
    _set_loss_axis(
        ax,
        [
            *paid,
            *promised,
            *([] if best is None else [best]),
            *([] if done else [np.log(2)]),
        ],
    )
    ax.set_xlim(0.5, frames[-1]["of"] + 0.5)
    set_ticks(ax.xaxis, ticks_of_count(1, frames[-1]["of"], 4))
    if best is not None:
        ax.axhline(best, color=INK, lw=1.6, ls=BOUND_DASH, zorder=2)
        if ax.get_yscale() == "linear":
            end_labels(
                ax, [(frames[-1]["of"] + 0.5, best, "best", INK, "normal")], dx=5
            )
    ax.plot(
        rounds,
        promised,
        ls="none",
        marker="o",
        mfc=PAPER,
        mec=TEXT,
        ms=5,
        mew=1.2,
        zorder=3,
        clip_on=False,
    )
    ax.plot(
        rounds,
        paid,
        color=PURPLE,
        lw=2,
        ls="-",
        marker="o",
        ms=4,
        zorder=4,
        clip_on=False,
    )
    stage.text(
        SIDE, TOP + LOW + 36, "line: paid, rings: promised when published", SMALL, TEXT
    )


def _set_loss_axis(ax, values):
    """Limits and ticks for losses; the axis is logarithmic where the highest is more than twenty times the lowest."""
    low, high = min(values), max(values)
    if not high > 20 * low > 0:
        return span(ax.yaxis, low - 1e-3, high + 1e-3, 3)
    ticks = 10.0 ** np.unique(
        np.linspace(np.floor(np.log10(low)), np.ceil(np.log10(high)), 4).round()
    )
    ax.set(yscale="log", ylim=(ticks[0], ticks[-1]))
    ax.minorticks_off()
    set_ticks(ax.yaxis, ticks)


def _draw_shifts(stage, last):
    """How far each feature that can be changed has gone from where it began: a bar from the middle."""
    top = TOP + PITCH
    stage.text(SIDE, top - 11, "moved, in standard deviations", SMALL, INK, "bold")
    names = list(last["shift"])
    shown = names if len(names) <= 6 else names[:5]
    reach = max([1.0, *(abs(value) for value in last["shift"].values())])
    middle, half = 778, 44
    if shown:
        stage.line(
            [(middle, top + 4), (middle, top + 6 + 24 * len(shown))], LINE, 1.0, z=2
        )
    for row, name in enumerate(shown):
        y, value = top + 18 + 24 * row, last["shift"][name]
        stage.text(SIDE, y, fit(WORDS[FEATURES.index(name)], 102, SMALL), SMALL, TEXT)
        wide = half * abs(value) / reach
        if wide > 0.1:
            stage.box(
                middle - (wide if value < 0 else 0),
                y - 7,
                wide,
                14,
                2,
                blend(PURPLE, 0.8),
                z=3,
            )
        stage.text(876, y, _signed(value), TICK, INK, "bold", "right")
    if len(names) > len(shown):
        stage.text(
            SIDE,
            top + 18 + 24 * len(shown),
            f"and {len(names) - len(shown)} more",
            SMALL,
            TEXT,
        )


def _signed(value):
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    words = f"{abs(value):,.{digits}f}"
    return (
        words
        if not words.strip("0.")
        else f"{'+' if value > 0 else chr(0x2212)}{words}"
    )


# ---------------------------------------------------------------- lenders compared: retraining


def retraining_table(log: pd.DataFrame, by: str = "agent") -> pd.DataFrame:
    """How far published weights moved and what they cost, round by round.

    log      step log of a world that publishes weights, with the columns action.<weight> and info.loss
    by       the column that tells lines apart; a label given to rollout, such as run, will do
    returns  DataFrame: by, round (from 1), change (the length of the difference to the weights of the round before,
             NaN in the first), loss; means where there are several episodes
    """
    columns = [f"action.{name}" for name in (*FEATURES, BIAS)]
    has_rows(log, *columns, "info.loss", "step", by, what="the log")
    keys = list(
        dict.fromkeys(
            [by, *(key for key in (*RUN, "episode", "params") if key in log.columns)]
        )
    )
    parts = []
    for _, rows in log.groupby(keys, sort=False, observed=True, dropna=False):
        theta = rows.sort_values("step")[columns].to_numpy(float)
        change = np.append(np.nan, np.linalg.norm(np.diff(theta, axis=0), axis=1))
        parts.append(
            pd.DataFrame(
                {
                    by: rows[by].to_numpy(),
                    "round": np.arange(1, len(rows) + 1),
                    "change": change,
                    "loss": rows["info.loss"].to_numpy(float),
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    return table.groupby([by, "round"], sort=False, observed=True).mean().reset_index()


@house_style()
def retraining(
    log: pd.DataFrame,
    by: str = "agent",
    best: float | None = None,
    title: Words = None,
    lead: Words = None,
    figure: Figure | None = None,
) -> Figure:
    """Whether retraining comes to rest: the change of the weights from round to round, and the loss beside it.

    log       see `retraining_table`, which holds the numbers that are drawn
    best      a loss to draw as a bound
    returns   Figure, 9 x 4.2 inches
    """
    table = retraining_table(log, by)
    names = list(dict.fromkeys(table[by]))
    stage = Stage(900, 420, figure)
    said = f"{log['env'].iloc[0] if 'env' in log else 'a log'}, {len(names)} lines, each mark a round"
    shift = stage.heading(
        plain(title or _retraining_title(table, by)), plain(lead or said)
    )
    last, top = int(table["round"].max()), 104 + shift
    widest = min(150, max(text_width(plain(name), TICK, "bold") for name in names))
    width = (900 - 2 * MARGIN - 2 * 48 - 40 - widest - 12) / 2
    stage.label(MARGIN, top - 18, "change of the weights since the round before")
    change = stage.axes(MARGIN + 48, top, width, 420 - top - 48)
    left = MARGIN + 48 + width + 40
    stage.label(left, top - 18, "loss on people who have moved")
    loss = stage.axes(left + 48, top, width, 420 - top - 48)
    styles, ends = series_styles(names), []
    for name in names:
        rows, (colour, dash, marker) = table[table[by] == name], styles[name]
        look = {
            "color": colour,
            "ls": dash,
            "marker": marker,
            "ms": 3.5,
            "lw": 2,
            "clip_on": False,
        }
        change.plot(rows["round"], np.maximum(rows["change"], STILL), **look)
        loss.plot(rows["round"], rows["loss"], **look)
        ends.append(
            (
                last,
                rows["loss"].iloc[-1],
                fit(plain(name), widest, TICK, "bold"),
                colour,
                "bold",
            )
        )
    _set_change_axis(change, table["change"])
    _set_loss_axis(loss, [*table["loss"], *([] if best is None else [best])])
    if best is not None:
        loss.axhline(best, color=INK, lw=1.6, ls=BOUND_DASH)
        ends.append((last, best, "best", INK, "normal"))
    for ax in (change, loss):
        count_along(ax, 1, max(2, last), 4, "rounds")
    end_labels(loss, ends)
    return stage.figure


def _set_change_axis(ax, change):
    known = change.dropna() if change.notna().any() else np.ones(1)
    low = np.floor(np.log10(max(STILL, known.min())))
    high = max(np.ceil(np.log10(max(10 * STILL, known.max()))), low + 1)
    ax.set(yscale="log", ylim=(10.0**low, 10.0**high))
    ax.minorticks_off()
    powers = np.arange(high, low - 1, -np.ceil((high - low) / 5))
    ax.set_yticks(
        10.0**powers,
        [
            "10" + f"{power:.0f}".translate(SUPERSCRIPTS) if power else "1"
            for power in powers
        ],
    )


def _retraining_title(table, by):
    ends = table.groupby(by, sort=False).last()
    calm = [plain(name) for name, change in ends["change"].items() if change < 1e-3]
    if len(calm) == len(ends):
        return "All come to rest"
    if not calm:
        return "Nothing comes to rest"
    together = listed(calm)
    return f"{together[0].upper()}{together[1:]} come{'s' if len(calm) == 1 else ''} to rest"


# ---------------------------------------------------------------- promise against payment


@house_style()
def promise(
    table: pd.DataFrame,
    strength: float = 1.0,
    title: Words = None,
    lead: Words = None,
    figure: Figure | None = None,
) -> Axes:
    """What a score promises and what it costs, against how much it trusts what people can change.

    table     of `pushlab.envs.credit.rules.promise_table`, which says what is drawn
    strength  where both lines are marked, and said in the title
    returns   Axes on a sheet of 6 x 4 inches
    """
    stage = Stage(600, 400, figure)
    marks = {
        key: np.interp(strength, table["strength"], table[key])
        for key in ("promised", "paid")
    }
    said = ", ".join(f"{key} {mark:.3f}" for key, mark in marks.items())
    shift = stage.heading(
        plain(title or f"At strength {strength:.2f}: {said}"),
        plain(lead or table.attrs["source"]),
    )
    stage.label(MARGIN, 84 + shift, "loss")
    ax = stage.axes(74, 102 + shift, 420, 400 - 102 - shift - 62)
    looks = {"promised": (BLUE, DASHES[0]), "paid": (ORANGE, DASHES[1])}
    for key, (colour, dash) in looks.items():
        ax.plot(table["strength"], table[key], color=colour, ls=dash)
        ax.plot(strength, marks[key], "o", color=colour, ms=8, zorder=6)
    _set_loss_axis(ax, [*table["promised"], *table["paid"]])
    ax.set_xlim(0, 2)
    set_ticks(ax.xaxis, [0, 0.5, 1, 1.5, 2])
    stage.text(
        494,
        374,
        "strength of the weights on what people can change",
        SMALL,
        TEXT,
        align="right",
    )
    end_labels(
        ax,
        [
            (2, table[key].iloc[-1], key, colour, "bold")
            for key, (colour, _) in looks.items()
        ],
    )
    return ax
