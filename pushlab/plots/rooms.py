"""The room: who put what where, what the agent sees of it, what it remembers, and how its last answer turned out."""

from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.figure import Figure

from pushlab.plots.stage import CIRCLE, Stage, draw_last_outcomes, icon, latest, mark
from pushlab.plots.style import (
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
    fit,
    house_style,
    plain,
    text_width,
)

SIDE, WIDTH = 548, 328  # of memory or answers, in hundredths of an inch
DASH = (0, (3, 3))
SHELVES = {
    "episodic": ("Episodic memory", EPISODIC, BLUE),
    "semantic": ("Semantic memory", SEMANTIC, PURPLE),
}


@house_style()
def room(
    frames: Sequence[Mapping], agent: str = "agent", choosing: bool = False
) -> Figure:
    """Draw the room after the last of the frames, with what the agent remembers.

    Args:
        frames: The frames of an episode of RoomEnv up to now, see its `frame`; "memory" is a page of `MemoryAgent`.
        agent: Name of the agent that answers.
        choosing: Leave out what is not in view, for a person who plays.

    Returns:
        Figure of 9 x 5 inches.
    """
    now = latest(frames)
    views = [now["placed"][spot] for spot in dict.fromkeys(now["seen"])]
    things = [f"{_whose(view)} at the {view['location']}" for view in views]
    stage = Stage(900, 500)
    stage.heading(
        f"{now['env']}: step {now['step']:,} of {now['of']:,}",
        fit("in view: " + ", ".join(things), 850, LEAD),
    )
    _draw_floor(stage, now, choosing)
    memory = now.get("memory") or {}
    shelves = [name for name in SHELVES if memory and memory[name]["capacity"]]
    for name, top in zip(shelves, (76, 246)):
        _draw_shelf(stage, top, *SHELVES[name], memory[name])
    if not memory:
        _draw_answers(stage, frames, agent)
    _draw_bars(stage, frames, choosing)
    return stage.figure


def _whose(thing):
    return f"{thing['person'].capitalize()}’s {thing['object']}"


def _draw_people(stage, points, radius, people, colours, **edge):
    """Draw a disc with the first letter of each person."""
    stage.stamp(CIRCLE, points, radius, colours, z=8, **edge)
    for (x, y), person in zip(points, people):
        stage.text(x, y, person[0].upper(), SMALL, SURFACE, "bold", "center")


# ---------------------------------------------------------------- the floor


def _draw_floor(stage, now, choosing):
    floor = stage.box(24, 76, 492, 330, 14, FLOOR, "#AFB8C3", 3.0, z=1)
    colours = dict(zip(now["people"], cycle(SERIES)))
    seen = set(now["seen"])
    locations = now["locations"]
    columns = max(4, int(len(locations) ** 0.5 + 0.999))
    rows = -(-len(locations) // columns)
    width = 480 / columns
    height = min(92, 272 / rows)
    gap = 4 if height < 68 else 8
    lit = []
    for place, location in enumerate(locations):
        x = 34 + place % columns * width
        y = 86 + place // columns * height
        lying = [
            (thing, colours[thing["person"]], spot in seen)
            for spot, thing in enumerate(now["placed"])
            if thing["location"] == location and (spot in seen or not choosing)
        ]
        lying.sort(key=lambda one: not one[2])
        if lying and lying[0][2]:
            lit.append((x + width / 2, y + height / 2))
        _draw_place(stage, x, y, width - gap, height - gap, location, lying)
    for radius in range(40, 120, 10):
        light = stage.stamp(CIRCLE, lit, radius, LIT, alpha=0.18, z=2)
        light.set_clip_path(floor)
    _draw_owners(stage, now["placed"], colours, seen)


def _draw_owners(stage, placed, colours, seen):
    """Draw whose things there are, those in view with a dark edge."""
    pitch = 472 / len(placed)
    points = [(34 + pitch * (spot + 0.5), 370) for spot in range(len(placed))]
    people = [thing["person"] for thing in placed]
    fills = [
        colours[person] if spot in seen else blend(colours[person], 0.55, FLOOR)
        for spot, person in enumerate(people)
    ]
    edges = [INK if spot in seen else SURFACE for spot in range(len(placed))]
    radius = min(13, pitch / 2 - 2)
    _draw_people(stage, points, radius, people, fills, edge=edges, line=1.8)
    if len(placed) > 10:
        return
    for spot, ((x, _), person) in enumerate(zip(points, people)):
        weight = "bold" if spot in seen else "normal"
        name = fit(person, pitch + 4, SMALL, weight)
        stage.text(x, 394, name, SMALL, INK, weight, "center")


def _draw_place(stage, x, y, width, height, location, lying):
    """Draw a place and the things in it, those in view first; what does not fit is counted."""
    is_lit = bool(lying) and lying[0][2]
    is_small = height < 60
    fill, edge, weight = "#EDF0F4", "#BFC7D0", "normal"
    if is_lit:
        fill, edge, weight = SURFACE, "#AEB7C2", "bold"
        icon(stage, "eye", [(x + width - 12, y + 10)], 7, INK, 1.2)
    stage.box(x, y, width, height, 8, fill, edge, 1.2, z=4)
    name = fit(location, width - 12 - 16 * is_lit, SMALL, weight)
    stage.text(x + 6, y + 10, name, SMALL, INK if is_lit else TEXT, weight)
    fits = max(1, int(width // 18) - 1) if is_small else 2
    points = []
    discs = []
    for row, (thing, colour, is_seen) in enumerate(lying[:fits]):
        disc = colour if is_seen else blend(colour, 0.45)
        discs.append(disc)
        if is_small:
            points.append((x + 11 + 17 * row, y + height - 9))
            continue
        middle = y + 35 + 25 * row
        points.append((x + 16, middle))
        words = fit(plain(thing["object"]), width - 38, SMALL)
        long = text_width(words, SMALL) + 32
        line = 1.8 if is_seen else 1.0
        stage.box(x + 4, middle - 11, long, 22, 11, SURFACE, disc, line, z=7)
        stage.text(x + 28, middle, words, SMALL, INK if is_seen else TEXT)
    if lying:
        people = [thing["person"] for thing, _, _ in lying[:fits]]
        _draw_people(stage, points, 6.5 if is_small else 8.5, people, discs)
    if len(lying) > fits:
        more = f"+{len(lying) - fits}"
        stage.text(x + width - 4, y + height - 10, more, SMALL, TEXT, align="right")


# ---------------------------------------------------------------- memory


def _draw_shelf(stage, top, title, fill, edge, shelf):
    """Draw a slot for each thing that fits: up to four as cards, up to sixteen with the object's name."""
    items, capacity = shelf["items"], shelf["capacity"]
    stage.text(SIDE, top + 8, title, weight="bold")
    count = f"{len(items)} of {capacity}"
    stage.label(SIDE + WIDTH, top + 8, count, align="right")
    columns = 4 if capacity <= 16 else 16
    rows = -(-capacity // columns)
    width = (WIDTH + 5) / columns
    height = 85 if capacity <= 4 else min(29, 116 / rows)
    for place in range(capacity):
        x = SIDE + place % columns * width
        y = top + 24 + place // columns * height
        size = (width - 5, height - 5, 6)
        if place >= len(items):
            stage.box(x, y, *size, "none", MUTED, dash=DASH)
            continue
        item = items[place]
        line = 2.4 if item.get("used") else 1.1
        stage.box(x, y, *size, fill, edge, line)
        words = [item["object"]]
        if capacity <= 4:
            words = _slot_words(item)
        for row, word in enumerate(words if capacity <= 16 else ()):
            word = fit(plain(word), width - 9, SMALL)
            middle = y + 12 + 18 * row
            stage.text(x + size[0] / 2, middle, word, SMALL, align="center")
    if shelf.get("forgotten"):
        words = ", ".join(_slot_words(shelf["forgotten"])[:3])
        y = top + 34 + rows * height
        left = SIDE + text_width("forgetting", SMALL) + 10
        words = fit(words, WIDTH - left + SIDE - 16, SMALL)
        long = text_width(words, SMALL) + 16
        stage.text(SIDE, y, "forgetting", SMALL, DISMISSED)
        stage.box(
            left, y - 10, long, 20, 6, blend(fill, 0.3), blend(edge, 0.3), dash=DASH
        )
        stage.text(left + 8, y, words, SMALL, blend(TEXT, 0.8))


def _slot_words(item):
    if "strength" in item:
        return ["any", item["object"], item["location"], f"seen {item['strength']:g}×"]
    return [item["person"], item["object"], item["location"], f"t {item['time']:,}"]


# ---------------------------------------------------------------- answers


def _outcome(answer):
    return "opened" if answer["reward"] > 0 else "dismissed"


def _said(answer):
    return ", ".join(word or "no answer" for word in answer["said"])


def _draw_answers(stage, frames, agent):
    """Draw the last twenty answers as marks, how many were right, and the last six in words."""
    answers = [frame["answered"] for frame in frames if frame["answered"]]
    name = fit(plain(agent), 200, LEAD, "bold")
    stage.text(SIDE, 84, f"{name}: the last 20 answers", weight="bold")
    outcomes = [_outcome(answer) for answer in answers]
    draw_last_outcomes(stage, outcomes, SIDE + 12, 122, 10, 32, 34, 11)
    right = f"{sum(answer['reward'] > 0 for answer in answers):,}"
    stage.text(SIDE, 204, right, 17, OPENED, "bold")
    left = SIDE + text_width(right, 17, "bold") + 10
    stage.text(left, 205, f"of {len(answers):,} answers were right")
    for row, answer in enumerate(answers[:-7:-1]):
        y = 250 + 26 * row
        mark(stage, _outcome(answer), [(SIDE + 10, y)], 7)
        words = f"{_whose(answer)}: {_said(answer)}"
        if answer["reward"] < 1:
            words += f" (it was: {answer['right']})"
        stage.label(SIDE + 26, y, fit(words, WIDTH - 26, SMALL))


def _draw_bars(stage, frames, choosing):
    """Draw the last question with its answer and verdict, and below it what is asked now."""
    answer = frames[-1]["answered"]
    stage.box(24, 416, 852, 32, 11, INK if answer else SOFT)
    if answer:
        source = (frames[-2:][0].get("memory") or {}).get("source", "")
        if answer["reward"] < 1:
            source = f"{source}   it was: {answer['right']}".strip()
        question = f"Where was {_whose(answer)}?"
        said = f"{_said(answer).capitalize()}."
        x = 42
        for words, size, colour, weight in (
            (question, LEAD, SURFACE, "normal"),
            (said, LEAD, SURFACE, "bold"),
            (source, SMALL, "#B9C7D4", "normal"),
        ):
            words = fit(words, 740 - x, size, weight)
            stage.text(x, 432, words, size, colour, weight)
            x += text_width(words, size, weight) + 22
        mark(stage, _outcome(answer), [(772, 432)], 9)
        reward = f"reward {answer['reward']:.2g}"
        stage.text(858, 432, reward, LEAD, SURFACE, "bold", "right")
    else:
        stage.text(42, 432, "No question has been answered yet", LEAD, TEXT)
    edge, line, weight = LINE, 1.0, "normal"
    if choosing:
        edge, line, weight = INK, 1.6, "bold"
    stage.box(24, 454, 852, 30, 11, SURFACE, edge, line)
    asked = f"Now asked: where is {_whose(frames[-1]['question'])}?"
    stage.text(42, 469, asked, LEAD + 1, INK, weight)
