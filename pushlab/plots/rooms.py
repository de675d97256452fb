"""Plot of the room: the objects at their locations, the agent's view and memory, and its last answers."""

from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.figure import Figure

from pushlab.plots.stage import (
    CIRCLE,
    Stage,
    draw_last_outcomes,
    icon,
    last_frame,
    mark,
)
from pushlab.plots.style import (
    BLUE,
    DISMISSED,
    EPISODIC,
    FLOOR,
    INK,
    LINE,
    LIT,
    MUTED,
    OPENED,
    PURPLE,
    SEMANTIC,
    SERIES,
    SMALL_SIZE,
    SOFT,
    SURFACE,
    TEXT,
    TEXT_SIZE,
    blend,
    house_style,
    one_line,
    text_width,
    truncate_to_width,
)

# Left end and width of the memory or the answers, in hundredths of an inch.
SIDE = 548
WIDTH = 328
DASH = (0, (3, 3))
# {memory: (title, fill, edge)}
MEMORIES = {
    "episodic": ("Episodic memory", EPISODIC, BLUE),
    "semantic": ("Semantic memory", SEMANTIC, PURPLE),
}


@house_style()
def room(
    frames: Sequence[Mapping],
    agent: str = "agent",
    choosing: bool = False,
) -> Figure:
    """Draw the room after the last frame, with the agent's memory or its answers.

    Args:
        frames: Frames of an episode of RoomEnv so far, see its `frame`. An optional entry "memory" is a page of
            `MemoryAgent`.
        agent: Name of the agent.
        choosing: Hide objects out of view, for a person who answers.

    Returns:
        A figure of 9 x 5 inches.
    """
    frame = last_frame(frames)
    numbers = dict.fromkeys(frame["seen"])
    views = [frame["placements"][number] for number in numbers]
    seen = [f"{_owner_and_object(view)} at the {view['location']}" for view in views]
    stage = Stage(900, 500)
    stage.heading(
        f"{frame['env']}: step {frame['step']:,} of {frame['episode_length']:,}",
        truncate_to_width("in view: " + ", ".join(seen), 850, TEXT_SIZE),
    )
    _draw_floor(stage, frame, choosing)
    memory = frame.get("memory") or {}
    names = [name for name in MEMORIES if memory and memory[name]["capacity"]]
    for name, top in zip(names, (76, 246)):
        _draw_memory(stage, top, name, memory[name])
    if not memory:
        _draw_answers(stage, frames, agent)
    _draw_last_answer(stage, frames)
    _draw_question(stage, frame["question"], choosing)
    return stage.figure


def _owner_and_object(item):
    return f"{item['person'].capitalize()}’s {item['object']}"


def _draw_people(stage, points, radius, people, colours, **edge):
    """Draw a disc with the first letter of each person."""
    stage.stamp(CIRCLE, points, radius, colours, z=8, **edge)
    for (x, y), person in zip(points, people):
        initial = person[0].upper()
        stage.text(x, y, initial, SMALL_SIZE, SURFACE, "bold", "center")


# ---------------------------------------------------------------- the floor


def _draw_floor(stage, frame, choosing):
    """Draw all locations with their objects, those in view lit."""
    stage.box(24, 76, 492, 330, 14, FLOOR, "#AFB8C3", 3.0, z=1)
    colours = dict(zip(frame["people"], cycle(SERIES)))
    locations = frame["locations"]
    columns = max(4, int(len(locations) ** 0.5 + 0.999))
    rows = -(-len(locations) // columns)
    width = 480 / columns
    height = min(92, 272 / rows)
    gap = 4 if height < 68 else 8
    for position, location in enumerate(locations):
        row, column = divmod(position, columns)
        x = 34 + column * width
        y = 86 + row * height
        objects = _objects_at(location, frame, colours, choosing)
        is_lit = any(is_seen for _, _, is_seen in objects)
        box = (x, y, width - gap, height - gap)
        hidden = _draw_objects(stage, box, objects)
        _draw_location(stage, box, location, is_lit, hidden)
    _draw_owners(stage, frame, colours)


def _objects_at(location, frame, colours, choosing):
    """Return the objects at a location as (object, colour of its owner, whether it is in view), those in view first."""
    objects = []
    for number, item in enumerate(frame["placements"]):
        is_seen = number in frame["seen"]
        if item["location"] == location and (is_seen or not choosing):
            objects.append((item, colours[item["person"]], is_seen))
    return sorted(objects, key=lambda entry: not entry[2])


def _draw_owners(stage, frame, colours):
    """Draw the owner of each object, with a dark edge if the object is in view."""
    people = [item["person"] for item in frame["placements"]]
    pitch = 472 / len(people)
    points = []
    fills = []
    edges = []
    for number, person in enumerate(people):
        is_seen = number in frame["seen"]
        x = 34 + pitch * (number + 0.5)
        colour = colours[person]
        points.append((x, 370))
        fills.append(colour if is_seen else blend(colour, 0.55, FLOOR))
        edges.append(INK if is_seen else SURFACE)
        if len(people) <= 10:
            name = truncate_to_width(person.capitalize(), pitch, SMALL_SIZE)
            stage.text(x, 394, name, SMALL_SIZE, INK, align="center")
    radius = min(13, pitch / 2 - 2)
    _draw_people(stage, points, radius, people, fills, edge=edges, line=1.8)


def _draw_location(stage, box, location, is_lit, hidden):
    """Draw the box of a location, with the number of hidden objects, and an eye if something there is in view."""
    x, y, width, height = box
    fill = "#EDF0F4"
    edge = "#BFC7D0"
    colour = TEXT
    weight = "normal"
    room_for_name = width - 12
    if is_lit:
        fill = LIT
        edge = INK
        colour = INK
        weight = "bold"
        room_for_name -= 16
        icon(stage, "eye", [(x + width - 12, y + 10)], 7, INK, 1.2)
    stage.box(x, y, width, height, 8, fill, edge, 1.2, z=4)
    if hidden > 0:
        right = x + room_for_name + 6
        stage.label(right, y + 10, f"+{hidden}", align="right")
        room_for_name -= 20
    name = truncate_to_width(location, room_for_name, SMALL_SIZE, weight)
    stage.text(x + 6, y + 10, name, SMALL_SIZE, colour, weight)


def _draw_objects(stage, box, objects):
    """Draw as many objects of a location as fit into its box; return the number of the others."""
    x, y, width, height = box
    is_small = height < 60
    count = max(1, int(width // 18) - 1) if is_small else 2
    points = []
    discs = []
    for row, (item, colour, is_seen) in enumerate(objects[:count]):
        disc = colour if is_seen else blend(colour, 0.45)
        discs.append(disc)
        if is_small:
            points.append((x + 11 + 17 * row, y + height - 9))
            continue
        middle = y + 35 + 25 * row
        points.append((x + 16, middle))
        name = truncate_to_width(one_line(item["object"]), width - 38, SMALL_SIZE)
        length = text_width(name, SMALL_SIZE) + 32
        line = 1.8 if is_seen else 1.0
        stage.box(x + 4, middle - 11, length, 22, 11, SURFACE, disc, line, z=7)
        stage.text(x + 28, middle, name, SMALL_SIZE, INK if is_seen else TEXT)
    if objects:
        people = [item["person"] for item, _, _ in objects[:count]]
        radius = 6.5 if is_small else 8.5
        _draw_people(stage, points, radius, people, discs)
    return len(objects) - count


# ---------------------------------------------------------------- memory


def _draw_memory(stage, top, name, memory):
    """Draw a slot for each unit of capacity: up to four as cards, up to sixteen with the object's name."""
    title, fill, edge = MEMORIES[name]
    items = memory["items"]
    capacity = memory["capacity"]
    stage.text(SIDE, top + 8, title, weight="bold")
    count = f"{len(items)} of {capacity}"
    stage.label(SIDE + WIDTH, top + 8, count, align="right")
    columns = 4 if capacity <= 16 else 16
    rows = -(-capacity // columns)
    width = (WIDTH + 5) / columns
    height = 85 if capacity <= 4 else min(29, 116 / rows)
    for slot in range(capacity):
        row, column = divmod(slot, columns)
        x = SIDE + column * width
        y = top + 24 + row * height
        size = (width - 5, height - 5)
        if slot >= len(items):
            stage.box(x, y, *size, 6, "none", MUTED, dash=DASH)
            continue
        item = items[slot]
        line = 2.4 if item.get("used") else 1.1
        stage.box(x, y, *size, 6, fill, edge, line)
        for line_number, text in enumerate(_slot_texts(item, capacity)):
            stage.text(
                x + (width - 5) / 2,
                y + 12 + 18 * line_number,
                truncate_to_width(one_line(text), width - 9, SMALL_SIZE),
                SMALL_SIZE,
                align="center",
            )
    if memory.get("forgotten"):
        y = top + 34 + rows * height
        _draw_forgotten(stage, y, memory["forgotten"], fill, edge)


def _draw_forgotten(stage, y, item, fill, edge):
    left = SIDE + text_width("forgetting", SMALL_SIZE) + 10
    text = ", ".join(_item_texts(item)[:3])
    text = truncate_to_width(text, WIDTH - left + SIDE - 16, SMALL_SIZE)
    length = text_width(text, SMALL_SIZE) + 16
    fill = blend(fill, 0.3)
    edge = blend(edge, 0.3)
    stage.text(SIDE, y, "forgetting", SMALL_SIZE, DISMISSED)
    stage.box(left, y - 10, length, 20, 6, fill, edge, dash=DASH)
    stage.text(left + 8, y, text, SMALL_SIZE, blend(TEXT, 0.8))


def _slot_texts(item, capacity):
    """Return the lines of text that fit into a slot."""
    if capacity <= 4:
        return _item_texts(item)
    return [item["object"]] if capacity <= 16 else []


def _item_texts(item):
    if "strength" in item:
        count = f"seen {item['strength']:g}×"
        return ["any", item["object"], item["location"], count]
    time = f"t {item['time']:,}"
    return [item["person"], item["object"], item["location"], time]


# ---------------------------------------------------------------- answers


def _outcome(answer):
    return "opened" if answer["reward"] > 0 else "dismissed"


def _answer_text(answer):
    return ", ".join(word or "no answer" for word in answer["answers_by_agent"])


def _draw_answers(stage, frames, agent):
    """Draw the last twenty answers as marks, the number of right answers, and the last six answers as text."""
    answers = [frame["last_answer"] for frame in frames if frame["last_answer"]]
    outcomes = [_outcome(answer) for answer in answers]
    name = truncate_to_width(one_line(agent), 200, TEXT_SIZE, "bold")
    stage.text(SIDE, 84, f"{name}: the last 20 answers", weight="bold")
    draw_last_outcomes(
        stage,
        outcomes,
        SIDE + 12,
        122,
        columns=10,
        column_width=32,
        row_height=34,
        radius=11,
    )
    right = f"{outcomes.count('opened'):,}"
    left = SIDE + text_width(right, 17, "bold") + 10
    stage.text(SIDE, 204, right, 17, OPENED, "bold")
    stage.text(left, 205, f"of {len(answers):,} answers were right")
    for row, answer in enumerate(answers[:-7:-1]):
        y = 250 + 26 * row
        mark(stage, _outcome(answer), [(SIDE + 10, y)], 7)
        text = f"{_owner_and_object(answer)}: {_answer_text(answer)}"
        if answer["reward"] < 1:
            text += f" (it was: {answer['right']})"
        stage.label(SIDE + 26, y, truncate_to_width(text, WIDTH - 26, SMALL_SIZE))


def _draw_last_answer(stage, frames):
    """Draw the last question with its answer, the memory behind it, and the reward."""
    answer = frames[-1]["last_answer"]
    stage.box(24, 416, 852, 32, 11, INK if answer else SOFT)
    if not answer:
        stage.text(42, 432, "No question has been answered yet", TEXT_SIZE, TEXT)
        return
    previous = frames[-2:][0]
    memory = previous.get("memory") or {}
    source = memory.get("source", "")
    if answer["reward"] < 1:
        source = f"{source}   it was: {answer['right']}".strip()
    question = f"Where was {_owner_and_object(answer)}?"
    text = f"{_answer_text(answer).capitalize()}."
    x = 42
    for part, size, colour, weight in (
        (question, TEXT_SIZE, SURFACE, "normal"),
        (text, TEXT_SIZE, SURFACE, "bold"),
        (source, SMALL_SIZE, "#B9C7D4", "normal"),
    ):
        part = truncate_to_width(part, 740 - x, size, weight)
        stage.text(x, 432, part, size, colour, weight)
        x += text_width(part, size, weight) + 22
    mark(stage, _outcome(answer), [(772, 432)], 9)
    reward = f"reward {answer['reward']:.2g}"
    stage.text(858, 432, reward, TEXT_SIZE, SURFACE, "bold", "right")


def _draw_question(stage, question, choosing):
    """Draw the current question, framed if a person answers it."""
    edge = INK if choosing else LINE
    line = 1.6 if choosing else 1.0
    weight = "bold" if choosing else "normal"
    text = f"Now asked: where is {_owner_and_object(question)}?"
    stage.box(24, 454, 852, 30, 11, SURFACE, edge, line)
    stage.text(42, 469, text, TEXT_SIZE + 1, INK, weight)
