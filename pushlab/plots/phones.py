"""Plots of a user's phone: the last notification with its outcome, and the inbox of arriving notifications.

The plots draw frames, plain dicts returned by the push environments, and need no schema. Features with a known role
on a phone, such as day, place or battery, are recognised by name.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.resources import files
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pushlab.plots.stage import (
    CIRCLE,
    Stage,
    app_colour,
    draw_last_outcomes,
    icon,
    last_frame,
    mark,
    tile,
)
from pushlab.plots.style import (
    BLUE,
    BOUND_DASH,
    DISMISSED,
    GREY,
    INK,
    LINE,
    OPENED,
    PAPER,
    SMALL_SIZE,
    SOFT,
    SURFACE,
    TEXT,
    TEXT_SIZE,
    TICK_SIZE,
    TITLE_SIZE,
    TRACK,
    WAITING,
    WAITING_EDGE,
    blend,
    darken,
    format_number,
    house_style,
    label_axes,
    label_line_ends,
    one_line,
    readable_name,
    text_width,
    truncate_to_width,
)

_VOCABULARY = json.loads(
    files("pushlab.plots").joinpath("phone_words.json").read_text()
)
ROLES = _VOCABULARY["roles"]  # {feature name in lower case: role}
ICONS = _VOCABULARY["icons"]  # {word of a feature name: icon}
CHARGES = _VOCABULARY["charges"]  # {battery level: share}
UNKNOWN = _VOCABULARY["unknown"]  # texts of an unknown value
COMMON_PARTS = _VOCABULARY["common_parts"]  # of names of packages
PRIORITY_BARS = _VOCABULARY["priority_bars"]
ACTION_RESULTS = _VOCABULARY["action_results"]


def feature_role(feature: str) -> str | None:
    """Return the role of a context feature on a phone, or None.

    >>> feature_role("dayOfWeek"), feature_role("subject")
    ('day', None)
    """
    letters = re.sub("[^a-z]", "", feature.lower())
    return ROLES.get(letters.removesuffix("posted").removeprefix("posted"))


def format_value(value: Any) -> str:
    """Return a feature's value as readable text.

    >>> format_value("TYPE_ART_GALLERY TYPE_ATM TYPE_ATM"), format_value("True"), format_value("early-morning")
    ('art gallery, atm', 'yes', 'early morning')
    """
    text = one_line(value)
    if text.startswith("TYPE_"):
        tags = dict.fromkeys(tag.removeprefix("TYPE_") for tag in text.split())
        return ", ".join(tag.replace("_", " ").lower() for tag in tags)
    if text.lower() in ("true", "false"):
        return "yes" if text.lower() == "true" else "no"
    return re.sub(r"(?<=[a-z])[-_](?=[a-z])", " ", text)


def app_name(app: Any) -> str:
    """Return the name of an app: the last distinctive part of its package, with a capital.

    >>> app_name("com.google.android.gm"), app_name("com.twitter.android"), app_name("org.pushlab.chat")
    ('Gm', 'Twitter', 'Chat')
    >>> app_name("android"), app_name("Bank"), app_name("BBC News")
    ('Android', 'Bank', 'BBC News')
    """
    name = one_line(app)
    if " " not in name:
        parts = [part for part in name.replace("_", " ").split(".") if part]
        distinctive = [part for part in parts if part.lower() not in COMMON_PARTS]
        candidates = distinctive or parts or ["app"]
        name = candidates[-1]
    return name[0].upper() + name[1:]


def _is_known(text):
    return text.lower() not in UNKNOWN


def _feature_texts(features, labels):
    """Return the features of a context or a notification as {feature: text}.

    Args:
        labels: Replacements of values, {feature: {value: text}}.
    """
    return {
        feature: format_value(labels.get(feature, {}).get(str(value), value))
        for feature, value in features.items()
    }


def _texts_by_role(context, labels):
    """Return the known values of features that have a role, as {role: text}."""
    texts = {}
    for feature, text in _feature_texts(context, labels).items():
        role = feature_role(feature)
        if role and _is_known(text):
            texts[role] = text
    return texts


def posting_app(notification):
    """Return the value of the first feature that names an app, or ""."""
    apps = [notification[name] for name in notification if "app" in name.lower()]
    return apps[0] if apps else ""


def _is_other_feature(name):
    return name != "priority" and "app" not in name.lower()


def _topic(notification, labels):
    """Return the subject or category of a notification, or else its first other feature; "" if all are unknown."""
    texts = _feature_texts(notification, labels)
    names = [name for name in ("subject", "category") if name in texts]
    others = filter(_is_other_feature, texts)
    values = [texts[name] for name in names or others]
    return next(filter(_is_known, values), "")


LEFT = 268  # left end of everything beside the phone
RIGHT = 876  # right end of everything beside the phone
CARD = 39  # left end of the cards on the screen
CARD_WIDTH = 182
NIGHT = "#1E3A56"  # wallpaper at the top
DAWN = "#7FA3BB"  # wallpaper at the bottom
BODY = "#161D26"
PALE = "#D7E3EC"
NO_BAR = "#C6CDD6"
DASHED = (0, (4, 3))


@house_style()
def phone(
    frames: Sequence[Mapping],
    agent: str = "agent",
    choosing: bool = False,
) -> Figure:
    """Draw a user's phone after the last frame, with the agent's score so far.

    Args:
        frames: Frames of one episode, oldest first, each a dict with these entries:

            - env, user: names
            - step, of: pushes made so far, and in the whole episode
            - past_answers: optional, number of answers known at the start; with 0, the picture shows what has been
              learned so far
            - context: {feature: value}, the context of the next notification
            - push: None at reset, else {context, notification, opened, actual, reward, probability, best}
            - labels: optional, {feature: {value: readable text}}

        agent: Name at the end of the agent's curve.
        choosing: Show the context of the next notification and an empty card instead of the last push.

    Returns:
        A figure of 9 x 4.2 inches.
    """
    frame = {"labels": {}, **last_frame(frames)}
    labels = frame["labels"]
    pushes = [frame["push"] for frame in frames if frame["push"]]
    last = pushes[-1] if pushes and not choosing else None
    context = last["context"] if last else frame["context"] or {}

    stage = Stage(900, 420)
    texts = _texts_by_role(context, labels)
    _draw_screen(stage, frame, pushes, last, texts, choosing)
    title = _push_title(pushes, labels, choosing)
    stage.heading(title, _push_subtitle(frame), LEFT)
    bottom = _draw_context(stage, _feature_texts(context, labels))
    _draw_score(stage, pushes, frame["step"], agent, bottom)
    if frame.get("past_answers") == 0:
        _draw_learned(stage, pushes, labels, bottom)
    else:
        _draw_last_pushes(stage, pushes, bottom)
    return stage.figure


def _push_title(pushes, labels, choosing):
    if pushes:
        topic = _topic(pushes[-1]["notification"], labels)
        title = f"The {truncate_to_width(topic, 300, TEXT_SIZE)} push was {_outcome(pushes[-1])}"
        return " ".join(title.split())
    if choosing:
        return "Which notification should be the first?"
    return "Nothing has been pushed yet"


def _push_subtitle(frame):
    env = one_line(frame["env"]).removeprefix("pushlab/")
    user = truncate_to_width(one_line(frame["user"]), 160, TEXT_SIZE)
    text = (
        f"{env} · user {user} · step {frame['step']:,} of {frame['episode_length']:,}"
    )
    if "past_answers" in frame:
        text += f" · began with {frame['past_answers']:,} answers"
    return text


def _outcome(push):
    """Return "opened" or "dismissed"."""
    return "opened" if push["opened"] else "dismissed"


def _expected_best(push):
    """Return the expected reward of the best notification.

    If the user opened the original notification, an open earns 1 and a dismissal -1, otherwise 2 and 0.

    >>> _expected_best({"best": 0.75, "actual": True}), _expected_best({"best": 0.75, "actual": False})
    (0.5, 1.5)
    """
    return 2 * push["best"] - (1 if push["actual"] else 0)


# ---------------------------------------------------------------- the phone


def _draw_phone(stage, height, time, texts):
    """Draw the body of a phone, its wallpaper and its status bar, at the left of a stage.

    Args:
        time: Text at the left of the status bar.
        texts: Context as `_texts_by_role` returns it; the status bar shows battery, charging and ringer.
    """
    stage.box(24, 20, 212, height, 30, BODY, z=2)
    screen = stage.box(31, 27, 198, height - 14, 24, NIGHT, z=2)
    stage.wash(31, 27, 198, height - 14, NIGHT, DAWN, screen, z=3)
    stage.box(108, 34, 44, 9, 4.5, BODY, z=4)
    stage.box(100, height + 2, 60, 4, 2, SURFACE, z=6)
    time = truncate_to_width(time, 54, SMALL_SIZE, "bold")
    stage.text(49, 43, time, SMALL_SIZE, SURFACE, "bold")
    _draw_status_icons(stage, texts)


def _draw_status_icons(stage, texts):
    """Draw battery, charging and ringer, from right to left."""
    right = 213
    charge = _charge(texts.get("battery", ""))
    if charge is not None:
        width = max(1.5, 16 * charge)
        stage.box(right - 22, 38, 20, 10, 2.5, "none", SURFACE, 1.1, z=6)
        stage.box(right - 1, 41, 2, 4, 1, SURFACE, z=6)
        stage.box(right - 20, 40, width, 6, 1.2, SURFACE, z=6)
        right -= 30
    if texts.get("charging") == "yes":
        icon(stage, "charging", [(right - 1, 43)], 6, SURFACE, 1.1)
        right -= 14
    ringer = texts.get("ringer")
    if ringer:
        bell = "vibrate" if ringer == "vibrate" else "ringer"
        icon(stage, bell, [(right - 3, 42.5)], 6, SURFACE, 1.1)
    if ringer == "silent":
        ends = [(right - 10, 36), (right + 4, 50)]
        stage.line(ends, SURFACE, 1.3, z=9)


def _charge(battery):
    """Return the battery's charge as a share, or None if its text is unknown."""
    if battery.lower() in CHARGES:
        return CHARGES[battery.lower()]
    try:
        number = float(battery.rstrip(" %"))
    except ValueError:
        return None
    share = number / 100 if number > 1 else number
    return min(1, share)


def _draw_empty_card(stage, y, height, text):
    """Draw a dashed card with text in its upper half."""
    middle = CARD + CARD_WIDTH / 2
    fill = blend(SURFACE, 0.12, DAWN)
    stage.box(CARD, y, CARD_WIDTH, height, 13, fill, SURFACE, 1.3, DASHED, z=6)
    stage.text(middle, y + 41, text, weight="bold", align="center")


def _draw_app(
    stage,
    x,
    y,
    notification,
    labels,
    name_width,
    topic_width=126,
):
    """Draw an app's tile and name, the notification's priority as bars, and its topic below.

    Args:
        name_width: Maximum width of the name with the bars.
        topic_width: Maximum width of the topic.
    """
    texts = _feature_texts(notification, labels)
    left = x + 34
    name = app_name(posting_app(texts) or "Notification")
    name = truncate_to_width(name, name_width, TEXT_SIZE, "bold")
    colour = app_colour(posting_app(notification))
    tile(stage, x, y, 26, name[0], colour)
    stage.text(left, y + 6, name, weight="bold")
    topic = _topic(notification, labels) or "no subject"
    stage.text(
        left, y + 22, truncate_to_width(topic, topic_width, SMALL_SIZE), SMALL_SIZE
    )

    bars_left = left + 10 + text_width(name, TEXT_SIZE, "bold")
    if bars_left + 16 <= left + name_width:
        _draw_priority(stage, bars_left, y + 11, texts.get("priority"))


def _draw_priority(stage, x, y, priority):
    """Draw a known priority as three bars, their lower left corner at (x, y)."""
    if priority not in PRIORITY_BARS:
        return
    for bar in range(3):
        height = 4 + 3 * bar
        colour = INK if bar < PRIORITY_BARS[priority] else NO_BAR
        stage.box(x + 6 * bar, y - height, 4, height, 1, colour, z=9)


def _draw_past_card(
    stage,
    y,
    notification,
    labels,
    time,
    outcome,
):
    """Draw an earlier notification with the mark of its outcome and its time; see `stage.mark`."""
    right = CARD + CARD_WIDTH
    name_width = CARD_WIDTH - 64 - text_width(time, SMALL_SIZE)
    fill = blend(SURFACE, 0.84, DAWN)
    stage.box(CARD, y, CARD_WIDTH, 50, 13, fill, z=6)
    _draw_app(stage, CARD + 10, y + 11, notification, labels, name_width, 106)
    stage.label(right - 12, y + 17, time, align="right")
    mark(stage, outcome, [(right - 20, y + 35)], 7.5)


def _draw_screen(
    stage,
    frame,
    pushes,
    last,
    texts,
    choosing,
):
    """Draw the clock, the card of the last push and those of two earlier ones."""
    labels = frame["labels"]
    day = texts.get("day", "")
    time = texts.get("time", "")
    _draw_phone(stage, 380, day[:3] if day.isalpha() else "", texts)
    _draw_clock(stage, time, f"day {day}" if day.isdigit() else day)

    if last:
        _draw_card(stage, 155, last, labels)
        pushes = pushes[:-1]
    else:
        text = "choose a notification" if choosing else "nothing pushed yet"
        _draw_empty_card(stage, 155, 86, text)
    step = frame["step"] - bool(last)
    for row, push in enumerate(reversed(pushes[-2:])):
        _draw_past_card(
            stage,
            249 + 58 * row,
            push["notification"],
            labels,
            f"step {step - row:,}",
            _outcome(push),
        )


def _draw_clock(stage, time, day):
    clock = time or day or "now"
    size = 26.5 * 176 / text_width(clock, 27)
    size = max(12, min(27, size))
    stage.text(
        130, 93, truncate_to_width(clock, 176, size), size, SURFACE, align="center"
    )
    if time:
        stage.text(
            130,
            122,
            truncate_to_width(day, 176, TEXT_SIZE),
            TEXT_SIZE,
            PALE,
            align="center",
        )


def _draw_card(stage, y, push, labels):
    """Draw the last push on a white card, with its outcome as a pill."""
    right = CARD + CARD_WIDTH
    notification = push["notification"]
    stage.box(CARD, y, CARD_WIDTH, 86, 13, SURFACE, z=6)
    _draw_app(stage, CARD + 10, y + 11, notification, labels, 92)
    stage.label(right - 12, y + 17, "now", align="right")
    ends = [(CARD + 12, y + 52), (right - 12, y + 52)]
    stage.line(ends, LINE, 0.8)

    outcome = _outcome(push)
    left = right - 38 - text_width(outcome, SMALL_SIZE, "bold")
    _draw_outcome_pill(stage, left, y + 59, right - 7 - left, outcome)
    priority = _feature_texts(notification, labels).get("priority")
    if priority:
        text = truncate_to_width(priority, left - CARD - 16, SMALL_SIZE)
        stage.label(CARD + 12, y + 69, text)


def _draw_outcome_pill(stage, x, y, width, outcome):
    fill = SURFACE
    edge = DISMISSED
    colour = DISMISSED
    symbol = "cross"
    if outcome == "opened":
        fill = OPENED
        edge = OPENED
        colour = SURFACE
        symbol = "check"
    middle = y + 10
    stage.box(x, y, width, 20, 10, fill, edge, 1.4, z=12)
    icon(stage, symbol, [(x + 12, middle)], 8, colour, 1.8, z=13)
    right = x + width - 10
    stage.text(right, middle, outcome, SMALL_SIZE, colour, "bold", "right", z=13)


# ---------------------------------------------------------------- beside the phone


def _draw_context(stage, texts):
    """Draw a chip for each feature, at most three rows of four, and return their lower end."""
    if len(texts) > 12:
        first = list(texts.items())[:11]
        texts = {**dict(first), "and": f"{len(texts) - 11} more"}
    row = 0
    column = 0
    for feature, text in texts.items():
        is_place = feature_role(feature) == "place"
        is_wide = is_place and len(texts) < 12 and column < 3
        if column == 4:
            row += 1
            column = 0
        x = LEFT + 154 * column
        y = 76 + 54 * row
        _draw_chip(stage, x, y, 300 if is_wide else 146, feature, text)
        column += 2 if is_wide else 1
    return 148 + 54 * row


def _draw_chip(
    stage,
    x,
    y,
    width,
    feature,
    text,
):
    """Draw the icon, name and value of a feature. Unknown values are grey."""
    stage.box(x, y, width, 46, 9, SURFACE, LINE)
    role = feature_role(feature)
    name = role or readable_name(feature)
    # Features without a role have the icon of a word in their name.
    symbols = [role, *map(ICONS.get, name.split()), "feature"]
    symbol = next(filter(None, symbols))
    icon(stage, symbol, [(x + 18, y + 23)], 7.5, BLUE, 1.4)
    name = truncate_to_width(name, width - 39, SMALL_SIZE)
    stage.label(x + 34, y + 15, name)
    colour = TEXT
    weight = "normal"
    if _is_known(text):
        colour = INK
        weight = "bold"
    text = truncate_to_width(text or "unknown", width - 39, TEXT_SIZE, weight)
    stage.text(x + 34, y + 32, text, TEXT_SIZE, colour, weight)


def _draw_score(stage, pushes, last, agent, top):
    """Draw the cumulative reward, and the best possible one if every push has it."""
    first = last - len(pushes)
    steps = np.arange(first, last + 1)
    reward = np.cumsum([0, *(push["reward"] for push in pushes)])
    stage.label(LEFT, top, "reward so far")
    ax = stage.axes(LEFT + 30, top + 16, 280, 360 - top)
    label_axes(ax, xlabel="steps")
    ax.xaxis.labelpad = 0
    ax.plot(steps, reward, color=BLUE, ls="-", lw=2.2)
    ax.plot(
        last,
        reward[-1],
        "o",
        color=BLUE,
        ms=6.5,
        clip_on=False,
        zorder=6,
    )
    name = truncate_to_width(one_line(agent), 100, TICK_SIZE, "bold")
    end = max(last, first + 10)
    ends = [(end, reward[-1], f"{name} {format_number(reward[-1])}", BLUE)]
    if pushes and all(push.get("best") is not None for push in pushes):
        best = np.cumsum([0, *map(_expected_best, pushes)])
        ax.plot(steps, best, color=INK, lw=1.6, ls=BOUND_DASH)
        ax.fill_between(steps, reward, best, color=GREY, alpha=0.10, lw=0)
        label = f"best possible {format_number(best[-1])}"
        ends.append((end, best[-1], label, INK))
    low, high = ax.dataLim.intervaly
    ax.set_xlim(first, end)
    ax.set_ylim(min(low, 0), max(high, 2))
    ax.locator_params(nbins=4, integer=True)
    if low < 0:
        ax.axhline(0, color=LINE, lw=1.6, zorder=0)
    if pushes:
        label_line_ends(ax, ends)


def _draw_last_pushes(stage, pushes, top):
    left = LEFT + 472
    stage.label(left, top, "last 20 pushes")
    outcomes = [_outcome(push) for push in pushes[-20:]]
    draw_last_outcomes(
        stage,
        outcomes,
        left + 9,
        top + 26,
        columns=5,
        column_width=27,
        row_height=23,
        radius=8,
    )
    _write_counts(stage, outcomes, left, top)


def _write_counts(stage, outcomes, left, top):
    """Write the numbers of opened and dismissed notifications."""
    opened = outcomes.count("opened")
    dismissed = len(outcomes) - opened
    for row, (text, colour) in enumerate(
        ((f"{opened:,} opened", OPENED), (f"{dismissed:,} dismissed", DISMISSED))
    ):
        stage.text(left, top + 120 + 17 * row, text, TEXT_SIZE, colour, "bold")


def _draw_learned(stage, pushes, labels, top):
    """Draw how many pushes of each topic were opened so far, for the four most frequent topics."""
    left = LEFT + 472
    stage.label(left, top, "learned so far: opened")
    outcomes = {}
    for push in pushes:
        topic = _topic(push["notification"], labels)
        outcomes.setdefault(topic, []).append(_outcome(push))
    topics = sorted(outcomes, key=lambda topic: -len(outcomes[topic]))[:4]
    for row, topic in enumerate(topics):
        y = top + 21 + 24 * row
        total = len(outcomes[topic])
        opened = outcomes[topic].count("opened")
        count = f"{opened:,} of {total:,}"
        width = 128 - text_width(count, SMALL_SIZE, "bold")
        stage.label(left, y, truncate_to_width(topic, width, SMALL_SIZE))
        stage.text(RIGHT, y, count, SMALL_SIZE, INK, "bold", "right")
        end = left + 136 * opened / total
        stage.bars(left, RIGHT, y + 8, y + 12, TRACK)
        stage.bars(left, end, y + 8, y + 12, OPENED, z=2)
    _write_counts(stage, sum(outcomes.values(), []), left, top)


DAY = 24 * 60  # minutes
LANES = ("arrived", "waiting", "shown", "opened", "dismissed", "unseen")


@house_style()
def inbox(
    frames: Sequence[Mapping],
    agent: str = "agent",
    choosing: bool = False,
) -> Figure:
    """Draw a user's phone at the last frame, the notifications in its cache, and the day so far.

    Args:
        frames: Frames of one episode, oldest first, each a dict with these entries:

            - env, user: names
            - date: date of the current day, year-month-day, or None if days have no dates
            - now, of: minutes since the first midnight, and in the whole episode
            - context: {feature: value} at this moment
            - hand: None, or {notification: {feature: value}, arrived: minutes, deferrals: int}
            - cache: a list of waiting notifications like `hand`, oldest first
            - events: all arrivals so far, in order: {notification, arrived, shown, closed, outcome}, with minutes or
              None. The outcome is opened, dismissed (by the user), unseen (dismissed by the agent), expired, pending
              (shown, not answered yet), waiting or in hand
            - places: (from, to, place) of the day so far
            - allowed: names of the actions allowed now
            - last: None, or {action, forbidden, notification} of the last step
            - reward: cumulative reward
            - labels: optional, {feature: {value: readable text}}

        agent: Name of the agent.
        choosing: Whether a person chooses the next action. The card then shows the allowed actions instead of the
            last decision.

    Returns:
        A figure of 9 x 4.6 inches.
    """
    frame = {"labels": {}, **last_frame(frames)}
    midnight = DAY * int((frame["now"] - _is_over(frame)) // DAY)
    time = clock_time(frame["now"] - midnight)
    title = truncate_to_width(_inbox_title(frame, time), 608, TITLE_SIZE, "bold")
    stage = Stage(900, 460)
    stage.heading(title, _inbox_subtitle(frame, agent), LEFT)
    _draw_inbox_screen(stage, frame, time, agent, choosing)
    _draw_cache(stage, frame)
    _draw_places(stage, frame["places"], frame["now"], midnight)
    _draw_lanes(stage, frame, midnight)
    return stage.figure


def _is_over(frame):
    return frame["now"] >= frame["episode_length"]


def clock_time(minutes):
    """Format minutes since midnight as the time of day.

    >>> clock_time(1122.4), clock_time(1440)
    ('18:42', '24:00')
    """
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours:02}:{minutes:02}"


def _duration(minutes):
    """Format a duration for a label.

    >>> [_duration(m) for m in (0.2, 12, 134, 200, 4000)]
    ['now', '12 min', '134 min', '3.3 h', '2.8 days']
    """
    if minutes < 1:
        return "now"
    if minutes < 180:
        return f"{int(minutes)} min"
    if minutes < 2 * DAY:
        return f"{minutes / 60:.1f} h"
    return f"{minutes / DAY:.1f} days"


def _inbox_title(frame, time):
    """Return the last event as a title."""
    last = frame["last"]
    if _is_over(frame):
        outcomes = [event["outcome"] for event in frame["events"]]
        opened = outcomes.count("opened")
        return f"The end: {opened:,} of {len(outcomes):,} notifications opened"
    if last and last["forbidden"]:
        return f"“{last['action']}” is not allowed now"
    subject = frame["hand"]
    result = "is in hand"
    if not subject and last and last["notification"]:
        subject = last
        result = ACTION_RESULTS.get(last["action"], "")
    if not subject:
        return f"Nothing is in hand at {time}"
    topic = _topic(subject["notification"], frame["labels"])
    return one_line(f"The {topic} notification {result}")


def _inbox_subtitle(frame, agent):
    """Return the environment, the user, the agent's action, the number of waiting notifications and the reward."""
    parts = [one_line(frame["env"]).removeprefix("pushlab/")]
    parts.append(f"user {truncate_to_width(one_line(frame['user']), 110, TEXT_SIZE)}")
    if frame["episode_length"] > DAY:
        day = int(frame["now"] // DAY) + 1
        parts.append(f"day {min(day, frame['episode_length'] // DAY):,.0f}")
    if frame["last"]:
        name = truncate_to_width(one_line(agent), 110, TEXT_SIZE)
        parts.append(f"{name} chose {frame['last']['action']}")
    parts.append(f"{len(frame['cache']) or 'none'} waiting")
    parts.append(f"reward {format_number(frame['reward'])}")
    return truncate_to_width(" · ".join(parts), 608, TEXT_SIZE)


# ---------------------------------------------------------------- the screen


def _draw_inbox_screen(stage, frame, time, agent, choosing):
    """Draw the day, the place, the card in hand with its actions, and the last two finished notifications."""
    texts = _texts_by_role(frame["context"], frame["labels"])
    _draw_phone(stage, 420, time, texts)
    day = truncate_to_width(
        one_line(f"{_day_name(frame, texts)} {time}"), 166, TEXT_SIZE, "bold"
    )
    stage.text(47, 73, day, TEXT_SIZE, SURFACE, "bold")
    places = [texts[role] for role in ("place", "activity") if role in texts]
    place = ", ".join(places) or "place unknown"
    stage.text(47, 89, truncate_to_width(place, 166, SMALL_SIZE), SMALL_SIZE, PALE)
    _draw_current_card(stage, frame, agent, choosing)
    _draw_finished(stage, frame)


def _day_name(frame, texts):
    if frame.get("date"):
        day = date.fromisoformat(str(frame["date"])[:10])
        return day.strftime("%A")
    day = texts.get("day", "Today")
    return f"Day {day}" if day.isdigit() else day


def _draw_current_card(stage, frame, agent, choosing):
    """Draw the notification in hand, or the one just handled, with the actions below."""
    last = frame["last"]
    is_over = _is_over(frame)
    is_forbidden = last and last["forbidden"]
    actions = frame["allowed"]
    chosen = None
    text = "only these are allowed" if is_forbidden else "allowed now"
    colour = darken(DISMISSED) if is_forbidden else TEXT
    can_show_last = last and not is_forbidden and not choosing and not is_over
    if frame["hand"]:
        _draw_card_in_hand(stage, frame, frame["hand"], "in hand", BLUE)
    elif can_show_last and last["action"] in ACTION_RESULTS:
        _draw_card_in_hand(stage, frame, last, "was in hand", TEXT)
        actions = tuple(ACTION_RESULTS)
        chosen = last["action"]
        text = f"{one_line(agent)} chose"
    else:
        _draw_empty_card(stage, 107, 138, "the end" if is_over else "nothing in hand")
        colour = colour if is_forbidden else INK
    if not is_over:
        stage.text(
            51, 194, truncate_to_width(text, 158, SMALL_SIZE), SMALL_SIZE, colour, z=11
        )
        _draw_actions(stage, actions, chosen)


def _draw_finished(stage, frame):
    """Draw the last two notifications that have been shown or closed."""
    finished = []
    for event in frame["events"]:
        if event["outcome"] not in ("waiting", "in hand"):
            closed = event["closed"]
            minute = event["shown"] if closed is None else closed
            finished.append((minute, event))
    finished.sort(key=lambda pair: pair[0])
    if finished:
        stage.text(47, 269, "earlier", SMALL_SIZE, SURFACE)
    for row, (minute, event) in enumerate(reversed(finished[-2:])):
        outcome = event["outcome"]
        _draw_past_card(
            stage,
            284 + 58 * row,
            event["notification"],
            frame["labels"],
            _duration(frame["now"] - minute),
            "shown" if outcome == "pending" else outcome,
        )


def _draw_card_in_hand(stage, frame, item, state, colour):
    """Draw the white card of a notification.

    Args:
        item: The frame's `hand` or `last`.
        state: Text at the top of the card.
    """
    right = CARD + CARD_WIDTH - 12
    stage.box(CARD, 107, CARD_WIDTH, 138, 13, z=6)
    stage.text(CARD + 12, 123, state, SMALL_SIZE, colour, "bold")
    if "arrived" in item:
        age = _duration(frame["now"] - item["arrived"])
        if item["deferrals"]:
            age = f"{age}, put off {item['deferrals']}×"
        stage.label(right, 123, age, align="right")
    _draw_app(stage, CARD + 10, 137, item["notification"], frame["labels"], 126)
    stage.line([(CARD + 12, 179), (right, 179)], LINE, 0.8, z=7)


def _draw_actions(stage, actions, chosen):
    """Draw actions as pills in a row, the chosen one dark."""
    x = CARD + 8
    widths = [text_width(action, SMALL_SIZE, "bold") for action in actions]
    space = CARD_WIDTH - 13 - sum(widths)
    padding = min(26, space / max(1, len(actions)) - 3)
    for action, width in zip(actions, widths):
        fill = INK if action == chosen else SOFT
        colour = SURFACE if action == chosen else INK
        width += padding
        middle = x + width / 2
        stage.box(x, 209, width, 24, 12, fill, z=7)
        stage.text(middle, 221, action, SMALL_SIZE, colour, "bold", "center")
        x += width + 3


def _draw_cache(stage, frame):
    """Draw the first three waiting notifications as cards, or two and a card of the remaining ones.

    The first card is framed; check-cache takes it next.
    """
    cache = frame["cache"]
    labels = frame["labels"]
    stage.box(LEFT, 74, RIGHT - LEFT, 112, 12, SOFT)
    stage.label(LEFT + 14, 90, "cache")
    if not cache:
        stage.box(LEFT + 12, 102, 584, 76, 10, SOFT, NO_BAR, 1.1, DASHED, z=4)
        stage.label(LEFT + 304, 140, "nothing waits", align="center")
        return
    stage.label(RIGHT - 14, 90, "oldest first: the framed card is next", align="right")
    count = len(cache) if len(cache) <= 3 else 2
    for column, waiting in enumerate(cache[:count]):
        x = LEFT + 12 + 198 * column
        is_next = column == 0
        edge = INK if is_next else LINE
        line = 1.5 if is_next else 1
        stage.box(x, 102, 188, 76, 10, edge=edge, line=line, z=4)
        _draw_app(stage, x + 10, 111, waiting["notification"], labels, 136)
        mark(stage, "waiting", [(x + 23, 159)])
        age = _duration(frame["now"] - waiting["arrived"])
        stage.text(x + 44, 159, age, weight="bold")
        deferrals = f"put off {waiting['deferrals']}×"
        stage.label(x + 178, 159, deferrals, align="right")
    rest = cache[count:]
    if rest:
        x = LEFT + 12 + 198 * count
        _draw_rest(stage, x, rest, frame["now"])


def _draw_rest(stage, x, waiting, now):
    """Draw a card for several waiting notifications."""
    stage.box(x, 102, 188, 76, 10, edge=LINE, z=4)
    for column, item in enumerate(waiting[:6]):
        app = posting_app(item["notification"])
        letter = app_name(app or "Notification")[0]
        tile(stage, x + 10 + 29 * column, 111, 24, letter, app_colour(app))
    age = _duration(now - waiting[0]["arrived"])
    text = truncate_to_width(
        f"{len(waiting):,} more, up to {age}", 168, TEXT_SIZE, "bold"
    )
    stage.text(x + 10, 159, text, weight="bold")


# ---------------------------------------------------------------- the day


def _time_to_x(minutes):
    """Return the x coordinate of minutes since midnight."""
    return 376 + 456 * np.clip(minutes / DAY, 0, 1)


def _draw_places(stage, places, now, midnight):
    """Draw the places of the day so far."""
    x_now = _time_to_x(now - midnight)
    text = f"now {clock_time(now - midnight)}"
    stage.text(LEFT, 214, text, SMALL_SIZE, INK, "bold")
    stage.label(RIGHT - 4, 214, "today", align="right")
    stage.box(376, 205, 456, 18, 4, PAPER, LINE)
    for begin, end, place in places:
        left = _time_to_x(begin - midnight)
        right = min(_time_to_x(end - midnight), x_now)
        if right - left < 2.5:
            continue
        stage.box(left + 1, 205, right - left - 2, 18, 4, TRACK)
        name = format_value(place)
        fits = text_width(name, SMALL_SIZE) < right - left - 10
        if fits and _is_known(name):
            stage.label((left + right) / 2, 214, name, align="center")
    stage.line([(x_now, 205), (x_now, 412)], INK, 1.3, z=14)


def _draw_lanes(stage, frame, midnight):
    """Draw a lane for each kind of event, with the number of events on this day."""
    minutes = _event_minutes(frame, midnight)
    x_now = _time_to_x(frame["now"] - midnight)
    for lane, name in enumerate(LANES):
        y = 255 + 29 * lane
        kinds = ("unseen", "expired") if name == "unseen" else (name,)
        count = len(frame["cache"]) if name == "waiting" else 0
        for kind in kinds:
            count += len(minutes[kind])
            _draw_event_marks(stage, y, kind, minutes[kind] - midnight)
        stage.line([(376, y), (x_now, y)], LINE, 1.0, z=2)
        mark(stage, name, [(LEFT + 10, y)], 7)
        stage.text(LEFT + 26, y, name)
        stage.text(RIGHT - 4, y, f"{count:,}", TEXT_SIZE, INK, "bold", "right")
    for hour in range(0, 25, 3):
        text = clock_time(60 * hour)
        stage.label(_time_to_x(60 * hour), 427, text, align="center")
    if len(minutes["expired"]):
        mark(stage, "expired", [(LEFT + 10, 446)], 6)
        stage.label(LEFT + 26, 446, "expired: unseen, because its time was over")
    _draw_waiting(stage, frame, midnight)


def _event_minutes(frame, midnight):
    """Return the times of this day's events: {lane or "expired": minutes}."""
    minutes = {name: [] for name in (*LANES, "expired")}
    for event in frame["events"]:
        minutes["arrived"].append(event["arrived"])
        minutes["shown"].append(event["shown"])
        minutes.setdefault(event["outcome"], []).append(event["closed"])
    for kind, times in minutes.items():
        past = np.array([minute for minute in times if minute is not None])
        is_today = (past >= midnight) & (past <= frame["now"])
        minutes[kind] = past[is_today]
    return minutes


def _draw_event_marks(stage, y, kind, minutes):
    points = [(_time_to_x(minute), y) for minute in minutes]
    if kind in ("opened", "dismissed", "unseen", "expired"):
        stage.stamp(CIRCLE, points, 7.6, PAPER, z=11)
    mark(stage, kind, points, 7 if kind == "arrived" else 6)


def _draw_waiting(stage, frame, midnight):
    """Draw the number of waiting notifications as a band."""
    changes = []
    for event in frame["events"]:
        ends = (event["shown"], event["closed"], frame["now"])
        end = next(minute for minute in ends if minute is not None)
        if event["outcome"] != "in hand" and end > max(event["arrived"], midnight):
            changes.append((event["arrived"], 1))
            changes.append((end, -1))
    if not changes:
        return
    minutes, steps = np.transpose(sorted(changes))
    x = np.repeat(minutes, 2)[1:]
    number = np.repeat(np.cumsum(steps), 2)[:-1]
    ax = stage.axes(376, 266, 456, 25, zorder=3)
    ax.set_axis_off()
    ax.set_xlim(midnight, midnight + DAY)
    ax.set_ylim(0, max(25 / 8, number.max()))
    ax.fill_between(
        x,
        number,
        where=number > 0,
        fc=WAITING,
        ec=WAITING_EDGE,
        lw=0.9,
    )
