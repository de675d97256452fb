"""An epidemic over time: who is in which group, what was done against it, and what nothing would have led to."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from pushlab.plots.film import (
    LEFT,
    Days,
    Film,
    draw_lanes,
    draw_lines,
    draw_time,
    film_stage,
)
from pushlab.plots.palette import (
    BLUE,
    DASHES,
    DISMISSED,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SMALL,
)
from pushlab.plots.sheet import MARGIN, house_style
from pushlab.plots.ticks import set_ticks, ticks_between

WIDTH = 640  # of lanes and panels, in hundredths of an inch
BOTTOM, GAP = 444, 33  # of all panels, and between two for the name of the lower
SOLID, DASHED, DASH_DOT, SHORT, DOTTED = DASHES


@dataclass(frozen=True)
class Panel:
    """A chart: its name and unit, the unit in the model's, curves (variable, words, colour, dash), height in shares.

    idle     the variable whose course without any intervention is drawn too
    rate     whether the curves count what happened, so that their growth in a unit of time is drawn
    """

    name: str
    unit: float
    curves: tuple
    idle: str | None = None
    share: int = 1
    rate: bool = False


PANELS = {
    "opioid": (
        Panel(
            "people, millions",
            1e6,
            (
                ("nonmedical_users", "misuse", BLUE, SOLID),
                ("oud_users", "with a disorder", ORANGE, DASHED),
                ("illicit_users", "illicit", PURPLE, DASH_DOT),
            ),
            share=3,
        ),
        Panel(
            "overdose deaths a year, thousands",
            1e3,
            (("overdose_deaths", "deaths", DISMISSED, SOLID),),
            idle="overdose_deaths",
            share=2,
            rate=True,
        ),
    ),
    "zika": (
        Panel(
            "infected people",
            1,
            (
                ("asymptomatic_humans", "no symptoms", ORANGE, DASH_DOT),
                ("symptomatic_humans", "symptoms", DISMISSED, DASHED),
            ),
            idle="symptomatic_humans",
            share=2,
        ),
        Panel(
            "infected mosquitoes",
            1,
            (
                ("exposed_mosquitoes", "exposed", ORANGE, DASH_DOT),
                ("infectious_mosquitoes", "infectious", DISMISSED, DASHED),
            ),
        ),
        Panel(
            "other people",
            1,
            (
                ("susceptible_humans", "susceptible", BLUE, SOLID),
                ("recovered_humans", "immune", PURPLE, SHORT),
            ),
        ),
        Panel(
            "all mosquitoes, thousands",
            1e3,
            (("mosquito_population", "mosquitoes", INK, SOLID),),
        ),
    ),
}

PANELS["opioid_whynot"] = PANELS["opioid"][:1]  # which counts no deaths


@house_style()
def epidemic(
    days: Days,
    model: Mapping | None = None,
    title: str | None = None,
    lead: str | None = None,
    until: float | None = None,
    agent: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Groups over time in panels, interventions as lanes above them, and dotted what came had nothing been done.

    days      the frames of an episode up to now, or a table as `simulate()` returns it, which has no dotted lines
    model     of a table out of a file, as `load_model(name).told()` tells it; frames and simulate() tell theirs
    title     the sentence on top; None says what was done last
    until     the time at the right end; that at which the episode ends, or the table
    returns   Figure, 9 x 4.8 inches
    """
    film = Film(days, model, None, until)
    if film.model["name"] not in PANELS:
        raise ValueError(
            f"epidemic() draws {', '.join(PANELS)}, and patient() any model; got {film.model['name']!r}"
        )
    panels = PANELS[film.model["name"]]
    stage = film_stage(
        title or film.event(), lead or _lead(film, panels, agent), figure
    )
    top = draw_lanes(stage, film, WIDTH) + GAP
    height = (BOTTOM - top - GAP * (len(panels) - 1)) / sum(
        panel.share for panel in panels
    )
    for panel in panels:
        stage.text(MARGIN, top - 14, panel.name, SMALL, INK, "bold")
        ax = stage.axes(LEFT, top, WIDTH, height * panel.share)
        _draw_panel(ax, film, panel)
        draw_time(ax, film, 6, last=panel is panels[-1])
        top += height * panel.share + GAP
    return stage.figure


def _lead(film, panels, agent):
    """Where it comes from, and how many were spared what is counted."""
    words = [film.lead(agent)]
    for panel in panels:
        if film.idle and panel.rate and len(film.time) > 1:
            gained = film.idle[panel.idle][-1] - film.values[panel.idle][-1]
            words.append(
                f"{abs(gained):,.0f} {panel.curves[0][1]} {'fewer' if gained >= 0 else 'more'} than with "
                f"nothing done"
            )
    return "   ·   ".join(words)


def _draw_panel(ax, film, panel):
    curves = [
        (film.values[name], words, colour, dash, 2.0)
        for name, words, colour, dash in panel.curves
    ]
    if film.idle and panel.idle:
        curves.insert(0, (film.idle[panel.idle], "nothing done", GREY, DOTTED, 1.8))
    times, lines = film.time[1:] if panel.rate else film.time, []
    for values, words, *look in curves:
        heights = (
            np.diff(values) / np.diff(film.time) if panel.rate else values
        ) / panel.unit
        lines.append(
            (
                times,
                heights,
                f"{words} {_number(heights[-1])}" if len(heights) else words,
                *look,
            )
        )
    high = max(heights.max(initial=0.0) for _, heights, *_ in lines)
    top = 1.06 * high or 1.0
    ax.set(ylim=(0, top), xlim=(film.time[0], film.end))
    draw_lines(ax, film, lines)
    set_ticks(ax.yaxis, ticks_between(0.0, top, 2 + panel.share) if high else [0.0])


def _number(value):
    """A value at the end of a line, in two digits or as a whole number.

    >>> _number(1014.2), _number(12.46), _number(2.789), _number(0.004)
    ('1,014', '12', '2.8', '0')
    """
    if value >= 9.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.05 else "0"
