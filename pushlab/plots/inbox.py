"""The phone with its inbox: the notification in hand, the cache, and the day so far.

It draws the frames of the world in which an agent manages arriving notifications, plain dicts; see `inbox`.
"""

from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
from matplotlib.figure import Figure

from pushlab.plots.phone import (
    CARD,
    CARD_WIDTH,
    DASHED,
    LEFT,
    NO_BAR,
    PALE,
    draw_app,
    draw_empty_card,
    draw_past_card,
    draw_phone,
)
from pushlab.plots.phone_words import (
    UNKNOWN,
    app_name,
    app_of,
    topic,
    value_words,
    words_by_role,
)
from pushlab.plots.stage import CIRCLE, Stage, app_colour, latest, mark, tile
from pushlab.plots.style import (
    BLUE,
    DISMISSED,
    INK,
    LEAD,
    LINE,
    PAPER,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    TITLE,
    TRACK,
    WAITING,
    WAITING_EDGE,
    deep,
    fit,
    house_style,
    plain,
    short_number,
    text_width,
)

RIGHT = 876  # end of the drawing beside the phone
DAY = 24 * 60  # minutes
LANES = ("arrived", "waiting", "shown", "opened", "dismissed", "unseen")
RESULTS = {
    "show": "was shown",
    "cache": "waits in the cache",
    "dismiss": "was dismissed unseen",
}


@house_style()
def inbox(
    frames: Sequence[Mapping], agent: str = "agent", choosing: bool = False
) -> Figure:
    """Draw the phone of one user at the last frame, the notifications in its cache, and the day up to now.

    Args:
        frames: Frames of one episode, oldest first, each a dict with
            env, user: names;
            date: the day of this moment, year-month-day, or None if days have no date;
            now, of: minutes since the horizon's first midnight, and in the whole horizon;
            context: {feature: value} at this moment;
            hand: None, or {notification: {feature: value}, arrived: minutes, deferrals: int};
            cache: the same of those that wait, oldest first;
            events: all arrivals up to now, in order: {notification, arrived, shown, closed, outcome}, with minutes or
            None; the outcome is opened, dismissed (by the user), unseen (dismissed by the agent), expired, pending
            (shown, no answer yet), waiting or in hand;
            places: (from, to, words) of the day so far;
            allowed: names of the actions allowed now;
            last: None, or {action, forbidden, notification} of the step that led here;
            reward: so far;
            labels: optional, {feature: {value: friendlier words}}.
        agent: Name of the agent that chose.
        choosing: Whether a person decides now: the card shows the actions allowed, not the decision just taken.

    Returns:
        A figure of 9 x 4.6 inches.
    """
    now = latest(frames)
    is_over = now["now"] >= now["of"]
    midnight = DAY * int((now["now"] - is_over) // DAY)
    time = clock_time(now["now"] - midnight)
    stage = Stage(900, 460)
    stage.heading(fit(_title(now, time), 608, TITLE, "bold"), _lead(now, agent), LEFT)
    _draw_screen(stage, now, time, agent, choosing)
    _draw_cache(stage, now)
    _draw_places(stage, now["places"], now["now"], midnight, f"now {time}")
    _draw_lanes(stage, now, midnight)
    return stage.figure


def clock_time(minutes: float) -> str:
    """Return minutes since midnight as the time of day.

    >>> clock_time(1122.4), clock_time(1440)
    ('18:42', '24:00')
    """
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours:02}:{minutes:02}"


def length_of_time(minutes: float) -> str:
    """Return a span of time for a label.

    >>> [length_of_time(m) for m in (0.2, 12, 134, 200, 4000)]
    ['now', '12 min', '134 min', '3.3 h', '2.8 days']
    """
    if minutes < 1:
        return "now"
    if minutes < 180:
        return f"{int(minutes)} min"
    return f"{minutes / 60:.1f} h" if minutes < 2 * DAY else f"{minutes / DAY:.1f} days"


def _title(now, time):
    """Return the last event as a title."""
    last = now["last"]
    if now["now"] >= now["of"]:
        opened = sum(event["outcome"] == "opened" for event in now["events"])
        return f"The end: {opened:,} of {len(now['events']):,} notifications opened"
    if last and last["forbidden"]:
        return f"“{last['action']}” is not allowed now"
    handled = now["hand"] or (last if last and last["notification"] else None)
    if not handled:
        return f"Nothing is in hand at {time}"
    about = topic(handled["notification"], now.get("labels") or {})
    result = "is in hand" if now["hand"] else RESULTS.get(last["action"], "")
    return plain(f"The {about} notification {result}")


def _lead(now, agent):
    """Return the environment, the user, the agent's choice, the number that wait and the reward so far."""
    words = [plain(now["env"]).removeprefix("pushlab/")]
    words.append(f"user {fit(plain(now['user']), 110, LEAD)}")
    if now["last"]:
        words.append(f"{fit(plain(agent), 110, LEAD)} chose {now['last']['action']}")
    words.append(f"{len(now['cache']) or 'none'} waiting")
    words.append(f"reward {short_number(now['reward'])}")
    if now["of"] > DAY:
        day = int(now["now"] // DAY) + 1
        words.insert(2, f"day {min(day, now['of'] // DAY):,.0f}")
    return fit(" · ".join(words), 608, LEAD)


# ---------------------------------------------------------------- the screen


def _draw_screen(stage, now, time, agent, choosing):
    """Draw the day, the place, the card in hand with its actions, and the last two notifications that are done."""
    labels = now.get("labels") or {}
    known = words_by_role(now["context"], labels)
    draw_phone(stage, 420, time, known)
    day = known.get("day", "Today")
    if now.get("date"):
        day = date.fromisoformat(str(now["date"])[:10]).strftime("%A")
    elif day.isdigit():
        day = f"Day {day}"
    words = fit(plain(f"{day} {time}"), 166, LEAD, "bold")
    stage.text(47, 73, words, LEAD, SURFACE, "bold")
    places = [known[role] for role in ("place", "activity") if role in known]
    words = fit(", ".join(places) or "place unknown", 166, SMALL)
    stage.text(47, 89, words, SMALL, PALE)

    last = now["last"]
    is_over = now["now"] >= now["of"]
    forbidden = last and last["forbidden"]
    done = last and not forbidden and last["action"] in RESULTS and not choosing
    actions = now["allowed"]
    said = "only these are allowed" if forbidden else "allowed now"
    colour = deep(DISMISSED) if forbidden else TEXT
    if now["hand"]:
        _draw_card(stage, now["hand"], "in hand", BLUE, now["now"], labels)
    elif done and not is_over:
        _draw_card(stage, last, "was in hand", TEXT, now["now"], labels)
        actions = tuple(RESULTS)
        said = f"{plain(agent)} chose"
    else:
        words = "the end" if is_over else "nothing in hand"
        draw_empty_card(stage, 107, 138, words)
        colour = colour if forbidden else INK
    if not is_over:
        chosen = last["action"] if done and not now["hand"] else None
        stage.text(51, 194, fit(said, 158, SMALL), SMALL, colour, z=11)
        _draw_actions(stage, actions, chosen)

    done = []
    for event in now["events"]:
        if event["outcome"] not in ("waiting", "in hand"):
            closed = event["closed"]
            minute = event["shown"] if closed is None else closed
            done.append((minute, event))
    done.sort(key=lambda pair: pair[0])
    if done:
        stage.text(47, 269, "earlier", SMALL, SURFACE)
    for place, (minute, event) in enumerate(reversed(done[-2:])):
        kind = "shown" if event["outcome"] == "pending" else event["outcome"]
        ago = length_of_time(now["now"] - minute)
        y = 284 + 58 * place
        draw_past_card(stage, y, event["notification"], labels, ago, kind)


def _draw_card(stage, event, state, colour, now, labels):
    """Draw the white card of the notification in hand, or just dealt with."""
    right = CARD + CARD_WIDTH - 12
    stage.box(CARD, 107, CARD_WIDTH, 138, 13, z=6)
    stage.text(CARD + 12, 123, state, SMALL, colour, "bold")
    if "arrived" in event:
        age = length_of_time(now - event["arrived"])
        if event["deferrals"]:
            age = f"{age}, put off {event['deferrals']}×"
        stage.label(right, 123, age, align="right")
    draw_app(stage, CARD + 10, 137, event["notification"], labels, 126)
    stage.line([(CARD + 12, 179), (right, 179)], LINE, 0.8, z=7)


def _draw_actions(stage, actions, chosen):
    """Draw actions as pills in a row, the chosen one dark."""
    x = CARD + 8
    widths = [text_width(action, SMALL, "bold") for action in actions]
    space = CARD_WIDTH - 13 - sum(widths)
    padding = min(26, space / max(1, len(actions)) - 3)
    for action, width in zip(actions, widths):
        fill = INK if action == chosen else SOFT
        colour = SURFACE if action == chosen else INK
        width += padding
        stage.box(x, 209, width, 24, 12, fill, z=7)
        stage.text(x + width / 2, 221, action, SMALL, colour, "bold", "center")
        x += width + 3


def _draw_cache(stage, now):
    """Draw up to three cards, or two and a card of the rest; the first is the one that check-cache takes."""
    cache = now["cache"]
    labels = now.get("labels") or {}
    stage.box(LEFT, 74, RIGHT - LEFT, 112, 12, SOFT)
    stage.label(LEFT + 14, 90, "cache")
    if not cache:
        stage.box(LEFT + 12, 102, 584, 76, 10, SOFT, NO_BAR, 1.1, DASHED, z=4)
        stage.label(LEFT + 304, 140, "nothing waits", align="center")
        return
    stage.label(RIGHT - 14, 90, "oldest first: the framed card is next", align="right")
    count = len(cache) if len(cache) <= 3 else 2
    for place, waiting in enumerate(cache[:count]):
        x = LEFT + 12 + 198 * place
        edge = LINE if place else INK
        stage.box(x, 102, 188, 76, 10, edge=edge, line=1 if place else 1.5, z=4)
        draw_app(stage, x + 10, 111, waiting["notification"], labels, 136)
        mark(stage, "waiting", [(x + 23, 159)])
        waited = length_of_time(now["now"] - waiting["arrived"])
        stage.text(x + 44, 159, waited, weight="bold")
        stage.label(x + 178, 159, f"put off {waiting['deferrals']}×", align="right")
    rest = cache[count:]
    if rest:
        x = LEFT + 12 + 198 * count
        stage.box(x, 102, 188, 76, 10, edge=LINE, z=4)
        for place, waiting in enumerate(rest[:6]):
            app = app_of(waiting["notification"])
            letter = app_name(app or "Notification")[0]
            tile(stage, x + 10 + 29 * place, 111, 24, letter, app_colour(app))
        waited = length_of_time(now["now"] - rest[0]["arrived"])
        words = f"{len(rest):,} more, up to {waited}"
        stage.text(x + 10, 159, fit(words, 168, LEAD, "bold"), weight="bold")


# ---------------------------------------------------------------- the day


def _at(minutes):
    """Return x of minutes since midnight on the lanes."""
    return 376 + 456 * np.clip(minutes / DAY, 0, 1)


def _draw_places(stage, places, now, midnight, words):
    """Draw the places of the day so far; the hours to come are blank."""
    x = _at(now - midnight)
    stage.label(LEFT, 214, "the day so far")
    stage.label(RIGHT - 4, 214, "today", align="right")
    stage.box(376, 205, 456, 18, 4, PAPER, LINE)
    room = text_width(words, SMALL, "bold") + 12
    before = x + room > 832  # no room behind the line
    for begin, end, place in places:
        start = _at(begin - midnight)
        stop = min(_at(end - midnight), x)
        if stop - start < 2.5:
            continue
        stage.box(start + 1, 205, stop - start - 2, 18, 4, TRACK)
        middle = (start + stop - (room if before and stop > x - room else 0)) / 2
        name = value_words(place)
        is_known = name.lower() not in UNKNOWN
        if is_known and text_width(name, SMALL) < 2 * (middle - start) - 10:
            stage.text(middle, 214, name, SMALL, TEXT, align="center")
    align = "right" if before else "left"
    left = x - 5 if before else x + 6
    halo = TRACK if before else PAPER
    stage.text(left, 214, words, SMALL, INK, "bold", align, z=14, halo=halo)
    stage.line([(x, 205), (x, 412)], INK, 1.3, z=14)


def _draw_lanes(stage, now, midnight):
    """Draw a lane for each thing that can happen to a notification, with its number on this day."""
    minutes = {name: [] for name in (*LANES, "expired")}
    for event in now["events"]:
        minutes["arrived"].append(event["arrived"])
        minutes["shown"].append(event["shown"])
        minutes.setdefault(event["outcome"], []).append(event["closed"])
    for kind, found in minutes.items():
        known = np.array([minute for minute in found if minute is not None])
        minutes[kind] = known[(known >= midnight) & (known <= now["now"])]
    end = _at(now["now"] - midnight)
    for lane, name in enumerate(LANES):
        y = 255 + 29 * lane
        kinds = ("unseen", "expired") if name == "unseen" else (name,)
        count = len(now["cache"]) if name == "waiting" else 0
        for kind in kinds:
            points = [(_at(minute - midnight), y) for minute in minutes[kind]]
            count += len(points)
            if name in ("opened", "dismissed", "unseen"):
                stage.stamp(CIRCLE, points, 7.6, PAPER, z=11)
            mark(stage, kind, points, 7 if kind == "arrived" else 6)
        stage.line([(376, y), (end, y)], LINE, 1.0, z=2)
        mark(stage, name, [(LEFT + 10, y)], 7)
        stage.text(LEFT + 26, y, name)
        stage.text(RIGHT - 4, y, f"{count:,}", LEAD, INK, "bold", "right")
    for hour in range(0, 25, 3):
        x = _at(60 * hour)
        stage.label(x, 427, clock_time(60 * hour), align="center")
    if len(minutes["expired"]):
        mark(stage, "expired", [(LEFT + 10, 446)], 6)
        stage.label(LEFT + 26, 446, "expired: unseen, because its time was over")
    _draw_waiting(stage, now, midnight)


def _draw_waiting(stage, now, midnight):
    """Draw the number of notifications that wait as a band, higher when more wait."""
    changes = []
    for event in now["events"]:
        ends = [event["shown"], event["closed"], now["now"]]
        end = next(minute for minute in ends if minute is not None)
        if event["outcome"] != "in hand" and end > max(event["arrived"], midnight):
            changes.append((event["arrived"], 1))
            changes.append((end, -1))
    if not changes:
        return
    minutes, steps = np.transpose(sorted(changes))
    number = np.cumsum(steps)
    ax = stage.axes(376, 266, 456, 25, zorder=3)
    ax.set_axis_off()
    ax.set(xlim=(midnight, midnight + DAY), ylim=(0, max(25 / 8, number.max())))
    look = {"fc": WAITING, "ec": WAITING_EDGE, "lw": 0.9, "step": "post"}
    ax.fill_between(minutes, number, where=number > 0, **look)
