"""The phone with its inbox: the notification in hand, the cache, and the day so far.

It reads the frames of the world in which an agent manages arriving notifications, plain dicts; see `inbox`.
"""

from collections.abc import Mapping, Sequence
from datetime import date

from matplotlib.figure import Figure

from pushlab.ground.arguments import demand
from pushlab.plots.cards import (
    LEFT,
    WIDTH,
    about_title,
    app_of,
    by_role,
    card_words,
    context_words,
    draw_app,
    draw_past_card,
    draw_phone,
    topic,
)
from pushlab.plots.kit import app_colour, fit_list, mark, tile
from pushlab.plots.palette import (
    BLUE,
    DAWN,
    DISMISSED,
    INK,
    LEAD,
    LINE,
    SMALL,
    SOFT,
    SURFACE,
    TEXT,
    TITLE,
    blend,
    deep,
)
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.timeline import (
    DAY,
    clock_time,
    length_of_time,
    midnight_before,
    timeline,
)

HEIGHT, RIGHT = (
    460,
    WIDTH - MARGIN,
)  # of the sheet, and where what stands beside the phone ends
DOT = "   ·   "
OF_THE_ONE_IN_HAND = ("show", "cache", "dismiss")
WHAT_WAS_DONE = {
    "show": "was shown",
    "cache": "waits in the cache",
    "dismiss": "was dismissed unseen",
    "check-cache": "is back in hand",
}


@house_style()
def inbox(
    frames: Sequence[Mapping],
    figure: Figure | None = None,
    agent: str = "agent",
    choosing: bool = False,
    title: str | None = None,
) -> Figure:
    """The phone of one user at the moment of the last frame, what waits in its cache, and the day up to now.

    frames    frames of one episode, oldest first; each a dict with
              env, user   names
              date        the day of this moment, year-month-day; None where days have no date
              now, of     minutes since the horizon's first midnight, and in the whole horizon
              context     {feature: value} at this moment
              hand        None, or {notification: {feature: value}, arrived: minutes, deferrals: int}
              cache       the same of those that wait, oldest first
              events      all that has arrived up to now, in order: {notification, arrived, shown, closed, outcome};
                          minutes or None; the outcome is opened, dismissed (by the user), unseen (dismissed by the
                          agent), expired, pending (shown, no answer yet), waiting or in hand
              places      (from, to, words) of the day so far
              allowed     names of the actions allowed now
              last        None, or {action, forbidden, notification} of the step that led here
              reward      so far
              labels      optional, {feature: {value: friendlier words}}
    figure    a figure to clear and use again, for players; None makes one
    agent     whose choice it was
    choosing  True for a person who decides now: the shade shows what is in hand and the actions allowed. False shows
              the decision just taken and what it was about, until time moves on
    title     the sentence on top; None says what happened last
    returns   Figure, 9 x 4.6 inches; `day_counts` of its events are the numbers at the right edge
    """
    demand(frames, "inbox() needs at least one frame: the one after reset()")
    now, before = frames[-1], frames[-2] if len(frames) > 1 else None
    stage = Stage(WIDTH, HEIGHT, figure)
    _draw_screen(stage, now, agent, choosing)
    room = WIDTH - MARGIN - LEFT
    stage.heading(
        fit(plain(title or event_title(now, before)), room, TITLE, "bold"),
        _lead(now, agent, room),
        LEFT,
    )
    _draw_cache(stage, now)
    day = midnight_before(now["now"], now["of"])
    earliest = min(frame["now"] for frame in frames if frame["now"] >= day)
    timeline(stage, LEFT, RIGHT, 214, now, earliest)
    return stage.figure


# ---------------------------------------------------------------- words


def event_title(now: Mapping, before: Mapping | None = None) -> str:
    """What happened last, as a sentence: the title of the picture.

    now, before   the last frame and the one before it, if there is one
    """
    last, labels = now["last"], now.get("labels") or {}
    if now["now"] >= now["of"]:
        opened = sum(event["outcome"] == "opened" for event in now["events"])
        span = "The day is over" if now["of"] <= DAY else "The days are over"
        return f"{span}: {opened:,} of {len(now['events']):,} notifications opened"
    if last and last["forbidden"]:
        return f"“{last['action']}” is not allowed now"
    if last and last["notification"] and last["action"] in WHAT_WAS_DONE:
        return _about(
            last["notification"], labels, "The", WHAT_WAS_DONE[last["action"]]
        )
    if now["hand"]:
        return _about(
            now["hand"]["notification"],
            labels,
            "A",
            "arrives" if last else "is the first",
        )
    since = before["now"] if before else now["now"]
    answered = [
        event
        for event in now["events"]
        if event["closed"] is not None and event["closed"] > since
    ]
    if answered:
        event = max(answered, key=lambda event: event["closed"])
        return _about(
            event["notification"],
            labels,
            "The",
            "expired unseen"
            if event["outcome"] == "expired"
            else f"was {event['outcome']}",
        )
    return (
        f"Nothing new by {clock_time(now['now'])}"
        if last
        else "Nothing has arrived yet"
    )


def _about(notification, labels, article, ending):
    """A sentence about a notification."""
    about = topic(notification, labels)
    article = (
        "An" if article == "A" and about[:1].lower() in tuple("aeiou") else article
    )
    return about_title(article, about, f"notification {ending}")


def _lead(now, agent, room):
    """Where and who, what the agent chose, how many wait, the reward so far."""
    last, waiting = now["last"], len(now["cache"])
    words = [
        str(now["env"]).removeprefix("pushlab/"),
        f"user {fit(plain(now['user']), 110, LEAD)}",
    ]
    if now["of"] > DAY:
        words.append(
            f"day {1 + midnight_before(now['now'], now['of']) // DAY:,} of {-(-now['of'] // DAY):,.0f}"
        )
    words += [
        f"{waiting:,} waiting" if waiting else "none waiting",
        f"reward {_signed(now['reward'])}",
    ]
    if last:
        left = room - text_width(DOT.join([*words, f" chose {last['action']}"]), LEAD)
        who = fit(plain(agent), left, LEAD)
        who = who if left > 60 or who == plain(agent) else ""
        words.insert(-2, f"{who} chose {last['action']}".strip())
    return fit(DOT.join(map(plain, words)), room, LEAD)


def _signed(number):
    """A number with two decimals at most.

    >>> _signed(-3.0), _signed(0.126), _signed(1234.5)
    ('−3', '0.13', '1,234.5')
    """
    words = f"{number:,.2f}".rstrip("0").rstrip(".")
    return "0" if words == "-0" else words.replace("-", "\N{MINUS SIGN}")


def day_words(now: Mapping, known: Mapping[str, str]) -> tuple[str, str]:
    """Weekday and date of a frame's moment; where days have no date, the weekday that the context names, if any."""
    if now.get("date"):
        today = date.fromisoformat(str(now["date"])[:10])
        return today.strftime("%A"), f"{today.day} {today:%B %Y}"
    said = known.get("day", "")
    return (f"Day {said}" if said.isdigit() else said) or "Today", ""


# ---------------------------------------------------------------- the screen


def _draw_screen(stage, now, agent, choosing):
    labels, time = now.get("labels") or {}, clock_time(now["now"], now["of"])
    known = by_role(context_words(now["context"], labels))
    sx, sy, sw = draw_phone(stage, 420, time, known)
    weekday, day = day_words(now, known)
    stage.text(
        sx + 16,
        sy + 46,
        fit(plain(f"{weekday} {time}"), sw - 32, LEAD, "bold"),
        LEAD,
        SURFACE,
        "bold",
    )
    where = (
        ", ".join(known[role] for role in ("place", "activity") if role in known)
        or day
        or "place unknown"
    )
    stage.text(
        sx + 16, sy + 62, fit_list(where, sw - 32, SMALL, "normal"), SMALL, "#D7E3EC"
    )

    dealt = None if choosing else just_dealt(now)
    x, y, width = sx + 8, sy + 80, sw - 16
    if dealt:
        _draw_shade(stage, x, y, width, dealt, now, labels, ("was in hand", TEXT))
        _draw_actions(
            stage,
            x,
            y + 87,
            width,
            f"{plain(agent)} chose",
            OF_THE_ONE_IN_HAND,
            now["last"]["action"],
        )
    elif now["hand"]:
        _draw_shade(stage, x, y, width, now["hand"], now, labels, ("in hand", BLUE))
        _draw_allowed(stage, x, y + 87, width, now, TEXT)
    else:  # a dashed card, and the actions that are left
        over = now["now"] >= now["of"]
        stage.box(
            x,
            y,
            width,
            138,
            13,
            blend(SURFACE, 0.14, DAWN),
            SURFACE,
            1.3,
            (0, (4, 3)),
            z=6,
        )
        stage.text(
            x + width / 2,
            y + 38,
            "the end" if over else "nothing in hand",
            weight="bold",
            align="center",
        )
        if now["allowed"] and not over:
            _draw_allowed(stage, x, y + 87, width, now, INK)
    earlier = latest_events(now, dealt)
    if earlier:
        stage.text(sx + 16, sy + 242, "earlier", SMALL, SURFACE)
    for place, event in enumerate(earlier):
        kind = "shown" if event["outcome"] == "pending" else event["outcome"]
        draw_past_card(
            stage,
            x,
            sy + 257 + 58 * place,
            width,
            event["notification"],
            labels,
            _ago(now["now"], _since(event)),
            kind,
        )


def _ago(now, minute):
    """How long ago something was, "now" within the first minute."""
    return "now" if now - minute < 1 else length_of_time(now - minute)


def just_dealt(now: Mapping) -> Mapping | None:
    """The event that the last action closed or put off, while no time has passed and nothing else is in hand."""
    last = now["last"]
    if (
        not last
        or last["forbidden"]
        or last["action"] not in OF_THE_ONE_IN_HAND
        or now["hand"]
    ):
        return None
    fits = [
        event
        for event in now["events"]
        if event["notification"] == last["notification"]
    ]
    outcome = {
        "show": ("pending", "opened", "dismissed"),
        "cache": ("waiting",),
        "dismiss": ("unseen",),
    }
    fits = [event for event in fits if event["outcome"] in outcome[last["action"]]]
    return max(fits, key=lambda event: (_since(event), event["arrived"]), default=None)


def _since(event):
    """The minute of the last thing that is known of an event."""
    return max(
        m for m in (event["arrived"], event["shown"], event["closed"]) if m is not None
    )


def latest_events(
    now: Mapping, without: Mapping | None = None, most: int = 2
) -> list[Mapping]:
    """The last notifications that have left the agent's hands, newest first."""
    gone = [
        event
        for event in now["events"]
        if event["outcome"] not in ("waiting", "in hand") and event is not without
    ]
    return sorted(gone, key=_since, reverse=True)[:most]


def _draw_shade(stage, x, y, width, event, now, labels, state):
    """The white card: the notification in hand, or just dealt with."""
    age, deferrals = (
        _ago(now["now"], event["arrived"]),
        event["deferrals"] if event is now["hand"] else 0,
    )
    stage.box(x, y, width, 138, 13, SURFACE, z=6)
    stage.text(x + 12, y + 16, state[0], SMALL, state[1], "bold")
    stage.label(
        x + width - 12,
        y + 16,
        f"{age}, put off {deferrals}×" if deferrals else age,
        align="right",
    )
    draw_app(
        stage, x + 10, y + 30, 26, event["notification"], labels, width - 56, width - 56
    )
    stage.line([(x + 12, y + 72), (x + width - 12, y + 72)], LINE, 0.8, z=7)


def _draw_allowed(stage, x, y, width, now, colour):
    """What may be done; where another action was tried and is not allowed, that is said."""
    if now["last"] and now["last"]["forbidden"]:
        _draw_actions(
            stage,
            x,
            y,
            width,
            "only these are allowed",
            now["allowed"],
            None,
            deep(DISMISSED),
            "bold",
        )
    else:
        _draw_actions(stage, x, y, width, "allowed now", now["allowed"], None, colour)


def _draw_actions(
    stage, x, y, width, over, actions, chosen, colour=TEXT, weight="normal"
):
    """Pills in a row under some words, the chosen one dark."""
    stage.text(
        x + 12, y, fit(over, width - 24, SMALL, weight), SMALL, colour, weight, z=11
    )
    words = [text_width(action, SMALL, "bold") for action in actions]
    padding = min(26, (width - 16 - 3 * (len(actions) - 1) - sum(words)) / len(actions))
    x += 8
    for action, word in zip(actions, words):
        wide, dark = word + padding, action == chosen
        stage.box(x, y + 15, wide, 24, 12, INK if dark else SOFT, z=7)
        stage.text(
            x + wide / 2,
            y + 27,
            action,
            SMALL,
            SURFACE if dark else INK,
            "bold",
            "center",
        )
        x += wide + 3


# ---------------------------------------------------------------- the cache


def _draw_cache(stage, now):
    """The tray: up to three cards, or two and a card of the rest; the first is the one that check-cache takes."""
    cache, labels = now["cache"], now.get("labels") or {}
    stage.box(LEFT, 74, RIGHT - LEFT, 112, 12, SOFT, z=2)
    stage.label(LEFT + 14, 90, "cache")
    if not cache:
        stage.box(
            LEFT + 12,
            102,
            RIGHT - LEFT - 24,
            76,
            10,
            SOFT,
            "#C6CDD6",
            1.1,
            (0, (4, 3)),
            z=4,
        )
        stage.label((LEFT + RIGHT) / 2, 140, "nothing waits", align="center")
        return
    stage.label(RIGHT - 14, 90, "oldest first: the framed card is next", align="right")
    single = cache if len(cache) <= 3 else cache[:2]
    for place, waiting in enumerate(single):
        x, head = LEFT + 12 + 198 * place, place == 0
        stage.box(
            x,
            102,
            188,
            76,
            10,
            SURFACE,
            INK if head else LINE,
            1.5 if head else 1.0,
            z=4,
        )
        draw_app(
            stage, x + 10, 112, 24, waiting["notification"], labels, 136, 136, TEXT
        )
        mark(stage, "waiting", x + 22, 159, 8)
        stage.text(
            x + 42, 159, length_of_time(now["now"] - waiting["arrived"]), weight="bold"
        )
        stage.label(x + 178, 159, f"put off {waiting['deferrals']}×", align="right")
    if len(cache) > len(single):
        _draw_rest(
            stage,
            LEFT + 12 + 198 * len(single),
            cache[len(single) :],
            now["now"],
            labels,
        )


def _draw_rest(stage, x, cache, now, labels, most=6):
    """The younger ones of a long cache: their tiles, how many there are, and how long they have waited."""
    stage.box(x, 102, 188, 76, 10, SURFACE, LINE, 1.0, z=4)
    shown = cache if len(cache) <= most else cache[: most - 1]
    for place, waiting in enumerate(shown):
        name, *_ = card_words(waiting["notification"], labels)
        tile(
            stage,
            x + 10 + 29 * place,
            112,
            24,
            name[0],
            app_colour(app_of(waiting["notification"])),
        )
    if len(cache) > len(shown):
        stage.text(
            x + 12 + 29 * len(shown),
            124,
            f"+{len(cache) - len(shown)}",
            SMALL,
            INK,
            "bold",
        )
    words = f"{len(cache):,} more"
    stage.text(x + 12, 159, words, weight="bold")
    ages = f"{length_of_time(now - cache[-1]['arrived'])} or more"
    stage.label(
        x + 178,
        159,
        fit(ages, 158 - text_width(words, LEAD, "bold"), SMALL),
        align="right",
    )
