"""The phone: what the user has in hand, what was pushed last and what became of it, and how well the agent does so far.

It reads frames, the plain dicts that the push environments make, and knows no schema: features with a familiar role
(day, place, battery ...) get their icon and a short name, all others a general one.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from pushlab.ground.arguments import demand
from pushlab.plots.cards import (
    LEFT,
    WIDTH,
    about_title,
    by_role,
    card_words,
    context_words,
    draw_app,
    draw_last,
    draw_past_card,
    draw_phone,
    topic,
)
from pushlab.plots.kit import CHIP_EDGES, badge, chip, clock, end_labels, priority_mark
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
    SMALL,
    SURFACE,
    TICK,
    blend,
)
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.ticks import count_along, set_ticks, ticks_around
from pushlab.plots.words import UNKNOWN, chip_name, role, short_number, symbol

HEIGHT = 420


def outcome(push: Mapping) -> str:
    return "opened" if push["opened"] else "dismissed"


def expected_best(push: Mapping) -> float:
    """Reward to expect of the best notification, from the table of rewards and the best reachable chance of an open.

    Against a history that opened, an open earns 1 and a dismissal -1; against one that dismissed, 2 and 0.

    >>> expected_best({"best": 0.75, "actual": True}), expected_best({"best": 0.75, "actual": False})
    (0.5, 1.5)
    """
    return 2 * push["best"] - (1 if push["actual"] else 0)


# ---------------------------------------------------------------- the picture


@house_style()
def phone(
    frames: Sequence[Mapping],
    figure: Figure | None = None,
    agent: str = "agent",
    choosing: bool = False,
) -> Figure:
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
    if not isinstance(frames, (list, tuple)) or not all(
        isinstance(frame, Mapping) for frame in frames[-1:]
    ):
        raise TypeError(
            "phone() draws the frames of one episode, such as films[0] after "
            f'`log, films = rollout(…, record="frames")`; got a {type(frames).__name__}'
        )
    demand(frames, "phone() needs at least one frame: the one after reset()")
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
        title = about_title(
            "The",
            topic(pushes[-1]["notification"], labels),
            f"push was {outcome(pushes[-1])}",
        )
    else:
        title = (
            "Which notification should be the first?"
            if choosing
            else "Nothing has been pushed yet"
        )
    env = str(now["env"]).removeprefix("pushlab/")
    user = fit(plain(now["user"]), 240, LEAD)
    stage.heading(
        title,
        f"{plain(env)}   ·   user {user}   ·   step {now['step']:,} of {now['of']:,}",
        LEFT,
    )


# ---------------------------------------------------------------- the screen


def _draw_screen(stage, now, pushes, words, labels, choosing):
    known = by_role(words)
    day, time = known.get("day", ""), known.get("time", "")
    sx, sy, sw = draw_phone(stage, 380, day[:3] if day.isalpha() else "", known)
    day = f"day {day}" if day.isdigit() else day
    clock(
        stage, sx + sw / 2, sy + 66, time or day or "now", day if time else "", sw - 24
    )

    x, y, width, shown = sx + 8, sy + 128, sw - 16, len(pushes)
    if choosing or not pushes:
        _draw_empty_card(
            stage,
            x,
            y,
            width,
            "choose a notification" if choosing else "nothing pushed yet",
        )
    else:
        shown -= 1
        _draw_card(stage, x, y, width, pushes[-1], labels)
    for place, number in enumerate(range(shown - 1, max(shown - 3, -1), -1)):
        step = now["step"] - (len(pushes) - 1 - number)
        draw_past_card(
            stage,
            x,
            y + 94 + 58 * place,
            width,
            pushes[number]["notification"],
            labels,
            f"step {step:,}",
            outcome(pushes[number]),
            lower=23,
        )


def _draw_card(stage, x, y, width, push, labels):
    """The last push, white and complete."""
    stage.box(x, y, width, 86, 13, SURFACE, z=6)
    draw_app(
        stage,
        x + 10,
        y + 11,
        26,
        push["notification"],
        labels,
        width - 90,
        width - 56,
        bars=False,
        lower=23,
    )
    stage.label(x + width - 12, y + 17, "now", align="right")
    stage.line([(x + 12, y + 52), (x + width - 12, y + 52)], LINE, 0.8)
    end = badge(stage, outcome(push), x + width - 7, y + 69)
    priority = card_words(push["notification"], labels)[2]
    start = x + 12 + (priority_mark(stage, priority, x + 12, y + 69) or -5) + 5
    stage.label(start, y + 69, fit(priority, end - start - 3, SMALL))


def _draw_empty_card(stage, x, y, width, words):
    stage.box(
        x,
        y,
        width,
        86,
        13,
        blend(SURFACE, 0.10, DAWN),
        SURFACE,
        1.3,
        (0, (4, 3)),
        z=6,
        alpha=0.92,
    )
    stage.text(x + width / 2, y + 43, words, weight="bold", align="center")


# ---------------------------------------------------------------- the context


def chip_places(
    features: Sequence[str],
    width: float = WIDTH - MARGIN - LEFT,
    gap: float = 8,
    rows: int = 3,
) -> list[tuple[str, int, float, float]]:
    """Where the chips stand: list of (feature, row, left, width), in as many columns as the names allow.

    The place gets two columns where there is room, since it may hold several tags. The places depend on the features
    alone, so that chips stand still while their values change.
    """
    for columns in (4, 3, 2, 5):
        one = (width - gap * (columns - 1)) / columns
        fits = all(
            text_width(chip_name(feature), SMALL) <= one - CHIP_EDGES
            for feature in features
        )
        if len(features) <= rows * columns and (fits or columns == 5):
            break
    free = columns * rows - len(features)
    places, row, column = [], 0, 0
    for feature in features:
        span = 2 if role(feature) == "place" and free > 0 else 1
        if column + span > columns:
            row, column = row + 1, 0
        places.append(
            (feature, row, column * (one + gap), one * span + gap * (span - 1))
        )
        column += span
    return places


def _draw_context(stage, words):
    """The chips; returns the height at which what stands below may begin."""
    features = list(words)
    shown = features if len(features) <= 15 else [*features[:14], "more"]
    row = -1
    for feature, row, left, width in chip_places(shown):
        x, y, said = LEFT + left, 76 + 54 * row, words.get(feature)
        if said is None:
            chip(stage, x, y, width, "and", f"{len(features) - 14} more")
        else:
            chip(
                stage,
                x,
                y,
                width,
                chip_name(feature),
                said or "unknown",
                symbol(feature),
                known=said.lower() not in UNKNOWN,
            )
    return 76 + 54 * (row + 1) + 18


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
    heights = ticks_around(low if low < -0.05 * high else 0, high, 3)
    ax.set(ylim=(min(low, heights[0]), heights[-1]))
    if best is not None:
        ax.plot(steps, best, color=INK, lw=1.6, ls=BOUND_DASH)
        ax.fill_between(steps, earned, best, color=GREY, alpha=0.10, lw=0)
    ax.plot(steps, earned, color=BLUE, lw=2.2, ls="-")
    ax.plot(last, earned[-1], "o", color=BLUE, ms=6.5, clip_on=False, zorder=6)
    set_ticks(ax.yaxis, heights, whole=True)
    count_along(ax, steps[0], max(last, steps[0] + 10), 4, "steps")
    if heights[0] < 0:
        ax.axhline(0, color=LINE, lw=1.6, zorder=0)
    if pushes:
        number = short_number(earned[-1])
        name = fit(
            plain(agent), 126 - text_width(f" {number}", TICK, "bold"), TICK, "bold"
        )
        labels = [(last, earned[-1], f"{name} {number}", BLUE, "bold")]
        if best is not None:
            labels.append(
                (
                    last,
                    best[-1],
                    f"best possible {short_number(best[-1])}",
                    INK,
                    "normal",
                )
            )
        end_labels(ax, labels)


def _draw_last_pushes(stage, pushes, top):
    left = LEFT + 472
    stage.label(left, top, "last 20 pushes")
    draw_last(stage, left + 9, top + 26, list(map(outcome, pushes)), 5, 27, 23, 8)
    opened = sum(push["opened"] for push in pushes)
    stage.text(left, top + 120, f"{opened} opened", LEAD, OPENED, "bold")
    stage.text(
        left, top + 137, f"{len(pushes) - opened} dismissed", LEAD, DISMISSED, "bold"
    )
