"""A dynamical model under treatment: its state over time, what was done, and the same days as a path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pushlab.plots.film import (
    DRUGS,
    LEFT,
    Days,
    Film,
    draw_lanes,
    draw_lines,
    draw_time,
    film_stage,
)
from pushlab.plots.palette import (
    BLUE,
    BOUND_DASH,
    DASHES,
    DISMISSED,
    GOAL,
    GOAL_EDGE,
    INK,
    ORANGE,
    PAPER,
    PURPLE,
    SERIES,
    SMALL,
    blend,
)
from pushlab.plots.sheet import MARGIN, house_style
from pushlab.plots.ticks import set_ticks, ticks_around

WIDTH = 400  # of the panels over time, in hundredths of an inch
PATH = 644  # where the axes of the path begin
TOP, BOTTOM, GAP = 141, 427, 26  # of all panels together, and between two
SOLID, DASHED = DASHES[:2]
EARLY, EARLY_EDGE = (
    blend(BLUE, 0.3),
    blend(BLUE, 0.7),
)  # of the path's first days, and the ring where it begins
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
EDGE = {
    "fc": GOAL,
    "ec": GOAL_EDGE,
    "lw": 1.2,
    "ls": BOUND_DASH,
    "zorder": 1,
}  # of what is to be reached


@dataclass(frozen=True)
class View:
    """What of a model is drawn: panels {title: ((variable, words, colour, dash), …)}, and (variable, words) of the axes
    of the path."""

    panels: Mapping[str, tuple]
    path: Sequence[tuple[str, str]]


VIEWS = {
    "hiv": View(
        {
            "CD4 cells per ml": (
                ("T1", "healthy", BLUE, SOLID),
                ("T1*", "infected", DISMISSED, DASHED),
            ),
            "free virus, copies per ml": (("V", "virus", DISMISSED, SOLID),),
            "immune effectors, cells per ml": (("E", "effectors", PURPLE, SOLID),),
        },
        (("V", "virus, copies per ml"), ("E", "effectors, cells per ml")),
    ),
    "lotka_volterra": View(
        {
            "animals": (
                ("rabbits", "rabbits", BLUE, SOLID),
                ("foxes", "foxes", ORANGE, DASHED),
            )
        },
        (("rabbits", "rabbits"), ("foxes", "foxes")),
    ),
}


def _view_of(model):
    """How a model is drawn; one that is not known shows its first three variables, and the first two as a path."""
    if model["name"] in VIEWS:
        return VIEWS[model["name"]]
    shown = list(model["variables"].items())[:3]
    panels = {
        words: ((name, name, colour, SOLID),)
        for (name, words), colour in zip(shown, SERIES)
    }
    return View(panels, [(name, name) for name, _ in shown * 2][:2])


@house_style()
def patient(
    days: Days,
    model: Mapping | None = None,
    title: str | None = None,
    lead: str | None = None,
    goal: Mapping | None = None,
    until: float | None = None,
    agent: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """The state over time, the interventions as coloured lanes and tints, the goal in green, and the phase portrait.

    days      the frames of an episode up to now, or a table as `simulate()` returns it
    model     of a table out of a file, as `load_model(name).told()` tells it; frames and simulate() tell theirs
    title     the sentence on top; None says what was done last
    goal      {variable: (low, high)}, drawn in green; that of the frames by default
    until     the time at the right end; that at which the episode ends, or the table
    returns   Figure, 9 x 4.8 inches
    """
    film = Film(days, model, goal, until)
    stage = film_stage(title or film.event(), lead or film.lead(agent), figure)
    view = _view_of(film.model)
    draw_lanes(stage, film, WIDTH)
    height = (BOTTOM - TOP - GAP * (len(view.panels) - 1)) / len(view.panels)
    for row, (name, lines) in enumerate(view.panels.items()):
        top = TOP + row * (height + GAP)
        stage.text(MARGIN, top - 13, name, SMALL, INK, "bold")
        ax = stage.axes(LEFT, top, WIDTH, height)
        _draw_panel(ax, film, lines)
        draw_time(ax, film, 5, last=row == len(view.panels) - 1)
    _draw_path(stage, film, view.path)
    return stage.figure


# ---------------------------------------------------------------- heights


def _height(film, values):
    """Values as heights on a chart: their logarithms where the model's states span orders of magnitude."""
    return (
        np.log10(np.maximum(values, 1e-9))
        if film.model["logarithmic"]
        else np.asarray(values, float)
    )


def _set_height(axis, film, names, few=False, tight=False):
    """Limits and ticks for some variables and their goals; returns the limits.

    few     names two or three numbers only
    tight   on a logarithmic axis: from the power of ten below to the one above, so that a short path is large
    """
    heights = np.concatenate(
        [_height(film, film.values[name]) for name in names]
        + [_height(film, film.goal[name]) for name in names if name in film.goal]
    )
    low, high = np.nanmin(heights), np.nanmax(heights)
    if film.model["logarithmic"]:
        if tight:
            low, high = np.floor(low - 0.05), np.ceil(high + 0.05)
            ticks = np.arange(low, high + 1, 1 + (high - low) // 4).astype(int)
        else:
            low, high = min(0.0, low - 0.3), max(6.5, high + 0.3)
            ticks = np.arange(np.ceil((low - 1) / 2) * 2 + 1, high, 2).astype(int)
        axis.set_ticks(ticks, [_power(tick) for tick in ticks])
    else:
        ticks = ticks_around(0.0, max(high, 1e-9) * 1.02, 4)
        low, high = ticks[0], ticks[-1]
        set_ticks(axis, ticks[:: max(1, len(ticks) // 2)] if few else ticks)
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})
    return low, high


def _power(exponent):
    return {0: "1", 1: "10"}.get(exponent, f"10{str(exponent).translate(SUPERSCRIPTS)}")


# ---------------------------------------------------------------- the panels and the path


def _tint(ax, film):
    low, high = ax.get_ylim()
    for name, colour in zip(film.doses, DRUGS):
        spells = film.spells(film.share(name))
        for dose in {
            share for *_, share in spells
        }:  # one artist for all spells of a dose: it is quicker
            ax.broken_barh(
                [
                    (start, stop - start)
                    for start, stop, share in spells
                    if share == dose
                ],
                (low, high - low),
                fc=blend(colour, 0.20),
                lw=0,
                zorder=0,
                alpha=0.75 * dose,
            )


def _draw_panel(ax, film, lines):
    low, high = _set_height(ax.yaxis, film, [name for name, *_ in lines])
    ax.set_xlim(film.time[0], film.end)
    _tint(ax, film)
    goal = []
    if len(lines) == 1 and lines[0][0] in film.goal:
        bottom, top = np.clip(_height(film, film.goal[lines[0][0]]), low, high)
        ax.axhspan(bottom, top, **EDGE)
        goal = [((bottom + top) / 2, "goal", GOAL_EDGE)]
    draw_lines(
        ax,
        film,
        [
            (film.time, _height(film, film.values[name]), words, colour, dash, 2.0)
            for name, words, colour, dash in lines
        ],
        beside=goal,
    )


def _draw_path(stage, film, axes):
    """The phase portrait: light early, dark late, from a ring to a dot."""
    (across, x_words), (up, y_words) = axes
    ax = stage.axes(PATH, TOP, 900 - MARGIN - PATH, BOTTOM - TOP)
    stage.text(PATH - 38, 84, "the same days as a path", SMALL, INK, "bold")
    stage.label(PATH - 38, 103, "light early, dark late, from ○ to ●")
    stage.label(PATH - 38, 128, y_words)
    stage.label(876, 463, x_words, align="right")
    _set_height(ax.xaxis, film, [across], few=True, tight=True)
    _set_height(ax.yaxis, film, [up], tight=True)
    if across in film.goal and up in film.goal:
        (left, right), (bottom, top) = (
            _height(film, film.goal[name]) for name in (across, up)
        )
        ax.add_patch(Rectangle((left, bottom), right - left, top - bottom, **EDGE))
        ax.annotate(
            "goal",
            ((left + right) / 2, top),
            (0, 4),
            textcoords="offset points",
            size=SMALL,
            color=GOAL_EDGE,
            weight="bold",
            ha="center",
        )
    points = np.column_stack(
        [_height(film, film.values[name]) for name in (across, up)]
    )
    shades = LinearSegmentedColormap.from_list("time", [EARLY, BLUE, INK])(
        np.linspace(0, 1, max(1, len(points) - 1))
    )
    ax.add_collection(
        LineCollection(
            np.stack([points[:-1], points[1:]], axis=1),
            colors=shades,
            linewidths=2.0,
            capstyle="round",
            zorder=3,
        )
    )
    ax.plot(*points[0], "o", ms=14, mfc="none", mec=PAPER, mew=4.5, zorder=4)
    ax.plot(
        *points[0], "o", ms=14, mfc="none", mec=EARLY_EDGE, mew=2, zorder=5
    )  # around the dot where both are one
    ax.plot(*points[-1], "o", ms=8, color=INK, mec=PAPER, mew=1, zorder=6)
