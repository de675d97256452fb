"""A scorecard as a picture: the first agent's metrics as bars, and what each judge would open of all agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from pushlab.plots.style import (
    BLUE,
    CHANCE,
    INK,
    PAPER,
    SMALL,
    TEXT,
    TICK,
    TRACK,
    fit,
    house_style,
    name_axes,
    name_rows,
    plain,
    series_styles,
    sheet,
    short,
)

BARS = {  # metric: its name, and the meaning of a full bar or of the number
    "performance_share": ("performance", "share of the best possible"),
    "coverage": ("coverage", "history's values, among the opened"),
    "evenness": ("evenness", "normalised entropy of the opened"),
    "panel_click_through_rate": (
        "click-through rate",
        "expected, mean over the judges",
    ),
    "plausibility": ("plausibility", "combinations that are known"),
    "enticement": ("enticement", "0 all low, 1 all high"),
}
JUDGES = {"truth": "true user", "adaboost": "AdaBoost", "bayes": "naive Bayes"}


@house_style()
def scorecard(
    cards: Sequence[Any], times: bool = False, title: str = "", lead: str = ""
) -> Figure:
    """Draw the first scorecard as bars, chance as ticks on them, and what each judge thinks of all.

    Args:
        cards: Each a `pushlab.challenges.Scorecard` of one challenge, of which the first five are drawn; the agent
            called "random" is chance.
        times: Whether to name the response time, which differs between machines.

    Returns:
        A figure of 9 x 4.2 inches.
    """
    if not cards:
        raise ValueError("there is no scorecard to draw")
    cards = list(cards)[:5]
    first = cards[0]
    if not lead:
        count = first.count // len(first.seeds)
        lead = f"challenge {first.challenge} · user {short(first.user, 20)}"
        lead += f" · {first.period} period of {count:,} notifications"
        if len(first.seeds) > 1:
            lead += f" · {len(first.seeds)} episodes"
        if times and first.response is not None:
            lead += f" · response time p95 {1000 * first.response.p95:.2g} ms"
    figure = sheet(9, 4.2, title or f"Scorecard of {short(first.agent, 40)}", lead)
    grid = figure.add_gridspec(1, 2, width_ratios=(1.1, 1), wspace=0.06)
    _draw_bars(figure.add_subplot(grid[0]), cards)
    _draw_judges(figure.add_subplot(grid[1]), cards)
    return figure


def _draw_bars(ax: Axes, cards: Sequence[Any]) -> None:
    """Draw a bar for each metric of the first card, with ticks for chance."""
    metrics = cards[0].metrics
    bars = [metric for metric in BARS if metrics.get(metric) is not None]
    chance = {}
    for card in cards[1:]:
        if card.agent.lower() == CHANCE:
            chance = card.metrics
    name_rows(ax, [BARS[metric][0] for metric in bars])
    for row, metric in enumerate(bars):
        value = metrics[metric]
        ax.barh(row, 1, height=0.28, color=TRACK)
        ax.barh(row, np.clip(value, 0, 1), height=0.28, color=BLUE)
        ax.text(0, row + 0.37, BARS[metric][1], size=SMALL, color=TEXT, va="center")
        number = f"{value:.2f}".replace("-", "−")
        ax.text(1.04, row, number, size=13, weight="bold", va="center")
        other = chance.get(metric)
        if other is not None:
            x = np.clip(other, 0, 1)
            halo = [withStroke(linewidth=4, foreground=PAPER)]
            line: Any = {
                "color": INK,
                "ls": "-",
                "lw": 1.8,
                "path_effects": halo,
                "clip_on": False,
            }
            ax.plot((x, x), (row - 0.2, row + 0.2), **line)
            if row == 0:
                words: Any = {"size": SMALL, "color": TEXT, "ha": "center"}
                ax.text(x, row - 0.25, CHANCE, **words)
    ax.set(xlim=(0, 1), xticks=[], ylim=(max(len(bars), 5) - 0.5, -0.5))
    ax.spines.bottom.set_visible(False)


def _draw_judges(ax: Axes, cards: Sequence[Any]) -> None:
    """Draw the share opened by each judge, with an interval, the agents below each other."""
    judges = list(cards[0].judges)
    name_axes(ax, "share opened by each judge, 95 % intervals")
    name_rows(ax, [short(JUDGES.get(judge, judge), 14) for judge in judges])
    styles = series_styles([card.agent for card in cards])
    for place, card in enumerate(cards):
        rates = [card.judges[judge] for judge in judges]
        shares = np.array([rate["sampled"] for rate in rates])
        low = [rate["low"] for rate in rates]
        high = [rate["high"] for rate in rates]
        colour, _, marker = styles[card.agent]
        is_chance = card.agent.lower() == CHANCE
        ax.errorbar(
            shares,
            np.arange(len(judges)) + 0.16 * (place - (len(cards) - 1) / 2),
            xerr=(shares - low, high - shares),
            fmt=marker,
            color=colour,
            ms=4.5,
            lw=1.6,
            mfc=PAPER if is_chance else colour,
            label=fit(plain(card.agent), 110, TICK),
        )
    ax.set(xlim=(0, 1), xticks=(0, 0.5, 1))
    where: Any = {"loc": "upper center", "bbox_to_anchor": (0.4, -0.08)}
    ax.legend(**where, ncols=2, frameon=False, labelcolor="linecolor")
