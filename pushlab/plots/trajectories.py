"""Panels of a world's variables over time, stacked below lanes that show the interventions.

The data are frames, which each world documents in its `frame` method, or a table that `simulate()` returned.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, NullLocator

from pushlab.plots import style
from pushlab.plots.stage import Stage, last_frame
from pushlab.plots.style import (
    BLUE,
    BOUND_DASH,
    DASHES,
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
    SMALL_SIZE,
    SOFT,
    blend,
    format_number,
    format_tick,
    house_style,
    label_axes,
    label_line_ends,
    one_line,
    round_limits,
    truncate_to_width,
)
from pushlab.utils.arguments import require

# Lanes and panels, in hundredths of an inch.
LEFT = 62
TOP = 78
BOTTOM = 430
GAP = 32  # between two panels, for the name of the lower one
LANE_PITCH = 18
LANE_HEIGHT = 12

LANE_COLOURS = (DRUG_1, DRUG_2, PURPLE, GREY, ORANGE)
DOTS = (0, (1.2, 1.6))
GOAL_STYLE = {
    "fc": GOAL,
    "ec": GOAL_EDGE,
    "lw": 1.2,
    "ls": BOUND_DASH,
    "zorder": 1,
}
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


# ---------------------------------------------------------------- an episode as arrays


class Lane(NamedTuple):
    """An intervention over time.

    Attributes:
        name: Key of the intervention in the model.
        label: Text beside the lane.
        levels: Doses relative to the default dose and its range, from -1 to 1, shape (n - 1,).
        colour: Colour of the lane.
    """

    name: str
    label: str
    levels: np.ndarray
    colour: str


@dataclass
class Trajectory:
    """An episode of a dynamical model as arrays.

    Attributes:
        model: The frames' "model": name, title, time_unit, logarithmic, variables {name: words} and interventions
            {name: {words, own, reach, held}}.
        env: Name of the environment, "" for a table.
        goal: {variable: (low, high)}.
        time: Times of the decisions and of the end, shape (n,).
        values: {"time", variable or indicator: (m,)}, between decisions too if the frames have a "path".
        baseline: {variable: (n,)} without any intervention; empty if the frames don't have it.
        doses: {intervention: (n - 1,)}, from each time to the next.
        end: Time at the right end.
    """

    model: Mapping
    env: str
    goal: Mapping
    time: np.ndarray
    values: dict[str, np.ndarray]
    baseline: dict[str, np.ndarray]
    doses: dict[str, np.ndarray]
    end: float

    @property
    def lanes(self) -> list[Lane]:
        """Lanes of the interventions that the agent sets or that leave their default dose."""
        lanes = []
        interventions = self.model["interventions"].items()
        for (name, item), colour in zip(interventions, cycle(LANE_COLOURS)):
            levels = (self.doses[name] - item["default_dose"]) / item[
                "max_dose_deviation"
            ]
            if item["is_controlled"] or levels.any():
                lanes.append(Lane(name, item["label"], levels, colour))
        return lanes

    def x_positions(self, width: float) -> np.ndarray:
        """Return the x position of each time on panels of this width, shape (n,)."""
        start = self.time[0]
        return LEFT + width * (self.time - start) / (self.end - start)


def _trajectory(episode, model=None, goal=None):
    """Return an episode as arrays.

    Args:
        episode: Its frames, or a table that `simulate()` returned.
        model: Needed for a table from a file: `load_model(name).plot_metadata()`.
    """
    if hasattr(episode, "attrs"):
        return _table_trajectory(episode, model, goal)
    last = last_frame(episode)
    doses = {name: np.empty(0) for name in last["model"]["interventions"]}
    rows = []
    for frame in episode:
        indicators = frame.get("indicators", {})
        rows += frame.get("path", [])
        rows.append({"time": frame["time"], **frame["state"], **indicators})
    return Trajectory(
        model=last["model"],
        env=last["env"],
        goal=goal or last["goal"],
        time=np.array([frame["time"] for frame in episode], float),
        values=_columns(rows),
        baseline=_columns([frame.get("no_action_state", {}) for frame in episode]),
        doses=doses | _columns([frame["doses"] for frame in episode[1:]]),
        end=float(last["end"]),
    )


def _table_trajectory(table, model, goal):
    model = model or table.attrs.get("model")
    require(model, "a table from a file needs model=load_model(name).plot_metadata()")
    numeric = table.select_dtypes("number")
    values = {name: numeric[name].to_numpy(float) for name in numeric}
    return Trajectory(
        model=model,
        env="",
        goal=goal or {},
        time=values["time"],
        values=values,
        baseline={},
        doses={name: values[name][:-1] for name in model["interventions"]},
        end=values["time"][-1],
    )


def _columns(rows):
    names = rows[-1] if rows else ()
    return {name: np.array([row[name] for row in rows], float) for name in names}


# ---------------------------------------------------------------- panels


@dataclass
class Panel:
    """One chart in a stack.

    Attributes:
        name: Quantity and unit, written above the chart.
        lines: (times, values, label, colour, dash) of each line.
        limits: Lowest and highest visible value.
        share: Height relative to the other panels.
        is_log: Whether the axis is logarithmic.
        goal: Lowest and highest value of the goal.
    """

    name: str
    lines: list[tuple]
    limits: tuple[float, float]
    share: int = 1
    is_log: bool = False
    goal: tuple[float, float] | None = None


def _draw_panels(stage, panels, span, unit, top, width):
    """Draw panels below each other, label the time below the last, and return their axes."""
    shares = sum(panel.share for panel in panels)
    gaps = GAP * (len(panels) - 1)
    unit_height = (BOTTOM - top - gaps) / max(shares, 1)
    axes = []
    for panel in panels:
        height = unit_height * panel.share
        stage.text(MARGIN, top - 14, panel.name, SMALL_SIZE, weight="bold")
        ax = stage.axes(LEFT, top, width, height, xlim=span, fc="none")
        _draw_panel(ax, panel, height)
        axes.append(ax)
        top += height + GAP
    if axes:
        _label_times(axes[-1], unit)
    return axes


def _draw_panel(ax, panel, height):
    """Draw the lines, goal, ticks and labels of a panel of this height, in hundredths of an inch."""
    label_axes(ax)
    right = ax.get_xlim()[1]
    ends = []
    for times, values, label, colour, dash in panel.lines:
        ax.plot(
            times,
            values,
            clip_on=False,
            color=colour,
            ls=dash,
            lw=2,
            marker="o" if len(values) == 1 else "",
            ms=4,
        )
        if len(values):
            ends.append((right, values[-1], label, colour))
    if panel.goal:
        ax.axhspan(*panel.goal, **GOAL_STYLE)
        middle = np.sqrt(np.prod(panel.goal))
        ends.append((right, middle, "goal", GOAL_EDGE))
    count = int(np.clip(height / 25, 2, 4))
    _set_limits(ax.yaxis, *panel.limits, panel.is_log, count)
    ax.set_xticks([])
    label_line_ends(ax, ends)


def _set_limits(axis, low, high, is_log=False, count=4):
    """Set the limits of an axis and about `count` ticks, which are powers of ten on a logarithmic axis."""
    if not is_log:
        round_limits(axis, low, high, count)
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    first = np.ceil(np.log10(low))
    last = np.floor(np.log10(high))
    step = 1 + (last - first) // 4
    powers = np.arange(first, last + 1, step) + 0
    labels = ["10" + f"{power:.0f}".translate(SUPERSCRIPTS) for power in powers]
    axis.set_ticks(10**powers, labels)
    axis.set_minor_locator(NullLocator())
    axis.set_view_interval(low, high, ignore=True)


def _format_time(time, unit):
    return f"{time:g}" if unit == "year" else format_tick(time)


def _label_times(ax, unit):
    """Set the time ticks; the last names the unit, except for years."""
    low, high = ax.get_xlim()
    locator = MaxNLocator(6, steps=(1, 2, 5, 10), integer=high - low >= 5)
    ticks = [tick for tick in locator.tick_values(low, high) if low <= tick <= high]
    labels = [_format_time(tick, unit) for tick in ticks]
    if unit == "time":
        labels[-1] = f"time {labels[-1]}"
    elif unit != "year":
        labels[-1] += f" {unit}s"
    ax.set_xticks(ticks, labels)


def _draw_lanes(stage, trajectory, width, as_bars):
    """Draw a lane for each intervention, darker for a higher dose; return the y below the last lane.

    If `as_bars`, bars above or below the middle of a lane show doses above or below the default.
    """
    x = trajectory.x_positions(width)
    right = LEFT + width
    top = TOP
    for name, label, levels, colour in trajectory.lanes:
        middle = top + LANE_HEIGHT / 2
        stage.box(LEFT, top, width, LANE_HEIGHT, 0, SOFT, z=1)
        if as_bars:
            doses = trajectory.doses[name]
            label += "".join(f" {dose:.3g}" for dose in doses[-1:])
            largest = max(0.25, np.abs(levels).max(initial=0))
            bars = LANE_HEIGHT / 2 * levels / largest
            stage.bars(x[:-1], x[1:], middle - bars, middle, colour)
            stage.line([(LEFT, middle), (right, middle)], MUTED, 0.8)
        else:
            opacity = np.where(levels != 0, 0.25 + 0.75 * np.abs(levels), 0)
            bottom = top + LANE_HEIGHT
            stage.bars(x[:-1], x[1:], top, bottom, colour, opacity)
        label = truncate_to_width(label, 860 - right, SMALL_SIZE)
        stage.text(right + 10, middle, label, SMALL_SIZE)
        top += LANE_PITCH
    return top


# ---------------------------------------------------------------- any world


@house_style()
def frame_panels(frames: Sequence[Mapping[str, Any]], **more: Any) -> Figure:
    """Draw the first five numbers in the frames of any world, each in a panel over the steps of an episode.

    Args:
        frames: Plain dicts. Values other than numbers are ignored.

    Returns:
        Figure of 9 x 4.8 inches.
    """
    panels = []
    for name, last in last_frame(frames).items():
        if isinstance(last, int | float | np.number) and len(panels) < 5:
            values = np.array([frame.get(name, np.nan) for frame in frames], float)
            finite = values[np.isfinite(values)]
            limits = min(finite, default=0.0), max(finite, default=1.0)
            steps = range(len(values))
            line = (steps, values, format_number(float(last)), BLUE, "-")
            panels.append(Panel(one_line(name), [line], limits))
    last_step = len(frames) - 1
    stage = Stage(900, 480)
    stage.heading(f"After {last_step} steps", one_line(frames[-1].get("env", "")))
    span = (0, max(1, last_step))
    _draw_panels(stage, panels, span, "step", 92, 720)
    return stage.figure


# ---------------------------------------------------------------- dynamical models


# {model: {"panels": arguments of `_panel`, "phase_axes": {variable: name of its axis}}}. World3 has "curves" instead,
# {indicator: (factor to the unit of the chart, that unit, top of the scale, colour)}.
VIEWS = json.loads(files("pushlab.plots").joinpath("views.json").read_text("utf-8"))


def _panels(trajectory):
    """Return the panels of a model, by default one for each of its first three variables."""
    model = trajectory.model
    panels = VIEWS.get(model["name"], {}).get("panels")
    if not panels:
        first_three = list(model["variables"].items())[:3]
        panels = [
            {"name": label, "lines": {name: (name, colour)}}
            for (name, label), colour in zip(first_three, SERIES)
        ]
    return [_panel(trajectory, **panel) for panel in panels]


def _panel(trajectory, name, lines, unit=1, share=1, baseline="", is_rate=False):
    """Return the panel of some variables of a model.

    Args:
        lines: {variable: (label, colour)}. A colour is a name in `style` or hexadecimal digits.
        unit: Divides the values.
        baseline: Variable to draw a second time, dotted, without interventions.
        is_rate: Whether to draw the increase per unit of time, for variables that count events.
    """
    curves = []
    for (variable, (label, colour)), dash in zip(lines.items(), DASHES):
        values = trajectory.values[variable]
        colour = getattr(style, colour, colour)
        curves.append((values, label, colour, dash))
        if variable == baseline and trajectory.baseline:
            values = trajectory.baseline[variable]
            curves.append((values, "nothing done", colour, DOTS))
    times = trajectory.values["time"]
    drawn = []
    for values, label, colour, dash in curves:
        x = times
        if is_rate:
            values = np.diff(values) / np.diff(times)
            x = times[1:]
        values = values / unit
        label += "".join(f" {format_number(last)}" for last in values[-1:])
        drawn.append((x, values, label, colour, dash))
    all_values = np.concatenate([line[1] for line in drawn])
    low = 0.0
    high = max(all_values, default=0.0) or 1.0
    is_log = trajectory.model["logarithmic"]
    if is_log:
        low = min(1.0, all_values.min() / 2)
        high = max(3e6, 2 * all_values.max())
    goal = None
    if len(lines) == 1:
        goal = trajectory.goal.get(next(iter(lines)))
    return Panel(name, drawn, (low, high), share, is_log, goal)


def _draw_trajectory(trajectory, panels, width, title, subtitle, *notes, as_bars=False):
    """Draw a heading, lanes and panels; return the stage and the axes of the panels."""
    model = trajectory.model
    unit = model["time_unit"]
    times = (trajectory.time[-1], trajectory.end)
    now, end = [_format_time(time, unit) for time in times]
    names = filter(None, (trajectory.env, *notes))
    stage = Stage(900, 480)
    stage.heading(
        title or f"{model['title']}: {unit} {now} of {end}",
        subtitle or "   ·   ".join(names),
    )
    top = _draw_lanes(stage, trajectory, width, as_bars) + GAP
    span = trajectory.time[0], trajectory.end
    return stage, _draw_panels(stage, panels, span, unit, top, width)


@house_style()
def patient(
    episode: Any,
    model: Mapping = {},
    goal: Mapping = {},
    title: str = "",
    subtitle: str = "",
    agent: str = "",
) -> Figure:
    """Draw the state of a model over time, with interventions as lanes and grey tints, and its phase portrait.

    The goal is green.

    Args:
        episode: The frames of an episode so far, or a table that `simulate()` returned.
        model: Needed for a table from a file: `load_model(name).plot_metadata()`.
        goal: {variable: (low, high)}. The default is the goal of the frames.

    Returns:
        Figure of 9 x 4.8 inches.
    """
    trajectory = _trajectory(episode, model, goal)
    panels = _panels(trajectory)
    stage, panel_axes = _draw_trajectory(
        trajectory, panels, 400, title, subtitle, agent
    )
    x = trajectory.x_positions(400)
    for ax in panel_axes:
        ends = 480 * (1 - ax.get_position().intervaly)
        for lane in trajectory.lanes:
            # Two tints in the colours of the lanes would mix to the green of the goal.
            stage.bars(x[:-1], x[1:], *ends, INK, 0.06 * np.abs(lane.levels))
    _draw_phase_portrait(stage, trajectory)
    return stage.figure


def _draw_phase_portrait(stage, trajectory):
    """Draw two variables against each other, light early and dark late, from a ring to a dot."""
    model = trajectory.model
    first_two = list(model["variables"])[:2]
    axis_names = VIEWS.get(model["name"], {}).get("phase_axes")
    axis_names = axis_names or {name: name for name in first_two}
    x_name = next(iter(axis_names))
    y_name = next(reversed(axis_names))
    points = np.column_stack([trajectory.values[x_name], trajectory.values[y_name]])
    goals = [trajectory.goal.get(name) for name in (x_name, y_name)]
    stage.text(606, 84, "the same run as a path", SMALL_SIZE, weight="bold")
    stage.label(606, 103, "light early, dark late, from ○ to ●")
    stage.label(606, 128, axis_names[y_name])
    ax = stage.axes(644, 141, 232, BOTTOM - 158)
    label_axes(ax)
    ax.set_xlabel(axis_names[x_name], loc="right", size=SMALL_SIZE)
    if all(goals):
        _draw_goal_box(ax, *goals)
    _draw_shaded_path(ax, points)
    is_log = model["logarithmic"]
    for axis, values, goal in zip((ax.xaxis, ax.yaxis), points.T, goals):
        low = 0.0
        high = values.max()
        if is_log:
            powers = np.log10(np.append(values, goal or values))
            low = 10 ** np.floor(powers.min() - 0.05)
            high = 10 ** np.ceil(powers.max() + 0.05)
        _set_limits(axis, low, high, is_log)


def _draw_goal_box(ax, x_goal, y_goal):
    left, right = x_goal
    bottom, top = y_goal
    width = right - left
    height = top - bottom
    ax.add_patch(Rectangle((left, bottom), width, height, **GOAL_STYLE))
    ax.text(
        left,
        bottom / 1.1,
        "goal",
        size=SMALL_SIZE,
        color=GOAL_EDGE,
        weight="bold",
        va="top",
    )


def _draw_shaded_path(ax, points):
    """Draw a path from light to dark, with a ring at its start and a dot at its end."""
    shades = LinearSegmentedColormap.from_list("", [blend(BLUE, 0.3), BLUE, INK])
    segments = np.stack([points[:-1], points[1:]], axis=1)
    colours = shades(np.linspace(0, 1, len(segments)))
    ax.add_collection(LineCollection(segments, colors=colours, linewidths=2))
    ax.plot(
        *points[0],
        "o",
        clip_on=False,
        ms=14,
        mfc="none",
        mec=blend(BLUE, 0.7),
        mew=2,
    )
    ax.plot(
        *points[-1],
        "o",
        ms=8,
        color=INK,
        mec=PAPER,
        mew=1,
        clip_on=False,
    )


@house_style()
def epidemic(
    episode: Any,
    title: str = "",
    subtitle: str = "",
    agent: str = "",
) -> Figure:
    """Draw the groups of an epidemic over time, with interventions as lanes.

    Dotted lines show the epidemic without interventions.

    Args:
        episode: The frames of an episode so far, or a table that `simulate()` returned, which has no dotted lines.

    Returns:
        Figure of 9 x 4.8 inches.
    """
    trajectory = _trajectory(episode)
    panels = _panels(trajectory)
    stage, _ = _draw_trajectory(trajectory, panels, 640, title, subtitle, agent)
    return stage.figure


@house_style()
def limits_to_growth(
    episode: Any,
    title: str = "",
    subtitle: str = "",
    agent: str = "",
) -> Figure:
    """Draw people, resources, food, industrial output and pollution, each on its own scale from zero.

    Bars in lanes show interventions above or below the model's own value.

    Args:
        episode: The frames of an episode of World3 so far, or a table that `simulate()` returned.

    Returns:
        Figure of 9 x 4.8 inches.
    """
    trajectory = _trajectory(episode)
    times = trajectory.time
    lines = []
    scales = []
    curves = VIEWS["world3"]["curves"].items()
    for (name, scale), dash in zip(curves, (*DASHES, DOTS)):
        factor, unit, highest, colour = scale
        values = factor * trajectory.values[name]
        while values.max() > highest:  # double the book's scale until the curve fits
            highest *= 2
        label = f"{format_number(values[-1])} {unit}"
        colour = getattr(style, colour)
        lines.append((times, values / highest, label, colour, dash))
        scales.append(f"{highest:,.0f} {unit}")
    panels = [Panel("", lines, (0, 1))]
    bars = "bars: above their line more than the model's own, below it less"
    stage, (ax,) = _draw_trajectory(
        trajectory, panels, 640, title, subtitle, agent, bars, as_bars=True
    )
    ax.set_yticks([0.25, 0.5, 0.75, 1], [""] * 4)
    if times[0] < times[-1] < trajectory.end:
        ax.axvline(times[-1], color=INK, lw=1, zorder=1)
    stage.label(MARGIN, 466, f"from zero to the uppermost line: {', '.join(scales)}")
    return stage.figure
