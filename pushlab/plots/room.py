"""The room: who put what where, what the agent sees of it, what it remembers, and how its last answer turned out."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from pushlab.ground.arguments import demand
from pushlab.plots.cards import draw_last
from pushlab.plots.kit import icon, mark
from pushlab.plots.palette import (
    BLUE,
    DISMISSED,
    EPISODIC,
    FLOOR,
    INK,
    LEAD,
    LINE,
    LIT,
    MUTED,
    OPENED,
    PURPLE,
    SEMANTIC,
    SERIES,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    blend,
)
from pushlab.plots.sheet import Stage, fit, house_style, plain, text_width

WIDTH, HEIGHT = 900, 500
ROOM = (24, 76, 492, 330)  # x, y, width, height of the floor
SIDE, SIDE_WIDTH = 548, 328  # where the shelves stand
FADED = 0.3  # strength of a slot that is being forgotten
SHELVES = {
    "episodic": ("Episodic memory", "what happened when", EPISODIC, BLUE),
    "semantic": ("Semantic memory", "what is usually so", SEMANTIC, PURPLE),
}


@house_style()
def room(
    frames: Sequence[Mapping],
    figure: Figure | None = None,
    agent: str = "agent",
    choosing: bool = False,
) -> Figure:
    """The room after the last of `frames`, with what the agent remembers.

    frames    frames of one episode, oldest first; each a dict with
              env, step, of  name, steps so far, and the last that the clock shows
              locations, people  the words, in their order
              placed     list of {person, object, location}, a spot each
              seen       for each agent, the number of the spot in its view
              question   {person, object} asked for now
              answered   None at reset, else {person, object, said (a list), right, reward} of the question before
              memory     optional: what `MemoryAgent` keeps in its diary
    figure    a figure to clear and use again, for players; None makes one
    agent     name of the one who answers
    choosing  True leaves out what is not in view, and asks
    returns   Figure, 9 x 5 inches
    """
    demand(frames, "room() needs at least one frame: the one after reset()")
    now = frames[-1]
    stage = Stage(WIDTH, HEIGHT, figure)
    stage.heading(
        _title(now), f"{now['env']}   ·   step {now['step']:,} of {now['of']:,}"
    )
    _draw_floor(stage, now, choosing)
    if now.get("memory"):
        shelves = [
            (kind, now["memory"][kind])
            for kind in SHELVES
            if now["memory"][kind]["capacity"]
        ]
        for top, (kind, shelf) in zip((76, 246), shelves):
            _draw_shelf(stage, top, kind, shelf)
    else:
        _draw_answers(stage, frames, agent)
    _draw_bars(stage, frames, choosing)
    return stage.figure


def _title(now):
    seen = [now["placed"][spot] for spot in dict.fromkeys(now["seen"])]
    things = [
        (f"{one['person'].capitalize()}’s {one['object']}", one["location"])
        for one in seen
    ]
    if len(now["seen"]) > 1:
        return f"{len(now['seen'])} agents see " + ", ".join(map(": ".join, things))
    return "The agent sees where {} is: {}".format(*things[0])


def _person(stage, x, y, radius, person, fill, size=SMALL, **more):
    """A disc with somebody's initial."""
    stage.disc(x, y, radius, fill, z=8, **more)
    stage.text(x, y, person[0].upper(), size, SURFACE, "bold", "center", z=9)


# ---------------------------------------------------------------- the floor


def _draw_floor(stage, now, choosing):
    x, y, width, height = ROOM
    stage.box(x, y, width, height, 14, FLOOR, "#AFB8C3", 3.0, z=1)
    many = len(now["people"]) > 10
    strip = 34 if many else 52
    cells = _cells(now["locations"], x + 10, y + 10, width - 20, height - 20 - strip)
    seen = set(now["seen"])
    lit = {now["placed"][spot]["location"] for spot in seen}
    for location in lit:
        _shine(
            stage,
            cells[location],
            stage.box(x + 1.5, y + 1.5, width - 3, height - 3, 13, "none", z=2),
        )
    colours = {person: SERIES[place % 4] for place, person in enumerate(now["people"])}
    spots = sorted(enumerate(now["placed"]), key=lambda pair: pair[0] not in seen)
    for location, cell in cells.items():
        lying = [
            (one, colours[one["person"]], spot in seen)
            for spot, one in spots
            if one["location"] == location and (spot in seen or not choosing)
        ]
        _draw_place(stage, cell, location, lying, location in lit)
    _draw_people(
        stage, now, seen, colours, x + 10, y + height - strip, width - 20, many
    )


def _cells(locations, x, y, width, height):
    """{location: (x, y, width, height)}: a grid that depends on the locations alone, so that nothing jumps about."""
    columns = max(4, int(np.ceil(np.sqrt(len(locations)))))
    rows = int(np.ceil(len(locations) / columns))
    gap = 8 if rows <= 4 else 4
    wide, high = (
        (width - gap * (columns - 1)) / columns,
        min(84, (height - gap * (rows - 1)) / rows),
    )
    return {
        location: (
            x + (place % columns) * (wide + gap),
            y + (place // columns) * (high + gap),
            wide,
            high,
        )
        for place, location in enumerate(locations)
    }


def _shine(stage, cell, clip):
    """Light on the floor round the place in view."""
    x, y, width, height = cell
    light = np.zeros((80, 80, 4))
    light[..., :3] = to_rgb(LIT)
    light[..., 3] = np.clip(
        (1 - np.hypot(*np.meshgrid(*[np.linspace(-1, 1, 80)] * 2))) / 0.55, 0, 1
    )
    reach = 1.3 * max(width, height) / 2 + 40
    across, down = x + width / 2, y + height / 2
    extent = across - reach, across + reach, down + reach, down - reach
    stage.ax.imshow(light, zorder=2, aspect="auto", extent=extent).set_clip_path(clip)
    stage.ax.set(xlim=(0, stage.width), ylim=(stage.height, 0))


def _draw_place(stage, cell, location, lying, lit):
    x, y, width, height = cell
    fill, edge = (SURFACE, "#AEB7C2") if lit else ("#EDF0F4", "#BFC7D0")
    stage.box(x, y, width, height, 8, fill, edge, 1.2, z=4)
    small, weight = height < 60, "bold" if lit else "normal"
    left = x + (5 if small else 9)
    name = fit(location, width - 12 - (18 if lit and not small else 0), SMALL, weight)
    stage.text(
        left, y + (9 if small else 13), name, SMALL, INK if lit else TEXT, weight
    )
    if small:
        return _draw_discs(stage, left + 7, y + height - 10, width - 10, lying, 6.5)
    if lit:
        icon(stage, "eye", x + width - 14, y + 13, 7, INK, 1.2)
    for row, pill in enumerate(lying if len(lying) <= 2 else lying[:1]):
        _draw_pill(stage, x + 4, y + 36 + 25 * row, width - 8, *pill)
    if len(lying) > 2:
        _draw_discs(stage, x + 17, y + 61, width - 20, lying[1:], 9)


def _draw_pill(stage, x, y, room_for, one, colour, seen):
    """An object and whose it is; faint where the agent does not see it."""
    words = fit(plain(one["object"]), room_for - 32, SMALL)
    fill, edge, disc = (
        (SURFACE, colour, colour)
        if seen
        else (blend(SURFACE, 0.6, SOFT), blend(colour, 0.35), blend(colour, 0.45))
    )
    stage.box(
        x,
        y - 11,
        text_width(words, SMALL) + 32,
        22,
        11,
        fill,
        edge,
        1.8 if seen else 1.0,
        z=7,
    )
    _person(stage, x + 12, y, 8.5, one["person"], disc)
    stage.text(x + 24, y, words, SMALL, INK if seen else TEXT, z=9)


def _draw_discs(stage, x, y, room_for, lying, radius):
    """Whose objects lie here, where there is no room for more; what does not fit is counted."""
    step = 2 * radius + 2
    fits = max(1, int(room_for // step))
    shown = lying if len(lying) <= fits else lying[: fits - 1]
    for place, (one, colour, seen) in enumerate(shown):
        _person(
            stage,
            x + place * step,
            y,
            radius,
            one["person"],
            colour if seen else blend(colour, 0.45),
        )
    if len(shown) < len(lying):
        stage.text(
            x + len(shown) * step - radius,
            y,
            f"+{len(lying) - len(shown)}",
            SMALL,
            TEXT,
            z=9,
        )


def _draw_people(stage, now, seen, colours, x, y, width, many):
    """Everybody at their spots, in the order of the spots; who is in view stands out."""
    pitch = width / len(now["placed"])
    for spot, one in enumerate(now["placed"]):
        middle, colour, lit = (
            x + pitch * (spot + 0.5),
            colours[one["person"]],
            spot in seen,
        )
        _person(
            stage,
            middle,
            y + 14,
            min(13, pitch / 2 - 2),
            one["person"],
            colour if lit else blend(colour, 0.55, FLOOR),
            LEAD,
            edge=INK if lit else SURFACE,
            line=2.0 if lit else 1.4,
        )
        if not many:
            stage.text(
                middle,
                y + 38,
                fit(one["person"], pitch - 2, SMALL),
                SMALL,
                INK if lit else TEXT,
                "bold" if lit else "normal",
                "center",
                z=9,
            )


# ---------------------------------------------------------------- memory


def _draw_shelf(stage, top, kind, shelf):
    """A slot for each thing it can hold: up to four as cards, up to sixteen with the object's name, more as squares."""
    title, note, fill, edge = SHELVES[kind]
    items, capacity = shelf["items"], shelf["capacity"]
    stage.text(SIDE, top + 8, title, weight="bold")
    stage.label(
        SIDE + text_width(title, LEAD, "bold") + 10,
        top + 8,
        f"{len(items)} of {capacity}",
    )
    stage.label(SIDE + SIDE_WIDTH, top + 8, note, align="right")
    top, side = top + 24, min(SIDE_WIDTH / 16, 100 / -(-capacity // 16))
    cards, named = capacity <= 4, capacity <= 16
    columns, across, down, gap, radius = (
        (4, (SIDE_WIDTH + 5) / 4, 66, 5, 8)
        if cards
        else (4, (SIDE_WIDTH + 6) / 4, 29, 6, 6)
        if named
        else (16, side, side, 3, 3)
    )
    wide, high = across - gap, 66 if cards else 24 if named else side - 3
    for place, item in enumerate([*items, *[None] * (capacity - len(items))]):
        x, y = SIDE + place % columns * across, top + place // columns * down
        if item is None:
            stage.box(
                x,
                y,
                wide,
                high,
                radius,
                "none",
                MUTED,
                1.0,
                (0, (3, 3) if named else (2, 2)),
                z=4,
            )
            if cards:
                stage.label(x + wide / 2, y + 33, "free", align="center")
        elif named:
            stage.box(
                x,
                y,
                wide,
                high,
                radius,
                fill,
                edge,
                2.4 if item.get("used") else 1.2 if cards else 1.1,
                z=4,
            )
            (_write_card if cards else _write_object)(
                stage, x, y, wide, item, items, edge
            )
        else:
            stage.box(
                x, y, wide, high, radius, edge if item.get("used") else fill, edge, z=4
            )
    if cards:
        stage.box(SIDE - 6, top + 69, SIDE_WIDTH + 12, 5, 2.5, "#B9C1CB", z=3)
    if shelf.get("forgotten") is not None:
        below = (
            (112 if kind == "semantic" else 104)
            if cards
            else -(-capacity // columns) * down + 8
        )
        _say_forgotten(
            stage,
            top + below,
            shelf["forgotten"],
            blend(fill, FADED),
            blend(edge, FADED),
        )


def _write_card(stage, x, top, wide, item, items, edge):
    """Whose, what, where; and since when, or how often."""
    semantic = "strength" in item
    for row, words in enumerate(
        ("any" if semantic else item["person"], item["object"], item["location"])
    ):
        weight, colour = ("bold", INK) if row == 1 else ("normal", TEXT)
        size = SMALL if text_width(words, SMALL, weight) <= wide - 4 else SMALL - 1
        words = fit(words, wide - 4, size, weight)
        stage.text(
            x + wide / 2, top + 15 + 18 * row, words, size, colour, weight, "center"
        )
    often = f"seen {item['strength']:g}×" if semantic else f"t {item['time']:,}"
    stage.label(x + wide / 2, top + 84, often, align="center")
    if semantic:
        share = item["strength"] / max(other["strength"] for other in items)
        stage.box(x + 8, top + 95, wide - 16, 5, 2.5, LINE, z=5)
        stage.box(x + 8, top + 95, (wide - 16) * share, 5, 2.5, edge, z=6)


def _write_object(stage, x, top, wide, item, items, edge):
    words = (
        item["object"]
        if "strength" in item
        else f"{item['person'][0].upper()} {item['object']}"
    )
    stage.text(
        x + wide / 2, top + 12, fit(words, wide - 8, SMALL), SMALL, align="center"
    )


def _say_forgotten(stage, y, item, fill, edge):
    """What had to go in this step, as a faded slot with a dashed edge."""
    words = f"{'any ' if 'strength' in item else item['person'] + '’s '}{item['object']}, {item['location']}"
    stage.text(SIDE, y, "forgetting", SMALL, DISMISSED)
    left = SIDE + text_width("forgetting", SMALL) + 10
    words = fit(words, SIDE_WIDTH - (left - SIDE) - 16, SMALL)
    stage.box(
        left,
        y - 10,
        text_width(words, SMALL) + 16,
        20,
        6,
        fill,
        edge,
        1.2,
        (0, (3, 2)),
        z=4,
    )
    stage.text(left + 8, y, words, SMALL, blend(TEXT, 0.8))


# ---------------------------------------------------------------- answers


def _verdict(answer):
    return "opened" if answer["reward"] > 0 else "dismissed"


def _said(answer):
    return [word or "no answer" for word in answer["said"]]


def _draw_answers(stage, frames, agent):
    """How many answers were right, and the last twenty, where no memory is to be shown."""
    answers = [frame["answered"] for frame in frames if frame["answered"]]
    stage.text(
        SIDE,
        84,
        f"{fit(plain(agent), 200, LEAD, 'bold')}: the last 20 answers",
        weight="bold",
    )
    draw_last(stage, SIDE + 12, 122, list(map(_verdict, answers[-20:])), 10, 32, 34, 11)
    right = f"{sum(answer['reward'] > 0 for answer in answers):,}"
    stage.text(SIDE, 204, right, 17, OPENED, "bold")
    stage.text(
        SIDE + text_width(right, 17, "bold") + 10,
        205,
        f"of {len(answers):,} answers were right",
    )
    for row, answer in enumerate(answers[-6:][::-1]):
        y = 250 + 26 * row
        mark(stage, _verdict(answer), SIDE + 10, y, 7)
        words = (
            f"{answer['person']}’s {answer['object']}: {', '.join(_said(answer))}"
            + ("" if answer["reward"] == 1 else f" (it was: {answer['right']})")
        )
        stage.label(SIDE + 26, y, fit(words, SIDE_WIDTH - 26, SMALL))


def _draw_bars(stage, frames, choosing):
    """The last question, its answer and the verdict; below it, what is asked now."""
    now = frames[-1]
    answer, asked = now["answered"], now["question"]
    stage.box(24, 416, 852, 32, 11, INK if answer else SOFT, z=3)
    if answer:
        reward = answer["reward"]
        words = (
            f"right, +{reward:g}"
            if reward == 1
            else "wrong, 0"
            if reward == 0
            else f"partly right, +{reward:.2f}"
        )
        said = ", ".join(word.capitalize() for word in _said(answer)) + "."
        x, room_for = 42, 858 - text_width(words, LEAD, "bold") - 44
        source = (
            (frames[-2].get("memory") or {}).get("source", "")
            if len(frames) > 1
            else ""
        )
        told = (
            source
            if reward == 1
            else f"{source}; it was: {answer['right']}".removeprefix("; ")
        )
        for part, size, colour, weight in (
            (
                f"Where was {answer['person']}’s {answer['object']}?",
                LEAD + 1,
                SURFACE,
                "normal",
            ),
            (said, LEAD + 1, SURFACE, "bold"),
            (told, SMALL, "#B9C7D4", "normal"),
        ):
            part = fit(part, room_for - x, size, weight)
            stage.text(x, 432, part, size, colour, weight)
            x += text_width(part, size, weight) + 22
        mark(
            stage, _verdict(answer), 858 - text_width(words, LEAD, "bold") - 18, 432, 9
        )
        stage.text(858, 432, words, LEAD, SURFACE, "bold", "right")
    else:
        stage.text(42, 432, "No question has been answered yet", LEAD, TEXT)
    stage.box(
        24,
        454,
        852,
        30,
        11,
        SURFACE,
        INK if choosing else LINE,
        1.6 if choosing else 1.0,
        z=3,
    )
    stage.text(
        42,
        469,
        f"Now asked: where is {asked['person']}’s {asked['object']}?",
        LEAD + 1,
        INK,
        "bold" if choosing else "normal",
    )
