"""Worlds over time: panels of their variables below each other, under lanes of interventions.

Everything comes from frames, which each world documents in its `frame`, or from a table as `simulate()` returns it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import cycle
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, NullLocator

from pushlab.ground.arguments import demand
from pushlab.plots import style
from pushlab.plots.stage import Stage, latest
from pushlab.plots.style import (
    BLUE,
    BOUND_DASH,
    DASHES,
    DISMISSED,
    DRUG_1,
    DRUG_2,
    GOAL,
    GOAL_EDGE,
    GREY,
    INK,
    MARGIN,
    MUTED,
    ORANGE,
    PAPER,
    PURPLE,
    SERIES,
    SMALL,
    SOFT,
    TEXT,
    blend,
    fit,
    house_style,
    label_line_ends,
    name_axes,
    plain,
    round_limits,
    short_number,
    tick_name,
)

LEFT, TOP, BOTTOM = 62, 78, 430  # of lanes and panels, in hundredths of an inch
GAP = 32  # between two panels, for the name of the lower one
PITCH, LANE = 18, 12  # from lane to lane, and the height of a lane
LANE_COLOURS = (DRUG_1, DRUG_2, PURPLE, GREY, ORANGE)
DOTS = (0, (1.2, 1.6))
GOAL_LOOK = {"fc": GOAL, "ec": GOAL_EDGE, "lw": 1.2, "ls": BOUND_DASH, "zorder": 1}
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


# ---------------------------------------------------------------- an episode as arrays


@dataclass
class Course:
    """An episode of a dynamical model.

    Attributes:
        model: The frames' "model": name, title, time_unit, logarithmic, variables {name: words} and interventions
            {name: {words, own, reach, held}}.
        env: Name of the environment, "" for a table.
        goal: {variable: (low, high)}.
        time: Shape (n,).
        values: {variable or indicator: (n,)}.
        idle: {variable: (n,)} without any intervention; empty if the frames don't have it.
        doses: {intervention: (n - 1,)}, from each time to the next.
        end: Time at the right end.
    """

    model: Mapping
    env: str
    goal: Mapping
    time: np.ndarray
    values: dict[str, np.ndarray]
    idle: dict[str, np.ndarray]
    doses: dict[str, np.ndarray]
    end: float

    @property
    def lanes(self) -> list[tuple]:
        """Interventions as (name, words, moves, colour); those that are neither held nor moved are left out.

        Moves are shares of the reach, from -1 to 1, shape (n - 1,).
        """
        colours = cycle(LANE_COLOURS)
        lanes = []
        for name, item in self.model["interventions"].items():
            moves = (self.doses[name] - item["own"]) / item["reach"]
            if item["held"] or moves.any():
                lanes.append((name, item["words"], moves, next(colours)))
        return lanes

    def across(self, width: float) -> np.ndarray:
        """Return x of each time on a stage, shape (n,)."""
        begin = self.time[0]
        return LEFT + width * (self.time - begin) / (self.end - begin)


def _course_of(days, model=None, goal=None):
    """Return an episode as arrays.

    Args:
        days: Its frames, or a table as `simulate()` returns it.
        model: For a table from a file: `load_model(name).told()`.
    """
    if hasattr(days, "attrs"):
        model = model or days.attrs.get("model")
        demand(model, "a table from a file needs model=load_model(name).told()")
        table = days.select_dtypes("number")
        values = {name: table[name].to_numpy(float) for name in table}
        doses = {name: values[name][:-1] for name in model["interventions"]}
        time = values["time"]
        return Course(model, "", goal or {}, time, values, {}, doses, time[-1])
    last = latest(days)
    doses = {name: np.empty(0) for name in last["model"]["interventions"]}
    return Course(
        model=last["model"],
        env=last["env"],
        goal=goal or last["goal"],
        time=np.array([frame["time"] for frame in days], float),
        values=_columns(days, "state") | _columns(days, "indicators"),
        idle=_columns(days, "idle"),
        doses=doses | _columns(days[1:], "doses"),
        end=float(last["end"]),
    )


def _columns(frames, key):
    table = pd.DataFrame([frame.get(key) or {} for frame in frames], dtype=float)
    return {name: table[name].to_numpy() for name in table}


# ---------------------------------------------------------------- panels


@dataclass
class Panel:
    """One chart of the small multiples.

    Attributes:
        name: The name and unit of what is drawn.
        lines: (times, values, words at the end, colour, dash) of each line.
        limits: Lowest and highest value to be seen.
        share: Height in comparison with the other panels.
        is_log: Whether the axis is logarithmic.
        goal: Lowest and highest value to be reached.
    """

    name: str
    lines: list[tuple]
    limits: tuple[float, float]
    share: int = 1
    is_log: bool = False
    goal: tuple[float, float] | None = None


def _draw_panels(stage, panels, span, unit, top, width):
    """Draw charts below each other, with the time named under the last; return their axes."""
    shares = sum(panel.share for panel in panels)
    height = (BOTTOM - top - GAP * (len(panels) - 1)) / max(shares, 1)
    drawn = []
    for panel in panels:
        stage.text(MARGIN, top - 14, panel.name, SMALL, weight="bold")
        ax = stage.axes(LEFT, top, width, height * panel.share, xlim=span, fc="none")
        name_axes(ax)
        ends = []
        for times, values, words, colour, dash in panel.lines:
            marker = "o" if len(values) == 1 else ""
            look = {"color": colour, "ls": dash, "lw": 2, "marker": marker, "ms": 4}
            ax.plot(times, values, clip_on=False, **look)
            if len(values):
                ends.append((span[1], values[-1], words, colour))
        if panel.goal:
            ax.axhspan(*panel.goal, **GOAL_LOOK)
            ends.append((span[1], np.sqrt(np.prod(panel.goal)), "goal", GOAL_EDGE))
        count = int(np.clip(height * panel.share / 25, 2, 4))
        _set_limits(ax.yaxis, *panel.limits, panel.is_log, count)
        ax.set_xticks([])
        label_line_ends(ax, ends)
        drawn.append(ax)
        top += height * panel.share + GAP
    if drawn:
        _name_times(drawn[-1], unit)
    return drawn


def _set_limits(axis, low, high, is_log=False, count=4):
    """Set the limits of an axis and about `count` ticks; powers of ten on a logarithmic one."""
    if not is_log:
        round_limits(axis, low, high, count)
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    first = np.ceil(np.log10(low))
    last = np.floor(np.log10(high))
    powers = np.arange(first, last + 1, 1 + (last - first) // 4) + 0
    names = ["10" + f"{power:.0f}".translate(SUPERSCRIPTS) for power in powers]
    axis.set_ticks(10**powers, names)
    axis.set_minor_locator(NullLocator())
    axis.set_view_interval(low, high, ignore=True)


def _name_times(ax, unit):
    """Set ticks of time; the last has the unit, unless it is the year."""
    low, high = ax.get_xlim()
    locator = MaxNLocator(6, steps=(1, 2, 5, 10), integer=high - low >= 5)
    ticks = [tick for tick in locator.tick_values(low, high) if low <= tick <= high]
    names = [f"{tick:g}" if unit == "year" else tick_name(tick) for tick in ticks]
    if unit in ("day", "step"):
        names[-1] += f" {unit}s"
    ax.set_xticks(ticks, names)


def _draw_lanes(stage, course, width, as_bars):
    """Draw a lane an intervention, darker for a higher dose; return where the last one ends.

    Bars above or below the middle of a lane show doses that can be lowered too.
    """
    x = course.across(width)
    top = TOP
    for name, words, moves, colour in course.lanes:
        middle = top + LANE / 2
        stage.box(LEFT, top, width, LANE, 0, SOFT, z=1)
        if as_bars:
            words += "".join(f" {dose:.3g}" for dose in course.doses[name][-1:])
            bars = LANE / 2 * moves / max(0.25, np.abs(moves).max(initial=0))
            stage.bars(x[:-1], x[1:], middle - bars, middle, colour)
            stage.line([(LEFT, middle), (LEFT + width, middle)], MUTED, 0.8)
        else:
            opacity = np.where(moves != 0, 0.25 + 0.75 * np.abs(moves), 0)
            stage.bars(x[:-1], x[1:], top, top + LANE, colour, opacity)
        words = fit(words, 860 - LEFT - width, SMALL)
        stage.text(LEFT + width + 10, middle, words, SMALL)
        top += PITCH
    return top


# ---------------------------------------------------------------- any world


@house_style()
def numbers(frames: Sequence[Mapping[str, Any]], **more: Any) -> Figure:
    """Draw a panel for each number in the frames of any world, the first five, over the steps of an episode.

    Args:
        frames: Plain dicts. Values that are no numbers are left out.

    Returns:
        Figure of 9 x 4.8 inches.
    """
    panels = []
    for name, last in latest(frames).items():
        if isinstance(last, Real) and len(panels) < 5:
            values = np.array([frame.get(name, np.nan) for frame in frames], float)
            known = values[np.isfinite(values)]
            limits = min(known, default=0.0), max(known, default=1.0)
            words = short_number(float(last))
            line = (range(len(values)), values, words, BLUE, "-")
            panels.append(Panel(plain(name), [line], limits))
    steps = len(frames) - 1
    stage = Stage(900, 480)
    stage.heading(f"After {steps} steps", plain(frames[-1].get("env", "")))
    _draw_panels(stage, panels, (0, max(1, steps)), "step", 92, 720)
    return stage.figure


# ---------------------------------------------------------------- dynamical models


# {model: {"panels": arguments of `_panel`, "path": {variable: name of its axis}}}.
VIEWS = json.loads(files("pushlab.plots").joinpath("views.json").read_text())


def _panels(course):
    """Return the panels of a model; one without a view shows its first three variables."""
    shown = zip(list(course.model["variables"].items())[:3], SERIES)
    views = [{"name": words, "lines": {n: (n, hue)}} for (n, words), hue in shown]
    if course.model["name"] in VIEWS:
        views = VIEWS[course.model["name"]]["panels"]
    return [_panel(course, **view) for view in views]


def _panel(course, name, lines, unit=1, share=1, idle="", is_rate=False):
    """Return the panel of some variables of a model.

    Args:
        lines: {variable: (words, colour)}, the colour by its name in `style` or as hexadecimal digits.
        unit: Divides the values.
        idle: The variable that is also drawn as it had been without interventions.
        is_rate: Whether the variables count events, so that their growth in a unit of time is drawn.
    """
    curves = [
        (course.values[variable], words, getattr(style, colour, colour), dash)
        for (variable, (words, colour)), dash in zip(lines.items(), DASHES)
    ]
    if idle in course.idle:
        curves.insert(0, (course.idle[idle], "nothing done", GREY, DOTS))
    drawn = []
    for values, words, *look in curves:
        times = course.time
        if is_rate:
            values = np.diff(values) / np.diff(times)
            times = times[1:]
        values = values / unit
        words += "".join(f" {short_number(last)}" for last in values[-1:])
        drawn.append((times, values, words, *look))
    seen = np.concatenate([line[1] for line in drawn])
    limits = (0.0, max(seen, default=0.0) or 1.0)
    is_log = course.model["logarithmic"]
    if is_log:
        limits = min(1.0, seen.min() / 2), max(3e6, 2 * seen.max())
    goal = course.goal.get(next(iter(lines))) if len(lines) == 1 else None
    return Panel(name, drawn, limits, share, is_log, goal)


def _draw_course(course, panels, width, title, lead, agent, as_bars=False):
    """Draw a heading, lanes and panels of an episode; return the stage and the axes of the panels."""
    now = f"{course.model['time_unit']} {course.time[-1]:g} of {course.end:g}"
    stage = Stage(900, 480)
    stage.heading(
        title or f"{course.model['title']}: {now}",
        lead or "   ·   ".join(filter(None, (course.env, agent))),
    )
    top = _draw_lanes(stage, course, width, as_bars) + GAP
    span = course.time[0], course.end
    unit = course.model["time_unit"]
    return stage, _draw_panels(stage, panels, span, unit, top, width)


@house_style()
def patient(
    days: Any,
    model: Mapping | None = None,
    goal: Mapping | None = None,
    title: str = "",
    lead: str = "",
    agent: str = "",
) -> Figure:
    """Draw the state of a model over time, interventions as lanes and tints, the goal in green, and the phase portrait.

    Args:
        days: The frames of an episode up to now, or a table as `simulate()` returns it.
        model: For a table from a file: `load_model(name).told()`.
        goal: {variable: (low, high)}. The default is that of the frames.

    Returns:
        Figure of 9 x 4.8 inches.
    """
    course = _course_of(days, model, goal)
    stage, panels = _draw_course(course, _panels(course), 400, title, lead, agent)
    x = course.across(400)
    for ax in panels:
        ends = 480 * (1 - ax.get_position().intervaly)
        for _, _, moves, colour in course.lanes:
            stage.bars(x[:-1], x[1:], *ends, colour, 0.15 * np.abs(moves))
    _draw_path(stage, course)
    return stage.figure


def _draw_path(stage, course):
    """Draw the phase portrait: light early, dark late, from a ring to a dot."""
    first_two = list(course.model["variables"])[:2]
    known = VIEWS.get(course.model["name"], {"path": {}})
    axes = known["path"] or {name: name for name in first_two}
    across, up = list(axes)[0], list(axes)[-1]
    points = np.column_stack([course.values[across], course.values[up]])
    goal = [course.goal.get(name) for name in (across, up)]
    stage.text(606, 84, "the same days as a path", SMALL, weight="bold")
    stage.label(606, 103, "light early, dark late, from ○ to ●")
    stage.label(606, 128, axes[up])
    ax = stage.axes(644, 141, 232, BOTTOM - 158)
    name_axes(ax)
    ax.set_xlabel(axes[across], loc="right", size=SMALL)
    if all(goal):
        (left, right), (bottom, top) = goal
        ax.add_patch(Rectangle((left, bottom), right - left, top - bottom, **GOAL_LOOK))
        look = {"size": SMALL, "color": GOAL_EDGE, "weight": "bold", "va": "top"}
        ax.text(left, bottom / 1.1, "goal", **look)
    shades = LinearSegmentedColormap.from_list("", [blend(BLUE, 0.3), BLUE, INK])
    pieces = np.stack([points[:-1], points[1:]], axis=1)
    colours = shades(np.linspace(0, 1, len(pieces)))
    ax.add_collection(LineCollection(pieces, colors=colours, linewidths=2))
    ring = {"ms": 14, "mfc": "none", "mec": blend(BLUE, 0.7), "mew": 2}
    ax.plot(*points[0], "o", clip_on=False, **ring)
    ax.plot(*points[-1], "o", ms=8, color=INK, mec=PAPER, mew=1, clip_on=False)
    for axis, values, ends in zip((ax.xaxis, ax.yaxis), points.T, goal):
        low, high = 0.0, values.max()
        if course.model["logarithmic"]:
            powers = np.log10(np.append(values, ends or values))
            low = 10 ** np.floor(powers.min() - 0.05)
            high = 10 ** np.ceil(powers.max() + 0.05)
        _set_limits(axis, low, high, course.model["logarithmic"])


@house_style()
def epidemic(
    days: Any,
    title: str = "",
    lead: str = "",
    agent: str = "",
) -> Figure:
    """Draw the groups of an epidemic over time, interventions as lanes, and dotted its course without any.

    Args:
        days: The frames of an episode up to now, or a table as `simulate()` returns it, which has no dotted lines.

    Returns:
        Figure of 9 x 4.8 inches.
    """
    course = _course_of(days)
    return _draw_course(course, _panels(course), 640, title, lead, agent)[0].figure


# {indicator: (factor to the unit of the chart, that unit, top of the scale, colour)}.
CURVES = {
    "population": (1e-9, "billion people", 16, BLUE),
    "resources": (100, "% of resources", 100, TEXT),
    "food": (1, "kg food a head", 1000, ORANGE),
    "output": (1, "dollars of industry", 500, PURPLE),
    "pollution": (1, "× pollution of 1970", 32, DISMISSED),
}


@house_style()
def limits_to_growth(
    days: Any,
    title: str = "",
    lead: str = "bars: above their line more than the model's own, below it less",
    agent: str = "",
) -> Figure:
    """Draw people, resources, food, industrial output and pollution, each on its own scale from zero.

    Lanes show the interventions: above the line more than the model's own, below it less.

    Args:
        days: The frames of an episode of World3 up to now, or a table as `simulate()` returns it.

    Returns:
        Figure of 9 x 4.8 inches.
    """
    course = _course_of(days)
    lines = []
    scales = []
    for (name, look), dash in zip(CURVES.items(), (*DASHES, DOTS)):
        factor, unit, highest, colour = look
        values = factor * course.values[name]
        while values.max() > highest:  # the book's scale, doubled until the curve fits
            highest *= 2
        words = f"{short_number(values[-1])} {unit}"
        lines.append((course.time, values / highest, words, colour, dash))
        scales.append(f"{highest:,.0f} {unit}")
    panels = [Panel("", lines, (0, 1))]
    stage, (ax,) = _draw_course(course, panels, 640, title, lead, agent, as_bars=True)
    ax.set_yticks([0.25, 0.5, 0.75, 1], [""] * 4)
    if course.time[0] < course.time[-1] < course.end:
        ax.axvline(course.time[-1], color=INK, lw=1, zorder=1)
    stage.label(MARGIN, 466, f"from zero to the uppermost line: {', '.join(scales)}")
    return stage.figure
