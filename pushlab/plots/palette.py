"""The colours of every picture, each with one meaning, and the sizes of type.

Outcomes keep their colours everywhere: green is opened, vermilion dismissed, amber waiting, blue shown. Agents, users
and tasks take `SERIES` in order of appearance, always with the dash and marker of the same place; chance is always the
last.
"""

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.colors import to_hex, to_rgb

INK, TEXT, MUTED, LINE, SOFT = "#1F2A37", "#4B5866", "#7F8B99", "#DFE3E8", "#EFF1F4"
PAPER, SURFACE, TRACK = "#FAF9F6", "#FFFFFF", "#E4E8ED"

BLUE, ORANGE, PURPLE, SKY, GREY = "#0072B2", "#C87400", "#7F2B6A", "#3A97CF", "#76818E"
SERIES = (BLUE, ORANGE, PURPLE, SKY, GREY)
DASHES = ((0, ()), (0, (6, 2)), (0, (6, 2, 1.5, 2)), (0, (3, 1.5)), (0, (1.2, 1.6)))
MARKERS = ("o", "s", "^", "D", "D")  # the last, of chance, is drawn hollow
BOUND_DASH = (0, (4, 2.2))  # a bound no agent can pass
BAND = 0.16  # strength of a band of uncertainty

OPENED, DISMISSED, WAITING, SHOWN = "#00805C", "#C04A00", "#E69F00", BLUE
WAITING_EDGE = "#8A5A00"
GOAL, GOAL_EDGE = "#DCEFE6", OPENED
DRUG_1, DRUG_2 = SKY, "#E0B400"
LIT, FLOOR = "#FFF1BC", "#D8DEE5"
EPISODIC, SEMANTIC = "#DDEBF6", "#F2E3EE"
NIGHT, DAWN, BODY = (
    "#1E3A56",
    "#7FA3BB",
    "#161D26",
)  # the phone's wallpaper from top to bottom, its rim
APP_TILES = (
    BLUE,
    PURPLE,
    "#4B5866",
    "#2B6C93",
    "#8A5A00",
    "#6A4C93",
    "#7A3B69",
    "#35586E",
)

TITLE, LEAD, SMALL = 12, 9.5, 8.5  # type sizes in points; nothing is smaller than SMALL
TICK = 9

CHANCE = "random"  # the name of the agent that always takes the last style


@functools.cache
def blend(colour: str, share: float, under: str = PAPER) -> str:
    """The colour mixed with what lies under it: 1 is the colour itself, 0 the ground.

    >>> blend("#000000", 0.5, under="#ffffff")
    '#808080'
    """
    over, ground = np.array(to_rgb(colour)), np.array(to_rgb(under))
    mixed: Any = share * over + (1 - share) * ground
    return to_hex(mixed)


def deep(colour: str) -> str:
    """The colour for words: darkened until it reads at small sizes."""
    return blend(colour, 0.70, INK)


@functools.cache
def words_on(fill: str) -> str:
    """White or ink, whichever reads better on the colour `fill`.

    >>> words_on("#FFFFFF") == INK, words_on("#00405C") == SURFACE
    (True, True)
    """

    def light(colour):  # relative luminance, WCAG 2.1
        rgb = np.array(to_rgb(colour))
        return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (
            0.2126,
            0.7152,
            0.0722,
        )

    ground = light(fill)
    return (
        SURFACE
        if (light(SURFACE) + 0.05) / (ground + 0.05)
        > (ground + 0.05) / (light(INK) + 0.05)
        else INK
    )


def series_styles(names: Iterable[Any]) -> dict[Any, tuple]:
    """The fixed look of each agent (or user, or task): {name: (colour, dash, marker)}, in order of appearance.

    The agent called "random" always takes the style of chance. After four others the colours begin again, each time
    with the next dash and marker, so that sixteen look different.

    >>> styles = series_styles(["random", "thompson", "linucb"])
    >>> styles["thompson"][0] == BLUE, styles["random"][0] == GREY
    (True, True)
    >>> len(set(series_styles(range(16)).values()))
    16
    """
    *looks, chance = zip(SERIES, DASHES, MARKERS)
    taken, own = (
        [name for name in dict.fromkeys(names) if str(name).lower() != CHANCE],
        len(looks),
    )
    styles = {
        name: (SERIES[place % own], *looks[(place + place // own) % own][1:])
        for place, name in enumerate(taken)
    }
    return {name: styles.get(name, chance) for name in dict.fromkeys(names)}
