"""The room: who put what where, what the agent sees of it, what it remembers, and how its last answer turned out."""

import numpy as np
from matplotlib.colors import to_rgb

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
    PAPER,
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
ROOM = (24, 76, 492, 330)                   # x, y, width, height of the floor
SIDE, SIDE_WIDTH = 548, 328                 # where the shelves stand
FADED = 0.3                                 # strength of a slot that is being forgotten
SHELVES = {"episodic": ("Episodic memory", "what happened when", EPISODIC, BLUE),
           "semantic": ("Semantic memory", "what is usually so", SEMANTIC, PURPLE)}


@house_style()
def room(frames, figure=None, agent="agent", choosing=False):
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
    if not frames:
        raise ValueError("room() needs at least one frame: the one after reset()")
    now = frames[-1]
    stage = Stage(WIDTH, HEIGHT, figure)
    stage.heading(_title(now), f"{now['env']}   ·   step {now['step']:,} of {now['of']:,}")
    _draw_floor(stage, now, choosing)
    if now.get("memory"):
        _draw_shelves(stage, now["memory"])
    else:
        _draw_answers(stage, frames, agent)
    _draw_bars(stage, frames, choosing)
    return stage.figure


def _title(now):
    seen = [now["placed"][spot] for spot in dict.fromkeys(now["seen"])]
    things = [f"{one['person'].capitalize()}’s {one['object']}: {one['location']}" for one in seen]
    if len(now["seen"]) > 1:
        return f"{len(now['seen'])} agents see " + ", ".join(things)
    one = seen[0]
    return f"The agent sees where {one['person'].capitalize()}’s {one['object']} is: {one['location']}"


def _colours(people):
    return {person: SERIES[place % 4] for place, person in enumerate(people)}


# ---------------------------------------------------------------- the floor

def _draw_floor(stage, now, choosing):
    x, y, width, height = ROOM
    stage.box(x, y, width, height, 14, FLOOR, "#AFB8C3", 3.0, z=1)
    many = len(now["people"]) > 10
    strip = 34 if many else 52
    cells = _cells(now["locations"], x + 10, y + 10, width - 20, height - 20 - strip)
    seen = set(now["seen"])
    lit = {now["placed"][spot]["location"] for spot in seen}
    clip = stage.box(x + 1.5, y + 1.5, width - 3, height - 3, 13, "none", z=2)
    for location in lit:
        _shine(stage, cells[location], clip)
    lying = {location: [] for location in cells}
    for spot, one in sorted(enumerate(now["placed"]), key=lambda pair: pair[0] not in seen):
        if spot in seen or not choosing:
            lying[one["location"]].append((one, spot in seen))
    colours = _colours(now["people"])
    for location, cell in cells.items():
        _draw_place(stage, cell, location, lying[location], location in lit, colours)
    _draw_people(stage, now, seen, colours, x + 10, y + height - strip, width - 20, many)


def _cells(locations, x, y, width, height):
    """{location: (x, y, width, height)}: a grid that depends on the locations alone, so that nothing jumps about."""
    columns = max(4, int(np.ceil(np.sqrt(len(locations)))))
    rows = int(np.ceil(len(locations) / columns))
    gap = 8 if rows <= 4 else 4
    wide, high = (width - gap * (columns - 1)) / columns, min(84, (height - gap * (rows - 1)) / rows)
    return {location: (x + (place % columns) * (wide + gap), y + (place // columns) * (high + gap), wide, high)
            for place, location in enumerate(locations)}


def _shine(stage, cell, clip):
    """Light on the floor round the place in view."""
    x, y, width, height = cell
    light = np.zeros((80, 80, 4))
    light[..., :3] = to_rgb(LIT)
    light[..., 3] = np.clip((1 - np.hypot(*np.meshgrid(*[np.linspace(-1, 1, 80)] * 2))) / 0.55, 0, 1)
    reach = 1.3 * max(width, height) / 2 + 40
    middle = x + width / 2, y + height / 2
    image = stage.ax.imshow(light, zorder=2, aspect="auto", extent=(
        middle[0] - reach, middle[0] + reach, middle[1] + reach, middle[1] - reach))
    image.set_clip_path(clip)
    stage.ax.set(xlim=(0, stage.width), ylim=(stage.height, 0))


def _draw_place(stage, cell, location, lying, lit, colours):
    x, y, width, height = cell
    fill, edge = (SURFACE, "#AEB7C2") if lit else ("#EDF0F4", "#BFC7D0")
    stage.box(x, y, width, height, 8, fill, edge, 1.2, z=4)
    small = height < 60
    left = x + (5 if small else 9)
    room_for_name = width - 12 - (18 if lit and not small else 0)
    stage.text(left, y + (9 if small else 13), fit(location, room_for_name, SMALL, "bold" if lit else "normal"), SMALL,
               INK if lit else TEXT, "bold" if lit else "normal")
    if lit and not small:
        icon(stage, "eye", x + width - 14, y + 13, 7, INK, 1.2)
    if small:
        return _draw_discs(stage, left + 7, y + height - 10, width - 10, lying, colours, 6.5)
    pills = lying if len(lying) <= 2 else lying[:1]
    for row, (one, seen) in enumerate(pills):
        _draw_pill(stage, x + 4, y + 36 + 25 * row, width - 8, one, colours[one["person"]], seen)
    if len(lying) > 2:
        _draw_discs(stage, x + 17, y + 61, width - 20, lying[1:], colours, 9)


def _draw_pill(stage, x, y, room_for, one, colour, seen):
    """An object and whose it is; faint where the agent does not see it."""
    words = fit(plain(one["object"]), room_for - 32, SMALL)
    width = text_width(words, SMALL) + 32
    fill, edge, disc = (SURFACE, colour, colour) if seen else (blend(SURFACE, .6, SOFT), blend(colour, .35),
                                                               blend(colour, .45))
    stage.box(x, y - 11, width, 22, 11, fill, edge, 1.8 if seen else 1.0, z=7)
    stage.disc(x + 12, y, 8.5, disc, z=8)
    stage.text(x + 12, y, one["person"][0].upper(), SMALL, SURFACE, "bold", "center", z=9)
    stage.text(x + 24, y, words, SMALL, INK if seen else TEXT, z=9)


def _draw_discs(stage, x, y, room_for, lying, colours, radius):
    """Whose objects lie here, where there is no room for more; what does not fit is counted."""
    step = 2 * radius + 2
    fits = max(1, int(room_for // step))
    shown = lying if len(lying) <= fits else lying[:fits - 1]
    for place, (one, seen) in enumerate(shown):
        colour = colours[one["person"]]
        stage.disc(x + place * step, y, radius, colour if seen else blend(colour, .45), z=8)
        stage.text(x + place * step, y, one["person"][0].upper(), SMALL, SURFACE, "bold", "center", z=9)
    if len(shown) < len(lying):
        stage.text(x + len(shown) * step - radius, y, f"+{len(lying) - len(shown)}", SMALL, TEXT, z=9)


def _draw_people(stage, now, seen, colours, x, y, width, many):
    """Everybody at their spots, in the order of the spots; who is in view stands out."""
    pitch = width / len(now["placed"])
    for spot, one in enumerate(now["placed"]):
        middle, colour, lit = x + pitch * (spot + .5), colours[one["person"]], spot in seen
        radius = min(13, pitch / 2 - 2)
        stage.disc(middle, y + 14, radius, colour if lit else blend(colour, .55, FLOOR), INK if lit else SURFACE,
                   2.0 if lit else 1.4, z=8)
        stage.text(middle, y + 14, one["person"][0].upper(), LEAD, SURFACE, "bold", "center", z=9)
        if not many:
            stage.text(middle, y + 38, fit(one["person"], pitch - 2, SMALL), SMALL, INK if lit else TEXT,
                       "bold" if lit else "normal", "center", z=9)


# ---------------------------------------------------------------- memory

def _draw_shelves(stage, memory):
    shelves = [(kind, memory[kind]) for kind in SHELVES if memory[kind]["capacity"]]
    for top, (kind, shelf) in zip((76, 246), shelves):
        _draw_shelf(stage, top, kind, shelf)


def _draw_shelf(stage, top, kind, shelf):
    title, note, fill, edge = SHELVES[kind]
    items, capacity = shelf["items"], shelf["capacity"]
    stage.text(SIDE, top + 8, title, LEAD, INK, "bold")
    stage.text(SIDE + text_width(title, LEAD, "bold") + 10, top + 8, f"{len(items)} of {capacity}", SMALL, TEXT)
    stage.text(SIDE + SIDE_WIDTH, top + 8, note, SMALL, TEXT, align="right")
    if capacity <= 4:
        _draw_cards(stage, top + 24, kind, shelf, fill, edge)
    elif capacity <= 16:
        _draw_small_cards(stage, top + 24, shelf, fill, edge)
    else:
        _draw_squares(stage, top + 24, shelf, fill, edge)


def _lines(kind, item):
    return ("any" if kind == "semantic" else item["person"]), item["object"], item["location"]


def _draw_cards(stage, top, kind, shelf, fill, edge):
    """Up to four slots, side by side: whose, what, where; and since when, or how often."""
    capacity, gap = shelf["capacity"], 5
    wide = (SIDE_WIDTH - 3 * gap) / 4
    slots = [*shelf["items"], *[None] * (capacity - len(shelf["items"]))]
    strongest = max([item.get("strength", 1) for item in shelf["items"]], default=1)
    for place, item in enumerate(slots):
        x = SIDE + place * (wide + gap)
        if item is None:
            stage.box(x, top, wide, 66, 8, "none", MUTED, 1.0, (0, (3, 3)), z=4)
            stage.text(x + wide / 2, top + 33, "free", SMALL, TEXT, align="center")
            continue
        stage.box(x, top, wide, 66, 8, fill, edge, 2.4 if item.get("used") else 1.2, z=4)
        for row, words in enumerate(_lines(kind, item)):
            weight = "bold" if row == 1 else "normal"
            size = SMALL if text_width(words, SMALL, weight) <= wide - 4 else SMALL - 1
            stage.text(x + wide / 2, top + 15 + 18 * row, fit(words, wide - 4, size, weight), size,
                       INK if row == 1 else TEXT, weight, "center")
        if kind == "semantic":
            stage.text(x + wide / 2, top + 84, f"seen {item['strength']:g}×", SMALL, TEXT, align="center")
            stage.box(x + 8, top + 95, wide - 16, 5, 2.5, LINE, z=5)
            stage.box(x + 8, top + 95, (wide - 16) * item["strength"] / strongest, 5, 2.5, edge, z=6)
        else:
            stage.text(x + wide / 2, top + 84, f"t {item['time']:,}", SMALL, TEXT, align="center")
    stage.box(SIDE - 6, top + 69, SIDE_WIDTH + 12, 5, 2.5, "#B9C1CB", z=3)
    _say_forgotten(stage, top + (112 if kind == "semantic" else 104), kind, shelf)


def _draw_small_cards(stage, top, shelf, fill, edge):
    """Up to sixteen slots in rows of four: the object only."""
    gap, high = 6, 24
    wide = (SIDE_WIDTH - 3 * gap) / 4
    for place in range(shelf["capacity"]):
        x, y = SIDE + (place % 4) * (wide + gap), top + (place // 4) * (high + 5)
        item = shelf["items"][place] if place < len(shelf["items"]) else None
        if item is None:
            stage.box(x, y, wide, high, 6, "none", MUTED, 1.0, (0, (3, 3)), z=4)
            continue
        stage.box(x, y, wide, high, 6, fill, edge, 2.4 if item.get("used") else 1.1, z=4)
        words = item["object"] if "strength" in item else f"{item['person'][0].upper()} {item['object']}"
        stage.text(x + wide / 2, y + high / 2, fit(words, wide - 8, SMALL), SMALL, INK, align="center")
    rows = -(-shelf["capacity"] // 4)
    _say_forgotten(stage, top + rows * (high + 5) + 8, "", shelf)


def _draw_squares(stage, top, shelf, fill, edge):
    """More slots: squares without words."""
    columns, side = 16, SIDE_WIDTH / 16
    side = min(side, 100 / -(-shelf["capacity"] // columns))
    for place in range(shelf["capacity"]):
        x, y = SIDE + (place % columns) * side, top + (place // columns) * side
        taken = place < len(shelf["items"])
        used = taken and shelf["items"][place].get("used")
        stage.box(x, y, side - 3, side - 3, 3, edge if used else fill if taken else "none", edge if taken else MUTED,
                  1.0, "-" if taken else (0, (2, 2)), z=4)
    _say_forgotten(stage, top + -(-shelf["capacity"] // columns) * side + 8, "", shelf)


def _say_forgotten(stage, y, kind, shelf):
    """What had to go in this step, as a faded slot with a dashed edge."""
    item = shelf.get("forgotten")
    if item is None:
        return
    words = f"{'any ' if 'strength' in item else item['person'] + '’s '}{item['object']}, {item['location']}"
    label = "forgetting"
    stage.text(SIDE, y, label, SMALL, DISMISSED)
    left = SIDE + text_width(label, SMALL) + 10
    words = fit(words, SIDE_WIDTH - (left - SIDE) - 16, SMALL)
    fill, edge = (SEMANTIC, PURPLE) if "strength" in item else (EPISODIC, BLUE)
    stage.box(left, y - 10, text_width(words, SMALL) + 16, 20, 6, blend(fill, FADED), blend(edge, FADED), 1.2,
              (0, (3, 2)), z=4)
    stage.text(left + 8, y, words, SMALL, blend(TEXT, .8))


# ---------------------------------------------------------------- answers

def _reward_words(reward):
    return f"right, +{reward:g}" if reward == 1 else "wrong, 0" if reward == 0 else f"partly right, +{reward:.2f}"


def _draw_answers(stage, frames, agent):
    """How many answers were right, and the last twenty, where no memory is to be shown."""
    answers = [frame["answered"] for frame in frames if frame["answered"]]
    rights = [answer["reward"] > 0 for answer in answers]
    stage.text(SIDE, 84, f"{fit(plain(agent), 200, LEAD, 'bold')}: the last 20 answers", LEAD, INK, "bold")
    for place in range(20):
        x, y = SIDE + 12 + (place % 10) * 32, 122 + (place // 10) * 34
        if place < len(answers[-20:]):
            mark(stage, "opened" if rights[-20:][place] else "dismissed", x, y, 11)
        else:
            stage.disc(x, y, 10, PAPER, LINE, 1.2)
    right = f"{sum(rights):,}"
    stage.text(SIDE, 204, right, 17, OPENED, "bold")
    stage.text(SIDE + text_width(right, 17, "bold") + 10, 205, f"of {len(answers):,} answers were right", LEAD)
    for row, answer in enumerate(answers[-6:][::-1]):
        y = 250 + 26 * row
        said = ", ".join(word or "no answer" for word in answer["said"])
        mark(stage, "opened" if answer["reward"] > 0 else "dismissed", SIDE + 10, y, 7)
        words = f"{answer['person']}’s {answer['object']}: {said}" + (
            "" if answer["reward"] == 1 else f" (it was: {answer['right']})")
        stage.text(SIDE + 26, y, fit(words, SIDE_WIDTH - 26, SMALL), SMALL, TEXT)


def _draw_bars(stage, frames, choosing):
    """The last question, its answer and the verdict; below it, what is asked now."""
    now = frames[-1]
    answer, asked = now["answered"], now["question"]
    stage.box(24, 416, 852, 32, 11, INK if answer else SOFT, z=3)
    if answer:
        words = _reward_words(answer["reward"])
        said = ", ".join((word or "no answer").capitalize() for word in answer["said"]) + "."
        x, room_for = 42, 858 - text_width(words, LEAD, "bold") - 44
        source = (frames[-2].get("memory") or {}).get("source", "") if len(frames) > 1 else ""
        told = source if answer["reward"] == 1 else f"{source}; it was: {answer['right']}".removeprefix("; ")
        for part, size, colour, weight in (
                (f"Where was {answer['person']}’s {answer['object']}?", LEAD + 1, SURFACE, "normal"),
                (said, LEAD + 1, SURFACE, "bold"), (told, SMALL, "#B9C7D4", "normal")):
            part = fit(part, room_for - x, size, weight)
            stage.text(x, 432, part, size, colour, weight)
            x += text_width(part, size, weight) + 22
        kind = "opened" if answer["reward"] > 0 else "dismissed"
        mark(stage, kind, 858 - text_width(words, LEAD, "bold") - 18, 432, 9)
        stage.text(858, 432, words, LEAD, SURFACE, "bold", "right")
    else:
        stage.text(42, 432, "No question has been answered yet", LEAD, TEXT)
    stage.box(24, 454, 852, 30, 11, SURFACE, INK if choosing else LINE, 1.6 if choosing else 1.0, z=3)
    stage.text(42, 469, f"Now asked: where is {asked['person']}’s {asked['object']}?", LEAD + 1, INK,
               "bold" if choosing else "normal")
