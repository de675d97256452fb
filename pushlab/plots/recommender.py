"""A recommender's shelf: items and a user's preference in the plane, and what the user becomes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke

from pushlab.plots.stage import Stage, latest
from pushlab.plots.style import (
    BLUE,
    GREY,
    INK,
    LEAD,
    LINE,
    LIT,
    MARGIN,
    MUTED,
    ORANGE,
    SMALL,
    SURFACE,
    TEXT,
    blend,
    deep,
    fit,
    house_style,
    plain,
    series_styles,
    sheet,
    short_number,
    text_width,
)

UNIT = 126  # hundredths of an inch of a preference of length 1
STEPS = 100  # the latest, of which trail and rewards are drawn
HALO = [withStroke(linewidth=3.5, foreground=SURFACE)]


def _plane(items, dimension):
    """Return the two principal axes of the items through the origin, shape (2, dimension).

    Items of another dimension than the preference, or of two at most, have their first two features as axes.

    >>> _plane([[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 3).round(3) + 0.0
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    items = np.asarray(items, float)
    if dimension != items.shape[1] or dimension <= 2:
        return np.eye(2, dimension)
    axes = np.linalg.eigh(items.T @ items)[1][:, :-3:-1].T
    largest = axes[[0, 1], np.abs(axes).argmax(axis=1)]
    return axes * np.sign(largest)[:, None]  # an axis has no direction of its own


def _item_places(items):
    """Return items in their plane (n_items, 2), scaled so that the longest of them all would lie at 0.9."""
    items = np.asarray(items, float)
    longest = np.linalg.norm(items, axis=1).max()
    return items @ _plane(items, items.shape[1]).T * 0.9 / longest


def _angle_between(one, other):
    """Return the degrees between two vectors, 0 to 180.

    >>> float(_angle_between([1.0, 0.0], [0.0, 2.0]))
    90.0
    """
    cosine = np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other))
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


@house_style()
def shelf(frames: Sequence[Mapping], agent: str = "") -> Figure:
    """Draw items as points, the user's preference as an arrow with its trail, and the rewards so far.

    Args:
        frames: The frames of an episode of RECEnv up to now, see its `frame`.

    Returns:
        Figure of 6.4 x 4.8 inches.
    """
    last = latest(frames)
    shown = last["action"]
    event = "before the first item"
    if shown is not None:
        event = f"{plain(last['item_names'][shown])} is shown"
    stage = Stage(640, 480)
    stage.heading(
        f"{last['env']}: user {last['user']}, step {last['step']} of {last['of']}",
        "   ·   ".join(filter(None, (event, agent))),
    )
    stage.box(24, 76, 388, 300, 12, SURFACE, LINE)
    ax = stage.axes(24, 76, 388, 300)
    ax.set_axis_off()
    ax.set(xlim=(-194 / UNIT, 194 / UNIT), ylim=(-150 / UNIT, 150 / UNIT))
    places = _item_places(last["items"])
    trail = _draw_preference(ax, frames)
    _draw_items(ax, places, shown)
    _write_names(ax, places, last["item_names"], shown, trail)
    rewards = [frame["reward"] for frame in frames if frame["reward"] is not None]
    _write_numbers(stage, frames, rewards)
    _draw_rewards(stage, last, rewards)
    return stage.figure


def _draw_preference(ax, frames):
    """Draw the preference as an arrow, with a dot for each of the last steps; return the dots' places."""
    trail = np.array([frame["preference"] for frame in frames[-STEPS:]])
    trail = trail @ _plane(frames[-1]["items"], trail.shape[1]).T
    ax.add_patch(Circle((0, 0), 1, fc="none", ec=LINE, lw=1.2))
    ax.plot([-1, 1, np.nan, 0, 0], [0, 0, np.nan, -1, 1], color=LINE, lw=0.8, ls="-")
    alpha = np.linspace(0.2, 0.9, len(trail))
    ax.scatter(*trail.T, s=8 + 32 * alpha, color=BLUE, alpha=alpha, zorder=4)
    arrow = {"arrowstyle": "-|>", "mutation_scale": 17, "lw": 3.2, "color": BLUE}
    arrow.update(shrinkA=0, shrinkB=0)
    ax.annotate("", trail[-1], (0, 0), arrowprops=arrow, zorder=8.5)
    ax.plot(0, 0, "o", color=BLUE, ms=6.5)
    return trail


def _draw_items(ax, places, shown):
    """Draw items as points; the one shown is lit."""
    ax.scatter(*places.T, s=52 if len(places) <= 30 else 19, color=GREY, zorder=6)
    if shown is not None:
        x, y = places[shown]
        ax.plot([0, x], [0, y], color=ORANGE, lw=1.6, ls=(0, (3, 2)))
        ax.plot(x, y, "o", ms=19, mfc=LIT, mec=ORANGE, mew=1.6, zorder=7)
        ax.plot(x, y, "o", ms=9, color=ORANGE, zorder=8)


def _write_names(ax, places, names, shown, trail):
    """Write names beside their points as far as there is room: the preference, the item shown, the other items."""
    taken = [_write_preference(ax, places, trail[-1])]
    for item in sorted(range(len(names)), key=lambda item: item != shown):
        look = {"size": SMALL, "color": TEXT}
        gap = 10
        if item == shown:
            look = {"size": LEAD, "color": INK, "weight": "bold"}
            gap = 19
        x, y = places[item]
        side = 1 if x >= 0 else -1
        words = fit(plain(names[item]), 180 - gap - UNIT * abs(x), look["size"], "bold")
        near = x + side * gap / UNIT
        far = near + side * text_width(words, look["size"], "bold") / UNIT
        low, high = sorted((near, far))
        is_free = all(
            high < start or end < low or abs(y - height) > 0.13
            for start, end, height in taken
        )
        if is_free or item == shown:
            taken.append((low, high, y))
            look["ha"] = "left" if side > 0 else "right"
            ax.text(near, y, words, va="center", path_effects=HALO, zorder=9, **look)


def _write_preference(ax, places, tip):
    """Name the arrow where it covers the fewest items: beyond its tip or opposite; return left, right and height."""
    words = "preference now"
    half = text_width(words, SMALL, "bold") / UNIT / 2
    x = np.clip(tip[0], half - 1.4, 1.4 - half)
    beyond = 0.15 if tip[1] >= 0 else -0.15

    def items_covered(place):
        return np.sum(np.all(np.abs(places - place) < (half + 0.1, 0.16), axis=1))

    spots = [(x, tip[1] + beyond), (0, -beyond), (0, -3 * beyond)]
    x, y = min(spots, key=items_covered)
    look = {"size": SMALL, "color": deep(BLUE), "weight": "bold", "ha": "center"}
    ax.text(x, y, words, va="center", path_effects=HALO, zorder=9, **look)
    return x - half, x + half, y


def _write_numbers(stage, frames, rewards):
    """Write the reward of this step, its mean, and how far the preference has turned."""
    last = mean = "–"
    if rewards:
        last = short_number(rewards[-1])
        mean = short_number(np.mean(rewards))
    turned = _angle_between(frames[0]["preference"], frames[-1]["preference"])
    for row, (number, words, colour) in enumerate(
        (
            (last, "reward of this step", deep(ORANGE)),
            (mean, "mean reward so far", INK),
            (f"{turned:.0f}°", "turned since the start", BLUE),
            (f"{len(frames[-1]['items'])}", "items to choose from", INK),
        )
    ):
        stage.text(436, 100 + 72 * row, number, 17, colour, "bold")
        stage.label(436, 124 + 72 * row, words)


def _draw_rewards(stage, last, rewards):
    """Draw a bar a step, the last one full."""
    rewards = np.array(rewards[-STEPS:])
    low, high = 0.0, 1.0
    if last["reward_type"] != "binary":
        high = np.abs([*rewards, *np.linalg.norm(last["items"], axis=1)]).max()
        low = -high
    ends = f"{short_number(low)} to {short_number(high)}"
    stage.label(MARGIN, 398, f"reward of each step, {ends}")
    ax = stage.axes(MARGIN, 410, 592, 46)
    ax.set_axis_off()
    ax.bar(range(len(rewards)), rewards, 0.72, color=blend(ORANGE, 0.45))
    for bar in ax.patches[-1:]:
        bar.set_color(ORANGE)
    ax.axhline(0, color=MUTED, lw=1)
    steps = max(len(rewards), min(last["of"], STEPS))
    ax.set(xlim=(-0.6, steps - 0.4), ylim=(low, high))


@house_style()
def preference_map(
    paths: Mapping[str, Any],
    items: Any,
    title: str = "Preferences: hollow at the start, full at the end",
    lead: str = "",
    item_names: Sequence[str] = (),
) -> Figure:
    """Draw where many users begin (hollow) and end (full) in the items' plane, a panel an agent.

    Args:
        paths: {name: array (users, steps, features)} of preferences from the first to the last.
        items: Array (n_items, features).

    Returns:
        Figure of 9 x 4 inches for three panels.
    """
    figure = sheet(2.8 * len(paths) + 0.6, 4, title, lead)
    figure.get_layout_engine().set(w_pad=0.08)
    places = _item_places(items)
    panels = figure.subplots(1, len(paths), squeeze=False)[0]
    for ax, (name, look) in zip(panels, series_styles(paths).items()):
        colour = look[0]
        faint = blend(colour, 0.5, SURFACE)
        users = np.asarray(paths[name])
        users = users @ _plane(items, users.shape[-1]).T
        ax.set_title(plain(name), size=LEAD, color=deep(colour), pad=4)
        ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
        ax.set(facecolor=SURFACE, xticks=[], yticks=[])
        ax.spines[:].set(visible=True, color=LINE)
        ax.add_patch(Circle((0, 0), 1, fc="none", ec=LINE, lw=1.2))
        ax.plot(*users.transpose(2, 1, 0), color=faint, lw=0.7, ls="-")
        ax.plot(*users[:, 0].T, "o", ms=3.6, mfc=SURFACE, mec=faint, mew=0.8)
        ax.plot(*users[:, -1].T, "o", ms=4.6, color=colour, mec=SURFACE, mew=0.5)
        for item, (x, y) in enumerate(places):
            ax.plot([0, x], [0, y], color=INK, lw=1.2, ls=(0, (3, 2)))
            ax.plot(x, y, "o", color=INK, ms=6.5)
            words = f"  {fit(item_names[item], 80, SMALL)}  " if item_names else ""
            align = "left" if x >= 0 else "right"
            ax.text(
                x,
                y,
                words,
                ha=align,
                va="center",
                size=SMALL,
                weight="bold",
                path_effects=HALO,
            )
    return figure
