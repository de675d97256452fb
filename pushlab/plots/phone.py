"""The phone: what the user has in hand, what was pushed last and what became of it, and the reward so far.

It draws frames, the plain dicts that the push environments make, and knows no schema: see `phone_words`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from pushlab.plots.phone_words import (
    UNKNOWN,
    app_name,
    app_of,
    role,
    symbol,
    topic,
    words_by_role,
    words_of,
)
from pushlab.plots.stage import (
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
    SMALL,
    SURFACE,
    TEXT,
    TICK,
    blend,
    fit,
    house_style,
    label_line_ends,
    name_axes,
    plain,
    short_number,
    spoken,
    text_width,
)

LEFT = 268  # where the words beside the phone begin
CARD, CARD_WIDTH = 39, 182  # of the cards on the screen
NIGHT, DAWN = "#1E3A56", "#7FA3BB"  # the phone's wallpaper from top to bottom
BODY, PALE, NO_BAR = "#161D26", "#D7E3EC", "#C6CDD6"
DASHED = (0, (4, 3))
CHARGES = {
    "empty": 0.05,
    "low": 0.2,
    "medium": 0.5,
    "med": 0.5,
    "high": 0.85,
    "full": 1.0,
}
BARS = {"min": 0, "low": 1, "default": 2, "high": 3, "max": 3}  # of a priority


@house_style()
def phone(
    frames: Sequence[Mapping], agent: str = "agent", choosing: bool = False
) -> Figure:
    """Draw the phone of one user after the last of `frames`, with the agent's score so far.

    Args:
        frames: Frames of one episode, oldest first, each a dict with
            env, user: names;
            step, of: pushes made so far, and in the whole episode;
            context: {feature: value} that now waits for a notification;
            push: None at reset, else {context, notification, opened, actual, reward, probability, best};
            labels: optional, {feature: {value: friendlier words}}.
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
    _draw_screen(stage, now, pushes, last, words_by_role(context, labels), choosing)
    title = "Nothing has been pushed yet"
    if pushes:
        about = topic(pushes[-1]["notification"], labels)
        title = f"The {fit(about, 300, LEAD)} push was {outcome(pushes[-1])}"
    elif choosing:
        title = "Which notification should be the first?"
    env = plain(now["env"]).removeprefix("pushlab/")
    user = fit(plain(now["user"]), 240, LEAD)
    lead = f"{env} · user {user} · step {now['step']:,} of {now['of']:,}"
    stage.heading(" ".join(title.split()), lead, LEFT)
    below = _draw_context(stage, words_of(context, labels))
    _draw_score(stage, pushes, now["step"], agent, below)
    _draw_last_pushes(stage, pushes[-20:], below)
    return stage.figure


def outcome(push: Mapping) -> str:
    """Return "opened" or "dismissed"."""
    return "opened" if push["opened"] else "dismissed"


def expected_best(push: Mapping) -> float:
    """Return the reward to expect of the best notification, from the best reachable chance of an open.

    Against a history that opened, an open earns 1 and a dismissal -1; against one that dismissed, 2 and 0.

    >>> expected_best({"best": 0.75, "actual": True}), expected_best({"best": 0.75, "actual": False})
    (0.5, 1.5)
    """
    return 2 * push["best"] - (1 if push["actual"] else 0)


# ---------------------------------------------------------------- the phone


def draw_phone(
    stage: Stage, height: float, time: str, known: Mapping[str, str]
) -> None:
    """Draw the body of a phone, its wallpaper and its status bar, at the left of a stage.

    Args:
        time: Words at the left of the status bar.
        known: Context as `words_by_role` returns it; battery, charging and ringer show in the status bar.
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


def draw_empty_card(stage: Stage, y: float, height: float, words: str) -> None:
    """Draw a dashed card with words in its upper half."""
    fill = blend(SURFACE, 0.12, DAWN)
    stage.box(CARD, y, CARD_WIDTH, height, 13, fill, SURFACE, 1.3, DASHED, z=6)
    stage.text(CARD + CARD_WIDTH / 2, y + 41, words, weight="bold", align="center")


def draw_app(
    stage: Stage,
    x: float,
    y: float,
    notification: Mapping,
    labels: Mapping,
    room: float,
    room_below: float = 126,
) -> None:
    """Draw an app's tile and name, the notification's priority as bars, and below them its topic.

    Args:
        room, room_below: Widths for the name with its bars, and for the topic.
    """
    words = words_of(notification, labels)
    name = fit(app_name(app_of(words) or "Notification"), room, LEAD, "bold")
    tile(stage, x, y, 26, name[0], app_colour(app_of(notification)))
    stage.text(x + 34, y + 6, name, weight="bold")
    about = topic(notification, labels) or "no subject"
    stage.text(x + 34, y + 22, fit(about, room_below, SMALL), SMALL)

    level = words.get("priority")
    bars_left = x + 44 + text_width(name, LEAD, "bold")
    if level in BARS and bars_left + 16 <= x + 34 + room:
        for bar in range(3):
            height = 4 + 3 * bar
            colour = INK if bar < BARS[level] else NO_BAR
            stage.box(bars_left + 6 * bar, y + 11 - height, 4, height, 1, colour, z=9)


def draw_past_card(
    stage: Stage,
    y: float,
    notification: Mapping,
    labels: Mapping,
    when: str,
    kind: str,
) -> None:
    """Draw an earlier notification with its mark, see `stage.mark`, and when it was."""
    stage.box(CARD, y, CARD_WIDTH, 50, 13, blend(SURFACE, 0.84, DAWN), z=6)
    room = CARD_WIDTH - 64 - text_width(when, SMALL)
    draw_app(stage, CARD + 10, y + 11, notification, labels, room, 106)
    stage.label(CARD + CARD_WIDTH - 12, y + 17, when, align="right")
    mark(stage, kind, [(CARD + CARD_WIDTH - 20, y + 35)], 7.5)


def _draw_screen(stage, now, pushes, last, known, choosing):
    """Draw the clock, the card of the last push and those of two earlier ones."""
    labels = now.get("labels") or {}
    day = known.get("day", "")
    time = known.get("time", "")
    draw_phone(stage, 380, day[:3] if day.isalpha() else "", known)
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
        draw_empty_card(stage, 155, 86, words)
    step = now["step"] - bool(last)
    for place, push in enumerate(reversed(pushes[-2:])):
        y = 249 + 58 * place
        when = f"step {step - place:,}"
        draw_past_card(stage, y, push["notification"], labels, when, outcome(push))


def _draw_card(stage, y, push, labels):
    """Draw the last push, white and complete, with its outcome as a pill."""
    right = CARD + CARD_WIDTH
    stage.box(CARD, y, CARD_WIDTH, 86, 13, SURFACE, z=6)
    draw_app(stage, CARD + 10, y + 11, push["notification"], labels, 92)
    stage.label(right - 12, y + 17, "now", align="right")
    stage.line([(CARD + 12, y + 52), (right - 12, y + 52)], LINE, 0.8)

    kind = outcome(push)
    opened = kind == "opened"
    fill = OPENED if opened else SURFACE
    colour = SURFACE if opened else DISMISSED
    left = right - 38 - text_width(kind, SMALL, "bold")
    edge = OPENED if opened else DISMISSED
    stage.box(left, y + 59, right - 7 - left, 20, 10, fill, edge, 1.4, z=12)
    symbol = "check" if opened else "cross"
    icon(stage, symbol, [(left + 12, y + 69)], 8, colour, 1.8, z=13)
    stage.text(right - 17, y + 69, kind, SMALL, colour, "bold", "right", z=13)
    level = words_of(push["notification"], labels).get("priority")
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
        best = np.cumsum([0, *map(expected_best, pushes)])
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
    outcomes = [outcome(push) for push in pushes]
    draw_last_outcomes(stage, outcomes, left + 9, top + 26, 5, 27, 23, 8)
    opened = sum(push["opened"] for push in pushes)
    dismissed = len(pushes) - opened
    stage.text(left, top + 120, f"{opened} opened", LEAD, OPENED, "bold")
    stage.text(left, top + 137, f"{dismissed} dismissed", LEAD, DISMISSED, "bold")
