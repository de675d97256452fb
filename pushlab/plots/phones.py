"""The phone of a user: what was pushed and what became of it, and the inbox of arriving notifications.

The pictures draw frames, the plain dicts that the push environments make, and know no schema. A feature with a familiar
role on a phone (day, place, battery ...) is found by its name.
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
    latest,
    mark,
    tile,
)
from pushlab.plots.style import (
    BLUE,
    BOUND_DASH,
    DISMISSED,
    GREY,
    INK,
    LEAD,
    LINE,
    OPENED,
    PAPER,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    TICK,
    TITLE,
    TRACK,
    WAITING,
    WAITING_EDGE,
    blend,
    deep,
    fit,
    house_style,
    label_line_ends,
    name_axes,
    plain,
    short_number,
    spoken,
    text_width,
)

_WORDS = json.loads(files("pushlab.plots").joinpath("phone_words.json").read_text())
ROLE_OF = _WORDS["roles"]  # {name of a feature in small letters: role}
ICON_OF_WORD = _WORDS["icons"]
CHARGES = _WORDS["charges"]  # {words of a battery: share}
UNKNOWN = {"", "unknown", "none", "nan"}
COMMON_PARTS = {"com", "org", "net", "io", "android", "app", "apps", "google"}


def role(feature: str) -> str | None:
    """Return the role of a context feature on a phone, or None: the role of "dayOfWeek" is "day"."""
    letters = re.sub("[^a-z]", "", feature.lower())
    return ROLE_OF.get(letters.removesuffix("posted").removeprefix("posted"))


def symbol(feature: str) -> str:
    """Return the name of the icon of a context feature: its role, or that of a word in its name."""
    icons = [ICON_OF_WORD.get(word) for word in spoken(feature).split()]
    return role(feature) or next(filter(None, icons), "feature")


def value_words(value: Any) -> str:
    """Return a value as people say it.

    >>> value_words("TYPE_ART_GALLERY TYPE_ATM TYPE_ATM"), value_words("True"), value_words("early-morning")
    ('art gallery, atm', 'yes', 'early morning')
    """
    words = plain(value)
    if words.startswith("TYPE_"):
        tags = dict.fromkeys(tag.removeprefix("TYPE_") for tag in words.split())
        return ", ".join(tag.replace("_", " ").lower() for tag in tags)
    if words.lower() in ("true", "false"):
        return "yes" if words.lower() == "true" else "no"
    return re.sub(r"(?<=[a-z])[-_](?=[a-z])", " ", words)


def app_name(app: Any) -> str:
    """Return the name of an app: the last distinctive part of its package, with a capital.

    >>> app_name("com.google.android.gm"), app_name("com.twitter.android"), app_name("org.pushlab.chat")
    ('Gm', 'Twitter', 'Chat')
    >>> app_name("android"), app_name("Bank"), app_name("BBC News")
    ('Android', 'Bank', 'BBC News')
    """
    name = plain(app)
    if " " not in name:
        parts = [part for part in name.replace("_", " ").split(".") if part]
        distinctive = [part for part in parts if part.lower() not in COMMON_PARTS]
        name = (distinctive or parts or ["app"])[-1]
    return name[0].upper() + name[1:]


def _words_of(features, labels):
    """Return the features of a context or a notification as {feature: words}.

    Args:
        labels: Friendlier words, {feature: {value: words}}.
    """
    return {
        feature: value_words(labels.get(feature, {}).get(str(value), value))
        for feature, value in features.items()
    }


def _words_by_role(context, labels):
    """Return the known values of the features that have a role as {role: words}."""
    found = {}
    for feature, words in _words_of(context, labels).items():
        if role(feature) and words.lower() not in UNKNOWN:
            found[role(feature)] = words
    return found


def _app_of(notification):
    """Return the value of the first feature that names an app, or ""."""
    apps = [notification[name] for name in notification if "app" in name.lower()]
    return apps[0] if apps else ""


def _topic(notification, labels):
    """Return the words of a notification's subject or category, else of its first other feature; or ""."""
    words = _words_of(notification, labels)
    names = [name for name in ("subject", "category") if name in words]
    others = [n for n in words if n != "priority" and "app" not in n.lower()]
    known = [words[name] for name in names or others]
    known = [said for said in known if said.lower() not in UNKNOWN]
    return known[0] if known else ""


LEFT = 268  # where the words beside the phone begin
CARD, CARD_WIDTH = 39, 182  # of the cards on the screen
NIGHT, DAWN = "#1E3A56", "#7FA3BB"  # the phone's wallpaper from top to bottom
BODY, PALE, NO_BAR = "#161D26", "#D7E3EC", "#C6CDD6"
DASHED = (0, (4, 3))
BARS = {"min": 0, "low": 1, "default": 2, "high": 3, "max": 3}  # of a priority


@house_style()
def phone(
    frames: Sequence[Mapping], agent: str = "agent", choosing: bool = False
) -> Figure:
    """Draw the phone of one user after the last of `frames`, with the agent's score so far.

    Args:
        frames: Frames of one episode, oldest first, each a dict with these entries:

            - env, user: names
            - step, of: pushes made so far, and in the whole episode
            - context: {feature: value} that now waits for a notification
            - push: None at reset, else {context, notification, opened, actual, reward, probability, best}
            - labels: optional, {feature: {value: friendlier words}}

        agent: Name at the end of the agent's curve.
        choosing: Whether to show the context that waits and an empty card, in place of the last push.

    Returns:
        A figure of 9 x 4.2 inches.
    """
    now = latest(frames)
    labels = now.get("labels") or {}
    pushes = [frame["push"] for frame in frames if frame["push"]]
    last = pushes[-1] if pushes and not choosing else None
    context = last["context"] if last else now["context"] or {}

    stage = Stage(900, 420)
    _draw_screen(stage, now, pushes, last, _words_by_role(context, labels), choosing)
    title = "Nothing has been pushed yet"
    if pushes:
        about = _topic(pushes[-1]["notification"], labels)
        title = f"The {fit(about, 300, LEAD)} push was {_outcome(pushes[-1])}"
    elif choosing:
        title = "Which notification should be the first?"
    env = plain(now["env"]).removeprefix("pushlab/")
    user = fit(plain(now["user"]), 240, LEAD)
    lead = f"{env} · user {user} · step {now['step']:,} of {now['of']:,}"
    stage.heading(" ".join(title.split()), lead, LEFT)
    below = _draw_context(stage, _words_of(context, labels))
    _draw_score(stage, pushes, now["step"], agent, below)
    _draw_last_pushes(stage, pushes[-20:], below)
    return stage.figure


def _outcome(push):
    """Return "opened" or "dismissed"."""
    return "opened" if push["opened"] else "dismissed"


def _expected_best(push):
    """Return the reward to expect of the best notification, from the best reachable chance of an open.

    Against a history that opened, an open earns 1 and a dismissal -1; against one that dismissed, 2 and 0.

    >>> _expected_best({"best": 0.75, "actual": True}), _expected_best({"best": 0.75, "actual": False})
    (0.5, 1.5)
    """
    return 2 * push["best"] - (1 if push["actual"] else 0)


# ---------------------------------------------------------------- the phone


def _draw_phone(stage, height, time, known):
    """Draw the body of a phone, its wallpaper and its status bar, at the left of a stage.

    Args:
        time: Words at the left of the status bar.
        known: Context as `_words_by_role` returns it; battery, charging and ringer show in the status bar.
    """
    for spread in (7, 5, 3, 1):
        wide, high = 212 + 2 * spread, height + 2 * spread
        left, top = 24 - spread, 23 - spread
        stage.box(left, top, wide, high, 30 + spread, INK, z=1, alpha=0.018)
    stage.box(24, 20, 212, height, 30, BODY, z=2)
    screen = stage.box(31, 27, 198, height - 14, 24, NIGHT, z=2)
    stage.wash(31, 27, 198, height - 14, NIGHT, DAWN, screen, z=3)
    stage.box(108, 34, 44, 9, 4.5, BODY, z=4)
    stage.box(100, height + 2, 60, 4, 2, SURFACE, z=6)
    stage.text(49, 43, fit(time, 54, SMALL, "bold"), SMALL, SURFACE, "bold")

    right = 213
    charge = _charge(known.get("battery", ""))
    if charge is not None:
        stage.box(right - 22, 38, 20, 10, 2.5, "none", SURFACE, 1.1, z=6)
        stage.box(right - 1, 41, 2, 4, 1, SURFACE, z=6)
        stage.box(right - 20, 40, max(1.5, 16 * charge), 6, 1.2, SURFACE, z=6)
        right -= 30
    if known.get("charging") == "yes":
        icon(stage, "charging", [(right - 1, 43)], 6, SURFACE, 1.1)
        right -= 14
    ringer = known.get("ringer")
    if ringer:
        bell = "vibrate" if ringer == "vibrate" else "ringer"
        icon(stage, bell, [(right - 3, 42.5)], 6, SURFACE, 1.1)
    if ringer == "silent":
        stage.line([(right - 10, 36), (right + 4, 50)], SURFACE, 1.3, z=9)


def _charge(battery):
    """Return the battery's share from its words, or None."""
    if battery.lower() in CHARGES:
        return CHARGES[battery.lower()]
    try:
        number = float(battery.rstrip(" %"))
    except ValueError:
        return None
    return min(1, number / 100 if number > 1 else number)


def _draw_empty_card(stage, y, height, words):
    """Draw a dashed card with words in its upper half."""
    fill = blend(SURFACE, 0.12, DAWN)
    stage.box(CARD, y, CARD_WIDTH, height, 13, fill, SURFACE, 1.3, DASHED, z=6)
    stage.text(CARD + CARD_WIDTH / 2, y + 41, words, weight="bold", align="center")


def _draw_app(stage, x, y, notification, labels, room, room_below=126):
    """Draw an app's tile and name, the notification's priority as bars, and below them its topic.

    Args:
        room, room_below: Widths for the name with its bars, and for the topic.
    """
    words = _words_of(notification, labels)
    name = fit(app_name(_app_of(words) or "Notification"), room, LEAD, "bold")
    tile(stage, x, y, 26, name[0], app_colour(_app_of(notification)))
    stage.text(x + 34, y + 6, name, weight="bold")
    about = _topic(notification, labels) or "no subject"
    stage.text(x + 34, y + 22, fit(about, room_below, SMALL), SMALL)

    level = words.get("priority")
    bars_left = x + 44 + text_width(name, LEAD, "bold")
    if level in BARS and bars_left + 16 <= x + 34 + room:
        for bar in range(3):
            height = 4 + 3 * bar
            colour = INK if bar < BARS[level] else NO_BAR
            stage.box(bars_left + 6 * bar, y + 11 - height, 4, height, 1, colour, z=9)


def _draw_past_card(stage, y, notification, labels, when, kind):
    """Draw an earlier notification with its mark, see `stage.mark`, and when it was."""
    stage.box(CARD, y, CARD_WIDTH, 50, 13, blend(SURFACE, 0.84, DAWN), z=6)
    room = CARD_WIDTH - 64 - text_width(when, SMALL)
    _draw_app(stage, CARD + 10, y + 11, notification, labels, room, 106)
    stage.label(CARD + CARD_WIDTH - 12, y + 17, when, align="right")
    mark(stage, kind, [(CARD + CARD_WIDTH - 20, y + 35)], 7.5)


def _draw_screen(stage, now, pushes, last, known, choosing):
    """Draw the clock, the card of the last push and those of two earlier ones."""
    labels = now.get("labels") or {}
    day = known.get("day", "")
    time = known.get("time", "")
    _draw_phone(stage, 380, day[:3] if day.isalpha() else "", known)
    day = f"day {day}" if day.isdigit() else day
    clock = time or day or "now"
    size = max(12, min(27, 26.5 * 176 / text_width(clock, 27)))
    stage.text(130, 93, fit(clock, 176, size), size, SURFACE, align="center")
    if time:
        stage.text(130, 122, fit(day, 176, LEAD), LEAD, PALE, align="center")

    if last:
        _draw_card(stage, 155, last, labels)
        pushes = pushes[:-1]
    else:
        words = "nothing pushed yet" if not choosing else "choose a notification"
        _draw_empty_card(stage, 155, 86, words)
    step = now["step"] - bool(last)
    for place, push in enumerate(reversed(pushes[-2:])):
        y = 249 + 58 * place
        when = f"step {step - place:,}"
        _draw_past_card(stage, y, push["notification"], labels, when, _outcome(push))


def _draw_card(stage, y, push, labels):
    """Draw the last push, white and complete, with its outcome as a pill."""
    right = CARD + CARD_WIDTH
    stage.box(CARD, y, CARD_WIDTH, 86, 13, SURFACE, z=6)
    _draw_app(stage, CARD + 10, y + 11, push["notification"], labels, 92)
    stage.label(right - 12, y + 17, "now", align="right")
    stage.line([(CARD + 12, y + 52), (right - 12, y + 52)], LINE, 0.8)

    kind = _outcome(push)
    opened = kind == "opened"
    fill = OPENED if opened else SURFACE
    colour = SURFACE if opened else DISMISSED
    left = right - 38 - text_width(kind, SMALL, "bold")
    edge = OPENED if opened else DISMISSED
    stage.box(left, y + 59, right - 7 - left, 20, 10, fill, edge, 1.4, z=12)
    symbol = "check" if opened else "cross"
    icon(stage, symbol, [(left + 12, y + 69)], 8, colour, 1.8, z=13)
    stage.text(right - 17, y + 69, kind, SMALL, colour, "bold", "right", z=13)
    level = _words_of(push["notification"], labels).get("priority")
    if level:
        stage.label(CARD + 12, y + 69, fit(level, left - CARD - 16, SMALL))


# ---------------------------------------------------------------- beside the phone


def _draw_context(stage, words):
    """Draw a chip for each feature, in at most three rows of four; return where they end."""
    if len(words) > 12:
        rest = {"and": f"{len(words) - 11} more"}
        words = {**dict(list(words.items())[:11]), **rest}
    row = 0
    column = 0
    for feature, said in words.items():
        is_wide = role(feature) == "place" and len(words) < 12 and column < 3
        if column == 4:
            row += 1
            column = 0
        left = LEFT + 154 * column
        column += 2 if is_wide else 1
        _draw_chip(stage, left, 76 + 54 * row, 300 if is_wide else 146, feature, said)
    return 148 + 54 * row


def _draw_chip(stage, x, y, width, feature, said):
    """Draw the icon, name and value of a feature, an unknown value in plain grey."""
    stage.box(x, y, width, 46, 9, SURFACE, LINE)
    icon(stage, symbol(feature), [(x + 18, y + 23)], 7.5, BLUE, 1.4)
    name = fit(role(feature) or spoken(feature), width - 39, SMALL)
    stage.text(x + 34, y + 15, name, SMALL, TEXT)
    known = said.lower() not in UNKNOWN
    weight = "bold" if known else "normal"
    words = fit(said or "unknown", width - 39, LEAD, weight)
    stage.text(x + 34, y + 32, words, LEAD, INK if known else TEXT, weight)


def _draw_score(stage, pushes, last, agent, top):
    """Draw the reward so far, and the best possible one if every push knows it."""
    first = last - len(pushes)
    steps = np.arange(first, last + 1)
    earned = np.cumsum([0, *(push["reward"] for push in pushes)])
    stage.label(LEFT, top, "reward so far")
    ax = stage.axes(LEFT + 30, top + 16, 280, 360 - top)
    name_axes(ax, xlabel="steps")
    ax.xaxis.labelpad = 0
    ax.plot(steps, earned, color=BLUE, ls="-", lw=2.2)
    ax.plot(last, earned[-1], "o", color=BLUE, ms=6.5, clip_on=False, zorder=6)
    name = fit(plain(agent), 100, TICK, "bold")
    ends = [(last, earned[-1], f"{name} {short_number(earned[-1])}", BLUE)]
    if pushes and all(push.get("best") is not None for push in pushes):
        best = np.cumsum([0, *map(_expected_best, pushes)])
        ax.plot(steps, best, color=INK, lw=1.6, ls=BOUND_DASH)
        ax.fill_between(steps, earned, best, color=GREY, alpha=0.10, lw=0)
        ends.append((last, best[-1], f"best possible {short_number(best[-1])}", INK))
    low, high = ax.dataLim.intervaly
    ax.set(xlim=(first, max(last, first + 10)), ylim=(min(low, 0), max(high, 2)))
    ax.locator_params(nbins=4, integer=True)
    if low < 0:
        ax.axhline(0, color=LINE, lw=1.6, zorder=0)
    if pushes:
        label_line_ends(ax, ends)


def _draw_last_pushes(stage, pushes, top):
    left = LEFT + 472
    stage.label(left, top, "last 20 pushes")
    outcomes = [_outcome(push) for push in pushes]
    draw_last_outcomes(stage, outcomes, left + 9, top + 26, 5, 27, 23, 8)
    opened = sum(push["opened"] for push in pushes)
    dismissed = len(pushes) - opened
    stage.text(left, top + 120, f"{opened} opened", LEAD, OPENED, "bold")
    stage.text(left, top + 137, f"{dismissed} dismissed", LEAD, DISMISSED, "bold")


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
        frames: Frames of one episode, oldest first, each a dict with these entries:

            - env, user: names
            - date: the day of this moment, year-month-day, or None if days have no date
            - now, of: minutes since the horizon's first midnight, and in the whole horizon
            - context: {feature: value} at this moment
            - hand: None, or {notification: {feature: value}, arrived: minutes, deferrals: int}
            - cache: the same of those that wait, oldest first
            - events: all arrivals up to now, in order: {notification, arrived, shown, closed, outcome}, with minutes or
              None; the outcome is opened, dismissed (by the user), unseen (dismissed by the agent), expired, pending
              (shown, no answer yet), waiting or in hand
            - places: (from, to, words) of the day so far
            - allowed: names of the actions allowed now
            - last: None, or {action, forbidden, notification} of the step that led here
            - reward: so far
            - labels: optional, {feature: {value: friendlier words}}

        agent: Name of the agent that chose.
        choosing: Whether a person decides now: the card shows the actions allowed, not the decision just taken.

    Returns:
        A figure of 9 x 4.6 inches.
    """
    now = latest(frames)
    is_over = now["now"] >= now["of"]
    midnight = DAY * int((now["now"] - is_over) // DAY)
    time = _clock_time(now["now"] - midnight)
    stage = Stage(900, 460)
    stage.heading(fit(_title(now, time), 608, TITLE, "bold"), _lead(now, agent), LEFT)
    _draw_inbox_screen(stage, now, time, agent, choosing)
    _draw_cache(stage, now)
    _draw_places(stage, now["places"], now["now"], midnight)
    _draw_lanes(stage, now, midnight)
    return stage.figure


def _clock_time(minutes):
    """Return minutes since midnight as the time of day.

    >>> _clock_time(1122.4), _clock_time(1440)
    ('18:42', '24:00')
    """
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours:02}:{minutes:02}"


def _length_of_time(minutes):
    """Return a span of time for a label.

    >>> [_length_of_time(m) for m in (0.2, 12, 134, 200, 4000)]
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
    about = _topic(handled["notification"], now.get("labels") or {})
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


def _draw_inbox_screen(stage, now, time, agent, choosing):
    """Draw the day, the place, the card in hand with its actions, and the last two notifications that are done."""
    labels = now.get("labels") or {}
    known = _words_by_role(now["context"], labels)
    _draw_phone(stage, 420, time, known)
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
        _draw_card_in_hand(stage, now["hand"], "in hand", BLUE, now["now"], labels)
    elif done and not is_over:
        _draw_card_in_hand(stage, last, "was in hand", TEXT, now["now"], labels)
        actions = tuple(RESULTS)
        said = f"{plain(agent)} chose"
    else:
        words = "the end" if is_over else "nothing in hand"
        _draw_empty_card(stage, 107, 138, words)
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
        ago = _length_of_time(now["now"] - minute)
        y = 284 + 58 * place
        _draw_past_card(stage, y, event["notification"], labels, ago, kind)


def _draw_card_in_hand(stage, event, state, colour, now, labels):
    """Draw the white card of the notification in hand, or just dealt with."""
    right = CARD + CARD_WIDTH - 12
    stage.box(CARD, 107, CARD_WIDTH, 138, 13, z=6)
    stage.text(CARD + 12, 123, state, SMALL, colour, "bold")
    if "arrived" in event:
        age = _length_of_time(now - event["arrived"])
        if event["deferrals"]:
            age = f"{age}, put off {event['deferrals']}×"
        stage.label(right, 123, age, align="right")
    _draw_app(stage, CARD + 10, 137, event["notification"], labels, 126)
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
        _draw_app(stage, x + 10, 111, waiting["notification"], labels, 136)
        mark(stage, "waiting", [(x + 23, 159)])
        waited = _length_of_time(now["now"] - waiting["arrived"])
        stage.text(x + 44, 159, waited, weight="bold")
        stage.label(x + 178, 159, f"put off {waiting['deferrals']}×", align="right")
    rest = cache[count:]
    if rest:
        x = LEFT + 12 + 198 * count
        stage.box(x, 102, 188, 76, 10, edge=LINE, z=4)
        for place, waiting in enumerate(rest[:6]):
            app = _app_of(waiting["notification"])
            letter = app_name(app or "Notification")[0]
            tile(stage, x + 10 + 29 * place, 111, 24, letter, app_colour(app))
        waited = _length_of_time(now["now"] - rest[0]["arrived"])
        words = f"{len(rest):,} more, up to {waited}"
        stage.text(x + 10, 159, fit(words, 168, LEAD, "bold"), weight="bold")


# ---------------------------------------------------------------- the day


def _at(minutes):
    """Return x of minutes since midnight on the lanes."""
    return 376 + 456 * np.clip(minutes / DAY, 0, 1)


def _draw_places(stage, places, now, midnight):
    """Draw the places of the day so far; the hours to come are blank."""
    x = _at(now - midnight)
    now = f"now {_clock_time(now - midnight)}"
    stage.text(LEFT, 214, now, SMALL, INK, "bold")
    stage.label(RIGHT - 4, 214, "today", align="right")
    stage.box(376, 205, 456, 18, 4, PAPER, LINE)
    for begin, end, place in places:
        start = _at(begin - midnight)
        stop = min(_at(end - midnight), x)
        if stop - start < 2.5:
            continue
        stage.box(start + 1, 205, stop - start - 2, 18, 4, TRACK)
        name = value_words(place)
        fits = text_width(name, SMALL) < stop - start - 10
        if fits and name.lower() not in UNKNOWN:
            stage.label((start + stop) / 2, 214, name, align="center")
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
        stage.label(x, 427, _clock_time(60 * hour), align="center")
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
    x = np.repeat(minutes, 2)[1:]
    number = np.repeat(np.cumsum(steps), 2)[:-1]
    ax = stage.axes(376, 266, 456, 25, zorder=3)
    ax.set_axis_off()
    ax.set(xlim=(midnight, midnight + DAY), ylim=(0, max(25 / 8, number.max())))
    look = {"fc": WAITING, "ec": WAITING_EDGE, "lw": 0.9}
    ax.fill_between(x, number, where=number > 0, **look)
