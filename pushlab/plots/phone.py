"""The phone: what the user has in hand, what was pushed last and what became of it, and how well the agent does so far.

It reads frames, the plain dicts that the push environments make, and knows no schema: features with a familiar role
(day, place, battery ...) get their icon and a short name, all others a general one.
"""

import numpy as np

from pushlab.plots.kit import (
    CHIP_EDGES,
    PAST_CARD,
    app_colour,
    badge,
    chip,
    clock,
    end_labels,
    mark,
    phone_body,
    priority_mark,
    set_ticks,
    ticks_around,
    ticks_between,
    tile,
)
from pushlab.plots.palette import (
    BLUE,
    BOUND_DASH,
    DAWN,
    DISMISSED,
    GREY,
    INK,
    LEAD,
    LINE,
    OPENED,
    PAPER,
    SMALL,
    SURFACE,
    TEXT,
    TICK,
    TITLE,
    blend,
)
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.words import UNKNOWN, app_name, chip_name, role, short_number, symbol, value_words

WIDTH, HEIGHT = 900, 420
LEFT = 268                                  # where the words beside the phone begin
BATTERY = {"empty": 0.05, "low": 0.2, "medium": 0.5, "med": 0.5, "high": 0.85, "full": 1.0}


# ---------------------------------------------------------------- reading a frame

def context_words(context, labels):
    """The context as {feature: words}, with the friendlier words of `labels` where it has them."""
    return {feature: value_words(labels.get(feature, {}).get(str(value), value)) for feature, value in context.items()}


def by_role(words):
    """{role: words} of the features that have a role and a known value."""
    return {role(feature): said for feature, said in words.items() if role(feature) and said.lower() not in UNKNOWN}


def app_of(notification):
    """The value of the first feature that names an app, or None."""
    return next((value for name, value in notification.items() if "app" in name.lower()), None)


def topic(notification, labels):
    """What a notification is about: its subject, else its category, else its app, else nothing known ("")."""
    for feature in ("subject", "category"):
        said = labels.get(feature, {}).get(str(notification.get(feature)), notification.get(feature, ""))
        if plain(said).lower() not in UNKNOWN:
            return value_words(said)
    app = app_of(notification)
    return "" if app is None or plain(app).lower() in UNKNOWN else app_name(labelled_app(notification, labels))


def labelled_app(notification, labels):
    for name, value in notification.items():
        if "app" in name.lower():
            return labels.get(name, {}).get(str(value), value)
    return None


def outcome(push):
    return "opened" if push["opened"] else "dismissed"


def expected_best(push):
    """Reward to expect of the best notification, from the table of rewards and the best reachable chance of an open.

    Against a history that opened, an open earns 1 and a dismissal -1; against one that dismissed, 2 and 0.

    >>> expected_best({"best": 0.75, "actual": True}), expected_best({"best": 0.75, "actual": False})
    (0.5, 1.5)
    """
    return 2 * push["best"] - (1 if push["actual"] else 0)


# ---------------------------------------------------------------- the picture

@house_style()
def phone(frames, figure=None, agent="agent", choosing=False):
    """The phone of one user after the last of `frames`, with the agent's score so far.

    frames    frames of one episode, oldest first; each a dict with
              env, user   names
              step, of    pushes made so far, and in the whole episode
              context     {feature: value} that now waits for a notification
              push        None at reset, else {context, notification, opened, actual, reward, probability, best}
              labels      optional, {feature: {value: friendlier words}}
    figure    a figure to clear and use again, for players; None makes one
    agent     name at the end of the agent's curve
    choosing  False shows the last push; True the context that waits, and an empty card
    returns   Figure, 9 x 4.2 inches
    """
    if not frames:
        raise ValueError("phone() needs at least one frame: the one after reset()")
    now = frames[-1]
    pushes = [frame["push"] for frame in frames if frame["push"]]
    labels = now.get("labels") or {}
    context = now["context"] if choosing or not pushes else pushes[-1]["context"]
    words = context_words(context or {}, labels)

    stage = Stage(WIDTH, HEIGHT, figure)
    _draw_screen(stage, now, pushes, words, labels, choosing)
    _draw_heading(stage, now, pushes, labels, choosing)
    below = _draw_context(stage, words)
    _draw_score(stage, frames, pushes, agent, below)
    _draw_last_pushes(stage, pushes[-20:], below)
    return stage.figure


def _draw_heading(stage, now, pushes, labels, choosing):
    if pushes:
        before, after = "The ", f" push was {outcome(pushes[-1])}"
        room = WIDTH - MARGIN - LEFT - text_width(before + after, TITLE, "bold")
        title = before + fit(topic(pushes[-1]["notification"], labels), room, TITLE, "bold") + after
        title = title.replace("  ", " ")
    else:
        title = "Which notification should be the first?" if choosing else "Nothing has been pushed yet"
    env = str(now["env"]).removeprefix("pushlab/")
    user = fit(plain(now["user"]), 240, LEAD)
    stage.heading(title, f"{plain(env)}   ·   user {user}   ·   step {now['step']:,} of {now['of']:,}", LEFT)


# ---------------------------------------------------------------- the screen

def _draw_screen(stage, now, pushes, words, labels, choosing):
    known = by_role(words)
    day, time = known.get("day", ""), known.get("time", "")
    sx, sy, sw, _ = phone_body(stage, 24, 20, 212, 380, day[:3] if day.isalpha() else "", charge(known.get("battery")),
                               known.get("ringer"), known.get("charging") == "yes")
    day = f"day {day}" if day.isdigit() else day
    clock(stage, sx + sw / 2, sy + 66, time or day or "now", day if time else "", sw - 24)

    x, y, width, shown = sx + 8, sy + 128, sw - 16, len(pushes)
    if choosing or not pushes:
        _draw_empty_card(stage, x, y, width, "choose a notification" if choosing else "nothing pushed yet")
    else:
        shown -= 1
        _draw_card(stage, x, y, width, pushes[-1], labels)
    for place, number in enumerate(range(shown - 1, max(shown - 3, -1), -1)):
        step = now["step"] - (len(pushes) - 1 - number)
        _draw_past_card(stage, x, y + 94 + 58 * place, width, pushes[number], labels, step)


def charge(battery):
    """The battery's share from its word or number; None when unknown."""
    if battery is None:
        return None
    if battery.lower() in BATTERY:
        return BATTERY[battery.lower()]
    number = battery.rstrip(" %")
    return min(1.0, float(number) / (100 if float(number) > 1 else 1)) if number.replace(".", "", 1).isdigit() else None


def card_words(notification, labels):
    """App, tile colour, subject line and priority of a card."""
    app = labelled_app(notification, labels)
    name = app_name(app) if app is not None and plain(app) else "Notification"
    about = topic({k: v for k, v in notification.items() if k in ("subject", "category")}, labels)
    if not {"subject", "category"} & set(notification):                 # another schema: its first feature tells
        others = [value for feature, value in notification.items() if "app" not in feature.lower()]
        about = value_words(others[0]) if others else ""
    return name, app_colour(app_of(notification)), about or "no subject", value_words(notification.get("priority", ""))


def _draw_card(stage, x, y, width, push, labels):
    """The last push, white and complete."""
    name, colour, about, priority = card_words(push["notification"], labels)
    stage.box(x, y, width, 86, 13, SURFACE, z=6)
    tile(stage, x + 10, y + 11, 26, name[0], colour)
    stage.text(x + 44, y + 17, fit(name, width - 90, LEAD, "bold"), LEAD, INK, "bold")
    stage.text(x + width - 12, y + 17, "now", SMALL, TEXT, align="right")
    stage.text(x + 44, y + 34, fit(about, width - 56, SMALL), SMALL)
    stage.line([(x + 12, y + 52), (x + width - 12, y + 52)], LINE, .8)
    end = badge(stage, outcome(push), x + width - 7, y + 69)
    bars = priority_mark(stage, priority, x + 12, y + 69)
    start = x + 12 + (bars + 5 if bars else 0)
    if priority:
        stage.text(start, y + 69, fit(priority, end - start - 3, SMALL), SMALL, TEXT)


def _draw_empty_card(stage, x, y, width, words):
    stage.box(x, y, width, 86, 13, blend(SURFACE, .10, DAWN), SURFACE, 1.3, (0, (4, 3)), z=6, alpha=.92)
    stage.text(x + width / 2, y + 43, words, LEAD, INK, "bold", align="center")


def _draw_past_card(stage, x, y, width, push, labels, step):
    """An earlier push, quieter."""
    name, colour, about, priority = card_words(push["notification"], labels)
    stage.box(x, y, width, 50, 13, PAST_CARD, z=6)
    tile(stage, x + 10, y + 11, 26, name[0], colour)
    when = f"step {step:,}"
    room = width - 44 - 12 - text_width(when, SMALL) - 8
    if priority_mark_fits := text_width(name, LEAD, "bold") + 26 <= room:
        priority_mark(stage, priority, x + 54 + text_width(name, LEAD, "bold"), y + 17)
    stage.text(x + 44, y + 17, name if priority_mark_fits else fit(name, room, LEAD, "bold"), LEAD, INK, "bold")
    stage.text(x + width - 12, y + 17, when, SMALL, TEXT, align="right")
    stage.text(x + 44, y + 34, fit(about, width - 76, SMALL), SMALL)
    mark(stage, outcome(push), x + width - 20, y + 35, 7.5)


# ---------------------------------------------------------------- the context

def chip_places(features, width=WIDTH - MARGIN - LEFT, gap=8, rows=3):
    """Where the chips stand: list of (feature, row, left, width), in as many columns as the names allow.

    The place gets two columns where there is room, since it may hold several tags. The places depend on the features
    alone, so that chips stand still while their values change.
    """
    for columns in (4, 3, 2, 5):
        one = (width - gap * (columns - 1)) / columns
        fits = all(text_width(chip_name(feature), SMALL) <= one - CHIP_EDGES for feature in features)
        if len(features) <= rows * columns and (fits or columns == 5):
            break
    free = columns * rows - len(features)
    places, row, column = [], 0, 0
    for feature in features:
        span = 2 if role(feature) == "place" and free > 0 else 1
        if column + span > columns:
            row, column = row + 1, 0
        places.append((feature, row, column * (one + gap), one * span + gap * (span - 1)))
        column += span
    return places


def _draw_context(stage, words):
    """The chips; returns the height at which what stands below may begin."""
    features = list(words)
    shown = features if len(features) <= 15 else features[:14]
    places = chip_places(shown if shown == features else [*shown, "more"])
    for feature, row, left, width in places:
        if feature not in words:
            chip(stage, LEFT + left, 76 + 54 * row, width, "and", f"{len(features) - 14} more")
            continue
        known = words[feature].lower() not in UNKNOWN
        chip(stage, LEFT + left, 76 + 54 * row, width, chip_name(feature), words[feature] or "unknown", symbol(feature),
             known=known)
    rows = 1 + max((row for _, row, *_ in places), default=-1)
    return 76 + 54 * rows + 18


# ---------------------------------------------------------------- the score

def _draw_score(stage, frames, pushes, agent, top):
    """The reward so far as a curve, and the best that was possible where every push knows it."""
    stage.label(LEFT, top, "reward so far")
    last = frames[-1]["step"]
    steps = np.arange(last - len(pushes), last + 1)
    earned = np.cumsum([0, *(push["reward"] for push in pushes)])
    knows_best = pushes and all(push.get("best") is not None for push in pushes)
    best = np.cumsum([0, *map(expected_best, pushes)]) if knows_best else None

    ax = stage.axes(LEFT + 30, top + 16, 300, HEIGHT - 44 - top - 16)
    lines = earned if best is None else np.concatenate((earned, best))
    low, high = lines.min(), max(2, lines.max())
    heights = ticks_around(low if low < -.05 * high else 0, high, 3)
    ax.set(xlim=(steps[0], max(last, steps[0] + 10)), ylim=(min(low, heights[0]), heights[-1]))
    if best is not None:
        ax.plot(steps, best, color=INK, lw=1.6, ls=BOUND_DASH)
        ax.fill_between(steps, earned, best, color=GREY, alpha=.10, lw=0)
    ax.plot(steps, earned, color=BLUE, lw=2.2, ls="-")
    ax.plot(last, earned[-1], "o", color=BLUE, ms=6.5, clip_on=False, zorder=6)
    set_ticks(ax.yaxis, heights, whole=True)
    set_ticks(ax.xaxis, ticks_between(*ax.get_xlim(), 4), "steps", whole=True)
    if heights[0] < 0:
        ax.axhline(0, color=LINE, lw=1.6, zorder=0)
    if pushes:
        _draw_end_names(ax, last, earned[-1], None if best is None else best[-1], agent)


def _draw_end_names(ax, last, earned, best, agent):
    number = short_number(earned)
    room = 126 - text_width(f" {number}", TICK, "bold")
    labels = [(last, earned, f"{fit(plain(agent), room, TICK, 'bold')} {number}", BLUE, "bold")]
    if best is not None:
        labels.append((last, best, f"best possible {short_number(best)}", INK, "normal"))
    end_labels(ax, labels)


def _draw_last_pushes(stage, pushes, top):
    left = LEFT + 472
    stage.label(left, top, "last 20 pushes")
    for place in range(20):
        x, y = left + 9 + (place % 5) * 27, top + 26 + (place // 5) * 23
        if place < len(pushes):
            mark(stage, outcome(pushes[place]), x, y, 8)
        else:
            stage.disc(x, y, 7.4, PAPER, LINE, 1.2)
    outcomes = [outcome(push) for push in pushes]
    for row, (kind, colour) in enumerate((("opened", OPENED), ("dismissed", DISMISSED))):
        stage.text(left, top + 120 + 17 * row, f"{outcomes.count(kind)} {kind}", LEAD, colour, "bold")
