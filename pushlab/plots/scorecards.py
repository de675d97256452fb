"""A scorecard as a picture: what was reached as bars, and what each judge thinks of it beside other agents."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pushlab.ground.arguments import demand
from pushlab.plots.palette import (
    BLUE,
    CHANCE,
    INK,
    LEAD,
    PAPER,
    SMALL,
    TEXT,
    TITLE,
    TRACK,
    deep,
    series_styles,
)
from pushlab.plots.rows import Core
from pushlab.plots.sheet import MARGIN, Stage, Words, fit, house_style, plain, wrap

BARS = (  # metric, its name, what a full bar is or what is counted
    ("performance_share", "performance", "share of the best possible"),
    ("coverage", "coverage", "history's values, among the opened"),
    ("evenness", "evenness", "normalised entropy of the opened"),
    (
        "panel_click_through_rate",
        "click-through rate",
        "expected, mean over the judges",
    ),
    ("plausibility", "plausibility", "combinations that are known"),
    ("enticement", "enticement", "0 all low, 1 all high"),
)
JUDGES = {"truth": "true user", "adaboost": "AdaBoost", "bayes": "naive Bayes"}
MOST_CARDS, MOST_JUDGES = 5, 5  # what the panels and their key have room for
LEFT, BAR, LENGTH = MARGIN, 244, 190  # of the bars, in hundredths of an inch
PANELS, PANEL, PITCH = (
    556,
    80,
    94,
)  # where the judges' panels begin, how wide they are, how far apart


def scorecard_table(cards: Any) -> pd.DataFrame:
    """What the picture shows, a DataFrame: agent, metric, value, low, high; the intervals are of the sampled rates.

    cards  a Scorecard or several
    """
    rows: list[tuple] = []
    for card in _listed(cards):
        rows += [
            (card.agent, name, card.metrics[metric], np.nan, np.nan)
            for metric, name, _ in BARS
            if metric in card.metrics
        ]
        rows += [
            (
                card.agent,
                f"opened by {JUDGES.get(judge, judge)}",
                rate["sampled"],
                rate["low"],
                rate["high"],
            )
            for judge, rate in card.judges.items()
        ]
    return pd.DataFrame(rows, columns=["agent", "metric", "value", "low", "high"])


@house_style()
def scorecard(
    cards: Any,
    times: bool = False,
    title: Words = None,
    lead: Words = None,
    figure: Figure | None = None,
) -> Figure:
    """Bars for the first scorecard, a tick for chance, and a small panel a judge for all.

    cards   a Scorecard or several of the same challenge: the first is drawn as bars, the one called "random" as ticks
            on them; of the others at most four are shown in the panels
    times   draw the response time too, a number that is another one on another machine
    title   the sentence on top; None says what the first reaches
    lead    where the numbers come from; None says challenge, user, period
    returns a Figure of 9 x 4.2 inches; `scorecard_table` holds its numbers
    """
    cards = _shown(_listed(cards))
    first, chance = (
        cards[0],
        next((card for card in cards if card.agent.lower() == CHANCE), None),
    )
    stage = Stage(900, 420, figure)
    room = stage.width - 2 * MARGIN
    stage.heading(
        fit(plain(title or _title(first, chance)), room, TITLE, "bold"),
        fit(plain(lead) if lead else _lead(first), room, LEAD),
        title_lines=1,
    )
    _draw_bars(stage, first, None if chance is first else chance, times)
    _draw_panels(stage, cards)
    return stage.figure


def _listed(cards):
    cards = list(cards) if isinstance(cards, (list, tuple)) else [cards]
    demand(cards, "there is no scorecard to draw")
    return cards


def _shown(cards):
    """The first cards, chance among them."""
    if len(cards) <= MOST_CARDS:
        return cards
    chance = [card for card in cards[MOST_CARDS:] if card.agent.lower() == CHANCE][:1]
    return [*cards[: MOST_CARDS - len(chance)], *chance]


def _title(first, chance):
    share = first.metrics.get("performance_share")
    agent = fit(plain(first.agent), 300, TITLE, "bold")
    if share is None:
        return f"{agent} earns {_signed(first.metrics['performance'], 1)} points"
    other = (
        None
        if chance is None or chance is first
        else chance.metrics.get("performance_share")
    )
    return f"{agent} reaches {_signed(share)} of the best possible" + (
        "" if other is None else f", random {_signed(other)}"
    )


def _lead(card):
    episodes = f"   ·   {len(card.seeds)} episodes" if len(card.seeds) > 1 else ""
    return (
        f"challenge {card.challenge}   ·   user {fit(plain(card.user), 120, LEAD)}   ·   {card.period} period of "
        f"{card.count // len(card.seeds):,} notifications{episodes}"
    )


def _signed(value, digits=2):
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


# ---------------------------------------------------------------- bars


def _draw_bars(stage, card, chance, times):
    rows = [
        (
            name,
            words,
            card.metrics[metric],
            _signed(card.metrics[metric]),
            None if chance is None else chance.metrics.get(metric),
        )
        for metric, name, words in BARS
        if card.metrics.get(metric) is not None
    ]
    if times and card.response is not None:
        rows.append(_time_row(card, chance))
    pitch = min(63, 252 / max(1, len(rows) - 1))
    for row, (name, words, value, number, other) in enumerate(rows):
        y = 116 + pitch * row
        stage.text(LEFT, y - 9, name, LEAD + 1, INK, "bold")
        stage.text(LEFT, y + 11, fit(words, BAR - LEFT - 8, SMALL), SMALL, TEXT)
        stage.box(BAR, y - 8, LENGTH, 16, 4, TRACK, z=3)
        length, chance_length = (
            LENGTH * float(np.clip(one or 0, 0, 1)) for one in (value, other)
        )
        if length > 0:
            stage.box(BAR, y - 8, length, 16, 4, BLUE, z=4)
        if other is not None:
            tick = [(BAR + chance_length, y - 13), (BAR + chance_length, y + 13)]
            stage.line(tick, PAPER, 4.0, z=5, solid_capstyle="butt")
            stage.line(tick, INK, 1.8, z=6, solid_capstyle="butt")
            if row == 0:
                stage.text(
                    BAR + chance_length, y - 23, CHANCE, SMALL, TEXT, align="center"
                )
        stage.text(BAR + LENGTH + 14, y, number, 13, INK, "bold")


def _time_row(card, chance):
    """The bar of the response time; it ends at a round number."""
    own, other = (
        None if one is None or one.response is None else one.response.p95
        for one in (card, chance)
    )
    longest = max(own, other or 0.0)
    end = next(
        (
            step * 10.0**power
            for power in range(-8, 6)
            for step in (1, 2, 5)
            if step * 10.0**power >= longest
        ),
        longest,
    )
    return (
        "response time",
        f"p95, reported; bar ends at {_duration(end)}",
        own / end if end else 0.0,
        _duration(own),
        None if other is None else other / end,
    )


def _duration(seconds):
    """Seconds in the unit that suits them.

    >>> _duration(0.00036), _duration(2.34e-6), _duration(12.0)
    ('0.36 ms', '2.3 µs', '12 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.1 * size or unit == "µs":
            return (
                f"{seconds / size:.2g} {unit}"
                if seconds < 100 * size
                else f"{seconds / size:,.0f} {unit}"
            )


# ---------------------------------------------------------------- judges


def _draw_panels(stage, cards):
    styles = series_styles([card.agent for card in cards])
    looks = {
        agent: (colour, marker, PAPER if agent.lower() == CHANCE else colour)
        for agent, (colour, _, marker) in styles.items()
    }
    judges = list(cards[0].judges)[:MOST_JUDGES]
    stage.text(PANELS - 18, 107, "Would each judge open them?", LEAD + 1, INK, "bold")
    stage.text(PANELS - 18, 126, "share opened, 95 % intervals", SMALL, TEXT)
    for place, judge in enumerate(judges):
        x, y = _cell(place)
        stage.text(
            x,
            y,
            fit(JUDGES.get(judge, plain(judge)), PANEL, SMALL, "bold"),
            SMALL,
            INK,
            "bold",
        )
        ax = stage.axes(x, y + 12, PANEL, 88)
        for at, card in (
            (at, card) for at, card in enumerate(cards) if judge in card.judges
        ):
            rate, (colour, marker, inside) = card.judges[judge], looks[card.agent]
            ends = [[rate["sampled"] - rate["low"]], [rate["high"] - rate["sampled"]]]
            ax.errorbar(
                at,
                rate["sampled"],
                ends,
                fmt=marker,
                color=colour,
                ms=5.5,
                lw=2,
                mew=1.6,
                mfc=inside,
                clip_on=False,
                zorder=5,
            )
            upon = colour if inside == PAPER else PAPER
            ax.add_line(
                Core(
                    (at, at),
                    (rate["low"], rate["high"]),
                    (at, rate["sampled"]),
                    upon,
                    7,
                )
            )
        ax.set(xlim=(-0.6, max(len(cards), 2) - 0.4), ylim=(0, 1), xticks=())
        ax.set_yticks((0, 0.5, 1), ("0", "", "1") if place % 3 == 0 else ("", "", ""))
    x, y = _cell(len(judges))  # the key takes the place of one more
    middle = y + 16
    for card in cards:
        colour, marker, inside = looks[card.agent]
        stage.ax.plot(
            x + 6, middle, marker=marker, color=colour, ms=5.5, mew=1.6, mfc=inside
        )
        for words in wrap(
            plain(card.agent), stage.width - MARGIN - x - 20, SMALL, "bold"
        ):
            stage.text(x + 20, middle, words, SMALL, deep(colour), "bold")
            middle += 14
        middle += 6


def _cell(place):
    return PANELS + place % 3 * PITCH, 152 + place // 3 * 126
