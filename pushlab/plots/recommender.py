"""Plots of a recommender: the items, the user's preference and its drift."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke

from pushlab.metrics.rec import angle_from_start
from pushlab.plots.stage import Stage, last_frame
from pushlab.plots.style import (
    BLUE,
    GREY,
    INK,
    LINE,
    LIT,
    MARGIN,
    MUTED,
    ORANGE,
    SMALL_SIZE,
    SURFACE,
    TEXT,
    TEXT_SIZE,
    blend,
    darken,
    format_number,
    house_style,
    one_line,
    series_styles,
    sheet,
    text_width,
    truncate_to_width,
)

UNIT = 126  # hundredths of an inch per preference of length 1
STEPS = 100  # number of last steps in the trail and the rewards
MAX_COVERED = 3  # points of a line or a trail below an item's name
PLACE = 0.25  # last preferences in a square of this side share a disc
DISC = 1200  # area of a disc for all users, in square points
MANY = 10  # discs for so many users have a number
HALO = [withStroke(linewidth=3.5, foreground=SURFACE)]


def _plane(items, dimension):
    """Return the two principal axes of the items through the origin, shape (2, dimension).

    Items with at most two features, or with another dimension than the preference, use their first two features.

    >>> _plane([[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 3).round(3) + 0.0
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    items = np.asarray(items, float)
    if dimension != items.shape[1] or dimension <= 2:
        return np.eye(2, dimension)
    _, eigenvectors = np.linalg.eigh(items.T @ items)
    axes = eigenvectors[:, :-3:-1].T
    largest = axes[[0, 1], np.abs(axes).argmax(axis=1)]
    return axes * np.sign(largest)[:, None]  # eigenvectors have no sign


def _item_points(items):
    """Return the items in their plane, shape (n_items, 2), scaled so that the longest item has length 0.9."""
    items = np.asarray(items, float)
    max_length = np.linalg.norm(items, axis=1).max()
    return items @ _plane(items, items.shape[1]).T * 0.9 / max_length


@house_style()
def shelf(frames: Sequence[Mapping], agent: str = "") -> Figure:
    """Draw items as points, the user's preference as an arrow with its trail, and the rewards so far.

    Args:
        frames: Frames of an episode of RECEnv so far, see its `frame`.
        agent: Name of the agent.

    Returns:
        A figure of 6.4 x 4.8 inches.
    """
    frame = last_frame(frames)
    names = frame["item_names"]
    shown = frame["action"]
    event = "before the first item"
    if shown is not None:
        event = f"{one_line(names[shown])} is shown"
    stage = Stage(640, 480)
    stage.heading(
        f"{frame['env']}: user {frame['user']}, step {frame['step']} of {frame['episode_length']}",
        "   ·   ".join(filter(None, (event, agent))),
    )
    stage.box(24, 76, 388, 300, 12, SURFACE, LINE)
    ax = stage.axes(24, 76, 388, 300)
    ax.set_axis_off()
    ax.set_xlim(-194 / UNIT, 194 / UNIT)
    ax.set_ylim(-150 / UNIT, 150 / UNIT)
    points = _item_points(frame["items"])
    trail = _draw_preference(ax, frames)
    _draw_items(ax, points, shown)
    obstacles = _obstacles(points, trail, shown)
    _label_preference(ax, obstacles, trail[-1])
    _label_items(ax, points, names, shown, obstacles)
    rewards = [frame["reward"] for frame in frames if frame["reward"] is not None]
    _write_numbers(stage, frames, rewards)
    _draw_rewards(stage, frame, rewards)
    return stage.figure


def _draw_circle(ax):
    """Draw the circle of preferences of length 1."""
    ax.add_patch(Circle((0, 0), 1, fc="none", ec=LINE, lw=1.2))


def _draw_preference(ax, frames):
    """Draw the preference as an arrow, with a dot for each of the last steps, and return the dots."""
    trail = np.array([frame["preference"] for frame in frames[-STEPS:]])
    trail = trail @ _plane(frames[-1]["items"], trail.shape[1]).T
    _draw_circle(ax)
    ax.plot([-1, 1, np.nan, 0, 0], [0, 0, np.nan, -1, 1], color=LINE, lw=0.8, ls="-")
    alpha = np.linspace(0.2, 0.9, len(trail))
    ax.scatter(
        *trail.T,
        s=8 + 32 * alpha,
        color=BLUE,
        alpha=alpha,
        zorder=4,
    )
    arrow = {
        "arrowstyle": "-|>",
        "mutation_scale": 17,
        "lw": 3.2,
        "color": BLUE,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    ax.annotate("", trail[-1], (0, 0), arrowprops=arrow, zorder=8.5)
    ax.plot(0, 0, "o", color=BLUE, ms=6.5)
    return trail


def _draw_items(ax, points, shown):
    """Draw items as points and highlight the one shown."""
    size = 52 if len(points) <= 30 else 19
    ax.scatter(*points.T, s=size, color=GREY, zorder=6)
    if shown is not None:
        x, y = points[shown]
        ax.plot([0, x], [0, y], color=ORANGE, lw=1.6, ls=(0, (3, 2)))
        ax.plot(
            x,
            y,
            "o",
            ms=19,
            mfc=LIT,
            mec=ORANGE,
            mew=1.6,
            zorder=7,
        )
        ax.plot(x, y, "o", ms=9, color=ORANGE, zorder=8)


def _obstacles(points, trail, shown):
    """Return points that no label should cover: items, trail, arrow, and the mark and line of the item shown."""
    shares = np.linspace(0, 1, 20)[:, None]
    obstacles = [*points, *trail, *(shares * trail[-1])]
    if shown is not None:
        corners = [(-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)]
        obstacles += [*(shares * points[shown]), *(points[shown] + corners)]
    return obstacles


def _place(obstacles, half, positions):
    """Return the position (x, y) of a label that covers the fewest obstacles, and their number.

    Args:
        half: Half the length of the label.
    """

    def covered(position):
        distances = np.abs(np.array(obstacles) - position)
        return np.sum(np.all(distances < (half, 0.11), axis=1))

    position = min(positions, key=covered)
    return position, covered(position)


def _write_label(ax, obstacles, position, half, text, **options):
    """Write a label that is centred on a position, and add it to the obstacles."""
    x, y = position
    obstacles += [(end, y) for end in np.linspace(x - half, x + half, 40)]
    style = {"ha": "center", "va": "center", "path_effects": HALO, "zorder": 9}
    ax.text(x, y, text, **style, **options)


def _label_items(ax, points, names, shown, obstacles):
    """Write as many item names beside their points as there is space for, the name of the item shown first."""
    for item in sorted(range(len(names)), key=lambda item: item != shown):
        size = SMALL_SIZE
        colour = TEXT
        weight = "normal"
        gap = 10
        if item == shown:
            size = TEXT_SIZE
            colour = INK
            weight = "bold"
            gap = 19
        x, y = points[item]
        width = 180 - gap - UNIT * abs(x)
        name = truncate_to_width(one_line(names[item]), width, size, "bold")
        half = text_width(name, size, weight) / UNIT / 2
        distance = np.copysign(half + gap / UNIT, x)
        sides = [(x + distance, y), (x - distance, y)]
        position, covered = _place(obstacles, half, sides)
        if item == shown or covered <= MAX_COVERED:
            options = {"size": size, "color": colour, "weight": weight}
            _write_label(ax, obstacles, position, half, name, **options)


def _label_preference(ax, obstacles, tip):
    """Label the arrow on the side of its tip where the label covers the fewest obstacles."""
    text = "preference now"
    half = text_width(text, SMALL_SIZE, "bold") / UNIT / 2
    x_sign, y_sign = np.where(tip >= 0, 1, -1)
    outward = x_sign * (half + 0.14)
    up = y_sign * 0.16
    sides = [(0, up), (outward, 0), (outward, up), (0, -up), (-outward, 0)]
    limits = np.array([1.5 - half, 1.1])
    positions = np.clip(tip + np.array(sides), -limits, limits)
    position, _ = _place(obstacles, half, positions)
    options = {"size": SMALL_SIZE, "color": darken(BLUE), "weight": "bold"}
    _write_label(ax, obstacles, position, half, text, **options)


def _write_numbers(stage, frames, rewards):
    """Write the last reward, the mean reward, the turn of the preference and the number of items."""
    last = "–"
    mean = "–"
    if rewards:
        last = format_number(rewards[-1])
        mean = format_number(np.mean(rewards))
    first = frames[0]["preference"]
    angle = angle_from_start([first, frames[-1]["preference"]])[1]
    turned = "turned since the start"
    if len(first) > 2:  # the map shows only two directions
        turned = f"turned, in all {len(first)} features"
    count = f"{len(frames[-1]['items'])}"
    for row, (number, text, colour) in enumerate(
        (
            (last, "reward of this step", darken(ORANGE)),
            (mean, "mean reward so far", INK),
            (f"{angle:.0f}°", turned, BLUE),
            (count, "items to choose from", INK),
        )
    ):
        stage.text(436, 100 + 72 * row, number, 17, colour, "bold")
        stage.label(436, 124 + 72 * row, text)


def _draw_rewards(stage, frame, rewards):
    """Draw the reward of each step as a bar, the last one in full colour."""
    rewards = np.array(rewards[-STEPS:])
    low = 0.0
    high = 1.0
    if frame["reward_type"] != "binary":
        item_lengths = np.linalg.norm(frame["items"], axis=1)
        high = np.abs([*rewards, *item_lengths]).max()
        low = -high
    limits = f"{format_number(low)} to {format_number(high)}"
    stage.label(MARGIN, 398, f"reward of each step, {limits}")
    ax = stage.axes(MARGIN, 410, 592, 46)
    ax.set_axis_off()
    ax.bar(range(len(rewards)), rewards, 0.72, color=blend(ORANGE, 0.45))
    for bar in ax.patches[-1:]:
        bar.set_color(ORANGE)
    ax.axhline(0, color=MUTED, lw=1)
    steps = max(len(rewards), min(frame["episode_length"], STEPS))
    ax.set(xlim=(-0.6, steps - 0.4), ylim=(low, high))


@house_style()
def preference_map(
    paths: Mapping[str, Any],
    items: Any,
    title: str = "Preferences: hollow at the start, full at the end",
    subtitle: str = "",
    item_names: Sequence[str] = (),
) -> Figure:
    """Draw the first and last preferences of many users in the plane of the items, one panel per agent.

    Hollow dots are first preferences. Last preferences near each other share a disc, whose area and number count them.

    Args:
        paths: {agent: preferences}, arrays of shape (users, steps, features).
        items: Array (n_items, features).
        item_names: Labels of the items.

    Returns:
        A figure, 9 x 4 inches for three panels.
    """
    figure = sheet(2.8 * len(paths) + 0.6, 4, title, subtitle)
    figure.get_layout_engine().set(w_pad=0.08)
    panels = figure.subplots(1, len(paths), squeeze=False)[0]
    for ax, (name, style) in zip(panels, series_styles(paths).items()):
        colour = style[0]
        ax.set_title(one_line(name), size=TEXT_SIZE, color=darken(colour), pad=4)
        ax.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
        ax.set(facecolor=SURFACE, xticks=[], yticks=[])
        ax.spines[:].set(visible=True, color=LINE)
        _draw_circle(ax)
        users = np.asarray(paths[name])
        plane = _plane(items, users.shape[-1])
        _draw_ends(ax, users @ plane.T, colour)
        _draw_item_axes(ax, _item_points(items), item_names)
    return figure


def _draw_ends(ax, users, colour):
    """Draw the starts of paths in the plane, shape (users, steps, 2), and a disc for all that end at one place."""
    faint = blend(colour, 0.5, SURFACE)
    ax.plot(*users[:, 0].T, "o", ms=3.6, mfc=SURFACE, mec=faint, mew=0.8)
    ends = users[:, -1]
    _, places = np.unique((ends / PLACE).round(), axis=0, return_inverse=True)
    for place, count in enumerate(np.bincount(places)):
        end = ends[places == place].mean(axis=0)
        area = DISC * count / len(ends)
        ax.scatter(*end, area, color=colour, zorder=2)
        if count >= MANY:
            ax.text(*(1.3 * end), count, ha="center", va="center")


def _draw_item_axes(ax, points, names):
    """Draw each item as a point at the end of a dashed line, with its name."""
    for item, (x, y) in enumerate(points):
        ax.plot([0, x], [0, y], color=INK, lw=1.2, ls=(0, (3, 2)))
        ax.plot(x, y, "o", color=INK, ms=6.5)
        name = f"  {truncate_to_width(names[item], 80, SMALL_SIZE)}  " if names else ""
        ax.text(
            x,
            y,
            name,
            ha="left" if x >= 0 else "right",
            va="center",
            size=SMALL_SIZE,
            weight="bold",
            path_effects=HALO,
        )
