"""What the phone and its inbox have in common: the words of contexts and notifications, and cards of the latter.

No schema is known: features with a familiar role (day, place, battery ...) are found by their names, and so is the app.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pushlab.plots.kit import (
    PAST_CARD,
    app_colour,
    mark,
    phone_body,
    priority_mark,
    tile,
)
from pushlab.plots.palette import INK, LEAD, LINE, PAPER, SMALL, TITLE
from pushlab.plots.sheet import MARGIN, Stage, fit, plain, text_width
from pushlab.plots.words import UNKNOWN, app_name, role, value_words

WIDTH, LEFT = 900, 268  # of the sheet, and where the words beside the phone begin
BATTERY = {
    "empty": 0.05,
    "low": 0.2,
    "medium": 0.5,
    "med": 0.5,
    "high": 0.85,
    "full": 1.0,
}


def context_words(context: Mapping, labels: Mapping) -> dict[str, str]:
    """The context as {feature: words}, with the friendlier words of `labels` where it has them."""
    return {
        feature: value_words(_labelled(feature, value, labels))
        for feature, value in context.items()
    }


def _labelled(feature, value, labels):
    return labels.get(feature, {}).get(str(value), value)


def by_role(words: Mapping[str, str]) -> dict[str, str]:
    """{role: words} of the features that have a role and a known value."""
    return {
        role(feature): said
        for feature, said in words.items()
        if role(feature) and said.lower() not in UNKNOWN
    }


def app_of(notification: Mapping, labels: Mapping | None = None) -> Any:
    """The value of the first feature that names an app, with the word of `labels` for it, or None."""
    return next(
        (
            _labelled(name, value, labels or {})
            for name, value in notification.items()
            if "app" in name.lower()
        ),
        None,
    )


def topic(notification: Mapping, labels: Mapping) -> str:
    """What a notification is about: its subject, else its category, else its app, else nothing known ("")."""
    for feature in ("subject", "category"):
        said = _labelled(feature, notification.get(feature, ""), labels)
        if plain(said).lower() not in UNKNOWN:
            return value_words(said)
    app = app_of(notification)
    return (
        ""
        if app is None or plain(app).lower() in UNKNOWN
        else app_name(app_of(notification, labels))
    )


def about_title(article: str, about: str, ending: str) -> str:
    """A title about a notification; what it is about is cut where it is too long for the room beside the phone."""
    room = WIDTH - MARGIN - LEFT - text_width(f"{article}  {ending}", TITLE, "bold")
    return f"{article} {fit(about, room, TITLE, 'bold')} {ending}".replace("  ", " ")


def draw_phone(
    stage: Stage, height: float, time: str, known: Mapping[str, str]
) -> tuple[float, float, float]:
    """The phone with its status bar, from `by_role`'s words; returns left, top and width of its screen."""
    return phone_body(
        stage,
        24,
        20,
        212,
        height,
        time,
        _charge(known.get("battery")),
        known.get("ringer"),
        known.get("charging") == "yes",
    )[:3]


def _charge(battery):
    """The battery's share from its word or number; None when unknown."""
    if battery is None:
        return None
    if battery.lower() in BATTERY:
        return BATTERY[battery.lower()]
    number = battery.rstrip(" %")
    return (
        min(1.0, float(number) / (100 if float(number) > 1 else 1))
        if number.replace(".", "", 1).isdigit()
        else None
    )


def card_words(notification: Mapping, labels: Mapping) -> tuple[str, str, str]:
    """App, subject line and priority of a card."""
    app = app_of(notification, labels)
    name = app_name(app) if app is not None and plain(app) else "Notification"
    about = topic(
        {k: v for k, v in notification.items() if k in ("subject", "category")}, labels
    )
    if not {"subject", "category"} & set(
        notification
    ):  # another schema: its first feature tells
        others = [
            value
            for feature, value in notification.items()
            if "app" not in feature.lower()
        ]
        about = value_words(others[0]) if others else ""
    return name, about or "no subject", value_words(notification.get("priority", ""))


def draw_app(
    stage: Stage,
    x: float,
    y: float,
    side: float,
    notification: Mapping,
    labels: Mapping,
    room: float,
    room_below: float,
    colour: str = INK,
    bars: bool = True,
    lower: float = 22,
) -> None:
    """An app's tile, its name and bars of priority, and what it is about, `lower` than y; with the rooms of both."""
    name, about, priority = card_words(notification, labels)
    tile(stage, x, y, side, name[0], app_colour(app_of(notification)))
    x, wide = x + side + 8, text_width(name, LEAD, "bold")
    bars = bars and wide + 26 <= room
    stage.text(x, y + 6, name if bars else fit(name, room, LEAD, "bold"), weight="bold")
    if bars:
        priority_mark(stage, priority, x + 10 + wide, y + 6)
    stage.text(x, y + lower, fit(about, room_below, SMALL), SMALL, colour)


def draw_past_card(
    stage: Stage,
    x: float,
    y: float,
    width: float,
    notification: Mapping,
    labels: Mapping,
    when: str,
    kind: str,
    lower: float = 22,
) -> None:
    """An earlier notification, quieter, with its mark and when it was."""
    stage.box(x, y, width, 50, 13, PAST_CARD, z=6)
    draw_app(
        stage,
        x + 10,
        y + 11,
        26,
        notification,
        labels,
        width - 64 - text_width(when, SMALL),
        width - 76,
        lower=lower,
    )
    stage.label(x + width - 12, y + 17, when, align="right")
    mark(stage, kind, x + width - 20, y + 35, 7.5)


def draw_last(
    stage: Stage,
    x: float,
    y: float,
    kinds: Sequence[str],
    columns: int,
    across: float,
    down: float,
    radius: float,
) -> None:
    """The last twenty outcomes as marks in rows, with empty circles for those still to come."""
    for place in range(20):
        at = x + place % columns * across, y + place // columns * down
        if place < len(kinds):
            mark(stage, kinds[place], *at, radius)
        else:
            stage.disc(*at, radius - (0.6 if radius < 10 else 1), PAPER, LINE, 1.2)
