"""The day so far: one lane for each thing that can happen to a notification, and the places along the top.

Times are minutes since the horizon's first midnight; a horizon of several days shows the day of `now`.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from pushlab.plots.kit import fit_list, mark
from pushlab.plots.palette import (
    INK,
    LEAD,
    LINE,
    PAPER,
    SMALL,
    TEXT,
    TRACK,
    WAITING,
    WAITING_EDGE,
)
from pushlab.plots.sheet import Stage, plain, text_width
from pushlab.plots.words import UNKNOWN, value_words

DAY = 24 * 60  # minutes
LANES = ("arrived", "waiting", "shown", "opened", "dismissed", "unseen")
GAP, FIRST = 29, 41  # from lane to lane, and from the strip of places to the first
TRAY, MOST_BARS = 25, 6  # the height that the bars of waiting share, and how many can


def clock_time(minutes: float, of: float | None = None) -> str:
    """Minutes since a midnight as the time of day; the end of a horizon is the end of its last day.

    >>> clock_time(1122.4), clock_time(1440), clock_time(1440, of=1440)
    ('18:42', '00:00', '24:00')
    """
    if of is not None and minutes >= of and of % DAY == 0:
        return "24:00"
    minutes = int(minutes % DAY)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def length_of_time(minutes: float) -> str:
    """A span of time as a label writes it.

    >>> [length_of_time(m) for m in (0.2, 12, 134, 200, 4000)]
    ['0 min', '12 min', '134 min', '3.3 h', '2.8 days']
    """
    if minutes < 180:
        return f"{int(minutes)} min"
    return f"{minutes / 60:.1f} h" if minutes < 2 * DAY else f"{minutes / DAY:.1f} days"


def midnight_before(now: float, of: float) -> int:
    """Minute at which the day of `now` began; the end of the horizon still belongs to its last day."""
    return DAY * int(now // DAY if now < of or now % DAY else max(0, now // DAY - 1))


def day_counts(
    events: Sequence[Mapping], cache: Sequence, since: float, until: float
) -> dict[str, int]:
    """How many notifications arrived, wait, were shown, opened, dismissed or never seen on one day.

    events   the frame's: arrived, shown, closed (minutes or None), outcome
    cache    those that wait now, whichever day they came
    since, until   the day's first and last minute, the last included
    returns  {lane: count}. Over a horizon of one day every arrival is counted once more: arrived is the sum of shown,
             unseen, waiting and the one in hand, and shown that of opened, dismissed and those not answered yet
    """

    def within(minute):
        return minute is not None and since <= minute <= until

    closed = [event["outcome"] for event in events if within(event["closed"])]
    return {
        "arrived": sum(within(event["arrived"]) for event in events),
        "waiting": len(cache),
        "shown": sum(within(event["shown"]) for event in events),
        "opened": closed.count("opened"),
        "dismissed": closed.count("dismissed"),
        "unseen": closed.count("unseen") + closed.count("expired"),
    }


def waits(events: Sequence[Mapping], now: float) -> list[tuple[float, float]]:
    """Spans (from, to) over which a notification lay in the cache or was held back, in order of arrival.

    One that was shown or dismissed at the minute of its arrival has none.
    """
    spans = []
    for event in events:
        ends = next(
            (m for m in (event["shown"], event["closed"]) if m is not None), now
        )
        if ends > event["arrived"] and event["outcome"] != "in hand":
            spans.append((event["arrived"], ends))
    return spans


def stack(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The row of each span, the lowest that is free when it begins, so that no two lie on one another.

    >>> stack([(0, 5), (1, 2), (3, 9), (6, 7)])
    [0, 1, 1, 0]
    """
    rows, free = [], list[float]()  # free[row] is when the row's last span ends
    for begin, end in spans:
        row = next((row for row, until in enumerate(free) if until <= begin), len(free))
        free[row : row + 1] = [end]
        rows.append(row)
    return rows


# ---------------------------------------------------------------- the picture


class Ruler:
    """From minutes to places on the sheet: `at(minute)` between the left and the right end of the lanes."""

    def __init__(self, since: float, begin: float, left: float, right: float) -> None:
        self.begin, self.end, self.left, self.right = (
            since + begin,
            since + DAY,
            left,
            right,
        )

    def at(self, minute: float) -> float:
        share = (minute - self.begin) / (self.end - self.begin)
        return self.left + (self.right - self.left) * min(max(share, 0.0), 1.0)


def timeline(
    stage: Stage, left: float, right: float, top: float, frame: Mapping, earliest: float
) -> None:
    """Draws the day of a frame.

    left, right, top   where it stands on the stage; it is 232 high
    frame              as `inbox` takes them
    earliest           minute since the horizon's first midnight at which the drawn day was first seen
    """
    now, since = frame["now"], midnight_before(frame["now"], frame["of"])
    minutes = [
        m
        for event in frame["events"]
        for m in (event["arrived"], event["shown"], event["closed"])
        if m is not None and since <= m <= now
    ]
    first_hour = min([max(earliest, since), *minutes, now]) - since
    ruler = Ruler(since, min(360, int(first_hour // 180) * 180), left + 108, right - 44)

    stage.label(left, top, "the day so far")
    stage.label(right - 4, top, "today", align="right")
    _draw_places(
        stage, frame["places"], ruler, top, now, f"now {clock_time(now, frame['of'])}"
    )
    _draw_lanes(
        stage,
        left,
        right,
        top + FIRST,
        day_counts(frame["events"], frame["cache"], since, now),
        ruler.at(now),
        ruler,
    )
    _draw_waits(stage, waits(frame["events"], now), ruler, top + FIRST + GAP)
    for event in frame["events"]:
        _draw_event(stage, event, ruler, top + FIRST, since, now)
    bottom = top + FIRST + GAP * (len(LANES) - 1)
    stage.line([(ruler.at(now), top - 9), (ruler.at(now), bottom + 12)], INK, 1.3, z=14)
    _draw_hours(stage, bottom + 27, ruler)
    if any(
        event["outcome"] == "expired" and event["closed"] >= since
        for event in frame["events"]
    ):
        mark(stage, "expired", left + 10, bottom + 46, 6)
        stage.text(
            left + 26,
            bottom + 46,
            "expired: unseen, because its time was over",
            SMALL,
            TEXT,
        )


def _draw_places(stage, places, ruler, top, now, words):
    """Where the user was; what is to come is blank."""
    x = ruler.at(now)
    if ruler.right - x > 2:
        stage.box(x + 1, top - 9, ruler.right - x - 1, 18, 4, PAPER, LINE)
    room = text_width(words, SMALL, "bold") + 8
    after = x + room + 2 <= ruler.right
    for begin, end, place in joined(places):
        start, stop = ruler.at(begin), min(ruler.at(end), x)
        if stop - start < 2.5:
            continue
        stage.box(start + 1, top - 9, stop - start - 2, 18, 4, TRACK)
        stop = stop if after else min(stop, x - room)
        room_here = stop - start - 10
        said = (
            ""
            if plain(place).lower() in UNKNOWN
            else fit_list(value_words(place), room_here, SMALL, "normal")
        )
        if said and "…" not in said and text_width(said, SMALL) <= room_here:
            stage.text((start + stop) / 2, top, said, SMALL, TEXT, align="center")
    if not after:
        stage.box(x - room - 2, top - 9, room + 2, 18, 4, TRACK, z=3)
    stage.text(
        x + 6 if after else x - 5,
        top,
        words,
        SMALL,
        INK,
        "bold",
        "left" if after else "right",
        z=14,
    )


def joined(places: Sequence[tuple]) -> list[tuple]:
    """Places with neighbours of the same words made one.

    >>> joined([(0, 5, "home"), (5, 9, "home"), (9, 10, "office")])
    [(0, 9, 'home'), (9, 10, 'office')]
    """
    together: list[tuple] = []
    for begin, end, words in places:
        if together and together[-1][2] == words and together[-1][1] == begin:
            together[-1] = (together[-1][0], end, words)
        else:
            together.append((begin, end, words))
    return together


def _draw_lanes(stage, left, right, first, counts, until, ruler):
    for lane, name in enumerate(LANES):
        y = first + lane * GAP
        if until - ruler.left > 1:
            stage.line([(ruler.left, y), (until, y)], LINE, 1.0, z=2)
        mark(stage, name, left + 10, y, 7)
        stage.text(left + 26, y, name)
        stage.text(right - 4, y, f"{counts[name]:,}", LEAD, INK, "bold", "right")


def _draw_waits(stage, spans, ruler, y):
    """Bars from arrival to showing, or to now; those of one time stand below each other.

    Where too many wait at once for bars, the number that waits is drawn instead, as a band that grows with it.
    """
    spans = [(begin, end) for begin, end in spans if end > ruler.begin]
    rows = stack(spans)
    deep = 1 + max(rows, default=0)
    if deep > MOST_BARS:
        return _draw_number_waiting(stage, spans, ruler, y)
    pitch = min(8.0, TRAY / deep)
    for (begin, end), row in zip(spans, rows):
        x, high = ruler.at(begin), pitch * 0.72
        wide = max(ruler.at(end) - x, 3.0)
        stage.box(
            min(x, ruler.right - wide),
            y + pitch * (row - deep / 2 + 0.14),
            wide,
            high,
            high / 2,
            WAITING,
            WAITING_EDGE,
            min(0.9, high / 5),
        )


def number_waiting(spans: Sequence[tuple[float, float]]) -> list[tuple[float, int]]:
    """The number that waits, as steps: list of (minute, number from then on).

    >>> number_waiting([(0, 5), (1, 2)])
    [(0, 1), (1, 2), (2, 1), (5, 0)]
    """
    changes = sorted(
        [(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans]
    )
    minutes, steps = zip(*changes)
    return list(zip(minutes, accumulate(steps)))


def _draw_number_waiting(stage, spans, ruler, y):
    steps = number_waiting(spans)
    floor, unit = y + TRAY / 2, TRAY / max(number for _, number in steps)
    outline = [
        (ruler.at(minute), floor - unit * number)
        for (minute, after), before in zip(steps, [0, *(number for _, number in steps)])
        for number in (before, after)
    ]
    stage.shape(
        [*outline, (outline[-1][0], floor), (outline[0][0], floor)], WAITING, z=2
    )
    stage.line(outline, WAITING_EDGE, 0.9, z=3, solid_joinstyle="miter")


def _draw_event(stage, event, ruler, first, since, now):
    """The marks of one notification, each in its lane."""
    outcome = event["outcome"]
    for kind, lane, minute, radius, halo in (
        ("arrived", "arrived", event["arrived"], 7, None),
        ("shown", "shown", event["shown"], 6, None),
        (outcome, outcome if outcome in LANES else "unseen", event["closed"], 6, PAPER),
    ):
        if minute is not None and since <= minute <= now:
            mark(
                stage,
                kind,
                ruler.at(minute),
                first + GAP * LANES.index(lane),
                radius,
                halo=halo,
            )


def _draw_hours(stage, y, ruler):
    for minute in range(int(ruler.begin), int(ruler.end) + 1, 180):
        words = "24:00" if minute == ruler.end else clock_time(minute)
        stage.text(ruler.at(minute), y, words, SMALL, TEXT, align="center")
