"""A recommender's shelf: items and a user's preference in the plane, and what the user becomes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from pushlab.plots.palette import (
    BLUE,
    GREY,
    INK,
    LEAD,
    LINE,
    LIT,
    MUTED,
    ORANGE,
    SMALL,
    SURFACE,
    TEXT,
    blend,
    deep,
    series_styles,
)
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.words import short_number

CENTRE, RADIUS = (
    (218, 226),
    126,
)  # of the circle in which a preference of length 1 lies, on the sheet
BARS = 100  # rewards drawn at most, the last ones
REACH = 0.9  # how far out the longest item lies


# ---------------------------------------------------------------- the plane


def plane(items: Any, dimension: int | None = None) -> np.ndarray:
    """The plane that shows most of the items: their first two principal axes through the origin, (2, dimension).

    items      array (n_items, item_feature_dim)
    dimension  of what is to be shown in it; where it is another than the items', its first two features are the plane,
               and so they are where there are no more than two

    >>> plane([[2.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).round(3) + 0.0
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    items = np.asarray(items, float)
    dimension = items.shape[1] if dimension is None else dimension
    axes = np.zeros((2, dimension))
    if dimension != items.shape[1] or dimension <= 2:
        axes[:, :2] = np.eye(2)[:, :dimension]
        return axes
    found = np.linalg.svd(items, full_matrices=False)[2][:2]
    largest = found[np.arange(len(found)), np.abs(found).argmax(axis=1)]
    axes[: len(found)] = (
        found * np.sign(largest)[:, None]
    )  # an axis has no direction of its own: fix one
    return axes


def item_places(items: Any) -> np.ndarray:
    """Items in their plane (n_items, 2), scaled so that the longest of them all would lie at 0.9."""
    items = np.asarray(items, float)
    return items @ plane(items).T * REACH / np.linalg.norm(items, axis=1).max()


def angle_between(one: Any, other: Any) -> float:
    """Degrees between two vectors, 0 to 180.

    >>> float(angle_between([1.0, 0.0], [0.0, 2.0]))
    90.0
    """
    cosine = np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other))
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


# ---------------------------------------------------------------- the shelf


@house_style()
def shelf(
    frames: Sequence[Mapping],
    figure: Figure | None = None,
    agent: str = "",
    choosing: bool = False,
) -> Figure:
    """The episode so far: items as points, the user's preference as an arrow with its trail, the reward so far.

    frames    frames of RECEnv, oldest first, from the reset on
    figure    a figure to draw on again
    agent     who chooses, for the line under the title
    choosing  whether a person is about to choose
    returns   Figure of 6.4 x 4.8 inches
    """
    last = frames[-1]
    stage = Stage(640, 480, figure)
    lead = [
        last["env"],
        f"user {last['user']}",
        f"step {last['step']} of {last['of']}",
        plain(agent),
    ]
    stage.heading(
        _event(frames, choosing),
        "   ·   ".join(word for word in lead if word),
        title_lines=1,
    )
    stage.box(24, 76, 388, 300, 12, SURFACE, LINE, 1.0, z=1)
    (cx, cy), r = CENTRE, RADIUS
    stage.disc(cx, cy, r, "none", LINE, 1.2, z=2)
    stage.line([(cx - r, cy), (cx + r, cy)], LINE, 0.8, z=2)
    stage.line([(cx, cy - r), (cx, cy + r)], LINE, 0.8, z=2)
    taken = _draw_preference(stage, frames)
    _draw_items(stage, last, taken)
    _draw_numbers(stage, frames)
    _draw_rewards(stage, frames)
    return stage.figure


def _event(frames, choosing=False):
    """The last event as a title."""
    last = frames[-1]
    if last["action"] is None:
        return (
            f"Which item will you show user {last['user']}?"
            if choosing
            else f"User {last['user']} arrives"
        )
    name = fit(
        plain(last["item_names"][last["action"]]).capitalize(), 200, LEAD, "bold"
    )
    turn = _turn_to_item(frames)
    reaction = (
        "the user stays"
        if abs(turn) < 0.5
        else "the user turns to it"
        if turn > 0
        else "the user turns away"
    )
    if last["reward_type"] == "binary":
        return f"{name} was shown: {'engaged' if last['reward'] else 'not engaged'}, {reaction}"
    return f"{name} was shown, and {reaction}"


def _turn_to_item(frames):
    """By how many degrees the last step turned the preference towards the item shown; 0 where that has no meaning."""
    item = frames[-1]["items"][frames[-1]["action"]]
    if len(frames) < 2 or len(item) != len(frames[-1]["preference"]):
        return 0.0
    return angle_between(frames[-2]["preference"], item) - angle_between(
        frames[-1]["preference"], item
    )


def _on_sheet(points, centre=CENTRE, radius=RADIUS):
    """Points of the plane, where the circle has radius 1, in units of the sheet."""
    return np.asarray(centre) + radius * np.asarray(points) * (1, -1)


def _dots(stage, places, radii, colours, z):
    """Full discs at many places (n, 2), in one piece: a hundred single ones take half a second."""
    sizes = (
        1.44 * np.broadcast_to(radii, len(places))
    ) ** 2  # points squared of the diameter
    if len(places):
        stage.ax.scatter(*np.transpose(places), s=sizes, c=colours, lw=0, zorder=z)


def _draw_preference(stage, frames):
    """Arrow and trail; returns boxes (left, top, right, bottom) that words should keep out of."""
    trail = np.array([frame["preference"] for frame in frames])
    places = _on_sheet(trail @ plane(frames[-1]["items"], trail.shape[1]).T)
    recent, tip = places[:-1][-BARS:], places[-1]
    share = np.linspace(0, 1, len(recent) + 1)[1:]
    _dots(
        stage,
        recent,
        2 + 2.4 * share,
        [blend(BLUE, round(0.2 + 0.7 * part, 2), SURFACE) for part in share],
        5,
    )
    stage._add(
        FancyArrowPatch(
            CENTRE,
            tuple(tip),
            arrowstyle="-|>",
            mutation_scale=17,
            lw=3.2,
            color=BLUE,
            shrinkA=0,
            shrinkB=0,
        ),
        8,
    )
    stage.disc(*CENTRE, 4.5, BLUE, z=9)
    shaft = CENTRE + np.linspace(0, 1, 14)[:, None] * (tip - CENTRE)
    taken = [_around(place, 5) for place in (*shaft, *recent)]
    taken += [
        _around(place, 15 if at == frames[-1]["action"] else 5)
        for at, place in enumerate(_on_sheet(item_places(frames[-1]["items"])))
    ]
    right, below = (
        1 if tip[0] < CENTRE[0] + 10 else -1,
        1 if tip[1] <= CENTRE[1] else -1,
    )
    beside = [(-12 * right, y) for y in (0, -14 * below, 14 * below)] + [
        (12 * right, y) for y in (-18, 18)
    ]
    at_centre = [(12 * x, 15 * y) for y in (below, -below) for x in (right, -right)]
    words = "preference now", taken, BLUE, "bold"
    taken.append(
        _write(stage, tip, beside, *words, must=False)
        or _write(stage, CENTRE, at_centre, *words)
    )
    if len(places) > 1 and np.hypot(*(places[0] - tip)) > 24:
        out = 1 if places[0, 0] >= CENTRE[0] else -1
        sides = [
            (9 * x, y)
            for x, y in (
                (out, 0),
                (-out, 0),
                (out, -12),
                (out, 12),
                (-out, -12),
                (-out, 12),
            )
        ]
        taken.append(_write(stage, places[0], sides, "start", taken, TEXT))
    return taken


def _around(place, reach):
    return place[0] - reach, place[1] - reach, place[0] + reach, place[1] + reach


def _touch(one, other):
    return min(one[2], other[2]) > max(one[0], other[0]) and min(
        one[3], other[3]
    ) > max(one[1], other[1])


def _write(
    stage, place, offsets, words, taken, colour, weight="normal", size=SMALL, must=True
):
    """Words beside a place, at the first of the offsets (right, down) where they touch nothing; returns their box.

    must   write them at the first offset where no place is free; otherwise leave them out and return None
    """
    width = text_width(words, size, weight)
    for free in (True, False) if must else (True,):
        for right, down in offsets:
            left, y = place[0] + right - (width if right < 0 else 0), place[1] + down
            box = left - 2, y - 7, left + width + 2, y + 7
            inside = 30 < box[0] and box[2] < 406 and 82 < box[1] and box[3] < 370
            if inside and not (free and any(_touch(box, other) for other in taken)):
                stage.text(
                    place[0] + right,
                    y,
                    words,
                    size,
                    colour,
                    weight,
                    "left" if right > 0 else "right",
                    halo=SURFACE,
                )
                return box
    return None


def _draw_items(stage, frame, taken):
    """Items with their names as far as there is room; the one shown is lit and always named."""
    places, shown = _on_sheet(item_places(frame["items"])), frame["action"]
    if shown is not None:
        stage.line([CENTRE, places[shown]], ORANGE, 1.6, (0, (3, 2)), z=4)
        stage.disc(*places[shown], 13, LIT, ORANGE, 1.6, z=6)
        stage.disc(*places[shown], 6, ORANGE, z=7)
    others = [at for at in range(len(places)) if at != shown]
    _dots(
        stage, places[others], 5 if len(places) <= 30 else 3, GREY, 9
    )  # above the arrow
    order = sorted(
        range(len(places)),
        key=lambda at: (at != shown, -np.hypot(*(places[at] - CENTRE))),
    )
    for at in order:
        here, out = at == shown, 1 if places[at, 0] >= CENTRE[0] else -1
        size, weight, colour = (LEAD, "bold", INK) if here else (SMALL, "normal", TEXT)
        offsets = [
            ((19 if here else 10) * side * out, lift)
            for lift in (0, -11, 11, -17, 17)
            for side in (1, -1)
        ]
        name = fit(plain(frame["item_names"][at]), 110, size, weight)
        here_too = _around(
            places[at], 1
        )  # its own disc, and points that lie on it, are no hindrance
        near = [
            box for box in taken if box[2] - box[0] > 11 or not _touch(box, here_too)
        ]
        box = _write(
            stage, places[at], offsets, name, near, colour, weight, size, must=here
        )
        if box is not None:
            taken.append(box)


def _draw_numbers(stage, frames):
    """Four numbers worth reading from the back row."""
    last, shown = (
        frames[-1],
        [frame["action"] for frame in frames if frame["action"] is not None],
    )
    rewards = [frame["reward"] for frame in frames if frame["reward"] is not None]
    turned = angle_between(frames[0]["preference"], last["preference"])
    numbers = [
        (
            short_number(rewards[-1]) if rewards else "–",
            "reward of this step",
            deep(ORANGE),
        ),
        (short_number(np.mean(rewards)) if rewards else "–", "mean reward so far", INK),
        (f"{turned:.0f}°", "turned since the start", BLUE),
        (str(len(last["items"])), "items to choose from", INK),
    ]
    if shown:
        name = fit(plain(last["item_names"][shown[-1]]), 70, SMALL)
        steps = f"{len(shown)} step{'s' if len(shown) > 1 else ''}"
        numbers[-1] = str(shown.count(shown[-1])), f"times {name} in {steps}", INK
    for row, (number, words, colour) in enumerate(numbers):
        stage.text(436, 100 + 72 * row, number, 17, colour, "bold")
        stage.label(436, 124 + 72 * row, fit(words, 180, SMALL))


def _draw_rewards(stage, frames):
    """A bar a step, the last one full."""
    last = frames[-1]
    rewards = np.array(
        [frame["reward"] for frame in frames if frame["reward"] is not None]
    )[-BARS:]
    low, top = 0.0, 1.0
    if last["reward_type"] != "binary":
        top = max(
            np.linalg.norm(last["items"], axis=1).max(), np.abs(rewards).max(initial=0)
        )
        low = -top
    which = "" if len(frames) <= BARS else f", the last {BARS}"
    stage.label(
        MARGIN,
        398,
        f"reward of each step, {short_number(low)} to {short_number(top)}{which}",
    )
    ax = stage.axes(MARGIN, 410, 592, 46)
    steps = np.arange(len(rewards))
    colours = [blend(ORANGE, 0.45)] * (len(rewards) - 1) + [ORANGE]
    ax.bar(steps, rewards, width=0.72, color=colours[: len(rewards)], zorder=3)
    if last["reward_type"] == "binary":  # a 0 is an answer too
        none = steps[rewards == 0]
        ax.plot(
            none,
            np.zeros(len(none)),
            "o",
            ms=3,
            mfc=SURFACE,
            mec=ORANGE,
            clip_on=False,
            zorder=4,
        )
    ax.axhline(0, color=MUTED, lw=1, zorder=2)
    ax.set(
        xlim=(-0.6, max(len(rewards), min(last["of"], BARS)) - 0.4),
        ylim=(low, top),
        xticks=(),
        yticks=(),
    )
    ax.grid(False)
    ax.spines["bottom"].set_visible(False)


# ---------------------------------------------------------------- what users become


@house_style()
def preference_map(
    paths: Mapping[str, Any],
    items: Any,
    title: str | None = None,
    lead: str = "",
    item_names: Sequence[str] = (),
    figure: Figure | None = None,
) -> Figure:
    """Where many users begin and where they end, in the items' plane, a panel an agent.

    paths     {name: array (users, steps, features)} of preferences from the first to the last
    items     array (n_items, features)
    returns   Figure, a sheet of 9 x 4 inches for three panels
    """
    names = list(paths)
    wide = max(400, 24 * 2 + 280 * len(names) - 20)
    stage = Stage(wide, 400, figure)
    stage.heading(
        title or "Hollow is where a user begins, full where they end",
        lead,
        title_lines=1,
    )
    styles, axes, places = series_styles(names), plane(items), item_places(items)
    for at, name in enumerate(names):
        left = MARGIN + 280 * at
        stage.text(
            left,
            92,
            fit(plain(name), 250, LEAD, "bold"),
            LEAD,
            deep(styles[name][0]),
            "bold",
        )
        centre, radius = (left + 130, 244), 118
        _draw_users(
            stage,
            centre,
            radius,
            _on_sheet(np.asarray(paths[name]) @ axes.T, centre, radius),
            _on_sheet(places, centre, radius),
            styles[name][0],
            item_names,
        )
    return stage.figure


def _draw_users(stage, centre, radius, paths, places, colour, item_names):
    """One panel: the circle, items as rays, each user's path from its start to its end."""
    stage.box(centre[0] - 130, centre[1] - 136, 260, 272, 12, SURFACE, LINE, 1.0, z=1)
    stage.disc(*centre, radius, "none", LINE, 1.2, z=2)
    for place in places:
        stage.line([centre, place], INK, 1.2, (0, (3, 2)), z=3)
        stage.disc(*place, 4.5, INK, z=8)
    for name, place in zip(item_names, places):
        name, side = (
            fit(plain(name), 80, SMALL, "bold"),
            1 if place[0] >= centre[0] else -1,
        )
        beside = (
            abs(place[0] - centre[0]) + 9 + text_width(name, SMALL, "bold") < radius - 6
        )
        x, y = (
            (place[0] + 9 * side, place[1])
            if beside
            else (place[0] + 5 * side, place[1] + 14)
        )
        outwards = side if beside else -side
        stage.text(
            x,
            y,
            name,
            SMALL,
            INK,
            "bold",
            "left" if outwards > 0 else "right",
            z=12,
            halo=SURFACE,
        )
    for path in paths:
        stage.line(path, blend(colour, 0.35, SURFACE), 0.7, z=4)
    stage.ax.plot(
        *paths[:, 0].T,
        "o",
        ms=3.6,
        mfc=SURFACE,
        mec=blend(colour, 0.6, SURFACE),
        mew=0.8,
        zorder=6,
    )
    stage.ax.plot(
        *paths[:, -1].T, "o", ms=4.6, mfc=colour, mec=SURFACE, mew=0.5, zorder=7
    )
